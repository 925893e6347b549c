#include "agent/budget.h"

/* Seconds without a change before the rate is doubled or more off-CPU samples are kept. */
#define CALM_S		  3
/* Of the budget: off-CPU samples that cost less than this are not what exceeds it. */
#define WAITS_LITTLE	  0.05
/* Consecutive seconds of load before sampling pauses or resumes. */
#define LOADED_S	  4
/* Quick recovery requires this much spare budget. */
#define ROOM		  0.8
/* Of the budget: off-CPU samples, or a rate, that cost less than this are not what costs too much. */
#define WAITS_LEAST	  0.1
#define RATE_LEAST	  0.25
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
/* Sampling resumes when the load is below the limit by this share of all CPUs. */
#define LOAD_GAP	  0.05
/* Of one CPU: with what the agent itself takes no half second is above 5 %. */
#define READER_MOST	  0.018
/* The same for readers and the agent's own threads together. */
#define PEAK_MOST	  0.045
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

/* Earlier measurements do not apply any more. */
static void changed(struct budget_state *s)
{
	s->since = 0;
	s->mean = s->rate_mean = 0;
}

/* Whether there is room for so much more. */
static bool has_room(const struct budget_state *s, const struct budget_limits *l, double more)
{
	double most = s->since < BUDGET_BACKOFF_S ? ROOM : 1;

	return s->since >= CALM_S && (l->cpu_share <= 0 || s->mean + more <= most);
}

static enum budget_reason reason_of_rate(const struct budget_state *s)
{
	if (!s->level)
		return BUDGET_NONE;
	return s->level == s->memory_level ? BUDGET_MEMORY : BUDGET_CPU;
}

static void lower(struct budget_state *s, enum budget_reason reason, unsigned steps)
{
	while (steps-- && budget_rate(s) > 1)
		s->level++;
	s->reason = reason;
	changed(s);
}

static double in_a_row(double before, bool holds, double seconds)
{
	return holds ? before + seconds : 0;
}

/* Pausing shows nothing of the busiest times, so one busy measurement is not enough for it. */
static void watch_load(struct budget_state *s, const struct budget_limits *l,
		       const struct budget_measure *m)
{
	bool turn = s->paused ? m->host_share < l->host_share - LOAD_GAP
			      : m->host_share > l->host_share;

	if (l->host_share <= 0)
		return;
	s->loaded = in_a_row(s->loaded, turn, m->seconds);
	s->bearable =
		in_a_row(s->bearable, s->paused && m->host_share <= l->host_share, m->seconds);
	if (s->loaded < LOADED_S && s->bearable < BUDGET_BACKOFF_S)
		return;
	s->loaded = s->bearable = 0;
	s->paused = !s->paused;
	s->reason = s->paused ? BUDGET_LOAD : reason_of_rate(s);
}

static void lower_for_memory(struct budget_state *s)
{
	if (s->memory_level == MEMORY_LEVELS || budget_rate(s) == 1)
		return;
	s->memory_level++;
	s->memory_since = 0;
	lower(s, BUDGET_MEMORY, 1);
}

/* Drop caches first; lower the rate only if that was not enough. */
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
		s->untrimmed = 0;
		return true;
	}
	s->untrimmed += m->seconds;
	if (s->untrimmed >= CALM_S && s->memory_since >= CALM_S)
		lower_for_memory(s);
	return true;
}

/* As a part of the budget: what the rate and off-CPU samples can change. */
static double sampling_cost(const struct budget_limits *l, const struct budget_measure *m)
{
	double readers = at_most(m->reader_share, m->cpu_share);

	return (m->cpu_share - readers + at_most(readers, READER_LEAST * l->cpu_share)) /
	       l->cpu_share;
}

/* The trial failed, or samples are reduced: the next trial is later. */
static void keep_fewer_waits(struct budget_state *s, unsigned steps)
{
	s->wait_level = s->probing ? s->probed_from : s->wait_level + steps;
	if (s->wait_level >= BUDGET_WAITS_OFF) {
		s->wait_level = BUDGET_WAITS_OFF;
		s->backoff =
			s->backoff > 0 ? at_most(2 * s->backoff, BUDGET_BACKOFF_S) : BACKOFF_FIRST;
	}
	s->probing = false;
	changed(s);
}

/* Reduce what costs most, if that helps. */
static void save_cpu(struct budget_state *s, const struct budget_limits *l,
		     const struct budget_measure *m, unsigned steps)
{
	double waits = m->wait_part * m->cpu_share / l->cpu_share;
	double rate = m->rate_part * m->cpu_share / l->cpu_share;

	s->debt = 0;
	if (s->probing || (waits > rate && waits > WAITS_LEAST))
		keep_fewer_waits(s, steps);
	else if (rate > RATE_LEAST)
		lower(s, BUDGET_CPU, steps);
}

