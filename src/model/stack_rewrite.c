#include "model/stack_rewrite.h"

#include "model/rows.h"

#define STACK_UNKNOWN UINT32_MAX
#define STACK_DROPPED (UINT32_MAX - 1)

struct rewriter {
	struct dict *dict;
	uint32_t *answers; /* per stack */
	VEC(uint32_t) frames, kept;
	VEC(uint8_t) keep;
	stack_mask_fn fn;
	void *context;
};

/* The frame as the outermost of its location. */
static enum err not_inlined(struct dict *d, uint32_t *frame)
{
	struct frame f = d->frames.v[*frame];

	if (!(f.flags & FRAME_INLINED))
		return ERR_OK;
	f.flags &= ~(uint32_t)FRAME_INLINED;
	return dict_frame(d, &f, frame);
}

static enum err collect_kept(struct rewriter *w, const struct stack_mask *mask)
{
	w->kept.n = 0;
	for (uint32_t start = 0; start < mask->n;) {
		uint32_t end = location_end(w->dict, mask->frames, mask->n, start);
		size_t before = w->kept.n;

		for (uint32_t i = start; i < end; i++)
			if (mask->keep[i])
				TRY(vec_push(&w->kept, mask->frames[i]));
		if (w->kept.n > before && !mask->keep[end - 1])
			TRY(not_inlined(w->dict, &w->kept.v[w->kept.n - 1]));
		start = end;
	}
	return ERR_OK;
}

static enum err rewrite_stack(struct rewriter *w, uint32_t stack, uint32_t *ret)
{
	struct stack_mask mask = {0};
	const uint32_t *frames = stack_frames(w->dict, stack, &mask.n);

	/* Copied: interning the answer may move the pool they stand in. */
	w->frames.n = w->keep.n = 0;
	TRY(vec_append(&w->frames, frames, mask.n));
	TRY(vec_reserve(&w->keep, mask.n));
	if (mask.n)
		memset(w->keep.v, 1, mask.n);
	mask.frames = w->frames.v;
	mask.keep = w->keep.v;
	TRY(w->fn(w->context, &mask));
	*ret = STACK_DROPPED;
	if (mask.drop)
		return ERR_OK;
	if (!mask.n || !memchr(mask.keep, 0, mask.n)) {
		*ret = stack;
		return ERR_OK;
	}
	TRY(collect_kept(w, &mask));
	return dict_stack(w->dict, w->kept.v, (uint32_t)w->kept.n, ret);
}

static enum err rewrite_rows(struct rewriter *w, const struct profile *src, row_filter_fn keep_row,
			     struct profile *dst)
{
	for (size_t i = 0; i < src->row_count; i++) {
		struct row row = profile_row(src, i);
		uint32_t *answer = &w->answers[row.stack];
		bool keep = true;

		if (keep_row)
			TRY(keep_row(w->context, row.labels, &keep));
		if (!keep)
			continue;
		if (*answer == STACK_UNKNOWN)
			TRY(rewrite_stack(w, row.stack, answer));
		if (*answer == STACK_DROPPED)
			continue;
		row.stack = *answer;
		TRY(profile_add(dst, &row, profile_values(src, i)));
	}
	return ERR_OK;
}

enum err profile_rewrite(const struct profile *src, stack_mask_fn fn, row_filter_fn keep_row,
			 void *context, struct profile *dst)
{
	size_t bytes = src->dict->stacks.entries.n * sizeof(uint32_t);
	struct rewriter w = {.dict = src->dict, .fn = fn, .context = context};
	struct profile result;
	enum err e = ERR_NO_MEMORY;

	profile_init(&result, src->dict);
	w.answers = mem_alloc(bytes);
	if (w.answers) {
		memset(w.answers, 0xff, bytes);
		e = profile_copy_head(src, &result);
	}
	if (!e)
		e = rewrite_rows(&w, src, keep_row, &result);
	mem_free(w.answers);
	vec_release(&w.frames);
	vec_release(&w.kept);
	vec_release(&w.keep);
	if (e)
		profile_release(&result);
	else
		*dst = result;
	return e;
}
