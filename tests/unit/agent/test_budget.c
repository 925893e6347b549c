#include "agent/budget.h"
#include "agent/self_metrics.h"

#include "test.h"

static const struct budget_limits limits = {
	.cpu_share = 0.01, .memory_bytes = 64 << 20, .host_share = 0.9};

/* What a machine measures on which a sample a second costs this share. */
static struct budget_measure cost(const struct budget_state *s, double per_hz)
{
	return (struct budget_measure){
		.cpu_share = per_hz * budget_rate(s), .memory_bytes = 20 << 20, .host_share = 0.5};
}

TEST(within_the_budget_nothing_changes)
{
	struct budget_state s = budget_begin(97);

	for (int i = 0; i < 20; i++) {
		struct budget_measure m = cost(&s, 0.01 / 100);

		s = budget_step(s, &limits, &m);
		CHECK_INT(budget_rate(&s), 97);
		CHECK(!s.paused && !s.trim && s.reason == BUDGET_NONE);
	}
}

TEST(the_rate_comes_to_rest_below_the_budget_and_does_not_swing)
{
	for (double per_hz = 0.0001; per_hz < 0.02; per_hz *= 1.3) {
		struct budget_state s = budget_begin(97);
		u32 rest = 0;

		for (int i = 0; i < 2000; i++) {
			struct budget_measure m = cost(&s, per_hz);

			s = budget_step(s, &limits, &m);
			if (i == 1000)
				rest = budget_rate(&s);
			if (i > 1000)
				CHECK_INT(budget_rate(&s), rest);
		}
		CHECK(rest == 1 || per_hz * rest <= limits.cpu_share);
		CHECK_INT(s.reason, rest < 97 ? BUDGET_CPU : BUDGET_NONE);
	}
}

TEST(the_rate_comes_back_when_there_is_room)
{
	struct budget_state s = budget_begin(100);
	struct budget_measure m = {.cpu_share = 0.05, .host_share = 0.2};
	int steps = 0;

	s.debt = 0;
	s = budget_step(s, &limits, &m);
	CHECK_INT(budget_rate(&s), 12);
	while (budget_rate(&s) < 100 && steps++ < 100) {
		m = cost(&s, 0.0001 / 4);
		s = budget_step(s, &limits, &m);
	}
	CHECK_INT(steps, 9);
	CHECK_INT(s.reason, BUDGET_NONE);
}

TEST(what_costs_once_is_paid_from_what_was_saved)
{
	struct budget_state s = budget_begin(97);
	struct budget_measure calm = {.cpu_share = 0.002}, reading = {.cpu_share = 0.05};

	/* At the start: all programs are new. */
	for (int i = 0; i < 20; i++)
		s = budget_step(s, &limits, &reading);
	CHECK_INT(budget_rate(&s), 97);
	for (int i = 0; i < 100; i++)
		s = budget_step(s, &limits, &calm);
	/* One that is new later. */
	for (int i = 0; i < 5; i++)
		s = budget_step(s, &limits, &reading);
	CHECK_INT(budget_rate(&s), 97);
	/* What goes on for long is not once. */
	for (int i = 0; i < 20; i++)
		s = budget_step(s, &limits, &reading);
	CHECK(budget_rate(&s) < 97 && s.reason == BUDGET_CPU);
}

TEST(the_rate_never_falls_below_one)
{
	struct budget_state s = budget_begin(5);
	struct budget_measure m = {.cpu_share = 1};

	for (int i = 0; i < 50; i++)
		s = budget_step(s, &limits, &m);
	CHECK_INT(budget_rate(&s), 1);
	CHECK(s.level <= 3);
	s = budget_begin(0);
	CHECK_INT(budget_rate(&s), 1);
}

TEST(memory_is_given_back_before_the_rate_is_lowered)
{
	struct budget_state s = budget_begin(100);
	struct budget_measure m = {.memory_bytes = 65 << 20};

	s = budget_step(s, &limits, &m);
	CHECK(s.trim && budget_rate(&s) == 100);
	s = budget_step(s, &limits, &m);
	CHECK(!s.trim && budget_rate(&s) == 50 && s.reason == BUDGET_MEMORY);
	m.memory_bytes = 60 << 20;
	for (int i = 0; i < 10; i++)
		s = budget_step(s, &limits, &m);
	CHECK(!s.trim && budget_rate(&s) == 50);
	m.memory_bytes = 40 << 20;
	for (int i = 0; i < 3; i++)
		s = budget_step(s, &limits, &m);
	CHECK_INT(budget_rate(&s), 100);
}

TEST(a_busy_machine_pauses_it_and_a_calm_one_lets_it_go_on)
{
	struct budget_state s = budget_begin(97);
	struct budget_measure busy = {.host_share = 0.95}, nearly = {.host_share = 0.88},
			      calm = {.host_share = 0.5};

	s = budget_step(s, &limits, &busy);
	CHECK(!s.paused);
	s = budget_step(s, &limits, &calm);
	s = budget_step(s, &limits, &busy);
	CHECK(!s.paused);
	s = budget_step(s, &limits, &busy);
	CHECK(s.paused && s.reason == BUDGET_LOAD);
	for (int i = 0; i < 5; i++)
		s = budget_step(s, &limits, &nearly);
	CHECK(s.paused);
	s = budget_step(s, &limits, &calm);
	CHECK(s.paused);
	s = budget_step(s, &limits, &calm);
	CHECK(!s.paused && s.reason == BUDGET_NONE);
}

