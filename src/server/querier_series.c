/*
 * Pyroscope's querier service, the calls that answer over time.
 */
#include <math.h>

#include "base/clock.h"
#include "server/querier.h"

#define MIN_STEP      0.001
#define HEATMAP_ROWS  20
#define MAX_EXEMPLARS 10000
#define MAX_COLUMNS   11000

enum { AGGREGATE_SUM, AGGREGATE_AVERAGE };

static enum err check_step(double step, struct fault *fault)
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
	for (size_t i = 0; i < answer->n; i++)
		TRY(fill_points(&answer->series[i], scope, &out[i]));
	return ERR_OK;
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
	if (error == ERR_OK)
		error = store_series(r->server->store, r->tenant, &q.selection, &what, &q.ask,
				     &answer);
	if (error == ERR_OK)
		error = fill_series(&answer, scope, out);
	arena_release(&answer.arena);
	inquiry_release(&q);
	return error;
}

/* ------------------------------------------------------------------ heat maps */

struct heatmap_scale {
	int64_t from_ms, step_ms;
	size_t columns;
	double low, width; /* of a row */
};

static struct heatmap_scale scale_of(const struct exemplar_answer *points,
				     const struct heatmap_request *request)
{
	struct heatmap_scale s = {.from_ms = request->start > 0 ? request->start : 0,
				  .step_ms = (int64_t)(request->step * 1000)};
	double low = INFINITY, high = -INFINITY;

	s.columns =
		request->end > s.from_ms ? (size_t)((request->end - s.from_ms) / s.step_ms + 1) : 1;
	for (size_t i = 0; i < points->n; i++) {
		low = fmin(low, points->v[i].value);
		high = fmax(high, points->v[i].value);
	}
	s.low = low;
	s.width = (high - low) / HEATMAP_ROWS;
	if (!(s.width > 0))
		s.width = 1;
	return s;
}

static enum err make_slot(struct heatmap_slot *slot, const struct heatmap_scale *s, size_t column,
			  struct arena *scope)
{
	double *low = list_make(&slot->y_min, HEATMAP_ROWS, sizeof(*low), scope);

	if (!low || !list_make(&slot->counts, HEATMAP_ROWS, sizeof(int64_t), scope))
		return ERR_NO_MEMORY;
	slot->timestamp = s->from_ms + (int64_t)column * s->step_ms;
	for (size_t i = 0; i < HEATMAP_ROWS; i++)
		low[i] = s->low + (double)i * s->width;
	return ERR_OK;
}

static void count_point(struct heatmap_slot *slots, const struct heatmap_scale *s,
			const struct exemplar *point)
{
	int64_t column = (point->time_ns / NS_PER_MS - s->from_ms) / s->step_ms;
	int64_t row = (int64_t)((point->value - s->low) / s->width);

	if (column < 0 || (size_t)column >= s->columns)
		return;
	row = row < 0 ? 0 : row >= HEATMAP_ROWS ? HEATMAP_ROWS - 1 : row;
	((int64_t *)slots[column].counts.v)[row]++;
}

static enum err fill_heatmap(const struct exemplar_answer *points,
			     const struct heatmap_request *request, struct arena *scope,
			     struct heatmap_reply *reply)
{
	struct heatmap_scale s = scale_of(points, request);
	struct heatmap_series *series;
	struct heatmap_slot *slots;

	if (!points->n)
		return ERR_OK;
	series = list_make(&reply->series, 1, sizeof(*series), scope);
	if (!series)
		return ERR_NO_MEMORY;
	slots = list_make(&series->slots, s.columns, sizeof(*slots), scope);
	if (!slots)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s.columns; i++)
		TRY(make_slot(&slots[i], &s, i, scope));
	for (size_t i = 0; i < points->n; i++)
		count_point(slots, &s, &points->v[i]);
	return ERR_OK;
}

static enum err call_heatmap(struct request *r, const void *in, void *out, struct arena *scope,
			     struct fault *fault)
{
	const struct heatmap_request *request = in;
	struct exemplar_answer points = {0};
	struct inquiry q;
	enum err error;

	TRY(check_step(request->step, fault));
	if (((double)request->end - (double)request->start) / (request->step * 1000) > MAX_COLUMNS)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the range has more than %d steps; ask for larger ones",
				 MAX_COLUMNS);
	inquiry_init(&q, r, fault);
	error = inquiry_select_values(&q, request->type, request->selector, request->start,
				      request->end);
	if (error == ERR_OK)
		error = store_exemplars(r->server->store, r->tenant, &q.selection,
					request->query_type == 2, MAX_EXEMPLARS, &q.ask, &points);
	if (error == ERR_OK)
		error = fill_heatmap(&points, request, scope, out);
	arena_release(&points.arena);
	inquiry_release(&q);
	return error;
}

const struct rpc_method method_select_series = {&select_series_request_table,
						&select_series_reply_table, call_select_series},
			method_heatmap = {&heatmap_request_table, &heatmap_reply_table,
					  call_heatmap};
