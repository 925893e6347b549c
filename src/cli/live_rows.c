#include "cli/live_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cli/table.h"
#include "cli/term.h"

/* Names are bounded by their number; this holds what a second of the busiest machine brings. */
#define NAME_MAX_BYTES 2048

void live_rows_release(struct live_rows *r)
{
	vec_release(&r->list);
	map_release(&r->index);
	arena_release(&r->texts);
}

static enum err find_row(struct live_rows *r, struct str process, struct str name, uint32_t *ret)
{
	uint64_t hash = hash_str(name, hash_str(process, 0));
	struct live_row fresh = {0};

	MAP_PROBE(&r->index, hash, id)
	{
		if (str_eq(r->list.v[id].name, name) && str_eq(r->list.v[id].process, process)) {
			*ret = id;
			return ERR_OK;
		}
	}
	fresh.process = str_n(arena_copy(&r->texts, process), process.n);
	fresh.name = str_n(arena_copy(&r->texts, name), name.n);
	if (!fresh.process.p || !fresh.name.p)
		return ERR_NO_MEMORY;
	TRY(vec_push(&r->list, fresh));
	*ret = (uint32_t)r->list.n - 1;
	return map_put(&r->index, hash, *ret);
}

/* Functions of a process met so far, so that a name is made once. */
struct met {
	uint32_t process, key, row;
};

struct reading {
	struct live_rows *rows;
	const struct profile *profile;
	struct frame_keys keys;
	VEC(struct met) met;
	struct map index;
	struct buf name;
	int columns[LIVE_MEASURES];
};

static enum err meet(struct reading *r, uint32_t process, uint32_t frame, struct met **ret)
{
	const struct dict *d = r->profile->dict;
	uint32_t key = r->keys.keys[frame];
	uint64_t hash = hash_mix(process, key);
	struct met fresh = {.process = process, .key = key};

	MAP_PROBE(&r->index, hash, id)
	{
		if (r->met.v[id].process == process && r->met.v[id].key == key) {
			*ret = &r->met.v[id];
			return ERR_OK;
		}
	}
	buf_clear(&r->name);
	frame_label(d, frame, &r->name);
	if (r->name.n > NAME_MAX_BYTES)
		r->name.n = NAME_MAX_BYTES;
	TRY(find_row(r->rows, dict_str(d, process), buf_view(&r->name), &fresh.row));
	TRY(vec_push(&r->met, fresh));
	TRY(map_put(&r->index, hash, (uint32_t)r->met.n - 1));
	*ret = &r->met.v[r->met.n - 1];
	return ERR_OK;
}

static enum err read_row(struct reading *r, size_t row, uint32_t process)
{
	const int64_t *values = profile_values(r->profile, row);
	double value[LIVE_MEASURES] = {0};
	uint32_t n;
	const uint32_t *frames = stack_frames(r->profile->dict, r->profile->stack[row], &n);

	for (int m = 0; m < LIVE_MEASURES; m++) {
		value[m] = r->columns[m] < 0 ? 0 : (double)values[r->columns[m]];
		r->rows->total[m] += value[m];
	}
	for (uint32_t i = 0; i < n; i++) {
		struct live_row *to;
		struct met *met;

		TRY(meet(r, process, frames[i], &met));
		to = &r->rows->list.v[met->row];
		for (int m = 0; m < LIVE_MEASURES; m++) {
			if (!i)
				to->values.flat[m] += value[m];
			if (to->stamp != row + 1)
				to->values.cum[m] += value[m];
		}
		/* Functions of one name in several files are one row. */
		to->stamp = row + 1;
	}
	return ERR_OK;
}

enum err live_rows_profile(struct live_rows *rows, const struct profile *p, bool by_process)
{
	struct reading r = {.rows = rows, .profile = p, .name = BUF_INIT(1 << 22)};
	enum err e = frame_keys_build(p->dict, false, &r.keys);

	vec_for_each (row, &rows->list)
		row->stamp = 0;
	r.columns[LIVE_CPU] = profile_find_type(p, STR("cpu"));
	r.columns[LIVE_WAIT] = profile_find_type(p, STR("off_cpu"));
	for (size_t i = 0; !e && i < p->row_count; i++) {
		const struct label *l =
			by_process ? label_find(p->dict, p->labels[i], STR("process")) : NULL;

		e = read_row(&r, i, l && l->type == LABEL_STRING ? (uint32_t)l->value : 0);
	}
	frame_keys_release(&r.keys);
	vec_release(&r.met);
	map_release(&r.index);
	buf_release(&r.name);
	return e;
}

enum err live_rows_sum(struct live_rows *to, const struct live_rows *from)
{
	vec_for_each (row, &from->list) {
		struct live_values *values;
		uint32_t id;

		TRY(find_row(to, row->process, row->name, &id));
		values = &to->list.v[id].values;
		for (int m = 0; m < LIVE_MEASURES; m++) {
			values->flat[m] += row->values.flat[m];
			values->cum[m] += row->values.cum[m];
		}
	}
	for (int m = 0; m < LIVE_MEASURES; m++)
		to->total[m] += from->total[m];
	return ERR_OK;
}

static double order_value(const struct live_row *r, enum live_order order)
{
	unsigned measure = order / 2 % LIVE_MEASURES;

	return order % 2 ? r->values.cum[measure] : r->values.flat[measure];
}

