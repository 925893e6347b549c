/*
 * Private to src/store: which series, types and labels the services of one day have, without their
 * dictionaries. Questions about labels are answered from it, however many services there are.
 *
 * Texts, labels (name and value) and sets of types are known by number, each once for the whole
 * day: what a selector says of a value is found out once for the value, and a series is a few
 * numbers. On the disk it is deltas (series_delta.c), written by the same transaction as those of
 * the dictionaries and in step with them: a service's rows continue each other from nothing to what
 * its dictionary has.
 */
#pragma once

#include "base/arena.h"
#include "store/partition.h"

/* How much of a partition's tables is in the index. */
struct series_mark {
	uint32_t types, series, pairs, labels;
};
/* Of a partition that is empty. */
#define SERIES_MARK_BASE ((struct series_mark){.labels = 1})

struct series_mark series_mark_of(const struct partition_mark *m);
bool series_mark_equal(const struct series_mark *a, const struct series_mark *b);

struct index_label {
	uint32_t name, value; /* texts */
};

struct index_type {
	uint32_t text; /* its id as it is stored */
	bool gauge, derived;
	uint64_t hash; /* as in struct type_entry */
};

struct index_series {
	uint64_t hash;			 /* as in struct series_entry */
	uint32_t labels_at, label_count; /* in label_pool, in order of names */
	uint32_t type_set;
	uint32_t local; /* its number in the partition */
	/* First and last moment of its profiles, as in struct series_entry. */
	int64_t first_ns, last_ns;
};

struct index_service {
	uint32_t id; /* in the day's file */
	struct series_mark end;
	VEC(uint32_t) series, types; /* by their numbers in the partition */
	VEC(uint32_t) labels;	     /* of rows */
	VEC(uint32_t) names;	     /* the names of these, each once … */
	bool more_names;	     /* … or only the first INDEX_NAMES_MAX */
};
#define INDEX_NAMES_MAX 32

/* Ids of types, in order and each once. */
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
	size_t service_bytes; /* of what services have beside themselves */
};

enum err series_index_init(struct series_index *x, uint64_t seed) MUST_CHECK;
void series_index_release(struct series_index *x);
size_t series_index_memory(const struct series_index *x);

/* MAP_NONE when there is none. */
uint32_t series_index_text(const struct series_index *x, struct str text);
/* The service with an id of the file, or NULL. */
struct index_service *series_index_service(const struct series_index *x, uint32_t id);
/* It is empty from now on. What its series took is not given back. */
void series_index_forget(struct series_index *x, uint32_t id);
/* Whether rows of a service have a label of that name. */
bool index_service_has_name(const struct series_index *x, const struct index_service *s,
			    uint32_t name);
/* Where its series are in time; the widest of all that was said. `local`: as in the partition. */
void series_index_widen(struct series_index *x, uint32_t id, uint32_t local, int64_t first_ns,
			int64_t last_ns);

#define SERIES_DELTA_VERSION 1
/*
 * What a partition has between two marks, for the index: nothing is appended when there is nothing.
 * With the partition's lock. zstd when level > 0 and it is not small.
 */
enum err series_delta_encode(const struct partition *p, const struct series_mark *from,
			     const struct series_mark *to, int level, struct buf *out) MUST_CHECK;
/*
 * Adds a delta of a service; one that is in the index already changes nothing. ERR_CORRUPT when it
 * is damaged or does not begin where the index ends; what is known of the service then is of no
 * use. After other errors the index is only good to be released.
 */
enum err series_delta_apply(struct series_index *x, uint32_t id, struct str bytes) MUST_CHECK;

/* For series_delta.c: all are found or made. */
enum err series_index_add_text(struct series_index *x, struct str text, uint32_t *ret) MUST_CHECK;
enum err series_index_add_label(struct series_index *x, struct index_label label,
				uint32_t *ret) MUST_CHECK;
enum err series_index_add_type(struct series_index *x, struct str id, uint32_t *ret) MUST_CHECK;
enum err series_index_add_service(struct series_index *x, uint32_t id,
				  struct index_service **ret) MUST_CHECK;
/* The set with one type more. */
enum err series_index_add_to_set(struct series_index *x, uint32_t set, uint32_t type,
				 uint32_t *ret) MUST_CHECK;
