/*
 * The only door to the heap: malloc and its family are called in alloc.c and nowhere else.
 * Allocation fails by returning NULL. Tests make the n-th allocation fail to prove that every
 * caller copes (tests/unit/test.h, ALLOC_SWEEP).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

void *mem_alloc(size_t size) __attribute__((malloc));
void *mem_zalloc(size_t count, size_t size) __attribute__((malloc));
void *mem_realloc(void *p, size_t size) MUST_CHECK;
void mem_free(void *p);
char *mem_strdup(const char *s) __attribute__((malloc));
char *mem_strndup(const char *s, size_t n) __attribute__((malloc));

/* For locals: `CLEANUP(mem_free_ptr) char *p = NULL;` */
void mem_free_ptr(void *address_of_pointer);

/*
 * The one growth routine. Makes room for `need` elements of `size` bytes in the array at `*array`
 * whose capacity is `*cap`, at least by half as much again. More than `ceiling` elements is
 * ERR_TOO_LARGE. On failure nothing changes.
 */
enum err mem_grow(void *array, size_t *cap, size_t need, size_t size, size_t ceiling) MUST_CHECK;

/*
 * A program that takes and gives back the same megabytes again and again keeps up to `bytes` of
 * them (per thread, about) instead of asking the system for pages each time; mem_trim() gives back
 * all that is not in use. Neither does anything where the C library has no such choice.
 */
void mem_keep(size_t bytes);
void mem_trim(void);

/*
 * Somebody who counts what threads take (work_scope.h). may_take() is asked before; took() and
 * freed() are told, on the thread that does it, how many bytes the heap really gave.
 */
struct mem_counter {
	bool (*may_take)(size_t n);
	void (*took)(size_t n);
	void (*freed)(size_t n);
};
/* From now on, for the whole program. It must live as long. */
void mem_count_with(const struct mem_counter *c);

/* Fault injection, for tests: the n-th allocation from now fails (0 = the next), and all after it
 * when `persist`. Not thread safe. Returns nothing; alloc_fail_reached() says whether it happened.
 */
void alloc_fail_at(long n, bool persist);
void alloc_fail_off(void);
bool alloc_fail_reached(void);
