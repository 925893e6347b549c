/*
 * vestal diff: what changed between two profiles, and what of it is noise.
 */
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/diff_report.h"
#include "cli/export.h"
#include "cli/stored.h"
#include "cli/table.h"
#include "cli/term.h"
#include "cli/units.h"

static const struct option table[] = {
	{"before", 'b', OPT_LIST, "FILE", "another profile for the before side",
	 AT(struct diff_cli_options, before), NULL},
	{"after", 'a', OPT_LIST, "FILE", "another profile for the after side",
	 AT(struct diff_cli_options, after), NULL},
	{"baseline", 0, OPT_LIST, "SELECTOR", "as --before; also the name of a service",
	 AT(struct diff_cli_options, baseline), NULL},
	{"comparison", 0, OPT_LIST, "SELECTOR", "as --after; also the name of a service",
	 AT(struct diff_cli_options, comparison), NULL},
	{"baseline-from", 0, OPT_TEXT, "TIME", "the baseline begins here, such as -2h",
	 AT(struct diff_cli_options, since[0]), NULL},
	{"baseline-until", 0, OPT_TEXT, "TIME", "and ends here",
	 AT(struct diff_cli_options, until[0]), NULL},
	{"comparison-from", 0, OPT_TEXT, "TIME", "the comparison begins here, such as -1h",
	 AT(struct diff_cli_options, since[1]), NULL},
	{"comparison-until", 0, OPT_TEXT, "TIME", "and ends here",
	 AT(struct diff_cli_options, until[1]), NULL},
	{"count", 'n', OPT_NUMBER, "N", "show N rows; 0 is all (30)",
	 AT(struct diff_cli_options, count), NULL},
	{"flat", 0, OPT_FLAG, NULL, "compare flat values instead of cumulative ones",
	 AT(struct diff_cli_options, flat), NULL},
	{"lines", 'l', OPT_FLAG, NULL, "a row per line of source instead of per function",
	 AT(struct diff_cli_options, lines), NULL},
	{"significant", 's', OPT_FLAG, NULL, "only rows that are not noise",
	 AT(struct diff_cli_options, significant), NULL},
	{"normalise", 0, OPT_FLAG, NULL, "scale before to the total of after (the default)",
	 AT(struct diff_cli_options, normalise), NULL},
	{"no-normalise", 0, OPT_OFF, NULL, "compare values as they were measured",
	 AT(struct diff_cli_options, normalise), NULL},
	{"html", 0, OPT_TEXT, "FILE", "also write a flame graph of the difference (or FILE.svg)",
	 AT(struct diff_cli_options, html.path), NULL},
	{"force", 'f', OPT_FLAG, NULL, "overwrite an existing FILE",
	 AT(struct diff_cli_options, html.force), NULL},
	{"json", 0, OPT_FLAG, NULL, "as JSON (docs/json.md)", AT(struct diff_cli_options, json),
	 NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Selection", view_table, AT(struct diff_cli_options, view)},
	{"Inputs", input_table, AT(struct diff_cli_options, input)},
	{"Server", client_table, AT(struct diff_cli_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal diff before.pb.gz after.pb.gz", "what changed, largest change first"},
	{"vestal diff before.pb.gz after.pb.gz --html diff.html", "and as a flame graph"},
	{"vestal diff --significant before.pb.gz after.pb.gz", "only significant changes"},
	{"vestal diff -b monday.pb.gz -b tuesday.pb.gz -a after.pb.gz",
	 "several profiles per side"},
	{"vestal diff --json before.pb.gz after.pb.gz", "for programs"},
	{"vestal diff --baseline \"my-service{commit=abc123}\" "
	 "--comparison \"my-service{commit=def456}\" --time-range \"1h\"",
	 "two versions stored by a server"},
	{"vestal diff --baseline my-service --baseline-from -2h --baseline-until -1h "
	 "--comparison my-service --comparison-from -1h",
	 "the last hour and the one before"},
	{0},
};

static void set_defaults(void *options)
{
	struct diff_cli_options *o = options;

	input_defaults(&o->input);
	o->count = 30;
	o->normalise = true;
}

static const char *const verdicts[] = {"noise", "more", "less", "added", "removed", "unknown"};

const char *diff_verdict_name(enum diff_verdict v)
{
	return verdicts[v];
}

static const char *verdict_color(enum diff_verdict v)
{
	switch (v) {
	case DIFF_MORE:
	case DIFF_ADDED:
		return COLOR_YELLOW;
	case DIFF_LESS:
	case DIFF_REMOVED:
		return COLOR_CYAN;
	default:
		return COLOR_DIM;
	}
}

static void put_amount(struct table *t, const struct scale *s, double value, bool sign,
		       const char *color)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(128);

	if (sign && value > 0)
		buf_byte(&text, '+');
	scale_put(&text, s, value);
	table_cell(t, buf_view(&text), color);
}

static void put_row(const struct diff_report *r, struct table *t, const struct diff_row *row)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 22);
	const char *color = verdict_color(row->verdict);
	const int64_t *values = r->o->flat ? row->flat : row->cum;

	put_amount(t, &r->scale, (double)values[0], false, NULL);
	put_amount(t, &r->scale, (double)values[1], false, NULL);
	put_amount(t, &r->scale, r->o->flat ? row->flat_change : row->cum_change, true, color);
	table_cellf(t, color, "%+.2f", row->share_change);
	if (row->error > 0)
		table_cellf(t, NULL, "±%.2f", row->error);
	else
		table_cell(t, STR("?"), NULL);
	table_cell(t, str_of(diff_verdict_name(row->verdict)), color);
	diff_put_name(r, row->frame, &name);
	table_cell(t, buf_view(&name), NULL);
}

