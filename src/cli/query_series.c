#include "cli/query_series.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/small_answer.h"
#include "cli/sink.h"
#include "cli/stored.h"
#include "cli/table.h"
#include "cli/term.h"
#include "cli/units.h"

#define TABLE_ROWS 24
#define LINE_WIDTH 40
#define BAR_WIDTH  40
#define MAX_POINTS 11000

struct curve {
	struct str name; /* values of the requested labels */
	int64_t start_ns;
	double *values;
	int64_t *covered; /* time that each point covers */
	size_t n, covered_n;
	double total, rate; /* of a level: the mean */
	bool other;
};

struct chart {
	struct arena arena;
	struct str type, unit;
	int64_t step_ns, from_ns, until_ns;
	VEC(struct curve) curves;
	bool gauge;
};

/* ------------------------------------------------------------------ reading */

static enum err read_labels(struct json *j, struct arena *arena, struct curve *c)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
	struct str key, value;

	if (json_object(j))
		while (json_key(j, &key)) {
			value = (struct str){0};
			if (!json_string(j, &value))
				break;
			if (text.n)
				buf_text(&text, ", ");
			buf_str(&text, value.n ? value : STR("(none)"));
		}
	TRY(buf_error(&text));
	c->name = str_of(arena_copy(arena, text.n ? buf_view(&text) : STR("(none)")));
	return c->name.p ? j->error : ERR_NO_MEMORY;
}

static enum err read_values(struct json *j, struct arena *arena, struct curve *c)
{
	c->values = arena_zalloc(arena, MAX_POINTS, sizeof(double));
	if (!c->values)
		return ERR_NO_MEMORY;
	if (json_array(j))
		while (json_item(j)) {
			double value = NAN; /* null is no measurement */

			json_double(j, &value);
			if (c->n < MAX_POINTS)
				c->values[c->n++] = value;
		}
	return j->error;
}

static enum err read_covered(struct json *j, struct arena *arena, struct curve *c)
{
	c->covered = arena_zalloc(arena, MAX_POINTS, sizeof(*c->covered));
	if (!c->covered)
		return ERR_NO_MEMORY;
	if (json_array(j))
		while (json_item(j)) {
			int64_t value = 0;

			json_i64(j, &value);
			if (c->covered_n < MAX_POINTS)
				c->covered[c->covered_n++] = value;
		}
	return j->error;
}

static enum err read_curve(struct json *j, struct chart *chart)
{
	struct curve c = {.total = NAN, .rate = NAN};
	struct str key;

	if (json_object(j))
		while (json_key(j, &key)) {
			if (str_eq(key, STR("labels")))
				TRY(read_labels(j, &chart->arena, &c));
			else if (str_eq(key, STR("start_ns")))
				json_i64(j, &c.start_ns);
			else if (str_eq(key, STR("values")))
				TRY(read_values(j, &chart->arena, &c));
			else if (str_eq(key, STR("covered")))
				TRY(read_covered(j, &chart->arena, &c));
			else if (str_eq(key, STR("total")))
				json_double(j, &c.total);
			else if (str_eq(key, STR("rate")))
				json_double(j, &c.rate);
			else if (str_eq(key, STR("other")))
				json_bool(j, &c.other);
			else
				json_skip(j);
		}
	if (c.other)
		c.name = STR("other");
	return j->error ? j->error : vec_push(&chart->curves, c);
}

static enum err read_chart(struct json *j, struct chart *c)
{
	struct str key;

	if (!json_object(j))
		return j->error;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("type")))
			json_string_keep(j, &c->arena, &c->type);
		else if (str_eq(key, STR("unit")))
			json_string_keep(j, &c->arena, &c->unit);
		else if (str_eq(key, STR("step_ns")))
			json_i64(j, &c->step_ns);
		else if (str_eq(key, STR("from_ns")))
			json_i64(j, &c->from_ns);
		else if (str_eq(key, STR("until_ns")))
			json_i64(j, &c->until_ns);
		else if (str_eq(key, STR("series")) && json_array(j))
			while (json_item(j))
				TRY(read_curve(j, c));
		else
			json_skip(j);
	}
	return j->error;
}

/* ------------------------------------------------------------------ adding up */

/* The second of the five parts of a type's id. */
static struct str sample_type(struct str id)
{
	struct str part = id;

	for (int i = 0; i < 2; i++)
		if (!str_split(&id, ':', &part))
			return id;
	return part;
}

