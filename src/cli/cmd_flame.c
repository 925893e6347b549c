/*
 * vestal flame: a flame graph as one file that opens anywhere.
 */
#include "cli/export.h"
#include "cli/view.h"

struct flame_options {
	struct common_options common;
	struct input_options input;
	struct view_options view;
	struct sink_options output;
	const char *title, *to;
	double min_share;
};

static const struct option table[] = {
	{"title", 0, OPT_TEXT, "TEXT", "the title (the first input, without directories)",
	 AT(struct flame_options, title), NULL},
	{"min-share", 0, OPT_REAL, "SHARE", "leave out boxes below this share of the total (0)",
	 AT(struct flame_options, min_share), NULL},
	{"to", 0, OPT_CHOICE, "FORMAT", "html or svg; default: by the output's name",
	 AT(struct flame_options, to), "html svg"},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Output", sink_table, AT(struct flame_options, output)},
	{"Selection", view_table, AT(struct flame_options, view)},
	{"Inputs", input_table, AT(struct flame_options, input)},
	{"Server", client_table, AT(struct flame_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal flame cpu.pb.gz", "writes flame.html"},
	{"vestal flame cpu.pb.gz -o cpu.svg", "a picture for a document"},
	{"vestal flame --type inuse_space heap.pb.gz -o heap.html", "live memory"},
	{"vestal flame --focus 'main\\.' cpu.pb.gz -o main.html", "only stacks through main"},
	{"vestal flame cpu.pb.gz -o - | gzip > flame.html.gz", "to a pipe"},
	{0},
};

static void set_defaults(void *options)
{
	struct flame_options *o = options;

	input_defaults(&o->input);
	o->output.path = NULL;
}

static bool has_suffix(struct str path)
{
	size_t slash = str_rfind(path, '/');
	struct str file = slash < path.n ? str_skip(path, slash + 1) : path;
	size_t dot = str_rfind(file, '.');

	return dot > 0 && dot + 1 < file.n;
}

static int choose_format(const struct invocation *in, const struct flame_options *o,
			 const struct format **ret)
{
	const struct format *f = o->to ? format_by_name(str_of(o->to)) : NULL;

	if (!f && strcmp(o->output.path, "-") != 0)
		f = format_by_path(str_of(o->output.path));
	if (!f && has_suffix(str_of(o->output.path)))
		return complain_usage(in, "%s: a flame graph is .html or .svg (--to insists)",
				      o->output.path);
	if (!f)
		f = &formats[FORMAT_HTML];
	if (f->id != FORMAT_HTML && f->id != FORMAT_SVG)
		return complain_usage(
			in, "%s: a flame graph is .html or .svg (vestal convert writes %s)",
			o->output.path, f->name);
	*ret = f;
	return EXIT_OK;
}

static int write_flame(const struct flame_options *o, const struct view *v,
		       const struct format *format)
{
	struct profile *one[] = {v->profile};
	struct profile_list list = {.v = one, .n = 1};
	struct writing w = {
		.list = &list,
		.type = (int)v->type,
		.title = o->title ? o->title : v->in.sources.v[0].title,
		.compress = -1,
		.min_share = o->min_share,
	};
	size_t bytes;
	int status = export_write(&o->common, &o->output, format, &w, &bytes);

	if (!status && strcmp(o->output.path, "-") != 0)
		say(&o->common, "wrote %s (%zu kB): open it in any browser, it needs no network",
		    o->output.path, (bytes + 1023) / 1024);
	return status;
}

static int run(struct invocation *in)
{
	struct flame_options *o = in->options;
	const struct format *format = NULL;
	struct view v;
	int status;

	if (!in->arguments.n)
		return complain_usage(in, "which profile? vestal flame FILE");
	if (!o->output.path)
		o->output.path = o->to && strcmp(o->to, "svg") == 0 ? "flame.svg" : "flame.html";
	status = choose_format(in, o, &format);
	if (!status)
		status = sink_check(&o->output, format->binary, format->title);
	if (status)
		return status;
	view_init(&v, &o->common, &o->input);
	status = view_load(&v, &in->arguments, &o->view);
	inputs_say_notes(&v.in);
	inputs_say_windows(&v.in);
	if (!status)
		status = write_flame(o, &v, format);
	view_release(&v);
	return status;
}

const struct command command_flame = {
	.name = "flame",
	.summary = "an interactive flame graph in one file",
	.arguments = "FILE...",
	.examples = examples,
	.description =
		"Writes one self-contained HTML file (or an SVG): searchable, zoomable, by mouse "
		"or "
		"keyboard, dark and light. It needs no network and no server, so it can be mailed "
		"or "
		"attached.\n\n"
		"Without -o it writes flame.html into the current folder. An existing file is not "
		"overwritten without -f.",
	.groups = groups,
	.options_size = sizeof(struct flame_options),
	.defaults = set_defaults,
	.run = run,
};
