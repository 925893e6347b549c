/*
 * A growing array of any type. `VEC(uint32_t) ids = {0};` declares one; it owns its memory, and
 * all zero is a valid empty one. Elements are `ids.v[0] … ids.v[ids.n - 1]`.
 */
#pragma once

#include <string.h>

#include "base/alloc.h"

#define VEC(type)              \
	struct {               \
		type *v;       \
		size_t n, cap; \
	}

#define VEC_CEILING ((size_t)UINT32_MAX)

/* A sum that saturates instead of wrapping around. */
static inline size_t vec_sum(size_t n, size_t count)
{
	size_t sum;

	return __builtin_add_overflow(n, count, &sum) ? SIZE_MAX : sum;
}

/* Makes room for `count` more elements. */
#define vec_reserve(vec, count) \
	mem_grow(&(vec)->v, &(vec)->cap, vec_sum((vec)->n, (count)), sizeof(*(vec)->v), VEC_CEILING)

#define vec_push(vec, value)                                     \
	({                                                       \
		enum err vec_error_ = ERR_OK;                    \
		if (__builtin_expect((vec)->n == (vec)->cap, 0)) \
			vec_error_ = vec_reserve(vec, 1);        \
		if (__builtin_expect(vec_error_ == ERR_OK, 1))   \
			(vec)->v[(vec)->n++] = (value);          \
		vec_error_;                                      \
	})

#define vec_append(vec, items, count)                                                         \
	({                                                                                    \
		size_t vec_count_ = (count);                                                  \
		enum err vec_error_ = vec_reserve(vec, vec_count_);                           \
		if (vec_error_ == ERR_OK && vec_count_) {                                     \
			memcpy((vec)->v + (vec)->n, (items), vec_count_ * sizeof(*(vec)->v)); \
			(vec)->n += vec_count_;                                               \
		}                                                                             \
		vec_error_;                                                                   \
	})

#define vec_release(vec)                   \
	do {                               \
		mem_free((vec)->v);        \
		(vec)->v = NULL;           \
		(vec)->n = (vec)->cap = 0; \
	} while (0)

#define vec_for_each(item, vec) \
	for (__typeof__(&*(vec)->v) item = (vec)->v; item && item < (vec)->v + (vec)->n; item++)
