#include <stdlib.h>

#include "store/service_totals.h"

struct serving {
	const struct source *source;
	struct str tenant;
	const struct services_question *question;
	struct series_question series;
	struct selection ranges[SERVICES_RANGES];
	struct ask *ask;
	enum err (*each)(void *context, struct str service, const struct series_answer *answers);
	void *context;
	struct whole_list wholes;
	bool caches;					   /* uses and makes cached totals */
	bool brief;					   /* totals without points */
	VEC(struct series_points) totals[SERVICES_RANGES]; /* of the current service */
};

static void whole_list_release(struct whole_list *list)
{
	vec_for_each (w, &list->v)
		coverage_whole_release(w);
	vec_release(&list->v);
	arena_release(&list->arena);
}

static void serving_release(struct serving *s)
{
	whole_list_release(&s->wholes);
	for (size_t i = 0; i < SERVICES_RANGES; i++)
		vec_release(&s->totals[i]);
}

enum err whole_list_find(struct whole_list *list, struct str type, struct coverage_whole **ret)
{
	struct coverage_whole fresh = {0};

	vec_for_each (w, &list->v)
		if (str_eq(w->type, type)) {
			*ret = w;
			return ERR_OK;
		}
	fresh.type = arena_str(&list->arena, type);
	if (!fresh.type.p)
		return ERR_NO_MEMORY;
	TRY(vec_push(&list->v, fresh));
	*ret = &list->v.v[list->v.n - 1];
	return ERR_OK;
}

static bool is_empty(const struct series_answer *answers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (answers[i].n)
			return false;
	return true;
}

static enum err hand_over(struct serving *s, struct str service, struct series_answer *answers)
{
	return is_empty(answers, s->question->range_count) ? ERR_OK
							   : s->each(s->context, service, answers);
}

/* Adds the coverage of one service to that of all. */
static enum err join_whole(struct serving *s, const struct coverage_whole *from)
{
	struct coverage_whole *whole;

	TRY(whole_list_find(&s->wholes, from->type, &whole));
	whole->has_values |= from->has_values;
	return coverage_whole_join(whole, from->covered, from->present, from->times.v,
				   from->times.n);
}

static enum err add_whole(struct serving *s, const struct totals_whole *from,
			  const struct coverage_time *times)
{
	struct coverage_whole *whole;

	TRY(whole_list_find(&s->wholes, from->type, &whole));
	whole->has_values |= from->has_values;
	return coverage_whole_join(whole, from->covered_ns, from->present_ns, times, from->times_n);
}

/* ------------------------------------------------------------------ one service */

/* When profiles of a service start. */
static bool find_starts(struct serving *s, const struct service_part *part, struct time_span *ret)
{
	*ret = (struct time_span){INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < part->n; i++) {
		struct fault ignored = {0};
		struct time_span one;

		if (!s->source->starts || s->source->starts(s->source->engine, part->partitions[i],
							    &one, &ignored) != ERR_OK)
			return false;
		ret->from_ns = one.from_ns < ret->from_ns ? one.from_ns : ret->from_ns;
		ret->until_ns = one.until_ns > ret->until_ns ? one.until_ns : ret->until_ns;
	}
	return true;
}

/* For the engine's cache. On errors nothing is cached. */
static struct service_totals *make_totals(struct serving *s, const struct totals_source *from)
{
	struct time_span starts;

	for (size_t i = 0; i < from->part->n; i++)
		if (!from->part->partitions[i]->light)
			return NULL;
	return service_totals_new(
		from, service_totals_may_last(from) && find_starts(s, from->part, &starts) ? &starts
											   : NULL);
}

/* Points of so many services cost more than those of the listed ones, which are computed again. */
#define MANY_POINTS 1000

static void expect_services(void *context, size_t n)
{
	struct serving *s = context;

	s->brief = s->caches && n > MANY_POINTS;
}

struct made_answers {
	struct series_answer answers[SERVICES_RANGES];
	struct whole_list wholes[SERVICES_RANGES];
	struct coverage_reach reaches[SERVICES_RANGES];
	struct ask asks[SERVICES_RANGES + 1];
};

static void made_answers_release(struct made_answers *m)
{
	for (size_t i = 0; i < SERVICES_RANGES; i++) {
		arena_release(&m->answers[i].arena);
		whole_list_release(&m->wholes[i]);
	}
}

static enum err make_answers(struct serving *s, const struct service_part *part,
			     struct made_answers *m)
{
	m->asks[0] = *s->ask;
	for (size_t i = 0; i < s->question->range_count; i++) {
		TRY(answer_series_of(s->source, part, &s->ranges[i], &s->series, s->ask,
				     &m->wholes[i], &m->reaches[i], &m->answers[i]));
		vec_for_each (w, &m->wholes[i].v)
			coverage_whole_tidy(w);
		m->asks[i + 1] = *s->ask;
	}
	return ERR_OK;
}

