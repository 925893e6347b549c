/*
 * vestal retention: how long a server keeps what, and that its clock is right.
 */
#include "base/clock.h"
#include "cli/client.h"
#include "cli/sink.h"
#include "cli/small_answer.h"
#include "model/model.h"

struct retention_options {
	struct common_options common;
	struct client_options client;
	bool json;
};

static const struct option table[] = {
	{"json", 0, OPT_FLAG, NULL, "the server's response as JSON (docs/json.md)",
	 AT(struct retention_options, json), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Server", client_table, AT(struct retention_options, client)},
	{"Connection", connection_table, AT(struct retention_options, client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal retention", "retention, limits, and whether the clock is trusted"},
	{"vestal retention confirm", "confirm the server's clock: data ages by it again"},
	{0},
};

enum { KEPT, SPANS_KEPT, MOST, SUSPENDED, UNCOUNTED, STATE };

static void put_days(struct buf *out, const char *name, int64_t ns)
{
	const int64_t hours = ns / (3600 * NS_PER_S);

	buf_printf(out, "%-10s  ", name);
	if (!ns)
		buf_text(out, "for ever\n");
	else if (hours % 24)
		buf_printf(out, "%lld hours\n", (long long)hours);
	else
		buf_printf(out, "%lld days\n", (long long)hours / 24);
}

static void put_state(const struct answer_field *f, struct buf *out)
{
	put_days(out, "profiles", f[KEPT].value);
	put_days(out, "spans", f[SPANS_KEPT].value);
	if (f[MOST].value) {
		buf_printf(out, "%-10s  at most ", "disk");
		unit_format(out, (double)f[MOST].value, STR("bytes"));
		buf_byte(out, '\n');
	}
	if (f[UNCOUNTED].value)
		buf_printf(out,
			   "%-10s  %lld hours in which the machine was off do not count; confirm "
			   "makes them count\n",
			   "clock", (long long)(f[UNCOUNTED].value / (3600 * NS_PER_S)));
	if (str_starts(str_of(f[STATE].text), STR("read-only")))
		buf_printf(out, "%-10s  %s\n", "disk", f[STATE].text);
	if (f[SUSPENDED].text[0])
		buf_printf(out, "%s\n", f[SUSPENDED].text);
}

static int show(const struct retention_options *o)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(64u << 20), out = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c = {0};
	struct answer_field fields[] = {[KEPT] = {.key = "retention_ns"},
					[SPANS_KEPT] = {.key = "span_retention_ns"},
					[MOST] = {.key = "max_size"},
					[SUSPENDED] = {.key = "retention_suspended_why"},
					[UNCOUNTED] = {.key = "uncounted_ns"},
					[STATE] = {.key = "disk_state"},
					{0}};
	int status;

	call_init(&c, &o->client, "/api/v1/retention");
	if (o->json)
		call_param_text(&c, "pretty", "true");
	status = client_get(&c, &answer);
	if (!status && o->json)
		return answer_print(&answer);
	if (!status)
		status = answer_fields(&answer, fields);
	if (status)
		return status;
	put_state(fields, &out);
	return sink_stdout(&out);
}

static int confirm(const struct retention_options *o)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c = {0};
	struct answer_field fields[] = {{.key = "clock"}, {0}};
	int status;

	call_init(&c, &o->client, "/api/v1/retention/confirm");
	status = client_post(&c, (struct str){0}, &answer);
	if (!status && o->json)
		return answer_print(&answer);
	if (!status)
		status = answer_fields(&answer, fields);
	if (!status)
		say(&o->common, "the server's clock, %s, is trusted: retention continues",
		    fields[0].text);
	return status;
}

static int run(struct invocation *in)
{
	const struct retention_options *o = in->options;

	if (!in->arguments.n)
		return show(o);
	if (in->arguments.n == 1 && str_eq(str_of(in->arguments.v[0]), STR("confirm")))
		return confirm(o);
	return complain_usage(in, "%s is not understood", in->arguments.v[0]);
}

const struct command command_retention = {
	.name = "retention",
	.summary = "show how long a server keeps data; confirm its clock",
	.arguments = "[confirm]",
	.examples = examples,
	.description =
		"Prints how long profiles and spans are kept, the limit on disk, and whether "
		"deletion by age is suspended.\n\n"
		"A server trusts its wall clock while that advances like the machine's monotonic "
		"clock. After a jump of an hour or more, nothing is deleted by age until the clock "
		"is right again, or you check it and run vestal retention confirm. "
		"Time in which the machine was off does not age data, unless you confirm. "
		"Confirming requires the right \"admin\" of the tenant anonymous and is logged in "
		"audit.log.",
	.groups = groups,
	.options_size = sizeof(struct retention_options),
	.words = "confirm",
	.run = run,
};