static void put_side(const struct diff_report *r, struct buf *out, int side)
{
	struct completeness arrived;
	const struct view *v = &r->sides[side];
	const struct source *first = &v->in.sources.v[0];
	const struct amount *a = side ? &r->change.after : &r->change.before;
	char from[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE];

	buf_text(out, side ? "After:  " : "Before: ");
	if (isnan(a->total))
		buf_text(out, "No data");
	else
		scale_put(out, &r->scale, (double)r->diff.totals[side]);
	buf_text(out, " in ");
	text_clean(out, str_of(first->name));
	if (v->in.sources.n > 1)
		buf_printf(out, " and %zu more", v->in.sources.n - 1);
	if (!isnan(amount_rate(a)) && !a->gauge) {
		buf_text(out, ", ");
		rate_text(out, amount_rate(a), v->type_name, v->unit, a->gauge);
	}
	if (r->diff.samples[side] > 0)
		buf_printf(out, ", %.0f samples", r->diff.samples[side]);
	if (first->stored && first->from_ns)
		buf_printf(out, ", %s to %s", clock_format(first->from_ns, 0, from),
			   clock_format(first->until_ns, 0, until));
	buf_byte(out, '\n');
	completeness_of_file(v->profile, v->type, &arrived);
	completeness_line(&arrived, "        ", out);
}

static void put_note(const struct diff_report *r, struct buf *out)
{
	const char *doubt = diff_doubt(&r->diff);
	double factor;
	bool heap = r->sides[1].in.sources.v[0].stored &&
		    unit_kind(r->sides[1].unit, &factor) == UNIT_BYTES;

	if (doubt)
		buf_printf(out, "No verdicts: %s\n", doubt);
	else if (heap && r->diff.n)
		buf_printf(out, "Verdicts: %s\n", DIFF_HEAP_ASSUMPTION);
}