/* Points i … k-1 as one: sums are summed, levels averaged; NAN when there is nothing. */
static double gather(const struct chart *chart, const struct curve *c, size_t from, size_t until)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = from; i < until && i < c->n; i++)
		if (!isnan(c->values[i])) {
			sum += c->values[i];
			n++;
		}
	return !n ? NAN : chart->gauge ? sum / (double)n : sum;
}

/* The rate of points i … k-1. */
static double rate_between(const struct chart *chart, const struct curve *c, size_t from,
			   size_t until)
{
	double value = gather(chart, c, from, until);
	int64_t covered = 0;

	if (chart->gauge || isnan(value))
		return value;
	for (size_t i = from; i < until && i < c->n && i < c->covered_n; i++)
		covered += c->covered[i];
	return rate_of(value, covered);
}

static size_t points_of(const struct chart *chart)
{
	size_t most = 0;

	vec_for_each (c, &chart->curves)
		most = c->n > most ? c->n : most;
	return most;
}

static bool is_empty(const struct chart *chart, size_t point)
{
	vec_for_each (c, &chart->curves)
		if (point < c->n && !isnan(c->values[point]))
			return false;
	return true;
}

/* Leaves out the time before the first and after the last measurement. */
static void trim(struct chart *chart)
{
	size_t n = points_of(chart), first = 0;

	while (first < n && is_empty(chart, first))
		first++;
	while (n > first && is_empty(chart, n - 1))
		n--;
	vec_for_each (c, &chart->curves) {
		size_t skip = first < c->n ? first : c->n;

		c->n = (c->n < n ? c->n : n) - skip;
		c->values += skip;
		c->covered_n -= skip < c->covered_n ? skip : c->covered_n;
		c->covered += c->covered ? skip : 0;
		c->start_ns += (int64_t)skip * chart->step_ns;
	}
}

static void add_up(struct chart *chart)
{
	struct str type = sample_type(chart->type);

	chart->gauge = type_is_gauge(type, chart->unit);
	trim(chart);
}

/* ------------------------------------------------------------------ printing */

static void put_head(const struct chart *chart, struct buf *out)
{
	char from[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE];

	buf_text(out, "Type: ");
	text_clean(out, sample_type(chart->type));
	buf_printf(out, "\nTime: %s to %s\n", clock_format(chart->from_ns, 0, from),
		   clock_format(chart->until_ns, 0, until));
}

static void put_cell(struct table *t, const struct scale *s, double value)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(128);

	scale_put(&text, s, value);
	table_cell(t, buf_view(&text), NULL);
}

static void put_rate_cell(const struct chart *chart, struct table *t, double rate)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(128);

	if (!chart->gauge && !isnan(rate))
		rate_text(&text, rate, sample_type(chart->type), chart->unit, false);
	table_cell(t, buf_view(&text), NULL);
}

static void put_bar(struct table *t, double value, double most)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024);
	int eighths = most > 0 && value > 0 ? (int)lround(value / most * 8 * BAR_WIDTH) : 0;

	for (; eighths >= 8; eighths -= 8)
		buf_text(&text, "█");
	if (eighths > 0) {
		static const char *const parts[] = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"};

		buf_text(&text, parts[eighths - 1]);
	}
	table_cell(t, buf_view(&text), COLOR_CYAN);
}

static void put_line(const struct chart *chart, struct table *t, const struct curve *c,
		     size_t per_block, double most)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

	for (size_t i = 0; i < c->n; i += per_block) {
		double value = gather(chart, c, i, i + per_block);

		if (isnan(value) || most <= 0)
			buf_byte(&text, ' ');
		else
			buf_text(&text, blocks[value <= 0 ? 0 : (int)fmin(value / most * 8, 7)]);
	}
	table_cell(t, buf_view(&text), COLOR_CYAN);
}

static double most_of(const struct chart *chart, size_t per_block)
{
	double most = 0;

	vec_for_each (c, &chart->curves)
		for (size_t i = 0; i < c->n; i += per_block)
			most = fmax(most, gather(chart, c, i, i + per_block));
	return most;
}

static struct scale scale_for(const struct chart *chart, double most)
{
	int64_t value = most < 9e18 ? (int64_t)most : INT64_MAX;

	return scale_choose(value / 1000, value, chart->unit);
}

