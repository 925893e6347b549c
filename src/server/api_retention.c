/*
 * /api/v1/retention: what is kept, for how long and how much of it, whether the clock is trusted,
 * and an operator's word that it is right.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/access.h"
#include "server/api.h"
#include "server/store_events.h"

void api_put_deleted(const struct store_stats *s, struct jsonout *o)
{
	jsonout_put_object(o, "deleted");
	for (unsigned i = 0; i < STORE_DELETED_WHYS_; i++) {
		jsonout_put_object(o, store_deleted_text((enum store_deleted_why)i));
		jsonout_put_u64(o, "times", s->deleted[i].times);
		jsonout_put_u64(o, "bytes", s->deleted[i].bytes);
		jsonout_put_u64(o, "count", s->deleted[i].count);
		jsonout_end_object(o);
	}
	jsonout_end_object(o);
}

void api_put_state(struct request *r, struct jsonout *o)
{
	struct buf text = BUF_INIT(1024);
	struct store_state state;

	store_state(r->server->store, &state);
	store_events_clock_text(&state.clock, &text);
	jsonout_put_text(o, "disk_state", store_disk_text(state.disk.state));
	jsonout_put_bool(o, "retention_suspended", state.clock.trust != STORE_CLOCK_TRUSTED);
	jsonout_put_str(o, "retention_suspended_why", buf_view(&text));
	jsonout_put_i64(o, "clock_off_by_ns", state.clock.off_by_ns);
	jsonout_put_i64(o, "uncounted_ns", state.clock.uncounted_ns);
	buf_release(&text);
	if (!access_is_operator(r))
		return;
	jsonout_put_u64(o, "disk_free_bytes", state.disk.free_bytes);
	jsonout_put_u64(o, "disk_total_bytes", state.disk.total_bytes);
	jsonout_put_u64(o, "disk_reserve_bytes", state.disk.reserve_bytes);
}

static enum err put_tenant(struct request *r, struct str tenant, struct jsonout *o)
{
	struct store_stats s;

	TRY(store_stats(r->server->store, tenant, &s));
	jsonout_object(o);
	jsonout_put_str(o, "tenant", tenant);
	jsonout_put_u64(o, "disk_bytes", s.disk_bytes);
	jsonout_put_u64(o, "max_size", s.max_size);
	jsonout_put_i64(o, "oldest_ns", s.oldest_ns);
	jsonout_put_i64(o, "newest_ns", s.newest_ns);
	api_put_deleted(&s, o);
	jsonout_end_object(o);
	return ERR_OK;
}

/* An operator sees all of them. */
static enum err put_tenants(struct request *r, struct jsonout *o)
{
	struct text_answer tenants = {0};
	enum err error = ERR_OK;

	jsonout_put_array(o, "tenants");
	if (!access_is_operator(r)) {
		error = put_tenant(r, r->tenant, o);
	} else {
		TRY(store_tenants(r->server->store, &tenants));
		for (size_t i = 0; !error && i < tenants.n; i++)
			error = put_tenant(r, tenants.v[i], o);
		arena_release(&tenants.arena);
	}
	jsonout_end_array(o);
	return error;
}

static enum err answer_retention(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	const struct store_options *s = &r->server->options.store;

	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.retention/1");
	jsonout_put_i64(o, "retention_ns", s->retention_ns);
	jsonout_put_i64(o, "span_retention_ns", s->span_retention_ns);
	jsonout_put_u64(o, "max_size", s->max_size);
	api_put_state(r, o);
	TRY(put_tenants(r, o));
	jsonout_end_object(o);
	return ERR_OK;
}

void api_retention(struct request *r)
{
	api_answer(r, answer_retention);
}

static enum err answer_confirm(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	char now[CLOCK_TEXT_SIZE], off[24];
	struct store_state state;

	if (!access_is_operator(r))
		return fault_set(
			q->fault, ERR_NO_PERMISSION,
			"the clock is that of all tenants: this requires the right \"admin\" of "
			"the tenant " DEFAULT_TENANT);
	store_state(r->server->store, &state);
	clock_format(clock_wall_ns(), 0, now);
	snprintf(off, sizeof(off), "%lld", (long long)state.clock.off_by_ns);
	TRY(request_audit(r, "confirm clock",
			  (struct audit_pair[]){{"clock", str_of(now)}, {"off_by_ns", str_of(off)}},
			  2, q->fault));
	store_clock_confirm(r->server->store);
	log_info("clock confirmed", log_text("clock", now),
		 log_i64("off_by_ns", state.clock.off_by_ns), log_str("peer", r->x->peer));
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.retention-confirmed/1");
	jsonout_put_text(o, "clock", now);
	jsonout_put_i64(o, "off_by_ns", state.clock.off_by_ns);
	jsonout_put_i64(o, "uncounted_ns", state.clock.uncounted_ns);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_retention_confirm(struct request *r)
{
	api_answer(r, answer_confirm);
}
