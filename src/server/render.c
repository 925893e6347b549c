/*
 * Pyroscope's older API over GET: /render, /render-diff and /label-values, in the shape its clients
 * and Grafana's apps read.
 */
#include <math.h>

#include "base/clock.h"
#include "base/jsonout.h"
#include "server/call_graph.h"
#include "server/completeness_ask.h"
#include "server/parameters.h"
#include "server/inquiry.h"
#include "server/routes.h"

static const int64_t steps_s[] = {15,	 20,	30,	60,	 120,	  300,	 600,
				  900,	 1200,	1800,	3600,	 7200,	  10800, 21600,
				  43200, 86400, 604800, 2592000, 31536000};

/* A fifteen-hundredth of the range, rounded up to a step people can read. */
static int64_t timeline_step(int64_t from_ns, int64_t until_ns)
{
	int64_t want = (until_ns - from_ns) / NS_PER_S / 1500;
	size_t last = sizeof(steps_s) / sizeof(*steps_s) - 1, i = 0;

	while (i < last && steps_s[i] < want)
		i++;
	return steps_s[i] * NS_PER_S;
}

static void put_flamebearer(struct jsonout *o, const struct flamebearer *f)
{
	jsonout_put_object(o, "flamebearer");
	jsonout_put_array(o, "names");
	for (size_t i = 0; i < f->name_count; i++)
		jsonout_str(o, f->names[i]);
	jsonout_end_array(o);
	jsonout_put_array(o, "levels");
	for (size_t i = 0; i < f->levels; i++) {
		jsonout_array(o);
		jsonout_i64s(o, f->values + f->begin[i], f->begin[i + 1] - f->begin[i]);
		jsonout_end_array(o);
	}
	jsonout_end_array(o);
	jsonout_put_i64(o, "numTicks", f->total);
	jsonout_put_i64(o, "maxSelf", f->max_self);
	jsonout_end_object(o);
}

static const char *units_of(struct type_parts type)
{
	static const char *const objects[] = {"inuse_objects", "alloc_objects", "goroutine",
					      "goroutines", "samples"};

	if (str_eq(type.sample_type, STR("cpu")))
		return "samples";
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		if (str_eq(type.sample_type, str_of(objects[i])))
			return "objects";
	return NULL;
}

static void put_metadata(struct jsonout *o, struct str type_id, bool two)
{
	struct type_parts type = type_split(type_id);
	const char *units = units_of(type);

	jsonout_put_object(o, "metadata");
	jsonout_put_text(o, "format", two ? "double" : "single");
	jsonout_put_text(o, "spyName", "");
	jsonout_put_i64(o, "sampleRate", str_eq(type.sample_type, STR("cpu")) ? 1000000000 : 100);
	if (units)
		jsonout_put_text(o, "units", units);
	else
		jsonout_put_str(o, "units", type.sample_unit);
	jsonout_put_str(o, "name", type.sample_type);
	jsonout_end_object(o);
}

static void put_timeline(struct jsonout *o, const struct series_points *series, int64_t from_ns,
			 int64_t step_ns)
{
	int64_t start =
		series && series->n ? series->points[0].time_ns : from_ns / step_ns * step_ns;

	jsonout_put_i64(o, "startTime", start / NS_PER_S);
	jsonout_put_array(o, "samples");
	for (size_t i = 0; series && i < series->n; i++)
		jsonout_i64(o, isnan(series->points[i].value) ? 0
			       : series->points[i].value == (double)series->points[i].sum
				       ? series->points[i].sum
				       : llround(series->points[i].value));
	jsonout_end_array(o);
	jsonout_put_i64(o, "durationDelta", step_ns / NS_PER_S);
	jsonout_key(o, STR("watermarks"));
	jsonout_null(o);
}

/* ------------------------------------------------------------------ /render */

struct render {
	struct inquiry question;
	int64_t from_ns, until_ns, max_nodes, step_ns;
	struct str group_by;
	bool average, dot;
};

static enum err read_max_nodes(struct request *r, int64_t *ret, struct fault *fault)
{
	/* One that is no number counts as none, as in Pyroscope. */
	*ret = 0;
	if (parameter_int(r, "max-nodes", 0, ret, NULL) == ERR_OK && *ret)
		return ERR_OK;
	if (parameter_int(r, "maxNodes", 0, ret, NULL) != ERR_OK)
		*ret = 0;
	return *ret >= 0 ? ERR_OK : fault_set(fault, ERR_BAD_ARGUMENT, "maxNodes is negative");
}

