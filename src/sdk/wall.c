#include "sdk/wall.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/hash.h"
#include "sdk/own_threads.h"
#include "sdk/sleeper.h"

/* 20 rounds per second with 16 threads of 25 us each take 0.8 % of a CPU. */
#define LOOKS_A_ROUND	16
#define SEEN_A_ROUND	1024
#define LOOKS_AT_END	2048
/* Less than this is not worth a sample of its own. */
#define SETTLE_LEAST_NS 100000

const char *const thread_state_names[THREAD_STATES] = {"", "running", "runnable", "sleep"};

static atomic_bool settles;

void wall_init(struct wall *w, struct tally *t, u32 depth, bool timed)
{
	*w = (struct wall){
		.tally = t, .depth = depth, .timed = timed, .random = (u64)clock_monotonic_ns()};
}

void wall_release(struct wall *w)
{
	vec_release(&w->threads);
}

void wall_forget(struct wall *w, bool stacks)
{
	w->counted_ns = 0;
	for (size_t i = 0; stacks && i < w->threads.n; i++) {
		w->threads.v[i].found = false;
		w->threads.v[i].cpu_stack = 0;
	}
}

s64 wall_pause(struct wall *w)
{
	w->random = hash_mix(w->random, 1);
	return WALL_ROUND_NS / 2 + (s64)(w->random % WALL_ROUND_NS);
}

void wall_note(struct wall *w, u32 thread, u32 stack)
{
	if (thread && thread <= w->threads.n)
		w->threads.v[thread - 1].cpu_stack = stack + 1;
}

/* ------------------------------------------------------------------ rows */

static void add(struct wall *w, u8 kind, u32 stack, const struct span_context *c,
		enum thread_state state, s64 value)
{
	u32 context;

	if (w->silent)
		return;
	if (tally_context(w->tally, c, &context))
		w->tally->lost++;
	else
		tally_add_about(w->tally, kind, stack, context, state, 1, value);
}

/* An unknown stack: the thread's start function, if known. */
static bool unseen_stack(struct wall *w, const struct own_thread *t, u8 how, u32 *ret)
{
	struct taken_sample s = {.kind = SAMPLE_WALL, .settled = how};

	if (t->start)
		s.frames[s.frame_count++] = (u64)(uintptr_t)t->start;
	return w->number(w->context, &s, ret) == ERR_OK;
}

static void add_waited(struct wall *w, const struct own_thread *t, s64 ns)
{
	struct span_context none = {0};
	u32 stack;

	if (ns > 0 && unseen_stack(w, t, SETTLED_WAITED, &stack))
		add(w, SAMPLE_WALL, stack, &none, THREAD_RUNNABLE, ns);
}

/* ------------------------------------------------------------------ one thread */

/* Records its stack. False if it is running or the stack is not available. */
static bool find(struct wall *w, struct wall_thread *t)
{
	static struct taken_sample s;
	static struct sleeper sleeper;

	t->found = false;
	if (sleeper_look(w->loaded, t->tid, w->depth, &sleeper) != SLEEPER_SLEEPS)
		return false;
	s.kind = SAMPLE_WALL;
	s.frame_count = sleeper.count;
	memcpy(s.frames, sleeper.frames, sleeper.count * sizeof(*s.frames));
	if (w->number(w->context, &s, &t->stack))
		return false;
	t->found = true;
	t->cpu_ns = sleeper.cpu_ns;
	return true;
}

/* Accounts for its time since the last round. `cpu` is its current CPU time. */
static void tell(struct wall *w, struct wall_thread *t, struct own_thread *record, s64 cpu)
{
	s64 now = clock_monotonic_ns(), delay = t->seen_delay_ns, off, waited;
	struct span_context context = {0};

	if (cpu != t->seen_cpu_ns || !t->seen_ns)
		delay = sleeper_delay_ns(t->tid);
	if (t->seen_ns) {
		off = now - t->seen_ns - (cpu - t->seen_cpu_ns);
		waited = delay > t->seen_delay_ns ? delay - t->seen_delay_ns : 0;
		add_waited(w, record, waited);
		/* The kernel reports a wait for a CPU only after its end: until then it looks like
		 * sleep.
		 */
		t->pending_ns += off - waited;
		atomic_fetch_add(&record->wall_ns, waited);
	}
	t->seen_ns = now;
	t->seen_cpu_ns = cpu;
	t->seen_delay_ns = delay;
	if (!t->found || t->pending_ns <= 0)
		return;
	/* It does not change it: it sleeps. */
	if (record->stable)
		context = record->context;
	add(w, SAMPLE_WALL, t->stack, &context, THREAD_SLEEPING, t->pending_ns);
	atomic_fetch_add(&record->wall_ns, t->pending_ns);
	t->pending_ns = 0;
}

