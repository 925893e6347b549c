/*
 * vestal convert: any format in, any format out.
 */
#include "cli/export.h"
#include "cli/view.h"

struct convert_options {
	struct common_options common;
	struct input_options input;
	struct view_options view;
	struct sink_options output;
	const char *to;
	bool gzip, zstd, plain;
};

static const struct option table[] = {
	{"to", 0, OPT_TEXT, "FORMAT", "write FORMAT; without it the name of the output decides",
	 AT(struct convert_options, to), NULL},
	{"gzip", 0, OPT_FLAG, NULL, "compress the output with gzip",
	 AT(struct convert_options, gzip), NULL},
	{"zstd", 0, OPT_FLAG, NULL, "compress the output with zstd",
	 AT(struct convert_options, zstd), NULL},
	{"no-compress", 0, OPT_FLAG, NULL, "do not compress the output",
	 AT(struct convert_options, plain), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Output", sink_table, AT(struct convert_options, output)},
	{"What to keep", view_table, AT(struct convert_options, view)},
	{"Inputs", input_table, AT(struct convert_options, input)},
	{"Server", client_table, AT(struct convert_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal convert app.jfr -o app.pb.gz", "a Java recording for pprof"},
	{"vestal convert cpu.pb.gz -o default.pgo", "a profile for go build -pgo"},
	{"vestal convert a.pb.gz b.pb.gz -o both.pb.gz", "two profiles as one"},
	{"vestal convert cpu.pb.gz -o - --to folded | sort", "text for other tools"},
	{"vestal convert cpu.pb.gz -o cpu.otlp.json", "OpenTelemetry, as JSON"},
	{0},
};

static void set_defaults(void *options)
{
	struct convert_options *o = options;

	input_defaults(&o->input);
	o->view.keep_all = true;
}

static int compression(const struct invocation *in, const struct convert_options *o, int *ret)
{
	if (o->gzip + o->zstd + o->plain > 1)
		return complain_usage(in, "--gzip, --zstd and --no-compress exclude each other");
	*ret = o->gzip ? 1 : o->zstd ? 2 : o->plain ? 0 : export_compression(o->output.path);
	return EXIT_OK;
}

struct target {
	const struct format *format;
	int compress;
};

static int write_list(const struct convert_options *o, const struct target *to,
		      const struct profile_list *list, int type, const char *title)
{
	struct writing w = {.list = list, .type = type, .title = title, .compress = to->compress};

	return export_write(&o->common, &o->output, to->format, &w, NULL);
}

static bool wants_filter(const struct view_options *v)
{
	return v->focus || v->ignore || v->hide || v->show || v->show_from || v->tags.n;
}

/* Sums stop at the largest number, which is then none. */
static bool is_saturated(const struct profile *p)
{
	for (size_t i = 0; i < p->row_count * p->type_count; i++)
		if (p->values[i] == INT64_MAX || p->values[i] == INT64_MIN)
			return true;
	return false;
}

/* One profile out: merged, filtered. */
static int convert_merged(struct invocation *in, const struct convert_options *o,
			  const struct target *to)
{
	struct view v;
	int status;

	view_init(&v, &o->common, &o->input);
	status = view_load(&v, &in->arguments, &o->view);
	inputs_say_notes(&v.in);
	inputs_say_windows(&v.in);
	if (!status && v.in.sources.n > 1 && is_saturated(v.profile))
		status = complain(EXIT_BAD_DATA, "%s: a sum does not fit in 64 bits",
				  v.in.sources.v[0].name);
	if (!status) {
		struct profile *one[] = {v.profile};
		struct profile_list list = {.v = one, .n = 1};

		status = write_list(o, to, &list, o->view.type ? (int)v.type : -1,
				    v.in.sources.v[0].title);
	}
	view_release(&v);
	return status;
}

/* The format holds several profiles: each stays what it was. */
static int convert_apart(struct invocation *in, const struct convert_options *o,
			 const struct target *to)
{
	struct inputs inputs;
	int status;

	inputs_init(&inputs, &o->common, &o->input);
	status = inputs_read_all(&inputs, &in->arguments);
	inputs_say_notes(&inputs);
	inputs_say_windows(&inputs);
	if (!status && !inputs.list.n)
		status = complain(EXIT_BAD_DATA, "%s: contains no profile",
				  inputs.sources.v[0].name);
	if (!status)
		status = write_list(o, to, &inputs.list, -1, inputs.sources.v[0].title);
	inputs_release(&inputs);
	return status;
}

static int run(struct invocation *in)
{
	struct convert_options *o = in->options;
	struct target to;
	int status;

	if (!in->arguments.n)
		return complain_usage(in, "which profile? vestal convert FILE -o OUT");
	if (!o->output.path)
		return complain_usage(in, "where to? -o FILE, or -o - --to FORMAT");
	status = export_format(in, o->to, o->output.path, &to.format);
	if (!status)
		status = compression(in, o, &to.compress);
	if (!status)
		status = sink_check(&o->output, to.format->binary || to.compress > 0,
				    to.format->title);
	if (status)
		return status;
	if (to.format->merged || wants_filter(&o->view) || o->view.type)
		return convert_merged(in, o, &to);
	return convert_apart(in, o, &to);
}

const struct command command_convert = {
	.name = "convert",
	.summary = "any format in, any format out, merged",
	.arguments = "FILE... -o OUT",
	.examples = examples,
	.description =
		"Reads profiles of any known format and writes another. The format of an input is "
		"recognised by its content, that of the output by its name (or --to). Several "
		"inputs "
		"are merged, unless the output format can hold several profiles (OTLP). Data that "
		"the output format cannot represent is reported on stderr.\n\n"
		"A name that ends in .gz or .zst is compressed.",
	.groups = groups,
	.options_size = sizeof(struct convert_options),
	.defaults = set_defaults,
	.run = run,
};