static void put_text(const struct diff_report *r, struct buf *out)
{
	static const struct column columns[] = {
		{"before", ALIGN_RIGHT, 9}, {"after", ALIGN_RIGHT, 9}, {"change", ALIGN_RIGHT, 9},
		{"share%", ALIGN_RIGHT, 7}, {"error", ALIGN_RIGHT, 6}, {"verdict", ALIGN_LEFT, 7},
		{"", ALIGN_LEFT, 0},
	};
	CLEANUP(table_release) struct table t;

	table_init(&t, columns, 7, term_width(STDOUT_FILENO),
		   term_color(STDOUT_FILENO, r->o->common.color));
	buf_text(out, "Type: ");
	text_clean(out, r->sides[1].type_name);
	buf_text(out, r->o->flat ? ", flat values\n" : ", cumulative values\n");
	put_side(r, out, 0);
	put_side(r, out, 1);
	diff_put_change(r, out);
	if (r->diff.scale != 1)
		buf_printf(out, "Changes are after scaling before by %.4g to the total of after\n",
			   r->diff.scale);
	put_note(r, out);
	if (!r->matching && r->diff.n && !diff_doubt(&r->diff))
		buf_text(out, "No change is above noise\n");
	if (r->shown < r->matching)
		buf_printf(out, "Showing top %zu of %zu\n", r->shown, r->matching);
	for (size_t i = 0, left = r->shown; left && i < r->diff.n; i++) {
		if (!diff_is_shown(r, &r->diff.rows[i]))
			continue;
		put_row(r, &t, &r->diff.rows[i]);
		left--;
	}
	table_print(&t, out);
}

bool diff_is_shown(const struct diff_report *r, const struct diff_row *row)
{
	return !r->o->significant || (row->verdict != DIFF_NOISE && row->verdict != DIFF_UNKNOWN);
}

static int build(struct diff_report *r)
{
	struct diff_options options = {
		.type = {(int)r->sides[0].type, (int)r->sides[1].type},
		.normalise = r->o->normalise,
		.lines = r->o->lines,
		.design_effect = 1,
	};
	enum err e = diff_build(r->sides[0].profile, r->sides[1].profile, &options, &r->diff);
	int64_t largest = 0;

	int status;

	if (e)
		return complain(status_of(e), "%s", err_text(e));
	status = diff_find_change(r);
	if (status)
		return status;
	diff_sort(&r->diff, r->sides[1].profile->dict, r->o->flat);
	for (size_t i = 0; i < r->diff.n; i++)
		r->matching += diff_is_shown(r, &r->diff.rows[i]);
	r->shown = r->matching;
	if (r->o->count && (uint64_t)r->o->count < r->shown)
		r->shown = (size_t)r->o->count;
	for (int side = 0; side < 2; side++)
		if (magnitude_of(r->diff.totals[side]) > largest)
			largest = magnitude_of(r->diff.totals[side]);
	r->scale = scale_choose(largest / 1000, largest, r->sides[1].unit);
	return EXIT_OK;
}

/* monday/cpu.pb.gz and tuesday/cpu.pb.gz differ only in their directories. */
static const char *html_title(const struct diff_report *r, int side)
{
	const struct source *before = &r->sides[0].in.sources.v[0];
	const struct source *after = &r->sides[1].in.sources.v[0];
	bool alike = strcmp(before->title, after->title) == 0;
	const struct source *s = side ? after : before;

	return alike ? s->name : s->title;
}

static int write_html(const struct diff_report *r)
{
	const struct diff_cli_options *o = r->o;
	struct profile *one[] = {r->sides[1].profile};
	struct profile_list list = {.v = one, .n = 1};
	struct writing w = {
		.list = &list,
		.type = (int)r->sides[1].type,
		.title = html_title(r, 1),
		.compress = -1,
		.baseline = r->sides[0].profile,
		.baseline_title = html_title(r, 0),
	};
	bool svg = str_ends(str_of(o->html.path), STR(".svg"));
	int status = export_write(&o->common, &o->html, &formats[svg ? FORMAT_SVG : FORMAT_HTML],
				  &w, NULL);

	if (!status && strcmp(o->html.path, "-") != 0)
		say(&o->common, "wrote %s: open it in any browser", o->html.path);
	return status;
}

static int print_report(struct diff_report *r)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 32);
	int status = build(r);

	if (!status && r->o->html.path)
		status = write_html(r);
	if (status || (r->o->html.path && strcmp(r->o->html.path, "-") == 0))
		return status;
	if (r->o->json)
		diff_json(r, &out);
	else
		put_text(r, &out);
	return sink_stdout(&out);
}

