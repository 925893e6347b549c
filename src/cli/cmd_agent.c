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
#include "cli/sink.h"
#include "cli/target_options.h"

struct agent_options {
	struct common_options common;
	struct sending_options sending;
	struct target_options targets;
	const char *control;
	const char *config, *types, *log_level;
	int64_t rate;
	double interval, cpu_budget, load_shedding;
	size_t memory_budget;
	const char *metrics;
};

static const struct option table[] = {
	{"config", 'c', OPT_TEXT, "FILE", "settings, in YAML; SIGHUP reads it again",
	 AT(struct agent_options, config), NULL},
	{"rate", 'F', OPT_NUMBER, "HZ", "samples per second and CPU (97)",
	 AT(struct agent_options, rate), NULL},
	{"interval", 0, OPT_SECONDS, "SECONDS", "length of a window (15)",
	 AT(struct agent_options, interval), NULL},
	{"type", 0, OPT_TEXT, "TYPES", CAPTURE_TYPE_NAMES ", with commas (cpu)",
	 AT(struct agent_options, types), NULL},
	{"cpu-budget", 0, OPT_REAL, "SHARE",
	 "share of all CPUs that the agent may use (1%); 0 = no limit",
	 AT(struct agent_options, cpu_budget), NULL},
	{"memory-budget", 0, OPT_SIZE, "SIZE",
	 "memory that it may use, BPF maps included (64M); 0 = no limit",
	 AT(struct agent_options, memory_budget), NULL},
	{"load-shedding", 0, OPT_REAL, "SHARE",
	 "pause while the machine is busier than this, such as 90% (never)",
	 AT(struct agent_options, load_shedding), NULL},
	{"metrics", 0, OPT_TEXT, "ADDRESS",
	 "serve its own metrics at http://ADDRESS/metrics, on this machine only",
	 AT(struct agent_options, metrics), NULL},
	{"control", 0, OPT_TEXT, "PATH",
	 "socket for vestal agent ctl (none; ctl: " CONTROL_DEFAULT ")",
	 AT(struct agent_options, control), NULL},
	{"log-level", 0, OPT_CHOICE, "LEVEL", "what to log (info)",
	 AT(struct agent_options, log_level), "debug info warn error off"},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Targets (everything)", target_table, AT(struct agent_options, targets)},
	{"Server", sending_table, AT(struct agent_options, sending)},
	{"Queue", queue_table, AT(struct agent_options, sending)},
	{"Privacy", privacy_table, AT(struct agent_options, sending)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal agent", "to a server on this machine"},
	{"vestal agent --server https://profiles.example:4318 -F 49", "to another, more sparingly"},
	{"vestal agent --config /etc/vestal/agent.yaml", "settings from a file"},
	{"vestal agent --cpu-budget 0.5% --metrics 127.0.0.1:9464",
	 "at most half a percent of the machine, with metrics for Prometheus"},
	{"vestal agent --cgroup nginx.service --uid www-data", "a service, and a user's processes"},
	{"vestal agent ctl targets name=nginx",
	 "from now on only these; also ctl status, ctl rate 49"},
	{"vestal agent --type cpu,offcpu", "with off-CPU time"},
	{0},
};

#define RATE_DEFAULT 97

/* Not given: -1, since 0 is an error. */
static void set_defaults(void *options)
{
	struct agent_options *o = options;

	o->rate = -1;
	o->interval = -1;
	o->cpu_budget = o->load_shedding = -1;
	o->memory_budget = SIZE_MAX;
}

/* The options from settings file and command line. They point to strings of the file while the
 * agent runs, so a new file is loaded before the old one is freed. */
struct agent_setup {
	struct invocation *in;
	struct agent_settings settings;
	struct targets given; /* on the command line */
};

/* The command line takes precedence over the file. Returns an exit status. */
static int combine(struct invocation *in, const struct agent_settings *s, struct daemon_options *d)
{
	const struct agent_options *o = in->options;
	const char *types = o->types ? o->types : s->types ? s->types : "cpu";
	int status;

	*d = daemon_options_default;
	d->capture = capture_options_default;
	d->capture.kernel.rate_hz = RATE_DEFAULT;
	agent_settings_apply(s, d);
	status = capture_types_read(in, types, &d->capture.kernel.types);
	if (status)
		return status;
	if (!s->profiling.cpu && !o->types)
		d->capture.kernel.types &= ~(unsigned)CAPTURE_CPU;
	if (!d->capture.kernel.types)
		return complain_usage(in, "profiling.cpu.enabled is false: nothing is captured");
	if (o->rate > 0)
		d->capture.kernel.rate_hz = (u32)o->rate;
	if (o->interval > 0)
		d->interval_ns = (int64_t)(o->interval * 1e9);
	if (o->cpu_budget >= 0)
		d->self.limits.cpu_share = o->cpu_budget;
	if (o->memory_budget != SIZE_MAX)
		d->self.limits.memory_bytes = o->memory_budget;
	if (o->load_shedding >= 0)
		d->self.limits.host_share = o->load_shedding;
	if (o->metrics)
		d->self.metrics = o->metrics;
	if (o->control)
		d->control = o->control;
	return sending_apply(in, &o->sending, d);
}

static int load(void *context, struct daemon_options *ret)
{
	struct agent_setup *setup = context;
	const struct agent_options *o = setup->in->options;
	struct agent_settings s;
	struct daemon_options d;
	struct fault fault = {0};
	enum err e = ERR_OK;
	int status;

	agent_settings_init(&s);
	if (o->config)
		e = agent_settings_load(&s, o->config, &fault);
	status = e ? complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e))
		   : combine(setup->in, &s, &d);
	if (status) {
		agent_settings_release(&s);
		return status;
	}
	agent_settings_release(&setup->settings);
	setup->settings = s;
	*ret = d;
	ret->capture.targets = setup->given.list.n ? &setup->given : &setup->settings.chosen;
	serve_log(o->log_level ? o->log_level : s.log_level, "logfmt");
	agent_settings_tell(&s);
	return EXIT_OK;
}

