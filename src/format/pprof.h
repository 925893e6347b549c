/*
 * pprof (profile.proto): field numbers, and what its reader's parts share. Private to src/format.
 *
 * Reading goes bottom up by content, so that a stack seen before costs no look-up but its own:
 *
 *	pprof_scan      one pass over the top level: where samples, locations, strings … stand
 *	pprof_tables    hash of every string → function → mapping, nothing interned
 *	pprof_locations hash of every location: of its frames
 *	pprof_shape     functions and locations of usual shapes, taken apart by shuffles
 *	pprof_first_pass, pprof_stacks
 *	                hash of every stack from its locations' hashes
 *	pprof_samples   stacks looked up in the dictionary; only on a miss are strings, functions
 *	                and frames interned (pprof_intern.c)
 *
 * (docs/decisions/0002-stacks-are-sequences.md has the measurements.)
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

/* Bytes behind an entry that its short way may read: more than all its fields can take. */
#define PPROF_SLACK 96

/* A piece of the file: 32-bit offsets, because limits keep files below 4 GiB. */
struct span {
	uint32_t at, n;
};

struct spans {
	struct span *v;
	size_t n, cap;
};

/*
 * From the ids of a file to positions in its tables. Nearly every writer counts 1, 2, 3 …: then a
 * plain array; the first id beyond it turns the table into a map.
 */
struct id_table {
	uint32_t *direct; /* position + 1, 0 = no such id */
	uint64_t size;	  /* of direct; 0 once it is a map */
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

/* The position of an id, or UINT32_MAX. */
static inline uint32_t id_table_get(const struct id_table *t, uint64_t id)
{
	if (__builtin_expect(t->size != 0, 1))
		return id < t->size ? t->direct[id] - 1 : UINT32_MAX;
	return map_get(&t->sparse, id_key(t, id));
}

enum err id_table_init(struct id_table *t, struct arena *a, size_t n, uint64_t seed) MUST_CHECK;
/* ERR_EXISTS when the id is there already. */
enum err id_table_add_slow(struct id_table *t, uint64_t id, uint32_t position) MUST_CHECK;
static inline enum err MUST_CHECK id_table_add(struct id_table *t, uint64_t id, uint32_t position)
{
	if (__builtin_expect(id >= t->size || t->direct[id], 0))
		return id_table_add_slow(t, id, position);
	t->direct[id] = position + 1;
	return ERR_OK;
}

/* A function as the file has it: string indices, checked. */
struct pprof_function {
	uint64_t id;
	uint32_t name, system_name, file;
	int64_t start_line;
};

/* A location as the file has it; its lines are in `raw_lines`. */
struct pprof_raw_location {
	uint64_t id, mapping, address, folded;
};
struct pprof_raw_line {
	uint64_t function, line, column;
};

/*
 * A location of one line carries its position in the file, one of several lines an index into
 * `inlined`. The hash of its frame, which is all that most stacks ask for, and its frame in the
 * dictionary, once it has one, stand in arrays of their own.
 */
struct pprof_location {
	uint32_t at;
	uint32_t lines; /* 0 = no such location */
};

struct pprof_inlined {
	uint32_t position;
	uint32_t first_hash; /* in line_hash */
};

/* A sample as its first pass leaves it. */
struct pprof_sample {
	uint64_t hash;	 /* of its stack; 0 = intern it frame by frame */
	struct span ids; /* the one packed run of location ids */
	bool scattered;	 /* not one packed run: walk the message for ids */
	bool has_labels;
	bool unusual; /* not read yet: nothing of the above is known */
};

struct pprof_file {
	struct str bytes;
	struct reading *out;
	struct profile *profile;
	struct arena arena;
	/* While hashing, which another thread may do: of the dictionary only what never changes. */
	const struct dict *keys;

	struct spans samples, mappings, locations, functions, strings, sample_types;
	VEC(uint64_t) comments;
	struct span period_type;
	bool has_period_type;
	uint64_t drop_frames, keep_frames, default_type, doc_url;
	int64_t time_ns, duration_ns, period;

	/* Content hashes, by position in the file. */
	uint64_t *string_hash, *function_hash, *mapping_hash;
	struct id_table function_ids, mapping_ids;
	/* By id, below location_limit; when ids are no numbers 1, 2, 3 … that is 0, and both are by
	 * position, which sparse_locations knows. */
	struct pprof_location *location;
	uint64_t *location_hash; /* 0 = not a location of one line: see `location` */
	/* The dictionary's frame + 1 of a location of one line, 0 = not known. Like location_frames
	 * made for the first stack that the dictionary lacks. */
	uint32_t *location_frame;
	uint64_t location_limit;
	uint32_t plain_locations; /* ids from 1 to this are all locations of one line */
	struct id_table sparse_locations;
	VEC(struct pprof_inlined) inlined;
	VEC(uint64_t) line_hash;
	VEC(struct pprof_raw_line) raw_lines; /* scratch */

	/* Dictionary ids + 1 of what was interned, by position; 0 = not yet. */
	uint32_t *string_id, *function_id, *mapping_id, *location_frames;
	VEC(uint32_t) frames;  /* location_frames points here: a count, then frame ids */
	uint64_t frame_budget; /* frames that locations of several lines may still add to stacks */