/* Says whether a closer look was needed. */
static bool look_at(struct wall *w, struct wall_thread *t, u32 number)
{
	s64 cpu = sleeper_cpu_ns(t->tid);
	bool closer = !t->found || cpu != t->cpu_ns;

	if (cpu < 0) {
		t->tid = 0;
		return false;
	}
	if (closer && find(w, t))
		cpu = t->cpu_ns;
	if (w->timed && !threads_record(number)->settled)
		tell(w, t, threads_record(number), cpu);
	return closer;
}

/* The record may be another thread's by now. */
static struct wall_thread *thread_at(struct wall *w, u32 number)
{
	struct wall_thread *t;
	int tid = threads_tid(number);

	while (w->threads.n <= number)
		if (vec_push(&w->threads, (struct wall_thread){0}))
			return NULL;
	t = &w->threads.v[number];
	if (t->tid != tid)
		*t = (struct wall_thread){.tid = tid};
	return tid ? t : NULL;
}

void wall_round(struct wall *w, bool all)
{
	u32 used = threads_used(), looks = 0, seen = 0, i;
	u32 most = all ? LOOKS_AT_END : LOOKS_A_ROUND;

	for (i = 0; i < used && looks < most && (all || seen < SEEN_A_ROUND); i++) {
		u32 number = (w->next + i) % used;
		struct wall_thread *t = thread_at(w, number);

		if (!t)
			continue;
		seen++;
		looks += look_at(w, t, number);
	}
	w->next = used ? (w->next + i) % used : 0;
}

/* ------------------------------------------------------------------ counting */

static void count_one(struct wall *w, struct wall_thread *t, const struct own_thread *record)
{
	struct span_context none = {0};
	enum thread_state state = THREAD_SLEEPING;
	u32 stack = t->stack;

	if (!t->found) {
		state = THREAD_RUNNING;
		stack = t->cpu_stack - 1;
		if (!t->cpu_stack && !unseen_stack(w, record, SETTLED, &stack))
			return;
	}
	add(w, SAMPLE_THREADS, stack, &none, state, 1);
}

void wall_count(struct wall *w)
{
	u32 used = threads_used();

	vec_for_each (row, &w->tally->rows)
		if (row->kind == SAMPLE_THREADS)
			row->count = row->value = 0;
	for (u32 i = 0; i < used; i++) {
		struct wall_thread *t = thread_at(w, i);

		if (!t)
			continue;
		look_at(w, t, i);
		if (t->tid)
			count_one(w, t, threads_record(i));
	}
	w->counted_ns = clock_monotonic_ns();
}

/* ------------------------------------------------------------------ the end of a thread */

void wall_settles(bool on)
{
	atomic_store(&settles, on);
}

void wall_settle(struct own_thread *t)
{
	struct taken_sample *s;
	s64 rest;

	if (!atomic_load(&settles) || !t->born_ns)
		return;
	t->settled = true;
	rest = clock_monotonic_ns() - t->born_ns - (thread_cpu_ns() - t->born_cpu_ns) -
	       atomic_load(&t->wall_ns);
	if (rest < SETTLE_LEAST_NS)
		return;
	s = sample_claim(SAMPLE_WALL);
	if (!s) {
		sample_lost();
		return;
	}
	s->settled = SETTLED;
	s->thread_state = THREAD_SLEEPING;
	s->count = 1;
	s->value = rest;
	if (t->start)
		s->frames[s->frame_count++] = (u64)(uintptr_t)t->start;
	sample_publish(s);
}
