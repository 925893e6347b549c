/*
 * Private to src/store: the series, types and labels of the services of one day, without their
 * dictionaries. Label queries use it, so that their cost does not depend on dictionaries.
 *
 * Strings, labels (name and value) and sets of types are interned once for the whole day, so that a
 * matcher is evaluated once per value, and a series takes a few numbers. On disk it consists of
 * deltas (series_delta.c), written by the same transactions as those of the dictionaries: the rows
 * of a service continue each other, from empty to the state of its dictionary.
 */
#pragma once

#include "base/arena.h"
#include "store/partition.h"

/* The part of a partition's tables that is in the index. */
struct series_mark {
	uint32_t types, series, pairs, labels;
};
/* For an empty partition. */
#define SERIES_MARK_BASE ((struct series_mark){.labels = 1})

struct series_mark series_mark_of(const struct partition_mark *m);
bool series_mark_equal(const struct series_mark *a, const struct series_mark *b);

struct index_label {
	uint32_t name, value; /* texts */
};

struct index_type {
	uint32_t text; /* its stored id */
	bool gauge, derived;
	uint64_t hash; /* as in struct type_entry */
};

struct index_series {
	uint64_t hash;			 /* as in struct series_entry */
	uint32_t labels_at, label_count; /* in label_pool, in order of names */
	uint32_t type_set;
	uint32_t local; /* its number in the partition */
	/* First and last time of its profiles, as in struct series_entry. */
	int64_t first_ns, last_ns;
};

struct index_service {
	uint32_t id; /* in the day's file */
	struct series_mark end;
	VEC(uint32_t) series, types; /* by their number in the partition */
	VEC(uint32_t) labels;	     /* of rows */
	VEC(uint32_t) names;	     /* distinct names of these … */
	bool more_names;	     /* … or only the first INDEX_NAMES_MAX */
};
#define INDEX_NAMES_MAX 32

/* Sorted, distinct ids of types. */
struct index_type_set {
	uint32_t at, n; /* in type_pool */
};

struct series_index {
	uint64_t seed;
	struct arena arena;
	VEC(struct str) texts;
	struct map text_map;
	VEC(struct index_label) labels;
	struct map label_map;
	VEC(uint32_t) by_value; /* labels by name and value, as of series_index_order */
	VEC(struct index_type) types;
	struct map type_map;
	VEC(struct index_type_set) type_sets; /* 0 = none */
	VEC(uint32_t) type_pool;
	struct map type_set_map;
	VEC(struct index_series) series;
	VEC(uint32_t) label_pool;
	VEC(struct index_service) services;
	struct map service_map;
	VEC(struct label_pair) scratch;
	size_t service_bytes; /* memory of services besides the structs */
};

enum err series_index_init(struct series_index *x, uint64_t seed) MUST_CHECK;
void series_index_release(struct series_index *x);
size_t series_index_memory(const struct series_index *x);

/* Brings by_value up to date (series_order.c). */
enum err series_index_order(struct series_index *x) MUST_CHECK;
/* The labels of a name, sorted by value; after series_index_order. */
size_t series_index_labels_of(const struct series_index *x, uint32_t name, const uint32_t **ret);

/* MAP_NONE if there is none. */
uint32_t series_index_text(const struct series_index *x, struct str text);
/* The service with an id of the file, or NULL. */
struct index_service *series_index_service(const struct series_index *x, uint32_t id);
/* Empties it. The memory of its series is not freed. */
void series_index_forget(struct series_index *x, uint32_t id);
/* Whether rows of a service have a label of that name. */
bool index_service_has_name(const struct series_index *x, const struct index_service *s,
			    uint32_t name);
/* Extends the time range of a series. `local`: its number in the partition. */
void series_index_widen(struct series_index *x, uint32_t id, uint32_t local, int64_t first_ns,
			int64_t last_ns);

#define SERIES_DELTA_VERSION 1
/*
 * Encodes a partition between two marks, for the index; appends nothing if that is empty. Requires
 * the partition's lock. Compressed with zstd if level > 0 and it is not small.
 */
enum err series_delta_encode(const struct partition *p, const struct series_mark *from,
			     const struct series_mark *to, int level, struct buf *out) MUST_CHECK;
/*
 * Applies a delta of a service; one that is already in the index changes nothing. ERR_CORRUPT if it
 * is damaged or does not begin where the index ends; the service's data is then invalid. After
 * other errors the index can only be released.
 */
enum err series_delta_apply(struct series_index *x, uint32_t id, struct str bytes) MUST_CHECK;

/* For series_delta.c: find or add an entry. */
enum err series_index_add_text(struct series_index *x, struct str text, uint32_t *ret) MUST_CHECK;
enum err series_index_add_label(struct series_index *x, struct index_label label,
				uint32_t *ret) MUST_CHECK;
enum err series_index_add_type(struct series_index *x, struct str id, uint32_t *ret) MUST_CHECK;
enum err series_index_add_service(struct series_index *x, uint32_t id,
				  struct index_service **ret) MUST_CHECK;
/* The set with one more type. */
enum err series_index_add_to_set(struct series_index *x, uint32_t set, uint32_t type,
				 uint32_t *ret) MUST_CHECK;
