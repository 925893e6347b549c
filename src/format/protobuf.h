/*
 * A bounded cursor over protobuf bytes, and the writing counterpart. No generated code, no object
 * per message: decoders walk fields and read what they know, unknown fields are skipped.
 *
 *	struct pb c = pb_of(bytes);
 *	while (pb_next(&c)) {
 *		switch (c.field) {
 *		case SAMPLE_VALUE: … pb_bytes(&c) or c.value …
 *		}
 *	}
 *	if (c.failed) → the message is cut or malformed at offset c.at
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

enum pb_type {
	PB_VARINT = 0,
	PB_FIXED64 = 1,
	PB_BYTES = 2,
	PB_GROUP = 3,
	PB_END = 4,
	PB_FIXED32 = 5
};

struct pb {
	const uint8_t *p, *end;
	const uint8_t *start; /* of the whole input: offsets in messages count from here */
	uint32_t field;	      /* of the current field */
	enum pb_type type;
	uint64_t value;	  /* VARINT, FIXED64, FIXED32 */
	struct str bytes; /* BYTES */
	const uint8_t *field_start;
	bool failed;
};

static inline struct pb pb_of(struct str bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;

	/* Not even 0 may be added to a NULL pointer. */
	return (struct pb){.p = p, .end = p ? p + bytes.n : p, .start = p};
}

/* A cursor over the current field's bytes that still counts offsets from the outermost start. */
static inline struct pb pb_sub(const struct pb *c)
{
	const uint8_t *p = (const uint8_t *)c->bytes.p;

	return (struct pb){.p = p, .end = p ? p + c->bytes.n : p, .start = c->start};
}

/* Decodes a varint of at most 10 bytes; false when cut or too long. */
bool pb_varint_slow(const uint8_t **p, const uint8_t *end, uint64_t *ret);

static inline bool pb_varint(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	if (__builtin_expect(*p < end && **p < 0x80, 1)) {
		*ret = *(*p)++;
		return true;
	}
	return pb_varint_slow(p, end, ret);
}

/*
 * A varint at p, known to be followed by at least 8 readable bytes or to end before `end`. Branch
 * free up to eight bytes: field values of one message mix lengths, and mispredicted branches cost
 * more than the arithmetic. False when it needs the slow way (longer, or near the end).
 */
