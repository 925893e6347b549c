/*
 * Private to src/store: encoding of the columns of one profile.
 *
 * A chunk contains rows (stack, label set, link, time?, one value per type). Rows are sorted by
 * (link, label set, stack, time); equal ones are merged. Label set and link are written once per
 * *group* of rows that share them; a profile without either is one group that takes no bytes. Ids
 * are those of the partition (partition.h), except links: a chunk contains its own links, so that
 * span ids do not fill a dictionary.
 *
 *	0  u8      version
 *	1  u8      0
 *	2  u32     checksum of all that follows
 *	6  head    flags, series + 1 (0 = of many), profiles, time, duration, rows, groups, links,
 *	           lowest stack id above all of the chunk's,
 *	           columns × (type, stream, scale, total), sizes of streams
 *	   streams, concatenated
 *
 * Streams (all numbers are varints unless noted):
 *	GROUPS   per group: label set, link (index into LINKS + 1), rows
 *	TOKENS   one byte per row: 5 bits gap to the previous stack (31 = see ESCAPES), 3 bits value
 *	         of the first value stream (7 = see ESCAPES); the gap restarts in each group
 *	ESCAPES  in order of rows: gap - 31, then the value in zigzag
 *	TIMES    per row: nanoseconds since the start of the profile, zigzag + 1; 0 = unknown
 *	LINKS    24 bytes each
 *	VALUES…  further value streams, zigzag
 *
 * A column is a stream times a scale: cpu = samples × period is two columns over one stream, and a
 * column whose rows are all equal is only a scale (STREAM_ONES). The head has the total of every
 * column, so that a time series does not read rows.
 *
 * Blocks and roll-ups (block.h) consist of the same heads and streams; a `chunk_view` is one chunk
 * in any of these. Decoders check everything: bytes may come from a damaged disk.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "model/model.h"

#define CHUNK_VERSION  1
#define SERIES_MANY    UINT32_MAX /* a roll-up over series */
#define CHUNK_MAX_ROWS (1u << 26)

enum chunk_flags {
	CHUNK_GROUPS = 1,
	CHUNK_TIMES = 2,
	CHUNK_NEGATIVE = 4,
	/* Only in roll-ups (block.h): a sum, the part of a sum beyond the end of its time, and the
	 * times of profiles. */
	CHUNK_SUM = 8,
	CHUNK_BEYOND = 16,
	CHUNK_RUN = 32,
};
#define CHUNK_ROLLUP (CHUNK_SUM | CHUNK_BEYOND | CHUNK_RUN)

enum chunk_stream {
	STREAM_GROUPS,
	STREAM_TOKENS,
	STREAM_ESCAPES,
	STREAM_TIMES,
	STREAM_LINKS,
	STREAM_VALUES, /* and further ones: at most a stream per type */
};
#define CHUNK_MAX_STREAMS (STREAM_VALUES + PROFILE_MAX_TYPES)

/* Which values a column multiplies. */
enum { COLUMN_ONES, COLUMN_TOKENS, COLUMN_VALUES /* + n: stream STREAM_VALUES + n */ };

struct chunk_column {
	uint32_t type;	 /* of the partition */
	uint32_t source; /* COLUMN_… */
	int64_t scale;
	int64_t total; /* saturates */
};

struct chunk_head {
	uint32_t series, profiles; /* profiles: 1, more in a roll-up */
	int64_t time_ns, duration_ns;
	uint32_t rows, groups, links;
	uint32_t stack_limit; /* all stacks are below */
	uint32_t flags;
	uint32_t column_count, stream_count;
	const struct chunk_column *columns;
};

struct block_segment;

/* A readable chunk. Streams of a block are decompressed on first use. */
struct chunk_view {
	struct chunk_head head;
	const struct str *streams;     /* of a chunk of its own, or … */
	struct block_segment *segment; /* … of a block: */
	const uint32_t *at, *n;	       /* places in the segment's streams */
};

/* Parses and verifies. `arena` holds the columns' descriptions; `bytes` must stay valid as long. */
enum err chunk_open(struct str bytes, struct arena *arena, struct chunk_view *ret) MUST_CHECK;
/* The column of a type, or NULL. */
const struct chunk_column *chunk_find(const struct chunk_view *v, uint32_t type);

/* One group of rows, from `first` on. */
struct chunk_group {
	uint32_t labels; /* label set of the partition */
	uint32_t link;	 /* index into chunk_links + 1, 0 = none */
	uint32_t first, n;
};
/* All groups, at least one unless there are no rows. In the arena. */
enum err chunk_groups(const struct chunk_view *v, struct arena *arena, struct chunk_group **ret,
		      uint32_t *ret_n) MUST_CHECK;
