#include "budget_simulation.h"

#include <math.h>

#include "agent/self_metrics.h"
#include "test.h"

#define HOUR	    3600.0
#define DAY	    (24 * HOUR)
#define MIB	    ((u64)1 << 20)
/* A level that fits is taken up after so many seconds. */
#define CALM_MOST_S 4

static const struct budget_limits limits = {
	.cpu_share = 0.01, .memory_bytes = 64 * MIB, .host_share = 0.9};

static struct simulation begin(void)
{
	return simulation_begin(97, limits);
}

/* What most machines cost, and something more now and then. */
struct peaks {
	struct simulated_load usual;
	double every, length; /* seconds */
	double more;	      /* share of all CPUs */
};

static void peaks(const void *context, double now, struct simulated_load *ret)
{
	const struct peaks *p = context;

	*ret = p->usual;
	if (fmod(now, p->every) < p->length)
		ret->fixed += p->more;
}

static const struct simulated_load usual = {.fixed = 0.0003,
					    .per_hz = 0.00002,
					    .noting = 0.0004,
					    .keeping = 0.0008,
					    .memory_bytes = 20 * MIB,
					    .host = 0.5};

/* Four times an hour, long after the last one, and once in every window. */
TEST(single_peaks_change_nothing_in_a_day)
{
	const struct peaks all[] = {{usual, 60, 1, 0.0085},
				    {usual, 15, 1, 0.018},
				    {usual, 900, 2, 0.018},
				    {usual, 60, 0.5, 0.03}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct simulation s = begin();

		simulate(&s, DAY, peaks, &all[i]);
		CHECK_INT(s.changes, 0);
	}
}

/* A storm of switches at noon; then a peak of 0.85 % a minute, all day. */
static void storm(const void *context, double now, struct simulated_load *ret)
{
	(void)context;
	*ret = usual;
	if (now >= 100 && now < 200)
		ret->noting = 0.18;
	if (fmod(now, 60) < 1)
		ret->fixed += 0.0085;
}

TEST(off_cpu_samples_come_back_after_a_storm_although_there_are_peaks)
{
	struct simulation s = begin();

	simulate(&s, 100, storm, NULL);
	CHECK_INT(s.changes, 0);
	simulate(&s, 5, storm, NULL);
	CHECK_INT(s.state.wait_level, BUDGET_WAITS_OFF);
	simulate(&s, 95 + BUDGET_BACKOFF_S + 2, storm, NULL);
	CHECK(s.state.wait_level < BUDGET_WAITS_OFF);
	/* Level by level, each after some calm seconds. */
	simulate(&s, 60, storm, NULL);
	CHECK_INT(s.state.wait_level, 0);
	simulate(&s, DAY, storm, NULL);
	CHECK_INT(s.state.wait_level, 0);
	CHECK(s.off < 140);
	CHECK_INT(budget_rate(&s.state), 97);
}

/* From an hour in which nothing happened, when most is saved. */
TEST(a_step_to_twice_or_five_times_the_budget_is_answered_within_five_seconds)
{
	static const double times[] = {2, 3, 5, 20};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct simulated_load calm = {.per_hz = 0.0000001}, step = {.memory_bytes = MIB};
		struct simulation s = begin();

		step.per_hz = times[i] * limits.cpu_share / 97;
		simulate(&s, HOUR, simulated_constant, &calm);
		CHECK(s.first_change < 0);
		simulate(&s, 2 * HOUR, simulated_constant, &step);
		CHECK(s.first_change > HOUR && s.first_change <= HOUR + BUDGET_REACTION_S);
		CHECK(s.last.cpu_share <= limits.cpu_share);
		/* The same of off-CPU samples. */
		s = begin();
		step = (struct simulated_load){.keeping = times[i] * limits.cpu_share};
		simulate(&s, HOUR, simulated_constant, &calm);
		simulate(&s, HOUR, simulated_constant, &step);
		CHECK(s.first_change > HOUR && s.first_change <= HOUR + BUDGET_REACTION_S);
		CHECK(s.last.cpu_share <= limits.cpu_share);
		CHECK_INT(budget_rate(&s.state), 97);
	}
}