static int compare(const void *a, const void *b, void *context)
{
	const struct live_row *x = a, *y = b;
	enum live_order order = *(enum live_order *)context;
	int names;

	/* Equal ones by the other value of the same measure, then by name: rows stand still. */
	for (unsigned i = 0; i < 2; i++, order ^= 1) {
		double u = order_value(x, order), v = order_value(y, order);

		if (u > v || u < v)
			return u > v ? -1 : 1;
	}
	names = str_cmp(x->name, y->name);
	return names ? names : str_cmp(x->process, y->process);
}

void live_rows_sort(struct live_rows *r, enum live_order order)
{
	if (r->list.n)
		qsort_r(r->list.v, r->list.n, sizeof(*r->list.v), compare, &order);
	/* The index speaks of the order before. */
	map_clear(&r->index);
}

static bool contains(struct str text, const char *part)
{
	size_t n = strlen(part);

	for (size_t i = 0; i + n <= text.n; i++)
		if (!strncasecmp(text.p + i, part, n))
			return true;
	return false;
}

static bool shown(const struct live_row *row, const struct live_look *look)
{
	return !look->filter[0] || contains(row->name, look->filter) ||
	       contains(row->process, look->filter);
}

/* Nanoseconds of time in a time, as a share of `whole`. */
static double per_second(double value, int64_t ns, double whole)
{
	double rate = rate_of(value, ns);

	return isnan(rate) ? 0 : rate / NS_PER_S * whole;
}

static void put_headline(const struct live_rows *r, const struct live_look *look, struct buf *out)
{
	static const char *const orders[] = {"cpu", "cpu with callees", "waiting",
					     "waiting with callees"};
	CLEANUP(buf_release) struct buf line = BUF_INIT(4096);
	int64_t ns = (int64_t)(look->seconds * 1e9);

	buf_printf(&line, "vestal live  %.0f s", look->seconds);
	if (look->measures[LIVE_CPU])
		buf_printf(&line, "  cpu %.1f%%", per_second(r->total[LIVE_CPU], ns, 100));
	if (look->measures[LIVE_WAIT])
		buf_printf(&line, "  waiting %.1f threads", per_second(r->total[LIVE_WAIT], ns, 1));
	buf_printf(&line, "  by %s", orders[look->order]);
	if (look->filter[0] || look->typing)
		buf_printf(&line, "  /%s%s", look->filter, look->typing ? "_" : "");
	if (look->paused)
		buf_text(&line, "  PAUSED");
	if (look->width)
		text_cut(out, buf_view(&line), look->width);
	else
		buf_str(out, buf_view(&line));
	buf_byte(out, '\n');
}

static void put_row(struct table *t, const struct live_rows *r, const struct live_row *row,
		    const struct live_look *look)
{
	int64_t ns = (int64_t)(look->seconds * 1e9);

	for (int m = 0; m < LIVE_MEASURES; m++) {
		/* CPU time in percent of one CPU, waits in threads. */
		double most = m == LIVE_CPU ? 100 : 1;
		double share = r->total[m] > 0 ? row->values.flat[m] / r->total[m] : 0;
		const char *heat = share >= 0.1 ? COLOR_RED : share >= 0.03 ? COLOR_YELLOW : NULL;
		char text[2][40];

		if (!look->measures[m])
			continue;
		for (int i = 0; i < 2; i++) {
			double v =
				per_second((i ? row->values.cum : row->values.flat)[m], ns, most);

			if (m == LIVE_CPU)
				snprintf(text[i], sizeof(text[i]), "%.1f%%", v);
			else
				snprintf(text[i], sizeof(text[i]), "%.2f", v);
		}
		table_cell(t, str_of(text[0]), heat);
		table_cell(t, str_of(text[1]), NULL);
		table_cellf(t, heat, "%.1f%%", 100 * share);
	}
	if (look->by_process)
		table_cell(t, row->process, NULL);
	table_cell(t, row->name, NULL);
}

void live_render(const struct live_rows *r, const struct live_look *look, struct buf *out)
{
	static const struct column measures[LIVE_MEASURES][3] = {
		{{"cpu", ALIGN_RIGHT, 7}, {"cum", ALIGN_RIGHT, 7}, {"share", ALIGN_RIGHT, 6}},
		{{"waiting", ALIGN_RIGHT, 7}, {"cum", ALIGN_RIGHT, 7}, {"share", ALIGN_RIGHT, 6}},
	};
	struct column columns[TABLE_MAX_COLUMNS];
	CLEANUP(table_release) struct table t;
	unsigned count = 0, put = 0;
	size_t skip = look->scroll;

	for (int m = 0; m < LIVE_MEASURES; m++)
		for (int i = 0; look->measures[m] && i < 3; i++)
			columns[count++] = measures[m][i];
	if (look->by_process)
		columns[count++] = (struct column){"process", ALIGN_LEFT, 8};
	columns[count++] = (struct column){"function", ALIGN_LEFT, 0};
	table_init(&t, columns, count, look->width, look->color);
	put_headline(r, look, out);
	vec_for_each (row, &r->list) {
		if (look->rows && put == look->rows)
			break;
		if (!shown(row, look))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		put_row(&t, r, row, look);
		put++;
	}
	table_print(&t, out);
}