/* One curve: a row per time. */
static void put_times(const struct chart *chart, struct table *t)
{
	const struct curve *c = &chart->curves.v[0];
	size_t per_row = (c->n + TABLE_ROWS - 1) / TABLE_ROWS;
	double most = most_of(chart, per_row ? per_row : 1);
	struct scale scale = scale_for(chart, most);
	char when[CLOCK_TEXT_SIZE];

	for (size_t i = 0; i < c->n; i += per_row) {
		double value = gather(chart, c, i, i + per_row);

		table_cell(t,
			   str_of(clock_format(c->start_ns + (int64_t)i * chart->step_ns, 0, when)),
			   NULL);
		if (isnan(value))
			table_cell(t, STR(""), NULL);
		else
			put_cell(t, &scale, value);
		put_rate_cell(chart, t, rate_between(chart, c, i, i + per_row));
		put_bar(t, isnan(value) ? 0 : value, most);
	}
}

/* Groups: a row each. */
static void put_groups(const struct chart *chart, struct table *t)
{
	size_t per_block = (points_of(chart) + LINE_WIDTH - 1) / LINE_WIDTH;
	double most = most_of(chart, per_block ? per_block : 1), sum = 0, largest = 0;
	struct scale scale;

	vec_for_each (c, &chart->curves) {
		sum += isnan(c->total) ? 0 : c->total;
		largest = fmax(largest, c->total);
	}
	scale = scale_for(chart, largest);
	vec_for_each (c, &chart->curves) {
		CLEANUP(buf_release) struct buf share = BUF_INIT(64);

		if (isnan(c->total))
			continue;
		put_cell(t, &scale, c->total);
		put_rate_cell(chart, t, c->rate);
		share_put(&share, c->total, sum);
		table_cell(t, buf_view(&share), NULL);
		put_line(chart, t, c, per_block ? per_block : 1, most);
		table_cell(t, c->name, NULL);
	}
}

static int print_chart(const struct series_request *q, struct chart *chart)
{
	static const struct column of_times[] = {{"time", ALIGN_LEFT, 20},
						 {"value", ALIGN_RIGHT, 10},
						 {"rate", ALIGN_RIGHT, 10},
						 {"", ALIGN_LEFT, 0}};
	static const struct column of_groups[] = {{"sum", ALIGN_RIGHT, 10},
						  {"rate", ALIGN_RIGHT, 10},
						  {"share", ALIGN_RIGHT, 6},
						  {"over time", ALIGN_LEFT, 9},
						  {"", ALIGN_LEFT, 0}};
	struct column columns[5];
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 30);
	CLEANUP(table_release) struct table t;
	unsigned count = q->by->n ? 5 : 4;

	memcpy(columns, q->by->n ? of_groups : of_times, count * sizeof(columns[0]));
	add_up(chart);
	if (q->by->n && chart->gauge)
		columns[0].title = "mean";
	if (q->by->n)
		columns[4].title = q->by->v[0];
	table_init(&t, columns, count, term_width(STDOUT_FILENO),
		   term_color(STDOUT_FILENO, q->common->color));
	put_head(chart, &out);
	if (q->by->n)
		put_groups(chart, &t);
	else if (chart->curves.n)
		put_times(chart, &t);
	if (!t.cells.n) {
		buf_text(&out, "No data\n");
		return sink_stdout(&out);
	}
	table_print(&t, &out);
	return sink_stdout(&out);
}

/* ------------------------------------------------------------------ asking */

static int ask(const struct series_request *q, struct buf *answer)
{
	CLEANUP(call_release) struct call c;
	char limit[24];

	call_init(&c, &q->input->client, "/api/v1/series");
	call_param_text(&c, "query", q->selector);
	call_param_text(&c, "type", q->type);
	stored_window(q->input, &c);
	for (size_t i = 0; i < q->by->n; i++)
		call_param_text(&c, "by", q->by->v[i]);
	call_param_text(&c, "function", q->function);
	if (q->self)
		call_param_text(&c, "self", "true");
	if (q->limit) {
		snprintf(limit, sizeof(limit), "%lld", (long long)q->limit);
		call_param_text(&c, "limit", limit);
	}
	if (q->json)
		call_param_text(&c, "pretty", "true");
	return client_get(&c, answer);
}

int query_series(const struct series_request *q)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT((size_t)1 << 30);
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct chart chart = {0};
	int status = ask(q, &answer);
	struct json j;
	enum err e;

	if (status || q->json)
		return status ? status : answer_print(&answer);
	json_init(&j, buf_view(&answer), "answer", 16, &r);
	e = read_chart(&j, &chart);
	json_release(&j);
	if (e)
		status = complain(status_of(e), "%s", r.fault.text[0] ? r.fault.text : err_text(e));
	else
		status = print_chart(q, &chart);
	vec_release(&chart.curves);
	arena_release(&chart.arena);
	return status;
}
