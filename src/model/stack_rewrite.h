/*
 * Private to src/model: taking frames out of stacks, once per distinct stack.
 *
 * A location of the program is a frame with the frames inlined into it: they come before it and
 * have FRAME_INLINED. If the outermost frame of a location is removed, the next one takes its
 * place.
 */
#pragma once

#include "model/profile.h"

struct stack_mask {
	const uint32_t *frames; /* leaf first */
	uint32_t n;
	uint8_t *keep; /* one per frame, all 1 at first */
	bool drop;     /* the whole stack, with its rows */
};

typedef enum err (*stack_mask_fn)(void *context, struct stack_mask *mask);

/* Copies rows of src with the stacks changed by `fn`, without those that `keep_row` rejects. */
typedef enum err (*row_filter_fn)(void *context, uint32_t labels, bool *ret_keep);
enum err profile_rewrite(const struct profile *src, stack_mask_fn fn, row_filter_fn keep_row,
			 void *context, struct profile *dst) MUST_CHECK;

/* The end (exclusive) of the location that begins at `start`. */
static inline uint32_t location_end(const struct dict *d, const uint32_t *frames, uint32_t n,
				    uint32_t start)
{
	while (start < n - 1 && d->frames.v[frames[start]].flags & FRAME_INLINED)
		start++;
	return start + 1;
}
