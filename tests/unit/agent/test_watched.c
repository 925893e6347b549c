#include "agent/watched.h"
#include "test.h"

#define S    NS_PER_S
#define T(s) (INT64_C(1700000000) * S + (s)*S)

TEST(a_first_profile_covers_its_window)
{
	struct watched w = {0};

	CHECK_INT(watched_cover(&w, 0, T(0), T(30), T(40)), T(30));
}

TEST(a_profile_after_a_rest_covers_the_rest)
{
	struct watched w = {0};

	(void)watched_cover(&w, 0, T(0), T(0), T(10));
	CHECK_INT(watched_cover(&w, 0, T(0), T(10), T(20)), T(10));
	CHECK_INT(watched_cover(&w, 0, T(0), T(50), T(60)), T(20));
}

TEST(measures_are_apart)
{
	struct watched w = {0};

	(void)watched_cover(&w, 0, T(0), T(0), T(10));
	CHECK_INT(watched_cover(&w, 1, T(0), T(40), T(50)), T(40));
	CHECK(!watched_rests(&w, 2, T(0), T(1000)));
}

TEST(time_in_which_nothing_was_measured_is_not_covered)
{
	struct watched w = {0};

	(void)watched_cover(&w, 0, T(0), T(0), T(10));
	/* Switched off from 10 to 30. */
	CHECK_INT(watched_cover(&w, 0, T(30), T(50), T(60)), T(30));
	/* Switched on again with this window; not measured at all. */
	CHECK_INT(watched_cover(&w, 0, T(70), T(70), T(80)), T(70));
	CHECK_INT(watched_cover(&w, 0, 0, T(100), T(110)), T(100));
}

TEST(one_that_rests_is_told_once_a_minute)
{
	struct watched w = {0};

	(void)watched_cover(&w, 0, T(0), T(0), T(10));
	CHECK(!watched_rests(&w, 0, T(0), T(69)));
	CHECK(watched_rests(&w, 0, T(0), T(70)));
	CHECK_INT(watched_cover(&w, 0, T(0), T(60), T(70)), T(10));
	CHECK(!watched_rests(&w, 0, T(0), T(80)));
	/* Not while it is not measured. */
	CHECK(!watched_rests(&w, 0, 0, T(500)));
}

TEST(a_calendar_that_jumps_makes_no_profile_of_hours)
{
	struct watched w = {0};

	(void)watched_cover(&w, 0, T(0), T(0), T(10));
	CHECK_INT(watched_cover(&w, 0, T(0), T(7200), T(7210)), T(7200));
	/* Back. */
	CHECK_INT(watched_cover(&w, 0, T(0), T(100), T(110)), T(100));
	CHECK_INT(watched_cover(&w, 0, T(0), T(120), T(130)), T(110));
}
