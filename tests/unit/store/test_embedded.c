/*
 * The embedded store: what is written is answered, from chunks, blocks and roll-ups alike.
 */
#include "store/store.h"

#include <math.h>

#include "base/file.h"
#include "store/embedded_fixture.h"
#include "store/partition.h"

TEST(what_was_acknowledged_is_there_after_reopening)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME - MINUTE, 100));
	CHECK_OK(write_one(s, "cart", 2, TEST_TIME - MINUTE, 30));
	CHECK_INT(fixture_total(s, &all), 130);
	store_close(s);
	s = NULL;
	CHECK_OK(open_at(dir.path, &s));
	CHECK_INT(fixture_total(s, &all), 130);
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME, 1));
	CHECK_INT(fixture_total(s, &all), 131);
}

TEST(blocks_and_rollups_answer_as_chunks_did)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all(), hour = all;
	struct store_stats stats;
	int64_t total = 0;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (int i = 0; i < 200; i++) {
		CHECK_OK(write_one(s, i % 2 ? "shop" : "cart", i % 5,
				   TEST_TIME - 300 * MINUTE + i * MINUTE, i));
		total += i;
	}
	hour.from_ns = TEST_TIME - 180 * MINUTE;
	hour.until_ns = TEST_TIME - 120 * MINUTE;
	CHECK_INT(fixture_total(s, &all), total);
	int64_t in_hour = fixture_total(s, &hour);
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK_INT(stats.profiles, 200);
	CHECK_INT(stats.fresh_chunks, 200);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), total);
	CHECK_INT(fixture_total(s, &hour), in_hour);
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK_INT(stats.profiles, 200);
	CHECK_INT(stats.rows, 200);
	CHECK_INT(stats.services, 2);
	CHECK_INT(stats.series, 10);
	CHECK_INT(stats.fresh_chunks, 0);
	CHECK(stats.blocks > 10 && stats.rollups > 3);
	CHECK_INT(stats.oldest_ns, TEST_TIME - 300 * MINUTE);
	CHECK_INT(stats.newest_ns, TEST_TIME - 101 * MINUTE);
	store_close(s);
	s = NULL;
	CHECK_OK(open_at(dir.path, &s));
	CHECK_INT(fixture_total(s, &all), total);
	CHECK_INT(fixture_total(s, &hour), in_hour);
}

TEST(dictionaries_beyond_their_memory_are_let_go_and_read_again)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_options o = store_options_default;
	struct selection all = fixture_all();
	struct store_stats stats;
	int64_t total = 0;

	now = TEST_TIME;
	scratch_make(&dir);
	o.directory = dir.path;
	o.now_ns = test_now;
	o.dictionary_memory = 0;
	CHECK_OK(store_open(&o, &s, NULL));
	for (int i = 0; i < 60; i++) {
		char service[16], function[16];
		struct test_profile t = {.service = service, .n = i % 3, .value = i + 1};

		snprintf(service, sizeof(service), "service-%d", i % 5);
		snprintf(function, sizeof(function), "f%d", i);
		t.function = function;
		t.time_ns = TEST_TIME - i * 60 * MINUTE;
		CHECK_OK(fixture_write(s, &t, 1, NULL));
		total += i + 1;
		CHECK_INT(fixture_total(s, &all), total);
		/* At most what the last question and the writing thread have just let go of: one
		 * dictionary takes about 40 kB, and in the end there are fifteen. */
		CHECK_OK(store_stats(s, TEST_TENANT, &stats));
		CHECK(stats.dictionary_bytes < 200000);
		if (i % 20 == 19)
			CHECK_OK(store_settle(s, i > 30, NULL));
	}
	CHECK_INT(fixture_total(s, &all), total);
}

struct placed {
	int64_t time_ns;
	uint64_t start;
};

/* A frame known by its address alone, in a file that is mapped somewhere. */
static enum err write_placed(struct store *s, const struct placed *at, size_t n)
{
	static const struct str types[] = {STR(TEST_TYPE)};
	struct label_pair label = {STR("service_name"), STR("shop")};
	struct store_batch *b;

	TRY(store_batch_new(s, TEST_TENANT, &b, NULL));
	for (size_t i = 0; i < n; i++) {
		struct mapping m = {.start = at[i].start, .limit = at[i].start + 0x4000};
		struct frame f = {.address = at[i].start + 0x123};
		CLEANUP(dict_release) struct dict d = {0};
		CLEANUP(profile_release) struct profile p;
		struct series_profile sp = {.labels = &label,
					    .label_count = 1,
					    .types = types,
					    .time_ns = at[i].time_ns,
					    .duration_ns = NS_PER_S,
					    .profile = &p};
		struct row row = {0};
		int64_t one = 1;

		TRY(dict_init(&d, store_seed(s)));
		profile_init(&p, &d);
		TRY(profile_add_type(&p, STR("cpu"), STR("nanoseconds")));
		TRY(dict_text(&d, "/bin/shop", &m.file));
		TRY(dict_mapping(&d, &m, &f.mapping));
		TRY(dict_frame(&d, &f, &row.stack));
		TRY(dict_stack(&d, &row.stack, 1, &row.stack));
		TRY(profile_add(&p, &row, &one));
		TRY(store_batch_add(b, &sp, NULL));
	}
	return commit_and_wait(b, NULL);
}

