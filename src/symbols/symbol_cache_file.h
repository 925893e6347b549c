/* The header of a cache file. */
#pragma once

#include "base/hash.h"

#define CACHE_MAGIC    "VSYMS\0\0\1"
#define CACHE_FILE_MAX ((uint64_t)64 << 20)

struct cache_header {
	char magic[8];
	uint64_t checksum, key;
	uint32_t ranges, frames;
	uint64_t text;
};

static inline uint64_t cache_checksum(struct str file)
{
	return hash_str(str_skip(file, 16), 0);
}