static enum err answer_service(void *context, struct str service,
			       struct partition *const *partitions, size_t n,
			       struct service_totals **ret_totals)
{
	struct serving *s = context;
	struct service_part part = {partitions, n, s->brief};
	CLEANUP(made_answers_release) struct made_answers made = {0};
	struct totals_source from = {s->question,  made.answers, made.wholes,
				     made.reaches, made.asks,	 &part};

	TRY(make_answers(s, &part, &made));
	vec_for_each (w, &made.wholes[0].v)
		TRY(join_whole(s, w));
	TRY(hand_over(s, service, made.answers));
	if (s->caches && n)
		*ret_totals = make_totals(s, &from);
	return ERR_OK;
}

/* ------------------------------------------------------------------ cached totals */

/* `range`: as service_totals_hold. */
static enum err hand_over_totals(struct serving *s, struct str service,
				 const struct service_totals *t, uint32_t range)
{
	struct series_answer answers[SERVICES_RANGES] = {0};

	for (size_t i = 0; i < s->question->range_count; i++)
		s->totals[i].n = 0;
	for (size_t i = 0; i < t->series_count; i++) {
		const struct totals_series *one = &t->series[i];

		TRY(vec_push(&s->totals[range == TOTALS_AS_MADE ? one->range : range],
			     ((struct series_points){.type = one->type,
						     .whole = one->whole,
						     .total = one->total})));
	}
	for (size_t i = 0; i < s->question->range_count; i++)
		answers[i] = (struct series_answer){.series = s->totals[i].v, .n = s->totals[i].n};
	return hand_over(s, service, answers);
}

static enum err add_known(void *context, struct str service, const struct service_totals *t,
			  bool *ret_enough)
{
	struct serving *s = context;
	uint32_t range;

	if (!service_totals_hold(t, s->question, &range))
		return ERR_OK;
	*ret_enough = true;
	s->ask->chunks += t->chunks;
	s->ask->blocks += t->blocks;
	s->ask->rollups += t->rollups;
	s->ask->rows += t->rows;
	s->ask->bytes += t->read_bytes;
	/* The time in which all services were profiled is of the first range. */
	for (size_t i = 0; (range == TOTALS_AS_MADE || !range) && i < t->whole_count; i++)
		TRY(add_whole(s, &t->wholes[i], t->times + t->wholes[i].times_at));
	return hand_over_totals(s, service, t, range);
}

/* ------------------------------------------------------------------ engines without an index */

static bool is_asked_for(const struct services_question *question, struct str service)
{
	for (size_t i = 0; i < question->only_count; i++)
		if (str_eq(question->only[i], service))
			return true;
	return !question->only_count;
}

static int by_service(const void *left, const void *right)
{
	const struct series_points *x = left, *y = right;

	if (!x->label_count || !y->label_count)
		return (x->label_count > y->label_count) - (x->label_count < y->label_count);
	return str_cmp(x->labels[0].value, y->labels[0].value);
}

static struct str service_of(const struct series_points *s)
{
	return s->label_count ? s->labels[0].value : (struct str){0};
}

/* The series of the next service, in order of names, from where each answer was left. */
static bool next_service(const struct series_answer *all, size_t n, size_t *at, struct str *ret,
			 struct series_answer *ret_parts)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		if (at[i] < all[i].n &&
		    (!any || str_cmp(service_of(&all[i].series[at[i]]), *ret) < 0)) {
			*ret = service_of(&all[i].series[at[i]]);
			any = true;
		}
	for (size_t i = 0; any && i < n; i++) {
		ret_parts[i] = (struct series_answer){.series = all[i].series + at[i]};
		while (at[i] < all[i].n && str_eq(service_of(&all[i].series[at[i]]), *ret)) {
			ret_parts[i].n++;
			at[i]++;
		}
	}
	return any;
}

/* The profiled time of each type, by a query without groups. */
static enum err ask_wholes(struct serving *s, struct services_answer *ret)
{
	struct series_question question = s->series;
	struct series_answer all = {0};
	enum err error;

	question.group_by = NULL;
	question.group_count = 0;
	TRY(answer_series(s->source, s->tenant, &s->ranges[0], &question, s->ask, &all));
	ret->types = arena_zalloc(&ret->arena, all.n + 1, sizeof(*ret->types));
	error = ret->types ? ERR_OK : ERR_NO_MEMORY;
	for (size_t i = 0; error == ERR_OK && i < all.n; i++) {
		struct type_coverage *t = &ret->types[ret->n++];

		t->type = arena_str(&ret->arena, all.series[i].type);
		t->covered_ns = all.series[i].covered_ns;
		error = t->type.p ? ERR_OK : ERR_NO_MEMORY;
	}
	arena_release(&all.arena);
	return error;
}

