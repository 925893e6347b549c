/*
 * /api/v1/overview: every service with its values over time and whether they changed.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/amounts.h"
#include "server/completeness_ask.h"

#define MAX_SERVICES 10000

/* ------------------------------------------------------------------ collecting */

/* One service and type, now and as long before. */
struct curve {
	struct str service, type;
	const struct series_points *points, *before; /* before: or NULL */
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
	struct series_answer now, before;
	struct series_points nothing; /* as long as the others, with nothing in it */
	VEC(struct curve) curves;
	VEC(struct ranked) services;
	struct completeness_answer arrived;
	struct amount cpu; /* of all services, whether the answer lists them or not */
};

static void overview_release(struct overview *o)
{
	arena_release(&o->now.arena);
	arena_release(&o->before.arena);
	vec_release(&o->curves);
	vec_release(&o->services);
	completeness_answer_release(&o->arrived);
}

static bool is_cpu(struct str type)
{
	return str_eq(type_split(type).sample_type, STR("cpu"));
}

static struct str service_of(const struct series_points *s)
{
	return s->label_count ? s->labels[0].value : (struct str){0};
}

static enum err add_curves(struct overview *o)
{
	for (size_t i = 0; i < o->now.n; i++) {
		const struct series_points *s = &o->now.series[i];
		struct curve c = {.service = service_of(s), .type = s->type, .points = s};

		if (type_is_completeness(s->type))
			continue;
		c.total = points_total(s, type_id_is_gauge(s->type));
		c.total = isnan(c.total) ? 0 : c.total;
		TRY(vec_push(&o->curves, c));
	}
	return ERR_OK;
}

static enum err ask_range(struct overview *o, int64_t from_ns, int64_t until_ns,
			  struct series_answer *ret)
{
	static const struct str by_service[] = {STR("service_name")};
	struct request *r = o->q->request;
	struct selection s = o->q->selection;
	struct series_question what = {
		.group_by = by_service, .group_count = 1, .step_ns = o->step_ns, .each_type = true};

	s.from_ns = from_ns;
	s.until_ns = until_ns;
	return store_series(r->server->store, r->tenant, &s, &what, &o->q->ask, ret);
}

/*
 * All CPU time by the time in which any service ran: rates of services that ran one after the other
 * do not add up. Where CPU time has several types, the time of the longest counts.
 */
static enum err ask_cpu(struct overview *o)
{
	struct request *r = o->q->request;
	struct selection s = o->q->selection;
	struct matcher *matchers =
		arena_alloc(&o->now.arena, (s.matcher_count + 1) * sizeof(*matchers));
	struct series_question what = {.step_ns = o->step_ns, .each_type = true};
	struct series_answer all = {0};

	if (!matchers)
		return ERR_NO_MEMORY;
	if (s.matcher_count)
		memcpy(matchers, s.matchers, s.matcher_count * sizeof(*matchers));
	matchers[s.matcher_count++] =
		(struct matcher){.name = STR("__type__"), .op = MATCH_EQUAL, .value = STR("cpu")};
	s.matchers = matchers;
	TRY(store_series(r->server->store, r->tenant, &s, &what, &o->q->ask, &all));
	o->cpu = (struct amount){.total = NAN, .range_ns = o->until_ns - o->from_ns};
	for (size_t i = 0; i < all.n; i++) {
		double total = points_total(&all.series[i], false);

		if (isnan(total))
			continue;
		o->cpu.total = isnan(o->cpu.total) ? total : o->cpu.total + total;
		if (all.series[i].covered_ns > o->cpu.covered_ns)
			o->cpu.covered_ns = all.series[i].covered_ns;
	}
	arena_release(&all.arena);
	return ERR_OK;
}

static int compare_curves(const void *left, const void *right)
{
	const struct curve *a = left, *b = right;
	int order = str_cmp(a->service, b->service);

	if (!order && is_cpu(a->type) != is_cpu(b->type))
		order = is_cpu(a->type) ? -1 : 1;
	return order ? order : str_cmp(a->type, b->type);
}

static enum err make_nothing(struct overview *o)
{
	int64_t first = o->from_ns - o->from_ns % o->step_ns;
	size_t n = (size_t)((o->until_ns - first + o->step_ns - 1) / o->step_ns);
	struct point *points = arena_zalloc(&o->now.arena, n, sizeof(*points));
	int64_t *covered = arena_zalloc(&o->now.arena, n, sizeof(*covered));

	if (!points || !covered)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		points[i] = (struct point){first + (int64_t)i * o->step_ns, NAN};
	o->nothing = (struct series_points){.points = points, .covered = covered, .n = n};
	return ERR_OK;
}

static int compare_curve(const struct curve *a, const struct series_points *s)
{
	struct curve b = {.service = service_of(s), .type = s->type};

	return compare_curves(a, &b);
}

