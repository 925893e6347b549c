/*
 * A growing byte buffer with a fixed ceiling; also the string builder.
 *
 * The first failure (out of memory, ceiling reached) is stored in `error`, and later writes do
 * nothing, so that encoders check for errors only at the end: `return buf_error(&b)`. `data` is
 * always followed by a NUL that is not counted once something was appended.
 */
#pragma once

#include <stdarg.h>

#include "base/err.h"
#include "base/str.h"

struct buf {
	char *data;
	size_t n, cap;
	size_t ceiling;
	enum err error;
};

#define BUF_INIT(limit) ((struct buf){.ceiling = (limit)})

void buf_init(struct buf *b, size_t ceiling);
void buf_release(struct buf *b);
/* Empties it and clears the error, but keeps the memory. */
void buf_clear(struct buf *b);
enum err buf_error(const struct buf *b) MUST_CHECK;
/* Room for n more bytes at data + n; NULL on failure. The caller adds the bytes it used to n. */
void *buf_reserve(struct buf *b, size_t n);

/* Reserves room for about n bytes; does nothing if that fails. */
void buf_expect(struct buf *b, size_t n);

void buf_append(struct buf *b, const void *data, size_t n);
void buf_byte(struct buf *b, unsigned char byte);
void buf_str(struct buf *b, struct str s);
void buf_text(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *b, const char *format, va_list args) PRINTF_LIKE(2, 0);
/* Decimal, much cheaper than printf. */
void buf_i64(struct buf *b, int64_t value);
void buf_u64(struct buf *b, uint64_t value);
/* Inserts n bytes at `at` and moves the rest. */
void buf_insert(struct buf *b, size_t at, const void *data, size_t n);

static inline struct str buf_view(const struct buf *b)
{
	return (struct str){b->data, b->n};
}
