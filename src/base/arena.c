#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#define REDZONE	       16
#else
#define POISON(p, n)   ((void)(p))
#define UNPOISON(p, n) ((void)(p))
#define REDZONE	       0
#endif

/* New blocks double the arena, between these sizes: most arenas stay small, and a large first block
 * would cost more than its contents. */
#define ARENA_LEAST 960
#define ARENA_MOST  (64 * 1024 - 64)

struct arena_block {
	struct arena_block *previous;
	size_t used, cap;
	char data[] __attribute__((aligned(16)));
};

void arena_init(struct arena *a, size_t ceiling)
{
	*a = (struct arena){.ceiling = ceiling};
}

void arena_release(struct arena *a)
{
	struct arena_block *block, *previous;

	if (!a)
		return;
	for (block = a->last; block; block = previous) {
		previous = block->previous;
		UNPOISON(block->data, block->cap);
		mem_free(block);
	}
	a->last = NULL;
	a->used = 0;
}

static size_t next_block(const struct arena *a)
{
	if (a->block)
		return a->block;
	if (a->used < ARENA_LEAST)
		return ARENA_LEAST;
	return a->used < ARENA_MOST ? a->used & ~(size_t)15 : ARENA_MOST;
}

static struct arena_block *block_new(struct arena *a, size_t size)
{
	size_t usual = next_block(a);
	size_t cap = size > usual ? size : usual, bytes;
	struct arena_block *block = NULL;

	if (!__builtin_add_overflow(sizeof(*block), cap, &bytes))
		block = mem_alloc(bytes);
	if (!block)
		return NULL;
	block->used = 0;
	block->cap = cap;
	POISON(block->data, cap);
	if (a->last && size > usual) {
		/* A large piece goes behind the current block, whose rest stays in use. */
		block->previous = a->last->previous;
		a->last->previous = block;
	} else {
		block->previous = a->last;
		a->last = block;
	}
	return block;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *block = a->last;
	size_t room;
	void *p;

	if (__builtin_add_overflow(size, 15 + REDZONE, &room) ||
	    (a->ceiling && (size > a->ceiling || a->used > a->ceiling - size)))
		return NULL;
	room &= ~(size_t)15;
	if (!block || block->cap - block->used < room) {
		block = block_new(a, room);
		if (!block)
			return NULL;
	}
	p = block->data + block->used;
	block->used += room;
	/* Padding counts, or many small pieces would take sixteen times the ceiling. */
	a->used += room - REDZONE;
	UNPOISON(p, size);
	return p;
}

void *arena_zalloc(struct arena *a, size_t count, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	p = arena_alloc(a, bytes);
	if (p)
		memset(p, 0, bytes);
	return p;
}

char *arena_copy(struct arena *a, struct str s)
{
	char *p = arena_alloc(a, s.n + 1);

	if (!p)
		return NULL;
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args, again;
	int n;
	char *p = NULL;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n >= 0)
		p = arena_alloc(a, (size_t)n + 1);
	if (p)
		vsnprintf(p, (size_t)n + 1, format, again);
	va_end(again);
	va_end(args);
	return p;
}
