/*
 * OTLP profiles as JSON: the protobuf mapping with OpenTelemetry's deviations. Names are written
 * in lowerCamelCase and read in snake_case too, 64-bit numbers are written as strings and read as
 * either, trace, span and profile ids are hex (read as base64 too), payloads are base64, unknown
 * names are ignored, and what is left out has its default. Names of proto 1.8 (sample, line) are
 * understood. A file holds one object, or several, as the Collector's file exporter writes them.
 *
 * Private to otlp_json_*.c.
 */
#pragma once

#include "format/json.h"
#include "format/otlp_tables.h"

struct otlp_json {
	struct json j;
	struct otlp_tables *t;
	struct reading *out;
	/* Values and pairs of lists that are still open; moved to the arena when they close. */
	VEC(struct otlp_any) items;
	VEC(struct otlp_pair) pairs;
};

/* Whether a key is the field `snake` (as the .proto spells it), in either spelling. */
bool otlp_key_is(struct str key, const char *snake);

/* Fails the walk when e is not ERR_OK; returns whether it still goes on. */
bool otlp_json_ok(struct otlp_json *r, enum err e);

/* Numbers, given as numbers or as strings. */
void otlp_take_i32(struct otlp_json *r, int32_t *ret);
void otlp_take_u32(struct otlp_json *r, uint32_t *ret);
void otlp_take_i64(struct otlp_json *r, int64_t *ret);
void otlp_take_u64(struct otlp_json *r, uint64_t *ret);
void otlp_take_string(struct otlp_json *r, struct str *ret);
/* Hex or base64 of exactly n bytes, or of none (then *ret is empty); in the arena. */
void otlp_take_id(struct otlp_json *r, size_t n, struct str *ret);
void otlp_take_base64(struct otlp_json *r, struct str *ret);
/* An array of int32 into the pool `indices`. */
void otlp_take_indices(struct otlp_json *r, struct otlp_range *ret);
void otlp_take_any(struct otlp_json *r, struct otlp_any *ret);
/* An array of KeyValue. */
void otlp_take_pairs(struct otlp_json *r, struct otlp_pair **ret, uint32_t *ret_n);

/* The value of "dictionary": the strings alone, or all the rest. */
void otlp_take_dictionary(struct otlp_json *r, bool strings);

/* Checks a pool against the limit before something is added. */
#define OTLP_PUSH(r, vec, value)                                                               \
	({                                                                                     \
		bool push_ok_ = false;                                                         \
		if ((vec)->n >= (r)->out->limits.max_entries)                                  \
			json_fail(&(r)->j, ERR_TOO_LARGE, "more than %llu entries in a table", \
				  (unsigned long long)(r)->out->limits.max_entries);           \
		else                                                                           \
			push_ok_ = otlp_json_ok(r, vec_push(vec, value));                      \
		push_ok_;                                                                      \
	})
