/*
 * Filters rows and frames by pprof's rules. A pattern is matched once per distinct string, a frame
 * is evaluated once, a stack is rewritten once.
 */
#include "base/buf.h"
#include "model/ops.h"
#include "model/pattern.h"
#include "model/stack_rewrite.h"

enum { FOCUS, IGNORE, HIDE, SHOW, SHOW_FROM, PATTERN_COUNT };

#define FRAME_JUDGED (1 << 7)
#define MAX_TAG_TEXT (1 << 20)

struct filtering {
	struct dict *dict;
	const struct profile *profile;
	const struct filter *filter;
	const struct pattern *patterns[PATTERN_COUNT];
	/* Two bits per pattern: tried, matched. */
	uint16_t *strings;
	/* FRAME_JUDGED and a bit per pattern that matches the frame. Frames beyond are new. */
	uint8_t *frames;
	uint8_t *label_sets; /* 0 = not tried, 1 = no, 2 = yes */
	struct buf text;
};

static enum err try_string(struct filtering *f, int which, uint32_t string, bool *ret)
{
	uint16_t tried = (uint16_t)(1 << which * 2), matched = (uint16_t)(2 << which * 2);

	if (!(f->strings[string] & tried)) {
		bool match;

		TRY(pattern_match(f->patterns[which], dict_str(f->dict, string), &match));
		f->strings[string] |= tried | (match ? matched : 0);
	}
	*ret = f->strings[string] & matched;
	return ERR_OK;
}

/* A function's name and file count when there is a function, a module's file when there is one. */
static enum err judge_frame(struct filtering *f, uint32_t id, uint8_t *ret)
{
	const struct frame *frame = &f->dict->frames.v[id];
	const struct function *function = &f->dict->functions.v[frame->function];
	uint32_t name = function->name ? function->name : function->system_name;

	*ret = FRAME_JUDGED;
	for (int which = 0; which < PATTERN_COUNT; which++) {
		bool match = false;

		if (!f->patterns[which])
			continue;
		if (frame->function)
			TRY(try_string(f, which, name, &match));
		if (!match && frame->function)
			TRY(try_string(f, which, function->file, &match));
		if (!match && frame->mapping)
			TRY(try_string(f, which, f->dict->mappings.v[frame->mapping].file, &match));
		*ret |= match ? 1 << which : 0;
	}
	return ERR_OK;
}

static enum err frame_matches(struct filtering *f, uint32_t frame, uint8_t *ret)
{
	if (!f->frames[frame])
		TRY(judge_frame(f, frame, &f->frames[frame]));
	*ret = f->frames[frame];
	return ERR_OK;
}

/* Focus and ignore look at the whole stack; hide and show at each frame. */
static enum err mask_by_name(struct filtering *f, struct stack_mask *mask)
{
	bool focused = !f->patterns[FOCUS] && mask->n, ignored = false, any = false;

	for (uint32_t i = 0; i < mask->n; i++) {
		const struct frame *frame = &f->dict->frames.v[mask->frames[i]];
		uint8_t match;

		TRY(frame_matches(f, mask->frames[i], &match));
		focused |= match >> FOCUS & 1;
		ignored |= match >> IGNORE & 1;
		if (match >> HIDE & 1)
			mask->keep[i] = 0;
		/* A line that names no function is shown: pprof has nothing to try. */
		if (f->patterns[SHOW] && !(match >> SHOW & 1) &&
		    !(frame->flags & FRAME_HAS_LINE && !frame->function))
			mask->keep[i] = 0;
		any |= mask->keep[i];
	}
	mask->drop = !focused || ignored || !any;
	return ERR_OK;
}

/* In a location that matches, the lines around the outermost match go. When the module is what
 * matches, that is the outermost line. */
static void trim_location(struct filtering *f, struct stack_mask *mask, uint32_t start,
			  uint32_t end, bool *ret_match)
{
	uint32_t last = end;

	*ret_match = false;
	for (uint32_t i = start; i < end; i++) {
		if (mask->keep[i] && f->frames[mask->frames[i]] >> SHOW_FROM & 1) {
			*ret_match = true;
			last = i;
		}
	}
	for (uint32_t i = last + 1; i < end; i++)
		mask->keep[i] = 0;
}

static enum err mask_from(struct filtering *f, struct stack_mask *mask)
{
	uint32_t shown = 0;

	for (uint32_t start = 0; start < mask->n;) {
		uint32_t end = location_end(f->dict, mask->frames, mask->n, start);
		bool match;

		trim_location(f, mask, start, end, &match);
		if (match)
			shown = end;
		start = end;
	}
	if (!shown)
		mask->drop = true;
	else
		memset(mask->keep + shown, 0, mask->n - shown);
	return ERR_OK;
}

