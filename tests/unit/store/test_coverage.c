/*
 * How long was profiled: against the definition worked out second by second.
 */
#include <stdlib.h>

#include "test.h"

#include "base/clock.h"
#include "store/coverage.h"

#define SECONDS 4000
#define MOST	2000

struct interval {
	int64_t start, end; /* seconds */
};

struct truth {
	struct interval v[8][MOST];
	size_t n[8];
	bool covered[8][SECONDS], present[8][SECONDS];
};

static unsigned next_random(uint64_t *state, unsigned below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33) % below;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median_gap(const struct interval *v, size_t n)
{
	static int64_t gaps[MOST];

	if (n < 2)
		return 0;
	for (size_t i = 1; i < n; i++)
		gaps[i - 1] = v[i].start - v[i - 1].start;
	qsort(gaps, n - 1, sizeof(*gaps), by_value);
	return gaps[(n - 2) / 2];
}

static void mark(bool *seconds, int64_t from, int64_t until)
{
	for (int64_t t = from > 0 ? from : 0; t < until && t < SECONDS; t++)
		seconds[t] = true;
}

static void work_out(struct truth *t, size_t s)
{
	int64_t gap = median_gap(t->v[s], t->n[s]), reach = 0;

	if (t->n[s] > 1 && t->v[s][0].start <= gap)
		mark(t->present[s], 0, t->v[s][0].start);
	for (size_t i = 0; i < t->n[s]; i++) {
		const struct interval *p = &t->v[s][i];
		int64_t until = p->start + gap;

		mark(t->covered[s], p->start, p->end);
		reach = p->end > reach ? p->end : reach;
		until = until > reach ? until : reach;
		if (i + 1 < t->n[s] && (p[1].start - p->start <= 2 * gap || until > p[1].start))
			until = p[1].start;
		mark(t->present[s], p->start, until);
	}
}

static int64_t expected(const struct truth *t, size_t series, int64_t from, int64_t until)
{
	int64_t covered = 0, present = 0, any = 0;

	for (int64_t k = from; k < until; k++) {
		bool one = false;

		for (size_t s = 0; s < series; s++) {
			covered += t->covered[s][k];
			present += t->present[s][k];
			one |= t->present[s][k];
		}
		any += one;
	}
	return present ? (int64_t)((__int128)any * NS_PER_S * covered / present) : 0;
}

static void fill(struct truth *t, uint64_t *state, size_t s)
{
	int64_t at = next_random(state, 300), gap = 5 + next_random(state, 100);
	int64_t length = next_random(state, (unsigned)(2 * gap));
	bool regular = next_random(state, 2);

	t->n[s] = 0;
	while (at < SECONDS && t->n[s] < MOST) {
		t->v[s][t->n[s]++] = (struct interval){at, at + length};
		at += gap;
		if (!regular)
			at += next_random(state, 3);
		if (!next_random(state, 20))
			at += next_random(state, 600);
	}
	memset(t->covered[s], 0, sizeof(t->covered[s]));
	memset(t->present[s], 0, sizeof(t->present[s]));
	work_out(t, s);
}

static bool nearly(int64_t a, int64_t b, int64_t within)
{
	return a - b <= within && b - a <= within;
}

static enum err add_all(struct coverage *c, struct question *q, const struct truth *t, size_t s)
{
	for (size_t i = 0; i < t->n[s]; i++) {
		struct chunk_head head = {.time_ns = t->v[s][i].start * NS_PER_S,
					  .duration_ns =
						  (t->v[s][i].end - t->v[s][i].start) * NS_PER_S};
		struct coverage_run run = coverage_of_chunk(&head);
		uint32_t line;

		TRY(coverage_line(c, (uint32_t)s, 0, false, &line));
		TRY(coverage_add(c, q, line, &run));
	}
	return ERR_OK;
}

TEST(coverage_is_what_the_seconds_say)
{
	static struct truth t;
	uint64_t state = 7;

	for (unsigned round = 0; round < 300; round++) {
		size_t series = 1 + next_random(&state, 8);
		int64_t step = 50 + next_random(&state, 1000), total;
		size_t buckets = (size_t)((SECONDS + step - 1) / step);
		static const struct selection none;
		struct ask ask = {0};
		struct question q;
		struct coverage c;
		uint32_t lines[8];
		int64_t points[SECONDS / 50 + 1];

		question_init(&q, NULL, (struct str){0}, &none, &ask);
		coverage_init(&c, 0, SECONDS * NS_PER_S);
		coverage_buckets(&c, 0, step * NS_PER_S, buckets);
		for (size_t s = 0; s < series; s++) {
			fill(&t, &state, s);
			CHECK_OK(add_all(&c, &q, &t, s));
			lines[s] = (uint32_t)s;
		}
		CHECK_OK(coverage_finish(&c, &q));
		CHECK_OK(coverage_sum(&c, lines, series, points, &total));
		/* Runs of profiles that come nearly regularly may hide one gap that is too long. */
		CHECK(nearly(total, expected(&t, series, 0, SECONDS), SECONDS * NS_PER_S / 50));
		for (size_t b = 0; series == 1 && b < buckets; b++) {
			int64_t end = ((int64_t)b + 1) * step;

			CHECK_INT(points[b], expected(&t, 1, (int64_t)b * step,
						      end < SECONDS ? end : SECONDS));
		}
		coverage_release(&c);
		question_release(&q);
	}
}

