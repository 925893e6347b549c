#include "cli/top_report.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonout.h"
#include "cli/sink.h"
#include "cli/table.h"
#include "cli/term.h"
#include "cli/top_inlines.h"
#include "cli/units.h"

const struct option top_style_table[] = {
	{"cum", 'c', OPT_FLAG, NULL, "sort by cumulative value instead of flat",
	 AT(struct top_style, cum), NULL},
	{"count", 'n', OPT_NUMBER, "N", "show N rows; 0 is all (30)", AT(struct top_style, count),
	 NULL},
	{"lines", 'l', OPT_FLAG, NULL, "a row per line of source instead of per function",
	 AT(struct top_style, lines), NULL},
	{"json", 0, OPT_FLAG, NULL, "as JSON (docs/json.md)", AT(struct top_style, json), NULL},
	{0},
};

/* The name of a row: the function, with --lines also file and line. */
static void put_name(struct buf *out, const struct dict *d, uint32_t frame, bool lines)
{
	struct str file = frame_file(d, frame);

	frame_label(d, frame, out);
	if (!lines || !file.n)
		return;
	buf_byte(out, ' ');
	buf_str(out, file);
	if (d->frames.v[frame].line)
		buf_printf(out, ":%" PRId64, d->frames.v[frame].line);
}

/* Everything the two printers share. */
struct report {
	const struct common_options *common;
	const struct top_style *style;
	const struct view *v;
	struct top top;
	struct inlines inlines;
	size_t shown;
	int64_t shown_flat;
	struct stack_quality quality;
	struct completeness arrived;
	struct scale scale;
};

static struct scale choose_scale(const struct report *r)
{
	int64_t smallest = 0;

	for (size_t i = 0; i < r->shown; i++) {
		const struct top_row *row = &r->top.rows[i];
		int64_t value = magnitude_of(row->flat[0] ? row->flat[0] : row->cum[0]);

		if (value && (!smallest || value < smallest))
			smallest = value;
	}
	return scale_choose(smallest, r->v->total, r->v->unit);
}

static enum err report_build(struct report *r)
{
	struct tree_column column = {r->v->profile, r->v->type};
	const struct dict *d = r->v->profile->dict;

	TRY(profile_quality(r->v->profile, r->v->type, &r->quality));
	completeness_of_file(r->v->profile, r->v->type, &r->arrived);
	TRY(top_build(&column, 1, r->style->lines ? TOP_LINES : 0, &r->top));
	top_sort(&r->top, d, 0, r->style->cum ? TOP_BY_CUM : TOP_BY_FLAT);
	TRY(inlines_build(&r->inlines, r->v->profile, r->v->type, r->style->lines));
	r->shown = r->top.n;
	if (r->style->count && (uint64_t)r->style->count < r->shown)
		r->shown = (size_t)r->style->count;
	for (size_t i = 0; i < r->shown; i++)
		if (__builtin_add_overflow(r->shown_flat, r->top.rows[i].flat[0], &r->shown_flat))
			r->shown_flat = INT64_MAX;
	r->scale = choose_scale(r);
	return ERR_OK;
}

/* pprof takes the first mapping for the program; in a profile of a whole machine it may be
 * anything, so a library or the kernel is not called that. */
static bool may_be_program(struct str file)
{
	return file.n && file.p[0] != '[' && str_search(file, STR(".so")) == file.n &&
	       !str_starts(file, STR("vmlinux"));
}

static void put_module(const struct report *r, struct buf *out)
{
	const struct profile *p = r->v->profile;
	const struct mapping *m = p->mappings.n ? &p->dict->mappings.v[p->mappings.v[0]] : NULL;
	struct str file = m ? dict_str(p->dict, m->file) : STR("");
	size_t slash = str_rfind(file, '/');

	if (slash < file.n)
		file = str_skip(file, slash + 1);
	if (!may_be_program(file))
		return;
	buf_text(out, "File: ");
	text_clean(out, file);
	buf_byte(out, '\n');
	if (m->build_id) {
		buf_text(out, "Build ID: ");
		text_clean(out, dict_str(p->dict, m->build_id));
		buf_byte(out, '\n');
	}
}

