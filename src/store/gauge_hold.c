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

/* The first mark that is not before a time. */
static size_t first_from(const struct hold_series *s, int64_t time_ns)
{
	size_t low = 0, high = s->marks.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->marks.v[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct hold_share gauge_hold_share(const struct gauge_hold *h, const struct coverage *c,
				   uint32_t series, const struct chunk_head *head)
{
	struct hold_share share = {0, 0};
	const struct hold_series *s;
	size_t first, end;

	if (series >= h->series.n)
		return share;
	s = &h->series.v[series];
	first = first_from(s, head->time_ns);
	if (head->flags & CHUNK_SUM) {
		/* What it sums up may have been told of one by one. */
		end = first_from(s, add_saturating(head->time_ns, head->duration_ns));
	} else {
		/* Or this profile with others, as a roll-up. */
		if ((first == s->marks.n || s->marks.v[first].time_ns != head->time_ns) && first &&
		    s->marks.v[first - 1].until_ns > head->time_ns)
			first--;
		end = first + (first < s->marks.n && s->marks.v[first].time_ns <= head->time_ns);
	}
	if (first >= end)
		return share;
	for (size_t i = first; i < end; i++)
		share.profiles += s->marks.v[i].n;
	share.time_ns =
		gauge_present(&c->lines.v[s->line], first ? s->marks.v[first].time_ns : INT64_MIN,
			      end < s->marks.n ? s->marks.v[end].time_ns : INT64_MAX);
	return share;
}

int64_t gauge_rollup(int64_t span_ns)
{
	int64_t step = presence_step(span_ns);

	if (span_ns < GAUGE_ROLLUPS_NS)
		return 0;
	return step % NS_PER_HOUR ? NS_PER_HOUR : step;
}
