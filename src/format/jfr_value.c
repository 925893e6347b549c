/*
 * Values of a chunk: integers, strings, objects read by the names of their fields.
 */
#include "format/jfr.h"

/* How a string begins. */
enum string_encoding {
	STRING_NULL,
	STRING_EMPTY,
	STRING_POOLED,
	STRING_UTF8,
	STRING_CHARS,
	STRING_LATIN1,
};

struct jfr_cursor jfr_at(const struct jfr_chunk *k, uint64_t at)
{
	return (struct jfr_cursor){
		.base = k->base,
		.at = at < k->size ? (size_t)at : k->size,
		.end = k->size,
		.compressed = k->header.compressed,
	};
}

const uint8_t *jfr_take(struct jfr_cursor *c, uint64_t n)
{
	const uint8_t *p = c->base + c->at;

	if (n > c->end - c->at) {
		c->failed = true;
		c->at = c->end;
		return NULL;
	}
	c->at += n;
	return p;
}

static uint64_t big_endian(struct jfr_cursor *c, unsigned n)
{
	const uint8_t *p = jfr_take(c, n);
	uint64_t v = 0;

	for (unsigned i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

/* Seven bits a byte, low ones first; the ninth byte holds eight. */
uint64_t jfr_long_varint(struct jfr_cursor *c)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 9 && c->at < c->end; i++) {
		uint64_t byte = c->base[c->at++];

		if (i == 8)
			return v | byte << 56;
		v |= (byte & 0x7f) << (7 * i);
		if (byte < 0x80)
			return v;
	}
	c->failed = true;
	return 0;
}

uint64_t jfr_integer(struct jfr_cursor *c, enum jfr_primitive p)
{
	switch (p) {
	case JFR_BOOLEAN:
		return big_endian(c, 1) != 0;
	case JFR_BYTE:
		return (uint64_t)(int8_t)big_endian(c, 1);
	case JFR_CHAR:
		return (uint16_t)(c->compressed ? jfr_varint(c) : big_endian(c, 2));
	case JFR_SHORT:
		return (uint64_t)(int16_t)(c->compressed ? jfr_varint(c) : big_endian(c, 2));
	case JFR_INT:
		return (uint64_t)(int32_t)(c->compressed ? jfr_varint(c) : big_endian(c, 4));
	default:
		return c->compressed ? jfr_varint(c) : big_endian(c, 8);
	}
}

/* A count of things that take at least a byte each: more than there are bytes is a lie. */
static uint64_t count_of(struct jfr_cursor *c)
{
	uint64_t n = (uint32_t)jfr_int(c);

	if (n > c->end - c->at) {
		c->failed = true;
		return 0;
	}
	return n;
}

void jfr_skip_string(struct jfr_cursor *c)
{
	uint64_t n;

	switch (jfr_integer(c, JFR_BYTE)) {
	case STRING_NULL:
	case STRING_EMPTY:
		return;
	case STRING_POOLED:
		jfr_long(c);
		return;
	case STRING_UTF8:
	case STRING_LATIN1:
		jfr_take(c, count_of(c));
		return;
	case STRING_CHARS:
		n = count_of(c);
		for (uint64_t i = 0; i < n && !c->failed; i++)
			jfr_integer(c, JFR_CHAR);
		return;
	default:
		c->failed = true;
	}
}

/*
 * Goes over compressed integers by counting the bytes that end one, two words at a time, to behind
 * the last end. Where eight bytes in a row have no end an integer of nine begins, whose last byte
 * is not marked: then only the first word is taken, or that integer.
 */
static void skip_varints(struct jfr_cursor *c, uint64_t n)
{
	while (n >= 16 && c->end - c->at >= 16) {
		uint64_t first = ~jfr_word(c, 0) & JFR_CONTINUES;
		uint64_t second = ~jfr_word(c, 8) & JFR_CONTINUES;

		if (!first) {
			jfr_long_varint(c);
			n--;
			continue;
		}
		n -= jfr_count_ends(first);
		if (!second || __builtin_clzll(first) + __builtin_ctzll(second) >= 64) {
			c->at += 8 - (unsigned)__builtin_clzll(first) / 8;
			continue;
		}
		n -= jfr_count_ends(second);
		c->at += 16 - (unsigned)__builtin_clzll(second) / 8;
	}
	for (; n && !c->failed; n--)
		jfr_varint(c);
}