static void put_duration(const struct report *r, struct buf *out)
{
	const struct profile *p = r->v->profile;
	struct scale duration = scale_of(p->duration_ns, STR("nanoseconds"));
	double factor;

	buf_text(out, "Duration: ");
	scale_put(out, &duration, (double)p->duration_ns);
	buf_text(out, ", Total samples = ");
	scale_put(out, &r->scale, (double)r->v->total);
	if (unit_kind(r->v->unit, &factor) == UNIT_TIME && r->v->total > 0) {
		buf_text(out, " (");
		share_put(out, (double)r->v->total * factor, (double)p->duration_ns);
		buf_byte(out, ')');
	}
	buf_byte(out, '\n');
}

/* "Rate: 0.45 cores while running, data for 17 % of the range" */
static void put_rate(const struct report *r, struct buf *out)
{
	struct amount a = view_amount(r->v, r->v->total);
	double coverage = amount_coverage(&a);

	if (isnan(amount_rate(&a)) || a.gauge)
		return;
	buf_text(out, "Rate: ");
	rate_text(out, amount_rate(&a), r->v->type_name, r->v->unit, a.gauge);
	if (coverage < COVERAGE_SHOWN) {
		buf_text(out, " while running, data for ");
		figure_put(out, 100 * coverage);
		buf_text(out, " % of the range");
	}
	buf_byte(out, '\n');
}

static void put_header(const struct report *r, struct buf *out)
{
	const struct profile *p = r->v->profile;
	char when[CLOCK_TEXT_SIZE];

	put_module(r, out);
	buf_text(out, "Type: ");
	text_clean(out, r->v->type_name);
	buf_byte(out, '\n');
	if (p->time_ns)
		buf_printf(out, "Time: %s\n", clock_format(p->time_ns, 0, when));
	if (p->duration_ns)
		put_duration(r, out);
	if (isnan(view_amount(r->v, r->v->total).total)) {
		buf_text(out, "No data\n");
		return;
	}
	put_rate(r, out);
	buf_text(out, "Showing nodes accounting for ");
	scale_put(out, &r->scale, (double)r->shown_flat);
	buf_text(out, ", ");
	{
		CLEANUP(buf_release) struct buf share = BUF_INIT(64);

		share_put(&share, (double)r->shown_flat, (double)r->v->total);
		buf_str(out, str_trim(buf_view(&share)));
	}
	buf_text(out, " of ");
	scale_put(out, &r->scale, (double)r->v->total);
	buf_text(out, " total\n");
	completeness_line(&r->arrived, "", out);
	if (r->quality.truncated > 0)
		buf_printf(out, "%.2f%% is in stacks that were cut or could not be walked\n",
			   100 * r->quality.truncated);
	if (r->shown < r->top.n)
		buf_printf(out, "Showing top %zu nodes out of %zu\n", r->shown, r->top.n);
}

static const char *heat(double part, double whole)
{
	double share = whole != 0 ? fabs(part / whole) : 0;

	return share >= 0.1 ? COLOR_RED : share >= 0.03 ? COLOR_YELLOW : NULL;
}

static void put_value(struct table *t, const struct scale *s, double value, const char *color)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(128);

	scale_put(&text, s, value);
	table_cell(t, buf_view(&text), color);
}

static void put_share(struct table *t, double value, double total, const char *color)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(128);

	share_put(&text, value, total);
	table_cell(t, buf_view(&text), color);
}

static void put_row(const struct report *r, struct table *t, const struct top_row *row, double sum,
		    struct buf *name)
{
	uint8_t seen = inlines_of(&r->inlines, row->frame);
	double flat = (double)row->flat[0], cum = (double)row->cum[0];
	double total = (double)r->v->total;

	put_value(t, &r->scale, flat, heat(flat, total));
	put_share(t, flat, total, heat(flat, total));
	put_share(t, sum, total, NULL);
	put_value(t, &r->scale, cum, NULL);
	put_share(t, cum, total, NULL);
	buf_clear(name);
	put_name(name, r->v->profile->dict, row->frame, r->style->lines);
	if (seen & INLINED)
		buf_text(name, seen & NOT_INLINED ? " (partial-inline)" : " (inline)");
	table_cell(t, buf_view(name), NULL);
}

