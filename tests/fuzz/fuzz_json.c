/*
 * The JSON cursor: what is taken value by value is written again, and both texts must mean the
 * same. What skipping accepts and what taking accepts may differ only in limits and strings.
 */
#include <stdlib.h>

#include "base/jsonout.h"
#include "format/json.h"

#define LEVELS 40

static void copy_number(struct json *j, struct jsonout *o)
{
	struct json_number n;

	if (!json_number(j, &n))
		return;
	/* -0.0 is written as -0, which reads as a whole number without a sign. */
	if (n.kind == JSON_I64 || (n.kind == JSON_REAL && n.d == 0))
		jsonout_i64(o, n.kind == JSON_I64 ? n.i : 0);
	else if (n.kind == JSON_U64)
		jsonout_u64(o, n.u);
	else
		jsonout_double(o, n.d == 0 ? 0 : n.d); /* -0.0 is written -0, an integer, thus 0 */
}

static void copy_scalar(struct json *j, struct jsonout *o)
{
	struct str s = {NULL, 0};
	bool truth = false;

	switch (json_peek(j)) {
	case JSON_STRING:
		if (json_string(j, &s))
			jsonout_str(o, s);
		break;
	case JSON_NUMBER:
		copy_number(j, o);
		break;
	case JSON_BOOL:
		if (json_bool(j, &truth))
			jsonout_bool(o, truth);
		break;
	default:
		json_skip(j);
		jsonout_null(o);
	}
}

/* The next value of the innermost container, or its end. */
static bool step(struct json *j, struct jsonout *o, bool object)
{
	struct str key;

	if (object ? json_key(j, &key) : json_item(j)) {
		if (object)
			jsonout_key(o, key);
		return true;
	}
	if (object)
		jsonout_end_object(o);
	else
		jsonout_end_array(o);
	return false;
}

static enum err copy(struct str text, struct buf *out)
{
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct jsonout o = jsonout_of(out, false);
	bool object[LEVELS + 1];
	unsigned level = 0;
	struct json j;
	enum err e;

	json_init(&j, text, "fuzz", LEVELS, &r);
	do {
		enum json_type type = json_peek(&j);

		if (type == JSON_OBJECT && json_object(&j)) {
			object[++level] = true;
			jsonout_object(&o);
		} else if (type == JSON_ARRAY && json_array(&j)) {
			object[++level] = false;
			jsonout_array(&o);
		} else {
			copy_scalar(&j, &o);
		}
		while (level && !j.error && !step(&j, &o, object[level]))
			level--;
	} while (level && !j.error);
	e = json_finish(&j);
	json_release(&j);
	return e;
}

static enum err skip(struct str text)
{
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct json j;
	enum err e;

	json_init(&j, text, "fuzz", LEVELS, &r);
	json_skip(&j);
	e = json_finish(&j);
	json_release(&j);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT((size_t)64 << 20), twice = BUF_INIT((size_t)64 << 20);
	struct str text = str_n(data, size);
	enum err skipped = skip(text);

	if (copy(text, &once) == ERR_OK) {
		if (skipped || copy(buf_view(&once), &twice) != ERR_OK ||
		    !str_eq(buf_view(&once), buf_view(&twice)))
			abort();
	}
	buf_release(&once);
	buf_release(&twice);
	return 0;
}
