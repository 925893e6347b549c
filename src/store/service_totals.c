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
	size_t series, wholes, times, text;
};

static const struct partition *last_of(const struct service_part *part)
{
	return part->partitions[part->n - 1];
}

/* Bytes of a type that only earlier partitions know. */
static size_t foreign_text(const struct totals_source *from, struct str type)
{
	struct str ignored;

	return find_text(last_of(from->part), type, &ignored) ? 0 : type.n;
}

/* Copies such a type to `*room`. */
static struct str put_text(const struct totals_source *from, struct str type, char **room)
{
	struct str text;

	if (find_text(last_of(from->part), type, &text))
		return text;
	text = str_n(*room, type.n);
	memcpy(*room, type.p, type.n);
	*room += type.n;
	return text;
}

static struct sizes measure(const struct totals_source *from, const struct whole_list *wholes)
{
	struct sizes n = {.wholes = wholes->v.n};

	for (size_t i = 0; i < from->question->range_count; i++) {
		n.series += from->answers[i].n;
		for (size_t k = 0; k < from->answers[i].n; k++)
			n.text += foreign_text(from, from->answers[i].series[k].type);
	}
	vec_for_each (w, &wholes->v) {
		n.times += w->times.n;
		n.text += foreign_text(from, w->type);
	}
	return n;
}

static void put_series(const struct totals_source *from, struct totals_series *to, char **room)
{
	for (uint32_t r = 0; r < from->question->range_count; r++)
		for (size_t i = 0; i < from->answers[r].n; i++) {
			const struct series_points *s = &from->answers[r].series[i];

			*to++ = (struct totals_series){.type = put_text(from, s->type, room),
						       .total = s->total,
						       .range = r,
						       .whole = s->whole};
		}
}

static bool put_wholes(const struct totals_source *from, const struct whole_list *wholes,
		       struct totals_whole *to, struct coverage_time *times, char **room)
{
	uint32_t at = 0;

	vec_for_each (w, &wholes->v) {
		if (w->covered > INT64_MAX || w->present > INT64_MAX || w->times.n > UINT32_MAX)
			return false;
		*to = (struct totals_whole){.type = put_text(from, w->type, room),
					    .has_values = w->has_values,
					    .times_at = at,
					    .times_n = (uint32_t)w->times.n,
					    .covered_ns = (int64_t)w->covered,
					    .present_ns = (int64_t)w->present};
		vec_for_each (time, &w->times)
			times[at++] = *time;
		to++;
	}
	return true;
}

static void put_cost(const struct totals_source *from, struct service_totals *t)
{
	const struct ask *before = from->asks, *after = from->asks + from->question->range_count;

	t->chunks = after->chunks - before->chunks;
	t->blocks = after->blocks - before->blocks;
	t->rollups = after->rollups - before->rollups;
	t->rows = after->rows - before->rows;
	t->read_bytes = after->bytes - before->bytes;
}

/* ------------------------------------------------------------------ when they last */

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Whether something of the service was read for a range. */
static bool has_read(const struct totals_source *from, size_t range)
{
	const struct ask *before = &from->asks[range], *after = before + 1;

	return after->chunks != before->chunks || after->blocks != before->blocks ||
	       after->rollups != before->rollups;
}

/* Whether a range has all of the service. */
static bool has_all(const struct totals_source *from, size_t range)
{
	const struct services_question *q = from->question;
	const struct time_span *r = &q->ranges[range];

	for (size_t i = 0; i < q->range_count; i++)
		if (i != range && (from->answers[i].n ||
				   (q->ranges[i].until_ns > r->from_ns && has_read(from, i))))
			return false;
	return from->answers[range].n && from->reaches[range].from_ns > r->from_ns &&
	       from->reaches[range].until_ns < r->until_ns;
}

bool service_totals_may_last(const struct totals_source *from)
{
	for (uint32_t i = 0; i < from->question->range_count; i++)
		if (has_all(from, i))
			return true;
	return false;
}

/* Also all that is read of it. */
static uint32_t range_of_all(const struct totals_source *from, const struct time_span *starts)
{
	const struct time_span *r = from->question->ranges;

	for (uint32_t i = 0; starts && i < from->question->range_count; i++)
		if (starts->from_ns >= r[i].from_ns && starts->until_ns <= r[i].until_ns &&
		    has_all(from, i))
			return i;
	return TOTALS_AS_MADE;
}

