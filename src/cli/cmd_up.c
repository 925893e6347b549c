/*
 * vestal up: everything on this machine with one word.
 */
#include "base/clock.h"
#include "cli/agent_child.h"
#include "cli/serve.h"

struct up_options {
	struct common_options common;
	const char *data, *user, *listen, *otlp_grpc, *otlp_http, *log_level;
	struct text_list allowed_hosts;
	bool memory, self_profile, no_agent;
	size_t memory_limit;
};

static const struct option table[] = {
	{"data", 'd', OPT_TEXT, "DIR", "keep everything in DIR (./" SERVE_DATA ")",
	 AT(struct up_options, data), NULL},
	{"memory", 0, OPT_FLAG, NULL, "keep nothing on disk: all data is lost on exit",
	 AT(struct up_options, memory), NULL},
	{"user", 0, OPT_TEXT, "USER",
	 "user to become when started by root (vestal, or 60590 if there is none); root = stay "
	 "root",
	 AT(struct up_options, user), NULL},
	{"memory-limit", 0, OPT_SIZE, "SIZE", "the server's memory budget",
	 AT(struct up_options, memory_limit), NULL},
	{"no-agent", 0, OPT_FLAG, NULL, "do not profile this machine's processes",
	 AT(struct up_options, no_agent), NULL},
	{"listen", 'l', OPT_TEXT, "ADDRESS", "API and pages (" SERVE_LISTEN ")",
	 AT(struct up_options, listen), NULL},
	{"otlp-grpc", 0, OPT_TEXT, "ADDRESS", "OTLP over gRPC (" SERVE_OTLP_GRPC "); none = not",
	 AT(struct up_options, otlp_grpc), NULL},
	{"otlp-http", 0, OPT_TEXT, "ADDRESS", "OTLP over HTTP (" SERVE_OTLP_HTTP "); none = not",
	 AT(struct up_options, otlp_http), NULL},
	{"allowed-host", 0, OPT_LIST, "NAME",
	 "also accept NAME as Host, besides addresses and localhost; can be repeated",
	 AT(struct up_options, allowed_hosts), NULL},
	{"self-profile", 0, OPT_FLAG, NULL,
	 "store a CPU profile of the server too, as service vestal",
	 AT(struct up_options, self_profile), NULL},
	{"log-level", 0, OPT_CHOICE, "LEVEL", "what to log (warn)",
	 AT(struct up_options, log_level), "debug info warn error off"},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal up", "a server on 127.0.0.1:4040, data in ./vestal-data"},
	{"vestal up --memory", "to try it, without leaving anything behind"},
	{0},
};

static void set_defaults(void *options)
{
	struct up_options *o = options;

	o->data = SERVE_DATA;
	o->listen = SERVE_LISTEN;
	o->log_level = "warn";
}

static struct agent_child agent;
/* Asked before the server gives its privileges away. */
static bool sees_everything;

/* Only now the server's address is known: a port may have been chosen by the system. */
static void tell_agent(const struct common_options *common, struct str address)
{
	agent_tell(&agent, address);
	if (agent.pid && !sees_everything)
		say(common, "agent: %s", capture_own_note);
	else if (agent.pid)
		say(common, "agent: every process of this machine, 97 samples per second and CPU, "
			    "with off-CPU time");
}

/* The agent's last window arrives before the server ends. */
static void end_agent(void)
{
	agent_end(&agent);
}

/* A child, before the server has threads and with rights the server does not need. */
static void start_agent(const struct up_options *o)
{
	struct daemon_options d = daemon_options_default;
	struct fault fault = {0};

	sees_everything = doctor_may_load();
	if (!sees_everything && own_events_allowed(&fault) != ERR_OK) {
		say(&o->common, "nothing on this machine is profiled: %s", fault.text);
		return;
	}
	d.capture = capture_options_default;
	d.capture.kernel.types = CAPTURE_CPU | CAPTURE_WAITS;
	d.capture.kernel.rate_hz = 97;
	/* Data stays on this machine, so nothing is redacted. */
	d.redact_names = false;
	if (!agent_spawn(&o->common, &d, &agent))
		say(&o->common, "the agent cannot be started: processes are not profiled");
}

static int run(struct invocation *in)
{
	const struct up_options *o = in->options;
	struct server_options s = server_options_default;

	if (in->arguments.n && o->memory)
		return serve_memory_usage(in);
	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	s.store = store_options_default;
	s.http = HTTP_OPTIONS_DEFAULT;
	s.store.retention_ns = SERVE_RETENTION_DAYS * 86400 * NS_PER_S;
	s.store.directory = o->memory ? NULL : o->data;
	s.self_profile = o->self_profile;
	s.confine = true;
	s.user = o->user;
	s.allowed_hosts = (const char *const *)o->allowed_hosts.v;
	s.allowed_host_count = o->allowed_hosts.n;
	s.memory_limit = o->memory_limit;
	serve_address(&s, o->listen, "pages and API");
	/* Default addresses are optional, because a collector may use them. */
	if (o->otlp_grpc)
		serve_address(&s, o->otlp_grpc, "OTLP/gRPC");
	else
		serve_optional_address(&s, SERVE_OTLP_GRPC, "OTLP/gRPC");
	if (o->otlp_http)
		serve_address(&s, o->otlp_http, "OTLP/HTTP");
	else
		serve_optional_address(&s, SERVE_OTLP_HTTP, "OTLP/HTTP");
	serve_log(o->log_level, "logfmt");
	if (!o->no_agent)
		start_agent(o);
	return serve(&o->common, &s, &(struct serve_hooks){tell_agent, end_agent});
}

const struct command command_up = {
	.name = "up",
	.summary = "start Vestal on this machine",
	.arguments = "",
	.examples = examples,
	.description =
		"Starts a server for this machine only, with settings that suit most: it prints "
		"where it listens and what to type next, and runs until Ctrl-C. Stored data stays "
		"for the next time. If another program uses the OTLP ports, it reports that and "
		"continues: the main address accepts OTLP, too.\n\n"
		"The agent profiles every process of the machine if root starts it, else the CPU "
		"time of your own processes, as far as the kernel allows. Started by root, neither "
		"stays root: the server becomes the user vestal (or 60590) without capabilities "
		"and gets the data directory, the agent becomes vestal-agent (or 60591) with the "
		"few capabilities that it needs; vestal doctor shows them.\n\n"
		"vestal server has all options: other hosts, tokens, TLS, retention.",
	.groups = groups,
	.options_size = sizeof(struct up_options),
	.defaults = set_defaults,
	.words = "",
	.run = run,
};
