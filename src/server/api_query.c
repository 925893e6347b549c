/*
 * /api/v1: queries of profiles.
 */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "format/format.h"
#include "server/amounts.h"
#include "server/api_vft.h"
#include "server/completeness_ask.h"

#define DEFAULT_ROWS 100
#define MAX_ROWS     100000

/* ------------------------------------------------------------------ top */

static void put_top_row(struct jsonout *o, const struct dict *d, const struct top_row *row,
			double total, bool lines, struct buf *name)
{
	const struct frame *f = &d->frames.v[row->frame];

	buf_clear(name);
	frame_label(d, row->frame, name);
	jsonout_object(o);
	jsonout_put_str(o, "name", buf_view(name));
	jsonout_put_str(o, "file", frame_file(d, row->frame));
	if (lines)
		jsonout_put_i64(o, "line", f->line);
	jsonout_put_str(o, "module", frame_module(d, row->frame));
	if (lines && d->mappings.v[f->mapping].build_id)
		jsonout_put_str(o, "build_id", dict_str(d, d->mappings.v[f->mapping].build_id));
	jsonout_put_i64(o, "flat", row->flat[0]);
	jsonout_put_double(o, "flat_share", (double)row->flat[0] / total);
	jsonout_put_i64(o, "cum", row->cum[0]);
	jsonout_put_double(o, "cum_share", (double)row->cum[0] / total);
	jsonout_end_object(o);
}

static enum err put_top(struct inquiry *q, struct jsonout *o, struct top *top, uint32_t rows,
			bool lines)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT((size_t)1 << 22);
	struct amount amount = api_amount(q, top->totals[0]);
	double total = top->totals[0] ? (double)top->totals[0] : 1, broken;

	TRY(profile_broken_share(&q->profile, 0, &broken));
	jsonout_object(o);
	api_head(q, o, "vestal.top/1");
	amount_put(o, &amount);
	jsonout_put_double(o, "broken_share", broken);
	jsonout_put_u64(o, "row_count", top->n);
	jsonout_put_array(o, "rows");
	for (size_t i = 0; i < top->n && i < rows; i++)
		put_top_row(o, &q->dict, &top->rows[i], total, lines, &name);
	jsonout_end_array(o);
	TRY(api_completeness(q, o));
	api_cost(q, o);
	jsonout_end_object(o);
	return buf_error(&name);
}

static enum err answer_top(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	bool lines = parameter_flag(r, "lines");
	struct tree_column column = {&q->profile, 0};
	struct top top;
	uint32_t rows;
	enum err error;

	TRY(parameter_count(r, "limit", DEFAULT_ROWS, 1, MAX_ROWS, &rows, q->fault));
	TRY(api_select(q));
	TRY(api_merge(q));
	TRY(top_build(&column, 1, lines ? TOP_LINES : 0, &top));
	top_sort(&top, &q->dict, 0,
		 str_eq(parameter(r, "sort"), STR("cum")) ? TOP_BY_CUM : TOP_BY_FLAT);
	error = put_top(q, o, &top, rows, lines);
	top_release(&top);
	return error;
}

void api_top(struct request *r)
{
	api_answer(r, answer_top);
}

/* ------------------------------------------------------------------ tree */

/* Columns of the same length: the parent, the name and the values of node i. */
static void put_column(struct jsonout *o, const char *name, const int64_t *values, size_t n)
{
	jsonout_put_array(o, name);
	jsonout_i64s(o, values, n);
	jsonout_end_array(o);
}

static enum err put_names(struct jsonout *o, const struct tree *t)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT((size_t)1 << 22);

	jsonout_put_array(o, "name");
	for (size_t i = 0; i < t->nodes.n; i++) {
		buf_clear(&name);
		if (!i)
			buf_text(&name, "total");
		else if (t->nodes.v[i].frame == TREE_PRUNED)
			buf_text(&name, "other");
		else
			frame_label(t->dict, t->nodes.v[i].frame, &name);
		jsonout_str(o, buf_view(&name));
	}
	jsonout_end_array(o);
	return buf_error(&name);
}

static enum err answer_tree(struct inquiry *q, struct jsonout *o)
{
	struct amount amount;
	int64_t max_nodes;
	double broken;