/* --baseline and --comparison are more of before and after, in the words of servers. */
static bool add_stored(const struct text_list *names, struct text_list *side, struct arena *arena)
{
	for (size_t i = 0; i < names->n; i++) {
		const char *selector = stored_is_elsewhere(names->v[i])
					       ? names->v[i]
					       : stored_selector(names->v[i], arena);

		if (!selector || vec_push(side, selector))
			return false;
	}
	return true;
}

/* Two arguments are before and after; any number per side comes with -b and -a. */
static int sort_out(struct invocation *in, struct diff_cli_options *o, struct arena *arena)
{
	if (!add_stored(&o->baseline, &o->before, arena) ||
	    !add_stored(&o->comparison, &o->after, arena))
		return complain(EXIT_OS, "out of memory");
	if (in->arguments.n == 2 && !o->before.n && !o->after.n) {
		if (vec_push(&o->before, in->arguments.v[0]) ||
		    vec_push(&o->after, in->arguments.v[1]))
			return complain(EXIT_OS, "out of memory");
	} else if (in->arguments.n || !o->before.n || !o->after.n) {
		return complain_usage(in, "two profiles: vestal diff BEFORE AFTER");
	}
	return o->html.path ? sink_check(&o->html, false, "html") : EXIT_OK;
}

static int load(struct diff_report *r, const struct diff_cli_options *o)
{
	CLEANUP(buf_release) struct buf type = BUF_INIT(1 << 16);
	struct view_options same = o->view;
	int status = view_load(&r->sides[0], &o->before, &o->view);

	inputs_say_notes(&r->sides[0].in);
	if (status)
		return status;
	buf_str(&type, r->sides[0].type_name);
	same.type = type.n ? type.data : NULL;
	inputs_share(&r->sides[1].in, &r->sides[0].in);
	status = view_load(&r->sides[1], &o->after, &same);
	inputs_say_notes(&r->sides[1].in);
	if (status)
		return status;
	/* Reading the second side moved the strings of the first. */
	view_refresh(&r->sides[0]);
	if (!str_eq(r->sides[0].unit, r->sides[1].unit))
		return complain(EXIT_BAD_DATA, "%s is in %.*s before and in %.*s after",
				type.n ? type.data : "", (int)r->sides[0].unit.n,
				r->sides[0].unit.p, (int)r->sides[1].unit.n, r->sides[1].unit.p);
	return EXIT_OK;
}

static int run(struct invocation *in)
{
	struct diff_cli_options *o = in->options;
	struct diff_report r = {.o = o};
	int status = sort_out(in, o, &r.names);

	if (status) {
		arena_release(&r.names);
		return status;
	}
	for (int i = 0; i < 2; i++) {
		r.input[i] = o->input;
		r.input[i].since = o->since[i];
		r.input[i].until = o->until[i];
		view_init(&r.sides[i], &o->common, &r.input[i]);
	}
	status = load(&r, o);
	if (!status)
		status = print_report(&r);
	diff_release(&r.diff);
	view_release(&r.sides[1]);
	view_release(&r.sides[0]);
	arena_release(&r.names);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "compare profiles, and test which changes are significant",
	.arguments = "BEFORE AFTER",
	.examples = examples,
	.description =
		"\"Change\" compares the totals per second of profiled time, and says whether the "
		"difference is significant.\n\n"
		"Prints a row per function: its value before and after, the change, the change of "
		"its "
		"share of the total in percentage points with the half width of its 95 % interval, "
		"and "
		"a verdict: more, less, added, removed, or noise if sampling alone can explain it "
		"(binomial test, false discovery rate 5 % over the rows with enough samples). "
		"Among hundreds of rows some exceed their interval by chance: these count as "
		"noise, too, until there are more samples.\n\n"
		"If the totals differ, before is scaled to the total of after, so that a longer "
		"recording does not look like a slower program; --no-normalise compares as "
		"measured.\n\n"
		"Either side may be profiles stored by a server: a selector such as "
		"checkout{commit=\"abc123\"}. --time-range is the last period of that length with "
		"profiles of that side; the times are printed.",
	.groups = groups,
	.options_size = sizeof(struct diff_cli_options),
	.defaults = set_defaults,
	.run = run,
};