/* One address of one file is one row, wherever that file was mapped. */
TEST(a_mapping_at_two_addresses_is_one_in_answers)
{
	static const struct placed cases[3][2] = {
		{{TEST_TIME - MINUTE, 0x10000}, {TEST_TIME, 0x20000}},
		{{TEST_TIME - 48 * 60 * MINUTE, 0x10000}, {TEST_TIME, 0x20000}},
		{{TEST_TIME - MINUTE, 0x10000}, {TEST_TIME, 0x10000}},
	};

	for (size_t i = 0; i < 3; i++) {
		CLEANUP(scratch_remove) struct scratch dir;
		CLEANUP(close_store) struct store *s = NULL;
		CLEANUP(dict_release) struct dict d = {0};
		CLEANUP(profile_release) struct profile p;
		struct selection all = fixture_all();

		now = TEST_TIME;
		scratch_make(&dir);
		CHECK_OK(open_at(dir.path, &s));
		CHECK_OK(write_placed(s, cases[i], 2));
		CHECK_OK(dict_init(&d, store_seed(s)));
		profile_init(&p, &d);
		CHECK_OK(store_merge(s, TEST_TENANT, &all, NULL, 0, NULL, &p));
		CHECK_INT(p.row_count, 1);
		CHECK_INT(p.values[0], 2);
	}
}

TEST(rollups_are_read_for_whole_hours)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct ask ask = {0};
	struct profile p;
	struct dict d;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (int i = 0; i < 100; i++)
		CHECK_OK(write_one(s, "shop", i % 5, TEST_TIME - 300 * MINUTE + i * MINUTE, 1));
	now = TEST_TIME + 2 * NS_PER_DAY;
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_OK(dict_init(&d, store_seed(s)));
	profile_init(&p, &d);
	CHECK_OK(store_merge(s, TEST_TENANT, &all, NULL, 0, &ask, &p));
	CHECK_INT(profile_total(&p, 0), 100);
	CHECK_INT(ask.chunks, 0);
	CHECK_INT(ask.blocks, 0);
	CHECK_INT(ask.rollups, 1); /* of the day */
	profile_release(&p);
	dict_release(&d);
}

/* The value of every point, in points narrower and wider than a roll-up. */
static void check_points(struct store *s, int64_t step_ns, uint64_t rollups)
{
	struct series_question q = {.step_ns = step_ns};
	struct selection all = fixture_all();
	struct series_answer answer;
	struct ask ask = {0};
	int64_t n = 0;

	all.from_ns = TEST_TIME - TEST_TIME % NS_PER_DAY - NS_PER_DAY;
	all.until_ns = all.from_ns + 2 * NS_PER_DAY;
	CHECK_OK(store_series(s, TEST_TENANT, &all, &q, &ask, &answer));
	CHECK_INT(answer.n, 1);
	for (size_t i = 0; i < answer.series[0].n; i++) {
		struct point p = answer.series[0].points[i];
		int64_t minutes = 0;

		for (int m = 0; m < 100; m++) {
			int64_t t = TEST_TIME - 300 * MINUTE + m * MINUTE;

			minutes += t >= p.time_ns && t < p.time_ns + step_ns;
		}
		CHECK_INT(isnan(p.value) ? 0 : (int64_t)p.value, minutes);
		n += minutes;
	}
	CHECK_INT(n, 100);
	CHECK_INT(ask.rollups, rollups);
	arena_release(&answer.arena);
}

TEST(points_narrower_than_a_rollup_are_not_made_of_it)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (int i = 0; i < 100; i++)
		CHECK_OK(write_one(s, "shop", i % 5, TEST_TIME - 300 * MINUTE + i * MINUTE, 1));
	now = TEST_TIME + 2 * NS_PER_DAY;
	CHECK_OK(store_settle(s, false, NULL));
	check_points(s, 2 * MINUTE, 0);
	check_points(s, 30 * MINUTE, 0);
	check_points(s, 45 * MINUTE, 0);
	check_points(s, NS_PER_DAY, 1);
}

