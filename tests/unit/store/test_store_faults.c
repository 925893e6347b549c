/*
 * Disks that fail: whatever happens, an acknowledged batch is there after the next opening, a batch
 * that was refused is there whole or not at all, and the store goes on when the disk does.
 */
#include "store/fault_vfs.h"
#include "store/partition.h"
#include "store/scratch.h"
#include "store/store_fixture.h"
#include "test.h"

#define MINUTE	(60 * NS_PER_S)
#define BATCHES 60

static _Atomic(int64_t) now = TEST_TIME;

static int64_t test_now(void)
{
	return now;
}

static void close_store(struct store **s)
{
	store_close(*s);
}

static enum err open_at(const char *path, struct store **ret)
{
	struct store_options o = store_options_default;

	o.directory = path;
	o.now_ns = test_now;
	return store_open(&o, ret, NULL);
}

/* Batch n: two services, and two days when n is a multiple of three; value 1 each. */
static enum err write_batch(struct store *s, int n, struct fault *fault)
{
	int64_t other = TEST_TIME - (n % 3 ? 0 : NS_PER_DAY);
	char function[20];
	struct test_profile t[2] = {
		{.service = "shop",
		 .n = n,
		 .time_ns = TEST_TIME - n % 20 * MINUTE,
		 .value = 1,
		 .function = function},
		{.service = "cart",
		 .n = n,
		 .time_ns = other - n % 20 * MINUTE,
		 .value = 1,
		 .function = function},
	};

	snprintf(function, sizeof(function), "f%d", n % 7);
	return fixture_write(s, t, 2, fault);
}

/* What must be there is, and nothing is there in part. */
static bool sound(struct store *s, const bool *acknowledged, const char *when, long step)
{
	int64_t sums[BATCHES];

	if (fixture_sums(s, sums, BATCHES) != ERR_OK) {
		printf("# %s %ld: the question failed\n", when, step);
		return false;
	}
	for (int n = 0; n < BATCHES; n++)
		if ((acknowledged[n] && sums[n] != 2) || (sums[n] != 0 && sums[n] != 2)) {
			printf("# %s %ld: batch %d, %sacknowledged, has %lld of 2\n", when, step, n,
			       acknowledged[n] ? "" : "not ", (long long)sums[n]);
			return false;
		}
	return true;
}

static void print_problem(void *context, const char *problem)
{
	++*(int *)context;
	printf("# %s\n", problem);
}

/* One fault at the n-th write or sync, for every n until none is reached. */
static void sweep_faults(enum disk_fault fault)
{
	bool reached = true;

	fault_vfs_install();
	for (long step = 0; reached && step < 400; step += 1 + step / 8) {
		CLEANUP(scratch_remove) struct scratch dir;
		CLEANUP(close_store) struct store *s = NULL;
		bool acknowledged[BATCHES] = {0};
		int problems = 0;
		struct store_checked checked;

		scratch_make_fast(&dir);
		CHECK_OK(open_at(dir.path, &s));
		fault_vfs_fail(fault, step, false);
		for (int n = 0; n < 20; n++) {
			acknowledged[n] = write_batch(s, n, NULL) == ERR_OK;
			if (n % 8 == 7 && store_settle(s, true, NULL) != ERR_OK)
				continue;
		}
		reached = fault_vfs_reached();
		fault_vfs_fail(DISK_FINE, 0, false);
		CHECK(sound(s, acknowledged, "running, step", step));
		store_close(s);
		s = NULL;
		CHECK_OK(open_at(dir.path, &s));
		CHECK(sound(s, acknowledged, "opened again, step", step));
		store_close(s);
		s = NULL;
		CHECK_OK(store_check(dir.path, print_problem, &problems, &checked, NULL));
		CHECK_INT(problems, 0);
	}
}

TEST(a_full_disk_at_any_write_loses_nothing_acknowledged)
{
	sweep_faults(DISK_FULL);
}

TEST(a_failing_write_or_sync_loses_nothing_acknowledged)
{
	sweep_faults(DISK_BROKEN);
}