static void put_text(const struct report *r, struct buf *out)
{
	static const struct column columns[] = {
		{"flat", ALIGN_RIGHT, 10}, {"flat%", ALIGN_RIGHT, 6}, {"sum%", ALIGN_RIGHT, 6},
		{"cum", ALIGN_RIGHT, 10},  {"cum%", ALIGN_RIGHT, 6},  {"", ALIGN_LEFT, 0},
	};
	CLEANUP(table_release) struct table t;
	CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 22);
	double sum = 0;

	table_init(&t, columns, 6, term_width(STDOUT_FILENO),
		   term_color(STDOUT_FILENO, r->common->color));
	put_header(r, out);
	for (size_t i = 0; i < r->shown; i++) {
		sum += (double)r->top.rows[i].flat[0];
		put_row(r, &t, &r->top.rows[i], sum, &name);
	}
	table_print(&t, out);
}

static void put_json_row(const struct report *r, struct jsonout *j, const struct top_row *row,
			 struct buf *name)
{
	const struct dict *d = r->v->profile->dict;
	const struct frame *f = &d->frames.v[row->frame];
	uint8_t seen = inlines_of(&r->inlines, row->frame);
	double total = r->v->total ? (double)r->v->total : 1;

	buf_clear(name);
	frame_label(d, row->frame, name);
	jsonout_object(j);
	jsonout_put_str(j, "name", buf_view(name));
	jsonout_put_str(j, "file", frame_file(d, row->frame));
	if (r->style->lines)
		jsonout_put_i64(j, "line", f->line);
	jsonout_put_str(j, "module", dict_str(d, d->mappings.v[f->mapping].file));
	jsonout_put_text(j, "inlined",
			 !(seen & INLINED)    ? "no"
			 : seen & NOT_INLINED ? "partly"
					      : "yes");
	jsonout_put_i64(j, "flat", row->flat[0]);
	jsonout_put_double(j, "flat_share", (double)row->flat[0] / total);
	jsonout_put_i64(j, "cum", row->cum[0]);
	jsonout_put_double(j, "cum_share", (double)row->cum[0] / total);
	jsonout_end_object(j);
}

static void put_json(const struct report *r, struct buf *out)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 22);
	struct jsonout j = jsonout_of(out, true);
	const struct profile *p = r->v->profile;
	struct amount amount = view_amount(r->v, r->v->total);

	jsonout_object(&j);
	jsonout_put_text(&j, "schema", "vestal.top/1");
	jsonout_put_array(&j, "inputs");
	for (size_t i = 0; i < r->v->in.sources.n; i++)
		jsonout_text(&j, r->v->in.sources.v[i].name);
	jsonout_end_array(&j);
	jsonout_put_str(&j, "type", r->v->type_name);
	jsonout_put_str(&j, "unit", r->v->unit);
	jsonout_put_i64(&j, "time_ns", p->time_ns);
	jsonout_put_i64(&j, "duration_ns", p->duration_ns);
	amount_put(&j, &amount);
	jsonout_put_i64(&j, "kept", profile_total(p, r->v->type));
	jsonout_put_double(&j, "broken_share", r->quality.truncated);
	jsonout_key(&j, STR("completeness"));
	completeness_json(&j, &r->arrived, &r->quality);
	jsonout_put_text(&j, "order", r->style->cum ? "cum" : "flat");
	jsonout_put_u64(&j, "row_count", r->top.n);
	jsonout_put_array(&j, "rows");
	for (size_t i = 0; i < r->shown; i++)
		put_json_row(r, &j, &r->top.rows[i], &name);
	jsonout_end_array(&j);
	jsonout_end_object(&j);
	buf_byte(out, '\n');
}

static int print_report(struct report *r)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 32);
	enum err e = report_build(r);
	int status;

	if (e) {
		status = complain(status_of(e), "%s", err_text(e));
	} else {
		if (r->style->json)
			put_json(r, &out);
		else
			put_text(r, &out);
		status = sink_stdout(&out);
	}
	top_release(&r->top);
	inlines_release(&r->inlines);
	return status;
}

int top_report(const struct common_options *common, const struct view *v,
	       const struct top_style *style)
{
	struct report r = {.common = common, .v = v, .style = style};

	return print_report(&r);
}
