#include "agent/window.h"

#include <stdlib.h>

#include "agent/window_labels.h"
#include "base/clock.h"
#include "bpf/records.h"
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

static bool values_add_up(int64_t sum, int64_t count, uint64_t period, int64_t unit)
{
	int64_t all = 0;

	for (int64_t n = 0; n < count; n++) {
		int64_t value = window_sample_value(sum, count, n, period);

		if (value % unit || llabs(value * count - sum) > unit * count)
			return false;
		all += value;
	}
	return all == sum;
}

TEST(values_of_samples_are_whole_parts_of_the_period_and_add_up)
{
	static const uint64_t rates[] = {19, 97, 999};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		uint64_t period = NS_PER_S / rates[i];
		int64_t part = (int64_t)period / CLOCK_PARTS;

		for (int64_t count = 1; count < 200; count++)
			for (int64_t off = -count; off <= count; off++)
				CHECK(values_add_up((CLOCK_PARTS * count + off) * part, count,
						    period, part));
	}
	/* Sums that are no whole parts; a period that is not known. */
	CHECK(values_add_up(1000000007, 3, NS_PER_S / 97, 1));
	CHECK(values_add_up(1000000007, 7, 0, 1));
	CHECK(values_add_up(INT64_MAX / 2, 1000, NS_PER_S / 97, 1));
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
