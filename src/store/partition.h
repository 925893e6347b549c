/*
 * Private to src/store: the dictionary of one service of one tenant for one day (UTC).
 *
 * A partition has a dictionary, series and types, with dense ids. Chunks and blocks contain only
 * such ids, and belong to their partition. All tables only grow, so that ids stay valid, and the
 * part on disk is a prefix: `persisted` is its length, and partition_delta_encode writes the rest.
 *
 * `lock` guards all of it, also for reading, because tables move when they grow. To lock two
 * partitions, lock the one with the lower `order` first.
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
	/* First and last time of its profiles; 0, 0 = none yet. A series of an opened partition has
	 * all times. */
	int64_t first_ns, last_ns;
};

struct type_entry {
	struct str id; /* five-part */
	bool gauge;
	uint64_t hash;
};

/* The types of a series, for queries about labels and types. */
struct series_type {
	uint32_t series, type;
};

/* A prefix of every table: the persisted part, or start and end of a delta. */
struct partition_mark {
	uint32_t strings, functions, mappings, frames, labels, label_sets, stacks;
	uint32_t series, types, pairs;
};

/* Shared by the partitions of one tenant and day: counters for limits. */
struct quota {
	atomic_uint series;
};

struct partition {
	struct mutex lock;
	atomic_uint references; /* the engine's */
	uint64_t order;		/* lock order */
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
	 * Encoded deltas that are not in the file yet, in order, from `persisted` up to `prepared`.
	 * The engine guards the list by another lock, so that writers do not wait for threads that
	 * intern.
	 */
	struct partition_mark prepared;
	struct prepared_delta *prepared_first, *prepared_last;
	atomic_size_t prepared_bytes;
	struct quota *quota;
	/* Maximum depth of the first `measured` stacks, to know without checking each row that none
	 * must be truncated. */
	uint32_t measured, deepest;
	/* Built from the index of its day, for a query that needs neither stacks nor row labels: it
	 * has no dictionary. */
	bool light;
	/* Of entries added since the partition was opened. */
	uint64_t profiles, rows;
	void *engine; /* for the engine */
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
/* Applies the limits of stacks to further interning, and resets the counters. Requires the lock. */
void partition_limit(struct partition *p, const struct store_limits *limits);
/* The type, or MAP_NONE. */
uint32_t partition_find_type(const struct partition *p, struct str id);
uint32_t partition_find_series(const struct partition *p, const struct label_pair *labels,
			       size_t n);
enum err partition_type(struct partition *p, struct str id, uint32_t *ret) MUST_CHECK;
/* Records that a series has a type. */
enum err partition_pair(struct partition *p, uint32_t series, uint32_t type) MUST_CHECK;

bool partition_has_pair(const struct partition *p, uint32_t series, uint32_t type);

/* Whether a type, given by id, is a gauge. */
bool type_id_means(struct str id);
/* The hash of a series' labels that is its identity outside a partition. */
uint64_t series_hash(const struct label_pair *labels, size_t n, uint64_t seed);

struct encoded_chunk {
	uint32_t series, rows;
	int64_t time_ns, duration_ns;
	uint32_t cut_stacks; /* stacks truncated at max_depth */
};
/*
 * Appends a profile as a chunk to `out`. The profile is over this partition's dictionary, or over
 * another with the same seed: then stacks are found by hash, and only new ones are interned frame
 * by frame. A profile without any kept column appends nothing (rows 0).
 */
enum err partition_encode(struct partition *p, const struct series_profile *profile,
			  const struct store_limits *limits, struct buf *out,
			  struct encoded_chunk *ret, struct fault *fault) MUST_CHECK;

/* ------------------------------------------------------------------ dictionary deltas */

struct prepared_delta {
	struct prepared_delta *next;
	struct partition_mark from, to;
	struct buf dictionary, index; /* `index` is empty if there is nothing new */
};
void prepared_delta_free(struct prepared_delta *d);

#define DELTA_VERSION 1

struct partition_mark partition_mark(const struct partition *p);
bool partition_mark_equal(const struct partition_mark *a, const struct partition_mark *b);
/*
 * Encodes everything after `from`, with version and checksum; compressed with zstd if level > 0
 * (deltas of a commit are small and not compressed; whole dictionaries use level 3).
 */
enum err partition_delta_encode(const struct partition *p, const struct partition_mark *from,
				int level, struct buf *out) MUST_CHECK;
/* The same in two steps, of which only the first needs the partition: encodes its tables between
 * two marks as a body, then the body as a delta. */
enum err partition_delta_body(const struct partition *p, const struct partition_mark *from,
			      const struct partition_mark *to, struct buf *body) MUST_CHECK;
enum err partition_delta_seal(struct str body, const struct partition_mark *from,
			      const struct partition_mark *to, int level,
			      struct buf *out) MUST_CHECK;
/* Applies a delta that begins where the partition ends; ERR_CORRUPT if it does not, or if an entry
 * is not new or has an invalid reference. After an error the partition can only be freed. */
enum err partition_delta_apply(struct partition *p, struct str bytes) MUST_CHECK;
/* Reads `from` and the end of a delta without applying it. */
enum err partition_delta_range(struct str bytes, struct partition_mark *ret_from,
			       struct partition_mark *ret_to) MUST_CHECK;
