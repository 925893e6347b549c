/*
 * /api/v1/diff: what changed between two selections, by function, and whether that is more than
 * sampling noise.
 */
#include "server/amounts.h"
#include "server/api_vft.h"
#include "server/completeness_ask.h"

#define DEFAULT_ROWS 50
#define MAX_ROWS     100000

static const char *const verdicts[] = {"noise", "more", "less", "added", "removed", "unknown"};

/* Values as measured, and over the time that was covered. */
static void put_pair(struct jsonout *o, const char *key, const int64_t values[2], double change,
		     const struct rate_change *whole)
{
	struct amount sides[2] = {whole->before, whole->after};

	jsonout_put_object(o, key);
	jsonout_put_i64(o, "before", values[0]);
	jsonout_put_i64(o, "after", values[1]);
	diff_put_difference(o, values, change);
	for (int i = 0; i < 2; i++) {
		amount_set(&sides[i], values[i]);
		jsonout_put_double(o, i ? "rate_after" : "rate_before", amount_rate(&sides[i]));
	}
	jsonout_end_object(o);
}

static void put_row(struct jsonout *o, const struct dict *d, const struct diff_row *row,
		    const struct rate_change *whole, struct buf *name)
{
	buf_clear(name);
	frame_label(d, row->frame, name);
	jsonout_object(o);
	jsonout_put_str(o, "name", buf_view(name));
	jsonout_put_str(o, "file", frame_file(d, row->frame));
	put_pair(o, "flat", row->flat, row->flat_change, whole);
	put_pair(o, "cum", row->cum, row->cum_change, whole);
	jsonout_put_double(o, "share_change", row->share_change / 100);
	jsonout_put_double(o, "share_error", row->error / 100);
	jsonout_put_double(o, "p_value", row->p_value);
	jsonout_put_text(o, "verdict", verdicts[row->verdict]);
	jsonout_end_object(o);
}

/* Notes about the verdicts. */
static void put_note(const struct inquiry *q, const struct diff *diff, struct jsonout *o)
{
	const char *doubt = diff_doubt(diff);
	struct str unit = dict_str(q->profile.dict, q->profile.types[0].unit);

	if (doubt)
		jsonout_text(o, doubt);
	else if (diff->n && str_eq(unit, STR("bytes")))
		jsonout_text(o, DIFF_HEAP_ASSUMPTION);
	else
		jsonout_null(o);
}

static void put_numbers(const struct inquiry *q, const struct diff *diff,
			const struct rate_change *change, struct jsonout *o)
{
	change_put(o, change);
	jsonout_put_array(o, "totals");
	jsonout_i64(o, diff->totals[0]);
	jsonout_i64(o, diff->totals[1]);
	jsonout_end_array(o);
	jsonout_put_array(o, "samples");
	jsonout_double(o, diff->samples[0]);
	jsonout_double(o, diff->samples[1]);
	jsonout_end_array(o);
	jsonout_key(o, STR("note"));
	put_note(q, diff, o);
	jsonout_put_double(o, "scale", diff->scale);
}

/* Completeness of both sides. */
struct sides {
	struct completeness c[2];
	struct stack_quality quality[2];
};

static enum err ask_side(struct inquiry *q, struct sides *s, unsigned side)
{
	TRY(inquiry_completeness(q, &s->c[side]));
	return profile_quality(&q->profile, 0, &s->quality[side]);
}

static enum err put_diff(const struct inquiry *q, const struct diff *diff,
			 const struct rate_change *change, const struct sides *s, uint32_t rows,
			 struct jsonout *o)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT((size_t)1 << 22);

	jsonout_object(o);
	api_head(q, o, "vestal.diff/1");
	put_numbers(q, diff, change, o);
	jsonout_put_u64(o, "row_count", diff->n);
	jsonout_put_array(o, "rows");
	for (size_t i = 0; i < diff->n && i < rows; i++)
		put_row(o, q->profile.dict, &diff->rows[i], change, &name);
	jsonout_end_array(o);
	completeness_put_sides(o, s->c, s->quality);
	jsonout_end_object(o);
	return buf_error(&name);
}

/* Compares the sides after scaling, unless disabled. */
static struct diff_options options_of(struct request *r)
{
	return (struct diff_options){.normalise = !str_eq(parameter(r, "normalise"), STR("false")),
				     .design_effect = 1};
}

/* `moved` is the comparison over the baseline's dictionary. */
static enum err write_json(struct inquiry *before, struct inquiry *after,
			   const struct profile *moved, struct buf *out)
{
	struct request *r = before->request;
	struct jsonout o = jsonout_of(out, parameter_flag(r, "pretty"));
	struct diff_options options = options_of(r);
	struct rate_change change;
	struct sides sides;
	struct diff diff;
	uint32_t rows;
	enum err error;

	TRY(ask_side(before, &sides, 0));
	TRY(ask_side(after, &sides, 1));
	TRY(parameter_count(r, "limit", DEFAULT_ROWS, 1, MAX_ROWS, &rows, before->fault));
	TRY(diff_build(&before->profile, moved, &options, &diff));
	diff_sort(&diff, &before->dict, false);
	error = api_change(before, after, &diff, &change);
	if (error == ERR_OK)
		error = put_diff(before, &diff, &change, &sides, rows, &o);
	diff_release(&diff);
	return error;
}

