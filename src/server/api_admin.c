/*
 * /api/v1: state of the server, deleting, and uploads of any format.
 */
#include "base/clock.h"
#include "base/log.h"
#include "server/access.h"
#include "server/api.h"
#include "server/scraper.h"
#include "server/upload.h"

/* ------------------------------------------------------------------ status */

/* Of all tenants together, and with paths of this machine in it. */
static void put_store(const struct store_stats *s, struct jsonout *o)
{
	jsonout_put_u64(o, "fresh_chunks", s->fresh_chunks);
	jsonout_put_u64(o, "blocks", s->blocks);
	jsonout_put_u64(o, "rollups", s->rollups);
	jsonout_put_i64(o, "compaction_lag_ns", s->compaction_lag_ns);
	jsonout_put_u64(o, "upkeep_failures", s->upkeep.failures);
	jsonout_put_text(o, "upkeep_last_failure", s->upkeep.last_failure.text);
}

static enum err answer_status(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct store_stats s;

	backups_tidy(r->server->backups);
	TRY(store_stats(r->server->store, r->tenant, &s));
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.status/1");
	jsonout_put_str(o, "tenant", r->tenant);
	api_put_rights(o, r->rights);
	jsonout_put_i64(o, "uptime_ns", clock_monotonic_ns() - r->server->started_ns);
	jsonout_put_u64(o, "profiles", s.profiles);
	jsonout_put_u64(o, "samples", s.rows);
	jsonout_put_u64(o, "series", s.series);
	jsonout_put_u64(o, "services", s.services);
	jsonout_put_u64(o, "spans", s.spans);
	jsonout_put_i64(o, "oldest_ns", s.oldest_ns);
	jsonout_put_i64(o, "newest_ns", s.newest_ns);
	jsonout_put_u64(o, "disk_bytes", s.disk_bytes);
	jsonout_put_u64(o, "dictionary_bytes", s.dictionary_bytes);
	jsonout_put_bool(o, "disk_full", s.full);
	api_put_state(r, o);
	jsonout_put_bool(o, "upkeep_fails", s.upkeep.error != ERR_OK);
	if (access_sees_server(r))
		put_store(&s, o);
	jsonout_put_i64(o, "retention_ns", r->server->options.store.retention_ns);
	jsonout_put_u64(o, "max_size", r->server->options.store.max_size);
	jsonout_put_u64(o, "tenant_max_size", s.max_size);
	api_put_deleted(&s, o);
	mutex_lock(&r->server->scraper_lock);
	scraper_put_status(r->server->scraper, r->tenant, o);
	mutex_unlock(&r->server->scraper_lock);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_status(struct request *r)
{
	api_answer(r, answer_status);
}

/* ------------------------------------------------------------------ buildinfo */

/* In the shape Prometheus has made usual: Grafana looks here. */
static enum err answer_buildinfo(struct inquiry *q, struct jsonout *o)
{
	const char *revision = q->request->server->options.revision;

	jsonout_object(o);
	jsonout_put_text(o, "status", "success");
	jsonout_put_object(o, "data");
	jsonout_put_text(o, "application", "vestal");
	jsonout_put_text(o, "version", VESTAL_VERSION);
	jsonout_put_text(o, "revision", revision ? revision : "");
	jsonout_put_text(o, "compiler", __VERSION__);
	jsonout_end_object(o);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_buildinfo(struct request *r)
{
	api_answer(r, answer_buildinfo);
}

/* ------------------------------------------------------------------ delete */

static enum err answer_delete(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct str query = parameter(r, "query");
	int64_t before = INT64_MAX;
	uint64_t profiles;

	if (!query.n)
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "query is missing; {} deletes everything");
	if (parameter(r, "before").n)
		TRY(when_parse(parameter(r, "before"), clock_wall_ns(), &before, q->fault));
	TRY(inquiry_select(q, query, parameter(r, "type"), 0, before));
	TRY(request_audit(r, "delete",
			  (struct audit_pair[]){{"query", query},
						{"before", parameter(r, "before")}},
			  2, q->fault));
	TRY(store_delete(r->server->store, r->tenant, &q->selection, &q->ask, &profiles));
	log_info("deleted", log_str("tenant", r->tenant), log_str("query", query),
		 log_str("peer", r->x->peer), log_u64("profiles", profiles));
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.deleted/1");
	jsonout_put_u64(o, "profiles", profiles);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_delete(struct request *r)
{
	api_answer(r, answer_delete);
}

/* ------------------------------------------------------------------ uploads */

#define MAX_LABELS 64

struct upload_labels {
	struct label_pair v[MAX_LABELS];
	size_t n;
	struct fault *fault;
};

/* service=x&label=k=v&label=k2=v2 */
static enum err read_label(void *context, struct str name, struct str value)
{
	struct upload_labels *l = context;
	size_t equals = str_find(value, '=');

	if (!str_eq(name, STR("label")) && !str_eq(name, STR("service")))
		return ERR_OK;
	if (l->n >= MAX_LABELS)
		return fault_set(l->fault, ERR_TOO_LARGE, "more than %d labels", MAX_LABELS);
	if (str_eq(name, STR("service"))) {
		l->v[l->n++] = (struct label_pair){STR("service_name"), value};
		return ERR_OK;
	}
	if (equals == value.n || !equals)
		return fault_set(l->fault, ERR_BAD_ARGUMENT, "label=%.*s is not name=value",
				 (int)(value.n < 80 ? value.n : 80), value.p);
	l->v[l->n++] = (struct label_pair){str_n(value.p, equals), str_skip(value, equals + 1)};
	return ERR_OK;
}

/* Notes on changed or dropped data, with counts. */
static void put_notes(const struct notes *notes, struct jsonout *o)
{
	jsonout_put_array(o, "notes");
	vec_for_each (note, &notes->list) {
		jsonout_object(o);
		jsonout_put_text(o, "text", note->text);
		jsonout_put_u64(o, "count", note->count);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
}

static void reply_upload(struct upload *u)
{
	struct buf out = BUF_INIT(8192);
	struct jsonout o = jsonout_of(&out, false);
	struct request *r = u->request;

	jsonout_object(&o);
	jsonout_put_text(&o, "schema", "vestal.upload/1");
	jsonout_put_u64(&o, "profiles", u->receive.result.profiles);
	jsonout_put_u64(&o, "samples", u->receive.result.samples);
	put_notes(&u->receive.result.notes, &o);
	jsonout_end_object(&o);
	notes_release(&u->receive.result.notes);
	request_reply_json(r, &out);
}

static enum err receive_any(struct upload *u, struct fault *fault)
{
	struct request *r = u->request;
	struct upload_labels labels = {.fault = fault};
	struct upload_request in = {.labels = labels.v, .format = parameter(r, "format")};
	int64_t until = 0;

	TRY(http_params(r->x, r->x->query, read_label, &labels));
	in.label_count = labels.n;
	if (parameter(r, "from").n)
		TRY(when_parse(parameter(r, "from"), u->receive.now_ns, &in.time_ns, fault));
	if (parameter(r, "until").n)
		TRY(when_parse(parameter(r, "until"), u->receive.now_ns, &until, fault));
	if (in.time_ns && until > in.time_ns)
		in.duration_ns = until - in.time_ns;
	TRY(request_body(r, &u->plain, &in.body, fault));
	return receive_upload(&u->receive, &in, fault);
}

void api_upload(struct request *r)
{
	struct upload *u = upload_begin(r, reply_upload);
	struct fault fault = {0};

	if (u)
		upload_end(u, receive_any(u, &fault), &fault);
}