TEST(without_limits_nothing_is_limited)
{
	static const struct budget_limits none;
	struct budget_state s = budget_begin(97);
	struct budget_measure m = {.cpu_share = 1, .memory_bytes = 1ull << 40, .host_share = 1};

	for (int i = 0; i < 5; i++)
		s = budget_step(s, &none, &m);
	CHECK(budget_rate(&s) == 97 && !s.paused && !s.trim);
}

/* Waits cost `noting` whatever R is, and `keeping` as it was asked for. */
static struct budget_measure wait_cost(const struct budget_state *s, double per_hz, double noting,
				       double keeping)
{
	double waits = s->wait_level == BUDGET_WAITS_OFF
			       ? 0
			       : noting + keeping / (double)(1u << s->wait_level);
	struct budget_measure m = {.cpu_share = per_hz * budget_rate(s) + waits};

	m.wait_part = waits / m.cpu_share;
	return m;
}

static struct budget_state settle(struct budget_state s, double per_hz, double noting,
				  double keeping, int steps)
{
	for (int i = 0; i < steps; i++) {
		struct budget_measure m = wait_cost(&s, per_hz, noting, keeping);

		s = budget_step(s, &limits, &m);
	}
	return s;
}

TEST(when_waits_cost_too_much_fewer_are_kept_and_the_rate_stays)
{
	struct budget_state s = settle(budget_begin(97), 0.00002, 0.001, 0.04, 500);
	unsigned rest = s.wait_level;

	CHECK(rest > 0 && rest <= BUDGET_WAITS_LEAST);
	CHECK_INT(budget_rate(&s), 97);
	CHECK(wait_cost(&s, 0.00002, 0.001, 0.04).cpu_share <= limits.cpu_share);
	/* And rests there. */
	for (int i = 0; i < 500; i++) {
		s = settle(s, 0.00002, 0.001, 0.04, 1);
		CHECK_INT(s.wait_level, rest);
	}
	/* The machine is calm again. */
	s = settle(s, 0.00002, 0.0001, 0.0001, 100);
	CHECK_INT(s.wait_level, 0);
}

TEST(when_noting_waits_is_too_much_they_are_left_out_and_tried_again)
{
	struct budget_state s = budget_begin(97);
	int off = 0, changes = 0;

	s.debt = 0;
	for (int i = 0; i < 1000; i++) {
		unsigned before = s.wait_level;

		s = settle(s, 0.00002, 0.03, 0.01, 1);
		off += s.wait_level == BUDGET_WAITS_OFF;
		changes += s.wait_level != before;
		CHECK_INT(budget_rate(&s), 97);
	}
	CHECK(off > 500 && changes < 80);
	/* When threads switch less they come back. */
	s = settle(s, 0.00002, 0.0001, 0.0001, 300);
	CHECK_INT(s.wait_level, 0);
}

TEST(when_samples_cost_too_much_waits_are_kept_as_before)
{
	struct budget_state s = settle(budget_begin(97), 0.001, 0.0005, 0.0005, 500);

	CHECK_INT(s.wait_level, 0);
	CHECK(budget_rate(&s) < 97);
}

TEST(the_load_of_the_machine_is_read)
{
	u64 busy, all;

	CHECK(stat_line_read(STR("cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2\n"), &busy, &all));
	CHECK_INT(busy, 81);
	CHECK_INT(all, 531);
	CHECK(!stat_line_read(STR("intr 5\n"), &busy, &all));
	CHECK(!stat_line_read(STR("cpu  1 x 3 4\n"), &busy, &all));
	CHECK(!stat_line_read(STR(""), &busy, &all));
	CHECK(!stat_line_read(STR("cpu  1 2\n"), &busy, &all));
}

TEST(metrics_have_a_type_before_every_value)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);
	struct self_facts f = {.rate_hz = 48, .wanted_hz = 97, .capture.kernel.samples = 12345};
	struct str rest, line, last = STR("");

	self_metrics_put(&f, &out);
	CHECK_OK(buf_error(&out));
	CHECK(strstr(out.data, "\nvestal_agent_rate_hz 48\n"));
	CHECK(strstr(out.data, "\nvestal_agent_samples_total 12345\n"));
	rest = buf_view(&out);
	while (str_split(&rest, '\n', &line)) {
		if (str_starts(line, STR("# TYPE ")))
			last = str_n(line.p + 7, str_find(str_skip(line, 7), ' '));
		else if (line.p[0] != '#')
			CHECK(str_starts(line, last));
	}
}

TEST(metrics_are_for_this_machine_alone)
{
	struct self_metrics *m = NULL;
	struct fault fault = {0};

	CHECK_ERR(self_metrics_new("0.0.0.0:0", &m, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(self_metrics_new("192.168.1.1:80", &m, &fault), ERR_BAD_ARGUMENT);
	CHECK_OK(self_metrics_new("127.0.0.1:0", &m, &fault));
	CHECK(self_metrics_address(m)[0]);
	self_metrics_free(m);
}
