/*
 * Private to src/store: many chunks of one partition in one blob: ten minutes or an hour of a
 * service, or a roll-up.
 *
 * A block is a directory of chunk heads, and *segments*: chunks of the same types and series are
 * grouped, the streams of about 64 KiB of rows are concatenated stream by stream, and each is a
 * zstd frame. A query of one series or type decompresses only the segments and streams it needs.
 * Chunks are not decoded to build a block, so compaction is cheap, and an hour is built from blocks
 * of ten minutes in the same way.
 *
 *	0  u8    version
 *	1  u8    0
 *	2  u32   checksum of all that follows
 *	6  head  first and last time, chunks, rows, Bloom filter bytes, directory bytes (plain,
 *	         packed), segments × streams × (plain, packed)
 *	         Bloom filter of the span ids of all links
 *	         directory, zstd: per chunk its segment and its head as in chunk.h
 *	         streams of segment 0, 1, …
 */
#pragma once

#include "store/chunk.h"

#define BLOCK_VERSION 1

struct block {
	struct arena arena;
	int64_t first_ns, last_ns;
	uint64_t rows;
	struct chunk_view *chunks; /* by (types, series, time) */
	size_t n;
	struct str bloom;
	struct block_segment *segments;
	uint32_t segment_count;
};

/* Parses and verifies; `bytes` must outlive the block. A zero or released block may be released.
 * `max_memory` limits the block's allocations, including decompressed streams. */
enum err block_open(struct str bytes, size_t max_memory, struct block *ret) MUST_CHECK;
void block_release(struct block *b);
/* False if certainly no row is linked to one of these. Cheap: does not read the directory. */
enum err block_may_link(struct str bytes, const struct link *links, size_t n, bool *ret) MUST_CHECK;

/* Appends a block of these chunks, given in any order. Sorts the array. */
enum err block_encode(struct chunk_view **chunks, size_t n, struct buf *out) MUST_CHECK;

/*
 * A roll-up is a block with a chunk per type (CHUNK_SUM): stack -> sum over all profiles that start
 * in its time, without series, labels, links and times. The part of these after its end is another
 * chunk, at that end (CHUNK_BEYOND): the value of its time is the sum minus this, plus that of the
 * previous roll-up. Gauges have a chunk per type and series, because means are computed per series;
 * its `profiles` is the number of summed profiles. They have no part beyond the end.
 *
 * The times of each series' profiles are in chunks without rows (CHUNK_RUN; coverage.h): time and
 * duration from the start of the first to the end of the last profile, `profiles` their number; the
 * scale of the column is the time from the start of the first to the start of the last, and its
 * total the covered time.
 */
struct rollup;
enum err rollup_new(int64_t time_ns, int64_t duration_ns, struct rollup **ret) MUST_CHECK;
void rollup_free(struct rollup *r);
/* `gauge[type]` for all types of the partition, `stack_count` of its dictionary. A view may be of a
 * roll-up itself: days are built from hours. */
enum err rollup_add(struct rollup *r, const struct chunk_view *v, const bool *gauge,
		    uint32_t type_count, uint32_t stack_count) MUST_CHECK;
enum err rollup_finish(struct rollup *r, struct buf *out) MUST_CHECK;
