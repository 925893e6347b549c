/*
 * Private to src/store: numbers as bytes, least first, seven bits each (LEB128), and a bounded
 * cursor over them. Reading past the end or a number of more than ten bytes sets `bad` and yields
 * 0, so that a decoder may read several numbers before checking.
 */
#pragma once

#include "base/buf.h"

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

#define VARINT_MAX 10

static inline uint8_t *varint_write(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

static inline void put_varint(struct buf *out, uint64_t v)
{
	uint8_t *p = buf_reserve(out, VARINT_MAX);

	if (p)
		out->n += (size_t)(varint_write(p, v) - p);
}

static inline void put_zigzag(struct buf *out, int64_t v)
{
	put_varint(out, zigzag(v));
}

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct cursor cursor_of(struct str s)
{
	const uint8_t *p = (const uint8_t *)s.p;

	return (struct cursor){.p = p, .end = p + s.n};
}

static inline uint64_t get_varint(struct cursor *c)
{
	uint64_t v = 0;

	if (__builtin_expect(c->p < c->end && *c->p < 0x80, 1))
		return *c->p++;
	for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
		uint8_t byte = *c->p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	c->bad = true;
	c->p = c->end;
	return 0;
}

static inline int64_t get_zigzag(struct cursor *c)
{
	return unzigzag(get_varint(c));
}

/* A number that must not exceed `most`. */
static inline uint64_t get_bounded(struct cursor *c, uint64_t most)
{
	uint64_t v = get_varint(c);

	if (v > most) {
		c->bad = true;
		return 0;
	}
	return v;
}

static inline struct str get_bytes(struct cursor *c, uint64_t n)
{
	struct str s = {(const char *)c->p, (size_t)n};

	if (n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return (struct str){0};
	}
	c->p += n;
	return s;
}
