/*
 * Memory in the segments that the kernel side searches (unwind_format.h), given out in units of 8
 * bytes, never across the border of two segments. What is given back is used again only after
 * table_space_settle was called twice: a program in the kernel may still be reading it.
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
	u64 here;      /* of them, a bit each: memory is there */
	void *context; /* of `grow` and `shrink`; without them all are there */
	enum err (*grow)(void *context, u32 segment);
	void (*shrink)(void *context, u32 segment);
	VEC(struct space_range) free, retired, retiring;
	u64 used_bytes;
	u32 placed; /* tables, so far */
};

#define TABLE_SEGMENTS_MAX 64u

enum err table_space_init(struct table_space *s, u8 *memory, u32 segments) MUST_CHECK;
/* Segments come when they are needed and go when a good part of another one is free, too. */
void table_space_grows(struct table_space *s, void *context,
		       enum err (*grow)(void *context, u32 segment),
		       void (*shrink)(void *context, u32 segment));
void table_space_release(struct table_space *s);
/* ERR_NO_SPACE when there is none in one piece. */
enum err table_space_take(struct table_space *s, size_t bytes, struct space_range *ret) MUST_CHECK;
void table_space_give(struct table_space *s, struct space_range range);
/* Called once a turn. */
void table_space_settle(struct table_space *s);

static inline void *table_space_at(const struct table_space *s, u32 unit)
{
	return s->memory + (size_t)unit * UNWIND_UNIT;
}

/* A table at its place. */
struct placed_table {
	struct space_range pages;
	VEC(struct space_range) runs;
	u32 page_count;
	u32 number; /* no other table ever had it */
};

/* ERR_NO_SPACE leaves nothing behind. */
enum err table_space_place(struct table_space *s, const struct unwind_table *table,
			   struct placed_table *ret) MUST_CHECK;
void table_space_remove(struct table_space *s, struct placed_table *t);
/* The rule for an address of a module, found as the kernel side finds it. */
u32 table_space_rule(const struct table_space *s, u32 pages, u32 page_count, u64 address);