/* Finds for each curve what was before; a service that ended is one without points now. */
static enum err join_before(struct overview *o)
{
	size_t n = o->curves.n;

	for (size_t i = 0; i < o->before.n; i++) {
		const struct series_points *s = &o->before.series[i];
		size_t low = 0, high = n;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (compare_curve(&o->curves.v[middle], s) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < n && compare_curve(&o->curves.v[low], s) == 0)
			o->curves.v[low].before = s;
		else
			TRY(vec_push(&o->curves, ((struct curve){.service = service_of(s),
								 .type = s->type,
								 .points = &o->nothing,
								 .before = s})));
	}
	return ERR_OK;
}

static void sort_curves(struct overview *o)
{
	if (o->curves.n)
		qsort(o->curves.v, o->curves.n, sizeof(*o->curves.v), compare_curves);
}

/* Points are of the width asked for, the ranges as they are: what is compared is what other answers
 * say of the same ranges. */
static enum err collect(struct overview *o)
{
	int64_t length = o->until_ns - o->from_ns;
	int64_t earlier = o->from_ns > length ? o->from_ns - length : 0;

	TRY(ask_range(o, o->from_ns, o->until_ns, &o->now));
	TRY(make_nothing(o));
	TRY(add_curves(o));
	sort_curves(o);
	if (earlier < o->from_ns) {
		TRY(ask_range(o, earlier, o->from_ns, &o->before));
		TRY(join_before(o));
		sort_curves(o);
	}
	return ERR_OK;
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

static enum err put_change(struct overview *v, const struct curve *c, struct jsonout *o)
{
	bool gauge = type_id_is_gauge(c->type);
	struct change_side before, after;
	struct rate_change change;

	TRY(points_side(c->before ? c->before : &v->nothing, gauge, v->until_ns - v->from_ns,
			&v->now.arena, &before));
	TRY(points_side(c->points, gauge, v->until_ns - v->from_ns, &v->now.arena, &after));
	change = change_over_time(&before, &after);
	amount_put(o, &change.after);
	api_points(o, "points", c->points, 0);
	api_covered(o, c->points, 0);
	jsonout_put_object(o, "change");
	change_put(o, &change);
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err put_completeness(struct overview *v, const struct curve *c, struct jsonout *o)
{
	struct completeness found;

	TRY(completeness_about(&v->arrived, c->type, &c->service, &found));
	jsonout_key(o, STR("completeness"));
	completeness_json(o, &found, NULL);
	return ERR_OK;
}

static enum err put_curve(struct overview *v, const struct curve *c, struct jsonout *o)
{
	struct type_parts parts = type_split(c->type);
	const struct profile_type *known = type_by_name(c->type);

	jsonout_object(o);
	jsonout_put_str(o, "type", c->type);
	jsonout_put_text(o, "name", known ? known->name : NULL);
	jsonout_put_str(o, "sample_type", parts.sample_type);
	jsonout_put_str(o, "unit", parts.sample_unit);
	jsonout_put_text(o, "aggregate", type_id_is_gauge(c->type) ? "gauge" : "sum");
	TRY(put_change(v, c, o));
	TRY(put_completeness(v, c, o));
	jsonout_end_object(o);
	return ERR_OK;
}

static int64_t last_of(const struct overview *v, const struct series_points *s)
{
	for (size_t i = s->n; i-- > 0;)
		if (!isnan(s->points[i].value))
			return s->points[i].time_ns + v->step_ns;
	return 0;
}

/* The end of the last point of any type that holds something; of what ended, in the time before. */
static int64_t last_seen(const struct overview *v, const struct ranked *s)
{
	int64_t last = 0;

	for (size_t i = s->first; i < s->first + s->n; i++) {
		const struct curve *c = &v->curves.v[i];
		int64_t now = last_of(v, c->points);
		int64_t before = c->before ? last_of(v, c->before) : 0;

		before = before < v->from_ns ? before : v->from_ns;
		now = now ? now : before;
		last = now > last ? now : last;
	}
	return last < v->until_ns ? last : v->until_ns;
}

static enum err put_service(struct overview *v, const struct ranked *s, struct jsonout *o)
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

static enum err put_overview(struct overview *v, uint32_t limit, struct jsonout *o)
{
	int64_t start = v->nothing.points[0].time_ns;

	jsonout_object(o);
	api_head(v->q, o, "vestal.overview/1");
	jsonout_put_i64(o, "step_ms", v->step_ns / NS_PER_MS);
	jsonout_put_i64(o, "start_ms", start / NS_PER_MS);
	jsonout_put_object(o, "cpu");
	amount_put(o, &v->cpu);
	jsonout_end_object(o);
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
	TRY(collect(&v));
	TRY(ask_cpu(&v));
	TRY(rank(&v));
	TRY(completeness_ask(q, true, &v.arrived));
	return put_overview(&v, limit, o);
}

void api_overview(struct request *r)
{
	api_answer(r, answer_overview);
}
