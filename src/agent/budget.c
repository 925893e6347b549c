#include "agent/budget.h"

/* Measurements in a row before the rate is doubled, or sampling pauses or goes on. */
#define CALM_WANTED   3
#define LOADED_WANTED 2
/* Before waits that were left out are tried again. */
#define CALM_WAITS    30
/* The next rate must fit with this much to spare. */
#define ROOM	      0.8
/* Budgets of a measurement: saved at most, had in advance, and owed at most. */
#define SAVED_MOST    30
#define ADVANCE	      90
#define OWED_MOST     10
/* Below the limit by so much of all processors before sampling goes on. */
#define LOAD_GAP      0.05

struct budget_state budget_begin(u32 wanted_hz)
{
	return (struct budget_state){.wanted_hz = wanted_hz ? wanted_hz : 1, .debt = -ADVANCE};
}

u32 budget_rate(const struct budget_state *s)
{
	u32 rate = s->level < 32 ? s->wanted_hz >> s->level : 0;

	return rate ? rate : 1;
}

const char *budget_reason_text(enum budget_reason reason)
{
	static const char *const texts[] = {"", "cpu budget", "memory budget", "load of the host"};

	return texts[reason];
}

static void lower(struct budget_state *s, enum budget_reason reason, unsigned steps)
{
	while (steps-- && budget_rate(s) > 1)
		s->level++;
	s->reason = reason;
	s->calm = 0;
}

/* Pausing shows nothing of the busiest times, so one busy measurement is not enough for it. */
static void watch_load(struct budget_state *s, const struct budget_limits *l,
		       const struct budget_measure *m)
{
	bool turn = s->paused ? m->host_share < l->host_share - LOAD_GAP
			      : m->host_share > l->host_share;

	if (l->host_share <= 0)
		return;
	s->loaded = turn ? s->loaded + 1 : 0;
	if (s->loaded < LOADED_WANTED)
		return;
	s->loaded = 0;
	s->paused = !s->paused;
	s->reason = s->paused ? BUDGET_LOAD : s->level ? BUDGET_CPU : BUDGET_NONE;
}

/* What can be made again goes first; only when that was not enough the rate. */
static bool watch_memory(struct budget_state *s, const struct budget_limits *l,
			 const struct budget_measure *m)
{
	if (!l->memory_bytes || m->memory_bytes <= l->memory_bytes) {
		s->trimmed = false;
		return false;
	}
	/* Once: what is given back and made again every time costs more than it saves. */
	s->trim = !s->trimmed;
	if (s->trimmed)
		lower(s, BUDGET_MEMORY, 1);
	s->trimmed = true;
	s->calm = 0;
	return true;
}

/* What costs most gives way. */
static void save_cpu(struct budget_state *s, const struct budget_measure *m, unsigned steps)
{
	if (m->wait_part <= 0.5) {
		lower(s, BUDGET_CPU, steps);
		return;
	}
	s->wait_level += steps;
	if (s->wait_level > BUDGET_WAITS_OFF)
		s->wait_level = BUDGET_WAITS_OFF;
	s->calm = 0;
}

static bool watch_cpu(struct budget_state *s, const struct budget_limits *l,
		      const struct budget_measure *m)
{
	double ratio = l->cpu_share > 0 ? m->cpu_share / l->cpu_share : 0;

	if (ratio > 1 || s->debt > -SAVED_MOST)
		s->debt += ratio - 1;
	if (s->debt > OWED_MOST)
		s->debt = OWED_MOST;
	if (ratio <= 1 || s->debt <= 0)
		return false;
	save_cpu(s, m, ratio > 4 ? 3 : ratio > 2 ? 2 : 1);
	return true;
}

static bool has_room(const struct budget_state *s, const struct budget_limits *l,
		     const struct budget_measure *m)
{
	struct budget_state next = *s;
	double growth;

	/* Twice, or more where the halves were rounded down: 3 follows on 1. */
	next.level--;
	growth = (double)budget_rate(&next) / budget_rate(s);
	if (l->memory_bytes && (double)m->memory_bytes > ROOM * (double)l->memory_bytes)
		return false;
	return l->cpu_share <= 0 || growth * m->cpu_share <= ROOM * l->cpu_share;
}

/* At most all that waits cost doubles. What those cost that are left out nobody knows. */
static bool has_room_for_waits(const struct budget_limits *l, const struct budget_measure *m)
{
	return l->cpu_share <= 0 || m->cpu_share * (1 + m->wait_part) <= ROOM * l->cpu_share;
}

static void return_rate(struct budget_state *s, const struct budget_limits *l,
			const struct budget_measure *m)
{
	s->calm = has_room(s, l, m) ? s->calm + 1 : 0;
	if (s->calm < CALM_WANTED)
		return;
	s->calm = 0;
	if (!--s->level)
		s->reason = BUDGET_NONE;
}

static void return_waits(struct budget_state *s, const struct budget_limits *l,
			 const struct budget_measure *m)
{
	s->calm = has_room_for_waits(l, m) ? s->calm + 1 : 0;
	if (s->calm < (s->wait_level == BUDGET_WAITS_OFF ? CALM_WAITS : CALM_WANTED))
		return;
	s->calm = 0;
	s->wait_level--;
}

struct budget_state budget_step(struct budget_state s, const struct budget_limits *limits,
				const struct budget_measure *m)
{
	bool over;

	s.trim = false;
	watch_load(&s, limits, m);
	/* While it pauses, what it costs says nothing about what the rate would cost. */
	if (s.paused)
		return s;
	over = watch_memory(&s, limits, m);
	over |= watch_cpu(&s, limits, m);
	if (!over && s.level)
		return_rate(&s, limits, m);
	else if (!over && s.wait_level)
		return_waits(&s, limits, m);
	return s;
}
