/* Compressed bytes of ELF files. Memory that is returned is freed with mem_free by the caller. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* Whether the compressed bytes can have this decompressed size. */
bool is_possible_size(struct str packed, uint64_t size);
/* zlib or zstd by its ELF number (ELFCOMPRESS_*), to exactly `size` bytes. */
enum err unpack_section(uint32_t method, struct str packed, uint64_t size, void **ret) MUST_CHECK;
/* The xz of .gnu_debugdata, to at most `ceiling` bytes. */
enum err unpack_xz(struct str packed, size_t ceiling, void **ret, size_t *ret_size) MUST_CHECK;
