/*
 * Private to src/store: which stacks of a partition contain a function, or begin at the root with a
 * path of functions. Evaluated once per stack.
 */
#pragma once

#include "store/question.h"

struct call_site {
	const struct str *path; /* root first */
	size_t path_count;
	struct str function; /* empty = any */
	bool self;	     /* the function must be the leaf */
	const struct late_frame *late;
	size_t late_count;
	VEC(uint32_t) late_of; /* by frame of the current partition: index in `late` + 1 */
	VEC(uint8_t) takes;    /* by stack of the current partition */
};

void call_site_release(struct call_site *c);
static inline bool call_site_is_all(const struct call_site *c)
{
	return !c->path_count && !c->function.n;
}
/* Drops the data of the current partition. */
void call_site_begin(struct call_site *c);
/* Evaluates all stacks below `count`; takes the lock if there are new ones. */
enum err call_site_look(struct call_site *c, struct question *q, uint32_t count) MUST_CHECK;