static enum err split(struct serving *s, struct services_answer *ret)
{
	struct series_answer all[SERVICES_RANGES] = {0}, parts[SERVICES_RANGES] = {0};
	size_t n = s->question->range_count, at[SERVICES_RANGES] = {0};
	enum err error = ERR_OK;
	struct str service;

	for (size_t i = 0; error == ERR_OK && i < n; i++) {
		error = answer_series(s->source, s->tenant, &s->ranges[i], &s->series, s->ask,
				      &all[i]);
		if (error == ERR_OK && all[i].n)
			qsort(all[i].series, all[i].n, sizeof(*all[i].series), by_service);
	}
	while (error == ERR_OK && next_service(all, n, at, &service, parts))
		if (is_asked_for(s->question, service))
			error = hand_over(s, service, parts);
	if (error == ERR_OK)
		error = ask_wholes(s, ret);
	for (size_t i = 0; i < n; i++)
		arena_release(&all[i].arena);
	return error;
}

/* ------------------------------------------------------------------ all services */

static enum err tell_wholes(struct serving *s, struct services_answer *ret)
{
	ret->types = arena_zalloc(&ret->arena, s->wholes.v.n + 1, sizeof(*ret->types));
	if (!ret->types)
		return ERR_NO_MEMORY;
	vec_for_each (w, &s->wholes.v) {
		struct type_coverage *t;

		if (!w->has_values)
			continue;
		t = &ret->types[ret->n++];
		t->type = arena_str(&ret->arena, w->type);
		t->covered_ns = coverage_whole_total(w);
		if (!t->type.p)
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

/* Cached totals are of whole services. */
static bool lists_all(const struct selection *selection, const struct services_question *question,
		      const struct ask *ask)
{
	return question->totals_only && !question->only_count && !selection->matcher_count &&
	       !selection->type.n && !ask->damage;
}

/* All ranges. */
static struct selection whole_range(const struct serving *s, const struct selection *selection)
{
	struct selection all = *selection;

	all.from_ns = INT64_MAX;
	all.until_ns = INT64_MIN;
	for (size_t i = 0; i < s->question->range_count; i++) {
		const struct time_span *r = &s->question->ranges[i];

		all.from_ns = r->from_ns < all.from_ns ? r->from_ns : all.from_ns;
		all.until_ns = r->until_ns > all.until_ns ? r->until_ns : all.until_ns;
	}
	return all;
}

enum err answer_services(const struct source *source, struct str tenant,
			 const struct selection *selection,
			 const struct services_question *question, struct ask *ask,
			 enum err (*each)(void *context, struct str service,
					  const struct series_answer *answers),
			 void *context, struct services_answer *ret)
{
	static const struct str by_service_name[] = {STR("service_name")};
	CLEANUP(serving_release)
	struct serving s = {
		.source = source,
		.tenant = tenant,
		.question = question,
		.series = {.group_by = by_service_name,
			   .group_count = 1,
			   .step_ns = question->step_ns,
			   .each_type = true},
		.each = each,
		.context = context,
	};
	struct services_answer answer = {0};
	struct ask own = {0};
	struct selection all;
	enum err error;

	s.ask = ask ? ask : &own;
	s.caches = lists_all(selection, question, s.ask);
	if (!question->range_count || question->range_count > SERVICES_RANGES)
		return ERR_BAD_ARGUMENT;
	for (size_t i = 0; i < question->range_count; i++) {
		s.ranges[i] = *selection;
		s.ranges[i].from_ns = question->ranges[i].from_ns;
		s.ranges[i].until_ns = question->ranges[i].until_ns;
	}
	all = whole_range(&s, selection);
	if (source->apart && !selection->link_count && !selection->profile_count &&
	    !selection->time_count) {
		const struct apart_use use = {.context = &s,
					      .only = question->only,
					      .only_count = question->only_count,
					      .begin = expect_services,
					      .each = answer_service,
					      .known = s.caches ? add_known : NULL};

		error = source->apart(source->engine, tenant, &all,
				      answer_series_since(&s.series, all.from_ns), s.ask, &use);
		if (error == ERR_OK)
			error = tell_wholes(&s, &answer);
	} else {
		error = split(&s, &answer);
	}
	if (error == ERR_OK)
		*ret = answer;
	else
		arena_release(&answer.arena);
	return error;
}
