/*
 * Values of attributes: as JSON text, compared, hashed.
 */
#include "base/hash.h"
#include "base/jsonout.h"
#include "format/otlp_any.h"

/* Whole doubles keep a ".0", so that they come back as doubles. */
static void put_double(struct jsonout *o, double value)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64);
	struct jsonout inner = jsonout_of(&text, false);

	jsonout_double(&inner, value);
	if (!text.error && text.n && text.n == strspn(text.data, "-0123456789"))
		buf_text(&text, ".0");
	if (text.error)
		o->b->error = o->b->error ? o->b->error : text.error;
	else
		jsonout_raw(o, buf_view(&text));
}

/* As an object, so that bytes do not come back as text. */
static void put_bytes(struct jsonout *o, struct str bytes)
{
	static const char digits[] = "0123456789abcdef";
	CLEANUP(buf_release) struct buf text = BUF_INIT(bytes.n * 2 + 64);

	for (size_t i = 0; i < bytes.n; i++) {
		buf_byte(&text, (unsigned char)digits[(unsigned char)bytes.p[i] >> 4]);
		buf_byte(&text, (unsigned char)digits[bytes.p[i] & 15]);
	}
	if (text.error)
		o->b->error = o->b->error ? o->b->error : text.error;
	jsonout_object(o);
	jsonout_put_str(o, "bytes", buf_view(&text));
	jsonout_end_object(o);
}

/* As deep as the decoder let it be. */
static void put_any(struct jsonout *o, const struct otlp_any *v)
{
	if (o->b->error)
		return;
	switch (v->type) {
	case ANY_EMPTY:
		jsonout_null(o);
		break;
	case ANY_STRING:
		jsonout_str(o, v->text);
		break;
	case ANY_BOOL:
		jsonout_bool(o, v->number != 0);
		break;
	case ANY_INT:
		jsonout_i64(o, v->number);
		break;
	case ANY_DOUBLE:
		put_double(o, v->real);
		break;
	case ANY_BYTES:
		put_bytes(o, v->text);
		break;
	case ANY_ARRAY:
		jsonout_array(o);
		for (uint32_t i = 0; i < v->n && !o->b->error; i++)
			put_any(o, &v->items[i]);
		jsonout_end_array(o);
		break;
	case ANY_LIST:
		jsonout_object(o);
		for (uint32_t i = 0; i < v->n && !o->b->error; i++) {
			jsonout_key(o, v->pairs[i].key);
			put_any(o, &v->pairs[i].value);
		}
		jsonout_end_object(o);
		break;
	}
}

void otlp_any_json(const struct otlp_any *value, struct buf *out)
{
	struct jsonout o = jsonout_of(out, false);

	put_any(&o, value);
}

uint64_t otlp_any_hash(const struct otlp_any *v, uint64_t seed)
{
	uint64_t hash = hash_mix(seed, v->type + ((uint64_t)v->n << 8));

	switch (v->type) {
	case ANY_STRING:
	case ANY_BYTES:
		return hash_str(v->text, hash);
	case ANY_ARRAY:
		for (uint32_t i = 0; i < v->n; i++)
			hash = otlp_any_hash(&v->items[i], hash);
		return hash;
	case ANY_LIST:
		for (uint32_t i = 0; i < v->n; i++)
			hash = otlp_any_hash(&v->pairs[i].value, hash_str(v->pairs[i].key, hash));
		return hash;
	case ANY_EMPTY:
		return hash;
	default:
		return hash_mix(hash, (uint64_t)v->number ^ hash);
	}
}

bool otlp_any_equal(const struct otlp_any *a, const struct otlp_any *b)
{
	if (a->type != b->type || a->n != b->n)
		return false;
	switch (a->type) {
	case ANY_STRING:
	case ANY_BYTES:
		return str_eq(a->text, b->text);
	case ANY_ARRAY:
		for (uint32_t i = 0; i < a->n; i++)
			if (!otlp_any_equal(&a->items[i], &b->items[i]))
				return false;
		return true;
	case ANY_LIST:
		for (uint32_t i = 0; i < a->n; i++)
			if (!str_eq(a->pairs[i].key, b->pairs[i].key) ||
			    !otlp_any_equal(&a->pairs[i].value, &b->pairs[i].value))
				return false;
		return true;
	case ANY_EMPTY:
		return true;
	default:
		/* Doubles by their bits: NaN is one value here. */
		return a->number == b->number;
	}
}
