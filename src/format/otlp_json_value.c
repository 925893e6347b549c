/*
 * Scalars, ids and attribute values of OTLP JSON.
 */
#include <math.h>

#include "base/base64.h"
#include "format/otlp_json.h"

bool otlp_key_is(struct str key, const char *snake)
{
	size_t i = 0;

	for (; *snake; snake++, i++) {
		if (i >= key.n)
			return false;
		if (key.p[i] == *snake)
			continue;
		/* camelCase: removes underscores and capitalizes the letters after them. */
		if (*snake != '_' || snake[1] < 'a' || snake[1] > 'z' ||
		    key.p[i] != snake[1] - 'a' + 'A')
			return false;
		snake++;
	}
	return i == key.n;
}

bool otlp_json_ok(struct otlp_json *r, enum err e)
{
	if (e)
		json_fail(&r->j, e, "%s", err_text(e));
	return !e && !r->j.error;
}

void otlp_take_i64(struct otlp_json *r, int64_t *ret)
{
	struct str text = {NULL, 0};
	size_t offset;

	if (json_peek(&r->j) != JSON_STRING) {
		json_i64(&r->j, ret);
		return;
	}
	offset = json_offset(&r->j);
	if (json_string(&r->j, &text) && str_to_i64(text, ret) != ERR_OK)
		json_fail_at(&r->j, offset, ERR_CORRUPT, "expected a number of at most 63 bits");
}

void otlp_take_u64(struct otlp_json *r, uint64_t *ret)
{
	struct str text = {NULL, 0};
	size_t offset;

	if (json_peek(&r->j) != JSON_STRING) {
		json_u64(&r->j, ret);
		return;
	}
	offset = json_offset(&r->j);
	if (json_string(&r->j, &text) && str_to_u64(text, 10, ret) != ERR_OK)
		json_fail_at(&r->j, offset, ERR_CORRUPT, "expected a number from 0 to 2^64 - 1");
}

void otlp_take_i32(struct otlp_json *r, int32_t *ret)
{
	size_t offset = json_offset(&r->j);
	int64_t value = *ret;

	otlp_take_i64(r, &value);
	if (value < INT32_MIN || value > INT32_MAX)
		json_fail_at(&r->j, offset, ERR_CORRUPT, "expected a number of 32 bits");
	else
		*ret = (int32_t)value;
}

void otlp_take_u32(struct otlp_json *r, uint32_t *ret)
{
	size_t offset = json_offset(&r->j);
	uint64_t value = *ret;

	otlp_take_u64(r, &value);
	if (value > UINT32_MAX)
		json_fail_at(&r->j, offset, ERR_CORRUPT, "expected a number of 32 bits");
	else
		*ret = (uint32_t)value;
}

void otlp_take_string(struct otlp_json *r, struct str *ret)
{
	json_string_keep(&r->j, &r->t->arena, ret);
}

static bool hex_decode(struct str text, uint8_t *out)
{
	for (size_t i = 0; i < text.n; i += 2) {
		uint64_t byte;

		if (str_to_u64(str_n(text.p + i, 2), 16, &byte) != ERR_OK)
			return false;
		out[i / 2] = (uint8_t)byte;
	}
	return true;
}

void otlp_take_base64(struct otlp_json *r, struct str *ret)
{
	json_base64(&r->j, &r->t->arena, r->out->limits.max_bytes, ret);
}

void otlp_take_id(struct otlp_json *r, size_t n, struct str *ret)
{
	size_t offset = json_offset(&r->j), got = 0;
	struct str text = {NULL, 0};
	uint8_t *bytes;

	if (!json_string(&r->j, &text))
		return;
	bytes = arena_alloc(&r->t->arena, text.n + 3);
	if (!bytes)
		otlp_json_ok(r, ERR_NO_MEMORY);
	else if (!text.n)
		*ret = str_n(bytes, 0);
	else if (text.n == 2 * n && hex_decode(text, bytes))
		*ret = str_n(bytes, n);
	else if (base64_decode(text, bytes, &got) && got == n)
		*ret = str_n(bytes, n);
	else
		json_fail_at(&r->j, offset, ERR_CORRUPT,
			     "expected an id of %zu bytes, as %zu hexadecimal digits", n, 2 * n);
}

void otlp_take_indices(struct otlp_json *r, struct otlp_range *ret)
{
	struct otlp_range range = {.at = (uint32_t)r->t->indices.n};

	if (json_array(&r->j))
		while (json_item(&r->j)) {
			int32_t index = 0;

			otlp_take_i32(r, &index);
			if (!OTLP_PUSH(r, &r->t->indices, index))
				return;
			range.n++;
		}
	*ret = range;
}

