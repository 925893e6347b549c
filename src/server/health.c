/*
 * For those who watch the server: is it up, is it able to take data, what does it count.
 */
#include "server/access.h"
#include "server/routes.h"

static void handle_healthy(struct request *r)
{
	request_reply_text(r, 200, "text/plain; charset=utf-8", STR("ok\n"));
}

/* Ready means: writes are taken. A full disk is not ready, but healthy. */
static void handle_ready(struct request *r)
{
	struct store_stats stats = {0};

	if (store_stats(r->server->store, STR(DEFAULT_TENANT), &stats) == ERR_OK && stats.full)
		request_reply_text(
			r, 503, "text/plain; charset=utf-8",
			STR("the disk is full: writes are refused, questions answered\n"));
	else
		request_reply_text(r, 200, "text/plain; charset=utf-8", STR("ready\n"));
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
