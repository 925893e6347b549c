#include <math.h>

#include "profile_maker.h"

struct pair {
	struct dict dict;
	struct profile before, after;
};

static void pair_release(struct pair *p)
{
	profile_release(&p->before);
	profile_release(&p->after);
	dict_release(&p->dict);
}

static enum err pair_init(struct pair *p, const char *type, const char *unit)
{
	TRY(dict_init(&p->dict, 1));
	profile_init(&p->before, &p->dict);
	profile_init(&p->after, &p->dict);
	TRY(profile_add_type(&p->before, str_of(type), str_of(unit)));
	return profile_add_type(&p->after, str_of(type), str_of(unit));
}

#define PAIR(name) CLEANUP(pair_release) struct pair name = {0}

static const struct diff_row *find(const struct diff *d, const struct dict *dict, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (str_eq(frame_name(dict, d->rows[i].frame), str_of(name)))
			return &d->rows[i];
	return NULL;
}

TEST(what_doubled_came_and_went_is_told_from_noise)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {.normalise = true};

	CHECK_OK(pair_init(&p, "samples", "count"));
	CHECK_OK(maker_row(&p.before, "main;same", 5000));
	CHECK_OK(maker_row(&p.after, "main;same", 5040));
	CHECK_OK(maker_row(&p.before, "main;grows", 200));
	CHECK_OK(maker_row(&p.after, "main;grows", 400));
	CHECK_OK(maker_row(&p.before, "main;gone", 100));
	CHECK_OK(maker_row(&p.after, "main;fresh", 90));
	CHECK_OK(maker_row(&p.before, "main;rare", 1));
	CHECK_OK(maker_row(&p.after, "main;rare", 3));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK_INT(find(&d, &p.dict, "grows")->verdict, DIFF_MORE);
	CHECK_INT(find(&d, &p.dict, "gone")->verdict, DIFF_REMOVED);
	CHECK_INT(find(&d, &p.dict, "fresh")->verdict, DIFF_ADDED);
	CHECK_INT(find(&d, &p.dict, "rare")->verdict, DIFF_NOISE);
	CHECK_INT(find(&d, &p.dict, "main")->verdict, DIFF_NOISE);
	CHECK_INT(d.totals[0], 5301);
	CHECK(fabs(d.scale - 5533.0 / 5301) < 1e-12);
	CHECK(fabs(find(&d, &p.dict, "grows")->cum_change - (400 - 200 * d.scale)) < 1e-9);
	diff_sort(&d, &p.dict, false);
	CHECK_STR(frame_name(&p.dict, d.rows[0].frame), "grows");
	for (size_t i = 1; i < d.n; i++)
		CHECK(fabs(d.rows[i - 1].cum_change) >= fabs(d.rows[i].cum_change));
}

TEST(twice_the_load_is_no_change_of_shares)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	CLEANUP(diff_release) struct diff raw = {0};
	struct diff_options options = {.normalise = true};

	CHECK_OK(pair_init(&p, "samples", "count"));
	CHECK_OK(maker_row(&p.before, "main;a", 1000));
	CHECK_OK(maker_row(&p.before, "main;b", 500));
	CHECK_OK(maker_row(&p.after, "main;a", 2000));
	CHECK_OK(maker_row(&p.after, "main;b", 1000));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	for (size_t i = 0; i < d.n; i++) {
		CHECK_INT(d.rows[i].verdict, DIFF_NOISE);
		CHECK(d.rows[i].cum_change == 0);
	}
	options.normalise = false;
	CHECK_OK(diff_build(&p.before, &p.after, &options, &raw));
	CHECK(find(&raw, &p.dict, "a")->flat_change == 1000);
	CHECK(raw.scale == 1);
}

TEST(period_tells_how_many_samples_stand_behind_a_value)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {0};

	CHECK_OK(pair_init(&p, "cpu", "nanoseconds"));
	CHECK_OK(dict_text(&p.dict, "cpu", &p.before.period_type.type));
	CHECK_OK(dict_text(&p.dict, "milliseconds", &p.before.period_type.unit));
	p.after.period_type = p.before.period_type;
	p.before.period = p.after.period = 10;
	CHECK_OK(maker_row(&p.before, "main;a", 50000000));
	CHECK_OK(maker_row(&p.after, "main;a", 80000000));
	CHECK_OK(maker_row(&p.after, "main;b", 30000000));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK(d.samples[0] == 5 && d.samples[1] == 11);
	/* 27 % more, but only three samples. */
	CHECK_INT(find(&d, &p.dict, "b")->verdict, DIFF_NOISE);
	CHECK(find(&d, &p.dict, "b")->p_value > 0.1);
	CHECK(find(&d, &p.dict, "b")->error > 20);
}

