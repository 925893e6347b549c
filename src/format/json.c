/*
 * The walk: structure, skipping, marks and messages. Strings are in json_string.c, numbers in
 * json_number.c.
 */
#include "format/json.h"

#include <stdarg.h>
#include <stdio.h>

#include "format/json_internal.h"

void json_init(struct json *j, struct str text, const char *what, uint32_t max_depth,
	       struct reading *out)
{
	*j = (struct json){
		.p = text.p ? text.p : "",
		.what = what,
		.max_depth = max_depth,
		.max_string = out->limits.max_string,
		.fault = &out->fault,
	};
	j->start = j->p;
	j->end = j->p + text.n;
	buf_init(&j->scratch, (size_t)j->max_string + 8);
	if (str_starts(text, STR("\xef\xbb\xbf")))
		j->p += 3;
}

void json_release(struct json *j)
{
	if (j)
		buf_release(&j->scratch);
}

enum err json_finish(struct json *j)
{
	if (!j->error && json_more(j))
		return json_fail(j, ERR_CORRUPT, "text follows the end of the JSON value");
	return j->error;
}

void json_note_replaced(const struct json *j, struct reading *out)
{
	if (j->replaced)
		notes_add(
			&out->notes,
			"%llu bytes or escapes in strings were not valid Unicode and became U+FFFD",
			(unsigned long long)j->replaced);
}

bool json_more(struct json *j)
{
	json_space(j);
	return j->p < j->end;
}

/* A key for a message: what a terminal might take for a command is shown as '?'. */
static size_t key_text(struct str key, char *out, size_t size)
{
	size_t n = 0;

	for (; n < key.n && n + 1 < size && n < 60; n++)
		out[n] = key.p[n] >= ' ' && key.p[n] < 0x7f ? key.p[n] : '?';
	out[n] = '\0';
	return n;
}

/* "profiles[2].weights[17]" of where the cursor stands. */
static void path_text(const struct json *j, char *out, size_t size)
{
	uint32_t depth = j->depth < JSON_PATH ? j->depth : JSON_PATH;
	size_t n = 0;

	out[0] = '\0';
	for (uint32_t i = 1; i <= depth && n + 32 < size; i++) {
		const struct json_step *step = &j->path[i];

		if (step->key.p) {
			if (n)
				out[n++] = '.';
			n += key_text(step->key, out + n, size - n);
		} else if (step->index != UINT64_MAX) {
			n += (size_t)snprintf(out + n, size - n, "[%llu]",
					      (unsigned long long)step->index);
		}
	}
	if (j->depth > JSON_PATH && n + 32 < size)
		snprintf(out + n, size - n, "...");
}

static enum err fail(struct json *j, size_t offset, enum err code, const char *format, va_list args)
	PRINTF_LIKE(4, 0);

static enum err fail(struct json *j, size_t offset, enum err code, const char *format, va_list args)
{
	char path[200], text[240];

	if (j->error)
		return j->error;
	path_text(j, path, sizeof(path));
	vsnprintf(text, sizeof(text), format, args);
	j->error = fault_set(j->fault, code, "%s: %s%sat byte %zu: %s", j->what, path,
			     path[0] ? " " : "", offset, text);
	/* Nothing can be taken any more, so every loop over the cursor ends. */
	j->p = j->end;
	return code;
}

enum err json_fail(struct json *j, enum err code, const char *format, ...)
{
	va_list args;
	enum err e;

	va_start(args, format);
	e = fail(j, json_offset(j), code, format, args);
	va_end(args);
	return e;
}

enum err json_fail_at(struct json *j, size_t offset, enum err code, const char *format, ...)
{
	va_list args;
	enum err e;

	va_start(args, format);
	e = fail(j, offset, code, format, args);
	va_end(args);
	return e;
}

enum json_type json_peek(struct json *j)
{
	json_space(j);
	if (j->p == j->end)
		return JSON_NOTHING;
	switch (*j->p) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	case '-':
	case '0' ... '9':
		return JSON_NUMBER;
	default:
		return JSON_INVALID;
	}
}

/* Common mistakes instead of JSON. */
static const char *known_mistake(struct str rest)
{
	if (str_starts(rest, STR("NaN")) || str_starts(rest, STR("nan")))
		return "NaN is not JSON";
	if (str_starts(rest, STR("Infinity")) || str_starts(rest, STR("-Infinity")) ||
	    str_starts(rest, STR("inf")))
		return "Infinity is not JSON";
	if (str_starts(rest, STR("//")) || str_starts(rest, STR("/*")))
		return "comments are not JSON";
	if (str_starts(rest, STR("'")))
		return "strings are written with double quotes in JSON";
	return NULL;
}

enum err json_wrong(struct json *j, const char *expected)
{
	static const char *const names[] = {
		"the end of the data", "null", "a boolean", "a number", "a string", "an array",
		"an object",
	};
	enum json_type type = json_peek(j);
	const char *mistake = known_mistake(str_n(j->p, (size_t)(j->end - j->p)));

	if (mistake)
		return json_fail(j, ERR_CORRUPT, "%s", mistake);
	if (type == JSON_NOTHING)
		return json_fail(j, ERR_TRUNCATED, "the data ends where %s was expected", expected);
	if (type == JSON_INVALID) {
		unsigned char c = (unsigned char)*j->p;

		return json_fail(j, ERR_CORRUPT,
				 c > ' ' && c < 0x7f ? "expected %s, found '%c'"
						     : "expected %s, found byte 0x%02x",
				 expected, c);
	}
	return json_fail(j, ERR_CORRUPT, "expected %s, found %s", expected, names[type]);
}