/* `vestal agent ctl WORDS…`: sends a request to the running agent. */
static int control(const struct invocation *in)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	const struct agent_options *o = in->options;
	struct fault fault = {0};
	enum err e;

	if (in->arguments.n < 2)
		return complain_usage(in, "ctl takes status, targets or rate");
	e = control_ask(o->control ? o->control : CONTROL_DEFAULT, in->arguments.v + 1,
			in->arguments.n - 1, &answer, &fault);
	if (e)
		return complain(EXIT_UNAVAILABLE, "%s", fault.text[0] ? fault.text : err_text(e));
	if (str_starts(buf_view(&answer), STR("error: ")))
		return complain(EXIT_USAGE, "%.*s", (int)answer.n - 8, answer.data + 7);
	return sink_stdout(&answer);
}

static int run(struct invocation *in)
{
	const struct agent_options *o = in->options;
	struct agent_setup setup = {.in = in};
	struct daemon_options d;
	int status;

	if (in->arguments.n && !strcmp(in->arguments.v[0], "ctl"))
		return control(in);
	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	if (o->rate > 5000 || o->rate == 0)
		return complain_usage(in, "-F takes 1 to 5000");
	if (o->interval >= 0 && (o->interval < 1 || o->interval > 3600))
		return complain_usage(in, "--interval takes 1 to 3600 seconds");
	if (o->cpu_budget > 1 || o->load_shedding > 1)
		return complain_usage(in, "a share is 0 to 100%%");
	status = target_options_read(in, &o->targets, &setup.given);
	if (!status)
		status = load(&setup, &d);
	if (!status)
		status = agent_serve_loading(&d, o->config ? load : NULL, &setup);
	agent_settings_release(&setup.settings);
	targets_release(&setup.given);
	return status;
}

const struct command command_agent = {
	.name = "agent",
	.summary = "profile every process on this machine, all the time",
	.arguments = "[ctl status|targets|rate …]",
	.examples = examples,
	.description =
		"Samples the stacks of every process, symbolizes them, and sends them as OTLP "
		"profiles, in windows of 15 seconds. Programs need no preparation. The service "
		"name is OTEL_SERVICE_NAME from the process's environment, else its systemd unit, "
		"else its program. Undelivered data is queued and sent later; the last window is "
		"sent on SIGTERM.\n\n"
		"The agent measures its own cost and stays within --cpu-budget and "
		"--memory-budget: it reads symbols and unwind tables more slowly, then thins "
		"off-CPU samples of the busiest processes, then halves the sampling rate. The log "
		"and the profiles report it (vestal.rate.wanted, vestal.rate.limited_by, "
		"vestal.waits.mean); values stay unbiased. It goes back up when there is room.\n\n"
		"Without targets every process is profiled; with targets, processes that match one "
		"of them, and their children. The filter runs in the kernel, so that other "
		"processes cost nothing. --control PATH opens a socket for root (or the agent's "
		"user), where vestal agent ctl shows the status and changes targets and rate "
		"without a restart: ctl status, ctl targets, ctl targets all, ctl targets name=N "
		"uid=USER cgroup=GROUP pid=N label=KEY=VALUE, ctl rate HZ.\n\n"
		"Needs root, or CAP_BPF and CAP_PERFMON; without them it profiles the CPU time of "
		"the user's own processes. It drops the privileges it does not need: root becomes "
		"the user vestal-agent (60591 if there is none) with the capabilities to sample "
		"and to read (CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, "
		"CAP_SYSLOG, CAP_CHECKPOINT_RESTORE), can write only to the directories of its "
		"queue, cache and control socket, and a seccomp filter forbids tracing, running "
		"programs, mounting and the like. Program files are read by processes without "
		"capabilities.",
	.groups = groups,
	.options_size = sizeof(struct agent_options),
	.defaults = set_defaults,
	.words = "",
	.run = run,
};
