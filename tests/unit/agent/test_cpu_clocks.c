/* Periods that keep step with nothing, and clocks that follow the processors. */
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/cpu_clocks.h"
#include "base/clock.h"
#include "test.h"

TEST(lists_of_processors_are_read)
{
	struct processors p;

	CHECK(processors_parse(STR("0-3,8\n"), &p));
	for (int cpu = 0; cpu < 20; cpu++)
		CHECK_INT(processors_have(&p, cpu), cpu < 4 || cpu == 8);
	CHECK(processors_parse(STR("8191"), &p));
	CHECK(processors_have(&p, 8191) && !processors_have(&p, 0));
	CHECK(!processors_have(&p, -1) && !processors_have(&p, PROCESSORS_MAX));
}

TEST(what_is_no_list_is_refused_and_changes_nothing)
{
	static const char *const wrong[] = {"",	    "\n",     "x",
					    "0-",   "-1",     "3-1",
					    "0,,1", "0-8192", "99999999999999999999",
					    "0-1-2"};
	struct processors p = {.bits = {5}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(!processors_parse(str_of(wrong[i]), &p));
	CHECK_INT(p.bits[0], 5);
}

TEST(the_machine_says_which_it_has)
{
	struct processors p;
	bool any = false;

	processors_read(&p);
	for (int cpu = 0; cpu < PROCESSORS_MAX; cpu++)
		any |= processors_have(&p, cpu);
	CHECK(any);
}

TEST(a_drawn_period_is_near_the_one_asked_for_and_the_rate_is_even)
{
	static const u64 periods[] = {200000, 1000000, 10101010, 1000000000};

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		u64 period = periods[i], random = 1, above = 0;
		double rates = 0;

		for (int k = 0; k < 10000; k++) {
			u64 drawn = cpu_clock_draw(period, &random);
			double rate = (double)period / (double)drawn;

			CHECK(rate >= 0.7499 && rate <= 1.2501);
			above += drawn > period;
			rates += rate / 10000;
		}
		CHECK(above > 4800 && above < 5200);
		CHECK(rates > 0.995 && rates < 1.005);
	}
}

static struct processors only(int first, int count)
{
	struct processors p = {{0}};

	for (int cpu = first; cpu < first + count; cpu++)
		p.bits[0] |= (u64)1 << cpu;
	return p;
}

static void stop(struct cpu_clocks *c)
{
	cpu_clocks_release(c);
}

/* Clocks that call nobody; false when this user may have none. */
static bool start(struct cpu_clocks *c)
{
	enum err e = cpu_clocks_start(c, 10 * NS_PER_MS, NULL);

	if (e == ERR_NO_PERMISSION || (e && geteuid()))
		test_skip("clocks on processors need rights");
	return !e;
}

TEST(a_clock_goes_with_its_processor_and_a_new_one_comes_with_it)
{
	CLEANUP(stop) struct cpu_clocks c = {.program = -1, .periods = -1};
	struct processors none = {{0}}, one = only(0, 1);
	size_t online;

	if (!start(&c))
		return;
	online = c.list.n;
	CHECK(online >= 1);
	CHECK_OK(cpu_clocks_follow(&c, &none, NULL));
	CHECK_INT(c.list.n, 0);
	CHECK_OK(cpu_clocks_follow(&c, &one, NULL));
	CHECK_INT(c.list.n, 1);
	CHECK_INT(c.list.v[0].cpu, 0);
	/* What the machine really has, at the next look. */
	CHECK_OK(cpu_clocks_turn(&c, c.next_look));
	CHECK_INT(c.list.n, online);
}

TEST(a_clock_that_stands_still_is_made_anew)
{
	CLEANUP(stop) struct cpu_clocks c = {.program = -1, .periods = -1};
	struct processors one = only(0, 1);
	u64 before;

	if (!start(&c))
		return;
	CHECK_OK(cpu_clocks_follow(&c, &one, NULL));
	/* As when its processor was away between two looks. */
	ioctl(c.list.v[0].fd, PERF_EVENT_IOC_DISABLE, 0);
	CHECK(processor_event_lives(c.list.v[0].fd, &c.list.v[0].time_before));
	before = c.list.v[0].time_before;
	CHECK(!processor_event_lives(c.list.v[0].fd, &c.list.v[0].time_before));
	CHECK_OK(cpu_clocks_follow(&c, &one, NULL));
	CHECK_INT(c.list.n, 1);
	CHECK(c.list.v[0].time_before != before);
	CHECK(processor_event_lives(c.list.v[0].fd, &c.list.v[0].time_before));
}

TEST(a_pause_does_not_make_clocks_anew)
{
	CLEANUP(stop) struct cpu_clocks c = {.program = -1, .periods = -1};
	int fd;

	if (!start(&c))
		return;
	fd = c.list.v[0].fd;
	CHECK_OK(cpu_clocks_switch(&c, false, NULL));
	CHECK_OK(cpu_clocks_turn(&c, c.next_look));
	CHECK_OK(cpu_clocks_turn(&c, c.next_look));
	CHECK_INT(c.list.v[0].fd, fd);
	CHECK_OK(cpu_clocks_switch(&c, true, NULL));
	CHECK(processor_event_lives(c.list.v[0].fd, &c.list.v[0].time_before));
}
