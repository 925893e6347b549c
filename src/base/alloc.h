/*
 * The only interface to the heap: malloc and its family are called in alloc.c and nowhere else.
 * Allocation fails by returning NULL. Tests make the n-th allocation fail to prove that every
 * caller handles that (tests/unit/test.h, ALLOC_SWEEP).
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
 * Keeps up to about `bytes` of freed memory per thread for reuse, for programs that allocate and
 * free the same megabytes repeatedly; mem_trim() returns all unused memory to the system. No effect
 * if the C library has no such setting.
 */
void mem_keep(size_t bytes);
void mem_trim(void);

/*
 * Accounts for allocations of threads (work_scope.h). may_take() is called before an allocation;
 * took() and freed() are called on the allocating thread with the actual size of the block.
 */
struct mem_counter {
	bool (*may_take)(size_t n);
	void (*took)(size_t n);
	void (*freed)(size_t n);
};
/* Installs it for the whole program; `c` must stay valid. */
void mem_count_with(const struct mem_counter *c);

/* Fault injection, for tests: the n-th allocation from now fails (0 = the next), and all after it
 * when `persist`. Not thread safe. Returns nothing; alloc_fail_reached() says whether it happened.
 */
void alloc_fail_at(long n, bool persist);
void alloc_fail_off(void);
bool alloc_fail_reached(void);
