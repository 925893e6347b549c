/*
 * LLVM's sample profile as text, for `clang -fprofile-sample-use=`:
 *
 *	function:total:head
 *	 offset: samples callee:count …
 *	 offset: inlined:total
 *	  offset: samples
 *
 * A place is a line relative to its function's first line, so a frame is of use only when both are
 * known. The leaf of a stack gives samples; the frames above it say who calls whom, and how often
 * that was seen is what stands behind a callee and as head of the called function. Functions are
 * known by their linkage names (system_name) where the profile has them.
 */
#include "format/autofdo.h"

#include "format/formats_internal.h"

#define MAX_INLINE_DEPTH 64

static int choose_type(const struct profile *p, int asked)
{
	if (asked >= 0 && (uint32_t)asked < p->type_count)
		return asked;
	for (uint32_t i = 0; i < p->type_count; i++)
		if (str_eq(dict_str(p->dict, p->types[i].type), STR("samples")))
			return (int)i;
	return profile_default_type(p);
}

static uint32_t function_name(const struct dict *d, uint32_t frame)
{
	const struct function *f = &d->functions.v[d->frames.v[frame].function];

	return f->system_name ? f->system_name : f->name;
}

static bool is_placed(const struct dict *d, uint32_t frame)
{
	const struct frame *f = &d->frames.v[frame];

	return f->line > 0 && d->functions.v[f->function].start_line > 0 &&
	       function_name(d, frame) != 0;
}

/* As LLVM counts: 16 bits, also when a line stands before its function (macros). */
static uint32_t line_offset(const struct dict *d, uint32_t frame)
{
	const struct frame *f = &d->frames.v[frame];

	return (uint32_t)(f->line - d->functions.v[f->function].start_line) & 0xffff;
}

/* How many frames are one call of the machine: those inlined, and the one they are inlined in. */
static uint32_t run_length(const struct dict *d, const uint32_t *frames, uint32_t n)
{
	uint32_t length = 1;

	while (length < n && d->frames.v[frames[length - 1]].flags & FRAME_INLINED)
		length++;
	return length;
}

/* The node of the innermost function of a run, or FDO_NONE when a frame of it has no place. */
static enum err find_run(struct fdo *f, const uint32_t *frames, uint32_t n, uint32_t *ret)
{
	uint32_t parent = FDO_NONE, offset = 0;

	*ret = FDO_NONE;
	if (n > MAX_INLINE_DEPTH)
		return ERR_OK;
	for (uint32_t i = 0; i < n; i++)
		if (!is_placed(f->dict, frames[i]))
			return ERR_OK;
	for (uint32_t i = n; i-- > 0;) {
		TRY(fdo_node(f, parent, offset, function_name(f->dict, frames[i]), &parent));
		offset = line_offset(f->dict, frames[i]);
	}
	*ret = parent;
	return ERR_OK;
}

static enum err add_stack(struct fdo *f, uint32_t stack, int64_t value)
{
	uint32_t n, node, length, callee = 0;
	const uint32_t *frames = stack_frames(f->dict, stack, &n);

	for (uint32_t at = 0; at < n; at += length) {
		length = run_length(f->dict, frames + at, n - at);
		TRY(find_run(f, frames + at, length, &node));
		if (node == FDO_NONE) {
			f->left_out += length;
		} else {
			uint32_t offset = line_offset(f->dict, frames[at]);

			f->used += length;
			if (at == 0)
				TRY(fdo_add_samples(f, node, offset, value));
			else if (callee)
				TRY(fdo_add_call(f, node, offset, callee, value));
		}
		/* The function the machine calls is the outermost of the run. */
		callee = function_name(f->dict, frames[at + length - 1]);
		if (callee && at + length < n && node != FDO_NONE)
			TRY(fdo_add_head(f, callee, value));
	}
	return ERR_OK;
}

static enum err add_profiles(struct fdo *f, struct writing *in)
{
	for (size_t i = 0; i < in->list->n; i++) {
		const struct profile *p = in->list->v[i];
		int type = choose_type(p, in->type);

		for (size_t row = 0; type >= 0 && row < p->row_count; row++) {
			int64_t value = profile_values(p, row)[type];

			if (value > 0)
				TRY(add_stack(f, p->stack[row], value));
		}
	}
	return ERR_OK;
}

static enum err write_profile(struct fdo *f, struct writing *in, struct buf *out)
{
	TRY(add_profiles(f, in));
	if (!f->used)
		return fault_set(&in->fault, ERR_UNSUPPORTED,
				 "no frame has both a line and its function's first line, which an "
				 "AutoFDO profile is made of");
	if (f->left_out)
		notes_add(&in->notes,
			  "%llu of %llu frames have no line or no first line of their "
			  "function: left out",
			  (unsigned long long)f->left_out,
			  (unsigned long long)(f->left_out + f->used));
	TRY(fdo_print(f, out));
	if (f->renamed)
		notes_add(&in->notes, "names with blanks got '_' instead");
	return buf_error(out);
}

enum err autofdo_write(struct writing *in, struct buf *out)
{
	struct fdo f = {0};
	enum err e;

	if (!in->list->n)
		return ERR_OK;
	f.dict = in->list->v[0]->dict;
	e = write_profile(&f, in, out);
	fdo_release(&f);
	return e;
}