static void put_limits(const struct totals_source *from, uint32_t range,
		       const struct time_span *starts, struct service_totals *t)
{
	const struct coverage_reach *reach = &from->reaches[range];

	t->begins_until_ns = lesser(reach->from_ns - 1, starts->from_ns);
	t->ends_from_ns = greater(reach->until_ns, starts->until_ns);
	for (size_t i = 0; i < t->range_count; i++)
		if (i != range && t->ranges[i].until_ns > t->ranges[range].from_ns)
			t->silent_from_ns = t->ranges[i].from_ns;
}

struct service_totals *service_totals_new(const struct totals_source *from,
					  const struct time_span *starts)
{
	uint32_t range = range_of_all(from, starts);
	bool lasts = range != TOTALS_AS_MADE;
	const struct whole_list *own = &from->wholes[lasts ? range : 0];
	struct sizes n = measure(from, own);
	size_t bytes = sizeof(struct service_totals) + n.series * sizeof(struct totals_series) +
		       n.wholes * sizeof(struct totals_whole) +
		       n.times * sizeof(struct coverage_time) + n.text;
	struct service_totals *t = mem_zalloc(1, bytes);
	struct totals_series *series;
	struct totals_whole *wholes;
	struct coverage_time *times;
	char *room;

	if (!t)
		return NULL;
	series = (struct totals_series *)(t + 1);
	wholes = (struct totals_whole *)(series + n.series);
	times = (struct coverage_time *)(wholes + n.wholes);
	room = (char *)(times + n.times);
	*t = (struct service_totals){.bytes = bytes,
				     .range_count = (uint32_t)from->question->range_count,
				     .step_ns = from->question->step_ns,
				     .begins_until_ns = INT64_MIN,
				     .ends_from_ns = INT64_MAX,
				     .silent_from_ns = INT64_MAX,
				     .series_count = (uint32_t)n.series,
				     .whole_count = (uint32_t)n.wholes,
				     .series = series,
				     .wholes = wholes,
				     .times = times};
	memcpy(t->ranges, from->question->ranges, sizeof(t->ranges));
	put_cost(from, t);
	if (lasts)
		put_limits(from, range, starts, t);
	put_series(from, series, &room);
	if (put_wholes(from, own, wholes, times, &room))
		return t;
	mem_free(t);
	return NULL;
}

/* ------------------------------------------------------------------ asked again */

static bool same_question(const struct service_totals *t, const struct services_question *q)
{
	if (t->step_ns != q->step_ns || t->range_count != q->range_count)
		return false;
	for (size_t i = 0; i < q->range_count; i++)
		if (t->ranges[i].from_ns != q->ranges[i].from_ns ||
		    t->ranges[i].until_ns != q->ranges[i].until_ns)
			return false;
	return true;
}

/* Whether a range has all of the service, and nothing of it is read for the others. */
static bool lies_in(const struct service_totals *t, const struct services_question *q, size_t range)
{
	const struct time_span *r = &q->ranges[range];

	if (r->from_ns > t->begins_until_ns || r->until_ns < t->ends_from_ns)
		return false;
	for (size_t i = 0; i < q->range_count; i++)
		if (i != range && q->ranges[i].until_ns > r->from_ns &&
		    (q->ranges[i].from_ns < r->until_ns ||
		     q->ranges[i].from_ns < t->silent_from_ns))
			return false;
	return true;
}

static bool has_few_points(const struct services_question *q)
{
	for (size_t i = 0; i < q->range_count; i++) {
		const struct time_span *r = &q->ranges[i];

		if (((uint64_t)r->until_ns - (uint64_t)r->from_ns) / (uint64_t)q->step_ns >=
		    MOST_POINTS)
			return false;
	}
	return true;
}

bool service_totals_hold(const struct service_totals *t, const struct services_question *q,
			 uint32_t *ret_range)
{
	if (q->step_ns > 0 && has_few_points(q))
		for (uint32_t i = 0; i < q->range_count; i++)
			if (lies_in(t, q, i)) {
				*ret_range = i;
				return true;
			}
	*ret_range = TOTALS_AS_MADE;
	return t->begins_until_ns == INT64_MIN && same_question(t, q);
}
