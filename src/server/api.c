#include "server/api.h"

#include "base/clock.h"
#include "server/cells.h"
#include "server/filters.h"
#include "server/routes.h"

/* Adds the damaged parts as another member of the response object. */
static enum err put_damaged(const struct request *r, struct buf *out,
			    const struct damage_notes *notes)
{
	CLEANUP(buf_release) struct buf list = BUF_INIT(64u << 10);
	struct jsonout o = jsonout_of(&list, false);
	unsigned named = notes->n < DAMAGE_NOTES ? notes->n : DAMAGE_NOTES;

	jsonout_array(&o);
	for (unsigned i = 0; i < named; i++) {
		struct fault room;

		jsonout_text(&o, request_text(r, notes->v[i].text, &room));
	}
	jsonout_end_array(&o);
	TRY(buf_error(&list));
	while (out->n && out->data[out->n - 1] != '}')
		out->n--;
	out->n -= out->n > 0;
	buf_printf(out, ",\"damaged_parts\":%u,\"damaged\":", notes->n);
	buf_str(out, buf_view(&list));
	buf_byte(out, '}');
	return buf_error(out);
}

/* Do not report "not found" if a part could not be read. */
static enum err damaged_instead(enum err error, const struct damage_notes *notes,
				struct fault *fault)
{
	if (error != ERR_NOT_FOUND || !notes->n)
		return error;
	*fault = notes->v[0];
	return ERR_DAMAGED;
}

void api_answer(struct request *r, enum err (*answer)(struct inquiry *q, struct jsonout *o))
{
	struct damage_notes notes = {0};
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct jsonout o = jsonout_of(&out, parameter_flag(r, "pretty"));
	struct fault fault = {0};
	struct inquiry q;
	enum err error;

	if (parameter_flag(r, "partial"))
		r->damage = &notes;
	inquiry_init(&q, r, &fault);
	error = answer(&q, &o);
	if (error == ERR_OK)
		error = buf_error(&out);
	inquiry_release(&q);
	if (error == ERR_OK && r->damage)
		error = put_damaged(r, &out, &notes);
	error = damaged_instead(error, &notes, &fault);
	r->damage = NULL;
	if (error == ERR_OK)
		request_reply_json(r, &out);
	else
		request_fail(r, error, &fault);
	buf_release(&out);
}

enum err api_select(struct inquiry *q)
{
	struct request *r = q->request;

	return inquiry_select_asked(q, parameter(r, "query"), parameter(r, "type"), "from",
				    "until");
}

enum err api_select_side(struct inquiry *q, const char *query, const char *from, const char *until,
			 struct str type)
{
	struct request *r = q->request;
	bool own = parameter(r, from).n > 0;

	return inquiry_select_asked(q, parameter(r, query), type, own ? from : "from",
				    own ? until : "until");
}

enum err api_merge(struct inquiry *q)
{
	struct filters filters;
	struct time_span *times = NULL;
	size_t n = 0;
	enum err error = filters_read(q->request, &filters, q->fault);

	if (error == ERR_OK)
		error = cells_read(q->request, parameter(q->request, "cells"), &times, &n,
				   q->fault);
	if (error == ERR_OK) {
		inquiry_limit_times(q, times, n);
		error = inquiry_merge(q, filters.labels, filters.label_count);
	}
	if (error == ERR_OK)
		error = filters_apply(&filters, &q->profile, q->fault);
	filters_release(&filters);
	return error;
}

void api_head(const struct inquiry *q, struct jsonout *o, const char *schema)
{
	jsonout_put_text(o, "schema", schema);
	if (q->selection.type.n) {
		jsonout_put_str(o, "type", q->selection.type);
		jsonout_put_str(o, "unit", type_split(q->selection.type).sample_unit);
	}
	jsonout_put_i64(o, "from_ns", q->selection.from_ns);
	jsonout_put_i64(o, "until_ns", q->selection.until_ns);
}

void api_cost(const struct inquiry *q, struct jsonout *o)
{
	jsonout_put_object(o, "read");
	jsonout_put_u64(o, "chunks", q->ask.chunks);
	jsonout_put_u64(o, "blocks", q->ask.blocks);
	jsonout_put_u64(o, "rollups", q->ask.rollups);
	jsonout_put_u64(o, "rows", q->ask.rows);
	jsonout_put_u64(o, "bytes", q->ask.bytes);
	jsonout_end_object(o);
}

/* Sums are written exactly. */
static void put_point(struct jsonout *o, const struct point *p)
{
	if (p->value == (double)p->sum)
		jsonout_i64(o, p->sum);
	else
		jsonout_double(o, p->value);
}

