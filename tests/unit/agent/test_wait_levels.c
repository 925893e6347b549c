/* Levels of off-CPU time through storms of switches, on a clock of the test's own. */
#include "agent/wait_levels.h"

#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

#define STORMY	 100u
#define INNOCENT 200u
#define THREADS	 8u
/* How often the agent looks. */
#define TURN_NS	 ((u64)250 * NS_PER_MS)

/* ------------------------------------------------------------------ a kernel side */

struct kernel_side {
	u64 switches;
	struct wait_start places[WAIT_PLACES];
	bool no_places; /* no memory for them */
	u32 level_of_all, level;
	u32 chosen[WAIT_LEVELS];
	size_t chosen_count;
};

void kernel_count(const struct kernel_side *k, struct kernel_counters *ret)
{
	*ret = (struct kernel_counters){.switches = k->switches};
}

const struct wait_start *kernel_wait_places(struct kernel_side *k)
{
	return k->no_places ? NULL : k->places;
}

void kernel_drop_wait_places(struct kernel_side *k)
{
	(void)k;
}

void kernel_set_wait_level(struct kernel_side *k, u32 level)
{
	k->level_of_all = level;
}

enum err kernel_set_process_levels(struct kernel_side *k, const u32 *pids, size_t n, u32 level)
{
	k->level = level;
	k->chosen_count = n;
	for (size_t i = 0; i < n; i++)
		k->chosen[i] = pids[i];
	return ERR_OK;
}

/* ------------------------------------------------------------------ time that passes */

struct machine {
	struct kernel_side kernel;
	struct wait_levels levels;
	double calm; /* switches a second of the innocent process */
	u64 now;
	unsigned changes; /* of levels: each ends a window */
};

static struct machine *machine_new(void)
{
	struct machine *m = mem_zalloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->calm = 800;
	m->now = 1000 * (u64)NS_PER_S;
	return m;
}

static void machine_free(struct machine **m)
{
	if (*m)
		wait_levels_release(&(*m)->levels);
	mem_free(*m);
}

static void switch_threads(struct machine *m, u32 pid, double per_second)
{
	double more = per_second / THREADS * (double)TURN_NS / NS_PER_S;

	for (u32 i = 0; i < THREADS; i++) {
		struct wait_start *w = &m->kernel.places[pid + i];

		w->tid = w->pid = pid;
		w->tid += i;
		w->switches += (u32)more;
		m->kernel.switches += (u32)more;
	}
}

/* The level of a process, as the kernel side was told. */
static u32 level_of(const struct machine *m, u32 pid)
{
	for (size_t i = 0; i < m->kernel.chosen_count; i++)
		if (m->kernel.chosen[i] == pid)
			return m->kernel.level;
	return m->kernel.level_of_all;
}

static enum err turn(struct machine *m, double storm)
{
	m->now += TURN_NS;
	switch_threads(m, STORMY, storm);
	switch_threads(m, INNOCENT, m->calm);
	if (!wait_levels_due(&m->levels, &m->kernel, m->now))
		return ERR_OK;
	m->changes++;
	return wait_levels_apply(&m->levels, &m->kernel, m->now);
}

/* Seconds until the level of the stormy process is between these; NAN = never, or the innocent one
 * has a level, too. */
static double until_level(struct machine *m, double storm, u32 least, u32 most, double limit)
{
	u64 begin = m->now;

	while (m->now < begin + (u64)(limit * NS_PER_S)) {
		if (turn(m, storm) != ERR_OK || (!m->kernel.no_places && level_of(m, INNOCENT)))
			return NAN;
		if (level_of(m, STORMY) >= least && level_of(m, STORMY) <= most)
			return (double)(m->now - begin) / NS_PER_S;
	}
	return NAN;
}

TEST(a_storm_has_a_level_within_five_seconds_and_loses_it_within_thirty)
{
	static const double rates[] = {220e3, 450e3, 650e3, 850e3, 5e6};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		CLEANUP(machine_free) struct machine *m = machine_new();
		double took;

		CHECK(m);
		CHECK(isnan(until_level(m, 1000, 1, WAIT_LEVEL_MAX, 60)));
		took = until_level(m, rates[i], 3, WAIT_LEVEL_MAX, 60);
		CHECK(took > 0 && took <= 5);
		/* It stays as long as the storm does. */
		CHECK(isnan(until_level(m, rates[i], 0, 2, 120)));
		took = until_level(m, 1000, 0, 0, 120);
		CHECK(took > 0 && took <= 30);
	}
}

TEST(a_storm_that_comes_back_again_and_again_delays_nothing)
{
	CLEANUP(machine_free) struct machine *m = machine_new();

	CHECK(m);
	for (int i = 0; i < 100; i++) {
		double up = until_level(m, 800e3, 3, WAIT_LEVEL_MAX, 60), down;

		CHECK(up > 0 && up <= 5);
		down = until_level(m, 1000, 0, 0, 120);
		CHECK(down > 0 && down <= 30);
	}
	/* Each storm: up once, and down level by level, not more often than every five seconds. */
	CHECK(m->changes <= 100 * 8);
}

TEST(a_storm_that_has_ended_leaves_no_level_to_others)
{
	static const double calm[] = {0, 800, 9e3, 15e3, 80e3};

	for (size_t i = 0; i < sizeof(calm) / sizeof(calm[0]); i++) {
		CLEANUP(machine_free) struct machine *m = machine_new();
		double took;

		CHECK(m);
		m->calm = calm[i];
		took = until_level(m, 800e3, 3, WAIT_LEVEL_MAX, 60);
		CHECK(took > 0 && took <= 5);
		took = until_level(m, 0, 0, 0, 120);
		CHECK(took > 0 && took <= 30);
	}
}

TEST(without_memory_to_count_all_are_alike_and_recover_as_fast)
{
	CLEANUP(machine_free) struct machine *m = machine_new();
	double took;

	CHECK(m);
	m->kernel.no_places = true;
	took = until_level(m, 800e3, 3, WAIT_LEVEL_MAX, 60);
	CHECK(took > 0 && took <= 5);
	CHECK(level_of(m, INNOCENT) >= 3);
	took = until_level(m, 1000, 0, 0, 120);
	CHECK(took > 0 && took <= 30);
	CHECK_INT(level_of(m, INNOCENT), 0);
}

TEST(what_the_budget_wants_goes_to_who_switches_and_ends_with_it)
{
	CLEANUP(machine_free) struct machine *m = machine_new();
	double took;

	CHECK(m);
	CHECK(isnan(until_level(m, 60e3, 1, WAIT_LEVEL_MAX, 10)));
	m->levels.wanted = 2;
	took = until_level(m, 60e3, 2, 2, 60);
	CHECK(took > 0 && took <= 5);
	m->levels.wanted = 0;
	took = until_level(m, 60e3, 0, 0, 60);
	CHECK(took > 0 && took <= 30);
}
