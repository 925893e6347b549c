/*
 * /api/v1/overview: every service with its values over time and whether they changed.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "server/api.h"
#include "server/trend.h"

#define MAX_SERVICES 10000

/* ------------------------------------------------------------------ collecting */

/* One service and type; its points are of the time asked for and of as long before. */
struct curve {
	struct str service, type;
	const struct point *points;
	size_t before, n; /* points before `from`, and all */
	double total;
};

struct ranked {
	struct str service;
	double cpu, total;
	size_t first, n; /* of the curves */
};

struct overview {
	struct inquiry *q;
	int64_t from_ns, until_ns, step_ns;
	struct series_answer answer;
	VEC(struct curve) curves;
	VEC(struct ranked) services;
};

static void overview_release(struct overview *o)
{
	arena_release(&o->answer.arena);
	vec_release(&o->curves);
	vec_release(&o->services);
}

static bool is_cpu(struct str type)
{
	return str_eq(type_split(type).sample_type, STR("cpu"));
}

static bool is_gauge(struct str type)
{
	struct type_parts parts = type_split(type);

	return type_is_gauge(parts.sample_type, parts.sample_unit);
}

static enum err add_curves(struct overview *o)
{
	for (size_t i = 0; i < o->answer.n; i++) {
		const struct series_points *s = &o->answer.series[i];
		struct curve c = {.type = s->type, .points = s->points, .n = s->n};

		if (s->label_count)
			c.service = s->labels[0].value;
		while (c.before < c.n && s->points[c.before].time_ns < o->from_ns)
			c.before++;
		for (size_t k = c.before; k < c.n; k++)
			c.total += isnan(s->points[k].value) ? 0 : s->points[k].value;
		TRY(vec_push(&o->curves, c));
	}
	return ERR_OK;
}

/* As much before as is asked for, to compare with; steps begin at multiples of theirs. */
static enum err ask(struct overview *o)
{
	static const struct str by_service[] = {STR("service_name")};
	struct request *r = o->q->request;
	struct selection *s = &o->q->selection;
	int64_t length = o->until_ns - o->from_ns;
	struct series_question what = {
		.group_by = by_service, .group_count = 1, .step_ns = o->step_ns, .each_type = true};

	s->from_ns = o->from_ns > length ? o->from_ns - length : 0;
	TRY(store_series(r->server->store, r->tenant, s, &what, &o->q->ask, &o->answer));
	s->from_ns = o->from_ns;
	return add_curves(o);
}

static int compare_curves(const void *left, const void *right)
{
	const struct curve *a = left, *b = right;
	int order = str_cmp(a->service, b->service);

	if (!order && is_cpu(a->type) != is_cpu(b->type))
		order = is_cpu(a->type) ? -1 : 1;
	return order ? order : str_cmp(a->type, b->type);
}

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->cpu != b->cpu)
		return a->cpu > b->cpu ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return str_cmp(a->service, b->service);
}

static enum err rank(struct overview *o)
{
	if (o->curves.n)
		qsort(o->curves.v, o->curves.n, sizeof(*o->curves.v), compare_curves);
	for (size_t i = 0; i < o->curves.n; i++) {
		const struct curve *c = &o->curves.v[i];
		struct ranked *last = o->services.n ? &o->services.v[o->services.n - 1] : NULL;

		if (!last || !str_eq(last->service, c->service)) {
			TRY(vec_push(&o->services,
				     ((struct ranked){.service = c->service, .first = i})));
			last = &o->services.v[o->services.n - 1];
		}
		last->n++;
		last->total += c->total;
		last->cpu += is_cpu(c->type) ? c->total : 0;
	}
	if (o->services.n)
		qsort(o->services.v, o->services.n, sizeof(*o->services.v), compare_ranked);
	return ERR_OK;
}

/* ------------------------------------------------------------------ writing */

/* Of sums what a second brought, of gauges as they are; what is not known is null. */
static enum err put_change(const struct overview *v, const struct curve *c, struct jsonout *o)
{
	CLEANUP(mem_free_ptr) double *values = mem_alloc((c->n + 1) * sizeof(*values));
	double per = is_gauge(c->type) ? 1 : (double)v->step_ns / NS_PER_S;
	struct trend t;

