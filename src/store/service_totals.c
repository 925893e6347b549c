#include "store/service_totals.h"

/* Queries with more points are left to the general path, which refuses too many. */
#define MOST_POINTS 10000

/* The text in the partition, since the text in the answer is freed with it. */
static bool find_text(const struct partition *p, struct str type, struct str *ret)
{
	for (size_t i = 0; i < p->types.n; i++) {
		*ret = type_shown(p->types.v[i].id);
		if (str_eq(*ret, type))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ made */

struct sizes {
	size_t series, wholes, times;
};

static struct sizes measure(const struct totals_source *from)
{
	struct sizes n = {.wholes = from->wholes->v.n};

	for (size_t i = 0; i < from->question->range_count; i++)
		n.series += from->answers[i].n;
	vec_for_each (w, &from->wholes->v)
		n.times += w->times.n;
	return n;
}

static bool put_series(const struct totals_source *from, struct totals_series *to)
{
	for (uint32_t r = 0; r < from->question->range_count; r++)
		for (size_t i = 0; i < from->answers[r].n; i++) {
			const struct series_points *s = &from->answers[r].series[i];

			*to = (struct totals_series){
				.total = s->total, .range = r, .whole = s->whole};
			if (!find_text(from->partition, s->type, &to->type))
				return false;
			to++;
		}
	return true;
}

static bool put_wholes(const struct totals_source *from, struct totals_whole *to,
		       struct coverage_time *times)
{
	uint32_t at = 0;

	vec_for_each (w, &from->wholes->v) {
		if (w->covered > INT64_MAX || w->present > INT64_MAX || w->times.n > UINT32_MAX)
			return false;
		*to = (struct totals_whole){.has_values = w->has_values,
					    .times_at = at,
					    .times_n = (uint32_t)w->times.n,
					    .covered_ns = (int64_t)w->covered,
					    .present_ns = (int64_t)w->present};
		if (!find_text(from->partition, w->type, &to->type))
			return false;
		vec_for_each (time, &w->times)
			times[at++] = *time;
		to++;
	}
	return true;
}

static void put_cost(const struct totals_source *from, struct service_totals *t)
{
	t->chunks = from->after->chunks - from->before->chunks;
	t->blocks = from->after->blocks - from->before->blocks;
	t->rollups = from->after->rollups - from->before->rollups;
	t->rows = from->after->rows - from->before->rows;
	t->read_bytes = from->after->bytes - from->before->bytes;
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Earlier ranges must be empty, and no roll-up used: which ones can be used depends on the range. */
bool service_totals_may_last(const struct totals_source *from)
{
	const struct services_question *q = from->question;
	const struct time_span *range = &q->ranges[0];

	for (size_t i = 1; i < q->range_count; i++)
		if (from->answers[i].n || q->ranges[i].until_ns > range->from_ns)
			return false;
	return from->answers[0].n && from->after->rollups == from->before->rollups &&
	       from->reach->from_ns > range->from_ns && from->reach->until_ns < range->until_ns;
}

static void put_limits(const struct totals_source *from, const struct time_span *starts,
		       struct service_totals *t)
{
	const struct time_span *range = &t->ranges[0];

	t->begins_until_ns = INT64_MIN;
	t->ends_from_ns = INT64_MAX;
	if (!starts || !service_totals_may_last(from) || starts->from_ns < range->from_ns ||
	    starts->until_ns > range->until_ns)
		return;
	t->begins_until_ns = lesser(from->reach->from_ns - 1, starts->from_ns);
	t->ends_from_ns =
		from->reach->until_ns > starts->until_ns ? from->reach->until_ns : starts->until_ns;
}

struct service_totals *service_totals_new(const struct totals_source *from,
					  const struct time_span *starts)
{
	struct sizes n = measure(from);
	size_t bytes = sizeof(struct service_totals) + n.series * sizeof(struct totals_series) +
		       n.wholes * sizeof(struct totals_whole) +
		       n.times * sizeof(struct coverage_time);
	struct service_totals *t = mem_zalloc(1, bytes);
	struct totals_series *series;
	struct totals_whole *wholes;
	struct coverage_time *times;

	if (!t)
		return NULL;
	series = (struct totals_series *)(t + 1);
	wholes = (struct totals_whole *)(series + n.series);
	times = (struct coverage_time *)(wholes + n.wholes);
	*t = (struct service_totals){.bytes = bytes,
				     .range_count = (uint32_t)from->question->range_count,
				     .step_ns = from->question->step_ns,
				     .series_count = (uint32_t)n.series,
				     .whole_count = (uint32_t)n.wholes,
				     .series = series,
				     .wholes = wholes,
				     .times = times};
	memcpy(t->ranges, from->question->ranges, sizeof(t->ranges));
	put_cost(from, t);
	put_limits(from, starts, t);
	if (put_series(from, series) && put_wholes(from, wholes, times))
		return t;
	mem_free(t);
	return NULL;
}

/* ------------------------------------------------------------------ asked again */

static bool same_ranges(const struct service_totals *t, const struct services_question *q)
{
	for (size_t i = 0; i < q->range_count; i++)
		if (t->ranges[i].from_ns != q->ranges[i].from_ns ||
		    t->ranges[i].until_ns != q->ranges[i].until_ns)
			return false;
	return true;
}

bool service_totals_hold(const struct service_totals *t, const struct services_question *q)
{
	const struct time_span *range = &q->ranges[0];

	if (t->step_ns != q->step_ns || t->range_count != q->range_count)
		return false;
	if (same_ranges(t, q))
		return true;
	for (size_t i = 1; i < q->range_count; i++)
		if (q->ranges[i].until_ns > range->from_ns)
			return false;
	return range->from_ns <= t->begins_until_ns && range->until_ns >= t->ends_from_ns &&
	       ((uint64_t)range->until_ns - (uint64_t)range->from_ns) / (uint64_t)q->step_ns <
		       MOST_POINTS;
}
