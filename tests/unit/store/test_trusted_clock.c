/*
 * The time that retention counts: jumps, gaps, restarts, all with clocks that the test moves.
 */
#include "store/trusted_clock.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

#define HOUR   (3600 * NS_PER_S)
#define DAY    (24 * HOUR)
/* 2026-01-31T10:00:00Z, on a machine that is up for two days. */
#define WALL   INT64_C(1769853600000000000)
#define STEADY (2 * DAY)

static int64_t wall, steady, asleep;
static int boots;

static int64_t read_wall(void)
{
	return wall;
}

static int64_t read_steady(void)
{
	return steady;
}

static int64_t read_asleep(void)
{
	return asleep;
}

/* As much passes on all clocks. */
static void pass(int64_t ns)
{
	wall += ns;
	steady += ns;
}

static void begin(struct trusted_clock *c)
{
	struct store_options o = store_options_default;

	o.now_ns = read_wall;
	o.steady_ns = read_steady;
	o.asleep_ns = read_asleep;
	trusted_clock_init(c, &o);
}

static void reset(struct trusted_clock *c)
{
	wall = WALL;
	steady = STEADY;
	asleep = 0;
	begin(c);
	snprintf(c->boot, sizeof(c->boot), "boot %d", boots);
}

static enum store_clock_trust look(struct trusted_clock *c)
{
	struct store_clock_state state;

	(void)trusted_clock_look(c, &state);
	return state.trust;
}

/* Stops and starts, with a record in between; `boot` is another when the machine restarted. */
static void restart(struct trusted_clock *c, int64_t off_ns, int64_t wall_ns, bool other_boot)
{
	CLEANUP(buf_release) struct buf record = BUF_INIT(8192);

	CHECK_OK(trusted_clock_write(c, &record));
	trusted_clock_release(c);
	wall = wall_ns;
	steady = other_boot ? 60 * NS_PER_S : steady + off_ns;
	asleep = other_boot ? 0 : asleep;
	begin(c);
	snprintf(c->boot, sizeof(c->boot), "boot %d", boots += other_boot);
	CHECK_OK(trusted_clock_read(c, buf_view(&record)));
}

TEST(a_clock_that_advances_with_the_machine_is_trusted)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	for (int i = 0; i < 400; i++) {
		pass(6 * HOUR);
		/* A poor clock that is never corrected: half a second too fast in 1000. */
		wall += 10 * NS_PER_S;
		CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	}
	CHECK(trusted_clock_age(&c, WALL) >= 100 * DAY);
}

TEST(a_jump_is_noticed_until_the_clock_comes_back)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;
	struct store_clock_state state;

	reset(&c);
	pass(DAY);
	wall += 30 * DAY;
	CHECK(trusted_clock_look(&c, &state));
	CHECK_INT(state.trust, STORE_CLOCK_AHEAD);
	CHECK_INT(state.off_by_ns, 30 * DAY);
	CHECK_INT(state.trusted_ns, WALL + DAY);
	/* Told once. */
	pass(HOUR);
	CHECK(!trusted_clock_look(&c, &state));
	CHECK_INT(state.trust, STORE_CLOCK_AHEAD);
	CHECK_INT(state.since_ns, WALL + DAY);
	wall -= 30 * DAY;
	CHECK(trusted_clock_look(&c, &state));
	CHECK_INT(state.trust, STORE_CLOCK_TRUSTED);
	CHECK_INT(trusted_clock_age(&c, WALL), DAY + HOUR);
	wall -= 5 * HOUR;
	CHECK_INT(look(&c), STORE_CLOCK_BEHIND);
	wall += 5 * HOUR;
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
}

TEST(many_small_steps_are_a_jump)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	for (int i = 0; i < 10; i++) {
		wall += HOUR / 4;
		pass(10 * NS_PER_S);
		(void)look(&c);
	}
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
}

TEST(small_steps_across_restarts_are_a_jump)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	for (int i = 0; i < 10; i++)
		restart(&c, 10 * NS_PER_S, wall + HOUR / 4 + 10 * NS_PER_S, false);
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
}