/* Both must be said, and 0 is not said. */
static enum err read_range(struct request *r, const char *from, const char *until,
			   int64_t *ret_from, int64_t *ret_until, struct fault *fault)
{
	*ret_from = *ret_until = 0;
	if (parameter(r, from).n && parameter(r, until).n)
		TRY(parameter_range(r, from, until, ret_from, ret_until, fault));
	if (*ret_from && *ret_until)
		return ERR_OK;
	return fault_set(fault, ERR_BAD_ARGUMENT, "%s and %s are missing", from, until);
}

static enum err read_render(struct render *p, struct request *r, struct fault *fault)
{
	struct str *groups;
	size_t group_count;

	if (!parameter(r, "query").n)
		return fault_set(fault, ERR_BAD_ARGUMENT, "query is missing");
	TRY(read_range(r, "from", "until", &p->from_ns, &p->until_ns, fault));
	TRY(read_max_nodes(r, &p->max_nodes, fault));
	TRY(parameter_list(r, "groupBy", &groups, &group_count, fault));
	if (group_count)
		p->group_by = groups[0];
	p->average = str_eq(parameter(r, "aggregation"), STR("avg"));
	p->dot = str_eq(parameter(r, "format"), STR("dot"));
	p->step_ns = timeline_step(p->from_ns, p->until_ns);
	return inquiry_select_typed(&p->question, parameter(r, "query"), (struct str){0},
				    p->from_ns, p->until_ns);
}

static enum err ask_series(struct render *p, bool grouped, struct series_answer *ret)
{
	struct request *r = p->question.request;
	struct series_question what = {.step_ns = p->step_ns,
				       .average = p->average,
				       .group_by = &p->group_by,
				       .group_count = grouped ? 1 : 0};

	return store_series(r->server->store, r->tenant, &p->question.selection, &what,
			    &p->question.ask, ret);
}

static enum err put_groups(struct jsonout *o, struct render *p)
{
	struct series_answer answer = {0};

	jsonout_put_object(o, "groups");
	if (p->group_by.n) {
		TRY(ask_series(p, true, &answer));
		for (size_t i = 0; i < answer.n; i++) {
			const struct series_points *s = &answer.series[i];

			jsonout_key(o, s->label_count ? s->labels[0].value : STR("*"));
			jsonout_object(o);
			put_timeline(o, s, p->from_ns, p->step_ns);
			jsonout_end_object(o);
		}
		arena_release(&answer.arena);
	}
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err put_render(struct render *p, const struct flamebearer *f, struct buf *out)
{
	struct jsonout o = jsonout_of(out, false);
	struct series_answer answer = {0};

	TRY(ask_series(p, false, &answer));
	jsonout_object(&o);
	jsonout_put_i64(&o, "version", 1);
	put_flamebearer(&o, f);
	put_metadata(&o, p->question.selection.type, false);
	jsonout_put_object(&o, "timeline");
	put_timeline(&o, answer.n ? &answer.series[0] : NULL, p->from_ns, p->step_ns);
	jsonout_end_object(&o);
	arena_release(&answer.arena);
	TRY(put_groups(&o, p));
	jsonout_key(&o, STR("heatmap"));
	jsonout_null(&o);
	jsonout_end_object(&o);
	return buf_error(out);
}

static enum err render_json(struct render *p, struct buf *out)
{
	struct flamebearer f;
	enum err error;

	TRY(flamebearer_build(&p->question.tree, &f));
	error = put_render(p, &f, out);
	flamebearer_release(&f);
	return error;
}

static void handle_render(struct request *r)
{
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct render p = {0};
	struct fault fault = {0};
	enum err error;

	inquiry_init(&p.question, r, &fault);
	error = read_render(&p, r, &fault);
	if (error == ERR_OK)
		error = inquiry_tree(&p.question, p.max_nodes);
	if (error == ERR_OK && p.dot)
		error = call_graph_dot(&p.question.tree, CALL_GRAPH_NODES, &out);
	else if (error == ERR_OK)
		error = render_json(&p, &out);
	inquiry_release(&p.question);
	if (error == ERR_OK)
		request_reply(r, 200, p.dot ? "text/plain; charset=utf-8" : "application/json",
			      &out);
	else
		request_fail(r, error, &fault);
	buf_release(&out);
}

/* ------------------------------------------------------------------ /render-diff */

static enum err select_side(struct inquiry *q, const char *query, const char *from,
			    const char *until)
{
	struct request *r = q->request;
	int64_t from_ns, until_ns;

	if (!parameter(r, query).n)
		return fault_set(q->fault, ERR_BAD_ARGUMENT, "%s is missing", query);
	TRY(read_range(r, from, until, &from_ns, &until_ns, q->fault));
	return inquiry_select_typed(q, parameter(r, query), (struct str){0}, from_ns, until_ns);
}

static enum err put_diff(const struct inquiry *left, const struct tree *tree, struct buf *out)
{
	struct jsonout o = jsonout_of(out, false);
	struct flamebearer f;

