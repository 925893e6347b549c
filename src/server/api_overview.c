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

/* One type of a service, now and as long before. */
struct curve {
	struct str type;
	const struct series_points *points, *before; /* before: or NULL */
	double total;
	struct rate_change change;
};

struct ranked {
	struct arena arena; /* holds all of it */
	struct str service;
	double cpu, total;
	struct curve *curves; /* CPU time first */
	size_t n;
	bool brief; /* has totals but no points */
};

/* CPU time of all services, of one type. */
struct cpu_line {
	struct str type;
	struct series_points points;
};

struct overview {
	struct inquiry *q;
	int64_t from_ns, until_ns, step_ns;
	int64_t judged_ns; /* width of the points by which changes are judged */
	uint32_t limit;
	struct arena arena;
	struct series_points nothing; /* as long as the others, with nothing in it */
	VEC(struct ranked) services;  /* the first `limit` of those so far, and some more */
	bool cut;		      /* those are in order, and the last of them is the least */
	uint64_t all;		      /* how many there are */
	VEC(struct cpu_line) cpu_lines;
	struct services_answer whole;
	struct completeness_answer arrived;
	struct amount cpu; /* of all services, whether the answer lists them or not */
};

static void ranked_release(struct ranked *s)
{
	arena_release(&s->arena);
}

static void overview_release(struct overview *o)
{
	vec_for_each (s, &o->services)
		ranked_release(s);
	vec_release(&o->services);
	vec_release(&o->cpu_lines);
	arena_release(&o->arena);
	arena_release(&o->whole.arena);
	completeness_answer_release(&o->arrived);
}

static bool is_cpu(struct str type)
{
	return str_eq(type_split(type).sample_type, STR("cpu"));
}

static struct str copy_text(struct arena *a, struct str s)
{
	return str_n(arena_copy(a, s), s.n);
}

static enum err make_nothing(struct overview *o, int64_t step_ns, struct series_points *ret)
{
	int64_t first = o->from_ns - o->from_ns % step_ns;
	size_t n = (size_t)((o->until_ns - first + step_ns - 1) / step_ns);
	struct point *points = arena_zalloc(&o->arena, n, sizeof(*points));
	int64_t *covered = arena_zalloc(&o->arena, n, sizeof(*covered));

	if (!points || !covered)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		points[i] = (struct point){first + (int64_t)i * step_ns, NAN, 0};
	*ret = (struct series_points){.points = points, .covered = covered, .n = n};
	return ERR_OK;
}

/* ------------------------------------------------------------------ all CPU time */

static enum err find_cpu_line(struct overview *o, struct str type, struct cpu_line **ret)
{
	struct cpu_line fresh = {0};

	vec_for_each (line, &o->cpu_lines)
		if (str_eq(line->type, type)) {
			*ret = line;
			return ERR_OK;
		}
	fresh.type = copy_text(&o->arena, type);
	if (!fresh.type.p)
		return ERR_NO_MEMORY;
	TRY(make_nothing(o, o->judged_ns, &fresh.points));
	TRY(vec_push(&o->cpu_lines, fresh));
	*ret = &o->cpu_lines.v[o->cpu_lines.n - 1];
	return ERR_OK;
}

static int64_t add_whole(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? b < 0 ? INT64_MIN : INT64_MAX : sum;
}

static enum err add_cpu(struct overview *o, const struct series_answer *now)
{
	for (size_t i = 0; i < now->n; i++) {
		const struct series_points *s = &now->series[i];
		struct cpu_line *line;

		if (!is_cpu(s->type))
			continue;
		TRY(find_cpu_line(o, s->type, &line));
		for (size_t k = 0; k < s->n && k < line->points.n; k++) {
			struct point *p = &line->points.points[k];

			if (isnan(s->points[k].value))
				continue;
			p->sum = add_whole(p->sum, s->points[k].sum);
			p->value = (double)p->sum;
		}
		line->points.whole |= s->whole;
		line->points.total = add_whole(line->points.total, s->total);
	}
	return ERR_OK;
}

/*
 * All CPU time by the time in which any service ran: rates of services that ran one after the other
 * do not add up. Where CPU time has several types, the time of the longest counts.
 */
static void sum_cpu(struct overview *o)
{
	o->cpu = (struct amount){.total = NAN, .range_ns = o->until_ns - o->from_ns};
	vec_for_each (line, &o->cpu_lines) {
		if (!line->points.whole)
			continue;
		o->cpu.whole = add_whole(o->cpu.whole, line->points.total);
		o->cpu.total = (double)o->cpu.whole;
		for (size_t i = 0; i < o->whole.n; i++)
			if (str_eq(o->whole.types[i].type, line->type) &&
			    o->whole.types[i].covered_ns > o->cpu.covered_ns)
				o->cpu.covered_ns = o->whole.types[i].covered_ns;
	}
}

