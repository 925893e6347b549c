/* What the parts of the pprof writer share: strings and ids get dense numbers at their first use.
 */
#pragma once

#include "format/formats_internal.h"
#include "format/pprof.h"

/* Dense numbers for dictionary ids, given in order of first use. */
struct renumber {
	uint32_t *number; /* by dictionary id; 0 = not used yet */
	VEC(uint32_t) order;
};

struct pprof_encoder {
	const struct profile *p;
	const struct dict *d;
	struct buf *out;
	struct renumber strings, functions, mappings;
	/* Text the dictionary does not have: numbers as text, ids of spans. */
	struct arena arena;
	VEC(struct str) extra;
	struct map extra_index;
	/* Locations: a run of frames that are one place in the program. */
	uint32_t *single;	    /* by frame that is not inlined: its location, 0 = none yet */
	uint32_t *coded;	    /* the same as pb_coded() has it, 0 = not so */
	struct map runs;	    /* longer ones, by hash of their frames */
	VEC(struct span) locations; /* into run_frames */
	VEC(uint32_t) run_frames;
	struct buf scratch;
};

/* 1, 2, 3 …; strings count from 0 because their entry 0 is the empty one. */
static inline enum err renumber_get(struct renumber *r, uint32_t id, uint32_t *ret)
{
	if (!r->number[id]) {
		TRY(vec_push(&r->order, id));
		r->number[id] = (uint32_t)r->order.n;
	}
	*ret = r->number[id];
	return ERR_OK;
}

static inline enum err pprof_string(struct pprof_encoder *e, uint32_t id, uint64_t *ret)
{
	uint32_t number;

	TRY(renumber_get(&e->strings, id, &number));
	*ret = number - 1;
	return ERR_OK;
}

static inline enum err pprof_put_string(struct pprof_encoder *e, uint32_t field, uint32_t string)
{
	uint64_t index;

	if (!string)
		return ERR_OK;
	TRY(pprof_string(e, string, &index));
	pb_put_uint(e->out, field, index);
	return ERR_OK;
}

/* pprof_string for text of our own making; in `order` it counts on behind the dictionary's ids. */
enum err pprof_text(struct pprof_encoder *e, struct str text, uint64_t *ret) MUST_CHECK;
/* One row with its stack, values, labels and link; locations are numbered on the way. */
enum err pprof_put_sample(struct pprof_encoder *e, size_t row) MUST_CHECK;