static bool watch_cpu(struct budget_state *s, const struct budget_limits *l,
		      const struct budget_measure *m)
{
	double ratio, part;

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
	part = at_most(m->seconds / at_most(s->since, MEAN_S), 1);
	s->mean += (ratio - s->mean) * part;
	s->rate_mean += (m->rate_part * m->cpu_share / l->cpu_share - s->rate_mean) * part;
	if (ratio <= 1 || s->debt <= 0)
		return false;
	save_cpu(s, l, m, ratio > 4 ? 3 : ratio > 2 ? 2 : 1);
	return true;
}

/* A rate lowered for CPU time is raised again before one lowered for memory. */
static bool return_rate(struct budget_state *s, const struct budget_limits *l, bool no_memory)
{
	bool memory = s->level == s->memory_level;
	struct budget_state next = *s;
	double growth;

	if (!s->level || (memory && (no_memory || s->memory_since < s->memory_pause)))
		return false;
	/* Twice, or more where the halves were rounded down: 3 follows on 1. */
	next.level--;
	growth = (double)budget_rate(&next) / budget_rate(s);
	if (!has_room(s, l, (growth - 1) * s->rate_mean))
		return false;
	if (memory) {
		s->memory_level--;
		s->memory_since = 0;
		s->memory_pause = at_most(2 * s->memory_pause, BUDGET_BACKOFF_S);
	}
	s->level--;
	s->reason = reason_of_rate(s);
	changed(s);
	return true;
}

/* The cost of off-CPU samples at most doubles. Most of it may be a cost per switch that is the same
 * at every level, so eventually a lower level is tried even if it does not seem to fit. */
static void return_waits(struct budget_state *s, const struct budget_limits *l,
			 const struct budget_measure *m)
{
	bool off = s->wait_level == BUDGET_WAITS_OFF;
	bool fits = !off && has_room(s, l, s->mean * m->wait_part);

	if (!fits && (s->since < (off ? s->backoff : BUDGET_BACKOFF_S) || s->mean > 1))
		return;
	s->probing = !fits;
	s->probed_from = s->wait_level--;
	if (s->probing)
		s->debt = -PROBE_SAVED_S;
	changed(s);
}

/* The trial succeeded; old failures are ignored. */
static void forget(struct budget_state *s)
{
	if (s->since >= CALM_S)
		s->probing = false;
	if (s->since >= BACKOFF_FORGOTTEN && s->wait_level < BUDGET_WAITS_OFF)
		s->backoff = 0;
	if (s->memory_since >= BACKOFF_FORGOTTEN && !s->memory_level)
		s->memory_pause = BACKOFF_FIRST;
}

/* Whether twice the off-CPU samples would not matter, even if something else is over budget. */
static bool waits_cost_nothing(const struct budget_state *s, const struct budget_measure *m)
{
	return s->wait_level && s->wait_level < BUDGET_WAITS_OFF && !s->probing &&
	       s->since >= CALM_S && s->mean > 1 && s->mean * m->wait_part <= WAITS_LITTLE;
}

static void raise_waits(struct budget_state *s)
{
	s->wait_level--;
	changed(s);
}

struct budget_state budget_step(struct budget_state s, const struct budget_limits *limits,
				const struct budget_measure *m)
{
	bool over, no_memory;

	s.trim = false;
	if (m->seconds <= 0)
		return s;
	watch_load(&s, limits, m);
	/* While it pauses, what it costs says nothing about what the rate would cost. */
	if (s.paused)
		return s;
	s.since += m->seconds;
	s.memory_since += m->seconds;
	over = watch_cpu(&s, limits, m);
	no_memory = watch_memory(&s, limits, m);
	if (waits_cost_nothing(&s, m))
		raise_waits(&s);
	else if (!over && !s.probing && !return_rate(&s, limits, no_memory) && s.wait_level)
		return_waits(&s, limits, m);
	forget(&s);
	return s;
}

double budget_reader_pace(const struct budget_state *s, const struct budget_limits *limits,
			  long processors, double own)
{
	double budget = limits->cpu_share * (double)processors, left;

	if (budget <= 0)
		return 0;
	left = budget * (1 - s->mean);
	if (s->credit > 0)
		left = READER_MOST;
	left = at_most(left, PEAK_MOST - own);
	return left < READER_LEAST * budget ? at_most(READER_LEAST * budget, READER_MOST) : left;
}
