/*
 * vestal query: what a server has stored, in the views of the file tool.
 */
#include "cli/export.h"
#include "cli/query_series.h"
#include "cli/stored.h"
#include "cli/top_report.h"

struct query_options {
	struct common_options common;
	struct input_options input;
	struct view_options view;
	struct top_style style;
	struct sink_options flame, pprof;
	const char *function;
	struct text_list by;
	bool top, series, self, force;
};

static const struct option table[] = {
	{"top", 0, OPT_FLAG, NULL, "the table of functions (the default)",
	 AT(struct query_options, top), NULL},
	{"flame", 0, OPT_TEXT, "FILE", "write a flame graph (.html or .svg)",
	 AT(struct query_options, flame.path), NULL},
	{"pprof", 0, OPT_TEXT, "FILE", "write a profile that every tool reads",
	 AT(struct query_options, pprof.path), NULL},
	{"series", 0, OPT_FLAG, NULL, "values over time", AT(struct query_options, series), NULL},
	{"by", 0, OPT_LIST, "LABEL", "values over time per value of a label",
	 AT(struct query_options, by), NULL},
	{"function", 0, OPT_TEXT, "NAME", "of --series and --by: of this function only",
	 AT(struct query_options, function), NULL},
	{"self", 0, OPT_FLAG, NULL, "with --function: self value, without callees",
	 AT(struct query_options, self), NULL},
	{"force", 'f', OPT_FLAG, NULL, "overwrite an existing FILE",
	 AT(struct query_options, force), NULL},
	{0},
};

static const struct option when_table[] = {
	{"from", 0, OPT_TEXT, "TIME", "-1h, now-30m, 2026-11-15T10:00:00Z or Unix time",
	 AT(struct query_options, input.since), NULL},
	{"until", 0, OPT_TEXT, "TIME", "(now)", AT(struct query_options, input.until), NULL},
	{"time-range", 0, OPT_TEXT, "TIME", "the last TIME in which there are profiles (1h)",
	 AT(struct query_options, input.time_range), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Views", table, 0},
	{"Time", when_table, 0},
	{"The table", top_style_table, AT(struct query_options, style)},
	{"Selection", view_table, AT(struct query_options, view)},
	{"Server", client_table, AT(struct query_options, input.client)},
	{"Connection", connection_table, AT(struct query_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal query checkout", "the last hour of a service"},
	{"vestal query 'checkout{commit=\"abc123\"}' --type cpu --from -1h", "one version"},
	{"vestal query checkout --flame checkout.html", "as a flame graph"},
	{"vestal query checkout --pprof checkout.pb.gz", "for other tools"},
	{"vestal query checkout --by commit", "every version, over time"},
	{"vestal query checkout --series --json", "for programs"},
	{0},
};

static void set_defaults(void *options)
{
	struct query_options *o = options;

	input_defaults(&o->input);
	o->view.one_type = true;
	o->style = TOP_STYLE_DEFAULT;
}

static int write_view(const struct query_options *o, const struct view *v,
		      const struct sink_options *to, enum format_id format)
{
	struct profile *one[] = {v->profile};
	struct profile_list list = {.v = one, .n = 1};
	struct writing w = {.list = &list,
			    .type = (int)v->type,
			    .title = v->in.sources.v[0].title,
			    .compress = -1};
	int status = export_write(&o->common, to, &formats[format], &w, NULL);

	if (!status && strcmp(to->path, "-") != 0)
		say(&o->common, "wrote %s", to->path);
	return status;
}

static enum format_id flame_format(const char *path)
{
	return str_ends(str_of(path), STR(".svg")) ? FORMAT_SVG : FORMAT_HTML;
}

static int print_view(const struct query_options *o, const struct view *v)
{
	int status = EXIT_OK;

	if (o->flame.path)
		status = write_view(o, v, &o->flame, flame_format(o->flame.path));
	if (!status && o->pprof.path)
		status = write_view(o, v, &o->pprof, FORMAT_PPROF);
	if (o->flame.path || o->pprof.path)
		inputs_say_windows(&v->in);
	if (!status && (o->top || (!o->flame.path && !o->pprof.path)))
		status = top_report(&o->common, v, &o->style);
	return status;
}

static int query_view(const struct query_options *o, const char *selector)
{
	const char *names[] = {selector};
	struct text_list list = {names, 1, 1};
	struct view v;
	int status;

	view_init(&v, &o->common, &o->input);
	status = view_load(&v, &list, &o->view);
	inputs_say_notes(&v.in);
	if (!status && !v.profile->row_count && !v.filtered)
		say(&o->common, "there are no profiles in that time; without --from and --until it "
				"is the last hour in which there are some");
	if (!status)
		status = print_view(o, &v);
	view_release(&v);
	return status;
}

static int query_over_time(const struct query_options *o, const char *selector)
{
	struct series_request q = {
		.common = &o->common,
		.input = &o->input,
		.selector = selector,
		.type = o->view.type,
		.function = o->function,
		.by = &o->by,
		.self = o->self,
		.json = o->style.json,
		.limit = o->by.n ? o->style.count : 0,
	};

	return query_series(&q);
}

static int check(struct query_options *o)
{
	int status = EXIT_OK;

	o->flame.force = o->pprof.force = o->force;
	if (o->flame.path)
		status = sink_check(&o->flame, false, "html");
	if (!status && o->pprof.path)
		status = sink_check(&o->pprof, true, "pprof");
	return status;
}

static int run(struct invocation *in)
{
	struct query_options *o = in->options;
	struct arena arena = {0};
	const char *selector;
	int status;

	if (in->arguments.n != 1)
		return complain_usage(in,
				      "one selector: vestal query 'checkout{commit=\"abc123\"}'");
	status = check(o);
	if (status)
		return status;
	selector = stored_selector(in->arguments.v[0], &arena);
	if (!selector)
		return complain(EXIT_OS, "out of memory");
	if (o->series || o->by.n || o->function)
		status = query_over_time(o, selector);
	else
		status = query_view(o, selector);
	arena_release(&arena);
	return status;
}

const struct command command_query = {
	.name = "query",
	.summary = "query a server: functions, flame graphs, values over time",
	.arguments = "SELECTOR",
	.examples = examples,
	.description =
		"A selector selects series: a service, and optionally label=\"value\" in braces. "
		"Labels are compared by = and !=, or by regular expressions with =~ and !~, which "
		"must match the whole value: checkout{commit=~\"abc.*\",env!=\"test\"}. "
		"{env=\"prod\"} selects every service with that label.\n\n"
		"The selected profiles are merged into one and shown as by vestal top. The default "
		"range is the last hour with profiles. The default type is cpu, or the only "
		"type.\n\n"
		"vestal top, flame, diff, convert and show accept selectors in place of files, "
		"too.",
	.groups = groups,
	.options_size = sizeof(struct query_options),
	.defaults = set_defaults,
	.words = "",
	.run = run,
};