bool json_null(struct json *j)
{
	json_space(j);
	if (j->end - j->p < 4 || memcmp(j->p, "null", 4) != 0)
		return false;
	j->p += 4;
	return true;
}

static bool enter(struct json *j)
{
	if (j->depth >= j->max_depth) {
		json_fail(j, ERR_TOO_DEEP, "nested deeper than %u levels", j->max_depth);
		return false;
	}
	j->p++;
	j->depth++;
	j->fresh = true;
	if (j->depth <= JSON_PATH)
		j->path[j->depth] = (struct json_step){.index = UINT64_MAX};
	return true;
}

bool json_object(struct json *j)
{
	json_space(j);
	if (j->p < j->end && *j->p == '{')
		return enter(j);
	if (!json_null(j))
		json_wrong(j, "an object");
	return false;
}

bool json_array(struct json *j)
{
	json_space(j);
	if (j->p < j->end && *j->p == '[')
		return enter(j);
	if (!json_null(j))
		json_wrong(j, "an array");
	return false;
}

/* Steps over the comma, or over the bracket that ends it all (then false). */
static inline bool next_member(struct json *j, char closing)
{
	bool fresh = j->fresh;

	json_space(j);
	j->fresh = false;
	if (j->p == j->end) {
		json_fail(j, ERR_TRUNCATED, "the data ends inside an %s",
			  closing == '}' ? "object" : "array");
		return false;
	}
	if (*j->p == closing) {
		j->p++;
		j->depth--;
		return false;
	}
	if (fresh)
		return true;
	if (*j->p != ',') {
		json_wrong(j, closing == '}' ? "',' or '}'" : "',' or ']'");
		return false;
	}
	j->p++;
	json_space(j);
	if (j->p < j->end && *j->p == closing) {
		json_fail(j, ERR_CORRUPT, "a trailing comma is not JSON");
		return false;
	}
	return true;
}

bool json_item(struct json *j)
{
	if (!next_member(j, ']'))
		return false;
	if (j->depth <= JSON_PATH)
		j->path[j->depth].index++;
	return true;
}

/* After a key that starts at `from`: records it for messages and consumes the colon. */
static bool end_key(struct json *j, const char *from)
{
	if (j->depth <= JSON_PATH)
		j->path[j->depth].key = str_n(from, (size_t)(j->p - 1 - from));
	json_space(j);
	if (j->p == j->end || *j->p != ':') {
		json_wrong(j, "':'");
		return false;
	}
	j->p++;
	return true;
}

bool json_key(struct json *j, struct str *ret)
{
	const char *from;

	if (!next_member(j, '}'))
		return false;
	from = j->p + 1;
	if (j->p == j->end || *j->p != '"') {
		json_wrong(j, "a key in double quotes");
		return false;
	}
	return json_string(j, ret) && end_key(j, from);
}

static void skip_scalar(struct json *j)
{
	struct json_number number;
	bool truth;

	switch (json_peek(j)) {
	case JSON_STRING:
		json_skip_string(j);
		break;
	case JSON_NUMBER:
		json_number(j, &number);
		break;
	case JSON_BOOL:
		json_bool(j, &truth);
		break;
	default:
		if (!json_null(j))
			json_wrong(j, "a value");
	}
}

/* Steps to the next value inside the container, or out of it. */
static bool skip_member(struct json *j, bool object)
{
	const char *from;

	if (!object)
		return json_item(j);
	if (!next_member(j, '}'))
		return false;
	from = j->p + 1;
	if (j->p == j->end || *j->p != '"')
		json_wrong(j, "a key in double quotes");
	else
		json_skip_string(j);
	return !j->error && end_key(j, from);
}

void json_skip(struct json *j)
{
	uint64_t objects[JSON_SKIP_NESTING / 64]; /* a bit per open level: object or array */
	uint32_t levels = 0;

	do {
		enum json_type type = json_peek(j);

		if (type == JSON_OBJECT || type == JSON_ARRAY) {
			uint64_t bit = 1ull << (levels % 64);

			if (levels == JSON_SKIP_NESTING) {
				json_fail(j, ERR_TOO_DEEP, "nested deeper than %u levels",
					  JSON_SKIP_NESTING);
				return;
			}
			objects[levels / 64] = (levels % 64 ? objects[levels / 64] & ~bit : 0) |
					       (type == JSON_OBJECT ? bit : 0);
			if (!enter(j))
				return;
			levels++;
		} else {
			skip_scalar(j);
		}
		while (levels &&
		       !skip_member(j, objects[(levels - 1) / 64] >> ((levels - 1) % 64) & 1)) {
			if (j->error)
				return;
			levels--;
		}
	} while (levels && !j->error);
}

struct json_mark json_mark(const struct json *j)
{
	struct json_mark mark = {.p = j->p, .depth = j->depth};

	if (j->depth <= JSON_PATH)
		mark.step = j->path[j->depth];
	return mark;
}

void json_mark_skip(struct json *j, struct json_mark *ret)
{
	*ret = json_mark(j);
	json_skip(j);
}

void json_seek(struct json *j, const struct json_mark *mark)
{
	if (j->error)
		return;
	j->p = mark->p;
	j->depth = mark->depth;
	j->fresh = false;
	if (j->depth <= JSON_PATH)
		j->path[j->depth] = mark->step;
}

struct json json_fork(const struct json *j, const struct json_mark *mark)
{
	struct json fork = *j;

	buf_init(&fork.scratch, j->scratch.ceiling);
	fork.replaced = 0;
	json_seek(&fork, mark);
	return fork;
}

void json_join(struct json *j, struct json *fork)
{
	j->replaced += fork->replaced;
	if (!j->error && fork->error) {
		j->error = fork->error;
		j->p = j->end;
	}
	json_release(fork);
}
