#include "agent/budget.h"

/* Seconds without a change before the rate is doubled or more off-CPU samples are kept. */
#define CALM_S		  3
/* Seconds of load in a row before sampling pauses or goes on. */
#define LOADED_S	  4
/* What comes back must fit with this much to spare. */
#define ROOM		  0.8
/* The mean follows what is measured in so many seconds. */
#define MEAN_S		  5
/* Saved for what is tried: enough for a measurement that a window's end falls into. */
#define PROBE_SAVED_S	  0.5
/* Seconds of budget that are owed at most, and that readers save at most. */
#define OWED_MOST	  5
#define CREDIT_MOST	  60
/* The first pause, in seconds; it doubles up to BUDGET_BACKOFF_S while it does not help. */
#define BACKOFF_FIRST	  5
/* After so many seconds without trouble the next pause is the first one again. */
#define BACKOFF_FORGOTTEN 120
/* A lower rate saves no more memory than this. */
#define MEMORY_LEVELS	  3
/* Below the limit by so much of all CPUs before sampling goes on. */
#define LOAD_GAP	  0.05
/* Of one CPU: with what the agent itself takes no half second is above 5 %. */
#define READER_MOST	  0.02
/* Of the budget: names come late rather than never. */
#define READER_LEAST	  0.1

struct budget_state budget_begin(u32 wanted_hz)
{
	return (struct budget_state){.wanted_hz = wanted_hz ? wanted_hz : 1,
				     .debt = -BUDGET_SAVED_S,
				     .credit = CREDIT_MOST,
				     .memory_pause = BACKOFF_FIRST};
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

double budget_interval(const struct budget_state *s)
{
	return s->probing ? 0.25 : 1;
}

static double at_most(double value, double most)
{
	return value < most ? value : most;
}

/* What was measured before says nothing about what comes now. */
static void changed(struct budget_state *s)
{
	s->since = 0;
	s->mean = 0;
}

static void lower(struct budget_state *s, enum budget_reason reason, unsigned steps)
{
	while (steps-- && budget_rate(s) > 1)
		s->level++;
	s->reason = reason;
	changed(s);
}

/* Pausing shows nothing of the busiest times, so one busy measurement is not enough for it. */
static void watch_load(struct budget_state *s, const struct budget_limits *l,
		       const struct budget_measure *m)
{
	bool turn = s->paused ? m->host_share < l->host_share - LOAD_GAP
			      : m->host_share > l->host_share;

	if (l->host_share <= 0)
		return;
	s->loaded = turn ? s->loaded + m->seconds : 0;
	if (s->loaded < LOADED_S)
		return;
	s->loaded = 0;
	s->paused = !s->paused;
	s->reason = s->paused ? BUDGET_LOAD : s->level ? BUDGET_CPU : BUDGET_NONE;
}

static void lower_for_memory(struct budget_state *s)
{
	if (s->memory_level == MEMORY_LEVELS || budget_rate(s) == 1)
		return;
	s->memory_level++;
	lower(s, BUDGET_MEMORY, 1);
}

/* What can be made again goes first; only when that was not enough the rate. */
static bool watch_memory(struct budget_state *s, const struct budget_limits *l,
			 const struct budget_measure *m)
{
	if (!l->memory_bytes || m->memory_bytes <= l->memory_bytes) {
		s->trimmed = false;
		return false;
	}
	if (!s->trimmed) {
		/* Once: what is given back and made again every time costs more than it saves. */
		s->trim = s->trimmed = true;
		s->since = 0;
	} else if (s->since >= CALM_S) {
		lower_for_memory(s);
	}
	return true;
}

/* As a part of the budget: what the rate and off-CPU samples can change. */
static double sampling_cost(const struct budget_limits *l, const struct budget_measure *m)
{
	double readers = at_most(m->reader_share, m->cpu_share);

	return (m->cpu_share - readers + at_most(readers, READER_LEAST * l->cpu_share)) /
	       l->cpu_share;
}

/* Waits are counted as a part of all that was used; readers are no matter of them. */
static bool waits_cost_most(const struct budget_measure *m)
{
	return m->wait_part * m->cpu_share > (m->cpu_share - m->reader_share) / 2;
}

/* What costs most gives way. */
static void save_cpu(struct budget_state *s, const struct budget_measure *m, unsigned steps)
{
	s->debt = 0;
	if (!waits_cost_most(m)) {
		lower(s, BUDGET_CPU, steps);
		return;
	}
	s->wait_level += steps;
	if (s->probing || s->wait_level >= BUDGET_WAITS_OFF) {
		s->wait_level = BUDGET_WAITS_OFF;
		s->backoff =
			s->backoff > 0 ? at_most(2 * s->backoff, BUDGET_BACKOFF_S) : BACKOFF_FIRST;
	}
	s->probing = false;
	changed(s);
}

static bool watch_cpu(struct budget_state *s, const struct budget_limits *l,
		      const struct budget_measure *m)
{
	double ratio;

	if (l->cpu_share <= 0)
		return false;
	s->credit =
		at_most(s->credit + (1 - m->cpu_share / l->cpu_share) * m->seconds, CREDIT_MOST);
	if (s->credit < -OWED_MOST)
		s->credit = -OWED_MOST;
	ratio = sampling_cost(l, m);
	s->debt = at_most(s->debt + (ratio - 1) * m->seconds, OWED_MOST);
	if (s->debt < -BUDGET_SAVED_S)
		s->debt = -BUDGET_SAVED_S;
	/* Of the seconds since a change, until there are enough of them. */
	s->mean += (ratio - s->mean) * at_most(m->seconds / at_most(s->since, MEAN_S), 1);
	if (ratio <= 1 || s->debt <= 0)
		return false;
	save_cpu(s, m, ratio > 4 ? 3 : ratio > 2 ? 2 : 1);
	return true;
}

static void return_rate(struct budget_state *s, const struct budget_limits *l)
{
	struct budget_state next = *s;
	double growth;

	/* Twice, or more where the halves were rounded down: 3 follows on 1. */
	next.level--;
	growth = (double)budget_rate(&next) / budget_rate(s);
	if (s->since < CALM_S || (l->cpu_share > 0 && growth * s->mean > ROOM))
		return;
	if (s->memory_level && s->since < s->memory_pause)
		return;
	if (s->memory_level) {
		s->memory_level--;
		s->memory_pause = at_most(2 * s->memory_pause, BUDGET_BACKOFF_S);
	}
	s->level--;
	if (!s->level)
		s->reason = BUDGET_NONE;
	changed(s);
}

/* At most all that off-CPU samples cost doubles. What those cost that are left out nobody knows:
 * they are tried. */
static void return_waits(struct budget_state *s, const struct budget_limits *l,
			 const struct budget_measure *m)
{
	bool off = s->wait_level == BUDGET_WAITS_OFF;

	if (off ? s->since < s->backoff || s->mean > 1
		: s->since < CALM_S || (l->cpu_share > 0 && s->mean * (1 + m->wait_part) > ROOM))
		return;
	s->wait_level--;
	s->probing = off;
	if (off)
		s->debt = -PROBE_SAVED_S;
	changed(s);
}

/* What was tried has proved to fit; what was in the way long ago is forgotten. */
static void forget(struct budget_state *s)
{
	if (s->since >= CALM_S)
		s->probing = false;
	if (s->since < BACKOFF_FORGOTTEN)
		return;
	if (s->wait_level < BUDGET_WAITS_OFF)
		s->backoff = 0;
	if (!s->memory_level)
		s->memory_pause = BACKOFF_FIRST;
}

struct budget_state budget_step(struct budget_state s, const struct budget_limits *limits,
				const struct budget_measure *m)
{
	bool over;

	s.trim = false;
	if (m->seconds <= 0)
		return s;
	watch_load(&s, limits, m);
	/* While it pauses, what it costs says nothing about what the rate would cost. */
	if (s.paused)
		return s;
	s.since += m->seconds;
	over = watch_cpu(&s, limits, m);
	over |= watch_memory(&s, limits, m);
	if (!over && s.level)
		return_rate(&s, limits);
	else if (!over && s.wait_level)
		return_waits(&s, limits, m);
	forget(&s);
	return s;
}

double budget_reader_pace(const struct budget_state *s, const struct budget_limits *limits,
			  long processors)
{
	double budget = limits->cpu_share * (double)processors, left;

	if (budget <= 0)
		return 0;
	left = budget * (1 - s->mean);
	if (s->credit > 0)
		left = READER_MOST;
	if (left < READER_LEAST * budget)
		left = READER_LEAST * budget;
	return at_most(left, READER_MOST);
}
