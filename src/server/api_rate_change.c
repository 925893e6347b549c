/*
 * /api/v1/change: compares a selection with another, or with itself at another time. It merges no
 * profiles, so that it is cheap enough for scripts and alerts.
 */
#include "server/amounts.h"
#include "server/completeness_ask.h"

static enum err put_answer(struct inquiry *before, struct inquiry *after, struct jsonout *o)
{
	struct rate_change change;
	struct completeness sides[2];

	TRY(api_change_over_time(before, after, NULL, &change));
	TRY(inquiry_completeness(before, &sides[0]));
	TRY(inquiry_completeness(after, &sides[1]));
	jsonout_object(o);
	api_head(after, o, "vestal.change/1");
	change_put(o, &change);
	completeness_put_sides(o, sides, NULL);
	api_cost(after, o);
	jsonout_end_object(o);
	return ERR_OK;
}

/* The comparison side determines the type of both. */
static enum err answer_change(struct inquiry *after, struct jsonout *o)
{
	struct request *r = after->request;
	struct inquiry before;
	enum err error;

	TRY(api_select_side(after, "comparison", "comparison_from", "comparison_until",
			    parameter(r, "type")));
	TRY(inquiry_need_type(after));
	inquiry_init(&before, r, after->fault);
	error = api_select_side(&before, "baseline", "baseline_from", "baseline_until",
				after->selection.type);
	if (error == ERR_OK)
		error = put_answer(&before, after, o);
	inquiry_release(&before);
	return error;
}

void api_rate_change(struct request *r)
{
	api_answer(r, answer_change);
}