TEST(an_operators_word_is_believed)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	wall += 30 * DAY;
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
	trusted_clock_confirm(&c);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	CHECK_INT(trusted_clock_age(&c, WALL), 30 * DAY);
	/* Back to what was right before is another jump. */
	wall -= 30 * DAY;
	CHECK_INT(look(&c), STORE_CLOCK_BEHIND);
}

TEST(suspension_is_a_gap_and_no_jump)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;
	struct store_clock_state state;

	reset(&c);
	pass(DAY);
	wall += 8 * HOUR;
	asleep += 8 * HOUR;
	(void)trusted_clock_look(&c, &state);
	CHECK_INT(state.trust, STORE_CLOCK_TRUSTED);
	CHECK_INT(state.uncounted_ns, 8 * HOUR);
	pass(DAY);
	CHECK_INT(trusted_clock_age(&c, WALL), 2 * DAY);
	/* Of what came after, all counts; of what is of the middle of it, the time after. */
	CHECK_INT(trusted_clock_age(&c, WALL + DAY + 8 * HOUR), DAY);
	CHECK_INT(trusted_clock_age(&c, WALL + DAY + 4 * HOUR), DAY);
	CHECK_INT(trusted_clock_age(&c, WALL + 90 * DAY), 0);
	trusted_clock_confirm(&c);
	CHECK_INT(trusted_clock_age(&c, WALL), 2 * DAY + 8 * HOUR);
}

TEST(a_restart_while_the_machine_is_up_tells_a_jump)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	/* Ten days without a server, on a machine that went on. */
	restart(&c, 10 * DAY, WALL + 10 * DAY, false);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	CHECK_INT(trusted_clock_age(&c, WALL), 10 * DAY);
	/* An hour, and the clock says thirty days. */
	restart(&c, HOUR, wall + 30 * DAY, false);
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
	/* Started again, it still does. */
	restart(&c, HOUR, wall + HOUR, false);
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
	restart(&c, HOUR, WALL + 10 * DAY + 3 * HOUR, false);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
}

TEST(a_machine_that_was_off_makes_a_gap)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;
	struct store_clock_state state;

	reset(&c);
	pass(DAY);
	restart(&c, 0, wall + 10 * DAY, true);
	(void)trusted_clock_look(&c, &state);
	CHECK_INT(state.trust, STORE_CLOCK_TRUSTED);
	CHECK_INT(state.uncounted_ns, 10 * DAY);
	pass(DAY);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	CHECK_INT(trusted_clock_age(&c, WALL), 2 * DAY);
	/* Such gaps add up, and outlive restarts. */
	restart(&c, 0, wall + 60 * HOUR, true);
	pass(2 * HOUR);
	CHECK_INT(trusted_clock_age(&c, WALL), 2 * DAY + 2 * HOUR);
	/* A quick one counts. */
	restart(&c, 0, wall + 90 * NS_PER_S, true);
	CHECK_INT(trusted_clock_age(&c, WALL), 2 * DAY + 2 * HOUR + 90 * NS_PER_S);
}

TEST(a_clock_that_is_set_right_after_a_boot_has_not_jumped)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;
	struct store_clock_state state;

	/* No clock of its own: it begins where it stopped, until a time server answers. */
	reset(&c);
	restart(&c, 0, WALL + 5 * NS_PER_S, true);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	pass(30 * NS_PER_S);
	wall += 3 * DAY;
	(void)trusted_clock_look(&c, &state);
	CHECK_INT(state.trust, STORE_CLOCK_TRUSTED);
	CHECK(state.uncounted_ns >= 3 * DAY && state.uncounted_ns < 3 * DAY + HOUR);
	CHECK(trusted_clock_age(&c, WALL) < HOUR);
	/* The same, from a clock that was ahead. */
	wall -= 2 * DAY;
	(void)trusted_clock_look(&c, &state);
	CHECK_INT(state.trust, STORE_CLOCK_TRUSTED);
	CHECK(state.uncounted_ns >= DAY && state.uncounted_ns < DAY + HOUR);
	/* Not for ever. */
	pass(2 * HOUR);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	wall += 3 * DAY;
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
}

