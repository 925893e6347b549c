/*
 * pprof (profile.proto): field numbers, and what its reader's parts share. Private to src/format.
 *
 * Reading goes bottom up by content, so that a stack seen before costs no look-up but its own:
 *
 *	pprof_scan      one pass over the top level: where samples, locations, strings … stand
 *	pprof_tables    hash of every string → function → mapping → location, nothing interned
 *	pprof_samples   hash of every stack from its locations' hashes, looked up in the dictionary;
 *	                only on a miss are strings, functions and frames interned
 *
 * (/docs/decisions/0002-stacks-are-sequences.md has the measurements.)
 */
#pragma once

#include "base/arena.h"
#include "format/format.h"
#include "format/protobuf.h"

enum pprof_profile_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING_TABLE = 6,
	PPROF_DROP_FRAMES = 7,
	PPROF_KEEP_FRAMES = 8,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14,
	PPROF_DOC_URL = 15,
};
enum pprof_value_type_field { PPROF_VALUE_TYPE = 1, PPROF_VALUE_UNIT = 2 };
enum pprof_sample_field {
	PPROF_SAMPLE_LOCATION = 1,
	PPROF_SAMPLE_VALUE = 2,
	PPROF_SAMPLE_LABEL = 3
};
enum pprof_label_field {
	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_STR = 2,
	PPROF_LABEL_NUM = 3,
	PPROF_LABEL_NUM_UNIT = 4,
};
enum pprof_mapping_field {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_OFFSET = 4,
	PPROF_MAPPING_FILENAME = 5,
	PPROF_MAPPING_BUILD_ID = 6,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINES = 9,
	PPROF_MAPPING_HAS_INLINES = 10,
};
enum pprof_location_field {
	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING = 2,
	PPROF_LOCATION_ADDRESS = 3,
	PPROF_LOCATION_LINE = 4,
	PPROF_LOCATION_IS_FOLDED = 5,
};
enum pprof_line_field { PPROF_LINE_FUNCTION = 1, PPROF_LINE_LINE = 2, PPROF_LINE_COLUMN = 3 };
enum pprof_function_field {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
	PPROF_FUNCTION_FILENAME = 4,
	PPROF_FUNCTION_START_LINE = 5,
};

/* A piece of the file: 32-bit offsets, because limits keep files below 4 GiB. */
struct span {
	uint32_t at, n;
};

struct spans {
	struct span *v;
	size_t n, cap;
};

/* From the ids of a file to positions in our arrays: direct while ids are dense, else hashed. */
struct id_table {
	uint32_t *direct; /* position + 1, 0 = no such id */
	uint64_t direct_size;
	struct map sparse;
	uint64_t seed;
};

/* One to one on 64 bits, so equal keys are equal ids; seeded, so that nobody can choose ids whose
 * keys crowd together. */
static inline uint64_t id_key(const struct id_table *t, uint64_t id)
{
	uint64_t h = id ^ t->seed;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	h = (h ^ h >> 29) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

struct pprof_function {
	uint64_t hash;
	uint32_t name, system_name, file; /* string indices of the file, checked */
	int64_t start_line;
	uint32_t interned; /* dictionary id + 1, 0 = not yet */
};

struct pprof_mapping {
	uint64_t hash;
	struct mapping m; /* its strings are indices of the file until interned */
	uint32_t interned;
};

/* One line of a location: becomes one frame. */
struct pprof_line {
	uint64_t hash;
	struct frame
		frame; /* function and mapping: positions of ours; 0 = none, else position + 1 */
	uint32_t interned;
};

/* What the stack loop touches: 16 bytes a location. `hash` is the frame's own when there is one. */
struct pprof_location {
	uint64_t hash;
	uint32_t first_line;
	uint32_t lines; /* 0 = no such location */
};

struct pprof_file {
	struct str bytes;
	struct reading *out;
	struct profile *profile;
	struct arena arena;

	struct spans samples, mapping_spans, location_spans, function_spans, strings, sample_types;
	VEC(uint64_t) comments;
	struct span period_type;
	bool has_period_type;
	uint64_t drop_frames, keep_frames, default_type, doc_url;

	uint64_t *string_hash;
	uint32_t *string_id; /* dictionary id + 1 */
	struct pprof_function *functions;
	struct pprof_mapping *mappings;
	struct pprof_location *locations; /* by id when dense, else by position */
	VEC(struct pprof_line) lines;
	struct id_table function_ids, mapping_ids, location_ids;
	bool locations_by_id;
	uint64_t location_limit; /* with locations_by_id: ids are below this */
};

enum err pprof_scan(struct pprof_file *f) MUST_CHECK;
enum err pprof_tables(struct pprof_file *f) MUST_CHECK;
enum err pprof_samples(struct pprof_file *f) MUST_CHECK;

/* Interning, lazily and once: the dictionary id of a string, function … of the file. */
enum err pprof_intern_string(struct pprof_file *f, uint64_t index, uint32_t *ret) MUST_CHECK;
enum err pprof_intern_mapping(struct pprof_file *f, uint32_t position, uint32_t *ret) MUST_CHECK;
enum err pprof_intern_line(struct pprof_file *f, uint32_t line, uint32_t *ret) MUST_CHECK;

/* "sample 17: location_id 99 … (byte 1234)". `at` points into the file, NULL = not known. */
enum err pprof_fault(struct pprof_file *f, enum err e, const void *at, const char *format, ...)
	PRINTF_LIKE(4, 5);

/* The position for an id, or UINT32_MAX. */
static inline uint32_t id_table_get(const struct id_table *t, uint64_t id)
{
	if (t->direct)
		return id < t->direct_size ? t->direct[id] - 1 : UINT32_MAX;
	return map_get(&t->sparse, id_key(t, id));
}
enum err id_table_init(struct id_table *t, struct arena *a, const uint64_t *ids, size_t n,
		       uint64_t seed, size_t *ret_duplicate) MUST_CHECK;

struct pprof_write_options {
	bool drop_labels; /* PGO wants stacks alone */
	bool drop_addresses;
};
/* The profile as uncompressed pprof bytes. */
enum err pprof_encode(const struct profile *p, const struct pprof_write_options *options,
		      struct buf *out) MUST_CHECK;
