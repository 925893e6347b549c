/*
 * vestal top: the exact function table, in the shape `go tool pprof -top` made familiar.
 */
#include "cli/top_report.h"

struct top_options {
	struct common_options common;
	struct input_options input;
	struct view_options view;
	struct top_style style;
};

static const struct option_group groups[] = {
	{"Options", top_style_table, AT(struct top_options, style)},
	{"Selection", view_table, AT(struct top_options, view)},
	{"Inputs", input_table, AT(struct top_options, input)},
	{"Server", client_table, AT(struct top_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal top cpu.pb.gz", "the 30 functions that cost the most"},
	{"vestal top --cum -n 10 cpu.pb.gz", "the ten that cost the most with all they call"},
	{"vestal top --type alloc_space heap.pb.gz", "who allocates"},
	{"vestal top --focus 'json' --lines cpu.pb.gz", "source lines, only below JSON code"},
	{"vestal top monday.pb.gz tuesday.pb.gz", "two profiles as one"},
	{"vestal top 'http://localhost:6060/debug/pprof/profile?seconds=5'",
	 "profile a running Go program for five seconds"},
	{"vestal top --json cpu.pb.gz", "for programs"},
	{0},
};

static void set_defaults(void *options)
{
	struct top_options *o = options;

	input_defaults(&o->input);
	o->view.one_type = true;
	o->style = TOP_STYLE_DEFAULT;
}

static int run(struct invocation *in)
{
	const struct top_options *o = in->options;
	struct view v;
	int status;

	if (!in->arguments.n)
		return complain_usage(in, "which profile? vestal top FILE");
	view_init(&v, &o->common, &o->input);
	status = view_load(&v, &in->arguments, &o->view);
	inputs_say_notes(&v.in);
	if (!status)
		status = top_report(&o->common, &v, &o->style);
	view_release(&v);
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "which functions cost the most, exactly",
	.arguments = "FILE...",
	.examples = examples,
	.description =
		"Prints a row per function: its own value (flat), its share, the running sum, and "
		"its "
		"value with everything it calls (cum). A recursive function counts once in cum. "
		"Numbers are exact: nothing is pruned before adding up, and they equal those of go "
		"tool pprof. Shares are of the whole profile, also after filters. \"Rate\" is the "
		"total per second of the time that was profiled.\n\n"
		"Several inputs are merged. Frames that the profile marks to be dropped are not "
		"shown (--keep-all shows them).",
	.groups = groups,
	.options_size = sizeof(struct top_options),
	.defaults = set_defaults,
	.run = run,
};