TEST(late_profiles_are_added_to_what_was_compacted)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_stats stats;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (int round = 0; round < 12; round++) {
		CHECK_OK(write_one(s, "shop", 1, TEST_TIME - 200 * MINUTE + round, 10));
		CHECK_INT(fixture_total(s, &all), 10 * (round + 1));
		CHECK_OK(store_settle(s, true, NULL));
		CHECK_INT(fixture_total(s, &all), 10 * (round + 1));
	}
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK(stats.blocks < 6);
	CHECK_INT(stats.profiles, 12);
}

TEST(a_window_may_have_more_chunks_than_a_block_takes)
{
	enum { MANY = 2100 };
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct test_profile *t = calloc(MANY, sizeof(*t));
	struct selection all = fixture_all();
	struct store_stats stats;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK(t != NULL);
	CHECK_OK(open_at(dir.path, &s));
	/* Blocks that the next ones of the window are merged with, each once. */
	for (int round = 0; round < 4; round++) {
		CHECK_OK(write_one(s, "shop", 1, TEST_TIME - 200 * MINUTE, 100000));
		CHECK_OK(store_settle(s, true, NULL));
	}
	for (int i = 0; i < MANY; i++)
		t[i] = (struct test_profile){.service = i % 10	 ? "shop"
							: i % 20 ? "cart"
								 : "till",
					     .n = i % 7,
					     .time_ns = TEST_TIME - 200 * MINUTE + i % 900,
					     .value = 1};
	CHECK_OK(fixture_write(s, t, MANY, NULL));
	free(t);
	CHECK_INT(fixture_total(s, &all), 400000 + MANY);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 400000 + MANY);
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK_INT(stats.fresh_chunks, 0);
	CHECK_INT(stats.profiles, 4 + MANY);
}

TEST(a_dictionary_is_compacted_up_to_what_is_committed)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct test_profile later = {.service = "shop",
				     .n = 99,
				     .time_ns = TEST_TIME,
				     .value = 1000,
				     .function = "nobody has seen this"};
	struct store_batch *open;
	char name[20];

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (int i = 0; i < 12; i++) {
		struct test_profile t = {.service = "shop",
					 .n = i,
					 .time_ns = TEST_TIME - 200 * MINUTE,
					 .value = 1,
					 .function = name};

		snprintf(name, sizeof(name), "function %d", i);
		CHECK_OK(fixture_write(s, &t, 1, NULL));
	}
	/* In the dictionary in memory, and in no row of the file. */
	CHECK_OK(store_batch_new(s, TEST_TENANT, &open, NULL));
	CHECK_OK(fixture_add(s, open, &later, NULL));
	CHECK_OK(store_settle(s, true, NULL));
	CHECK_OK(commit_and_wait(open, NULL));
	store_close(s);
	s = NULL;
	CHECK_OK(open_at(dir.path, &s));
	CHECK_INT(fixture_total(s, &all), 1012);
	CHECK_OK(store_settle(s, true, NULL));
	CHECK_INT(fixture_total(s, &all), 1012);
}

TEST(a_batch_over_several_days_is_stored_whole)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct test_profile t[3] = {
		{.service = "a", .n = 1, .time_ns = TEST_TIME, .value = 1},
		{.service = "a", .n = 1, .time_ns = TEST_TIME - NS_PER_DAY, .value = 2},
		{.service = "b", .n = 2, .time_ns = TEST_TIME - 2 * NS_PER_DAY, .value = 4},
	};

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(fixture_write(s, t, 3, NULL));
	CHECK_INT(fixture_total(s, &all), 7);
	store_close(s);
	s = NULL;
	CHECK_OK(open_at(dir.path, &s));
	CHECK_INT(fixture_total(s, &all), 7);
}

struct writer {
	struct store *s;
	int first;
	enum err error;
};

static void write_many(void *context)
{
	struct writer *w = context;

	for (int i = 0; i < 50 && w->error == ERR_OK; i++)
		w->error = write_one(w->s, i % 2 ? "shop" : "cart", w->first + i,
				     TEST_TIME - (i % 30) * MINUTE, 1);
}

TEST(writers_questions_and_housekeeping_do_not_disturb_each_other)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct thread threads[4] = {0};
	struct writer writers[4];
	int64_t last = 0;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (int i = 0; i < 4; i++) {
		writers[i] = (struct writer){s, i * 50, ERR_OK};
		CHECK_OK(thread_start(&threads[i], "writer", write_many, &writers[i]));
	}
	for (int i = 0; i < 10; i++) {
		int64_t total = fixture_total(s, &all);

		CHECK(total >= last);
		last = total;
		CHECK_OK(store_settle(s, i % 2, NULL));
	}
	for (int i = 0; i < 4; i++) {
		thread_join(&threads[i]);
		CHECK_OK(writers[i].error);
	}
	CHECK_INT(fixture_total(s, &all), 200);
	CHECK_OK(store_settle(s, true, NULL));
	CHECK_INT(fixture_total(s, &all), 200);
}