/* Elements of nothing but compressed integers, as the frames of a stack are: most of a file. */
static bool only_varints(const struct jfr_chunk *k, struct jfr_program p)
{
	for (uint32_t i = p.at; i < p.at + p.n; i++)
		if (k->ops.v[i].code != JFR_OP_VARINT)
			return false;
	return true;
}

static void skip_array(const struct jfr_chunk *k, struct jfr_cursor *c, struct jfr_program element)
{
	uint64_t n = (uint32_t)jfr_int(c);

	/* An element without steps takes no bytes: nothing to skip. */
	if (!element.n)
		return;
	if (only_varints(k, element)) {
		skip_varints(c, n * element.n);
		return;
	}
	for (; n && !c->failed; n--)
		jfr_skip(k, c, element);
}

void jfr_skip(const struct jfr_chunk *k, struct jfr_cursor *c, struct jfr_program p)
{
	for (uint32_t i = p.at; i < p.at + p.n && !c->failed; i++) {
		const struct jfr_op *op = &k->ops.v[i];

		switch (op->code) {
		case JFR_OP_VARINT:
			jfr_varint(c);
			break;
		case JFR_OP_FIXED:
			jfr_take(c, op->n);
			break;
		case JFR_OP_STRING:
			jfr_skip_string(c);
			break;
		case JFR_OP_ARRAY:
			skip_array(k, c, (struct jfr_program){i + 1, op->n});
			i += op->n;
			break;
		}
	}
}

/* An array is not walked: `peek` stays at its elements. */
static struct jfr_value read_array(const struct jfr_chunk *k, struct jfr_cursor *c,
				   const struct jfr_field *f, bool peek)
{
	struct jfr_cursor inside = *c;
	struct jfr_value v = {.class = (uint16_t)f->class};

	v.count = (uint32_t)count_of(&inside);
	v.number = inside.at;
	/* Nothing wanted is an array of keys. */
	v.kind = f->pooled ? JFR_ABSENT : JFR_ARRAY;
	if (peek)
		*c = inside;
	else
		jfr_skip(k, c, f->skip);
	return v;
}

static struct jfr_value read_value(const struct jfr_chunk *k, struct jfr_cursor *c,
				   const struct jfr_field *f)
{
	enum jfr_primitive primitive = k->classes.v[f->class].primitive;
	struct jfr_value v = {.unit = (uint8_t)f->unit, .class = (uint16_t)f->class};

	if (f->pooled) {
		v.kind = JFR_REF;
		v.number = jfr_long(c);
	} else if (primitive == JFR_STRUCT || primitive == JFR_STRING) {
		v.kind = primitive == JFR_STRUCT ? JFR_OBJECT : JFR_TEXT;
		v.number = c->at;
		jfr_skip(k, c, f->skip);
	} else if (primitive == JFR_FLOAT || primitive == JFR_DOUBLE) {
		jfr_skip(k, c, f->skip);
	} else {
		v.kind = JFR_NUMBER;
		v.number = jfr_integer(c, primitive);
	}
	return v;
}

static void read_steps(const struct jfr_chunk *k, struct jfr_cursor *c, const struct jfr_plan *plan,
		       size_t n, struct jfr_value *slots, bool peek)
{
	for (size_t i = 0; i < n && !c->failed; i++) {
		const struct jfr_plan_step *step = &plan->steps.v[i];
		const struct jfr_field *f = &k->fields.v[step->field];

		if (step->slot < 0)
			jfr_skip(k, c, f->skip);
		else if (f->array)
			slots[step->slot] = read_array(k, c, f, peek && i + 1 == n);
		else
			slots[step->slot] = read_value(k, c, f);
	}
}

