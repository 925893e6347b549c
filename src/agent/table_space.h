/*
 * Allocates memory in the segments that the BPF programs search (unwind_format.h), in units of 8
 * bytes, never across segments. Freed memory is reused only after two calls of table_space_settle,
 * because a BPF program may still be reading it.
 */
#pragma once

#include "base/vec.h"
#include "unwind/unwind.h"

struct space_range {
	u32 unit, units;
};

struct table_space {
	u8 *memory;
	u32 segments;  /* at most */
	u64 here;      /* a bit for each that exists */
	void *context; /* for `grow` and `shrink`; without them all segments exist */
	enum err (*grow)(void *context, u32 segment);
	void (*shrink)(void *context, u32 segment);
	VEC(struct space_range) free, retired, retiring;
	u64 used_bytes;
	u32 placed; /* number of tables */
};

#define TABLE_SEGMENTS_MAX 64u

enum err table_space_init(struct table_space *s, u8 *memory, u32 segments) MUST_CHECK;
/* Segments are created on demand, and removed when much of another one is free, too. */
void table_space_grows(struct table_space *s, void *context,
		       enum err (*grow)(void *context, u32 segment),
		       void (*shrink)(void *context, u32 segment));
void table_space_release(struct table_space *s);
/* ERR_NO_SPACE if there is no contiguous space. */
enum err table_space_take(struct table_space *s, size_t bytes, struct space_range *ret) MUST_CHECK;
void table_space_give(struct table_space *s, struct space_range range);
/* Call once per turn. */
void table_space_settle(struct table_space *s);

static inline void *table_space_at(const struct table_space *s, u32 unit)
{
	return s->memory + (size_t)unit * UNWIND_UNIT;
}

/* A placed table. */
struct placed_table {
	struct space_range pages;
	VEC(struct space_range) runs;
	u32 page_count;
	u32 number; /* the space was never used before */
};

/* ERR_NO_SPACE changes nothing. */
enum err table_space_place(struct table_space *s, const struct unwind_table *table,
			   struct placed_table *ret) MUST_CHECK;
void table_space_remove(struct table_space *s, struct placed_table *t);
/* The rule for an address of a module, searched as the BPF programs do. */
u32 table_space_rule(const struct table_space *s, u32 pages, u32 page_count, u64 address);
