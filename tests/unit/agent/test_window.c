#include "agent/window.h"
#include "base/clock.h"
#include "test.h"

TEST(a_window_is_as_long_as_the_calendar_says)
{
	CHECK_INT(window_length(15 * NS_PER_S, 15 * NS_PER_S), 15 * NS_PER_S);
	/* Clocks that are set right little by little: windows follow each other without gaps. */
	CHECK_INT(window_length(15 * NS_PER_S + 7 * NS_PER_MS, 15 * NS_PER_S),
		  15 * NS_PER_S + 7 * NS_PER_MS);
}

TEST(a_calendar_that_jumps_does_not_make_a_window_of_hours)
{
	CHECK_INT(window_length(3600 * NS_PER_S, 15 * NS_PER_S), 15 * NS_PER_S);
	CHECK_INT(window_length(-3600 * NS_PER_S, 15 * NS_PER_S), 15 * NS_PER_S);
	/* Back by less than the window is long, or by as much. */
	CHECK_INT(window_length(5 * NS_PER_S, 15 * NS_PER_S), 15 * NS_PER_S);
	CHECK_INT(window_length(-NS_PER_MS, NS_PER_MS), NS_PER_MS);
}