/* ------------------------------------------------------------------ the largest services */

static int compare_curves(const void *left, const void *right)
{
	const struct curve *a = left, *b = right;

	if (is_cpu(a->type) != is_cpu(b->type))
		return is_cpu(a->type) ? -1 : 1;
	return str_cmp(a->type, b->type);
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

static const struct series_points *find_type(const struct series_answer *a, struct str type)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(a->series[i].type, type))
			return &a->series[i];
	return NULL;
}

static enum err join_types(struct overview *o, const struct series_answer *now,
			   const struct series_answer *before, struct ranked *s)
{
	s->curves = arena_zalloc(&s->arena, now->n + before->n + 1, sizeof(*s->curves));
	if (!s->curves)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < now->n; i++) {
		const struct series_points *p = &now->series[i];

		if (type_is_completeness(p->type))
			continue;
		s->curves[s->n++] = (struct curve){.type = p->type,
						   .points = p,
						   .before = find_type(before, p->type),
						   .total = (double)p->total};
	}
	/* A service without data now has a curve without points. */
	for (size_t i = 0; i < before->n; i++) {
		const struct series_points *p = &before->series[i];

		if (!type_is_completeness(p->type) && !find_type(now, p->type))
			s->curves[s->n++] =
				(struct curve){.type = p->type, .points = &o->nothing, .before = p};
	}
	qsort(s->curves, s->n, sizeof(*s->curves), compare_curves);
	for (size_t i = 0; i < s->n; i++) {
		s->total += s->curves[i].total;
		s->cpu += is_cpu(s->curves[i].type) ? s->curves[i].total : 0;
	}
	return ERR_OK;
}

static enum err copy_points(struct arena *a, const struct series_points **points)
{
	const struct series_points *from = *points;
	struct series_points *to = arena_zalloc(a, 1, sizeof(*to));

	if (!to)
		return ERR_NO_MEMORY;
	*to = *from;
	to->labels = NULL;
	to->label_count = 0;
	to->type = copy_text(a, from->type);
	if (!from->points)
		return to->type.p ? ERR_OK : ERR_NO_MEMORY;
	to->points = arena_alloc(a, (from->n + 1) * sizeof(*to->points));
	to->covered = arena_alloc(a, (from->n + 1) * sizeof(*to->covered));
	if (!to->type.p || !to->points || !to->covered)
		return ERR_NO_MEMORY;
	memcpy(to->points, from->points, from->n * sizeof(*to->points));
	memcpy(to->covered, from->covered, from->n * sizeof(*to->covered));
	*points = to;
	return ERR_OK;
}