static void shuffle(struct interval *v, size_t n, uint64_t *state)
{
	for (size_t i = n; i > 1; i--) {
		size_t other = next_random(state, (unsigned)i);
		struct interval kept = v[i - 1];

		v[i - 1] = v[other];
		v[other] = kept;
	}
}

static int64_t total_in_steps(const struct truth *t, size_t series, int64_t step)
{
	static const struct selection none;
	struct ask ask = {0};
	struct question q;
	struct coverage c;
	int64_t total = -1;
	enum err e = ERR_OK;

	question_init(&q, NULL, (struct str){0}, &none, &ask);
	coverage_init(&c, 0, SECONDS * NS_PER_S);
	if (step)
		coverage_buckets(&c, 0, step * NS_PER_S, (size_t)((SECONDS + step - 1) / step));
	for (size_t s = 0; !e && s < series; s++)
		e = add_all(&c, &q, t, s);
	if (!e)
		e = coverage_finish(&c, &q);
	if (!e)
		e = coverage_total(&c, &total);
	coverage_release(&c);
	question_release(&q);
	return e ? -1 : total;
}

TEST(neither_the_points_nor_the_order_of_arrival_change_what_was_covered)
{
	static struct truth t;
	uint64_t state = 11;

	for (unsigned round = 0; round < 200; round++) {
		size_t series = 1 + next_random(&state, 4);
		int64_t total;

		for (size_t s = 0; s < series; s++) {
			fill(&t, &state, s);
			/* All of one hour. */
			while (t.n[s] && t.v[s][t.n[s] - 1].start >= 3600)
				t.n[s]--;
		}
		total = total_in_steps(&t, series, 0);
		CHECK_INT(total_in_steps(&t, series, 1 + next_random(&state, 900)), total);
		for (size_t s = 0; s < series; s++)
			shuffle(t.v[s], t.n[s], &state);
		CHECK_INT(total_in_steps(&t, series, 0), total);
		CHECK_INT(total_in_steps(&t, series, 1 + next_random(&state, 900)), total);
	}
}

TEST(pods_that_are_scraped_in_turn_count_as_one_time)
{
	static const struct selection none;
	struct ask ask = {0};
	struct question q;
	struct coverage c;
	int64_t total;

	question_init(&q, NULL, (struct str){0}, &none, &ask);
	coverage_init(&c, 0, 3600 * NS_PER_S);
	for (uint32_t pod = 0; pod < 3; pod++)
		for (int64_t i = 0; i < 60; i++) {
			struct chunk_head head = {.time_ns = (i * 60 + pod * 20) * NS_PER_S,
						  .duration_ns = 10 * NS_PER_S};
			struct coverage_run run = coverage_of_chunk(&head);
			uint32_t line;

			CHECK_OK(coverage_line(&c, pod, 0, false, &line));
			CHECK_OK(coverage_add(&c, &q, line, &run));
		}
	CHECK_OK(coverage_finish(&c, &q));
	CHECK_OK(coverage_total(&c, &total));
	CHECK_INT(total, 600 * NS_PER_S);
	coverage_release(&c);
	question_release(&q);
}

static enum err cover_runs(const struct coverage_run *runs, size_t n, int64_t *ret)
{
	static const struct selection none;
	struct ask ask = {0};
	struct question q;
	struct coverage c;
	uint32_t line;
	enum err e;

	question_init(&q, NULL, (struct str){0}, &none, &ask);
	coverage_init(&c, 0, 1000);
	e = coverage_line(&c, 0, 0, false, &line);
	for (size_t i = 0; !e && i < n; i++)
		e = coverage_add(&c, &q, line, &runs[i]);
	if (!e)
		e = coverage_finish(&c, &q);
	if (!e)
		e = coverage_total(&c, ret);
	coverage_release(&c);
	question_release(&q);
	return e;
}

TEST(a_late_profile_covers_what_a_run_left_open)
{
	/* A roll-up's run of 5 profiles in [0, 60) with a hole of 10, and the late one. */
	static const struct coverage_run late[] = {{0, 50, 60, 50, 5, true},
						   {20, 20, 30, 10, 1, false}};
	/* One that is sent twice covers no more than there is. */
	static const struct coverage_run twice[] = {{0, 50, 60, 60, 6, true},
						    {20, 20, 30, 10, 1, false}};
	int64_t covered;

	CHECK_OK(cover_runs(late, 2, &covered));
	CHECK_INT(covered, 60);
	CHECK_OK(cover_runs(twice, 2, &covered));
	CHECK_INT(covered, 60);
}

TEST(what_profiles_before_a_run_cover_counts_once)
{
	/* [0, 30), [20, 50), and three from 40 to 110 without a gap. */
	static const struct coverage_run dense[] = {
		{0, 0, 30, 30, 1, false}, {20, 20, 50, 30, 1, false}, {40, 80, 110, 70, 3, true}};
	/* [0, 100), and every 20 from 50 on for 10. */
	static const struct coverage_run sparse[] = {{0, 0, 100, 100, 1, false},
						     {50, 130, 140, 50, 5, true}};
	int64_t covered;

	CHECK_OK(cover_runs(dense, 3, &covered));
	CHECK_INT(covered, 110);
	CHECK_OK(cover_runs(sparse, 2, &covered));
	CHECK_INT(covered, 122);
}

TEST(lengths_from_outside_stay_within_a_day)
{
	CHECK_INT(profile_length(-5), 0);
	CHECK_INT(profile_length(INT64_MAX), PROFILE_LONGEST_NS);
}
