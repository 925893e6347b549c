#include "store/gauge_line.h"

#include <stdlib.h>

#include "store/gauge_hold.h"

/* So many are put into order at a time. */
#define PORTION	    (1u << 20)
/* Limit of gaps that are checked individually. */
#define MOST_UNSURE (1u << 19)

void gauge_lines_release(struct gauge_lines *g)
{
	vec_for_each (curve, &g->curves)
		mem_free(curve->held);
	vec_for_each (state, &g->states)
		mem_free(state->held);
	vec_release(&g->curves);
	vec_release(&g->states);
	vec_release(&g->entries);
	vec_release(&g->unsure);
}

static enum err find_state(struct gauge_lines *g, struct question *q, const struct coverage *c,
			   uint32_t line)
{
	while (g->states.n <= line) {
		struct gauge_state fresh = {.curves = GAUGE_NO_CURVE, .told_ns = INT64_MIN};

		TRY(vec_reserve(&g->states, 1));
		TRY(question_array(q, c->buckets, sizeof(*fresh.held), &fresh.held));
		g->states.v[g->states.n++] = fresh;
	}
	return ERR_OK;
}

enum err gauge_lines_curve(struct gauge_lines *g, struct question *q, const struct coverage *c,
			   uint32_t line, uint32_t *ret)
{
	struct gauge_curve fresh = {.line = line, .time_ns = INT64_MIN};

	TRY(find_state(g, q, c, line));
	TRY(vec_reserve(&g->curves, 1));
	TRY(question_array(q, c->buckets, sizeof(*fresh.held), &fresh.held));
	fresh.next = g->states.v[line].curves;
	*ret = (uint32_t)g->curves.n;
	g->states.v[line].curves = *ret;
	g->curves.v[g->curves.n++] = fresh;
	return ERR_OK;
}

/* ------------------------------------------------------------------ in order of time */

/* Sums over the profiles of one time. */
struct level {
	int64_t sum;
	uint32_t profiles;
};

/* Divides [from, until) among buckets, optionally only the time in which the line is present. */
static void spread(const struct coverage *c, const struct coverage_line *present, int64_t from,
		   int64_t until, struct level level, __int128 *held, int64_t *time)
{
	int64_t end;

	from = from > c->from_ns ? from : c->from_ns;
	until = until < c->until_ns ? until : c->until_ns;
	for (; from < until; from = end) {
		size_t bucket = coverage_bucket(c, from, &end);
		int64_t length;

		end = end < until ? end : until;
		length = present ? gauge_present(present, from, end) : end - from;
		if (held)
			held[bucket] += (__int128)level.sum * length / level.profiles;
		if (time)
			time[bucket] += length;
	}
}

/* Extends the values of the last profile until a time, as far as the line was present. As long as
 * presence is unknown, a gap of up to twice the shortest one counts as present. */
static enum err hold_until(struct gauge_lines *g, struct question *q, const struct coverage *c,
			   uint32_t line, int64_t until)
{
	const struct coverage_line *present = g->ended ? &c->lines.v[line] : NULL;
	struct gauge_state *s = &g->states.v[line];
	int64_t from = s->last_ns;
	bool sure;

	if (!s->profiles || until <= c->from_ns)
		return ERR_OK;
	sure = g->ended || (s->least_gap && until - from <= 2 * s->least_gap) ||
	       g->unsure.n >= MOST_UNSURE;
	if (!sure && g->unsure.n == g->unsure.cap)
		TRY(question_take(q, (g->unsure.cap ? g->unsure.cap : 64) * sizeof(*g->unsure.v)));
	if (sure)
		spread(c, present, from, until, (struct level){0}, NULL, s->held);
	else
		TRY(vec_push(&g->unsure,
			     ((struct gauge_unsure){line, GAUGE_NO_CURVE, from, until, 0, 0})));
	for (uint32_t i = s->curves; i != GAUGE_NO_CURVE; i = g->curves.v[i].next) {
		struct gauge_curve *curve = &g->curves.v[i];
		struct level level = {curve->value, s->profiles};

		if (curve->time_ns != from || !level.sum)
			continue;
		if (sure)
			spread(c, present, from, until, level, curve->held, NULL);
		else
			TRY(vec_push(&g->unsure,
				     ((struct gauge_unsure){line, i, from, until, level.sum,
							    level.profiles})));
	}
	return ERR_OK;
}

static bool is_late(const struct gauge_state *s, const struct gauge_entry *e)
{
	return s->profiles && e->time_ns < s->last_ns;
}

/* Too late to be put where it belongs: it counts for an usual gap, in its bucket. */
static void take_late(struct gauge_lines *g, const struct coverage *c, const struct gauge_entry *e)
{
	struct gauge_state *s = &g->states.v[e->line];
	int64_t gap = s->least_gap ? s->least_gap : 1, end;
	size_t bucket;

	if (e->time_ns < c->from_ns || e->time_ns >= c->until_ns)
		return;
	bucket = coverage_bucket(c, e->time_ns, &end);
	if (e->curve == GAUGE_NO_CURVE)
		s->held[bucket] += gap;
	else
		g->curves.v[e->curve].held[bucket] += (__int128)e->value * gap;
}

