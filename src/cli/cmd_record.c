/*
 * vestal record: profile a program, some processes or the whole machine, now.
 */
#include "cli/agent_child.h"
#include "cli/export.h"
#include "cli/record_inside.h"
#include "cli/record_run.h"
#include "cli/target_options.h"
#include "cli/top_report.h"

struct record_options {
	struct common_options common;
	struct sink_options output;
	struct top_style style;
	struct target_options targets;
	bool all, inside;
	int64_t rate;
	double seconds;
	const char *types;
};

static const struct option table[] = {
	{"all", 'a', OPT_FLAG, NULL, "the whole machine", AT(struct record_options, all), NULL},
	{"rate", 'F', OPT_NUMBER, "HZ", "samples per second and CPU (99)",
	 AT(struct record_options, rate), NULL},
	{"duration", 'd', OPT_SECONDS, "SECONDS",
	 "how long, 2m for two minutes (10; a program: until it ends)",
	 AT(struct record_options, seconds), NULL},
	{"type", 0, OPT_TEXT, "TYPES",
	 CAPTURE_TYPE_NAMES
	 ", with commas (cpu); with --preload cpu, wall, alloc, heap, lock, threads",
	 AT(struct record_options, types), NULL},
	{"preload", 0, OPT_FLAG, NULL,
	 "from inside the program, by LD_PRELOAD: no privileges needed",
	 AT(struct record_options, inside), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"What", target_table, AT(struct record_options, targets)},
	{"Options", table, 0},
	{"Output", sink_table, AT(struct record_options, output)},
	{"Table", top_style_table, AT(struct record_options, style)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal record -- ./my-program", "from its first instruction to its last"},
	{"vestal record -a -d 10", "the whole machine for ten seconds"},
	{"vestal record -p 1234 -o out.html", "a process, as a flame graph"},
	{"vestal record --type cpu,offcpu -p 1234", "where it works and where it waits"},
	{"vestal record --type threads -p 1234", "number of its threads by state"},
	{"vestal record --type faults -p 1234 -d 60", "where its memory grows"},
	{"vestal record --type loop -p 1234", "what delays its event loop"},
	{"vestal record --cgroup nginx.service -d 30", "a service, by its control group"},
	{"vestal record --preload --type heap -- ./my-program",
	 "live heap, by allocating function"},
	{"vestal record -F 997 -o out.pb.gz -- make", "finer, with all its children"},
	{0},
};

static void set_defaults(void *options)
{
	struct record_options *o = options;

	o->rate = 99;
	o->seconds = -1;
	o->types = "cpu";
	o->style = TOP_STYLE_DEFAULT;
	o->output.path = NULL;
}

static int plan_of(const struct invocation *in, const struct record_options *o,
		   struct targets *targets, struct record_plan *ret)
{
	bool program = in->arguments.n > 0;
	int status;

	ret->capture = capture_options_default;
	if (o->rate < 1 || o->rate > 5000)
		return complain_usage(in, "-F takes 1 to 5000");
	if (!program && !target_options_any(&o->targets) && !o->all)
		return complain_usage(in, "what? -- PROGRAM, -p PID, -n NAME, -u USER, --cgroup "
					  "GROUP, --label KEY=VALUE or -a");
	if (o->all && (program || target_options_any(&o->targets)))
		return complain_usage(in, "-a is the whole machine: leave out the rest");
	ret->capture.kernel.rate_hz = (u32)o->rate;
	ret->capture.kernel.chosen = ret->capture.kernel.old_waits = !o->all;
	ret->pids = o->targets.pids;
	ret->names = o->targets.names;
	ret->program = program ? (char *const *)in->arguments.v : NULL;
	ret->seconds = o->seconds >= 0 ? o->seconds : program ? 0 : 10;
	status = target_options_read(in, &o->targets, targets);
	/* Processes by number need no look at others. */
	if (!status && !targets_only_pids(targets))
		ret->capture.targets = targets;
	return status ? status : capture_types_read(in, o->types, &ret->capture.kernel.types);
}

static void say_quality(const struct common_options *common, const struct recording *r)
{
	double seconds = (double)r->window.duration_ns / 1e9;
	u64 cut = r->samples - r->complete;

	say(common, "%llu samples in %.1f s; %.2f %% of the stacks are whole",
	    (unsigned long long)r->samples, seconds,
	    r->samples ? 100.0 * (double)r->complete / (double)r->samples : 100.0);
	if (cut)
		say(common,
		    "not whole: %llu too deep, %llu in unknown code, %llu without unwinding "
		    "information, %llu unreadable",
		    (unsigned long long)r->ends[UNWIND_CUT],
		    (unsigned long long)(r->ends[UNWIND_UNMAPPED] + r->ends[UNWIND_NO_TABLE]),
		    (unsigned long long)r->ends[UNWIND_NO_RULE],
		    (unsigned long long)(r->ends[UNWIND_BAD_MEMORY] + r->ends[UNWIND_LOOP]));
	if (r->stats.kernel.dropped)
		say(common, "%llu samples were lost: the buffer was full",
		    (unsigned long long)r->stats.kernel.dropped);
}

static int save(const struct record_options *o, const struct format *format, struct profile *p)
{
	struct profile *one[] = {p};
	struct profile_list list = {.v = one, .n = 1};
	struct writing w = {.list = &list,
			    .type = -1,
			    .title = "recording",
			    .compress = export_compression(o->output.path)};

	return export_write(&o->common, &o->output, format, &w, NULL);
}

static int show(const struct record_options *o, struct profile *p)
{
	static const struct view_options all;
	struct input_options input;
	struct view v;
	int status;

	input_defaults(&input);
	view_init(&v, &o->common, &input);
	status = view_narrow(&v, p, &all);
	if (!status)
		status = top_report(&o->common, &v, &o->style);
	view_release(&v);
	return status;
}

/* A program that profiles itself, without knowing. */
static int record_preloaded(struct invocation *in)
{
	struct record_options *o = in->options;
	struct inside_plan plan = {(char *const *)in->arguments.v, o->types, o->rate};
	const struct format *format = NULL;
	struct input_options input = {0};
	struct inputs inputs;
	int status, program = 0;

	if (!in->arguments.n || o->all || target_options_any(&o->targets))
		return complain_usage(in, "--preload takes a program: -- PROGRAM");
	if (o->rate < 1 || o->rate > 1000)
		return complain_usage(in, "-F takes 1 to 1000 with --preload");
	if (!o->output.path)
		o->output = (struct sink_options){"vestal.pb.gz", true};
	status = export_format(in, NULL, o->output.path, &format);
	if (!status)
		status = sink_check(&o->output, format->binary, format->title);
	if (status)
		return status;
	input_defaults(&input);
	/* Live memory of several processes is summed, because they hold it at the same time. */
	input.sum_gauges = true;
	inputs_init(&inputs, &o->common, &input);
	status = record_inside(&plan, &inputs, &program);
	if (!status)
		status = save(o, format, inputs.list.v[0]);
	if (!status)
		status = show(o, inputs.list.v[0]);
	if (!status)
		say(&o->common, "saved as %s; vestal flame %s -o flame.html draws it",
		    o->output.path, o->output.path);
	inputs_release(&inputs);
	return status ? status : program;
}

static int record(struct invocation *in, struct targets *targets)
{
	struct record_options *o = in->options;
	struct record_plan plan = {0};
	struct recording recording = {0};
	const struct format *format = NULL;
	struct profile profile;
	struct dict dict;
	int status = plan_of(in, o, targets, &plan);

	if (!o->output.path)
		o->output = (struct sink_options){"vestal.pb.gz", true};
	if (!status)
		status = export_format(in, NULL, o->output.path, &format);
	if (!status)
		status = sink_check(&o->output, format->binary, format->title);
	if (status)
		return status;
	if (dict_init(&dict, 0) != ERR_OK)
		return complain(EXIT_OS, "out of memory");
	profile_init(&profile, &dict);
	status = record_run(&plan, &o->common, &profile, &recording);
	if (!status)
		status = save(o, format, &profile);
	if (!status)
		status = show(o, &profile);
	if (!status) {
		say_quality(&o->common, &recording);
		say(&o->common, "saved as %s; vestal flame %s -o flame.html draws it",
		    o->output.path, o->output.path);
		status = recording.program_status;
	}
	profile_release(&profile);
	dict_release(&dict);
	return status;
}

static int run(struct invocation *in)
{
	const struct record_options *o = in->options;
	struct targets targets = {0};
	int status = o->inside ? record_preloaded(in) : record(in, &targets);

	targets_release(&targets);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "profile a program, processes or the whole machine, now",
	.arguments = "[-- PROGRAM ARGUMENTS...]",
	.examples = examples,
	.description =
		"Samples stacks in the kernel, without any preparation of the program: frame "
		"pointers, debug symbols or a restart are not needed. Prints the functions that "
		"cost most and writes a file (vestal.pb.gz) that every command reads.\n\n"
		"Ctrl-C ends it early and keeps what was recorded. With a program, the exit status "
		"is the program's own.\n\n"
		"If DEBUGINFOD_URLS is set, debug files of programs that have none here are "
		"fetched after the recording, and kept.\n\n"
		"Root, or CAP_BPF and CAP_PERFMON, may record everything. Other users may record "
		"the CPU time of their own processes, without kernel stacks, as far as "
		"kernel.perf_event_paranoid (2 or less) allows; vestal doctor shows what is "
		"missing.\n\n"
		"With --preload the program profiles itself, by libvestal-preload.so, without "
		"privileges: CPU time, allocations and live heap (alloc, heap), waits for locks "
		"and conditions (lock), all time by state (wall), and threads. It works for every "
		"program linked dynamically with glibc, and its children. A program that is killed "
		"leaves no profile.",
	.groups = groups,
	.options_size = sizeof(struct record_options),
	.defaults = set_defaults,
	.run = run,
};
