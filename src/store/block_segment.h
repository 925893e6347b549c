/*
 * Private to src/store: the streams of some chunks of a block, decompressed one by one on first
 * use. Not thread safe.
 */
#pragma once

#include "base/arena.h"
#include "store/chunk.h"

struct segment_stream {
	struct str packed;
	uint32_t plain; /* bytes */
	char *bytes;	/* decompressed, in the block's arena; NULL = not yet */
};

struct block_segment {
	struct arena *arena;
	uint32_t stream_count;
	struct segment_stream *streams;
};

enum err segment_stream(struct block_segment *s, uint32_t stream, struct str *ret) MUST_CHECK;