/* Copy it, because the list outlives the answer. */
static enum err keep(struct overview *o, struct str service, struct ranked *s)
{
	s->service = copy_text(&s->arena, service);
	if (!s->service.p)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s->n; i++) {
		struct curve *c = &s->curves[i];

		if (c->points != &o->nothing)
			TRY(copy_points(&s->arena, &c->points));
		if (c->before)
			TRY(copy_points(&s->arena, &c->before));
		c->type = copy_text(&s->arena, c->type);
		if (!c->type.p)
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

static void put_in_order(struct overview *o)
{
	if (o->services.n)
		qsort(o->services.v, o->services.n, sizeof(*o->services.v), compare_ranked);
	for (size_t i = o->limit; i < o->services.n; i++)
		ranked_release(&o->services.v[i]);
	if (o->services.n < o->limit)
		return;
	o->services.n = o->limit;
	o->cut = true;
}

static bool is_listed(const struct overview *o, const struct ranked *s)
{
	return !o->cut || compare_ranked(s, &o->services.v[o->limit - 1]) < 0;
}

static bool is_brief(const struct series_answer *a)
{
	return a->n && !a->series[0].points;
}

static enum err rank(struct overview *o, struct str service, const struct series_answer *now,
		     const struct series_answer *before)
{
	struct ranked s = {.service = service, .brief = is_brief(now) || is_brief(before)};
	enum err error = join_types(o, now, before, &s);

	if (error == ERR_OK && s.n) {
		o->all++;
		if (is_listed(o, &s)) {
			error = keep(o, service, &s);
			if (error == ERR_OK)
				error = vec_push(&o->services, s);
			if (error == ERR_OK) {
				if (o->services.n >= 2 * (size_t)o->limit)
					put_in_order(o);
				return ERR_OK;
			}
		}
	}
	ranked_release(&s);
	return error;
}

static enum err each_service(void *context, struct str service, const struct series_answer *answers)
{
	static const struct series_answer none;
	struct overview *o = context;
	bool before = o->from_ns > 0;

	TRY(add_cpu(o, &answers[0]));
	return rank(o, service, &answers[0], before ? &answers[1] : &none);
}

/* ------------------------------------------------------------------ points of those that are listed */

static int by_name(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return str_cmp(a->service, b->service);
}

/* Replaces the totals of a service by its series. */
static enum err fill_in(void *context, struct str service, const struct series_answer *answers)
{
	static const struct series_answer none;
	struct overview *o = context;
	struct ranked s = {.service = service}, *known;
	enum err error;

	known = bsearch(&s, o->services.v, o->services.n, sizeof(s), by_name);
	if (!known || !known->brief)
		return ERR_OK;
	error = join_types(o, &answers[0], o->from_ns > 0 ? &answers[1] : &none, &s);
	if (error == ERR_OK)
		error = keep(o, service, &s);
	if (error != ERR_OK) {
		ranked_release(&s);
		return error;
	}
	ranked_release(known);
	*known = s;
	return ERR_OK;
}

/* Removes services that were deleted between the two queries. */
static void drop_brief(struct overview *o)
{
	size_t kept = 0;

	vec_for_each (s, &o->services)
		if (s->brief || !s->n)
			ranked_release(s);
		else
			o->services.v[kept++] = *s;
	o->services.n = kept;
}

static enum err find_points(struct overview *o, const struct services_question *all)
{
	struct str *names = arena_alloc(&o->arena, (o->services.n + 1) * sizeof(*names));
	struct services_question what = *all;
	struct request *r = o->q->request;
	struct ask ask = o->q->ask; /* a copy: the first query has counted what is read */
	struct services_answer ignored = {0};
	size_t n = 0;

	if (!names)
		return ERR_NO_MEMORY;
	vec_for_each (s, &o->services) {
		if (!s->brief)
			continue;
		names[n] = copy_text(&o->arena, s->service);
		if (!names[n++].p)
			return ERR_NO_MEMORY;
	}
	if (!n)
		return ERR_OK;
	qsort(o->services.v, o->services.n, sizeof(*o->services.v), by_name);
	what.totals_only = false;
	what.only = names;
	what.only_count = n;
	TRY(store_services(r->server->store, r->tenant, &o->q->selection, &what, &ask, fill_in, o,
			   &ignored));
	arena_release(&ignored.arena);
	drop_brief(o);
	put_in_order(o);
	return ERR_OK;
}

/* ------------------------------------------------------------------ changes */

static enum err judge_curve(struct overview *v, struct curve *c)
{
	bool gauge = type_id_is_gauge(c->type);
	int64_t length = v->until_ns - v->from_ns;
	struct change_side before, after;
	struct arena arena = {0};
	enum err error;

	error = points_side(c->before ? c->before : &v->nothing, gauge, length, &arena, &before);
	if (error == ERR_OK)
		error = points_side(c->points, gauge, length, &arena, &after);
	if (error == ERR_OK)
		c->change = change_over_time(&before, &after);
	arena_release(&arena);
	return error;
}

static enum err judge(struct overview *o)
{
	vec_for_each (s, &o->services)
		for (size_t i = 0; i < s->n; i++)
			TRY(judge_curve(o, &s->curves[i]));
	return ERR_OK;
}

/* Replaces the points of a service by others of the same range. */
static enum err change_points(void *context, struct str service,
			      const struct series_answer *answers)
{
	struct overview *o = context;
	struct ranked s = {.service = service}, *known;

	known = bsearch(&s, o->services.v, o->services.n, sizeof(s), by_name);
	for (size_t i = 0; known && i < known->n; i++) {
		struct curve *c = &known->curves[i];
		const struct series_points *p = find_type(&answers[0], c->type);

		c->points = p ? p : &o->nothing;
		if (p)
			TRY(copy_points(&known->arena, &c->points));
	}
	return ERR_OK;
}

/* Shows points of the width asked for; those by which changes are judged have another one. */
static enum err widen_points(struct overview *o, const struct services_question *all)
{
	struct str *names = arena_alloc(&o->arena, (o->services.n + 1) * sizeof(*names));
	struct services_question what = *all;
	struct request *r = o->q->request;
	struct ask ask = o->q->ask; /* a copy: the first query has noted all there is to note */
	struct damage_notes noted = {0};
	struct services_answer ignored = {0};

	if (!names)
		return ERR_NO_MEMORY;
	ask.damage = ask.damage ? &noted : NULL;
	for (size_t i = 0; i < o->services.n; i++)
		names[i] = o->services.v[i].service;
	TRY(make_nothing(o, o->step_ns, &o->nothing));
	if (!o->services.n)
		return ERR_OK;
	qsort(o->services.v, o->services.n, sizeof(*o->services.v), by_name);
	what.range_count = 1;
	what.step_ns = o->step_ns;
	what.totals_only = false;
	what.only = names;
	what.only_count = o->services.n;
	TRY(store_services(r->server->store, r->tenant, &o->q->selection, &what, &ask,
			   change_points, o, &ignored));
	arena_release(&ignored.arena);
	put_in_order(o);
	return ERR_OK;
}

/* The ranges are not aligned to points, so that totals equal those of other queries of the same ranges,
 * and changes are judged by as many points as in other queries. Services beyond the limit need only
 * totals. */
static enum err collect(struct overview *o)
{
	int64_t length = o->until_ns - o->from_ns;
	int64_t earlier = o->from_ns > length ? o->from_ns - length : 0;
	struct request *r = o->q->request;
	struct services_question what = {
		.ranges = {{o->from_ns, o->until_ns}, {earlier, o->from_ns}},
		.range_count = earlier < o->from_ns ? 2 : 1,
		.step_ns = o->judged_ns,
		.totals_only = !o->q->ask.damage,
	};

	TRY(make_nothing(o, o->judged_ns, &o->nothing));
	TRY(store_services(r->server->store, r->tenant, &o->q->selection, &what, &o->q->ask,
			   each_service, o, &o->whole));
	put_in_order(o);
	sum_cpu(o);
	TRY(find_points(o, &what));
	TRY(judge(o));
	return o->step_ns == o->judged_ns ? ERR_OK : widen_points(o, &what);
}

/* ------------------------------------------------------------------ writing */

static void put_change(const struct curve *c, struct jsonout *o)
{
	amount_put(o, &c->change.after);
	api_points(o, "points", c->points, 0);
	api_covered(o, c->points, 0);
	jsonout_put_object(o, "change");
	change_put(o, &c->change);
	jsonout_end_object(o);
}

static enum err put_completeness(struct overview *v, const struct ranked *s, const struct curve *c,
				 struct jsonout *o)
{
	struct completeness found;

	TRY(completeness_about(&v->arrived, c->type, &s->service, &found));
	jsonout_key(o, STR("completeness"));
	completeness_json(o, &found, NULL);
	return ERR_OK;
}

static enum err put_curve(struct overview *v, const struct ranked *s, const struct curve *c,
			  struct jsonout *o)
{
	struct type_parts parts = type_split(c->type);
	const struct profile_type *known = type_by_name(c->type);

	jsonout_object(o);
	jsonout_put_str(o, "type", c->type);
	jsonout_put_text(o, "name", known ? known->name : NULL);
	jsonout_put_str(o, "sample_type", parts.sample_type);
	jsonout_put_str(o, "unit", parts.sample_unit);
	jsonout_put_text(o, "aggregate", type_id_is_gauge(c->type) ? "gauge" : "sum");
	put_change(c, o);
	TRY(put_completeness(v, s, c, o));
	jsonout_end_object(o);
	return ERR_OK;
}

static int64_t last_of(const struct series_points *s, int64_t step_ns)
{
	for (size_t i = s->n; i-- > 0;)
		if (!isnan(s->points[i].value))
			return s->points[i].time_ns + step_ns;
	return 0;
}

/* The end of the last point of any type that holds something; of what ended, in the time before. */
static int64_t last_seen(const struct overview *v, const struct ranked *s)
{
	int64_t last = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct curve *c = &s->curves[i];
		int64_t now = last_of(c->points, v->step_ns);
		int64_t before = c->before ? last_of(c->before, v->judged_ns) : 0;

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
	for (size_t i = 0; i < s->n; i++)
		TRY(put_curve(v, s, &s->curves[i], o));
	jsonout_end_array(o);
	jsonout_put_i64(o, "last_seen", last_seen(v, s) / NS_PER_MS);
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err put_overview(struct overview *v, struct jsonout *o)
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
	for (size_t i = 0; i < v->services.n; i++)
		TRY(put_service(v, &v->services.v[i], o));
	jsonout_end_array(o);
	jsonout_put_bool(o, "more", v->all > v->limit);
	api_cost(v->q, o);
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err answer_overview(struct inquiry *q, struct jsonout *o)
{
	CLEANUP(overview_release) struct overview v = {.q = q};
	uint32_t points;

	TRY(parameter_count(q->request, "points", 60, 2, 1000, &points, q->fault));
	TRY(parameter_count(q->request, "limit", 200, 1, MAX_SERVICES, &v.limit, q->fault));
	TRY(api_select(q));
	v.from_ns = q->selection.from_ns;
	v.until_ns = q->selection.until_ns;
	v.step_ns = api_step((v.until_ns - v.from_ns) / points);
	v.judged_ns = api_step((v.until_ns - v.from_ns) / CHANGE_POINTS);
	TRY(collect(&v));
	TRY(completeness_ask(q, true, &v.arrived));
	return put_overview(&v, o);
}

void api_overview(struct request *r)
{
	api_answer(r, answer_overview);
}
