#include "sdk/governor.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "sdk/cpu_sampler.h"
#include "sdk/own_threads.h"
#include "sdk/sampling.h"

#define LOOK_NS	      NS_PER_S
/* Below the limit by so much, so that it does not go to and fro. */
#define LOAD_BACK     10
/* A program that did less than this in a second says nothing about shares. */
#define PROGRAM_LEAST (20 * NS_PER_MS)
/* The kernel's cost of delivering a signal and returning from it, which the handler cannot
 * measure. */
#define SIGNAL_NS     4000

void governor_init(struct governor *g)
{
	*g = (struct governor){.start = clock_monotonic_ns()};
}

/* ------------------------------------------------------------------ schedule */

static void keep_schedule(const struct governor *g, const struct control_settings *c, int64_t now)
{
	bool outside = (now - g->start) % c->every_ns >= c->window_ns;

	if (outside != !!(sampling_paused() & PAUSED_BY_SCHEDULE))
		sampling_pause(PAUSED_BY_SCHEDULE, outside);
}

/* ------------------------------------------------------------------ load */

/* "cpu  user nice system idle iowait irq softirq steal …" */
bool governor_read_load(struct str text, u64 *ret_busy, u64 *ret_total)
{
	struct str line, one;
	u64 total = 0, idle = 0;
	int n = 0;

	if (!str_starts(text, STR("cpu ")) || !str_split(&text, '\n', &line))
		return false;
	line = str_skip(line, 4);
	/* Fields after the eighth are guest times, which are already included in the first ones. */
	while (n < 8 && str_split(&line, ' ', &one)) {
		u64 ticks;

		if (!one.n)
			continue;
		if (str_to_u64(one, 10, &ticks))
			return false;
		total += ticks;
		if (n == 3 || n == 4)
			idle += ticks;
		n++;
	}
	*ret_busy = total - idle;
	*ret_total = total;
	return n >= 4;
}

static bool look_at_load(u64 *ret_busy, u64 *ret_total)
{
	char text[512];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	close(fd);
	return n > 0 && governor_read_load(str_n(text, (size_t)n), ret_busy, ret_total);
}

static void mind_load(struct governor *g, u32 limit)
{
	u64 busy, total, percent;
	bool paused = sampling_paused() & PAUSED_BY_LOAD;

	if (!look_at_load(&busy, &total))
		return;
	if (g->looked && total > g->total) {
		percent = (busy - g->busy) * 100 / (total - g->total);
		if (!paused && percent >= limit)
			sampling_pause(PAUSED_BY_LOAD, true);
		else if (paused && percent + LOAD_BACK < limit)
			sampling_pause(PAUSED_BY_LOAD, false);
	}
	g->busy = busy;
	g->total = total;
}

/* ------------------------------------------------------------------ budget */

u32 governor_next_rate(u32 rate_hz, u32 most_hz, u32 spent_permille, u32 budget_permille)
{
	u32 next = rate_hz;

	if (spent_permille > budget_permille)
		next = rate_hz * budget_permille / spent_permille;
	else if (spent_permille * 2 < budget_permille)
		/* Slowly: too much is worse than too little. */
		next = rate_hz + rate_hz / 4 + 1;
	if (next < 1)
		next = 1;
	return next < most_hz ? next : most_hz;
}

static void mind_budget(struct governor *g, const struct sdk_settings *s)
{
	int64_t program = clock_process_cpu_ns();
	int64_t own = thread_cpu_ns() + (int64_t)cpu_cost_ns() + (int64_t)cpu_samples() * SIGNAL_NS;
	int64_t used = program - g->program_ns, spent = own - g->own_ns;
	u32 now = sampling_rate(), most = sdk_timer_rate(s), next;

	if (g->looked && used >= PROGRAM_LEAST && spent >= 0) {
		next = governor_next_rate(now, most, (u32)(spent * 1000 / used),
					  s->control.budget_permille);
		if (next != now)
			sampling_set_rate(next);
	}
	g->program_ns = program;
	g->own_ns = own;
}

void governor_turn(struct governor *g, const struct sdk_settings *s)
{
	int64_t now = clock_monotonic_ns();

	if (s->control.every_ns)
		keep_schedule(g, &s->control, now);
	if (now < g->next_look || !(s->control.load_percent || s->control.budget_permille))
		return;
	g->next_look = now + LOOK_NS;
	if (s->control.load_percent)
		mind_load(g, s->control.load_percent);
	if (s->control.budget_permille) {
		cpu_measure(true);
		mind_budget(g, s);
	}
	g->looked = true;
}