static enum err mask_stack(void *context, struct stack_mask *mask)
{
	struct filtering *f = context;
	const struct filter *want = f->filter;

	if (want->focus || want->ignore || want->hide || want->show)
		TRY(mask_by_name(f, mask));
	else if (want->show_from)
		for (uint32_t i = 0; i < mask->n; i++) {
			uint8_t match;

			TRY(frame_matches(f, mask->frames[i], &match));
		}
	if (want->show_from && !mask->drop)
		TRY(mask_from(f, mask));
	return ERR_OK;
}

static enum err value_matches(struct filtering *f, const struct label *l,
			      const struct tag_filter *tag, bool *ret)
{
	*ret = tag->is_range ? tag_range_matches(tag, f->dict, l) : !tag->value;
	if (*ret || !tag->value)
		return ERR_OK;
	buf_clear(&f->text);
	label_value(f->dict, l, &f->text);
	TRY(buf_error(&f->text));
	return pattern_match(tag->value, buf_view(&f->text), ret);
}

/* Any value of the key will do. */
static enum err set_matches(struct filtering *f, uint32_t set, const struct tag_filter *tag,
			    bool *ret_has_key, bool *ret)
{
	uint32_t n;
	const uint32_t *items = label_set_items(f->dict, set, &n);

	*ret = *ret_has_key = false;
	for (uint32_t i = 0; i < n && !*ret; i++) {
		const struct label *l = &f->dict->labels.v[items[i]];

		if (!str_eq(dict_str(f->dict, l->key), tag->key))
			continue;
		*ret_has_key = true;
		TRY(value_matches(f, l, tag, ret));
	}
	return ERR_OK;
}

/* A key the row does not have is looked for in what the whole profile says of itself. */
static enum err tag_holds(struct filtering *f, uint32_t labels, const struct tag_filter *tag,
			  bool *ret)
{
	const uint32_t sets[] = {labels, f->profile->resource, f->profile->attributes};
	bool has_key = false;

	*ret = false;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]) && !has_key; i++)
		TRY(set_matches(f, sets[i], tag, &has_key, ret));
	*ret = *ret != tag->negate;
	return ERR_OK;
}

static enum err row_has_tags(void *context, uint32_t labels, bool *ret)
{
	struct filtering *f = context;

	*ret = true;
	if (!f->filter->tag_count)
		return ERR_OK;
	if (!f->label_sets[labels]) {
		for (uint32_t i = 0; *ret && i < f->filter->tag_count; i++)
			TRY(tag_holds(f, labels, &f->filter->tags[i], ret));
		f->label_sets[labels] = *ret ? 2 : 1;
	}
	*ret = f->label_sets[labels] == 2;
	return ERR_OK;
}

static double column_sum(const struct profile *p, uint32_t type)
{
	double sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		sum += (double)profile_values(p, i)[type];
	return sum;
}

static void fill_result(const struct profile *src, const struct profile *dst,
			struct filter_result *ret)
{
	*ret = (struct filter_result){.rows_in = src->row_count, .rows_out = dst->row_count};
	for (uint32_t t = 0; t < src->type_count; t++) {
		double total = column_sum(src, t);

		ret->kept[t] = total ? column_sum(dst, t) / total : 1;
	}
}

static enum err filter_fault(enum err e, struct fault *fault)
{
	if (e == ERR_TOO_LARGE)
		return fault_set(fault, e, "a pattern takes too long to match; make it simpler");
	return e;
}

enum err profile_filter(const struct profile *src, const struct filter *f, struct profile *dst,
			struct filter_result *ret, struct fault *fault)
{
	const struct dict *d = src->dict;
	struct filtering state = {
		.dict = src->dict,
		.profile = src,
		.filter = f,
		.patterns = {f->focus, f->ignore, f->hide, f->show, f->show_from},
		.strings = mem_zalloc(d->strings.n, sizeof(*state.strings)),
		.frames = mem_zalloc(d->frames.n, sizeof(*state.frames)),
		.label_sets = mem_zalloc(d->label_sets.entries.n, sizeof(*state.label_sets)),
		.text = BUF_INIT(MAX_TAG_TEXT),
	};
	enum err e = ERR_NO_MEMORY;

	if (state.strings && state.frames && state.label_sets)
		e = profile_rewrite(src, mask_stack, row_has_tags, &state, dst);
	if (!e && ret)
		fill_result(src, dst, ret);
	mem_free(state.strings);
	mem_free(state.frames);
	mem_free(state.label_sets);
	buf_release(&state.text);
	return filter_fault(e, fault);
}
