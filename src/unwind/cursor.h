/*
 * A bounded cursor over untrusted bytes. Reading past the end yields 0 and sets `bad` permanently,
 * so that a reader checks only once.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "unwind/unwind_format.h"

struct cursor {
	const u8 *at, *end;
	bool bad;
};

static inline struct cursor cursor_of(struct str bytes)
{
	return (struct cursor){(const u8 *)bytes.p, (const u8 *)bytes.p + bytes.n, false};
}

/* 1, 2, 4 or 8 bytes, each as a single load, because this is the hot path. */
static inline u64 cursor_fixed(struct cursor *c, size_t size)
{
	u64 value = 0;
	u32 half;
	u16 quarter;

	if ((size_t)(c->end - c->at) < size) {
		c->at = c->end;
		c->bad = true;
		return 0;
	}
	switch (size) {
	case 1:
		value = *c->at;
		break;
	case 2:
		memcpy(&quarter, c->at, sizeof(quarter));
		value = quarter;
		break;
	case 4:
		memcpy(&half, c->at, sizeof(half));
		value = half;
		break;
	default:
		memcpy(&value, c->at, sizeof(value));
		break;
	}
	c->at += size;
	return value;
}

static inline u8 cursor_byte(struct cursor *c)
{
	if (c->at == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->at++;
}

static inline void cursor_skip(struct cursor *c, u64 size)
{
	if ((u64)(c->end - c->at) < size) {
		c->at = c->end;
		c->bad = true;
		return;
	}
	c->at += size;
}

static inline u64 cursor_uleb(struct cursor *c)
{
	u64 value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		u8 byte = cursor_byte(c);

		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

static inline s64 cursor_sleb(struct cursor *c)
{
	u64 value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		u8 byte = cursor_byte(c);

		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (byte & 0x40 && shift + 7 < 64)
				value |= ~0ull << (shift + 7);
			return (s64)value;
		}
	}
	c->bad = true;
	return 0;
}