void api_points(struct jsonout *o, const char *key, const struct series_points *s, size_t first)
{
	jsonout_put_array(o, key);
	for (size_t i = first; i < s->n; i++)
		put_point(o, &s->points[i]);
	jsonout_end_array(o);
}

void api_covered(struct jsonout *o, const struct series_points *s, size_t first)
{
	jsonout_put_array(o, "covered");
	if (s->n > first)
		jsonout_i64s(o, s->covered + first, s->n - first);
	jsonout_end_array(o);
}

int64_t api_step(int64_t ns)
{
	return ns < NS_PER_S ? NS_PER_S : ns / NS_PER_S * NS_PER_S;
}

void api_labels(struct jsonout *o, const struct label_pair *labels, size_t n)
{
	jsonout_put_object(o, "labels");
	for (size_t i = 0; i < n; i++) {
		jsonout_key(o, labels[i].name);
		jsonout_str(o, labels[i].value);
	}
	jsonout_end_object(o);
}

#define ASK (ROUTE_READ | ROUTE_WORKER)

const struct route api_routes[] = {
	{"GET", "/api/v1/top", ASK, "api_top", api_top, NULL},
	{"GET", "/api/v1/tree", ASK, "api_tree", api_tree, NULL},
	{"POST", "/api/v1/view", ROUTE_READ | ROUTE_WORKER | ROUTE_BODY, "api_view", api_view,
	 NULL},
	{"GET", "/api/v1/series", ASK, "api_series", api_series, NULL},
	{"GET", "/api/v1/heatmap", ASK, "api_heatmap", api_heatmap, NULL},
	{"GET", "/api/v1/diff", ASK, "api_diff", api_diff, NULL},
	{"GET", "/api/v1/change", ASK, "api_change", api_rate_change, NULL},
	{"GET", "/api/v1/export", ASK, "api_export", api_export, NULL},
	{"GET", "/api/v1/services", ASK, "api_services", api_services, NULL},
	{"GET", "/api/v1/types", ASK, "api_types", api_types, NULL},
	{"GET", "/api/v1/labels", ASK, "api_labels", api_label_names, NULL},
	{"GET", "/api/v1/labels/*", ASK, "api_label_values", api_label_values, NULL},
	{"GET", "/api/v1/overview", ASK, "api_overview", api_overview, NULL},
	{"GET", "/api/v1/changes", ASK, "api_changes", api_changes, NULL},
	{"GET", "/api/v1/function", ASK, "api_function", api_function, NULL},
	{"GET", "/api/v1/source", ASK, "api_source", api_source, NULL},
	{"GET", "/api/v1/agents", ASK, "api_agents", api_agents, NULL},
	{"GET", "/api/v1/tokens", ROUTE_ADMIN | ROUTE_WORKER, "api_tokens", api_tokens, NULL},
	{"GET", "/api/v1/spans", ASK, "api_spans", api_spans, NULL},
	{"GET", "/api/v1/status", ASK, "api_status", api_status, NULL},
	{"GET", "/api/v1/status/buildinfo", ROUTE_READ, "api_buildinfo", api_buildinfo, NULL},
	{"GET", "/api/v1/retention", ASK, "api_retention", api_retention, NULL},
	{"POST", "/api/v1/retention/confirm", ROUTE_ADMIN | ROUTE_WORKER, "api_retention_confirm",
	 api_retention_confirm, NULL},
	{"POST", "/api/v1/delete", ROUTE_ADMIN | ROUTE_WORKER, "api_delete", api_delete, NULL},
	{"POST", "/api/v1/backup", ROUTE_ADMIN | ROUTE_WORKER, "api_backup", api_backup, NULL},
	{"GET", "/api/v1/backup/file", ROUTE_ADMIN | ROUTE_WORKER, "api_backup_file",
	 api_backup_file, NULL},
	{"POST", "/api/v1/backup/end", ROUTE_ADMIN | ROUTE_WORKER, "api_backup_end", api_backup_end,
	 NULL},
	{"GET", "/api/v1/symbols", ROUTE_READ | ROUTE_WORKER, "api_symbols", api_symbols_list,
	 NULL},
	{"POST", "/api/v1/symbols/upload", ROUTE_WRITE | ROUTE_WORKER, "api_symbols_upload",
	 api_symbols_upload, NULL},
	{"POST", "/api/v1/symbols/delete", ROUTE_ADMIN | ROUTE_WORKER, "api_symbols_delete",
	 api_symbols_delete, NULL},
	{"POST", "/api/v1/profiles", ROUTE_WRITE, "api_profiles", api_upload, NULL},
	{0},
};
