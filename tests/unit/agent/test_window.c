#include "agent/window.h"
#include "agent/window_labels.h"
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

static bool says(const struct dict *d, uint32_t set, struct str key, const char *wanted)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(100);
	const struct label *l = label_find(d, set, key);

	if (l)
		label_value(d, l, &text);
	return l && str_eq(buf_view(&text), str_of(wanted));
}

TEST(a_profile_says_what_the_agent_cost_and_what_it_may_cost_as_shares_of_all_cpus)
{
	struct window w = {.cpu_share = 0.00424, .cpu_budget = 0.01};
	struct dict d;
	uint32_t set;

	CHECK_OK(dict_init(&d, 0));
	CHECK_OK(labels_of_limit(&w, NULL, &d, &set));
	CHECK(says(&d, set, STR("vestal.agent.cpu_share"), "0.0042"));
	CHECK(says(&d, set, STR("vestal.agent.cpu_budget"), "0.0100"));
	/* No budget, nothing measured yet. */
	w = (struct window){0};
	CHECK_OK(labels_of_limit(&w, NULL, &d, &set));
	CHECK_INT(set, 0);
	dict_release(&d);
}
