/*
 * A slice of text or bytes, not owned and not terminated by a NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct str {
	const char *p;
	size_t n;
};

#define STR(literal) ((struct str){literal, sizeof(literal) - 1})

static inline struct str str_of(const char *s)
{
	return (struct str){s, s ? strlen(s) : 0};
}

static inline struct str str_n(const void *p, size_t n)
{
	return (struct str){p, n};
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Bytewise order; a prefix comes first. */
int str_cmp(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Position of the first / last `c`, or s.n when there is none. */
size_t str_find(struct str s, char c);
size_t str_rfind(struct str s, char c);
/* Position of the first occurrence of `needle`, or s.n. */
size_t str_search(struct str s, struct str needle);
struct str str_trim(struct str s);
struct str str_skip(struct str s, size_t n);
/* Splits off the part before the next `c` (or all of it) and removes the separator; false if s is
 * empty. */
bool str_split(struct str *rest, char c, struct str *ret_part);
/* Whole-slice numbers; an empty slice, a stray character or an overflow is ERR_CORRUPT. */
enum err str_to_i64(struct str s, int64_t *ret) MUST_CHECK;
enum err str_to_u64(struct str s, int base, uint64_t *ret) MUST_CHECK;
enum err str_to_double(struct str s, double *ret) MUST_CHECK;

/* Edit distance for "did you mean", stops counting above `limit`. */
size_t str_distance(struct str a, struct str b, size_t limit);

/* True when s is valid UTF-8 without surrogates and overlong forms. */
bool utf8_valid(struct str s);
/* Bytes of the first code point of s, 0 when it is not valid UTF-8. */
size_t utf8_length(struct str s);
