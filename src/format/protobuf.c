#include "format/protobuf.h"

bool pb_varint_slow(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *at = *p;
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (at == end)
			return false;
		/* The tenth byte has one bit that counts; more is malformed, as in protoc. */
		if (shift == 63 && *at > 1)
			return false;
		value |= (uint64_t)(*at & 0x7f) << shift;
		if (*at++ < 0x80) {
			*p = at;
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool fail(struct pb *c)
{
	c->failed = true;
	return false;
}

static uint64_t little_endian(const uint8_t *p, unsigned n)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

/* Groups are obsolete: their contents are walked only to find where they end. */
static bool skip_group(struct pb *c)
{
	unsigned open = 1;
	struct pb inner = {.p = c->p, .end = c->end, .start = c->start};

	while (open) {
		uint64_t tag, n;

		if (!pb_varint(&inner.p, inner.end, &tag))
			return fail(c);
		switch (tag & 7) {
		case PB_VARINT:
			if (!pb_varint(&inner.p, inner.end, &n))
				return fail(c);
			break;
		case PB_FIXED64:
		case PB_FIXED32:
			n = (tag & 7) == PB_FIXED64 ? 8 : 4;
			if ((size_t)(inner.end - inner.p) < n)
				return fail(c);
			inner.p += n;
			break;
		case PB_BYTES:
			if (!pb_varint(&inner.p, inner.end, &n) ||
			    n > (size_t)(inner.end - inner.p))
				return fail(c);
			inner.p += n;
			break;
		case PB_GROUP:
			open++;
			break;
		case PB_END:
			open--;
			break;
		default:
			return fail(c);
		}
	}
	c->p = inner.p;
	return true;
}

bool pb_next(struct pb *c)
{
	uint64_t tag;

	if (c->failed || c->p == c->end)
		return false;
	c->field_start = c->p;
	if (!pb_varint(&c->p, c->end, &tag) || tag >> 3 == 0 || tag >> 3 > 536870911)
		return fail(c);
	c->field = (uint32_t)(tag >> 3);
	c->type = tag & 7;
	switch (c->type) {
	case PB_VARINT:
		return pb_varint(&c->p, c->end, &c->value) || fail(c);
	case PB_FIXED64:
	case PB_FIXED32: {
		unsigned n = c->type == PB_FIXED64 ? 8 : 4;

		if ((size_t)(c->end - c->p) < n)
			return fail(c);
		c->value = little_endian(c->p, n);
		c->p += n;
		return true;
	}
	case PB_BYTES:
		if (!pb_varint(&c->p, c->end, &tag) || tag > (size_t)(c->end - c->p))
			return fail(c);
		c->bytes = (struct str){(const char *)c->p, (size_t)tag};
		c->p += tag;
		return true;
	case PB_GROUP:
		return skip_group(c);
	default:
		return fail(c);
	}
}

struct pb_packed pb_packed_of(const struct pb *c)
{
	if (c->type == PB_BYTES)
		return (struct pb_packed){
			.p = (const uint8_t *)c->bytes.p,
			.end = (const uint8_t *)c->bytes.p + c->bytes.n,
		};
	return (struct pb_packed){.single = c->value, .has_single = c->type != PB_GROUP};
}

struct pb_packed pb_packed_fixed64(const struct pb *c)
{
	struct pb_packed run = pb_packed_of(c);

	run.type = PB_FIXED64;
	return run;
}

bool pb_packed_next(struct pb_packed *run, uint64_t *ret)
{
	if (run->has_single) {
		*ret = run->single;
		run->has_single = false;
		return true;
	}
	if (run->p == run->end)
		return false;
	if (run->type == PB_FIXED64) {
		if (run->end - run->p < 8) {
			run->failed = true;
			return false;
		}
		*ret = little_endian(run->p, 8);
		run->p += 8;
		return true;
	}
	if (pb_varint(&run->p, run->end, ret))
		return true;
	run->failed = true;
	return false;
}

void pb_put_varint_slow(struct buf *b, uint64_t value)
{
	uint8_t bytes[10];
	unsigned n = 0;

	while (value >= 0x80) {
		bytes[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	buf_append(b, bytes, n);
}

void pb_put_tag(struct buf *b, uint32_t field, enum pb_type type)
{
	pb_put_varint(b, (uint64_t)field << 3 | type);
}

void pb_put_uint(struct buf *b, uint32_t field, uint64_t value)
{
	pb_put_tag(b, field, PB_VARINT);
	pb_put_varint(b, value);
}

void pb_put_int(struct buf *b, uint32_t field, int64_t value)
{
	pb_put_uint(b, field, (uint64_t)value);
}

void pb_put_fixed64(struct buf *b, uint32_t field, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	pb_put_tag(b, field, PB_FIXED64);
	buf_append(b, bytes, 8);
}

void pb_put_bytes(struct buf *b, uint32_t field, struct str bytes)
{
	pb_put_tag(b, field, PB_BYTES);
	pb_put_varint(b, bytes.n);
	buf_str(b, bytes);
}

/* One byte is set aside for the length; pb_end makes room when it needs more. */
size_t pb_begin(struct buf *b, uint32_t field)
{
	pb_put_tag(b, field, PB_BYTES);
	buf_byte(b, 0);
	return b->n;
}

void pb_end(struct buf *b, size_t mark)
{
	uint8_t length[10];
	uint64_t value;
	unsigned n = 0;

	if (b->error)
		return;
	value = b->n - mark;
	while (value >= 0x80) {
		length[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	length[n++] = (uint8_t)value;
	if (n > 1)
		buf_insert(b, mark, length + 1, n - 1);
	if (!b->error)
		b->data[mark - 1] = (char)length[0];
}
