#include "agent/storms.h"

#include <stdlib.h>

#include "base/hash.h"

/* From STORM_RATE on one wait in eight: a switch that is not followed must cost less than 60 ns. */
#define FIRST_LEVEL 3u

void storms_release(struct storms *s)
{
	vec_release(&s->list);
	vec_release(&s->before);
	map_release(&s->by_pid);
	*s = (struct storms){0};
}

static enum err add(struct storms *s, u32 pid, u32 switches)
{
	u64 hash = hash_mix(pid, 1);
	u32 at = map_get(&s->by_pid, hash);

	s->all += switches;
	if (at != MAP_NONE) {
		s->list.v[at].switches += switches;
		return ERR_OK;
	}
	TRY(vec_push(&s->list, ((struct storm){pid, switches})));
	return map_put(&s->by_pid, hash, (u32)s->list.n - 1);
}

static int by_switches(const void *x, const void *y)
{
	const struct storm *a = x, *b = y;

	if (a->switches != b->switches)
		return a->switches < b->switches ? 1 : -1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* No thread switches 2^31 times between two counts: its entry was made anew. */
static u32 switches_since(struct storm_place old, struct storm_place now)
{
	u32 more = now.switches - old.switches;

	return now.tid != old.tid || more > UINT32_MAX / 2 ? now.switches : more;
}

enum err storms_count(struct storms *s, const struct wait_start *places, u32 n)
{
	if (s->before.n != n) {
		s->before.n = 0;
		TRY(vec_reserve(&s->before, n));
		memset(s->before.v, 0, n * sizeof(*s->before.v));
		s->before.n = n;
	}
	s->list.n = 0;
	s->all = 0;
	map_clear(&s->by_pid);
	for (u32 i = 0; i < n; i++) {
		struct storm_place now = {places[i].tid, places[i].switches}, old = s->before.v[i];

		s->before.v[i] = now;
		if (now.tid && now.switches != (now.tid == old.tid ? old.switches : 0))
			TRY(add(s, places[i].pid, switches_since(old, now)));
	}
	if (s->list.n)
		qsort(s->list.v, s->list.n, sizeof(*s->list.v), by_switches);
	return ERR_OK;
}

size_t storms_share(const struct storms *s, double part)
{
	double wanted = part * (double)s->all, sum = 0;
	size_t n = 0;

	while (n < s->list.n && sum < wanted)
		sum += (double)s->list.v[n++].switches;
	return n;
}

static unsigned level_at(double rate)
{
	unsigned level = 0;

	if (rate <= STORM_RATE)
		return 0;
	for (level = FIRST_LEVEL; level < WAIT_LEVEL_MAX && rate > 2 * STORM_RATE; rate /= 2)
		level++;
	return level;
}

struct storm_floor storm_floor_step(struct storm_floor f, double switches_per_second)
{
	unsigned now = level_at(switches_per_second);

	if (now > f.level)
		return (struct storm_floor){.level = now};
	f.calm = level_at(2 * switches_per_second) < f.level ? f.calm + 1 : 0;
	if (f.calm < STORM_CALM)
		return f;
	return (struct storm_floor){.level = f.level > FIRST_LEVEL ? f.level - 1 : 0};
}
