/*
 * Private to src/store: which stacks of a partition contain a function, or begin at the root with a
 * path of functions. Looked at once per stack.
 */
#pragma once

#include "store/question.h"

struct call_site {
	const struct str *path; /* root first */
	size_t path_count;
	struct str function; /* empty = any */
	bool self;	     /* the function itself is on top */
	const struct late_frame *late;
	size_t late_count;
	VEC(uint32_t) late_of; /* by frame of the partition at hand: number in `late` + 1 */
	VEC(uint8_t) takes;    /* by stack of it */
};

void call_site_release(struct call_site *c);
static inline bool call_site_is_all(const struct call_site *c)
{
	return !c->path_count && !c->function.n;
}
/* Forgets what belongs to a partition. */
void call_site_begin(struct call_site *c);
/* Looks at all stacks below `count`; takes the lock when there are new ones. */
enum err call_site_look(struct call_site *c, struct question *q, uint32_t count) MUST_CHECK;
