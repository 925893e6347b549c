#include "agent/cpu_clocks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "bpf/records.h"

/* Minimum time between changes of periods: each interrupts its CPU. */
#define DRAW_PERIODS 32
#define DRAW_NS	     ((u64)50 * NS_PER_MS)
/* Interval for checking the online CPUs. */
#define LOOK_NS	     ((u64)2 * NS_PER_S)
/*
 * The part of the rate by which a clock is off, at most. The wider, the sooner two clocks are out
 * of step: a program in step with its samples is seen with as many times the variance of samples at
 * random as this is narrow.
 */
#define OFF_PART     4

u64 cpu_clock_draw(u64 period_ns, u64 *random)
{
	double off;

	*random = hash_mix(*random + 1, HASH_K1);
	off = ((double)(*random >> 11) / (double)(1ull << 52) - 1) / OFF_PART;
	/* Rates, not periods, are distributed evenly around the configured rate, and so is the
	 * number of samples. */
	return (u64)((double)period_ns / (1 + off));
}

static enum err tell_period(const struct cpu_clocks *c, int cpu, u64 drawn_ns)
{
	struct clock_period period = {drawn_ns, (u64)clock_monotonic_ns()};

	/* CPUs above the size of the map use the configured period. */
	if (c->periods >= 0 && bpf_map_update_elem(c->periods, &cpu, &period, BPF_ANY) < 0 &&
	    errno != E2BIG)
		return err_from_errno(errno);
	return ERR_OK;
}

/* ERR_NOT_FOUND: the CPU has just gone offline. */
static enum err start_clock(struct cpu_clocks *c, int cpu, struct fault *fault)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = cpu_clock_draw(c->period_ns, &c->random),
		.read_format = PROCESSOR_EVENT_FORMAT,
		.disabled = !c->on,
	};
	struct cpu_clock clock = {.cpu = cpu};
	enum err e = tell_period(c, cpu, attr.sample_period);

	if (e)
		return fault_set(fault, e, "CPU %d cannot be sampled: %s", cpu, err_text(e));
	clock.fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (clock.fd < 0 && errno == ENODEV)
		return ERR_NOT_FOUND;
	if (clock.fd < 0)
		return fault_set(fault, err_from_errno(errno), "CPU %d cannot be sampled: %s", cpu,
				 strerror(errno));
	e = vec_push(&c->list, clock);
	if (e) {
		close(clock.fd);
		return e;
	}
	if (c->program >= 0 && ioctl(clock.fd, PERF_EVENT_IOC_SET_BPF, c->program) < 0) {
		e = fault_set(fault, err_from_errno(errno),
			      "the BPF program cannot be attached to CPU %d: %s", cpu,
			      strerror(errno));
		c->list.n--;
		close(clock.fd);
	}
	return e;
}

/* Closes timers of CPUs that went offline, and those that stopped because of it. */
static void drop_dead(struct cpu_clocks *c, const struct processors *online)
{
	size_t kept = 0;

	vec_for_each (clock, &c->list) {
		if (processors_have(online, clock->cpu) &&
		    (!c->on || processor_event_lives(clock->fd, &clock->time_before)))
			c->list.v[kept++] = *clock;
		else
			close(clock->fd);
	}
	c->list.n = kept;
}

static bool has_clock(const struct cpu_clocks *c, int cpu)
{
	vec_for_each (clock, &c->list)
		if (clock->cpu == cpu)
			return true;
	return false;
}

/* A failed one does not prevent the others; returns the first fault. */
enum err cpu_clocks_follow(struct cpu_clocks *c, const struct processors *online,
			   struct fault *fault)
{
	enum err first = ERR_OK;

	drop_dead(c, online);
	c->online = 0;
	for (int cpu = 0; cpu < PROCESSORS_MAX; cpu++) {
		enum err e;

		if (!processors_have(online, cpu))
			continue;
		c->online++;
		if (has_clock(c, cpu))
			continue;
		e = start_clock(c, cpu, first ? NULL : fault);
		if (e == ERR_NOT_FOUND)
			c->online--;
		else if (e && !first)
			first = e;
	}
	return first;
}

double cpu_clocks_missing(const struct cpu_clocks *c)
{
	return c->on && c->online > c->list.n ? (double)(c->online - c->list.n) / (double)c->online
					      : 0;
}

static void plan_draw(struct cpu_clocks *c, u64 now)
{
	u64 gap = DRAW_PERIODS * c->period_ns;

	c->next_draw = now + (gap > DRAW_NS ? gap : DRAW_NS);
}

enum err cpu_clocks_start(struct cpu_clocks *c, u64 period_ns, struct fault *fault)
{
	u64 now = (u64)clock_monotonic_ns();
	struct processors online;
	enum err e;

	cpu_clocks_stop(c);
	c->period_ns = period_ns;
	c->random = hash_random_seed();
	c->on = true;
	c->next_look = now + LOOK_NS;
	plan_draw(c, now);
	processors_read(&online);
	e = cpu_clocks_follow(c, &online, fault);
	/* Some are better than none: completeness says what is missing. */
	return c->list.n ? ERR_OK : e;
}

void cpu_clocks_stop(struct cpu_clocks *c)
{
	vec_for_each (clock, &c->list)
		close(clock->fd);
	c->list.n = 0;
	c->on = false;
	c->next_look = c->next_draw = UINT64_MAX;
}

void cpu_clocks_release(struct cpu_clocks *c)
{
	cpu_clocks_stop(c);
	vec_release(&c->list);
}

static enum err draw_all(struct cpu_clocks *c)
{
	vec_for_each (clock, &c->list) {
		u64 period = cpu_clock_draw(c->period_ns, &c->random);

		TRY(tell_period(c, clock->cpu, period));
		if (ioctl(clock->fd, PERF_EVENT_IOC_PERIOD, &period) < 0)
			return err_from_errno(errno);
	}
	return ERR_OK;
}

enum err cpu_clocks_set_period(struct cpu_clocks *c, u64 period_ns)
{
	c->period_ns = period_ns;
	if (c->list.n)
		plan_draw(c, (u64)clock_monotonic_ns());
	return draw_all(c);
}

enum err cpu_clocks_switch(struct cpu_clocks *c, bool on, struct fault *fault)
{
	c->on = on;
	vec_for_each (clock, &c->list)
		if (ioctl(clock->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0)
			return fault_set(fault, err_from_errno(errno), "a timer does not go on: %s",
					 strerror(errno));
	return ERR_OK;
}

enum err cpu_clocks_turn(struct cpu_clocks *c, u64 now)
{
	struct processors online;

	if (now >= c->next_look) {
		c->next_look = now + LOOK_NS;
		processors_read(&online);
		/* Failures are retried at the next check. */
		if (cpu_clocks_follow(c, &online, NULL) != ERR_OK)
			return ERR_OK;
	}
	if (now < c->next_draw || !c->on)
		return ERR_OK;
	plan_draw(c, now);
	return draw_all(c);
}
