/*
 * vestal status: how a server is doing.
 */
#include <unistd.h>

#include "base/clock.h"
#include "cli/small_answer.h"
#include "cli/client.h"
#include "cli/sink.h"
#include "model/model.h"

struct status_options {
	struct common_options common;
	struct client_options client;
	bool json;
};

static const struct option table[] = {
	{"json", 0, OPT_FLAG, NULL, "the server's response as JSON (docs/json.md)",
	 AT(struct status_options, json), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Server", client_table, AT(struct status_options, client)},
	{"Connection", connection_table, AT(struct status_options, client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal status", "stored profiles, oldest data, disk usage"},
	{"vestal status --json", "for programs"},
	{0},
};

enum {
	UPTIME,
	PROFILES,
	SAMPLES,
	SERIES,
	SERVICES,
	SPANS,
	OLDEST,
	NEWEST,
	DISK,
	FULL,
	STATE,
	FAILS,
	KEPT,
	MOST,
	SUSPENDED,
	UNCOUNTED,
	QUOTA
};

static void line(struct buf *out, const char *name)
{
	buf_printf(out, "%-10s  ", name);
}

static void put_duration(struct buf *out, int64_t ns)
{
	int64_t s = ns / NS_PER_S;

	if (s >= 2 * 86400)
		buf_printf(out, "%lld days", (long long)(s / 86400));
	else if (s >= 2 * 3600)
		buf_printf(out, "%lld hours", (long long)(s / 3600));
	else if (s >= 120)
		buf_printf(out, "%lld minutes", (long long)(s / 60));
	else
		buf_printf(out, "%lld seconds", (long long)s);
}

static void put_bytes(struct buf *out, int64_t bytes)
{
	unit_format(out, (double)bytes, STR("bytes"));
}

static void put_text(const struct answer_field *f, const char *server, struct buf *out)
{
	char oldest[CLOCK_TEXT_SIZE], newest[CLOCK_TEXT_SIZE];

	line(out, "server");
	buf_printf(out, "%s, up for ", server);
	put_duration(out, f[UPTIME].value);
	buf_byte(out, '\n');
	line(out, "profiles");
	buf_printf(out, "%lld of %lld services, %lld series, %lld samples\n",
		   (long long)f[PROFILES].value, (long long)f[SERVICES].value,
		   (long long)f[SERIES].value, (long long)f[SAMPLES].value);
	if (f[SPANS].value) {
		line(out, "spans");
		buf_printf(out, "%lld\n", (long long)f[SPANS].value);
	}
	if (f[NEWEST].value) {
		line(out, "time");
		buf_printf(out, "%s to %s\n", clock_format(f[OLDEST].value, 0, oldest),
			   clock_format(f[NEWEST].value, 0, newest));
	}
	line(out, "disk");
	put_bytes(out, f[DISK].value);
	if (f[MOST].value) {
		buf_text(out, " of at most ");
		put_bytes(out, f[MOST].value);
	}
	if (f[FULL].value)
		buf_printf(out, "; %s: nothing new is taken",
			   f[STATE].text[0] ? f[STATE].text : "it is full");
	buf_byte(out, '\n');
	if (f[QUOTA].value && f[QUOTA].value != f[MOST].value) {
		line(out, "tenant");
		buf_text(out, "at most ");
		put_bytes(out, f[QUOTA].value);
		buf_text(out, "; above, its oldest data is deleted\n");
	}
	if (f[FAILS].value) {
		line(out, "upkeep");
		buf_text(out, "fails and is tried again; vestal status --json has the reason\n");
	}
	line(out, "kept");
	if (f[KEPT].value)
		put_duration(out, f[KEPT].value);
	else
		buf_text(out, "for ever");
	if (f[UNCOUNTED].value) {
		buf_text(out, "; the machine was off for ");
		put_duration(out, f[UNCOUNTED].value);
		buf_text(out, ", which does not count");
	}
	buf_byte(out, '\n');
	if (f[SUSPENDED].text[0])
		buf_printf(out, "%s\n", f[SUSPENDED].text);
}

static int run(struct invocation *in)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c = {0};
	const struct status_options *o = in->options;
	struct answer_field fields[] = {[UPTIME] = {.key = "uptime_ns"},
					[PROFILES] = {.key = "profiles"},
					[SAMPLES] = {.key = "samples"},
					[SERIES] = {.key = "series"},
					[SERVICES] = {.key = "services"},
					[SPANS] = {.key = "spans"},
					[OLDEST] = {.key = "oldest_ns"},
					[NEWEST] = {.key = "newest_ns"},
					[DISK] = {.key = "disk_bytes"},
					[FULL] = {.key = "disk_full"},
					[STATE] = {.key = "disk_state"},
					[FAILS] = {.key = "upkeep_fails"},
					[KEPT] = {.key = "retention_ns"},
					[MOST] = {.key = "max_size"},
					[SUSPENDED] = {.key = "retention_suspended_why"},
					[UNCOUNTED] = {.key = "uncounted_ns"},
					[QUOTA] = {.key = "tenant_max_size"},
					{0}};
	int status;

	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	call_init(&c, &o->client, "/api/v1/status");
	if (o->json)
		call_param_text(&c, "pretty", "true");
	status = client_get(&c, &answer);
	if (status)
		return status;
	if (o->json)
		return answer_print(&answer);
	status = answer_fields(&answer, fields);
	if (status)
		return status;
	call_release(&c);
	call_init(&c, &o->client, "");
	put_text(fields, c.url.data, &out);
	return sink_stdout(&out);
}

const struct command command_status = {
	.name = "status",
	.summary = "show stored data and status of a server",
	.arguments = "",
	.examples = examples,
	.description = "Prints the uptime of the server, the amount of stored data and its time "
		       "range, disk usage, and retention.",
	.groups = groups,
	.options_size = sizeof(struct status_options),
	.words = "",
	.run = run,
};
