#include "store/presence.h"

#include "base/clock.h"
#include "store/partition.h"

/* ------------------------------------------------------------------ how long a value holds */

/* Points from one profile of the series to the next, as they usually are: the median. `gaps` has
 * room for `n`. */
static size_t usual_gap(const uint32_t *counts, size_t n, uint32_t *gaps)
{
	size_t last = n, all = 0, shorter = 0;

	memset(gaps, 0, n * sizeof(*gaps));
	for (size_t i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		if (last < n) {
			gaps[i - last]++;
			all++;
		}
		last = i;
	}
	for (size_t length = 1; length < n; length++) {
		shorter += gaps[length];
		if (all && 2 * shorter >= all)
			return length;
	}
	return 1;
}

/* Up to where a value at a point holds when the next of its series is at another, or nowhere (n).
 */
static size_t hold_until(size_t at, size_t next, size_t n, size_t gap)
{
	if (next < n && next - at <= 2 * gap)
		return next;
	return at + gap < next ? at + gap : next;
}

void presence_hold(const uint32_t *counts, size_t n, uint32_t *ret_from)
{
	size_t gap = usual_gap(counts, n, ret_from), at = 0;

	while (at < n) {
		size_t next = at + 1, until;

		while (next < n && !counts[next])
			next++;
		until = counts[at] ? hold_until(at, next, n, gap) : at;
		for (size_t i = at; i < next; i++)
			ret_from[i] = (uint32_t)(i < until ? at : n);
		at = next;
	}
}

/* ------------------------------------------------------------------ the mean over a range */

/* Widths that fit how often profiles usually come; the web UI's time line (series.ts) has them. */
static const int64_t steps_s[] = {1,   2,   5,	  10,	30,   60,    120,
				  300, 600, 1800, 3600, 7200, 21600, 86400};
#define USUAL_POINTS 240
/* A point may be this much shorter than what is asked for. */
#define NEARLY	     0.98

int64_t presence_step(int64_t span_ns)
{
	double least = (double)span_ns / USUAL_POINTS;

	for (size_t i = 0; i < sizeof(steps_s) / sizeof(steps_s[0]); i++)
		if ((double)(steps_s[i] * NS_PER_S) >= least * NEARLY)
			return steps_s[i] * NS_PER_S;
	return ((int64_t)(least / NS_PER_DAY) + 1) * NS_PER_DAY;
}

void presence_init(struct presence *p, int64_t from_ns, int64_t until_ns)
{
	int64_t points;

	*p = (struct presence){.step_ns = presence_step(until_ns - from_ns)};
	p->first_ns = from_ns - from_ns % p->step_ns;
	points = (until_ns - p->first_ns - 1) / p->step_ns + 1;
	p->points = points < PRESENCE_POINTS ? (size_t)points : PRESENCE_POINTS;
}

void presence_release(struct presence *p)
{
	vec_release(&p->series);
}

static void set_point(const struct presence *p, struct presence_bits *b, int64_t time_ns)
{
	int64_t point = time_ns > p->first_ns ? (time_ns - p->first_ns) / p->step_ns : 0;

	if (point >= (int64_t)p->points)
		point = (int64_t)p->points - 1;
	b->words[point / 64] |= UINT64_C(1) << point % 64;
}

static bool has_point(const struct presence_bits *b, size_t point)
{
	return b->words[point / 64] >> point % 64 & 1;
}

enum err presence_mark(struct presence *p, uint32_t series, int64_t time_ns)
{
	while (p->series.n <= series)
		TRY(vec_push(&p->series, ((struct presence_series){0})));
	set_point(p, &p->series.v[series].seen, time_ns);
	return ERR_OK;
}

void presence_measure(struct presence *p, uint32_t series, int64_t time_ns)
{
	if (series < p->series.n)
		set_point(p, &p->series.v[series].measured, time_ns);
}

/* In how many points a series was; those with a value are added to `any`. */
static unsigned count_points(const struct presence *p, const struct presence_series *s,
			     struct presence_bits *any)
{
	uint32_t counts[PRESENCE_POINTS] = {0}, from[PRESENCE_POINTS];
	unsigned n = 0;

	for (size_t i = 0; i < p->points; i++)
		counts[i] = has_point(&s->seen, i);
	presence_hold(counts, p->points, from);
	for (size_t i = 0; i < p->points; i++) {
		if (from[i] == p->points)
			continue;
		n++;
		if (has_point(&s->measured, from[i]))
			any->words[i / 64] |= UINT64_C(1) << i % 64;
	}
	return n;
}

void presence_shares(const struct presence *p, double *ret)
{
	struct presence_bits any = {0};
	unsigned all = 0;

	for (size_t s = 0; s < p->series.n; s++)
		ret[s] = count_points(p, &p->series.v[s], &any);
	for (size_t i = 0; i < p->points; i++)
		all += has_point(&any, i);
	for (size_t s = 0; s < p->series.n; s++)
		ret[s] = all ? ret[s] / all : 0;
}