TEST(the_rate_comes_to_rest_below_the_budget_and_does_not_swing)
{
	for (double per_hz = 0.00001; per_hz < 0.02; per_hz *= 1.3) {
		struct simulated_load load = {.per_hz = per_hz};
		struct simulation s = begin();
		u64 changes;
		u32 rest;

		simulate(&s, 600, simulated_constant, &load);
		rest = budget_rate(&s.state);
		changes = s.changes;
		simulate(&s, DAY, simulated_constant, &load);
		CHECK_INT(s.changes, changes);
		CHECK(rest == 1 || per_hz * rest <= limits.cpu_share);
		CHECK_INT(s.state.reason, rest < 97 ? BUDGET_CPU : BUDGET_NONE);
	}
}

/* Noting alone may be too much: they are tried every BUDGET_BACKOFF_S, and not more often. */
TEST(whatever_off_cpu_samples_cost_the_budget_holds_and_they_are_tried_twice_a_minute_at_most)
{
	for (double noting = 0.001; noting < 0.3; noting *= 1.7) {
		for (double keeping = 0.0001; keeping < 0.3; keeping *= 5) {
			struct simulated_load load = {.fixed = 0.001,
						      .per_hz = 0.00002,
						      .noting = noting,
						      .keeping = keeping};
			struct simulation s = begin();
			double used;
			u64 changes;

			simulate(&s, 600, simulated_constant, &load);
			used = s.used;
			changes = s.changes;
			simulate(&s, DAY, simulated_constant, &load);
			CHECK((s.used - used) / DAY <= 1.1 * limits.cpu_share);
			CHECK((double)(s.changes - changes) <= 2 * DAY / BUDGET_BACKOFF_S + 2);
			CHECK_INT(budget_rate(&s.state), 97);
		}
	}
}

TEST(the_rate_comes_back_when_there_is_room)
{
	struct simulated_load much = {.per_hz = 0.0005}, little = {.per_hz = 0.000025};
	struct simulation s = begin();

	simulate(&s, 60, simulated_constant, &much);
	CHECK(budget_rate(&s.state) <= 20 && s.state.reason == BUDGET_CPU);
	simulate(&s, 3 * BUDGET_BACKOFF_S, simulated_constant, &little);
	CHECK_INT(budget_rate(&s.state), 97);
	CHECK_INT(s.state.reason, BUDGET_NONE);
}

TEST(the_rate_never_falls_below_one)
{
	struct simulated_load load = {.per_hz = 1};
	struct simulation s = simulation_begin(5, limits);

	simulate(&s, HOUR, simulated_constant, &load);
	CHECK_INT(budget_rate(&s.state), 1);
	CHECK(s.state.level <= 3);
	s.state = budget_begin(0);
	CHECK_INT(budget_rate(&s.state), 1);
}

TEST(memory_is_given_back_before_the_rate_is_lowered)
{
	struct simulated_load load = {.per_hz = 0.00001, .memory_bytes = 65 * MIB};
	struct simulation s = begin();
	unsigned trims = 0;

	simulate_step(&s, simulated_constant, &load);
	CHECK(s.state.trim && budget_rate(&s.state) == 97);
	for (int i = 0; i < BUDGET_REACTION_S; i++) {
		simulate_step(&s, simulated_constant, &load);
		trims += s.state.trim;
	}
	CHECK_INT(trims, 0);
	CHECK(budget_rate(&s.state) == 48 && s.state.reason == BUDGET_MEMORY);
	/* A lower rate saves little: not for ever lower. */
	simulate(&s, DAY, simulated_constant, &load);
	CHECK_INT(budget_rate(&s.state), 12);
}