static enum err take_profile(struct gauge_lines *g, struct question *q, const struct coverage *c,
			     const struct gauge_entry *e)
{
	struct gauge_state *s = &g->states.v[e->line];
	int64_t gap = e->time_ns - s->last_ns;

	if (s->profiles && !gap) {
		s->profiles++;
		return ERR_OK;
	}
	TRY(hold_until(g, q, c, e->line, e->time_ns));
	if (!s->profiles)
		s->first_ns = e->time_ns;
	else if (!s->least_gap || gap < s->least_gap)
		s->least_gap = gap;
	s->profiles = 1;
	s->last_ns = e->time_ns;
	return ERR_OK;
}

static enum err take_entry(struct gauge_lines *g, struct question *q, const struct coverage *c,
			   const struct gauge_entry *e)
{
	struct gauge_state *s = &g->states.v[e->line];
	struct gauge_curve *curve;

	if (is_late(s, e)) {
		take_late(g, c, e);
		return ERR_OK;
	}
	if (e->curve == GAUGE_NO_CURVE)
		return take_profile(g, q, c, e);
	curve = &g->curves.v[e->curve];
	if (curve->time_ns != e->time_ns)
		curve->value = 0;
	curve->time_ns = e->time_ns;
	curve->value = add_saturating(curve->value, e->value);
	if (e->time_ns == s->first_ns) {
		curve->first = curve->value;
		curve->first_profiles = s->profiles;
	}
	return ERR_OK;
}

/* Sorts by line and time, profiles before their values. */
static int by_line_and_time(const void *left, const void *right)
{
	const struct gauge_entry *a = left, *b = right;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->curve != GAUGE_NO_CURVE) - (b->curve != GAUGE_NO_CURVE);
}

static enum err take_portion(struct gauge_lines *g, struct question *q, const struct coverage *c)
{
	if (g->mixed)
		qsort(g->entries.v, g->entries.n, sizeof(*g->entries.v), by_line_and_time);
	vec_for_each (entry, &g->entries)
		TRY(take_entry(g, q, c, entry));
	g->entries.n = 0;
	g->mixed = false;
	return ERR_OK;
}

/* ------------------------------------------------------------------ gathering */

enum err gauge_lines_profile(struct gauge_lines *g, struct question *q, const struct coverage *c,
			     uint32_t line, const struct chunk_head *head)
{
	struct gauge_entry e = {.time_ns = head->time_ns, .line = line, .curve = GAUGE_NO_CURVE};

	TRY(find_state(g, q, c, line));
	if (g->entries.n >= PORTION)
		TRY(take_portion(g, q, c));
	g->mixed |= e.time_ns < g->states.v[line].told_ns;
	g->states.v[line].told_ns = e.time_ns;
	return vec_push(&g->entries, e);
}

enum err gauge_lines_value(struct gauge_lines *g, uint32_t curve, int64_t time_ns, int64_t value)
{
	return vec_push(&g->entries, ((struct gauge_entry){.time_ns = time_ns,
							   .value = value,
							   .line = g->curves.v[curve].line,
							   .curve = curve}));
}

/* ------------------------------------------------------------------ the end */

/* A series that was there before its first profile had that one's values. */
static void hold_before(struct gauge_lines *g, const struct coverage *c, uint32_t line)
{
	const struct coverage_line *l = &c->lines.v[line];
	struct gauge_state *s = &g->states.v[line];

	if (!s->profiles)
		return;
	spread(c, l, INT64_MIN, s->first_ns, (struct level){0}, NULL, s->held);
	for (uint32_t i = s->curves; i != GAUGE_NO_CURVE; i = g->curves.v[i].next) {
		struct gauge_curve *curve = &g->curves.v[i];
		struct level level = {curve->first, curve->first_profiles};

		if (level.sum)
			spread(c, l, INT64_MIN, s->first_ns, level, curve->held, NULL);
	}
}

/* Values with unknown validity are valid while their line was present. */
static void settle_unsure(struct gauge_lines *g, const struct coverage *c)
{
	vec_for_each (u, &g->unsure) {
		const struct coverage_line *l = &c->lines.v[u->line];

		if (u->curve == GAUGE_NO_CURVE)
			spread(c, l, u->from_ns, u->until_ns, (struct level){0}, NULL,
			       g->states.v[u->line].held);
		else
			spread(c, l, u->from_ns, u->until_ns, (struct level){u->value, u->profiles},
			       g->curves.v[u->curve].held, NULL);
	}
}

enum err gauge_lines_finish(struct gauge_lines *g, struct question *q, const struct coverage *c)
{
	g->ended = true;
	TRY(take_portion(g, q, c));
	for (uint32_t line = 0; line < g->states.n; line++) {
		TRY(hold_until(g, q, c, line, INT64_MAX));
		hold_before(g, c, line);
	}
	settle_unsure(g, c);
	for (uint32_t line = 0; line < g->states.n; line++) {
		const struct coverage_line *l = &c->lines.v[line];
		const struct gauge_state *s = &g->states.v[line];

		/* After late values the time may be wrong, but not the mean. */
		for (uint32_t i = s->curves; i != GAUGE_NO_CURVE; i = g->curves.v[i].next)
			for (size_t b = 0; b < c->buckets; b++)
				if (s->held[b] && s->held[b] != coverage_presence(l, b))
					g->curves.v[i].held[b] = g->curves.v[i].held[b] /
								 s->held[b] *
								 coverage_presence(l, b);
	}
	return ERR_OK;
}