	TRY(parameter_int(q->request, "max_nodes", 0, &max_nodes, q->fault));
	TRY(api_select(q));
	TRY(api_merge(q));
	TRY(profile_broken_share(&q->profile, 0, &broken));
	TRY(inquiry_tree(q, max_nodes));
	jsonout_object(o);
	api_head(q, o, "vestal.tree/1");
	/* The total is that of node 0. */
	amount = api_amount(q, q->tree.total[0]);
	amount_put_rates(o, &amount);
	jsonout_put_double(o, "broken_share", broken);
	jsonout_put_u64(o, "pruned_nodes", q->tree.pruned_nodes);
	jsonout_put_double(o, "pruned_share", q->tree.pruned_share);
	jsonout_put_array(o, "parent");
	for (size_t i = 0; i < q->tree.nodes.n; i++)
		jsonout_i64(o, i ? (int64_t)q->tree.nodes.v[i].parent : -1);
	jsonout_end_array(o);
	TRY(put_names(o, &q->tree));
	put_column(o, "self", q->tree.self, q->tree.nodes.n);
	put_column(o, "total", q->tree.total, q->tree.nodes.n);
	TRY(api_completeness(q, o));
	api_cost(q, o);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_tree(struct request *r)
{
	struct fault fault = {0};
	bool vft;
	enum err error = vft_wanted(r, &vft, &fault);

	if (error != ERR_OK)
		request_fail(r, error, &fault);
	else if (vft)
		api_tree_vft(r);
	else
		api_answer(r, answer_tree);
}

/* ------------------------------------------------------------------ series */

static enum err read_series(struct inquiry *q, struct series_question *what)
{
	struct request *r = q->request;
	struct str *groups;
	int64_t step = (q->selection.until_ns - q->selection.from_ns) / 240;

	TRY(parameter_list(r, "by", &groups, &what->group_count, q->fault));
	what->group_by = groups;
	TRY(parameter_count(r, "limit", 0, 0, MAX_ROWS, &what->limit, q->fault));
	TRY(parameter_duration(r, "step", api_step(step), &what->step_ns, q->fault));
	what->average = str_eq(parameter(r, "aggregate"), STR("avg"));
	what->force_sum = str_eq(parameter(r, "aggregate"), STR("sum"));
	what->function = parameter(r, "function");
	what->function_self = parameter_flag(r, "self");
	return ERR_OK;
}

/* If `aggregate` overrides the default, return what was requested. */
static bool is_mean(const struct inquiry *q, const struct series_question *what)
{
	return what->average || (type_id_is_gauge(q->selection.type) && !what->force_sum);
}

static void put_one_series(const struct inquiry *q, const struct series_question *what,
			   const struct series_points *s, struct jsonout *o)
{
	bool mean = is_mean(q, what);
	struct amount amount = points_amount(s, mean, q->selection.until_ns - q->selection.from_ns);

	jsonout_object(o);
	api_labels(o, s->labels, s->label_count);
	if (s->other)
		jsonout_put_bool(o, "other", true);
	amount_put(o, &amount);
	jsonout_put_i64(o, "start_ns", s->n ? s->points[0].time_ns : 0);
	api_points(o, "values", s, 0);
	api_covered(o, s, 0);
	jsonout_end_object(o);
}

static enum err answer_series(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct series_question what = {0};
	struct series_answer answer = {0};
	enum err error;

	TRY(api_select(q));
	TRY(inquiry_need_type(q));
	TRY(read_series(q, &what));
	if (what.function.n)
		TRY(inquiry_name(q));
	what.late = q->late.frames.v;
	what.late_count = q->late.frames.n;
	TRY(store_series(r->server->store, r->tenant, &q->selection, &what, &q->ask, &answer));
	jsonout_object(o);
	api_head(q, o, "vestal.series/1");
	jsonout_put_i64(o, "step_ns", what.step_ns);
	jsonout_put_text(o, "aggregate", is_mean(q, &what) ? "gauge" : "sum");
	jsonout_put_array(o, "series");
	for (size_t i = 0; i < answer.n; i++)
		put_one_series(q, &what, &answer.series[i], o);
	jsonout_end_array(o);
	error = api_completeness(q, o);
	api_cost(q, o);
	jsonout_end_object(o);
	arena_release(&answer.arena);
	return error;
}

void api_series(struct request *r)
{
	api_answer(r, answer_series);
}

/* ------------------------------------------------------------------ heat map */

static enum err answer_heatmap(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct heatmap_answer map = {0};
	int64_t column_ns, row_ns;
	enum err error;

	TRY(parameter_duration(r, "column", NS_PER_S, &column_ns, q->fault));
	TRY(parameter_duration(r, "row", 20 * NS_PER_MS, &row_ns, q->fault));
	TRY(api_select(q));
	TRY(inquiry_need_type(q));
	TRY(store_heatmap(r->server->store, r->tenant, &q->selection, column_ns, row_ns, &q->ask,
			  &map));
	jsonout_object(o);
	api_head(q, o, "vestal.heatmap/1");
	jsonout_put_i64(o, "column_ns", column_ns);
	jsonout_put_i64(o, "row_ns", row_ns);
	jsonout_put_u64(o, "columns", map.columns);
	jsonout_put_u64(o, "rows", map.rows);
	jsonout_put_u64(o, "untimed", map.untimed);
	put_column(o, "cells", map.cells, map.columns * map.rows);
	error = api_completeness(q, o);
	api_cost(q, o);
	jsonout_end_object(o);
	mem_free(map.cells);
	return error;
}

void api_heatmap(struct request *r)
{
	api_answer(r, answer_heatmap);
}

/* ------------------------------------------------------------------ export */

/* A file has no member for it: a comment says what arrived. */
static enum err note_completeness(struct inquiry *q)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT((size_t)1 << 14);
	struct str type = type_split(q->selection.type).sample_type;
	struct completeness c;
	uint32_t comment;