void jfr_read_fields(const struct jfr_chunk *k, struct jfr_cursor *c, const struct jfr_plan *plan,
		     struct jfr_value *slots)
{
	read_steps(k, c, plan, plan->steps.n, slots, false);
}

void jfr_peek_fields(const struct jfr_chunk *k, struct jfr_cursor *c, const struct jfr_plan *plan,
		     struct jfr_value *slots)
{
	read_steps(k, c, plan, plan->wanted, slots, true);
}

static void put_utf8(struct buf *out, uint32_t code)
{
	if (code < 0x80) {
		buf_byte(out, (unsigned char)code);
	} else if (code < 0x800) {
		buf_byte(out, (unsigned char)(0xc0 | code >> 6));
		buf_byte(out, (unsigned char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		buf_byte(out, (unsigned char)(0xe0 | code >> 12));
		buf_byte(out, (unsigned char)(0x80 | (code >> 6 & 0x3f)));
		buf_byte(out, (unsigned char)(0x80 | (code & 0x3f)));
	} else {
		buf_byte(out, (unsigned char)(0xf0 | code >> 18));
		buf_byte(out, (unsigned char)(0x80 | (code >> 12 & 0x3f)));
		buf_byte(out, (unsigned char)(0x80 | (code >> 6 & 0x3f)));
		buf_byte(out, (unsigned char)(0x80 | (code & 0x3f)));
	}
}

/* UTF-16 to UTF-8; half a surrogate pair becomes the replacement character. */
static void put_chars(struct jfr_cursor *c, uint64_t n, struct buf *out)
{
	uint32_t high = 0;

	for (uint64_t i = 0; i < n && !c->failed; i++) {
		uint32_t unit = (uint32_t)jfr_integer(c, JFR_CHAR);

		if (high && unit >= 0xdc00 && unit <= 0xdfff) {
			put_utf8(out, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
			high = 0;
			continue;
		}
		if (high)
			put_utf8(out, 0xfffd);
		high = unit >= 0xd800 && unit <= 0xdbff ? unit : 0;
		if (!high)
			put_utf8(out, unit >= 0xdc00 && unit <= 0xdfff ? 0xfffd : unit);
	}
	if (high)
		put_utf8(out, 0xfffd);
}

static enum err convert(struct jfr_cursor *c, uint64_t encoding, uint64_t n, struct buf *scratch,
			struct str *ret)
{
	const uint8_t *p;

	buf_clear(scratch);
	if (encoding == STRING_CHARS) {
		put_chars(c, n, scratch);
	} else {
		p = jfr_take(c, n);
		for (uint64_t i = 0; p && i < n; i++)
			put_utf8(scratch, p[i]);
	}
	if (c->failed)
		return ERR_CORRUPT;
	*ret = buf_view(scratch);
	return buf_error(scratch);
}

enum err jfr_string(struct jfr_chunk *k, struct jfr_cursor *c, size_t limit, struct buf *scratch,
		    struct str *ret)
{
	uint64_t encoding = jfr_integer(c, JFR_BYTE), n;
	struct jfr_pool_entry *entry;
	struct jfr_cursor pooled;

	if (encoding == STRING_POOLED) {
		entry = jfr_pool_find(k, JFR_KIND_STRING, jfr_long(c));
		*ret = STR("");
		if (!entry)
			return c->failed ? ERR_CORRUPT : ERR_OK;
		pooled = jfr_at(k, entry->at);
		c = &pooled;
		encoding = jfr_integer(c, JFR_BYTE);
	}
	if (encoding == STRING_NULL || encoding == STRING_EMPTY) {
		*ret = STR("");
		return c->failed ? ERR_CORRUPT : ERR_OK;
	}
	if (encoding < STRING_UTF8 || encoding > STRING_LATIN1)
		return ERR_CORRUPT;
	n = count_of(c);
	if (c->failed)
		return ERR_CORRUPT;
	if (n > limit)
		return ERR_TOO_LARGE;
	if (encoding != STRING_UTF8)
		return convert(c, encoding, n, scratch, ret);
	*ret = str_n(jfr_take(c, n), n);
	return ERR_OK;
}