/* ------------------------------------------------------------------ as VFT */

struct about {
	const struct inquiry *before;
	const struct vft_answer *answer;
	const struct diff *diff;
	struct rate_change change;
};

static void describe(const void *context, struct jsonout *o)
{
	const struct about *a = context;

	put_numbers(a->before, a->diff, &a->change, o);
	if (a->answer->describe)
		a->answer->describe(a->answer->context, o);
}

/* Files have no time series: use the number of samples. */
static enum err find_change(struct inquiry *before, struct inquiry *after,
			    const struct vft_answer *a, const struct diff *diff,
			    struct rate_change *ret)
{
	struct change_side was = {.amount = api_amount(before, diff->totals[0]),
				  .samples = diff->samples[0]};
	struct change_side is = {.samples = diff->samples[1]};

	if (after)
		return api_change(before, after, diff, ret);
	is.amount = profile_amount(a->profile, (uint32_t)a->type);
	*ret = change_by_samples(&was, &is);
	return ERR_OK;
}

enum err diff_write(struct inquiry *before, struct inquiry *after, struct vft_answer *a,
		    struct buf *out)
{
	struct diff_options options = options_of(before->request);
	struct vft_answer with = *a;
	struct diff diff;
	struct about about = {.before = before, .answer = a, .diff = &diff};
	enum err error;

	options.type[1] = a->type;
	error = diff_build(&before->profile, a->profile, &options, &diff);
	if (error != ERR_OK) {
		notes_release(&a->notes);
		return error;
	}
	error = find_change(before, after, a, &diff, &about.change);
	if (error != ERR_OK) {
		notes_release(&a->notes);
		diff_release(&diff);
		return error;
	}
	with.diff = &diff;
	with.describe = describe;
	with.context = &about;
	error = vft_write(before, &with, out);
	diff_release(&diff);
	return error;
}

struct other_side {
	const struct inquiry *q;
	struct completeness c;
	struct stack_quality quality;
};

/* Describes the other side. */
static void describe_comparison(const void *context, struct jsonout *o)
{
	const struct other_side *side = context;
	const struct inquiry *after = side->q;

	jsonout_put_object(o, "comparison");
	jsonout_put_i64(o, "from_ns", after->selection.from_ns);
	jsonout_put_i64(o, "until_ns", after->selection.until_ns);
	jsonout_key(o, STR("completeness"));
	completeness_json(o, &side->c, &side->quality);
	api_cost(after, o);
	jsonout_end_object(o);
}

static enum err write_vft(struct inquiry *before, struct inquiry *after,
			  const struct profile *moved, struct buf *out)
{
	struct request *r = before->request;
	struct other_side side = {.q = after};
	struct vft_answer a = {.profile = moved,
			       .baseline = &before->profile,
			       .title = parameter(r, "comparison"),
			       .baseline_title = parameter(r, "baseline"),
			       .describe = describe_comparison,
			       .context = &side};

	TRY(inquiry_completeness(after, &side.c));
	TRY(profile_quality(&after->profile, 0, &side.quality));
	return diff_write(before, after, &a, out);
}

/* ------------------------------------------------------------------ both sides */

static enum err compare(struct inquiry *before, struct inquiry *after, bool vft, struct buf *out)
{
	struct profile moved;
	enum err error;

	TRY(api_merge(before));
	TRY(api_merge(after));
	TRY(profile_move(&after->profile, &before->dict, &moved));
	error = vft ? write_vft(before, after, &moved, out)
		    : write_json(before, after, &moved, out);
	profile_release(&moved);
	return error;
}

static enum err ask_both(struct inquiry *before, bool vft, struct buf *out)
{
	struct inquiry after;
	enum err error;

	TRY(api_select_side(before, "baseline", "baseline_from", "baseline_until",
			    parameter(before->request, "type")));
	TRY(inquiry_need_type(before));
	inquiry_init(&after, before->request, before->fault);
	error = api_select_side(&after, "comparison", "comparison_from", "comparison_until",
				before->selection.type);
	if (error == ERR_OK)
		error = compare(before, &after, vft, out);
	inquiry_release(&after);
	return error;
}

static enum err answer_json(struct inquiry *before, struct jsonout *o)
{
	return ask_both(before, false, o->b);
}

static enum err answer_vft(struct inquiry *before, struct buf *out)
{
	return ask_both(before, true, out);
}

void api_diff(struct request *r)
{
	struct fault fault = {0};
	bool vft;
	enum err error = vft_wanted(r, &vft, &fault);

	if (error != ERR_OK)
		request_fail(r, error, &fault);
	else if (vft)
		vft_reply(r, answer_vft);
	else
		api_answer(r, answer_json);
}
