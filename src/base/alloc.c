#include "base/alloc.h"

#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
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

void *mem_alloc(size_t size)
{
	return injected_failure() ? NULL : malloc(size ? size : 1);
}

void *mem_zalloc(size_t count, size_t size)
{
	return injected_failure() ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void *mem_realloc(void *p, size_t size)
{
	return injected_failure() ? NULL : realloc(p, size ? size : 1);
}

void mem_free(void *p)
{
	free(p);
}

void mem_free_ptr(void *address_of_pointer)
{
	void *p;

	memcpy(&p, address_of_pointer, sizeof(p));
	free(p);
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

	/* What is larger than half of it comes from the system and goes back to it. */
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
