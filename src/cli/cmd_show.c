/*
 * vestal show: what is in a file, and what looks wrong with it.
 */
#include "cli/show_facts.h"
#include "cli/sink.h"

struct show_options {
	struct common_options common;
	struct input_options input;
	bool json;
};

static const struct option table[] = {
	{"json", 0, OPT_FLAG, NULL, "as JSON (docs/json.md)", AT(struct show_options, json), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Inputs", input_table, AT(struct show_options, input)},
	{"Server", client_table, AT(struct show_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal show cpu.pb.gz", "format, types, totals, labels, time, problems"},
	{"vestal show cpu.pb.gz heap.pb.gz", "one after the other"},
	{"vestal show - < cpu.pb.gz", "from a pipe"},
	{"vestal show --json cpu.pb.gz", "for programs"},
	{0},
};

static void set_defaults(void *options)
{
	input_defaults(&((struct show_options *)options)->input);
}

/* A file, read into a dictionary of its own so that its counts are its own. */
struct shown {
	struct inputs in;
	struct show_report report;
};

static int examine(struct shown *s)
{
	const struct profile_list *list = &s->in.list;
	enum err e = ERR_OK;

	s->report = (struct show_report){
		.source = &s->in.sources.v[0],
		.list = list,
		.facts = mem_zalloc(list->n + 1, sizeof(struct facts)),
		.remarks = mem_zalloc(list->n + 1, sizeof(struct notes)),
	};
	if (!s->report.facts || !s->report.remarks)
		e = ERR_NO_MEMORY;
	for (size_t i = 0; !e && i < list->n; i++) {
		e = facts_gather(list->v[i], &s->report.facts[i]);
		if (!e)
			checks_run(&s->report.facts[i], &s->report.remarks[i]);
	}
	return e ? complain(status_of(e), "%s", err_text(e)) : EXIT_OK;
}

static void shown_release(struct shown *s)
{
	for (size_t i = 0; i < s->in.list.n; i++) {
		if (s->report.facts)
			facts_release(&s->report.facts[i]);
		if (s->report.remarks)
			notes_release(&s->report.remarks[i]);
	}
	mem_free(s->report.facts);
	mem_free(s->report.remarks);
	inputs_release(&s->in);
}

static int print_all(const struct show_options *o, const struct shown *shown, size_t n)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 32);
	struct show_report *reports = mem_zalloc(n, sizeof(*reports));
	int status;

	if (!reports)
		return complain(EXIT_OS, "out of memory");
	for (size_t i = 0; i < n; i++) {
		reports[i] = shown[i].report;
		if (!o->json) {
			if (i)
				buf_byte(&out, '\n');
			show_text(&reports[i], &out);
		}
	}
	if (o->json)
		show_json(reports, n, &out);
	status = sink_stdout(&out);
	mem_free(reports);
	return status;
}

static int run(struct invocation *in)
{
	const struct show_options *o = in->options;
	size_t n = in->arguments.n;
	struct shown *shown;
	int status = EXIT_OK;

	if (!n)
		return complain_usage(in, "which profile? vestal show FILE");
	shown = mem_zalloc(n, sizeof(*shown));
	if (!shown)
		return complain(EXIT_OS, "out of memory");
	for (size_t i = 0; !status && i < n; i++) {
		inputs_init(&shown[i].in, &o->common, &o->input);
		status = inputs_read(&shown[i].in, in->arguments.v[i]);
		if (!status)
			status = examine(&shown[i]);
	}
	if (!status)
		status = print_all(o, shown, n);
	for (size_t i = 0; i < n; i++)
		shown_release(&shown[i]);
	mem_free(shown);
	return status;
}

const struct command command_show = {
	.name = "show",
	.summary = "show the contents of a profile, and problems with it",
	.arguments = "FILE...",
	.examples = examples,
	.description =
		"Prints, per file: its format, compression and size; the types of values with "
		"units "
		"and totals; time, duration and period; the number of samples, stacks, functions; "
		"mappings with build ids; labels with examples; comments; resource attributes. "
		"Under \"looks wrong\" it lists problems of the file that may be misleading: "
		"truncated or missing stacks, unsymbolized frames, values that are negative or all "
		"0, missing times.",
	.groups = groups,
	.options_size = sizeof(struct show_options),
	.defaults = set_defaults,
	.run = run,
};
