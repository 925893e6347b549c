/*
 * A zlib-compressed section, decompressed only where needed: the debug information of a library
 * takes many megabytes, of which a lookup needs a few kilobytes.
 *
 * The first pass records points where decompression can start (the bit position, and the 32 KiB
 * window before it). Decompressed bytes are placed at their offset in an anonymous mapping of the
 * section's size; the rest of it takes no memory and reads as zeros. A section that would be
 * decompressed many times over is decompressed as a whole, until packed_section_drop.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct packed_section;

/* `packed` must stay valid. `size` is the decompressed size from the section's header. */
enum err packed_section_new(struct str packed, size_t size, struct packed_section **ret) MUST_CHECK;
void packed_section_free(struct packed_section *p);
struct str packed_section_bytes(const struct packed_section *p);
/* Makes these bytes readable until packed_section_trim; damaged parts read as zeros. Does nothing
 * for NULL. */
enum err packed_section_need(struct packed_section *p, uint64_t from, uint64_t to) MUST_CHECK;
/* Frees all decompressed bytes if there are more than `kept`, unless the section is decompressed as
 * a whole. */
void packed_section_trim(struct packed_section *p, size_t kept);
/* Frees all decompressed bytes. */
void packed_section_drop(struct packed_section *p);
/* Memory used by decompressed bytes and start points. */
size_t packed_section_memory(const struct packed_section *p);
