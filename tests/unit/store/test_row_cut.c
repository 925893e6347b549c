/*
 * Profiles cut at random moments: nothing is lost, nothing is negative, each row has its part.
 */
#include <stdlib.h>

#include "test.h"

#include "base/clock.h"
#include "store/row_cut.h"

#define ROWS 60

static uint64_t next_random(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 20) % below;
}

struct sample {
	struct chunk_head head;
	struct chunk_column column;
	int64_t values[ROWS], times[ROWS];
};

static void fill(struct sample *s, uint64_t *state, uint32_t flags)
{
	static const uint64_t sizes[] = {2, 20, 1000, 1000000000, UINT64_C(1) << 50};

	*s = (struct sample){.head = {.time_ns = 1000000 * NS_PER_S,
				      .duration_ns = (int64_t)next_random(state, 90 * NS_PER_S),
				      .rows = (uint32_t)next_random(state, ROWS + 1),
				      .flags = flags}};
	for (uint32_t i = 0; i < s->head.rows; i++) {
		s->values[i] = (int64_t)next_random(state, sizes[next_random(state, 5)]);
		if (flags & CHUNK_NEGATIVE && next_random(state, 2))
			s->values[i] = -s->values[i];
		if (flags & CHUNK_TIMES && next_random(state, 2))
			s->times[i] = s->head.time_ns +
				      (int64_t)next_random(state, 100 * NS_PER_S) - 5 * NS_PER_S;
		s->column.total += s->values[i];
	}
}

static void check_cuts(const struct sample *s, const struct row_cut *cut, uint64_t *state)
{
	int64_t before[ROWS] = {0}, now[ROWS], sum[ROWS] = {0}, total = 0;
	int64_t at = s->head.time_ns - NS_PER_S, end = profile_end(&s->head) + NS_PER_S;

	while (at < end) {
		int64_t all = 0, spread = 0;

		at += (int64_t)next_random(state, 9 * NS_PER_S);
		row_cut_before(cut, at, now);
		for (uint32_t i = 0; i < s->head.rows; i++) {
			int64_t part = now[i] - before[i];

			if (!cut->alone)
				CHECK(part >= 0);
			sum[i] += part;
			all += now[i];
			spread += cut->times && cut->times[i] ? 0 : now[i];
			before[i] = now[i];
		}
		if (!cut->alone)
			CHECK_INT(spread, share_before(cut->sum, s->head.time_ns,
						       profile_end(&s->head), at));
		if (column_cuts_evenly(&s->head, &s->column))
			CHECK_INT(all, share_before(s->column.total, s->head.time_ns,
						    profile_end(&s->head), at));
		total = all;
	}
	CHECK_INT(total, s->column.total);
	for (uint32_t i = 0; i < s->head.rows; i++)
		CHECK_INT(sum[i], s->values[i]);
}

TEST(parts_add_up_and_are_never_negative)
{
	static const uint32_t kinds[] = {0, 0, CHUNK_TIMES, CHUNK_NEGATIVE,
					 CHUNK_TIMES | CHUNK_NEGATIVE};
	uint64_t state = 3;

	for (unsigned round = 0; round < 3000; round++) {
		struct sample s;
		struct row_cut cut;

		fill(&s, &state, kinds[round % 5]);
		row_cut_init(&cut, &s.head, s.values, s.times);
		check_cuts(&s, &cut, &state);
	}
}

TEST(each_row_has_about_its_share)
{
	struct sample s = {.head = {.time_ns = 1, .duration_ns = 1000, .rows = ROWS}};
	struct row_cut cut;
	int64_t now[ROWS];

	for (int i = 0; i < ROWS; i++)
		s.values[i] = 1 + i * i;
	row_cut_init(&cut, &s.head, s.values, s.times);
	for (int64_t at = 1; at <= 1001; at += 50) {
		row_cut_before(&cut, at, now);
		for (int i = 0; i < ROWS; i++)
			CHECK(llabs(now[i] * 1000 - s.values[i] * (at - 1)) <= 1500);
	}
}

TEST(half_of_a_minute_has_half_of_its_value)
{
	int64_t from = 30, until = 60;

	CHECK_INT(share_before(27 * NS_PER_S, 0, 60, until) -
			  share_before(27 * NS_PER_S, 0, 60, from),
		  27 * NS_PER_S / 2);
	/* The ends of what there is. */
	CHECK_INT(share_before(INT64_MAX - 1, INT64_MAX - 10, INT64_MAX, INT64_MAX), INT64_MAX - 1);
	CHECK_INT(share_before(-3, 0, 2, 1), -1);
}

TEST(sums_at_the_ends_of_int64_stay_there)
{
	struct sample s = {.head = {.time_ns = 1, .duration_ns = 10, .rows = 2},
			   .values = {INT64_MAX, INT64_MAX}};
	struct row_cut cut;
	int64_t now[ROWS];

	row_cut_init(&cut, &s.head, s.values, s.times);
	row_cut_before(&cut, 6, now);
	CHECK_INT(now[0], INT64_MAX / 2 + 1);
	CHECK_INT(now[1], INT64_MAX / 2 + 1);
}