TEST(sampled_bytes_tell_how_often_objects_were_seen)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {0};

	CHECK_OK(pair_init(&p, "alloc_objects", "count"));
	CHECK_OK(profile_add_type(&p.before, STR("alloc_space"), STR("bytes")));
	CHECK_OK(profile_add_type(&p.after, STR("alloc_space"), STR("bytes")));
	CHECK_OK(dict_text(&p.dict, "space", &p.before.period_type.type));
	CHECK_OK(dict_text(&p.dict, "bytes", &p.before.period_type.unit));
	p.after.period_type = p.before.period_type;
	p.before.period = p.after.period = 524288;
	CHECK_OK(maker_add(&p.before, "a", "", (int64_t[]){1000000, 5 * 524288}));
	CHECK_OK(maker_add(&p.after, "a", "", (int64_t[]){2000000, 10 * 524288}));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK(d.samples[0] == 5 && d.samples[1] == 10);
}

TEST(count_beside_a_duration_tells_how_often_it_was_seen)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {.type = {1, 1}};

	CHECK_OK(pair_init(&p, "contentions", "count"));
	CHECK_OK(profile_add_type(&p.before, STR("delay"), STR("nanoseconds")));
	CHECK_OK(profile_add_type(&p.after, STR("delay"), STR("nanoseconds")));
	CHECK_OK(maker_add(&p.before, "a", "", (int64_t[]){3, 1000}));
	CHECK_OK(maker_add(&p.after, "a", "", (int64_t[]){4, 9000}));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK(d.samples[0] == 3 && d.samples[1] == 4);
	CHECK_INT(d.rows[0].cum[1], 9000);
}

TEST(without_a_count_of_samples_the_verdict_is_unknown)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {0};

	CHECK_OK(pair_init(&p, "wall", "nanoseconds"));
	CHECK_OK(maker_row(&p.before, "a", 5));
	CHECK_OK(maker_row(&p.after, "a", 50000));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK_INT(d.rows[0].verdict, DIFF_UNKNOWN);
	CHECK(d.rows[0].p_value == 1);
	CHECK(d.samples[0] == 0);
	CHECK(diff_doubt(&d) && strstr(diff_doubt(&d), "unknown"));
}

/* Of stored heaps there is one column: a million objects may be three samples. */
TEST(objects_of_a_heap_without_its_bytes_have_no_verdict)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {0};
	uint32_t bytes;

	CHECK_OK(pair_init(&p, "alloc_objects", "count"));
	CHECK_OK(dict_text(&p.dict, "bytes", &bytes));
	p.before.period_type.unit = p.after.period_type.unit = bytes;
	CHECK_OK(maker_row(&p.before, "a", 5));
	CHECK_OK(maker_row(&p.after, "a", 50000));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK_INT(d.rows[0].verdict, DIFF_UNKNOWN);
	CHECK(diff_doubt(&d));
}

TEST(units_of_one_kind_are_compared_in_afters)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {0};

	CHECK_OK(dict_init(&p.dict, 1));
	profile_init(&p.before, &p.dict);
	profile_init(&p.after, &p.dict);
	CHECK_OK(profile_add_type(&p.before, STR("cpu"), STR("microseconds")));
	CHECK_OK(profile_add_type(&p.after, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(maker_row(&p.before, "a", 5));
	CHECK_OK(maker_row(&p.after, "a", 5000));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK_INT(d.rows[0].cum[0], 5000);
	CHECK(d.rows[0].cum_change == 0);
}

TEST(a_certain_but_tiny_change_is_noise)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {0};

	CHECK_OK(pair_init(&p, "samples", "count"));
	CHECK_OK(maker_row(&p.before, "a", 1000000000));
	CHECK_OK(maker_row(&p.after, "a", 1000000000));
	CHECK_OK(maker_row(&p.before, "b", 100000));
	CHECK_OK(maker_row(&p.after, "b", 200000));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK(find(&d, &p.dict, "b")->p_value < 1e-9);
	CHECK_INT(find(&d, &p.dict, "b")->verdict, DIFF_NOISE);
}

