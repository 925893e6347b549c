#include "store/row_cut.h"

#include "store/coverage.h"

typedef unsigned __int128 wide;

int64_t share_before(int64_t total, int64_t start_ns, int64_t end_ns, int64_t time_ns)
{
	__int128 whole = (__int128)end_ns - start_ns, twice;

	if (time_ns <= start_ns)
		return 0;
	if (time_ns >= end_ns)
		return total;
	/* To the nearest, halves up. */
	twice = 2 * (__int128)total * (time_ns - start_ns) + whole;
	whole *= 2;
	return (int64_t)(twice / whole - (twice % whole < 0));
}

int64_t profile_end(const struct chunk_head *head)
{
	return add_saturating(head->time_ns, profile_length(head->duration_ns));
}

int64_t row_moment(const struct chunk_head *head, int64_t time_ns)
{
	int64_t end = profile_end(head);

	if (time_ns < head->time_ns || end == head->time_ns)
		return head->time_ns;
	return time_ns < end ? time_ns : end - 1;
}

bool profile_touches(const struct chunk_head *head, int64_t from_ns, int64_t until_ns)
{
	return head->time_ns < until_ns &&
	       (head->time_ns >= from_ns || profile_end(head) > from_ns);
}

bool profile_within(const struct chunk_head *head, int64_t from_ns, int64_t until_ns)
{
	return head->time_ns >= from_ns && head->time_ns < until_ns &&
	       profile_end(head) <= until_ns;
}

static bool is_whole(int64_t total)
{
	return total != INT64_MAX && total != INT64_MIN;
}

bool column_cuts_evenly(const struct chunk_head *head, const struct chunk_column *column)
{
	return !(head->flags & (CHUNK_TIMES | CHUNK_NEGATIVE)) && is_whole(column->total);
}

void row_cut_init(struct row_cut *c, const struct chunk_head *head, const int64_t *values,
		  int64_t *times)
{
	*c = (struct row_cut){.start_ns = head->time_ns,
			      .end_ns = profile_end(head),
			      .values = values,
			      .times = head->flags & CHUNK_TIMES ? times : NULL,
			      .n = head->rows};
	for (uint32_t i = 0; i < c->n; i++) {
		c->alone |= values[i] < 0;
		if (c->times && times[i])
			times[i] = row_moment(head, times[i]);
		else
			c->sum = add_saturating(c->sum, values[i]);
	}
	c->alone |= !is_whole(c->sum);
}

/* Whether a row is spread over the interval. */
static bool is_spread(const struct row_cut *c, uint32_t row)
{
	return !c->times || !c->times[row];
}

/* Units of a row below a level, which is a fraction of 2^64. Offsets are spread evenly, so that
 * rows of one unit do not all come at once. */
static int64_t units_below(const struct row_cut *c, uint32_t row, uint64_t level)
{
	uint64_t offset = ((uint64_t)row + 1) * 0x9e3779b97f4a7c15u;

	return (int64_t)(((wide)(uint64_t)c->values[row] * level + offset) >> 64);
}

static int64_t all_below(const struct row_cut *c, uint64_t level)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (is_spread(c, i))
			sum += units_below(c, i, level);
	return sum;
}

/* The largest level below which there are at most so many units; ends early where there are just so
 * many. */
static uint64_t find_level(const struct row_cut *c, int64_t units)
{
	uint64_t low = 0, high = UINT64_MAX;
	int64_t at_low = 0, at_high = all_below(c, high);

	if (at_high <= units)
		return high;
	for (unsigned round = 0; high - low > 1; round++) {
		/* Interpolation search; bisects every third time. */
		wide step = (wide)(high - low) * (uint64_t)(units - at_low) /
			    (uint64_t)(at_high - at_low);
		uint64_t middle = round % 3 == 2 ? low + (high - low) / 2 : low + (uint64_t)step;
		int64_t at;

		if (middle <= low)
			middle = low + 1;
		if (middle >= high)
			middle = high - 1;
		at = all_below(c, middle);
		if (at == units)
			return middle;
		if (at < units) {
			low = middle;
			at_low = at;
		} else {
			high = middle;
			at_high = at;
		}
	}
	return low;
}

/* So many units, of the rows whose they are. */
static void take_units(const struct row_cut *c, int64_t units, int64_t *ret)
{
	uint64_t level = find_level(c, units);
	int64_t taken = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (is_spread(c, i))
			taken += ret[i] = units_below(c, i, level);
	/* Several come at the next level: the first rows have theirs before the others. */
	for (uint32_t i = 0; i < c->n && taken < units; i++) {
		int64_t next;

		if (!is_spread(c, i))
			continue;
		next = level == UINT64_MAX ? c->values[i] : units_below(c, i, level + 1);
		if (next > ret[i] + (units - taken))
			next = ret[i] + (units - taken);
		taken += next - ret[i];
		ret[i] = next;
	}
}

void row_cut_before(const struct row_cut *c, int64_t time_ns, int64_t *ret)
{
	int64_t units = share_before(c->sum, c->start_ns, c->end_ns, time_ns);
	/* A moment lies before the next one. */
	bool none = time_ns <= c->start_ns, all = !none && time_ns >= c->end_ns;

	for (uint32_t i = 0; i < c->n; i++) {
		if (!is_spread(c, i))
			ret[i] = c->times[i] < time_ns ? c->values[i] : 0;
		else if (none || all)
			ret[i] = all ? c->values[i] : 0;
		else if (c->alone)
			ret[i] = share_before(c->values[i], c->start_ns, c->end_ns, time_ns);
	}
	if (!none && !all && !c->alone)
		take_units(c, units, ret);
}
