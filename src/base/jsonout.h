/*
 * Writes JSON into a buffer with commas, indentation and escaping. No call fails: the buffer keeps
 * the first error, and the caller checks buf_error() at the end.
 *
 *	struct jsonout o = jsonout_of(&b, true);
 *	jsonout_object(&o);
 *	jsonout_put_text(&o, "name", "main");
 *	jsonout_key(&o, STR("values"));
 *	jsonout_array(&o);
 *	jsonout_i64(&o, 42);
 *	jsonout_end_array(&o);
 *	jsonout_end_object(&o);
 *
 * Output is valid UTF-8: invalid bytes become U+FFFD. NaN and the infinities become null. Doubles
 * have the fewest digits that read back to the same number. The program must keep the "C" locale
 * for numbers.
 */
#pragma once

#include "base/buf.h"

struct jsonout {
	struct buf *b;
	bool pretty;	   /* a value per line, indented by two spaces */
	bool comma;	   /* an element precedes at this level */
	bool after_key;	   /* the next value belongs to a key on the same line */
	uint32_t depth;	   /* open objects and arrays */
	uint32_t flat;	   /* depth at which a flat array began, 0 = none */
	uint64_t replaced; /* bytes that became U+FFFD */
};

static inline struct jsonout jsonout_of(struct buf *b, bool pretty)
{
	return (struct jsonout){.b = b, .pretty = pretty};
}

void jsonout_object(struct jsonout *o);
void jsonout_end_object(struct jsonout *o);
void jsonout_array(struct jsonout *o);
void jsonout_end_array(struct jsonout *o);
/* An array that stays on one line in pretty output, including nested values. */
void jsonout_flat_array(struct jsonout *o);
void jsonout_key(struct jsonout *o, struct str key);

void jsonout_str(struct jsonout *o, struct str value);
void jsonout_text(struct jsonout *o, const char *value); /* NULL is null */
void jsonout_i64(struct jsonout *o, int64_t value);
/* Adds many elements to the open array. */
void jsonout_i64s(struct jsonout *o, const int64_t *values, size_t n);
void jsonout_u64(struct jsonout *o, uint64_t value);
/* As a string, for readers that store numbers in doubles (the protobuf mapping of 64-bit
 * integers). */
void jsonout_i64_text(struct jsonout *o, int64_t value);
void jsonout_u64_text(struct jsonout *o, uint64_t value);
void jsonout_double(struct jsonout *o, double value);
void jsonout_bool(struct jsonout *o, bool value);
void jsonout_null(struct jsonout *o);
/* Text that is already JSON. */
void jsonout_raw(struct jsonout *o, struct str json);

/* A key and its value in one call. */
void jsonout_put_str(struct jsonout *o, const char *key, struct str value);
void jsonout_put_text(struct jsonout *o, const char *key, const char *value);
void jsonout_put_i64(struct jsonout *o, const char *key, int64_t value);
void jsonout_put_u64(struct jsonout *o, const char *key, uint64_t value);
void jsonout_put_double(struct jsonout *o, const char *key, double value);
void jsonout_put_bool(struct jsonout *o, const char *key, bool value);
void jsonout_put_object(struct jsonout *o, const char *key);
void jsonout_put_array(struct jsonout *o, const char *key);

/* Only the escaped string with its quotes; returns how many bytes became U+FFFD. */
uint64_t json_quote(struct buf *b, struct str s);