TEST(a_clock_that_begins_in_1970_is_behind)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	restart(&c, 0, 1000 * NS_PER_S, true);
	CHECK_INT(look(&c), STORE_CLOCK_BEHIND);
	pass(30 * NS_PER_S);
	wall = WALL + DAY;
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	CHECK(trusted_clock_age(&c, WALL) < HOUR);
}

TEST(a_jump_outlives_a_boot)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	pass(DAY);
	wall += 30 * DAY;
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
	restart(&c, 0, wall + 60 * NS_PER_S, true);
	CHECK_INT(look(&c), STORE_CLOCK_AHEAD);
	/* Set right while the machine was off. */
	restart(&c, 0, WALL + DAY + 2 * HOUR, true);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	CHECK(trusted_clock_age(&c, WALL) <= DAY + HOUR);
}

TEST(old_data_without_a_record_has_not_aged)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	trusted_clock_resume_from(&c, WALL - 60 * DAY);
	CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
	CHECK_INT(trusted_clock_age(&c, WALL - 60 * DAY), 0);
	pass(DAY);
	CHECK_INT(trusted_clock_age(&c, WALL - 60 * DAY), DAY);
	CHECK_INT(trusted_clock_age(&c, WALL - 61 * DAY), 2 * DAY);
}

TEST(more_gaps_than_fit_keep_data_longer)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;
	int64_t measured = 0;

	reset(&c);
	for (int i = 0; i < 3 * CLOCK_GAPS_MAX; i++) {
		pass(HOUR);
		measured += HOUR;
		wall += HOUR;
		asleep += HOUR;
		CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
		CHECK(trusted_clock_age(&c, WALL) <= measured);
	}
	CHECK(c.gap_count <= CLOCK_GAPS_MAX);
	/* What is new is counted in full. */
	CHECK_INT(trusted_clock_age(&c, wall - 30 * 60 * NS_PER_S), 0);
	pass(DAY);
	CHECK_INT(trusted_clock_age(&c, wall - DAY), DAY);
	trusted_clock_forget(&c, wall - DAY + 1);
	CHECK_INT(c.gap_count, 0);
}

TEST(the_bounds_contain_both_clocks)
{
	CLEANUP(trusted_clock_release) struct trusted_clock c;
	int64_t low, high;

	reset(&c);
	wall += 30 * DAY;
	trusted_clock_bounds(&c, &low, &high);
	CHECK_INT(low, WALL);
	CHECK_INT(high, WALL + 30 * DAY);
	wall -= 60 * DAY;
	trusted_clock_bounds(&c, &low, &high);
	CHECK_INT(low, WALL - 30 * DAY);
	CHECK_INT(high, WALL);
}

TEST(a_damaged_record_changes_nothing)
{
	static const char *const records[] = {
		"",
		"clock 2\nboot x\ntrusted 1\nsteady 1\nend\n",
		"clock 1\nboot x\ntrusted 0\nsteady 1\nasleep 0\nanchor 1\noff_by 0\nend\n",
		"clock 1\nboot x\ntrusted 9\nsteady 1\nasleep 0\nanchor 2\noff_by 0\nend\n",
		"clock 1\nboot x\ntrusted 9\nsteady 1\nasleep 0\nanchor 1\noff_by 0\n",
		"clock 1\nboot x\ntrusted 9\nsteady 1\nasleep 0\nanchor 1\noff_by 0\ngap 5 "
		"5\nend\n",
		"clock 1\nboot x\ntrusted 9\nsteady 1\nasleep 0\nanchor 1\noff_by 0\ngap 5 6\n"
		"gap 3 9\nend\n",
		"clock 1\ntrusted 9223372036854775807\nsteady 1\nasleep 0\nanchor 1\noff_by "
		"0\nend\n",
	};
	CLEANUP(trusted_clock_release) struct trusted_clock c;

	reset(&c);
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
		CHECK_ERR(trusted_clock_read(&c, str_of(records[i])), ERR_CORRUPT);
		CHECK_INT(look(&c), STORE_CLOCK_TRUSTED);
		CHECK_INT(trusted_clock_age(&c, WALL - DAY), DAY);
	}
}