	if (!values)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->n; i++)
		values[i] = c->points[i].value / per;
	t = trend_of(values, c->before, values + c->before, c->n - c->before);
	jsonout_put_object(o, "change");
	jsonout_put_double(o, "before", t.before);
	jsonout_put_double(o, "after", t.after);
	jsonout_put_double(o, "share", t.share);
	jsonout_put_text(o, "verdict", trend_word(t.verdict));
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err put_curve(const struct overview *v, const struct curve *c, struct jsonout *o)
{
	struct type_parts parts = type_split(c->type);
	const struct profile_type *known = type_by_name(c->type);
	double seconds = (double)(v->until_ns - v->from_ns) / NS_PER_S, known_points = 0;
	bool gauge = is_gauge(c->type);

	for (size_t i = c->before; i < c->n; i++)
		known_points += !isnan(c->points[i].value);
	double mean = known_points > 0 ? c->total / known_points : NAN;

	jsonout_object(o);
	jsonout_put_str(o, "type", c->type);
	jsonout_put_text(o, "name", known ? known->name : NULL);
	jsonout_put_str(o, "sample_type", parts.sample_type);
	jsonout_put_str(o, "unit", parts.sample_unit);
	jsonout_put_text(o, "aggregate", gauge ? "gauge" : "sum");
	jsonout_put_double(o, "total", gauge ? mean : c->total);
	jsonout_put_double(o, "rate", gauge ? mean : c->total / seconds);
	jsonout_put_array(o, "points");
	for (size_t i = c->before; i < c->n; i++)
		jsonout_double(o, c->points[i].value);
	jsonout_end_array(o);
	TRY(put_change(v, c, o));
	jsonout_end_object(o);
	return ERR_OK;
}

/* The end of the last point of any type that holds something. */
static int64_t last_seen(const struct overview *v, const struct ranked *s)
{
	int64_t last = 0;

	for (size_t i = s->first; i < s->first + s->n; i++)
		for (size_t k = v->curves.v[i].n; k-- > 0;)
			if (!isnan(v->curves.v[i].points[k].value)) {
				int64_t end = v->curves.v[i].points[k].time_ns + v->step_ns;

				last = end > last ? end : last;
				break;
			}
	return last < v->until_ns ? last : v->until_ns;
}

static enum err put_service(const struct overview *v, const struct ranked *s, struct jsonout *o)
{
	jsonout_object(o);
	jsonout_put_str(o, "service", s->service);
	jsonout_put_array(o, "types");
	for (size_t i = s->first; i < s->first + s->n; i++)
		TRY(put_curve(v, &v->curves.v[i], o));
	jsonout_end_array(o);
	jsonout_put_i64(o, "last_seen", last_seen(v, s) / NS_PER_MS);
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err put_overview(const struct overview *v, uint32_t limit, struct jsonout *o)
{
	int64_t start = v->from_ns - v->from_ns % v->step_ns;

	for (size_t i = 0; i < v->curves.n; i++)
		if (v->curves.v[i].before < v->curves.v[i].n)
			start = v->curves.v[i].points[v->curves.v[i].before].time_ns;
	jsonout_object(o);
	api_head(v->q, o, "vestal.overview/1");
	jsonout_put_i64(o, "step_ms", v->step_ns / NS_PER_MS);
	jsonout_put_i64(o, "start_ms", start / NS_PER_MS);
	jsonout_put_array(o, "services");
	for (size_t i = 0; i < v->services.n && i < limit; i++)
		TRY(put_service(v, &v->services.v[i], o));
	jsonout_end_array(o);
	jsonout_put_bool(o, "more", v->services.n > limit);
	api_cost(v->q, o);
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err answer_overview(struct inquiry *q, struct jsonout *o)
{
	CLEANUP(overview_release) struct overview v = {.q = q};
	uint32_t points, limit;

	TRY(parameter_count(q->request, "points", 60, 2, 1000, &points, q->fault));
	TRY(parameter_count(q->request, "limit", 200, 1, MAX_SERVICES, &limit, q->fault));
	TRY(api_select(q));
	v.from_ns = q->selection.from_ns;
	v.until_ns = q->selection.until_ns;
	v.step_ns = api_step((v.until_ns - v.from_ns) / points);
	/* Points begin at multiples of their width, and so does what is asked for. */
	v.from_ns -= v.from_ns % v.step_ns;
	TRY(ask(&v));
	TRY(rank(&v));
	return put_overview(&v, limit, o);
}

void api_overview(struct request *r)
{
	api_answer(r, answer_overview);
}
