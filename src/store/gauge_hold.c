#include "store/gauge_hold.h"

#include <stdlib.h>

void gauge_hold_release(struct gauge_hold *h)
{
	vec_for_each (series, &h->series)
		vec_release(&series->marks);
	vec_release(&h->series);
}

enum err gauge_hold_add(struct gauge_hold *h, struct question *q, uint32_t series, uint32_t line,
			int64_t time_ns)
{
	struct hold_series *s;

	while (h->series.n <= series)
		TRY(vec_push(&h->series, ((struct hold_series){0})));
	s = &h->series.v[series];
	s->line = line;
	if (s->marks.n == s->marks.cap)
		TRY(question_take(q, (s->marks.cap ? s->marks.cap : 4) * sizeof(*s->marks.v)));
	return vec_push(&s->marks, ((struct hold_mark){time_ns, 1}));
}

static int by_time(const void *left, const void *right)
{
	const struct hold_mark *a = left, *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void sort_marks(struct hold_series *s)
{
	bool sorted = true;

	for (size_t i = 1; i < s->marks.n && sorted; i++)
		sorted = s->marks.v[i - 1].time_ns <= s->marks.v[i].time_ns;
	if (!sorted)
		qsort(s->marks.v, s->marks.n, sizeof(*s->marks.v), by_time);
}

/* Profiles of the same time share it. */
static void join_marks(struct hold_series *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->marks.n; i++) {
		struct hold_mark mark = s->marks.v[i];

		if (n && mark.time_ns == s->marks.v[n - 1].time_ns)
			s->marks.v[n - 1].n += mark.n;
		else
			s->marks.v[n++] = mark;
	}
	s->marks.n = n;
}

void gauge_hold_finish(struct gauge_hold *h)
{
	vec_for_each (series, &h->series) {
		sort_marks(series);
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

/* The first mark at or after a time. */
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
				   uint32_t series, int64_t time_ns)
{
	struct hold_share share = {0, 0};
	const struct hold_series *s;
	size_t i;

	if (series >= h->series.n)
		return share;
	s = &h->series.v[series];
	i = first_from(s, time_ns);
	if (i == s->marks.n || s->marks.v[i].time_ns != time_ns)
		return share;
	share.profiles = s->marks.v[i].n;
	share.time_ns = gauge_present(&c->lines.v[s->line], i ? time_ns : INT64_MIN,
				      i + 1 < s->marks.n ? s->marks.v[i + 1].time_ns : INT64_MAX);
	return share;
}
