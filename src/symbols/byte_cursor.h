/*
 * A bounded cursor over little-endian bytes, which it does not own. Reading past the end yields
 * zeros and makes the cursor permanently `bad` and empty, so that a parser checks only once, at the
 * end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

struct byte_cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct byte_cursor cursor_over(struct str bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;

	return (struct byte_cursor){p, bytes.n ? p + bytes.n : p, false};
}

static inline size_t cursor_left(const struct byte_cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline void cursor_fail(struct byte_cursor *c)
{
	c->p = c->end;
	c->bad = true;
}

/* A cursor over the slice from `offset` on; a bad one if that is outside. */
static inline struct byte_cursor cursor_at(struct str bytes, uint64_t offset)
{
	struct byte_cursor c = cursor_over(bytes);

	if (offset > bytes.n)
		cursor_fail(&c);
	else if (offset)
		c.p += offset;
	return c;
}

static inline void cursor_skip(struct byte_cursor *c, uint64_t n)
{
	if (n > cursor_left(c))
		cursor_fail(c);
	else
		c->p += n;
}

static inline uint8_t cursor_u8(struct byte_cursor *c)
{
	if (c->p == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

#define CURSOR_FIXED(name, type)                       \
	static inline type name(struct byte_cursor *c) \
	{                                              \
		type value;                            \
                                                       \
		if (cursor_left(c) < sizeof(value)) {  \
			cursor_fail(c);                \
			return 0;                      \
		}                                      \
		memcpy(&value, c->p, sizeof(value));   \
		c->p += sizeof(value);                 \
		return value;                          \
	}
CURSOR_FIXED(cursor_u16, uint16_t)
CURSOR_FIXED(cursor_u32, uint32_t)
CURSOR_FIXED(cursor_u64, uint64_t)
#undef CURSOR_FIXED

/* An unsigned number of 1 to 8 bytes. 4 is the most frequent and needs no loop. */
static inline uint64_t cursor_sized(struct byte_cursor *c, unsigned size)
{
	uint64_t value = 0;

	if (size == 4)
		return cursor_u32(c);

	if (size > 8 || size > cursor_left(c)) {
		cursor_fail(c);
		return 0;
	}
	memcpy(&value, c->p, size);
	c->p += size;
	return value;
}

static inline uint64_t cursor_uleb(struct byte_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->p < c->end; shift += 7) {
		uint8_t byte = *c->p++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

static inline int64_t cursor_sleb(struct byte_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->p < c->end;) {
		uint8_t byte = *c->p++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if (shift < 64 && (byte & 0x40))
				value |= UINT64_MAX << shift;
			return (int64_t)value;
		}
	}
	c->bad = true;
	return 0;
}

static inline void cursor_skip_leb(struct byte_cursor *c)
{
	while (c->p < c->end)
		if (!(*c->p++ & 0x80))
			return;
	c->bad = true;
}

/* Text up to its NUL, which is skipped. Without a NUL: empty, and the cursor is bad. */
static inline struct str cursor_text(struct byte_cursor *c)
{
	const uint8_t *start = c->p,
		      *nul = start == c->end ? NULL : memchr(start, 0, cursor_left(c));

	if (!nul) {
		cursor_fail(c);
		return (struct str){"", 0};
	}
	c->p = nul + 1;
	return str_n(start, (size_t)(nul - start));
}

/* The text at an offset of a string table; empty if there is none. */
static inline struct str text_at(struct str table, uint64_t offset)
{
	struct byte_cursor c = cursor_at(table, offset);

	return cursor_text(&c);
}

/* n raw bytes. */
static inline struct str cursor_bytes(struct byte_cursor *c, uint64_t n)
{
	const uint8_t *start = c->p;

	if (n > cursor_left(c)) {
		cursor_fail(c);
		return (struct str){"", 0};
	}
	c->p += n;
	return str_n(start, (size_t)n);
}
