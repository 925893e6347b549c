/*
 * A bounded pull cursor over JSON text: no tree, no recursion, no allocation but for strings that
 * hold escapes. The caller walks the text and takes what it knows:
 *
 *	if (json_object(&j))
 *		while (json_key(&j, &key)) {
 *			if (str_eq(key, STR("name")))
 *				json_string(&j, &name);
 *			else
 *				json_skip(&j);
 *		}
 *	if (j.error) …
 *
 * - Every key and every item must be followed by exactly one call that takes the value.
 * - The first failure is kept in `error` (and told in the fault, with path and byte offset); from
 *   then on every call returns false and loops end, so the caller looks once.
 * - null is "absent": json_object and json_array return false, the others leave *ret alone and
 *   return true. Keys may repeat; readers let the last one win.
 * - NaN, Infinity, comments, trailing commas, single quotes, leading zeros and control characters
 *   inside strings are refused. A byte order mark at the start is skipped.
 * - Bytes that are not UTF-8 and lone surrogates become U+FFFD, counted in `replaced`.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "format/format.h"

#define JSON_PATH	  8    /* levels a message names */
#define JSON_SKIP_NESTING 1024 /* most levels inside a skipped value */

enum json_type {
	JSON_NOTHING, /* the end of the input */
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
	JSON_INVALID
};

struct json_step {
	struct str key; /* as written, with its escapes; p is NULL in an array */
	uint64_t index;
};

struct json {
	const char *p, *end;
	const char *start; /* offsets in messages count from here */
	bool fresh;	   /* directly behind an opening bracket */
	uint32_t depth, max_depth;
	uint32_t max_string;
	enum err error;
	uint64_t replaced;
	const char *what; /* name of the format, begins every message */
	struct fault *fault;
	struct buf scratch; /* the last string that had escapes */
	struct json_step path[JSON_PATH + 1];
};

/* Limits, fault and notes are those of `out`; `max_depth` is in JSON values. */
void json_init(struct json *j, struct str text, const char *what, uint32_t max_depth,
	       struct reading *out);
void json_release(struct json *j);
/* Checks that nothing but white space follows. */
enum err json_finish(struct json *j) MUST_CHECK;
/* Adds a note about replaced bytes, when there were some. */
void json_note_replaced(const struct json *j, struct reading *out);
/* Whether another value follows on the top level (several documents in one file). */
bool json_more(struct json *j);

enum json_type json_peek(struct json *j);
bool json_object(struct json *j);
bool json_key(struct json *j, struct str *ret);
bool json_array(struct json *j);
bool json_item(struct json *j);
void json_skip(struct json *j);

/* Valid until the next string or key is taken; points into the input when it has no escapes. */
bool json_string(struct json *j, struct str *ret);
/* Valid as long as the input and the arena. */
bool json_string_keep(struct json *j, struct arena *arena, struct str *ret);
bool json_bool(struct json *j, bool *ret);
/* Bytes as base64, at most `max_bytes` of text, into the arena. */
bool json_base64(struct json *j, struct arena *arena, size_t max_bytes, struct str *ret);

/* A number as exactly as the text gives it: U64 only above INT64_MAX, REAL for everything with a
 * fraction, an exponent or more than 64 bits. */
struct json_number {
	enum { JSON_I64, JSON_U64, JSON_REAL } kind;
	int64_t i;
	uint64_t u;
	double d; /* REAL only */
};

bool json_number(struct json *j, struct json_number *ret);
/* 2.0 and 1e3 are whole numbers too; a fraction or an overflow fails. */
bool json_i64(struct json *j, int64_t *ret);
bool json_u64(struct json *j, uint64_t *ret);
bool json_u32(struct json *j, uint32_t *ret);
bool json_double(struct json *j, double *ret);

static inline double json_number_double(const struct json_number *n)
{
	return n->kind == JSON_I64 ? (double)n->i : n->kind == JSON_U64 ? (double)n->u : n->d;
}

/* A value to come back to: taken where a value begins. */
struct json_mark {
	const char *p; /* NULL: nothing was marked */
	uint32_t depth;
	struct json_step step;
};

struct json_mark json_mark(const struct json *j);
/* Remembers where the value begins and skips it. */
void json_mark_skip(struct json *j, struct json_mark *ret);
void json_seek(struct json *j, const struct json_mark *mark);
/* A second cursor over the same text, to walk two arrays side by side; join hands back its error
 * and its memory. */
struct json json_fork(const struct json *j, const struct json_mark *mark);
void json_join(struct json *j, struct json *fork);

static inline size_t json_offset(const struct json *j)
{
	return (size_t)(j->p - j->start);
}

/* Ends the walk with "what: path at byte N: message". Returns the code that is now in `error`. */
enum err json_fail(struct json *j, enum err code, const char *format, ...) PRINTF_LIKE(3, 4);
enum err json_fail_at(struct json *j, size_t offset, enum err code, const char *format, ...)
	PRINTF_LIKE(4, 5);
