#include "server/amounts.h"

#include <math.h>

bool type_id_is_gauge(struct str id)
{
	struct type_parts parts = type_split(id);

	return type_is_gauge(parts.sample_type, parts.sample_unit);
}

struct amount api_amount(const struct inquiry *q, int64_t total)
{
	const struct selection *s = &q->selection;
	struct amount a = {.total = (double)total,
			   .whole = total,
			   .covered_ns = q->covered_ns,
			   .range_ns = s->until_ns - s->from_ns,
			   .gauge = type_id_is_gauge(s->type)};

	if (!s->time_count) {
		/* Without coverage the total is unknown, not 0. */
		if (!total && !a.covered_ns)
			a.total = NAN;
		return a;
	}
	a.covered_ns = AMOUNT_UNKNOWN;
	a.range_ns = 0;
	for (size_t i = 0; i < s->time_count; i++)
		a.range_ns += s->times[i].until_ns - s->times[i].from_ns;
	return a;
}

struct amount profile_amount(const struct profile *p, uint32_t type)
{
	struct value_type t = p->types[type];

	int64_t total = profile_total(p, type);

	return (struct amount){.total = (double)total,
			       .whole = total,
			       .covered_ns = p->duration_ns > 0 ? p->duration_ns : AMOUNT_UNKNOWN,
			       .range_ns = p->duration_ns,
			       .gauge = type_is_gauge(dict_str(p->dict, t.type),
						      dict_str(p->dict, t.unit))};
}

/* Weights each mean by its covered time. */
static double mean_of_points(const struct series_points *s)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (isnan(s->points[i].value))
			continue;
		sum += s->points[i].value * (double)s->covered[i];
		weight += (double)s->covered[i];
	}
	return weight > 0 ? sum / weight : NAN;
}

struct amount points_amount(const struct series_points *s, bool gauge, int64_t range_ns)
{
	struct amount a = {.total = s->whole ? (double)s->total : mean_of_points(s),
			   .whole = s->total,
			   .covered_ns = s->covered_ns,
			   .range_ns = range_ns,
			   .gauge = gauge};

	return a;
}

enum err points_side(const struct series_points *s, bool gauge, int64_t range_ns,
		     struct arena *arena, struct change_side *ret)
{
	double *values = arena_zalloc(arena, s->n + 1, sizeof(*values));

	if (!values)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s->n; i++)
		values[i] = s->points[i].value;
	*ret = (struct change_side){.amount = points_amount(s, gauge, range_ns),
				    .values = values,
				    .covered = s->covered,
				    .n = s->n};
	return ERR_OK;
}

/* ------------------------------------------------------------------ two inquiries */

/* Without data: an amount of nothing. */
static enum err read_side(struct inquiry *q, struct series_answer *answer, struct change_side *ret)
{
	struct request *r = q->request;
	int64_t length = q->selection.until_ns - q->selection.from_ns;
	struct series_question what = {.step_ns = api_step(length / CHANGE_POINTS)};
	bool gauge = type_id_is_gauge(q->selection.type);

	TRY(store_series(r->server->store, r->tenant, &q->selection, &what, &q->ask, answer));
	*ret = (struct change_side){.amount = {.total = NAN, .range_ns = length, .gauge = gauge}};
	if (!answer->n)
		return ERR_OK;
	return points_side(&answer->series[0], gauge, length, &answer->arena, ret);
}

static bool is_filtered(struct request *r)
{
	static const char *const names[] = {"focus",	 "ignore", "hide", "show",
					    "show_from", "tag",	   "cells"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (parameter(r, names[i]).n)
			return true;
	return false;
}

enum err api_change_over_time(struct inquiry *before, struct inquiry *after,
			      const struct amount *merged, struct rate_change *ret)
{
	struct series_answer answers[2] = {0};
	struct change_side sides[2];
	enum err error = read_side(before, &answers[0], &sides[0]);

	if (error == ERR_OK)
		error = read_side(after, &answers[1], &sides[1]);
	for (int i = 0; merged && i < 2; i++)
		sides[i].amount = merged[i];
	if (error == ERR_OK)
		*ret = change_over_time(&sides[0], &sides[1]);
	arena_release(&answers[0].arena);
	arena_release(&answers[1].arena);
	return error;
}

enum err api_change(struct inquiry *before, struct inquiry *after, const struct diff *diff,
		    struct rate_change *ret)
{
	const struct amount merged[2] = {api_amount(before, diff->totals[0]),
					 api_amount(after, diff->totals[1])};
	struct change_side sides[2] = {{.amount = merged[0], .samples = diff->samples[0]},
				       {.amount = merged[1], .samples = diff->samples[1]}};

	if (!is_filtered(before->request))
		return api_change_over_time(before, after, merged, ret);
	*ret = change_by_samples(&sides[0], &sides[1]);
	return ERR_OK;
}
