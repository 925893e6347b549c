/*
 * Memory for objects freed together: a request, a batch, a file being decoded. Blocks are chained,
 * objects never move, and all memory is released at once. All zero (plus a ceiling) is a valid
 * empty arena. Not thread safe.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct arena_block;

struct arena {
	struct arena_block *last;
	size_t used;	/* bytes handed out, padding included */
	size_t ceiling; /* 0 = none */
	size_t block;	/* bytes per block; 0 = doubles the arena each time */
};

void arena_init(struct arena *a, size_t ceiling);
void arena_release(struct arena *a);
/* Aligned to 16 bytes, not cleared; NULL if out of memory or above the ceiling. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t count, size_t size);
/* A NUL-terminated copy. */
char *arena_copy(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *format, ...) PRINTF_LIKE(2, 3);