static inline bool pb_varint_fast(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t word, stop, x;
	unsigned bits;

	if (__builtin_expect(end - *p < 8, 0))
		return false;
	memcpy(&word, *p, 8);
	stop = ~word & 0x8080808080808080u;
	if (__builtin_expect(!stop, 0))
		return false;
	bits = (unsigned)__builtin_ctzll(stop);
	x = word & (stop ^ (stop - 1)) & 0x7f7f7f7f7f7f7f7fu;
	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	x = (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
	*ret = x;
	*p += (bits >> 3) + 1;
	return true;
}

/* A varint of a packed run that ends at `end`, in bytes that can be read up to `readable`. Small
 * numbers, by far the most, go without arithmetic. */
static inline bool pb_varint_quick(const uint8_t **p, const uint8_t *end, const uint8_t *readable,
				   uint64_t *ret)
{
	const uint8_t *at = *p;

	if (at[0] < 0x80) {
		*ret = at[0];
		*p = at + 1;
		return true;
	}
	if (end - at >= 2 && at[1] < 0x80) {
		*ret = (at[0] & 0x7f) | (uint64_t)at[1] << 7;
		*p = at + 2;
		return true;
	}
	if (pb_varint_fast(&at, readable, ret)) {
		*p = at;
		return at <= end;
	}
	return pb_varint_slow(p, end, ret);
}

/*
 * A varint where at least 8 bytes can be read. One or two bytes, by far the most, are told apart
 * without a branch, since which of them comes next cannot be predicted. False beyond eight bytes.
 */
static inline bool pb_varint_open(const uint8_t **p, uint64_t *ret)
{
	const uint8_t *at = *p;
	uint16_t word;
	unsigned two;

	memcpy(&word, at, 2);
	if (__builtin_expect((word & 0x8080) == 0x8080, 0))
		return pb_varint_fast(p, at + 8, ret);
	two = word >> 7 & 1;
	*ret = (word & 0x7fu) | (word >> 1 & 0x3f80u & -two);
	*p = at + 1 + two;
	return true;
}

/* Takes the field with this tag when it is next, else leaves the value as it is. As above, with 9
 * bytes readable at p. */
static inline bool pb_take_open(const uint8_t **p, uint8_t tag, uint64_t *ret)
{
	if (**p != tag)
		return true;
	++*p;
	return pb_varint_open(p, ret);
}

/*
 * Numbers of a packed run that ends at `end`, in bytes that can be read up to `readable`: as many
 * as stand there in at most four bytes each, as long as `ret`, which has room for `max`, has room
 * for PB_RUN_SLACK more. Returns how many and moves *p behind them. Where it stops before the end,
 * whatever stands there needs pb_varint_quick. (varint_run.c)
 */
#define PB_RUN_SLACK 68
size_t pb_small_varints(const uint8_t **p, const uint8_t *end, const uint8_t *readable,
			uint32_t *ret, size_t max);
/* Set by a test that compares the ways of different processors with each other. */
extern bool pb_run_narrow;

/* Whether a packed run consists of whole numbers, each of at most ten bytes and 64 bits: for runs
 * that are decoded later, or never. */
bool pb_run_whole(struct str run);

/* Steps to the next field; false at the end and on malformed input (then `failed`). */
bool pb_next(struct pb *c);

/* Behind a field of bytes: steps to the next one when it is of the same number and shorter than
 * 16 kB, else leaves everything to pb_next. */
static inline bool pb_next_alike(struct pb *c)
{
	const uint8_t *p = c->p;
	size_t n;

	if (c->end - p < 2 || p[0] >= 0x80 || p[0] != *c->field_start || c->failed)
		return false;
	n = p[1];
	p += 2;
	if (n >= 0x80) {
		if (p == c->end || *p >= 0x80)
			return false;
		n = (n & 0x7f) | (size_t)*p++ << 7;
	}
	if (n > (size_t)(c->end - p))
		return false;
	c->field_start = c->p;
	c->bytes = (struct str){(const char *)p, n};
	c->p = p + n;
	return true;
}

/* Skips all that pb_next_alike would step to, and returns how many there were. */
static inline size_t pb_skip_alike(struct pb *c)
{
	struct pb at = *c;
	size_t n = 0;

	if (!c->field_start || c->type != PB_BYTES)
		return 0;
	while (pb_next_alike(&at))
		n++;
	*c = at;
	return n;
}

/* Offset of the current field, for messages. */
static inline size_t pb_offset(const struct pb *c)
{
	return (size_t)(c->field_start - c->start);
}

/*
 * Repeated scalars, packed or not: call for each occurrence of the field, then take values until
 * it returns false. `failed` tells a cut packed run.
 *
 *	struct pb_packed run = pb_packed_of(&c);
 *	uint64_t v;
 *	while (pb_packed_next(&run, &v)) …
 */
struct pb_packed {
	const uint8_t *p, *end;
	uint64_t single;
	bool has_single, failed;
	enum pb_type
		type; /* of the elements when packed: VARINT, or FIXED64 by pb_packed_fixed64 */
};
struct pb_packed pb_packed_of(const struct pb *c);
struct pb_packed pb_packed_fixed64(const struct pb *c);
bool pb_packed_next(struct pb_packed *run, uint64_t *ret);

/* Writing. Fields with the default value are written too: the caller leaves them out. */
void pb_put_varint_slow(struct buf *b, uint64_t value);
/* Lists of ids are most of what is written: straight into the buffer while there is room. */
static inline void pb_put_varint(struct buf *b, uint64_t value)
{
	char *at;

	if (__builtin_expect(b->error || b->cap - b->n < 12 || value >> 56, 0)) {
		pb_put_varint_slow(b, value);
		return;
	}
	at = b->data + b->n;
	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	*at = '\0';
	b->n = (size_t)(at - b->data);
}
/*
 * Straight into memory, for whoever has made room beforehand (buf_reserve): PB_RAW_ROOM bytes for
 * each number with its tag, although fewer will be used. Return where the next byte goes.
 */
#define PB_RAW_ROOM 16
static inline char *pb_raw_varint(char *at, uint64_t value)
{
	/* Bytes of a number below 2^28: seven bits each, by a product instead of a division. */
	unsigned size = ((64 - (unsigned)__builtin_clzll(value | 1)) * 9 + 64) >> 6;
	uint32_t v = (uint32_t)value, word;

	if (__builtin_expect(value >> 28 == 0, 1)) {
		word = (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
		word |= 0x80808080u & (((uint32_t)1 << (8 * size - 8)) - 1);
		memcpy(at, &word, 4);
		return at + size;
	}
	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	return at;
}
/* A number with its tag, unless it is 0. */
static inline char *pb_raw_uint(char *at, uint32_t field, uint64_t value)
{
	if (!value)
		return at;
	*at = (char)(field << 3 | PB_VARINT);
	return pb_raw_varint(at + 1, value);
}
/* Takes what was written since buf_reserve into the buffer. */
static inline void pb_raw_done(struct buf *b, char *at)
{
	b->n = (size_t)(at - b->data);
	*at = '\0';
}

/*
 * Lists of the same numbers over and over, locations for the most part: each number is made ready
 * once. A list is begun with the count of its numbers at most, filled by pb_list_put, and ended.
 */
#define PB_CODED_LONG UINT32_MAX /* too long to be made ready: pb_raw_varint */
static inline uint32_t pb_coded(uint32_t number)
{
	uint32_t size = 1 + (number >= 1u << 7) + (number >= 1u << 14);
	char bytes[PB_RAW_ROOM];
	uint32_t word;

	if (number >= 1u << 21)
		return PB_CODED_LONG;
	(void)pb_raw_varint(bytes, number);
	memcpy(&word, bytes, 4);
	return word | size << 24;
}
static inline char *pb_list_put(char *at, uint32_t coded)
{
	memcpy(at, &coded, 4);
	return at + (coded >> 24);
}
/* NULL when there is no room, or no certainty that the list stays below the ceiling. */
char *pb_list_begin(struct buf *b, uint32_t field, size_t n);
void pb_list_end(struct buf *b, size_t n, char *at);

void pb_put_tag(struct buf *b, uint32_t field, enum pb_type type);
void pb_put_uint(struct buf *b, uint32_t field, uint64_t value);
void pb_put_int(struct buf *b, uint32_t field, int64_t value);
void pb_put_fixed64(struct buf *b, uint32_t field, uint64_t value);
void pb_put_bytes(struct buf *b, uint32_t field, struct str bytes);
/* A packed list, also an empty one. */
void pb_put_packed(struct buf *b, uint32_t field, const uint32_t *list, size_t n);
/* Nested message of unknown length: begin, write fields, end. */
size_t pb_begin_slow(struct buf *b, uint32_t field);
void pb_end_slow(struct buf *b, size_t mark);

/* One byte is set aside for the length; pb_end makes room when it needs more. */
static inline size_t pb_begin(struct buf *b, uint32_t field)
{
	if (__builtin_expect(b->error || b->cap - b->n < 8 || field > 15, 0))
		return pb_begin_slow(b, field);
	b->data[b->n] = (char)(field << 3 | PB_BYTES);
	b->n += 2;
	b->data[b->n] = '\0';
	return b->n;
}

static inline void pb_end(struct buf *b, size_t mark)
{
	if (__builtin_expect(b->error || b->n - mark >= 0x80, 0))
		pb_end_slow(b, mark);
	else
		b->data[mark - 1] = (char)(b->n - mark);
}
/* The same for a large message: when the guess of its size is of the right order, nothing has to be
 * moved in the end. */
size_t pb_begin_about(struct buf *b, uint32_t field, size_t guess);
void pb_end_about(struct buf *b, size_t mark, size_t guess);
