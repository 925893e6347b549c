/*
 * Pyroscope's querier service: heat maps of the values that single profiles or spans have. All
 * series of an answer have the same rows.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/exemplars.h"
#include "server/querier.h"

#define HEATMAP_ROWS	20
#define HEATMAP_COLUMNS 11000
#define MAX_GROUPS	1000

enum { HEATMAP_DEFAULT, HEATMAP_OF_PROFILES, HEATMAP_OF_SPANS };

struct heatmap_scale {
	int64_t from_ms, step_ms;
	size_t columns;
	double low, width; /* of a row */
	double *rows;	   /* where each begins */
};

static enum err scale_of(const struct exemplar_answer *points,
			 const struct heatmap_request *request, struct arena *scope,
			 struct heatmap_scale *ret)
{
	struct heatmap_scale s = {.from_ms = request->start > 0 ? request->start : 0,
				  .step_ms = (int64_t)(request->step * 1000)};
	double low = INFINITY, high = -INFINITY;

	s.columns =
		request->end > s.from_ms ? (size_t)((request->end - s.from_ms) / s.step_ms + 1) : 1;
	for (size_t i = 0; i < points->n; i++) {
		low = fmin(low, (double)points->v[i].value);
		high = fmax(high, (double)points->v[i].value);
	}
	s.low = low;
	s.width = (high - low) / HEATMAP_ROWS;
	if (!(s.width > 0))
		s.width = 1;
	s.rows = arena_zalloc(scope, HEATMAP_ROWS, sizeof(*s.rows));
	if (!s.rows)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < HEATMAP_ROWS; i++)
		s.rows[i] = s.low + (double)i * s.width;
	*ret = s;
	return ERR_OK;
}

/* A group of series, in the order in which they came; `total` decides when there is a limit. */
struct heatmap_group {
	struct heatmap_series series;
	const struct exemplar *first;
	double total;
};
struct heatmap_groups {
	struct heatmap_group *v;
	size_t n;
};

static bool same_group(const struct exemplar *a, const struct exemplar *b,
		       const struct list *group_by)
{
	for (size_t i = 0; i < group_by->n; i++) {
		struct str name = ((struct str *)group_by->v)[i];

		if (!str_eq(exemplar_label(a, name), exemplar_label(b, name)))
			return false;
	}
	return true;
}

static enum err name_group(struct heatmap_group *g, const struct list *group_by,
			   struct arena *scope)
{
	struct label_message *labels =
		list_make(&g->series.labels, group_by->n, sizeof(*labels), scope);

	if (!labels)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < group_by->n; i++) {
		labels[i].name = ((struct str *)group_by->v)[i];
		TRY(copy_str(scope, exemplar_label(g->first, labels[i].name), &labels[i].value));
	}
	return ERR_OK;
}

static enum err make_slots(struct heatmap_group *g, const struct heatmap_scale *s,
			   struct arena *scope)
{
	struct heatmap_slot *slots = list_make(&g->series.slots, s->columns, sizeof(*slots), scope);

