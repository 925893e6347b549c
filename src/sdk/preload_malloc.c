/*
 * Intercepts malloc and its family, with any allocator of the program. The fast path of nearly all
 * calls is a subtraction, and for free() one lookup in a table of 16 KiB.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/alloc_sampler.h"
#include "sdk/interpose.h"
#include "sdk/live_objects.h"
#include "sdk/preload.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define NOINLINE  __attribute__((noinline))

/* Looking up the real functions may itself allocate: a static buffer must suffice. It is never
 * freed. */
#define FIRST_BYTES ((size_t)64 << 10)
static _Alignas(16) char first_memory[FIRST_BYTES];
static atomic_size_t first_used;

static bool is_first(const void *p)
{
	return (uintptr_t)p - (uintptr_t)first_memory < FIRST_BYTES;
}

static void *first_alloc(size_t size)
{
	size_t need = (size + 31) & ~(size_t)15, at;

	if (size > FIRST_BYTES || (at = atomic_fetch_add(&first_used, need)) + need > FIRST_BYTES)
		return NULL;
	/* The size before it, for realloc. */
	*(size_t *)(first_memory + at) = size;
	return first_memory + at + 16;
}

/* ------------------------------------------------------------------ the real ones */

static void *begin_malloc(size_t size);
static void *begin_calloc(size_t count, size_t size);
static void *begin_realloc(void *p, size_t size);
static void begin_free(void *p);

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real = {.malloc = begin_malloc,
	  .calloc = begin_calloc,
	  .realloc = begin_realloc,
	  .free = begin_free};

static __thread bool finding __attribute__((tls_model("initial-exec")));

void preload_find_malloc(void)
{
	if (finding)
		return;
	finding = true;
	FIND_REAL(real.memalign, memalign, NULL);
	FIND_REAL(real.aligned_alloc, aligned_alloc, NULL);
	FIND_REAL(real.posix_memalign, posix_memalign, NULL);
	FIND_REAL(real.valloc, valloc, NULL);
	FIND_REAL(real.pvalloc, pvalloc, NULL);
	FIND_REAL(real.free, free, NULL);
	FIND_REAL(real.realloc, realloc, NULL);
	FIND_REAL(real.calloc, calloc, NULL);
	FIND_REAL(real.malloc, malloc, NULL);
	finding = false;
}

static void *begin_malloc(size_t size)
{
	preload_find_malloc();
	return finding || real.malloc == begin_malloc ? first_alloc(size) : real.malloc(size);
}

static void *begin_calloc(size_t count, size_t size)
{
	size_t bytes;

	preload_find_malloc();
	if (!finding && real.calloc != begin_calloc)
		return real.calloc(count, size);
	/* It is zero-initialized and never reused. */
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : first_alloc(bytes);
}

static void *begin_realloc(void *p, size_t size)
{
	preload_find_malloc();
	return finding || real.realloc == begin_realloc ? first_alloc(size) : real.realloc(p, size);
}

static void begin_free(void *p)
{
	preload_find_malloc();
	if (!finding && real.free != begin_free)
		real.free(p);
}

/* ------------------------------------------------------------------ counting */

/* True for nearly all. An allocation without end counts as one of half of all memory. */
static inline bool passes(size_t size)
{
	alloc_left -= (s64)(size & PTRDIFF_MAX);
	return likely(alloc_left > 0);
}

static inline void forget(void *p)
{
	struct live_table *t = live_table;

	if (t && live_maybe(t, (u64)(uintptr_t)p))
		live_remove((u64)(uintptr_t)p);
}

static NOINLINE void *slow_malloc(size_t size)
{
	struct alloc_caller caller = ALLOC_CALLER;
	void *p = real.malloc(size);
	int saved = errno;

	alloc_reached(p, size, &caller);
	errno = saved;
	return p;
}

PUBLIC void *INTERPOSED(malloc)(size_t size)
{
	return passes(size) ? real.malloc(size) : slow_malloc(size);
}

static NOINLINE void *slow_calloc(size_t count, size_t size)
{
	struct alloc_caller caller = ALLOC_CALLER;
	void *p = real.calloc(count, size);
	int saved = errno;

	alloc_reached(p, count * size, &caller);
	errno = saved;
	return p;
}

PUBLIC void *INTERPOSED(calloc)(size_t count, size_t size)
{
	return passes(count * size) ? real.calloc(count, size) : slow_calloc(count, size);
}

PUBLIC void INTERPOSED(free)(void *p)
{
	if (__builtin_expect(is_first(p), 0))
		return;
	forget(p);
	real.free(p);
}

static NOINLINE void *move_first(const void *p, size_t size)
{
	size_t had = *(const size_t *)((const char *)p - 16);
	void *to = real.malloc(size);

	if (to)
		memcpy(to, p, had < size ? had : size);
	return to;
}

static NOINLINE void *slow_realloc(void *p, size_t size)
{
	struct alloc_caller caller = ALLOC_CALLER;
	void *to = real.realloc(p, size);
	int saved = errno;

	alloc_reached(to, size, &caller);
	errno = saved;
	return to;
}

/* A moved or resized block is a new object; the old one is removed before its address can be
 * reused. */
PUBLIC void *INTERPOSED(realloc)(void *p, size_t size)
{
	if (__builtin_expect(is_first(p), 0))
		return move_first(p, size);
	forget(p);
	return passes(size) ? real.realloc(p, size) : slow_realloc(p, size);
}

PUBLIC void *INTERPOSED(reallocarray)(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

/* ------------------------------------------------------------------ aligned ones */

static NOINLINE void sample_aligned(void *p, size_t size, const struct alloc_caller *caller)
{
	int saved = errno;

	alloc_reached(p, size, caller);
	errno = saved;
}

#define COUNT_ALIGNED(p, size)                              \
	do {                                                \
		struct alloc_caller caller_ = ALLOC_CALLER; \
		if (!passes(size))                          \
			sample_aligned(p, size, &caller_);  \
	} while (0)

static bool found(bool there)
{
	if (!there)
		preload_find_malloc();
	return true;
}

PUBLIC void *INTERPOSED(memalign)(size_t alignment, size_t size)
{
	void *p = found(real.memalign) && real.memalign ? real.memalign(alignment, size) : NULL;

	COUNT_ALIGNED(p, size);
	return p;
}

PUBLIC void *INTERPOSED(aligned_alloc)(size_t alignment, size_t size)
{
	void *p = found(real.aligned_alloc) && real.aligned_alloc
			  ? real.aligned_alloc(alignment, size)
			  : NULL;

	COUNT_ALIGNED(p, size);
	return p;
}

PUBLIC int INTERPOSED(posix_memalign)(void **ret, size_t alignment, size_t size)
{
	int failed = found(real.posix_memalign) && real.posix_memalign
			     ? real.posix_memalign(ret, alignment, size)
			     : ENOMEM;

	COUNT_ALIGNED(failed ? NULL : *ret, size);
	return failed;
}

PUBLIC void *INTERPOSED(valloc)(size_t size)
{
	void *p = found(real.valloc) && real.valloc ? real.valloc(size) : NULL;

	COUNT_ALIGNED(p, size);
	return p;
}

PUBLIC void *INTERPOSED(pvalloc)(size_t size)
{
	void *p = found(real.pvalloc) && real.pvalloc ? real.pvalloc(size) : NULL;

	COUNT_ALIGNED(p, size);
	return p;
}
