#include "base/alloc.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static long fail_countdown = -1;
static bool fail_persist;
static bool fail_reached;

static bool injected_failure(void)
{
	if (__builtin_expect(fail_countdown < 0, 1))
		return false;
	if (fail_countdown > 0) {
		fail_countdown--;
		return false;
	}
	fail_reached = true;
	if (!fail_persist)
		fail_countdown = -1;
	return true;
}

void alloc_fail_at(long n, bool persist)
{
	fail_countdown = n;
	fail_persist = persist;
	fail_reached = false;
}

void alloc_fail_off(void)
{
	fail_countdown = -1;
}

bool alloc_fail_reached(void)
{
	return fail_reached;
}

/* NULL: allocations are not counted. Set at most once. */
static const struct mem_counter *counter;

static inline const struct mem_counter *counted(void)
{
	return __atomic_load_n(&counter, __ATOMIC_ACQUIRE);
}

void mem_count_with(const struct mem_counter *c)
{
	__atomic_store_n(&counter, c, __ATOMIC_RELEASE);
}

static void *took(const struct mem_counter *c, void *p)
{
	if (p)
		c->took(malloc_usable_size(p));
	return p;
}

void *mem_alloc(size_t size)
{
	const struct mem_counter *c = counted();

	if (injected_failure())
		return NULL;
	if (!c)
		return malloc(size ? size : 1);
	return c->may_take(size) ? took(c, malloc(size ? size : 1)) : NULL;
}

void *mem_zalloc(size_t count, size_t size)
{
	const struct mem_counter *c = counted();
	size_t all;

	if (injected_failure())
		return NULL;
	if (!c)
		return calloc(count ? count : 1, size ? size : 1);
	if (__builtin_mul_overflow(count, size, &all) || !c->may_take(all))
		return NULL;
	return took(c, calloc(count ? count : 1, size ? size : 1));
}

/* The block may have been allocated outside of the scope: count only the difference. */
static void *counted_realloc(const struct mem_counter *c, void *p, size_t size)
{
	size_t before = p ? malloc_usable_size(p) : 0, after;
	void *moved;

	if (size > before && !c->may_take(size - before))
		return NULL;
	moved = realloc(p, size ? size : 1);
	if (!moved)
		return NULL;
	after = malloc_usable_size(moved);
	if (after > before)
		c->took(after - before);
	else
		c->freed(before - after);
	return moved;
}

void *mem_realloc(void *p, size_t size)
{
	const struct mem_counter *c = counted();

	if (injected_failure())
		return NULL;
	return c ? counted_realloc(c, p, size) : realloc(p, size ? size : 1);
}

void mem_free(void *p)
{
	const struct mem_counter *c = counted();

	if (p && c)
		c->freed(malloc_usable_size(p));
	free(p);
}

void mem_free_ptr(void *address_of_pointer)
{
	void *p;

	memcpy(&p, address_of_pointer, sizeof(p));
	mem_free(p);
}

char *mem_strndup(const char *s, size_t n)
{
	char *copy = n < SIZE_MAX ? mem_alloc(n + 1) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

void mem_keep(size_t bytes)
{
#ifdef __GLIBC__
	int most = bytes < INT_MAX ? (int)bytes : INT_MAX;

	/* Larger blocks than half of it are mapped from the system and unmapped when freed. */
	(void)mallopt(M_TRIM_THRESHOLD, most);
	(void)mallopt(M_MMAP_THRESHOLD, most / 2);
#else
	(void)bytes;
#endif
}

void mem_trim(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

enum err mem_grow(void *array, size_t *cap, size_t need, size_t size, size_t ceiling)
{
	size_t want, bytes;
	void *old, *grown;

	if (need <= *cap)
		return ERR_OK;
	if (need > ceiling)
		return ERR_TOO_LARGE;
	want = *cap + *cap / 2 + 8;
	if (want < need)
		want = need;
	if (want > ceiling)
		want = ceiling;
	if (__builtin_mul_overflow(want, size, &bytes))
		return ERR_TOO_LARGE;
	memcpy(&old, array, sizeof(old));
	grown = mem_realloc(old, bytes);
	if (!grown)
		return ERR_NO_MEMORY;
	memcpy(array, &grown, sizeof(grown));
	*cap = want;
	return ERR_OK;
}
