/*
 * For those who watch the server: is it up, is it able to take data, what does it count.
 */
#include "server/access.h"
#include "server/parameters.h"
#include "server/routes.h"
#include "server/store_events.h"

static void handle_healthy(struct request *r)
{
	request_reply_text(r, 200, "text/plain; charset=utf-8", STR("ok\n"));
}

/*
 * Ready means that uploads are accepted; ?for=queries means only that queries work, as they do also
 * on a full disk. The lines after the first are notes for administrators. Uses only state in
 * memory, so that it responds even if the disk hangs.
 */
static void handle_ready(struct request *r)
{
	struct buf out = BUF_INIT(4096), clock = BUF_INIT(1024);
	struct store_state state;
	bool writes, ready;

	store_state(r->server->store, &state);
	writes = state.disk.state == STORE_DISK_OK;
	ready = writes || str_eq(parameter(r, "for"), STR("queries"));
	store_events_clock_text(&state.clock, &clock);
	if (ready)
		buf_text(&out, "ready\n");
	if (!writes)
		buf_printf(&out, "%s: uploads are refused, queries and deletes go on\n",
			   store_disk_text(state.disk.state));
	if (clock.n)
		buf_printf(&out, "%.*s\n", (int)clock.n, clock.data);
	buf_release(&clock);
	request_reply(r, ready ? 200 : 503, "text/plain; charset=utf-8", &out);
}

static void handle_metrics(struct request *r)
{
	struct buf out = BUF_INIT((size_t)16 << 20);

	backups_tidy(r->server->backups);
	metrics_print(r->server, access_sees_server(r) ? (struct str){0} : r->tenant, &out);
	request_reply(r, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}

const struct route health_routes[] = {
	{"GET", "/-/healthy", ROUTE_OPEN, "healthy", handle_healthy, NULL},
	{"GET", "/healthz", ROUTE_OPEN, "healthy", handle_healthy, NULL},
	{"GET", "/ready", ROUTE_OPEN | ROUTE_RESERVE, "ready", handle_ready, NULL},
	{"GET", "/metrics", ROUTE_NUMBERS | ROUTE_RESERVE, "metrics", handle_metrics, NULL},
	{0},
};