	/* All samples' first pass and their values, or NULL: then batch by batch. */
	struct pprof_sample *sample;
	int64_t *sample_values;
};

enum err pprof_scan(struct pprof_file *f) MUST_CHECK;
enum err pprof_tables(struct pprof_file *f) MUST_CHECK;
enum err pprof_locations(struct pprof_file *f) MUST_CHECK;
/* The first pass over all samples, remembered when they are not too many. */
enum err pprof_prepare_samples(struct pprof_file *f) MUST_CHECK;
enum err pprof_samples(struct pprof_file *f) MUST_CHECK;

void pprof_scan_samples(struct pprof_file *f, size_t first, size_t n, struct pprof_sample *samples,
			int64_t *values);
/* For the unusual ones; what is wrong with a sample ends in a fault. */
enum err pprof_scan_any_sample(struct pprof_file *f, size_t i, struct pprof_sample *s,
			       int64_t *values) MUST_CHECK;
enum err pprof_sample_fault(struct pprof_file *f, size_t i, enum err e, const char *what,
			    uint64_t value);

/* Label sets of a file by the bytes of their labels: samples mostly repeat a few. */
struct pprof_labels {
	VEC(uint32_t) scratch;
	struct map memo;
};
enum err pprof_find_labels(struct pprof_file *f, struct pprof_labels *known, size_t i,
			   uint32_t *ret) MUST_CHECK;
void pprof_labels_release(struct pprof_labels *known);

struct pprof_ids {
	uint32_t n;
	bool plain; /* all from 1 to plain_locations */
};
/* The ids of a packed run, which are at most as many as its bytes; behind them there must be room
 * for PPROF_IDS_SLACK more, and PPROF_IDS_ZEROS of these become 0. Ids above 32 bits become
 * UINT32_MAX. False when the run is cut. */
#define PPROF_IDS_SLACK PB_RUN_SLACK
#define PPROF_IDS_ZEROS 4
bool pprof_decode_ids(const struct pprof_file *f, struct span run, uint32_t *ids,
		      struct pprof_ids *ret) MUST_CHECK;
/*
 * How much of what the processor can do is used at most: everything, unless a test compares the
 * ways with each other. Set while nothing is being read.
 */
enum pprof_means { PPROF_PLAIN, PPROF_SHUFFLES, PPROF_EVERYTHING };
extern enum pprof_means pprof_means;
/* Before the first of them; any thread may. */
void pprof_ids_init(void);

/*
 * The content hash of the stack in a packed run of location ids. False when an id is malformed or
 * unknown, or there are too many: the slow path then says what is wrong.
 */
bool pprof_hash_stack(struct pprof_file *f, struct span ids, uint64_t *ret) MUST_CHECK;
#define PPROF_QUICK_BYTES 1024 /* of a run; longer ones go the slow way */
/* A location of many lines costs a stack that names it one byte: what all of them may expand to is
 * bounded by the size of the file. */
static inline bool pprof_spend_frames(struct pprof_file *f, uint32_t n)
{
	if (n > f->frame_budget)
		return false;
	f->frame_budget -= n;
	return true;
}

/* Reading one entry by its position; what is malformed ends in a fault. */
enum err pprof_read_function(struct pprof_file *f, size_t i, struct pprof_function *ret) MUST_CHECK;
enum err pprof_read_mapping(struct pprof_file *f, size_t i, struct mapping *ret,
			    uint64_t *ret_id) MUST_CHECK;
enum err pprof_read_location(struct pprof_file *f, size_t i,
			     struct pprof_raw_location *ret) MUST_CHECK;
/* The frames of the location just read, leaf first: function and mapping are positions + 1. */
enum err pprof_location_frame(struct pprof_file *f, const struct pprof_raw_location *l, size_t line,
			      struct frame *ret) MUST_CHECK;

/* Interning, lazily and once. */
enum err pprof_intern_string(struct pprof_file *f, uint64_t index, uint32_t *ret) MUST_CHECK;
enum err pprof_intern_mapping(struct pprof_file *f, uint32_t position, uint32_t *ret) MUST_CHECK;
/* The frame of a location of one line, which dict_find_frame() does not find by this hash. */
enum err pprof_intern_line(struct pprof_file *f, uint32_t position, uint64_t hash,
			   uint32_t *ret) MUST_CHECK;
/* The dictionary's frames for a location, leaf first; valid until the next call. */
enum err pprof_intern_location(struct pprof_file *f, uint32_t position, const uint32_t **ret,
			       uint32_t *ret_n) MUST_CHECK;

/* A cursor over an entry that counts bytes from the start of the file. */
static inline struct pb pprof_message(const struct pprof_file *f, struct span span)
{
	struct pb c = pb_of(str_n(f->bytes.p + span.at, span.n));

	c.start = (const uint8_t *)f->bytes.p;
	return c;
}

/* "sample 17: location_id 99 … (byte 1234)". `at` points into the file, NULL = not known. */
enum err pprof_fault(struct pprof_file *f, enum err e, const void *at, const char *format, ...)
	PRINTF_LIKE(4, 5);

/* The profile as uncompressed pprof bytes. */
enum err pprof_encode(const struct profile *p, struct buf *out) MUST_CHECK;
