/*
 * vestal agent: profile everything on this machine, all the time, and send it somewhere.
 */
#include <signal.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "cli/agent_child.h"
#include "cli/agent_sending.h"
#include "cli/serve.h"

struct agent_options {
	struct common_options common;
	struct sending_options sending;
	const char *types, *log_level;
	int64_t rate;
	double interval;
};

static const struct option table[] = {
	{"rate", 'F', OPT_NUMBER, "HZ", "samples a second and processor (97)",
	 AT(struct agent_options, rate), NULL},
	{"interval", 0, OPT_REAL, "SECONDS", "length of a window (15)",
	 AT(struct agent_options, interval), NULL},
	{"type", 0, OPT_TEXT, "TYPES", "cpu, offcpu, lock, wall, with commas (cpu)",
	 AT(struct agent_options, types), NULL},
	{"log-level", 0, OPT_CHOICE, "LEVEL", "what to log (info)",
	 AT(struct agent_options, log_level), "debug info warn error off"},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Server", sending_table, AT(struct agent_options, sending)},
	{"Queue", queue_table, AT(struct agent_options, sending)},
	{"Privacy", privacy_table, AT(struct agent_options, sending)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal agent", "to a server on this machine"},
	{"vestal agent --server https://profiles.example:4318 -F 49", "to another, more sparingly"},
	{"vestal agent --type cpu,offcpu", "with what threads wait for"},
	{0},
};

static void set_defaults(void *options)
{
	struct agent_options *o = options;

	o->types = "cpu";
	o->log_level = "info";
	o->rate = 97;
	o->interval = 15;
}

static int run(struct invocation *in)
{
	const struct agent_options *o = in->options;
	struct daemon_options d = daemon_options_default;
	int status;

	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	if (o->rate < 1 || o->rate > 5000)
		return complain_usage(in, "-F takes 1 to 5000");
	if (o->interval < 1 || o->interval > 3600)
		return complain_usage(in, "--interval takes 1 to 3600 seconds");
	d.capture = capture_options_default;
	status = capture_types_read(in, o->types, &d.capture.kernel.types);
	if (status)
		return status;
	d.capture.kernel.rate_hz = (u32)o->rate;
	d.interval_ns = (int64_t)(o->interval * 1e9);
	status = sending_apply(in, &o->sending, &d);
	if (status)
		return status;
	serve_log(o->log_level, "logfmt");
	return agent_serve(&o->common, &d);
}

const struct command command_agent = {
	.name = "agent",
	.summary = "profile every process on this machine, all the time",
	.arguments = "",
	.examples = examples,
	.description =
		"Samples the stacks of everything that runs, names them, and sends them as OTLP "
		"profiles, a window every 15 seconds. Programs need no preparation. The service is "
		"what OTEL_SERVICE_NAME says in a process's environment, else its systemd unit, "
		"else "
		"its program. What cannot be delivered waits and is sent later; the last window is "
		"sent on SIGTERM.\n\n"
		"Needs root, or CAP_BPF and CAP_PERFMON.",
	.groups = groups,
	.options_size = sizeof(struct agent_options),
	.defaults = set_defaults,
	.words = "",
	.run = run,
};
