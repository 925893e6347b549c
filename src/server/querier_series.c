/*
 * Pyroscope's querier service, the calls that answer over time.
 */
#include <math.h>

#include "base/clock.h"
#include "server/exemplars.h"
#include "server/querier.h"

#define MIN_STEP 0.001

enum { AGGREGATE_SUM, AGGREGATE_AVERAGE };

enum err check_step(double step, struct fault *fault)
{
	if (step >= MIN_STEP && step < 1e9)
		return ERR_OK;
	return fault_set(fault, ERR_BAD_ARGUMENT, "step is missing or below %g seconds", MIN_STEP);
}

static enum err fill_points(const struct series_points *from, struct arena *scope,
			    struct points_message *to)
{
	struct point_message *points;
	size_t kept = 0;

	TRY(copy_labels(scope, from->labels, from->label_count, &to->labels));
	points = list_make(&to->points, from->n, sizeof(*points), scope);
	if (!points)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < from->n; i++)
		if (!isnan(from->points[i].value))
			points[kept++] = (struct point_message){
				.value = from->points[i].value,
				.timestamp = from->points[i].time_ns / NS_PER_MS};
	to->points.n = kept;
	return ERR_OK;
}

static enum err fill_series(const struct series_answer *answer, struct arena *scope,
			    struct select_series_reply *reply)
{
	struct points_message *out = list_make(&reply->series, answer->n, sizeof(*out), scope);

	if (!out)
		return ERR_NO_MEMORY;
	reply->series.n = 0;
	/* Clients of Pyroscope that ask for the largest expect no sum of the rest. */
	for (size_t i = 0; i < answer->n; i++)
		if (!answer->series[i].other)
			TRY(fill_points(&answer->series[i], scope, &out[reply->series.n++]));
	return ERR_OK;
}

/* ------------------------------------------------------------------ exemplars */

static bool is_of_group(const struct points_message *series, const struct exemplar *e,
			const struct list *group_by)
{
	const struct label_message *labels = series->labels.v;

	for (size_t i = 0; i < group_by->n; i++) {
		struct str name = ((struct str *)group_by->v)[i], value = {0};

		for (size_t k = 0; k < series->labels.n; k++)
			if (str_eq(labels[k].name, name))
				value = labels[k].value;
		if (!str_eq(value, exemplar_label(e, name)))
			return false;
	}
	return true;
}

/* The last point that is not later; points are in order of time. */
static struct point_message *point_at(const struct points_message *series, int64_t time_ms)
{
	struct point_message *points = series->points.v;
	size_t low = 0, high = series->points.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (points[middle].timestamp <= time_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &points[low - 1] : NULL;
}

static enum err add_exemplars(struct inquiry *q, const struct select_series_request *request,
			      struct arena *scope, struct select_series_reply *reply)
{
	bool spans = request->exemplar_type == EXEMPLARS_OF_SPANS;
	struct points_message *series = reply->series.v;
	const struct list *groups = &request->group_by;
	struct exemplar_question what = {.by_span = spans, .limit = MAX_EXEMPLARS};
	struct exemplar_answer found = {0};
	enum err error;

	if (!spans && request->exemplar_type != EXEMPLARS_OF_PROFILES)
		return ERR_OK;
	error = store_exemplars(q->request->server->store, q->request->tenant, &q->selection, &what,
				&q->ask, &found);
	for (size_t i = 0; error == ERR_OK && i < found.n; i++)
		for (size_t k = 0; error == ERR_OK && k < reply->series.n; k++) {
			struct point_message *point =
				is_of_group(&series[k], &found.v[i], groups)
					? point_at(&series[k], found.v[i].time_ns / NS_PER_MS)
					: NULL;

			if (point)
				error = keep_largest(scope, &found.v[i], groups->v, groups->n,
						     &point->exemplars);
		}
	arena_release(&found.arena);
	return error;
}

static enum err call_select_series(struct request *r, const void *in, void *out,
				   struct arena *scope, struct fault *fault)
{
	const struct select_series_request *request = in;
	struct series_question what = {.group_by = request->group_by.v,
				       .group_count = request->group_by.n,
				       .average = request->aggregation == AGGREGATE_AVERAGE};
	struct series_answer answer = {0};
	struct inquiry q;
	enum err error;

	TRY(check_step(request->step, fault));
	TRY(check_list(&request->group_by, "groupBy", MAX_GROUP_BY, fault));
	what.step_ns = (int64_t)(request->step * NS_PER_S);
	if (request->limit > 0)
		what.limit = request->limit < UINT32_MAX ? (uint32_t)request->limit : UINT32_MAX;
	if (request->stacks) {
		TRY(check_list(&request->stacks->call_site, "callSite", MAX_STACK_FRAMES, fault));
		what.call_site = request->stacks->call_site.v;
		what.call_site_count = request->stacks->call_site.n;
	}
	inquiry_init(&q, r, fault);
	error = inquiry_select_values(&q, request->type, request->selector, request->start,
				      request->end);
	if (error == ERR_OK && what.call_site_count)
		error = inquiry_name(&q);
	what.late = q.late.frames.v;
	what.late_count = q.late.frames.n;
	if (error == ERR_OK)
		error = store_series(r->server->store, r->tenant, &q.selection, &what, &q.ask,
				     &answer);
	if (error == ERR_OK)
		error = fill_series(&answer, scope, out);
	if (error == ERR_OK)
		error = add_exemplars(&q, request, scope, out);
	arena_release(&answer.arena);
	inquiry_release(&q);
	return error;
}

const struct rpc_method method_select_series = {&select_series_request_table,
						&select_series_reply_table, call_select_series};
