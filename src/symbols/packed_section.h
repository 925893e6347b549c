/*
 * A section that zlib packed, unpacked only where it is needed: debug information of a library
 * takes many megabytes, of which a question needs a few kilobytes.
 *
 * The first pass notes places where unpacking can begin (the bits, and the 32 KiB before them that
 * what follows may refer to). Bytes lie at their place in memory of the section's size, which takes
 * no room where nothing was unpacked and reads as zeros there. A section that would be unpacked
 * many times over is unpacked as a whole, until packed_section_drop.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct packed_section;

/* `packed` must stay. `size` is that of all bytes, as the section's head says. */
enum err packed_section_new(struct str packed, size_t size, struct packed_section **ret) MUST_CHECK;
void packed_section_free(struct packed_section *p);
struct str packed_section_bytes(const struct packed_section *p);
/* Makes these bytes readable until packed_section_trim. What is damaged stays zero. NULL: they are.
 */
enum err packed_section_need(struct packed_section *p, uint64_t from, uint64_t to) MUST_CHECK;
/* Gives everything back if more than `kept` bytes are unpacked, but for a section that is unpacked
 * as a whole. */
void packed_section_trim(struct packed_section *p, size_t kept);
/* Gives everything back. */
void packed_section_drop(struct packed_section *p);
/* Bytes that are unpacked now, and the places where unpacking can begin. */
size_t packed_section_memory(const struct packed_section *p);