	TRY(flamebearer_build(tree, &f));
	jsonout_object(&o);
	jsonout_put_i64(&o, "version", 1);
	put_flamebearer(&o, &f);
	put_metadata(&o, left->selection.type, true);
	jsonout_put_i64(&o, "leftTicks", f.left_total);
	jsonout_put_i64(&o, "rightTicks", f.right_total);
	jsonout_end_object(&o);
	flamebearer_release(&f);
	return buf_error(out);
}

static enum err render_diff(struct inquiry *left, struct inquiry *right, struct buf *out)
{
	struct tree tree = {0};
	int64_t max_nodes;
	enum err error;

	TRY(select_side(left, "leftQuery", "leftFrom", "leftUntil"));
	TRY(select_side(right, "rightQuery", "rightFrom", "rightUntil"));
	if (!str_eq(left->selection.type, right->selection.type))
		return fault_set(left->fault, ERR_BAD_ARGUMENT,
				 "leftQuery and rightQuery have different types");
	TRY(read_max_nodes(left->request, &max_nodes, left->fault));
	error = inquiry_diff_tree(left, right, max_nodes, &tree);
	if (error == ERR_OK)
		error = put_diff(left, &tree, out);
	tree_release(&tree);
	return error;
}

static void handle_render_diff(struct request *r)
{
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct inquiry left, right;
	struct fault fault = {0};
	enum err error;

	inquiry_init(&left, r, &fault);
	inquiry_init(&right, r, &fault);
	error = render_diff(&left, &right, &out);
	inquiry_release(&right);
	inquiry_release(&left);
	if (error == ERR_OK)
		request_reply_json(r, &out);
	else
		request_fail(r, error, &fault);
	buf_release(&out);
}

/* ------------------------------------------------------------------ /label-values */

static enum err list_values(struct request *r, struct inquiry *q, struct text_answer *ret)
{
	struct str label = parameter(r, "label");
	int64_t from = 0, until = INT64_MAX;

	if (!label.n)
		return fault_set(q->fault, ERR_BAD_ARGUMENT, "label is missing");
	if (parameter(r, "from").n)
		TRY(parameter_range(r, "from", "until", &from, &until, q->fault));
	TRY(inquiry_select(q, parameter(r, "query"), (struct str){0}, from, until));
	if (str_eq(label, STR("__name__")))
		return shown_types(r, &q->selection, &q->ask, ret);
	return store_label_values(r->server->store, r->tenant, label, &q->selection, 0, &q->ask,
				  ret);
}

static void handle_label_values(struct request *r)
{
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct text_answer values = {0};
	struct fault fault = {0};
	struct inquiry q;
	enum err error;

	inquiry_init(&q, r, &fault);
	error = list_values(r, &q, &values);
	if (error == ERR_OK) {
		struct jsonout o = jsonout_of(&out, false);

		jsonout_array(&o);
		for (size_t i = 0; i < values.n; i++)
			jsonout_str(&o, values.v[i]);
		jsonout_end_array(&o);
		request_reply_json(r, &out);
	} else {
		request_fail(r, error, &fault);
	}
	arena_release(&values.arena);
	inquiry_release(&q);
	buf_release(&out);
}

#define ASK (ROUTE_READ | ROUTE_WORKER)

const struct route render_routes[] = {
	{"GET", "/render", ASK, "render", handle_render, NULL},
	{"GET", "/render-diff", ASK, "render_diff", handle_render_diff, NULL},
	{"GET", "/label-values", ASK, "label_values", handle_label_values, NULL},
	{0},
};
