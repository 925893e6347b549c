#include "store/answer_services.h"

#include <stdlib.h>

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
	struct whole_list others; /* of the ranges after the first: nobody asks */
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
	whole_list_release(&s->others);
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

static enum err answer_service(void *context, struct str service,
			       struct partition *const *partitions, size_t n)
{
	struct serving *s = context;
	struct service_part part = {partitions, n};
	struct series_answer answers[SERVICES_RANGES] = {0};
	enum err error = ERR_OK;

	for (size_t i = 0; error == ERR_OK && i < s->question->range_count; i++)
		error = answer_series_of(s->source, &part, &s->ranges[i], &s->series, s->ask,
					 i ? &s->others : &s->wholes, &answers[i]);
	if (error == ERR_OK)
		error = hand_over(s, service, answers);
	for (size_t i = 0; i < s->question->range_count; i++)
		arena_release(&answers[i].arena);
	return error;
}

/* ------------------------------------------------------------------ engines without an index */

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

/* How long anything of each type was profiled: by a question without groups. */
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
		error = source->apart(source->engine, tenant, &all,
				      answer_series_since(&s.series, all.from_ns), s.ask,
				      answer_service, &s);
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
