#include "store/gauge_hold.h"

#include <stdlib.h>

#include "base/clock.h"
#include "store/presence.h"

#define NS_PER_HOUR (3600 * NS_PER_S)

void gauge_hold_release(struct gauge_hold *h)
{
	vec_for_each (series, &h->series)
		vec_release(&series->marks);
	vec_release(&h->series);
}

enum err gauge_hold_add(struct gauge_hold *h, struct question *q, uint32_t series, uint32_t line,
			const struct chunk_head *head)
{
	struct hold_mark mark = {head->time_ns, head->time_ns, head->profiles};
	struct hold_series *s;

	if (head->flags & CHUNK_RUN)
		return ERR_OK;
	if (head->flags & CHUNK_SUM)
		mark.until_ns = add_saturating(head->time_ns, head->duration_ns);
	mark.n = mark.n ? mark.n : 1;
	while (h->series.n <= series)
		TRY(vec_push(&h->series, ((struct hold_series){0})));
	s = &h->series.v[series];
	s->line = line;
	if (s->marks.n == s->marks.cap)
		TRY(question_take(q, (s->marks.cap ? s->marks.cap : 4) * sizeof(mark)));
	return vec_push(&s->marks, mark);
}

/* Roll-ups before profiles. */
static int by_time(const void *left, const void *right)
{
	const struct hold_mark *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->until_ns < b->until_ns) - (a->until_ns > b->until_ns);
}

/* What is of the same time, and what came late into the time of a roll-up, shares it. */
static void join_marks(struct hold_series *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->marks.n; i++) {
		struct hold_mark mark = s->marks.v[i], *last = n ? &s->marks.v[n - 1] : NULL;

		if (last && (mark.time_ns == last->time_ns || mark.time_ns < last->until_ns)) {
			last->n += mark.n;
			continue;
		}
		s->marks.v[n++] = mark;
	}
	s->marks.n = n;
}

void gauge_hold_finish(struct gauge_hold *h)
{
	vec_for_each (series, &h->series) {
		if (series->marks.n)
			qsort(series->marks.v, series->marks.n, sizeof(*series->marks.v), by_time);
		join_marks(series);
	}
}

int64_t gauge_present(const struct coverage_line *line, int64_t from_ns, int64_t until_ns)
{
	size_t low = 0, high = line->present.n;
	int64_t sum = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (line->present.v[middle].end_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < line->present.n && line->present.v[low].start_ns < until_ns; low++) {
		const struct coverage_time *t = &line->present.v[low];
		int64_t start = t->start_ns > from_ns ? t->start_ns : from_ns;
		int64_t end = t->end_ns < until_ns ? t->end_ns : until_ns;

		sum += end - start;
	}
	return sum;
}

struct hold_share gauge_hold_share(const struct gauge_hold *h, const struct coverage *c,
				   uint32_t series, int64_t time_ns)
{
	static const struct hold_share nothing = {0, 1};
	const struct hold_series *s;
	size_t low = 0, high;
	int64_t from, until;

	if (series >= h->series.n)
		return nothing;
	s = &h->series.v[series];
	high = s->marks.n;
	/* The last that is not later. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->marks.v[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low ||
	    (s->marks.v[low - 1].time_ns != time_ns && s->marks.v[low - 1].until_ns <= time_ns))
		return nothing;
	from = low == 1 ? INT64_MIN : s->marks.v[low - 1].time_ns;
	until = low < s->marks.n ? s->marks.v[low].time_ns : INT64_MAX;
	return (struct hold_share){gauge_present(&c->lines.v[s->line], from, until),
				   s->marks.v[low - 1].n};
}

int64_t gauge_rollup(int64_t span_ns)
{
	int64_t step = presence_step(span_ns);

	if (span_ns < GAUGE_ROLLUPS_NS)
		return 0;
	return step % NS_PER_HOUR ? NS_PER_HOUR : step;
}