TEST(a_short_write_loses_nothing_acknowledged)
{
	sweep_faults(DISK_SHORT);
}

TEST(a_store_that_is_full_answers_refuses_quickly_and_recovers)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_stats stats;
	struct fault fault = {0};

	fault_vfs_install();
	scratch_make_fast(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(write_batch(s, 1, NULL));
	fault_vfs_fail(DISK_FULL, 0, true);
	CHECK_ERR(write_batch(s, 2, &fault), ERR_NO_SPACE);
	CHECK_ERR(write_batch(s, 4, &fault), ERR_NO_SPACE);
	CHECK(strstr(fault.text, "disk full"));
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK(stats.full);
	CHECK_INT(fixture_total(s, &all), 2);
	fault_vfs_fail(DISK_FINE, 0, false);
	/* By itself: nobody has to write first. */
	for (int i = 0; i < 300 && stats.full; i++) {
		clock_sleep_ns(100 * NS_PER_MS);
		CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	}
	CHECK(!stats.full);
	CHECK_OK(write_batch(s, 5, &fault));
	CHECK_INT(fixture_total(s, &all), 4);
}

TEST(upkeep_that_fails_is_told_until_it_works_again)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_stats stats;
	struct fault fault = {0};

	fault_vfs_install();
	scratch_make_fast(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(write_batch(s, 1, NULL));
	CHECK_OK(write_batch(s, 3, NULL));
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK_ERR(stats.upkeep.error, ERR_OK);
	CHECK_INT(stats.upkeep.failures, 0);
	fault_vfs_fail(DISK_BROKEN, 0, true);
	CHECK(store_settle(s, true, &fault) != ERR_OK);
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK(stats.upkeep.error != ERR_OK);
	CHECK(stats.upkeep.failures >= 1);
	CHECK(stats.upkeep.last_failure.text[0]);
	fault_vfs_fail(DISK_FINE, 0, false);
	CHECK_OK(store_settle(s, true, &fault));
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK_ERR(stats.upkeep.error, ERR_OK);
	CHECK(stats.upkeep.failures >= 1);
	CHECK(stats.upkeep.last_failure.text[0]);
}

TEST(a_power_cut_loses_nothing_acknowledged)
{
	fault_vfs_install();
	for (uint32_t round = 0; round < 40; round++) {
		CLEANUP(scratch_remove) struct scratch dir;
		CLEANUP(close_store) struct store *s = NULL;
		bool acknowledged[BATCHES] = {0};
		int problems = 0;
		struct store_checked checked;

		scratch_make_fast(&dir);
		CHECK_OK(open_at(dir.path, &s));
		fault_vfs_record();
		fault_vfs_cut_power(3 + round * 11 % 311);
		for (int n = 0; n < BATCHES && !fault_vfs_power_is_off(); n++) {
			acknowledged[n] = write_batch(s, n, NULL) == ERR_OK;
			if (n % 16 == 15 && store_settle(s, true, NULL) != ERR_OK)
				continue;
		}
		fault_vfs_cut_power(0);
		store_close(s);
		s = NULL;
		fault_vfs_restore(round * 2654435761u);
		CHECK_OK(open_at(dir.path, &s));
		CHECK(sound(s, acknowledged, "after power cut", round));
		CHECK_OK(write_batch(s, 0, NULL));
		store_close(s);
		s = NULL;
		CHECK_OK(store_check(dir.path, print_problem, &problems, &checked, NULL));
		CHECK_INT(problems, 0);
	}
}

TEST(a_clock_that_goes_back_loses_nothing)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();

	scratch_make_fast(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(write_batch(s, 1, NULL));
	CHECK_OK(store_settle(s, false, NULL));
	now = TEST_TIME - 30 * MINUTE;
	CHECK_OK(write_batch(s, 31, NULL));
	CHECK_OK(store_settle(s, false, NULL));
	now = TEST_TIME + 60 * MINUTE;
	CHECK_OK(write_batch(s, 2, NULL));
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 6);
	now = TEST_TIME;
}
