#include "store/stand_in.h"

#include <stdlib.h>

#include "base/clock.h"
#include "store/coverage.h"

#define SHORTEST_NS NS_PER_S
/* A measured profile that reaches into the range begins no earlier. */
#define LONGEST_NS  (3600 * NS_PER_S)

void stand_in_release(struct stand_in *s)
{
	vec_release(&s->times);
	arena_release(&s->arena);
	*s = (struct stand_in){0};
}

/* The series that have a computed column of this type and the measured one. */
static void find_series(struct stand_in *s, const struct question *q, uint32_t type,
			uint32_t measured)
{
	for (uint32_t i = 0; i < q->choice.series_count; i++) {
		if (!choice_has_series(&q->choice, i) ||
		    !partition_has_pair(q->partition, i, type) ||
		    !partition_has_pair(q->partition, i, measured))
			continue;
		s->series[i / 64] |= UINT64_C(1) << (i % 64);
		s->types[measured / 64] |= UINT64_C(1) << (measured % 64);
		s->measured[type] = measured;
		s->any = true;
	}
}

static enum err make_room(struct stand_in *s, const struct choice *c)
{
	if (s->measured)
		return ERR_OK;
	s->measured = arena_alloc(&s->arena, ((size_t)c->type_count + 1) * sizeof(*s->measured));
	s->series = arena_zalloc(&s->arena, c->series_count / 64 + 1, sizeof(*s->series));
	s->types = arena_zalloc(&s->arena, c->type_count / 64 + 1, sizeof(*s->types));
	if (!s->measured || !s->series || !s->types)
		return ERR_NO_MEMORY;
	memset(s->measured, 0xff, c->type_count * sizeof(*s->measured));
	return ERR_OK;
}

enum err stand_in_begin(struct stand_in *s, const struct question *q)
{
	const struct partition *p = q->partition;

	s->day_ns = p->day * NS_PER_DAY;
	for (uint32_t t = 0; t < q->choice.type_count; t++) {
		struct str id = p->types.v[t].id;
		uint32_t measured;

		if (!choice_has_type(&q->choice, t) || !type_is_derived(id))
			continue;
		measured = partition_find_type(p, type_shown(id));
		if (measured == MAP_NONE || measured >= q->choice.type_count)
			continue;
		TRY(make_room(s, &q->choice));
		find_series(s, q, t, measured);
	}
	return ERR_OK;
}

/* The time of a profile, a second at least. */
static struct stand_in_time time_of(const struct chunk_head *head, uint32_t type)
{
	int64_t length = profile_length(head->duration_ns);

	if (length < SHORTEST_NS)
		length = SHORTEST_NS;
	return (struct stand_in_time){head->series, type, head->time_ns, head->time_ns + length};
}

struct reading_times {
	struct stand_in *s;
	struct question *q;
};

static enum err read_chunk(void *context, const struct chunk_view *v)
{
	struct reading_times *r = context;
	struct stand_in *s = r->s;

	if (ask_cancelled(r->q->ask))
		return ERR_CANCELLED;
	if (v->head.series >= r->q->choice.series_count ||
	    !(s->series[v->head.series / 64] >> (v->head.series % 64) & 1))
		return ERR_OK;
	for (uint32_t i = 0; i < v->head.column_count; i++) {
		uint32_t type = v->head.columns[i].type;

		if (type >= r->q->choice.type_count || !(s->types[type / 64] >> (type % 64) & 1))
			continue;
		TRY(question_take(r->q, sizeof(*s->times.v)));
		TRY(vec_push(&s->times, time_of(&v->head, type)));
	}
	return ERR_OK;
}

static int compare_line(const struct stand_in_time *a, uint32_t series, uint32_t type)
{
	if (a->series != series)
		return a->series < series ? -1 : 1;
	return (a->type > type) - (a->type < type);
}

static int compare_times(const void *left, const void *right)
{
	const struct stand_in_time *a = left, *b = right;
	int order = compare_line(a, b->series, b->type);

	return order ? order : (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* The first of the day whose predecessor, of the same length, would have begun the day before. */
static void begin_at_midnight(const struct stand_in *s, struct stand_in_time *t)
{
	if (t->from_ns - s->day_ns < t->until_ns - t->from_ns)
		t->from_ns = s->day_ns;
}

/* Times of one line that touch or overlap become one. */
static void join_times(struct stand_in *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->times.n; i++) {
		struct stand_in_time *t = &s->times.v[i];
		struct stand_in_time *last = n ? &s->times.v[n - 1] : NULL;

		if (!last || compare_line(last, t->series, t->type))
			begin_at_midnight(s, t);

		if (last && !compare_line(last, t->series, t->type) &&
		    t->from_ns <= last->until_ns) {
			if (t->until_ns > last->until_ns)
				last->until_ns = t->until_ns;
			continue;
		}
		s->times.v[n++] = *t;
	}
	s->times.n = n;
}

enum err stand_in_read(struct stand_in *s, struct question *q)
{
	struct reading_times r = {s, q};
	const struct selection *selection = q->selection;
	struct scan scan = {
		.since_ns = INT64_MAX,
		.from_ns = selection->from_ns < INT64_MIN + LONGEST_NS
				   ? INT64_MIN
				   : selection->from_ns - LONGEST_NS,
		.until_ns = selection->until_ns > INT64_MAX - LONGEST_NS
				    ? INT64_MAX
				    : selection->until_ns + LONGEST_NS,
		.series = s->series,
		.series_count = q->choice.series_count,
		.types = s->types,
		.type_count = q->choice.type_count,
		.ask = q->ask,
		.each = read_chunk,
		.context = &r,
	};

	if (!s->any)
		return ERR_OK;
	TRY(q->source->scan(q->source->engine, q->partition, &scan));
	if (s->times.n)
		qsort(s->times.v, s->times.n, sizeof(*s->times.v), compare_times);
	join_times(s);
	return ERR_OK;
}

/* The first of the line's times that ends after `from_ns`, or where to insert it. */
static size_t find_time(const struct stand_in *s, const struct stand_in_time *of)
{
	size_t low = 0, high = s->times.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_line(&s->times.v[middle], of->series, of->type);

		if (order < 0 || (!order && s->times.v[middle].until_ns <= of->from_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t measured_within(const struct stand_in *s, const struct stand_in_time *of)
{
	int64_t sum = 0;

	for (size_t i = find_time(s, of); i < s->times.n; i++) {
		const struct stand_in_time *t = &s->times.v[i];
		int64_t from = t->from_ns > of->from_ns ? t->from_ns : of->from_ns;
		int64_t until = t->until_ns < of->until_ns ? t->until_ns : of->until_ns;

		if (compare_line(t, of->series, of->type) || until <= from)
			break;
		sum += until - from;
	}
	return sum;
}

bool stand_in_yields(const struct stand_in *s, const struct chunk_head *head, uint32_t type)
{
	struct stand_in_time own;

	if (!s->any || s->measured[type] == MAP_NONE || head->series == SERIES_MANY)
		return false;
	own = time_of(head, s->measured[type]);
	if (own.until_ns > s->day_ns + NS_PER_DAY)
		own.until_ns = s->day_ns + NS_PER_DAY;
	return 2 * measured_within(s, &own) >= own.until_ns - own.from_ns;
}