/*
 * Something that was too much once, for a while, beside what goes on for ever: whatever that is,
 * what was given up for the one comes back as far as the other leaves room. Each is tried with
 * each.
 */
struct trouble {
	struct simulated_load more; /* than usual */
	double every, length;
};

static void add_load(struct simulated_load *to, const struct simulated_load *more)
{
	to->fixed += more->fixed;
	to->per_hz += more->per_hz;
	to->noting += more->noting;
	to->keeping += more->keeping;
	to->readers += more->readers;
	to->memory_bytes += more->memory_bytes;
	to->host += more->host;
}

struct troubles {
	const struct trouble *lasting, *once;
};

#define ONCE_BEGIN 100
#define ONCE_END   200

static void troubles(const void *context, double now, struct simulated_load *ret)
{
	const struct troubles *t = context;

	*ret = usual;
	if (fmod(now, t->lasting->every) < t->lasting->length)
		add_load(ret, &t->lasting->more);
	if (now >= ONCE_BEGIN && now < ONCE_END)
		add_load(ret, &t->once->more);
}

/* The same without what was too much once. */
static struct simulation undisturbed(const struct trouble *lasting)
{
	static const struct trouble nothing = {0};
	struct simulation s = begin();

	simulate(&s, DAY, troubles, &(struct troubles){lasting, &nothing});
	return s;
}

TEST(what_was_too_much_once_lowers_nothing_for_ever_whatever_else_goes_on)
{
	static const struct trouble lasting[] = {
		{{.fixed = 0}, 1, 1},
		/* Single peaks: one a minute, those of windows, quick ones. */
		{{.fixed = 0.0085}, 60, 1},
		{{.fixed = 0.018}, 15, 1},
		{{.fixed = 0.012}, 4, 1},
		{{.fixed = 0.02}, 7, 1},
		/* Nearly all of the budget, by what can be lowered and by what cannot. */
		{{.fixed = 0.0055}, 1, 1},
		{{.per_hz = 0.0055 / 97}, 1, 1},
		{{.noting = 0.0055}, 1, 1},
		{{.keeping = 0.0045}, 1, 1},
		/* Less than a level up would need, more than half of it: permanently too much. */
		{{.per_hz = 0.012 / 97}, 1, 1},
		/* Memory: at 52 MiB, now and then too much, always too much. */
		{{.memory_bytes = 32 * MIB}, 1, 1},
		{{.memory_bytes = 46 * MIB}, 20, 2},
		{{.memory_bytes = 46 * MIB}, 1, 1},
		{{.readers = 0.012}, 1, 1},
		{{.host = 0.37}, 1, 1},
	};
	static const struct trouble once[] = {
		{{.noting = 0.18}, 0, 0},
		{{.keeping = 0.3}, 0, 0},
		{{.per_hz = 0.005}, 0, 0},
		{{.fixed = 0.05}, 0, 0},
		{{.host = 0.45}, 0, 0},
		{{.memory_bytes = 48 * MIB}, 0, 0},
		{{.noting = 0.1, .per_hz = 0.002, .memory_bytes = 48 * MIB, .host = 0.45}, 0, 0},
	};

	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++) {
		struct simulation calm = undisturbed(&lasting[i]);

		for (size_t k = 0; k < sizeof(once) / sizeof(once[0]); k++) {
			struct troubles t = {&lasting[i], &once[k]};
			struct simulation s = begin();
			double low, off;

			/* Nine levels, each after half a minute at worst; and what was rounded. */
			simulate(&s, ONCE_END + 12 * BUDGET_BACKOFF_S, troubles, &t);
			low = s.low;
			off = s.off;
			simulate(&s, DAY, troubles, &t);
			CHECK_INT(s.state.paused, calm.state.paused);
			CHECK(s.state.wait_level <= calm.state.wait_level);
			CHECK(s.state.level <= calm.state.level);
			/* The first seconds of a day are before anything is too much. */
			CHECK(s.low - low <= calm.low + BUDGET_BACKOFF_S);
			CHECK(s.off - off <= calm.off + BUDGET_BACKOFF_S);
		}
	}
}

