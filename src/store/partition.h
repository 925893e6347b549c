/*
 * Private to src/store: all that one service of one tenant refers to on one day (UTC).
 *
 * A partition has a dictionary, the series and the types by dense id. Chunks and blocks hold such
 * ids only, and go together with their partition. Everything only grows, so that an id that was
 * handed out stays valid, and what is on disk is a prefix: `persisted` says how much, and
 * partition_delta_encode writes the rest.
 *
 * `lock` guards all of it. Whoever needs two partitions takes the one with the lower `order` first.
 * Nothing is read from tables of a partition without the lock, because they move when they grow.
 */
#pragma once

#include <stdatomic.h>

#include "base/thread.h"
#include "store/chunk.h"
#include "store/store.h"

#define NS_PER_DAY INT64_C(86400000000000)

struct series_entry {
	struct label_pair *labels; /* sorted; in the partition's arena */
	uint32_t n;
	uint64_t hash; /* of the labels, with the store's seed: the same on all days */
	/* First and last moment of its profiles; 0, 0 = there are none yet. All times where the
	 * partition was opened with it. */
	int64_t first_ns, last_ns;
};

struct type_entry {
	struct str id; /* five-part */
	bool gauge;
	uint64_t hash;
};

/* Which types a series has: kept by the partition for questions about labels and types. */
struct series_type {
	uint32_t series, type;
};

/* How much of every table: what is persisted, what a delta begins and ends with. */
struct partition_mark {
	uint32_t strings, functions, mappings, frames, labels, label_sets, stacks;
	uint32_t series, types, pairs;
};

/* Shared by the partitions of one tenant and day: what their limits count. */
struct quota {
	atomic_uint series;
};

struct partition {
	struct mutex lock;
	atomic_uint references; /* the engine's */
	uint64_t order;		/* for taking two locks */
	struct str tenant, service;
	int64_t day; /* since 1970-01-01 */
	struct dict dict;
	struct arena arena;
	VEC(struct series_entry) series;
	struct map series_index;
	VEC(struct type_entry) types;
	struct map type_index;
	VEC(struct series_type) pairs;
	struct map pair_index;
	struct partition_mark persisted;
	/*
	 * What is encoded and not in the file yet, in order, from `persisted` up to `prepared`. The
	 * list is the engine's, under a lock of its own: who writes it does not wait for those who
	 * intern.
	 */
	struct partition_mark prepared;
	struct prepared_delta *prepared_first, *prepared_last;
	atomic_size_t prepared_bytes;
	struct quota *quota;
	/* The depth of the deepest of the first `measured` stacks: rows need not be looked at one
	 * by one to know that none must be cut. */
	uint32_t measured, deepest;
	/* Made from the index of its day for a question that looks at no stacks and no labels of
	 * rows: there is no dictionary. */
	bool light;
	/* Of what was added since the partition was opened. */
	uint64_t profiles, rows;
	void *engine; /* whatever the engine keeps here */
};

static inline int64_t day_of(int64_t time_ns)
{
	return time_ns / NS_PER_DAY - (time_ns % NS_PER_DAY < 0);
}

enum err partition_new(struct str tenant, struct str service, int64_t day, uint64_t seed,
		       struct quota *quota, struct partition **ret) MUST_CHECK;
void partition_free(struct partition *p);
size_t partition_memory(const struct partition *p);

enum err partition_series(struct partition *p, const struct label_pair *labels, size_t n,
			  const struct store_limits *limits, uint32_t *ret,
			  struct fault *fault) MUST_CHECK;
/* What is interned from here on keeps to the limits of stacks; nothing is counted yet. With the
 * lock. */
void partition_limit(struct partition *p, const struct store_limits *limits);
/* The type, or MAP_NONE. */
uint32_t partition_find_type(const struct partition *p, struct str id);
uint32_t partition_find_series(const struct partition *p, const struct label_pair *labels,
			       size_t n);
enum err partition_type(struct partition *p, struct str id, uint32_t *ret) MUST_CHECK;
/* Remembers that a series has a type. */
enum err partition_pair(struct partition *p, uint32_t series, uint32_t type) MUST_CHECK;

bool partition_has_pair(const struct partition *p, uint32_t series, uint32_t type);

/* Whether values of a type, by its id, are of a gauge. */
bool type_id_means(struct str id);
/* The hash of a series' labels that is its identity outside a partition. */
uint64_t series_hash(const struct label_pair *labels, size_t n, uint64_t seed);

struct encoded_chunk {
	uint32_t series, rows;
	int64_t time_ns, duration_ns;
	uint32_t cut_stacks; /* stacks cut at max_depth */
};
/*
 * Appends a profile as a chunk to `out`. The profile is over this partition's dictionary, or over
 * any other with the same seed: then stacks are found by their hash, and only those that are new
 * are interned frame by frame. A profile none of whose columns is kept appends nothing (rows 0).
 */
enum err partition_encode(struct partition *p, const struct series_profile *profile,
			  const struct store_limits *limits, struct buf *out,
			  struct encoded_chunk *ret, struct fault *fault) MUST_CHECK;

/* ------------------------------------------------------------------ dictionary deltas */

struct prepared_delta {
	struct prepared_delta *next;
	struct partition_mark from, to;
	struct buf dictionary, index; /* index: empty when it has nothing new */
};
void prepared_delta_free(struct prepared_delta *d);

#define DELTA_VERSION 1

struct partition_mark partition_mark(const struct partition *p);
bool partition_mark_equal(const struct partition_mark *a, const struct partition_mark *b);
/*
 * Everything after `from`, as bytes with version and checksum; zstd when level > 0 (deltas of a
 * commit are small and stay plain; a whole dictionary takes level 3).
 */
enum err partition_delta_encode(const struct partition *p, const struct partition_mark *from,
				int level, struct buf *out) MUST_CHECK;
/* The same in two steps, of which only the first needs the partition: its tables between two marks
 * as a body, and the body as a delta. */
enum err partition_delta_body(const struct partition *p, const struct partition_mark *from,
			      const struct partition_mark *to, struct buf *body) MUST_CHECK;
enum err partition_delta_seal(struct str body, const struct partition_mark *from,
			      const struct partition_mark *to, int level,
			      struct buf *out) MUST_CHECK;
/* Adds a delta that begins where the partition ends; ERR_CORRUPT when it does not, or when an entry
 * is not new, or refers to what is not there. After an error the partition is only good to free. */
enum err partition_delta_apply(struct partition *p, struct str bytes) MUST_CHECK;
/* `from` and the end of a delta without applying it. */
enum err partition_delta_range(struct str bytes, struct partition_mark *ret_from,
			       struct partition_mark *ret_to) MUST_CHECK;