	TRY(inquiry_completeness(q, &c));
	completeness_comment(&c, completeness_measure(type), &line);
	TRY(buf_error(&line));
	if (!line.n)
		return ERR_OK;
	TRY(dict_string(&q->dict, buf_view(&line), &comment));
	return vec_push(&q->profile.comments, comment);
}

/*
 * The duration is the covered time, so that programs that divide by it compute the rate; the
 * requested range is in a comment that `vestal` parses.
 */
static enum err note_range(struct inquiry *q)
{
	char text[160];
	uint32_t id;

	if (q->covered_ns > 0)
		q->profile.duration_ns = q->covered_ns;
	snprintf(text, sizeof(text), RANGE_COMMENT, (long long)q->selection.from_ns,
		 (long long)q->selection.until_ns, (long long)q->covered_ns);
	TRY(dict_string(&q->dict, str_of(text), &id));
	return vec_push(&q->profile.comments, id);
}

/* Any format the file tool writes. */
static enum err write_export(struct inquiry *q, const struct format *f, struct buf *out)
{
	struct profile *one = &q->profile;
	struct profile_list list = {.v = &one, .n = 1};
	struct str title = parameter(q->request, "query");
	struct writing w = {.list = &list, .type = -1, .compress = -1};
	enum err error;

	w.title = arena_copy(&q->request->x->arena, title);
	if (!w.title)
		return ERR_NO_MEMORY;
	error = format_write(f, &w, out);
	if (error != ERR_OK && w.fault.text[0])
		*q->fault = w.fault;
	notes_release(&w.notes);
	return error;
}

static enum err answer_export(struct inquiry *q, const struct format *f, struct buf *out)
{
	if (!f || !f->write)
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "format is one of pprof, otlp, otlp-json, folded, speedscope, "
				 "html, svg, pgo, autofdo");
	TRY(api_select(q));
	TRY(api_merge(q));
	TRY(note_completeness(q));
	if (f->id == FORMAT_PPROF)
		TRY(note_range(q));
	return write_export(q, f, out);
}

static const char *content_type(const struct format *f)
{
	switch (f->id) {
	case FORMAT_HTML:
		return "text/html; charset=utf-8";
	case FORMAT_SVG:
		return "image/svg+xml";
	case FORMAT_SPEEDSCOPE:
	case FORMAT_OTLP_JSON:
		return "application/json";
	default:
		return f->binary ? "application/octet-stream" : "text/plain; charset=utf-8";
	}
}

void api_export(struct request *r)
{
	struct str name = parameter(r, "format");
	const struct format *f = format_by_name(name.n ? name : STR("pprof"));
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct fault fault = {0};
	struct inquiry q;
	enum err error;

	inquiry_init(&q, r, &fault);
	error = answer_export(&q, f, &out);
	inquiry_release(&q);
	if (error == ERR_OK)
		request_reply(r, 200, content_type(f), &out);
	else
		request_fail(r, error, &fault);
	buf_release(&out);
}
