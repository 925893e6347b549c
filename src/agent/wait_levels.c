#include "agent/wait_levels.h"

#include "base/clock.h"
#include "base/log.h"

#define LOOK_NS	      ((u64)500 * NS_PER_MS)
/* From the first count to the second. */
#define FIRST_LOOK_NS ((u64)250 * NS_PER_MS)
/* Below this number of switches per second, processes are not counted, because that takes memory,
 * and a level per process would save little: the cost is then in stacks, which is the same for all.
 * Existing levels are kept down to half of this. */
#define COUNT_RATE    20000.0
/* Each change ends a window. Only a higher level is set at once. */
#define SETTLED_NS    ((u64)5 * NS_PER_S)
/* Minimum interval between log messages about levels. */
#define SAY_NS	      ((u64)60 * NS_PER_S)
/* Of all switches: those of the processes that get a level, and what they must keep to have it. */
#define SHARE_CHOSEN  0.8
#define SHARE_KEPT    0.5

void wait_levels_release(struct wait_levels *l)
{
	storms_release(&l->storms);
	for (int i = 0; i < 2; i++)
		vec_release(&l->sets[i].chosen);
}

const struct wait_level_set *wait_levels_now(const struct wait_levels *l)
{
	return &l->sets[l->current];
}

static bool is_chosen(const struct wait_level_set *s, u32 pid)
{
	vec_for_each (one, &s->chosen)
		if (*one == pid)
			return true;
	return false;
}

unsigned wait_level_of(const struct wait_level_set *s, u32 pid)
{
	return is_chosen(s, pid) ? s->level : s->level_of_all;
}

static unsigned level_wanted(const struct wait_levels *l)
{
	unsigned budget = l->wanted < WAIT_LEVEL_MAX ? l->wanted : WAIT_LEVEL_MAX;

	return budget > l->floor.level ? budget : l->floor.level;
}

static void measure_rate(struct wait_levels *l, const struct kernel_side *k, u64 now)
{
	struct kernel_counters counters;
	u64 length = now - l->time;

	kernel_count(k, &counters);
	l->rate = l->time && length
			  ? (double)(counters.switches - l->switches) * NS_PER_S / (double)length
			  : 0;
	l->switches = counters.switches;
	l->time = now;
}

/* Counts switches by process; false if not known yet. */
static bool count(struct wait_levels *l, struct kernel_side *k, u64 now)
{
	const struct wait_start *places = NULL;
	double least = wait_levels_now(l)->chosen.n ? COUNT_RATE / 2 : COUNT_RATE;
	bool before = l->counted;

	if (l->rate >= least)
		places = kernel_wait_places(k);
	/* Without memory for it all processes are alike. */
	l->counted = places && storms_count(&l->storms, places, WAIT_PLACES) == ERR_OK;
	if (!l->counted) {
		storms_release(&l->storms);
		kernel_drop_wait_places(k);
	} else if (!before) {
		l->next = now + FIRST_LOOK_NS;
		return false;
	}
	return true;
}

/* Whether a storm has ended whose level decreases step by step: that of its processes alone. */
static bool keeps_chosen(const struct wait_levels *l)
{
	return wait_levels_now(l)->chosen.n && !l->wanted &&
	       (!l->counted || l->rate <= STORM_RATE / 2);
}

/* The level of processes that are not chosen; of all, as long as the switches are not known. */
static unsigned level_of_others(const struct wait_levels *l, unsigned level)
{
	if (l->wanted >= WAIT_LEVEL_ALL)
		return WAIT_LEVEL_MAX;
	return l->counted || keeps_chosen(l) ? 0 : level;
}

static enum err choose(const struct wait_levels *l, struct wait_level_set *next)
{
	const struct wait_level_set *now = wait_levels_now(l);
	size_t n = l->counted ? storms_share(&l->storms, SHARE_CHOSEN) : 0;

	next->chosen.n = 0;
	if (!next->level)
		return ERR_OK;
	if (keeps_chosen(l))
		return vec_append(&next->chosen, now->chosen.v, now->chosen.n);
	for (size_t i = 0; i < n && i < WAIT_LEVELS; i++)
		TRY(vec_push(&next->chosen, l->storms.list.v[i].pid));
	return ERR_OK;
}

static bool chosen_calmed_down(const struct wait_levels *l)
{
	u64 sum = 0;

	vec_for_each (one, &l->storms.list)
		if (is_chosen(wait_levels_now(l), one->pid))
			sum += one->switches;
	return (double)sum < SHARE_KEPT * (double)l->storms.all;
}

bool wait_levels_due(struct wait_levels *l, struct kernel_side *k, u64 now)
{
	const struct wait_level_set *now_set = wait_levels_now(l);
	unsigned level;

	if (now < l->next)
		return false;
	l->next = now + LOOK_NS;
	measure_rate(l, k, now);
	if (!count(l, k, now))
		return false;
	l->floor = storm_floor_step(l->floor, l->rate);
	level = level_wanted(l);
	if (level > now_set->level)
		return true;
	if (now < l->settled)
		return false;
	if (level != now_set->level || level_of_others(l, level) != now_set->level_of_all)
		return true;
	/* A storm that has ended is no reason to look for another. */
	return level && l->counted && (l->wanted || l->rate > STORM_RATE / 2) &&
	       chosen_calmed_down(l);
}

/* Each profile states its level; the log has only changes of interest to operators. */
static void say(struct wait_levels *l, u64 now)
{
	const struct wait_level_set *s = wait_levels_now(l);

	if (!s->level || now < l->say_next)
		return;
	l->say_next = now + SAY_NS;
	log_warn(s->chosen.n
			 ? "off-CPU time of the processes that switch most is followed less closely"
			 : "off-CPU time is followed less closely",
		 log_u64("level", s->level), log_u64("processes", s->chosen.n),
		 log_u64("pid", s->chosen.n ? s->chosen.v[0] : 0),
		 log_u64("switches_per_second", (u64)l->rate));
}

enum err wait_levels_apply(struct wait_levels *l, struct kernel_side *k, u64 now)
{
	struct wait_level_set *next = &l->sets[!l->current];

	next->level = level_wanted(l);
	next->level_of_all = level_of_others(l, next->level);
	TRY(choose(l, next));
	l->current = !l->current;
	l->settled = now + SETTLED_NS;
	kernel_set_wait_level(k, next->level_of_all);
	TRY(kernel_set_process_levels(k, next->chosen.v, next->chosen.n, next->level));
	say(l, now);
	return ERR_OK;
}
