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

static bool numbers_whole(const uint8_t *p, const uint8_t *end)
{
	uint64_t value;

	while (p < end)
		if (!pb_varint(&p, end, &value))
			return false;
	return true;
}

/* Whether five bytes in a row go on. */
static bool may_be_too_long(const uint8_t *p)
{
	uint64_t more;

	memcpy(&more, p, 8);
	more &= 0x8080808080808080u;
	return (more & more >> 8 & more >> 16 & more >> 24 & more >> 32) != 0;
}

bool pb_run_whole(struct str run)
{
	const uint8_t *p = (const uint8_t *)run.p, *end = p + run.n;
	bool suspect = false;

	if (run.n && end[-1] & 0x80)
		return false;
	/* A number of ten bytes or more has five that go on inside one of these words; fewer than
	 * eight bytes have no room for it. */
	for (const uint8_t *at = p; end - at >= 8; at += 8)
		suspect |= may_be_too_long(at);
	if (run.n >= 8)
		suspect |= may_be_too_long(end - 8);
	return !suspect || numbers_whole(p, end);
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

/* Bytes set aside for the length of a list: enough when its numbers have two bytes or three. */
static size_t list_length_bytes(size_t n)
{
	return n < 48 ? 1 : n < 6000 ? 2 : 4;
}

char *pb_list_begin(struct buf *b, uint32_t field, size_t n)
{
	char *at;

	pb_put_tag(b, field, PB_BYTES);
	at = n < SIZE_MAX / 8 ? buf_reserve(b, n * 5 + 2 * PB_RAW_ROOM) : NULL;
	return at ? at + list_length_bytes(n) : NULL;
}

void pb_list_end(struct buf *b, size_t n, char *at)
{
	size_t have = list_length_bytes(n);
	char *start = b->data + b->n + have;
	size_t bytes = (size_t)(at - start);
	char length[PB_RAW_ROOM];
	size_t need = (size_t)(pb_raw_varint(length, bytes) - length);

	if (__builtin_expect(need != have, 0))
		memmove(start - have + need, start, bytes);
	memcpy(start - have, length, need);
	pb_raw_done(b, start - have + need + bytes);
}

/* Number by number, where the ceiling is near. */
static void put_packed_slowly(struct buf *b, uint32_t field, const uint32_t *list, size_t n)
{
	char bytes[PB_RAW_ROOM];
	size_t length = 0;

	for (size_t i = 0; i < n; i++)
		length += (size_t)(pb_raw_varint(bytes, list[i]) - bytes);
	pb_put_tag(b, field, PB_BYTES);
	pb_put_varint(b, length);
	for (size_t i = 0; i < n; i++)
		pb_put_varint(b, list[i]);
}

void pb_put_packed(struct buf *b, uint32_t field, const uint32_t *list, size_t n)
{
	char *at;

	if (b->n > b->ceiling || n > (b->ceiling - b->n) / 8 ||
	    b->ceiling - b->n < n * 5 + 3 * PB_RAW_ROOM) {
		put_packed_slowly(b, field, list, n);
		return;
	}
	at = pb_list_begin(b, field, n);
	if (!at)
		return;
	for (size_t i = 0; i < n; i++)
		at = pb_raw_varint(at, list[i]);
	pb_list_end(b, n, at);
}

size_t pb_begin_slow(struct buf *b, uint32_t field)
{
	pb_put_tag(b, field, PB_BYTES);
	buf_byte(b, 0);
	return b->n;
}

static unsigned length_bytes(uint64_t value, uint8_t *bytes)
{
	unsigned n = 0;

	while (value >= 0x80) {
		bytes[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	return n;
}

void pb_end_slow(struct buf *b, size_t mark)
{
	pb_end_about(b, mark, 0);
}

size_t pb_begin_about(struct buf *b, uint32_t field, size_t guess)
{
	uint8_t length[10];

	pb_put_tag(b, field, PB_BYTES);
	buf_append(b, length, length_bytes(guess, length));
	return b->n;
}

void pb_end_about(struct buf *b, size_t mark, size_t guess)
{
	uint8_t length[10];
	unsigned have = length_bytes(guess, length), need;

	if (b->error)
		return;
	need = length_bytes(b->n - mark, length);
	if (need > have) {
		buf_insert(b, mark, length, need - have);
	} else if (need < have) {
		memmove(b->data + mark - have + need, b->data + mark, b->n - mark + 1);
		b->n -= have - need;
	}
	if (!b->error)
		memcpy(b->data + mark - have, length, need);
}
