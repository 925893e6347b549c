#include "agent/storms.h"

#include "test.h"

#define PLACES 64

/* `threads` threads of a process that switched so often since they began. */
static void fill(struct wait_start *places, u32 from, u32 threads, u32 pid, u32 switches)
{
	for (u32 i = from; i < from + threads; i++)
		places[i] = (struct wait_start){.tid = 1000 + i, .pid = pid, .switches = switches};
}

TEST(the_process_that_switches_most_comes_first_and_is_enough)
{
	CLEANUP(storms_release) struct storms s = {0};
	struct wait_start places[PLACES] = {0};

	fill(places, 0, 8, 7, 100);
	fill(places, 8, 4, 8, 5000);
	fill(places, 12, 20, 9, 30);
	CHECK_OK(storms_count(&s, places, PLACES));
	CHECK_INT(s.all, 8 * 100 + 4 * 5000 + 20 * 30);
	CHECK_INT(s.list.v[0].pid, 8);
	CHECK_INT(storms_share(&s, 0.8), 1);
	CHECK_INT(storms_share(&s, 1), 3);
}

TEST(many_threads_that_switch_a_little_are_a_storm_together)
{
	CLEANUP(storms_release) struct storms s = {0};
	struct wait_start places[PLACES] = {0};

	fill(places, 0, 1, 7, 300);
	fill(places, 1, 50, 8, 200);
	CHECK_OK(storms_count(&s, places, PLACES));
	CHECK_INT(s.list.v[0].pid, 8);
	CHECK_INT(s.list.v[0].switches, 10000);
	CHECK_INT(storms_share(&s, 0.8), 1);
}

TEST(only_what_happened_since_the_last_count_counts)
{
	CLEANUP(storms_release) struct storms s = {0};
	struct wait_start places[PLACES] = {0};

	fill(places, 0, 2, 7, 4000000000u);
	fill(places, 2, 1, 8, 10);
	CHECK_OK(storms_count(&s, places, PLACES));
	/* One goes on beyond 2^32, one stays, another thread has the third place. */
	places[0].switches += 400000000u;
	places[2] = (struct wait_start){.tid = 5000, .pid = 9, .switches = 7};
	CHECK_OK(storms_count(&s, places, PLACES));
	CHECK_INT(s.list.n, 2);
	CHECK_INT(s.list.v[0].switches, 400000000);
	CHECK_INT(s.list.v[1].pid, 9);
	CHECK_INT(s.list.v[1].switches, 7);
}

TEST(a_thread_whose_entry_was_made_anew_is_no_storm)
{
	CLEANUP(storms_release) struct storms s = {0};
	struct wait_start places[PLACES] = {0};

	fill(places, 0, 1, 7, 1000);
	CHECK_OK(storms_count(&s, places, PLACES));
	places[0].switches = 5;
	CHECK_OK(storms_count(&s, places, PLACES));
	CHECK_INT(s.all, 5);
	/* And none at all since. */
	CHECK_OK(storms_count(&s, places, PLACES));
	CHECK_INT(s.all, 0);
}

TEST(without_switches_there_is_no_storm)
{
	CLEANUP(storms_release) struct storms s = {0};
	struct wait_start places[PLACES] = {0};

	CHECK_OK(storms_count(&s, places, PLACES));
	CHECK_INT(storms_share(&s, 0.8), 0);
}

static enum err count_many(void)
{
	CLEANUP(storms_release) struct storms s = {0};
	struct wait_start places[PLACES] = {0};

	for (u32 i = 0; i < PLACES; i++)
		fill(places, i, 1, i + 1, i + 1);
	return storms_count(&s, places, PLACES);
}

TEST(a_count_survives_a_lack_of_memory)
{
	ALLOC_SWEEP(count_many());
}

TEST(a_high_rate_of_switches_sets_a_level_at_once)
{
	struct storm_floor f = {0};

	f = storm_floor_step(f, 0.9 * STORM_RATE);
	CHECK_INT(f.level, 0);
	f = storm_floor_step(f, 1.1 * STORM_RATE);
	CHECK_INT(f.level, 3);
	f = storm_floor_step(f, 4 * STORM_RATE);
	CHECK(f.level > 3 && f.level <= WAIT_LEVEL_MAX);
	f = storm_floor_step(f, 1e12);
	CHECK_INT(f.level, WAIT_LEVEL_MAX);
}

TEST(the_level_of_a_high_rate_ends_with_it_within_half_a_minute)
{
	struct storm_floor f = {0};
	unsigned looks = 0;

	f = storm_floor_step(f, 4 * STORM_RATE);
	/* A pause for breath is no end. */
	f = storm_floor_step(f, 1000);
	f = storm_floor_step(f, 4 * STORM_RATE);
	CHECK(f.level > 3);
	for (; f.level && looks < 1000; looks++)
		f = storm_floor_step(f, 1000);
	CHECK(looks <= 60);
}

TEST(a_rate_around_the_limit_does_not_swing)
{
	struct storm_floor f = {0};
	unsigned changes = 0;

	for (int i = 0; i < 1000; i++) {
		unsigned before = f.level;

		f = storm_floor_step(f, (i % 2 ? 1.2 : 0.8) * STORM_RATE);
		changes += f.level != before;
	}
	CHECK_INT(changes, 1);
}
