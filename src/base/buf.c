#include "base/buf.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/decimal.h"

void buf_init(struct buf *b, size_t ceiling)
{
	*b = BUF_INIT(ceiling);
}

void buf_release(struct buf *b)
{
	if (!b)
		return;
	mem_free(b->data);
	*b = BUF_INIT(b->ceiling);
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->error = ERR_OK;
	if (b->data)
		b->data[0] = '\0';
}

enum err buf_error(const struct buf *b)
{
	return b->error;
}

void *buf_reserve(struct buf *b, size_t n)
{
	size_t need;

	if (b->error)
		return NULL;
	if (__builtin_add_overflow(b->n, n, &need) || need > b->ceiling || need == SIZE_MAX) {
		b->error = ERR_TOO_LARGE;
		return NULL;
	}
	/* One byte more than the ceiling, for the NUL; SIZE_MAX means "no ceiling". */
	b->error = mem_grow(&b->data, &b->cap, need + 1, 1,
			    b->ceiling == SIZE_MAX ? SIZE_MAX : b->ceiling + 1);
	return b->error ? NULL : b->data + b->n;
}

void buf_expect(struct buf *b, size_t n)
{
	/* If this fails, the write itself reports the error. */
	if (!b->error && b->n <= b->ceiling && n < b->ceiling - b->n)
		(void)!mem_grow(&b->data, &b->cap, b->n + n + 1, 1, SIZE_MAX);
}

void buf_append(struct buf *b, const void *data, size_t n)
{
	char *at = buf_reserve(b, n);

	if (!at)
		return;
	if (n)
		memcpy(at, data, n);
	at[n] = '\0';
	b->n += n;
}

void buf_byte(struct buf *b, unsigned char byte)
{
	/* Fast path: there is room for it and the NUL. */
	if (__builtin_expect(b->error || b->cap < 2 || b->n >= b->cap - 2 || b->n >= b->ceiling,
			     0)) {
		buf_append(b, &byte, 1);
		return;
	}
	b->data[b->n++] = (char)byte;
	b->data[b->n] = '\0';
}

void buf_str(struct buf *b, struct str s)
{
	buf_append(b, s.p, s.n);
}

void buf_text(struct buf *b, const char *s)
{
	buf_append(b, s, strlen(s));
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	char small[256];
	va_list again;
	int n;
	char *at;

	va_copy(again, args);
	n = vsnprintf(small, sizeof(small), format, args);
	if (n >= 0 && (size_t)n < sizeof(small)) {
		buf_append(b, small, (size_t)n);
	} else if (n < 0) {
		b->error = b->error ? b->error : ERR_TOO_LARGE;
	} else {
		at = buf_reserve(b, (size_t)n);
		if (at) {
			vsnprintf(at, (size_t)n + 1, format, again);
			b->n += (size_t)n;
		}
	}
	va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_u64(struct buf *b, uint64_t value)
{
	char digits[DECIMAL_SIZE];

	buf_append(b, digits, (size_t)(decimal_u64(digits, value) - digits));
}

void buf_i64(struct buf *b, int64_t value)
{
	char digits[DECIMAL_SIZE];

	buf_append(b, digits, (size_t)(decimal_i64(digits, value) - digits));
}

void buf_insert(struct buf *b, size_t at, const void *data, size_t n)
{
	size_t tail = b->n - at;

	if (!n || !buf_reserve(b, n))
		return;
	memmove(b->data + at + n, b->data + at, tail);
	memcpy(b->data + at, data, n);
	b->n += n;
	b->data[b->n] = '\0';
}