	if (!slots)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s->columns; i++) {
		slots[i].timestamp = s->from_ms + (int64_t)i * s->step_ms;
		slots[i].y_min = (struct list){s->rows, HEATMAP_ROWS};
		if (!list_make(&slots[i].counts, HEATMAP_ROWS, sizeof(int64_t), scope))
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

static enum err find_group(struct heatmap_groups *groups, const struct exemplar *point,
			   const struct heatmap_scale *s, const struct list *group_by,
			   struct arena *scope, struct heatmap_group **ret, struct fault *fault)
{
	struct heatmap_group *g = NULL;

	for (size_t i = 0; i < groups->n; i++)
		if (same_group(groups->v[i].first, point, group_by)) {
			*ret = &groups->v[i];
			return ERR_OK;
		}
	if (groups->n == MAX_GROUPS)
		return fault_set(fault, ERR_TOO_LARGE, "more than %d series: group by fewer labels",
				 MAX_GROUPS);
	g = &groups->v[groups->n++];
	g->first = point;
	*ret = g;
	TRY(name_group(g, group_by, scope));
	return make_slots(g, s, scope);
}

static enum err count_point(struct heatmap_group *g, const struct heatmap_scale *s,
			    const struct exemplar *point, const struct heatmap_request *request,
			    struct arena *scope)
{
	int64_t column = (point->time_ns / NS_PER_MS - s->from_ms) / s->step_ms;
	int64_t row = (int64_t)((point->value - s->low) / s->width);
	struct heatmap_slot *slot;

	if (column < 0 || (size_t)column >= s->columns)
		return ERR_OK;
	row = row < 0 ? 0 : row >= HEATMAP_ROWS ? HEATMAP_ROWS - 1 : row;
	slot = (struct heatmap_slot *)g->series.slots.v + column;
	((int64_t *)slot->counts.v)[row]++;
	g->total += point->value;
	if (request->exemplar_type < EXEMPLARS_OF_PROFILES)
		return ERR_OK;
	return keep_largest(scope, point, request->group_by.v, request->group_by.n,
			    &slot->exemplars);
}

static int compare_groups(const void *left, const void *right)
{
	const struct heatmap_group *a = left, *b = right;

	return (a->total < b->total) - (a->total > b->total);
}

static enum err answer_groups(struct heatmap_groups *groups, int64_t limit, struct arena *scope,
			      struct heatmap_reply *reply)
{
	struct heatmap_series *series;
	size_t n = groups->n;

	if (limit > 0 && (size_t)limit < n) {
		qsort(groups->v, n, sizeof(*groups->v), compare_groups);
		n = (size_t)limit;
	}
	series = list_make(&reply->series, n, sizeof(*series), scope);
	if (!series)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		series[i] = groups->v[i].series;
	return ERR_OK;
}

static enum err fill_heatmap(const struct exemplar_answer *points,
			     const struct heatmap_request *request, struct arena *scope,
			     struct heatmap_reply *reply, struct fault *fault)
{
	struct heatmap_groups groups = {
		.v = arena_zalloc(scope, MAX_GROUPS, sizeof(struct heatmap_group))};
	struct heatmap_scale s;

	if (!groups.v)
		return ERR_NO_MEMORY;
	if (!points->n)
		return ERR_OK;
	TRY(scale_of(points, request, scope, &s));
	for (size_t i = 0; i < points->n; i++) {
		struct heatmap_group *g = NULL;

		TRY(find_group(&groups, &points->v[i], &s, &request->group_by, scope, &g, fault));
		TRY(count_point(g, &s, &points->v[i], request, scope));
	}
	return answer_groups(&groups, request->limit, scope, reply);
}

static enum err call_heatmap(struct request *r, const void *in, void *out, struct arena *scope,
			     struct fault *fault)
{
	const struct heatmap_request *request = in;
	struct exemplar_answer points = {0};
	struct inquiry q;
	enum err error;

	TRY(check_step(request->step, fault));
	TRY(check_list(&request->group_by, "groupBy", MAX_GROUP_BY, fault));
	if (((double)request->end - (double)request->start) / (request->step * 1000) >
	    HEATMAP_COLUMNS)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the range has more than %d steps; use a larger step",
				 HEATMAP_COLUMNS);
	inquiry_init(&q, r, fault);
	error = inquiry_select_values(&q, request->type, request->selector, request->start,
				      request->end);
	if (error == ERR_OK)
		error = store_exemplars(r->server->store, r->tenant, &q.selection,
					&(struct exemplar_question){
						.by_span = request->query_type == HEATMAP_OF_SPANS,
						.limit = MAX_EXEMPLARS},
					&q.ask, &points);
	if (error == ERR_OK)
		error = fill_heatmap(&points, request, scope, out, fault);
	arena_release(&points.arena);
	inquiry_release(&q);
	return error;
}

const struct rpc_method method_heatmap = {&heatmap_request_table, &heatmap_reply_table,
					  call_heatmap};