/* Not aligned: read with memcpy. 24 bytes each, `head.links` of them. */
enum err chunk_links(const struct chunk_view *v, struct str *ret) MUST_CHECK;
/* The columns as arrays of `head.rows`. Every stack is below `stack_count`. */
enum err chunk_stacks(const struct chunk_view *v, uint32_t stack_count, uint32_t *ret) MUST_CHECK;
enum err chunk_values(const struct chunk_view *v, const struct chunk_column *column,
		      int64_t *ret) MUST_CHECK;
enum err chunk_times(const struct chunk_view *v, int64_t *ret) MUST_CHECK;

/* Saturating sums per stack. */
struct sums {
	int64_t *v;
	uint32_t n;    /* stacks */
	int64_t bound; /* upper bound of all sums; INT64_MAX = check every addition */
};
/* v[stack] += value for all rows, without intermediate arrays. */
enum err chunk_sum(const struct chunk_view *v, const struct chunk_column *column,
		   struct sums *sums) MUST_CHECK;
/* Sums of values weighted by time, which several profiles may share. */
struct chunk_weights {
	__int128 *held;
	uint32_t n;	       /* stacks */
	int64_t weight, share; /* share: 1 or more */
};
/* held[stack] += value * weight / share for all rows. */
enum err chunk_weigh(const struct chunk_view *v, const struct chunk_column *column,
		     const struct chunk_weights *to) MUST_CHECK;

/* Input of the encoder: rows in any order, perhaps with duplicates. */
struct chunk_rows {
	uint32_t series, profiles;
	int64_t time_ns, duration_ns;
	uint32_t type_count;
	const uint32_t *types;
	size_t n;
	const uint32_t *stack;
	const uint32_t *labels;	  /* NULL = all 0 */
	const uint32_t *link;	  /* indices into `links`; NULL = all 0 */
	const struct link *links; /* links[0] is not used */
	const uint64_t *time;	  /* absolute, 0 = unknown; NULL = all 0 */
	/* Row i, type t: values[i * stride + column[t]]. */
	const int64_t *values;
	size_t stride;
	const uint32_t *column;
};

/* Sort key and index of a row. */
struct chunk_key {
	uint64_t key;
	uint32_t row;
};

/* Memory that encoders reuse. All zero is valid. */
struct chunk_scratch {
	VEC(struct chunk_key) keys, spare;
	VEC(uint64_t) order, order_spare; /* for rows with only a stack: stack << 32 | row */
	VEC(uint32_t) stacks;		  /* stacks of the rows, sorted, duplicates merged */
	VEC(uint64_t) groups;		  /* link << 32 | label set per row; empty if all are 0 */
	VEC(uint64_t) times;		  /* empty if all are 0 */
	VEC(int64_t) values;		  /* column by column, each as long as the rows */
	struct buf streams[CHUNK_MAX_STREAMS];
};
void chunk_scratch_release(struct chunk_scratch *s);
/* Fills stacks, groups, times and values of the scratch with sorted, merged rows. */
enum err chunk_order(const struct chunk_rows *rows, struct chunk_scratch *s) MUST_CHECK;
/* Saturating sum. */
static inline int64_t add_saturating(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}
/* Appends the chunk to `out`. */
enum err chunk_encode(const struct chunk_rows *rows, struct chunk_scratch *s,
		      struct buf *out) MUST_CHECK;
/* The same profile without the columns for which keep(context, type) is false. Appends nothing if
 * no column is left. */
enum err chunk_filter_types(const struct chunk_view *v, bool (*keep)(void *context, uint32_t type),
			    void *context, struct chunk_scratch *s, struct buf *out) MUST_CHECK;

/* ------------------------------------------------------------------ parts, for blocks */

/* The bytes of a stream. */
enum err chunk_stream(const struct chunk_view *v, uint32_t stream, struct str *ret) MUST_CHECK;
static inline uint32_t chunk_stream_size(const struct chunk_view *v, uint32_t stream)
{
	if (stream >= v->head.stream_count)
		return 0;
	return v->segment ? v->n[stream] : (uint32_t)v->streams[stream].n;
}
struct cursor;
/* A head; times are written as the distance to `base_ns`. */
void chunk_head_write(const struct chunk_head *h, const uint32_t *stream_sizes, int64_t base_ns,
		      struct buf *out);
/* Reads and validates a head; `ret_sizes` gets the sizes of its streams and must have room for
 * CHUNK_MAX_STREAMS. */
enum err chunk_head_read(struct cursor *c, int64_t base_ns, struct arena *arena,
			 struct chunk_head *ret, uint32_t *ret_sizes) MUST_CHECK;
/* Writes version, a zero byte and a checksum before the content of `out` from `at` + BLOB_HEAD
 * on. */
#define BLOB_HEAD 6
void blob_seal(struct buf *out, size_t at, uint8_t version);
/* The first bytes that a blob must have; at least BLOB_HEAD bytes long. */
void blob_head(struct str bytes, uint8_t version, char *ret);
/* Checks these; `ret` is the content after them. */
enum err blob_verify(struct str bytes, uint8_t version, struct str *ret) MUST_CHECK;
