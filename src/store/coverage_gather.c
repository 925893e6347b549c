/*
 * Combines profiles and runs of a line to runs. Those of an hour are sorted first, so that runs
 * depend only on the times of their profiles.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "store/coverage.h"

enum err coverage_line(struct coverage *c, uint32_t series, uint32_t type, bool gauge,
		       uint32_t *ret)
{
	struct coverage_line fresh = {
		.series = series,
		.type = type,
		.gauge = gauge,
		.whole = {.reach_ns = INT64_MIN},
		.parts = {.reach_ns = INT64_MIN},
		.before_ns = INT64_MIN,
	};
	uint64_t hash = hash_mix((uint64_t)type << 32 | series, 1);

	MAP_PROBE(&c->index, hash, id)
	{
		*ret = id;
		if (c->lines.v[id].series == series && c->lines.v[id].type == type)
			return ERR_OK;
	}
	*ret = (uint32_t)c->lines.n;
	TRY(vec_push(&c->lines, fresh));
	return map_put(&c->index, hash, *ret);
}

int64_t coverage_usual_gap(const struct coverage_run *r)
{
	return r->n > 1 ? (r->last_ns - r->start_ns) / (int64_t)(r->n - 1) : 0;
}

static int64_t hour_of(int64_t time_ns)
{
	return time_ns / COVERAGE_HOUR_NS - (time_ns % COVERAGE_HOUR_NS < 0);
}

/* Whether two runs are of one hour, or lie in one bucket. */
static bool same_piece(const struct coverage *c, bool parts, const struct coverage_run *r,
		       const struct coverage_run *next)
{
	int64_t end;

	if (!parts)
		return hour_of(r->start_ns) == hour_of(next->start_ns);
	(void)coverage_bucket(c, r->start_ns, &end);
	return next->end_ns <= end && next->start_ns < end;
}

/* Half as far again, or half as far; nearer only where that leaves no hole. */
static bool is_regular(const struct coverage_run *r, int64_t gap, int64_t usual)
{
	bool solid = r->covered_ns == r->end_ns - r->start_ns && gap <= r->end_ns - r->last_ns;

	if (!usual)
		return solid;
	return gap <= usual + usual / 2 && (solid || gap >= usual / 2);
}

/* Whether what follows may become part of a run: nothing that is cut is hidden in it, and no time
 * in which the series was away. */
static bool follows(const struct coverage *c, const struct coverage_list *list, bool parts,
		    const struct coverage_run *next)
{
	const struct coverage_run *r = &list->runs.v[list->runs.n - 1];
	int64_t gap = next->start_ns - r->last_ns;

	if (gap < 0 || r->start_ns < c->from_ns || r->start_ns < list->reach_ns ||
	    next->start_ns < r->start_ns || !same_piece(c, parts, r, next))
		return false;
	if (list->runs.n >= c->most_runs)
		return true;
	if (next->settled || next->n > 1)
		return false;
	return is_regular(r, gap, r->n > 1 ? coverage_usual_gap(r) : list->gap_ns);
}

static void append(struct coverage_run *r, const struct coverage_run *next)
{
	int64_t apart = next->start_ns > r->end_ns ? next->start_ns : r->end_ns;

	if (next->end_ns > apart)
		r->covered_ns += next->n > 1 ? next->covered_ns : next->end_ns - apart;
	if (next->end_ns > r->end_ns)
		r->end_ns = next->end_ns;
	r->last_ns = next->last_ns;
	r->n += next->n;
}

static enum err put(const struct coverage *c, struct question *q, struct coverage_list *list,
		    bool parts, const struct coverage_run *run)
{
	struct coverage_run *last = list->runs.n ? &list->runs.v[list->runs.n - 1] : NULL;
	bool joins = last && follows(c, list, parts, run);

	if (last && run->n == 1 && run->start_ns > last->last_ns &&
	    hour_of(run->start_ns) == hour_of(last->last_ns))
		list->gap_ns = run->start_ns - last->last_ns;
	if (joins) {
		append(last, run);
		return ERR_OK;
	}
	if (last && last->end_ns > list->reach_ns)
		list->reach_ns = last->end_ns;
	if (q && list->runs.n == list->runs.cap)
		TRY(question_take(q, (list->runs.cap ? list->runs.cap : 4) * sizeof(*run)));
	return vec_push(&list->runs, *run);
}

static enum err put_both(const struct coverage *c, struct question *q, struct coverage_line *l,
			 const struct coverage_run *run)
{
	TRY(put(c, q, &l->whole, false, run));
	return c->buckets > 1 ? put(c, q, &l->parts, true, run) : ERR_OK;
}

int coverage_by_start(const void *left, const void *right)
{
	const struct coverage_run *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* The profiles of an hour in order of their times. */
enum err coverage_settle(const struct coverage *c, struct question *q, struct coverage_line *l)
{
	const struct coverage_run *v = l->waiting.v;

	if (!l->waiting.n)
		return ERR_OK;
	if (l->waiting.n > 1)
		qsort(l->waiting.v, l->waiting.n, sizeof(*v), coverage_by_start);
	l->whole.gap_ns = l->waiting.n > 2 ? v[2].start_ns - v[1].start_ns : 0;
	l->parts.gap_ns = l->whole.gap_ns;
	vec_for_each (run, &l->waiting)
		TRY(put_both(c, q, l, run));
	l->waiting.n = 0;
	return ERR_OK;
}

enum err coverage_add(struct coverage *c, struct question *q, uint32_t line,
		      const struct coverage_run *run)
{
	struct coverage_line *l = &c->lines.v[line];

	if (run->start_ns >= c->from_ns)
		l->inside = true;
	else if (run->start_ns > l->before_ns)
		l->before_ns = run->start_ns;
	if (run->settled || run->n > 1 ||
	    (l->waiting.n && hour_of(run->start_ns) != hour_of(l->waiting.v[0].start_ns)))
		TRY(coverage_settle(c, q, l));
	if (run->settled || run->n > 1)
		return put_both(c, q, l, run);
	if (q && l->waiting.n == l->waiting.cap)
		TRY(question_take(q, (l->waiting.cap ? l->waiting.cap : 4) * sizeof(*run)));
	return vec_push(&l->waiting, *run);
}