TEST(design_effect_widens_the_interval)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	CLEANUP(diff_release) struct diff wide = {0};
	struct diff_options options = {0};

	CHECK_OK(pair_init(&p, "samples", "count"));
	CHECK_OK(maker_row(&p.before, "a", 600));
	CHECK_OK(maker_row(&p.before, "b", 400));
	CHECK_OK(maker_row(&p.after, "a", 530));
	CHECK_OK(maker_row(&p.after, "b", 470));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	options.design_effect = 10;
	CHECK_OK(diff_build(&p.before, &p.after, &options, &wide));
	CHECK_INT(find(&d, &p.dict, "b")->verdict, DIFF_MORE);
	CHECK_INT(find(&wide, &p.dict, "b")->verdict, DIFF_NOISE);
	CHECK(find(&wide, &p.dict, "b")->error > 3 * find(&d, &p.dict, "b")->error);
}

TEST(empty_and_negative_profiles_are_compared_without_a_verdict)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	CLEANUP(diff_release) struct diff e = {0};
	struct diff_options options = {.normalise = true};

	CHECK_OK(pair_init(&p, "samples", "count"));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &d));
	CHECK_INT(d.n, 0);
	CHECK_OK(maker_row(&p.after, "a", -5));
	CHECK_OK(maker_row(&p.after, "b", INT64_MAX));
	CHECK_OK(maker_row(&p.before, "b", INT64_MIN));
	CHECK_OK(diff_build(&p.before, &p.after, &options, &e));
	CHECK_INT(find(&e, &p.dict, "a")->verdict, DIFF_UNKNOWN);
	diff_sort(&e, &p.dict, true);
	options.type[1] = 1;
	CHECK_ERR(diff_build(&p.before, &p.after, &options, &d), ERR_BAD_ARGUMENT);
}

/* Draws `n` samples over 200 functions with shares 1/1, 1/2, 1/3 …, three deep. */
static enum err draw(struct profile *p, uint64_t *random, uint32_t n, uint32_t doubled)
{
	double weights[200], sum = 0;

	for (uint32_t i = 0; i < 200; i++)
		sum += weights[i] = (i == doubled ? 2.0 : 1.0) / (i + 1);
	for (uint32_t k = 0; k < n; k++) {
		double at = (double)random_next(random) / 2147483648.0 * sum;
		uint32_t i = 0;
		char folded[64];

		while (i < 199 && at >= weights[i])
			at -= weights[i++];
		snprintf(folded, sizeof(folded), "main;group%u;f%u", i % 10, i);
		TRY(maker_row(p, folded, 1));
	}
	return ERR_OK;
}

static enum err draw_pair(uint64_t *random, uint32_t doubled, uint32_t before, uint32_t after,
			  size_t *ret_found, bool *ret_right)
{
	PAIR(p);
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {.normalise = true};
	char name[16];

	TRY(pair_init(&p, "samples", "count"));
	TRY(draw(&p.before, random, before, UINT32_MAX));
	TRY(draw(&p.after, random, after, doubled));
	TRY(diff_build(&p.before, &p.after, &options, &d));
	*ret_found = 0;
	for (size_t i = 0; i < d.n; i++)
		*ret_found += d.rows[i].verdict != DIFF_NOISE;
	snprintf(name, sizeof(name), "f%u", doubled);
	if (ret_right)
		*ret_right = find(&d, &p.dict, name)->verdict == DIFF_MORE;
	return ERR_OK;
}

TEST(nothing_is_found_between_draws_of_one_distribution)
{
	uint64_t random = 20240917;
	int with_a_find = 0;

	for (int i = 0; i < 400; i++) {
		size_t found;

		CHECK_OK(draw_pair(&random, UINT32_MAX, 600 + (uint32_t)i, 1500, &found, NULL));
		with_a_find += found > 0;
	}
	/* 5 % are allowed; 400 draws of that would be 20 ± 4.4. */
	CHECK(with_a_find <= 24);
}

TEST(function_that_doubled_is_found)
{
	uint64_t random = 77;
	int right_ones = 0;

	for (int i = 0; i < 20; i++) {
		size_t found;
		bool right;

		CHECK_OK(draw_pair(&random, 3, 3000, 3000, &found, &right));
		right_ones += right;
	}
	CHECK_INT(right_ones, 20);
}

static enum err small_diff(struct pair *p)
{
	CLEANUP(diff_release) struct diff d = {0};
	struct diff_options options = {.lines = true};

	TRY(diff_build(&p->before, &p->after, &options, &d));
	diff_sort(&d, &p->dict, false);
	return ERR_OK;
}

TEST(diff_survives_any_allocation_failing)
{
	PAIR(p);

	CHECK_OK(pair_init(&p, "samples", "count"));
	CHECK_OK(maker_row(&p.before, "main;a", 5));
	CHECK_OK(maker_row(&p.after, "main;b", 5));
	ALLOC_SWEEP(small_diff(&p));
}
