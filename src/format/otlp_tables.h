/*
 * OTLP profiles as plain tables: what protobuf and JSON have in common. Private to src/format.
 *
 *	bytes -> otlp_read.c ------+                        +-> otlp_write.c -> bytes
 *	                           +-> struct otlp_tables --+
 *	JSON  -> otlp_json_read.c -+     |          ^       +-> otlp_json_write.c -> JSON
 *	                         otlp_build      otlp_plan
 *	                                 v          |
 *	                                the model (rows)
 *
 * The tables hold what one request or file message holds, in the layout of proto 1.10: indices are
 * kept as they are in the file (int32, perhaps negative, perhaps outside their table) and checked
 * once, in otlp_build. Strings are slices of the input (or of the model when writing): whoever
 * owns those bytes must outlive the tables. Values of attributes are already resolved: a reference
 * into string_table (AnyValue 8, KeyValue 3) is a plain string here, so a decoder fills `strings`
 * before it decodes any value. Lists of numbers live in pools and are known by a range.
 *
 * Everything else (nested values, copies of strings) is in `arena`. All zero is not valid: use
 * otlp_tables_init.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "format/format.h"

/* Elements [at, at + n) of a pool. */
struct otlp_range {
	uint32_t at, n;
};

enum otlp_any_type {
	ANY_EMPTY,
	ANY_STRING,
	ANY_BOOL,
	ANY_INT,
	ANY_DOUBLE,
	ANY_ARRAY,
	ANY_LIST, /* KeyValueList */
	ANY_BYTES,
};

struct otlp_pair;

/* AnyValue. Arrays and lists are in the arena. */
struct otlp_any {
	enum otlp_any_type type;
	uint32_t n; /* of items or pairs */
	union {
		struct str text; /* STRING, BYTES */
		int64_t number;	 /* INT, BOOL */
		double real;
		struct otlp_any *items;
		struct otlp_pair *pairs;
	};
};

/* KeyValue: attributes of resources and scopes, members of lists. */
struct otlp_pair {
	struct str key;
	struct otlp_any value;
};

/* KeyValueAndUnit */
struct otlp_attribute {
	int32_t key, unit;
	struct otlp_any value;
};

struct otlp_mapping {
	uint64_t start, limit, offset;
	int32_t file;
	struct otlp_range attributes; /* in `indices` */
};

struct otlp_function {
	int32_t name, system_name, file;
	int64_t start_line;
};

struct otlp_line {
	int32_t function;
	int64_t line, column;
};

struct otlp_location {
	uint64_t address;
	int32_t mapping;
	struct otlp_range lines;      /* in `lines` */
	struct otlp_range attributes; /* in `indices` */
};

struct otlp_sample {
	int32_t stack, link;
	struct otlp_range attributes; /* in `indices` */
	struct otlp_range values;     /* in `values` */
	struct otlp_range times;      /* in `times`, nanoseconds since 1970 */
};

struct otlp_value_type {
	int32_t type, unit;
};

struct otlp_profile {
	struct otlp_value_type sample_type, period_type;
	int64_t period;
	uint64_t time, duration;
	struct str id; /* bytes, not hex; empty or 16 of them in a valid file */
	uint32_t dropped_attributes;
	struct str payload_format, payload;
	struct otlp_range samples;    /* in `samples` */
	struct otlp_range attributes; /* in `indices` */
	struct otlp_range comments;   /* in `indices`: string indices; 1.8 only, never written */
};

struct otlp_scope {
	struct str name, version, schema_url;
	struct otlp_pair *attributes;
	uint32_t attribute_count;
	uint32_t dropped_attributes;
	struct otlp_range profiles; /* in `profiles` */
};

struct otlp_resource {
	struct str schema_url;
	struct otlp_pair *attributes;
	uint32_t attribute_count;
	uint32_t dropped_attributes;
	uint32_t entity_refs;
	struct otlp_range scopes; /* in `scopes` */
};

/* What a message for people is about; otlp_tables.locate finds its place in the file. */
enum otlp_kind {
	OTLP_MAPPING,
	OTLP_LOCATION,
	OTLP_FUNCTION,
	OTLP_ATTRIBUTE,
	OTLP_STACK,
	OTLP_PROFILE,
	OTLP_SAMPLE,
	OTLP_KIND_COUNT_
};

struct otlp_tables {
	struct arena arena;
	bool has_dictionary;

	/* ProfilesDictionary */
	VEC(struct otlp_mapping) mappings;
	VEC(struct otlp_location) locations;
	VEC(struct otlp_function) functions;
	VEC(struct link) links;
	VEC(struct str) strings;
	VEC(struct otlp_attribute) attributes;
	VEC(struct otlp_range) stacks; /* in `indices`: locations, leaf first */
	/* A decoder of protobuf may leave stacks as they are: varints, by stack; empty = not so.
	 * `readable` is the end of the bytes they stand in. */
	VEC(struct str) packed_stacks;
	const uint8_t *readable;
	/* A plan for protobuf has the whole stack_table here, written out; `stacks` only counts. */
	struct buf encoded_stacks;

	/* The tree above the samples, flat, in the order of the file. */
	VEC(struct otlp_resource) resources;
	VEC(struct otlp_scope) scopes;
	VEC(struct otlp_profile) profiles;
	VEC(struct otlp_sample) samples;

	/* Pools */
	VEC(int32_t) indices;
	VEC(struct otlp_line) lines;
	VEC(int64_t) values;
	VEC(uint64_t) times;

	/*
	 * For messages: writes where entry `index` of its table (over the whole message) begins,
	 * such as "byte 1234" or "resourceProfiles[0].scopeProfiles[0]…"; called on failure only,
	 * so that decoding keeps no positions. May be NULL.
	 */
	void (*locate)(const struct otlp_tables *t, enum otlp_kind kind, size_t index,
		       struct buf *out);
	const void *locate_context;
};

void otlp_tables_init(struct otlp_tables *t, const struct limits *limits);
/* Forgets the content, keeps the memory of the vectors: for the next message of a file. */
void otlp_tables_clear(struct otlp_tables *t);
void otlp_tables_release(struct otlp_tables *t);

/*
 * Tables -> model: checks every index, joins the Profiles of one scope that differ only in their
 * sample type, and appends to out->list. `out` may have been filled by earlier messages.
 */
enum err otlp_build(const struct otlp_tables *t, struct reading *out) MUST_CHECK;

/*
 * Model -> tables, ready to be written: zero entries first, only entries in use, each once, one
 * Profile per sample type. Strings are slices of in->list's dictionary. With `encode` stacks, which
 * are most of a file, go straight to ret->encoded_stacks.
 */
enum err otlp_plan(struct writing *in, bool encode, struct otlp_tables *ret) MUST_CHECK;

/* A value as JSON text, as labels of type LABEL_JSON hold it: ["a",1] or {"k":true}. */
void otlp_any_json(const struct otlp_any *value, struct buf *out);
/* The reverse; what is not valid JSON becomes a string. Nothing is copied that is not escaped. */
enum err otlp_any_of_json(struct str json, struct arena *arena, struct otlp_any *ret) MUST_CHECK;

/* For decoders: the string behind an index of string_table; ERR_BAD_INDEX when outside. */
enum err otlp_string_at(const struct otlp_tables *t, int64_t index, struct str *ret) MUST_CHECK;

/* For encoders: compresses `plain` into `out` as in->compress asks (-1 = not at all). */
enum err otlp_finish(const struct writing *in, struct buf *plain, struct buf *out) MUST_CHECK;