static void take_double(struct otlp_json *r, double *ret)
{
	static const struct {
		const char *name;
		double value;
	} named[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
	struct str text = {NULL, 0};
	size_t offset = json_offset(&r->j);

	if (json_peek(&r->j) != JSON_STRING) {
		json_double(&r->j, ret);
		return;
	}
	if (!json_string(&r->j, &text))
		return;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (str_eq(text, str_of(named[i].name))) {
			*ret = named[i].value;
			return;
		}
	if (str_to_double(text, ret) != ERR_OK)
		json_fail_at(&r->j, offset, ERR_CORRUPT, "expected a number");
}

/* A reference into string_table; 0 is the empty string. */
static void take_reference(struct otlp_json *r, struct str *ret)
{
	size_t offset = json_offset(&r->j);
	int64_t index = 0;

	otlp_take_i64(r, &index);
	if (!r->j.error && otlp_string_at(r->t, index, ret) != ERR_OK)
		json_fail_at(&r->j, offset, ERR_BAD_INDEX,
			     "string %lld of %zu strings does not exist", (long long)index,
			     r->t->strings.n);
}

/* {"values": [AnyValue …]} */
static void take_array(struct otlp_json *r, struct otlp_any *ret)
{
	size_t first = r->items.n, n;
	struct str key;

	ret->type = ANY_ARRAY;
	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (!otlp_key_is(key, "values")) {
				json_skip(&r->j);
				continue;
			}
			r->items.n = first;
			if (json_array(&r->j))
				while (json_item(&r->j)) {
					struct otlp_any item = {0};

					otlp_take_any(r, &item);
					if (!OTLP_PUSH(r, &r->items, item))
						return;
				}
		}
	n = r->items.n - first;
	ret->items = arena_alloc(&r->t->arena, (n + 1) * sizeof(*ret->items));
	if (!ret->items) {
		otlp_json_ok(r, ERR_NO_MEMORY);
		return;
	}
	if (n)
		memcpy(ret->items, r->items.v + first, n * sizeof(*ret->items));
	ret->n = (uint32_t)n;
	r->items.n = first;
}

/* {"values": [KeyValue …]} */
static void take_list(struct otlp_json *r, struct otlp_any *ret)
{
	struct str key;

	ret->type = ANY_LIST;
	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "values"))
				otlp_take_pairs(r, &ret->pairs, &ret->n);
			else
				json_skip(&r->j);
		}
}

static void take_any_member(struct otlp_json *r, struct str key, struct otlp_any *ret)
{
	bool truth = false;

	if (json_peek(&r->j) == JSON_NULL) {
		json_skip(&r->j);
		return;
	}
	*ret = (struct otlp_any){0};
	if (otlp_key_is(key, "string_value")) {
		ret->type = ANY_STRING;
		otlp_take_string(r, &ret->text);
	} else if (otlp_key_is(key, "bool_value")) {
		ret->type = ANY_BOOL;
		json_bool(&r->j, &truth);
		ret->number = truth;
	} else if (otlp_key_is(key, "int_value")) {
		ret->type = ANY_INT;
		otlp_take_i64(r, &ret->number);
	} else if (otlp_key_is(key, "double_value")) {
		ret->type = ANY_DOUBLE;
		take_double(r, &ret->real);
	} else if (otlp_key_is(key, "array_value")) {
		take_array(r, ret);
	} else if (otlp_key_is(key, "kvlist_value")) {
		take_list(r, ret);
	} else if (otlp_key_is(key, "bytes_value")) {
		ret->type = ANY_BYTES;
		otlp_take_base64(r, &ret->text);
	} else if (otlp_key_is(key, "string_value_strindex")) {
		ret->type = ANY_STRING;
		take_reference(r, &ret->text);
	} else {
		json_skip(&r->j);
	}
}

/* Nested by at most max_nesting / 3 levels: the cursor counts them. */
void otlp_take_any(struct otlp_json *r, struct otlp_any *ret)
{
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key))
			take_any_member(r, key, ret);
}

static void take_pair(struct otlp_json *r, struct otlp_pair *ret)
{
	struct str key;

	*ret = (struct otlp_pair){0};
	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "key"))
				otlp_take_string(r, &ret->key);
			else if (otlp_key_is(key, "key_strindex"))
				take_reference(r, &ret->key);
			else if (otlp_key_is(key, "value"))
				otlp_take_any(r, &ret->value);
			else
				json_skip(&r->j);
		}
}

void otlp_take_pairs(struct otlp_json *r, struct otlp_pair **ret, uint32_t *ret_n)
{
	size_t first = r->pairs.n, n;
	struct otlp_pair pair, *copy;

	if (json_array(&r->j))
		while (json_item(&r->j)) {
			take_pair(r, &pair);
			if (!OTLP_PUSH(r, &r->pairs, pair))
				return;
		}
	n = r->pairs.n - first;
	copy = arena_alloc(&r->t->arena, (n + 1) * sizeof(*copy));
	if (!copy) {
		otlp_json_ok(r, ERR_NO_MEMORY);
		return;
	}
	if (n)
		memcpy(copy, r->pairs.v + first, n * sizeof(*copy));
	r->pairs.n = first;
	*ret = copy;
	*ret_n = (uint32_t)n;
}