/* More of them may cost nothing more, where what costs is to look at each switch. */
TEST(off_cpu_samples_are_tried_level_by_level_although_all_that_they_cost_might_double)
{
	static const struct simulated_load dear = {.fixed = 0.001, .noting = 0.008};
	struct simulation s = begin();

	s.state.wait_level = BUDGET_WAITS_LEAST;
	simulate(&s, (BUDGET_WAITS_LEAST + 1) * (BUDGET_BACKOFF_S + CALM_MOST_S),
		 simulated_constant, &dear);
	CHECK_INT(s.state.wait_level, 0);
	CHECK_INT(budget_rate(&s.state), 97);
}

/* What is tried and does not fit ends where it began, not at none. */
TEST(a_level_that_does_not_fit_is_given_up_again_at_once)
{
	static const struct simulated_load dear = {
		.fixed = 0.002, .noting = 0.002, .keeping = 0.011};
	struct simulation s = begin();

	simulate(&s, HOUR, simulated_constant, &dear);
	s.used = 0;
	simulate(&s, HOUR, simulated_constant, &dear);
	CHECK(s.state.wait_level <= 2 && s.off == 0);
	CHECK(s.used / HOUR <= limits.cpu_share);
}

TEST(the_rate_is_not_lowered_for_what_does_not_depend_on_it)
{
	struct simulated_load load = {.fixed = 0.05, .per_hz = 0.000008};
	struct simulation s = begin();

	simulate(&s, HOUR, simulated_constant, &load);
	CHECK_INT(budget_rate(&s.state), 97);
}

static void memory_once(const void *context, double now, struct simulated_load *ret)
{
	(void)context;
	*ret = usual;
	ret->memory_bytes = now >= 100 && now < 110 ? 66 * MIB : 52 * MIB;
}

TEST(memory_at_its_limit_once_does_not_lower_the_rate_for_ever)
{
	struct simulation s = begin();

	simulate(&s, 110, memory_once, NULL);
	CHECK(budget_rate(&s.state) < 97);
	simulate(&s, 2 * BUDGET_BACKOFF_S, memory_once, NULL);
	CHECK_INT(budget_rate(&s.state), 97);
	CHECK_INT(s.state.reason, BUDGET_NONE);
	simulate(&s, DAY, memory_once, NULL);
	CHECK_INT(budget_rate(&s.state), 97);
}

/* More than allowed at the full rate, less at half of it. */
TEST(memory_that_follows_the_rate_does_not_make_it_swing_faster_than_the_back_off)
{
	struct simulation s = begin();
	struct simulated_load load = {.per_hz = 0.00001};
	u64 changes;

	for (double end = s.now + HOUR; s.now < end;) {
		load.memory_bytes = 30 * MIB + budget_rate(&s.state) * MIB / 2;
		simulate_step(&s, simulated_constant, &load);
	}
	changes = s.changes;
	for (double end = s.now + DAY; s.now < end;) {
		load.memory_bytes = 30 * MIB + budget_rate(&s.state) * MIB / 2;
		simulate_step(&s, simulated_constant, &load);
	}
	CHECK((double)(s.changes - changes) <= 2 * DAY / BUDGET_BACKOFF_S + 2);
}

TEST(readers_are_slowed_down_and_sampling_is_not)
{
	struct simulated_load calm = {.per_hz = 0.00002}, reading = {.per_hz = 0.00002};
	struct simulation s = begin();
	double slow;

	/* What nobody paced would be five times the budget. */
	reading.readers = 0.05;
	CHECK(budget_reader_pace(&s.state, &limits, 2, 0) > 0.017);
	/* What the agent's own threads leave, but for the least. */
	CHECK(budget_reader_pace(&s.state, &limits, 2, 0.02) > 0.017);
	CHECK(fabs(budget_reader_pace(&s.state, &limits, 2, 0.04) - 0.005) < 1e-9);
	CHECK(budget_reader_pace(&s.state, &limits, 2, 0.5) > 0.001);
	simulate(&s, HOUR, simulated_constant, &reading);
	CHECK_INT(s.changes, 0);
	slow = budget_reader_pace(&s.state, &limits, 2, 0);
	/* What is left of two hundredths of a CPU. */
	CHECK(slow > 0.001 && slow < 0.02);
	simulate(&s, 60, simulated_constant, &calm);
	CHECK(budget_reader_pace(&s.state, &limits, 2, 0) > slow);
	/* Without a budget nobody waits. */
	s.limits.cpu_share = 0;
	CHECK(budget_reader_pace(&s.state, &s.limits, 2, 0) == 0);
}

static struct simulated_load of_host(double host)
{
	return (struct simulated_load){.host = host};
}

TEST(a_busy_machine_pauses_it_and_a_calm_one_lets_it_go_on)
{
	struct simulated_load busy = of_host(0.95), nearly = of_host(0.88), calm = of_host(0.5);
	struct simulation s = begin();

	simulate(&s, 2, simulated_constant, &busy);
	CHECK(!s.state.paused);
	simulate(&s, 1, simulated_constant, &calm);
	simulate(&s, 3, simulated_constant, &busy);
	CHECK(!s.state.paused);
	simulate(&s, 2, simulated_constant, &busy);
	CHECK(s.state.paused && s.state.reason == BUDGET_LOAD);
	simulate(&s, 20, simulated_constant, &nearly);
	CHECK(s.state.paused);
	simulate(&s, 2, simulated_constant, &calm);
	CHECK(s.state.paused);
	simulate(&s, 2, simulated_constant, &calm);
	CHECK(!s.state.paused && s.state.reason == BUDGET_NONE);
}

TEST(without_limits_nothing_is_limited)
{
	struct simulated_load load = {.fixed = 1, .memory_bytes = 1ull << 40, .host = 1};
	struct simulation s = simulation_begin(97, (struct budget_limits){0});

	simulate(&s, HOUR, simulated_constant, &load);
	CHECK(budget_rate(&s.state) == 97 && !s.state.paused && !s.state.trim);
}

TEST(when_samples_cost_too_much_off_cpu_samples_are_kept_as_before)
{
	struct simulated_load load = {.per_hz = 0.001, .noting = 0.0005, .keeping = 0.0005};
	struct simulation s = begin();

	simulate(&s, HOUR, simulated_constant, &load);
	CHECK_INT(s.state.wait_level, 0);
	CHECK(budget_rate(&s.state) < 97);
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
	struct self_facts f = {.measure.cpu_share = 0.004,
			       .limits.cpu_share = 0.01,
			       .rate_hz = 48,
			       .wanted_hz = 97,
			       .capture.kernel.samples = 12345};
	struct str rest, line, last = STR("");

	self_metrics_put(&f, &out);
	CHECK_OK(buf_error(&out));
	CHECK(strstr(out.data, "\nvestal_agent_rate_hz 48\n"));
	CHECK(strstr(out.data, "\nvestal_agent_cpu_share 0.004\n"));
	CHECK(strstr(out.data, "\nvestal_agent_cpu_budget_share 0.01\n"));
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

TEST(off_cpu_samples_come_back_while_something_else_is_over_budget)
{
	struct budget_limits tight = {.cpu_share = 0.01};
	struct budget_state s = budget_begin(100);
	double seconds = 0;

	s.wait_level = BUDGET_WAITS_LEAST;
	for (; s.wait_level && seconds < 600; seconds++)
		s = budget_step(s, &tight,
				&(struct budget_measure){
					.seconds = 1, .cpu_share = 0.02, .wait_part = 0.001});
	CHECK(seconds <= 40);
}
