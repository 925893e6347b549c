#include "sdk/lock_sampler.h"

#include <errno.h>

#include "base/clock.h"
#include "sdk/cpu_sampler.h"
#include "sdk/own_threads.h"
#include "sdk/poisson.h"
#include "sdk/stack_walk.h"
#include "unwind/arch_x86_64.h"

/* A sample costs 2 us here and 2 us in the background thread: at most 2 % of a CPU. */
#define SAMPLES_A_SECOND 4000
#define INTERVAL_MOST	 NS_PER_S

atomic_bool lock_timed;

static struct {
	_Atomic(u64) interval; /* nanoseconds; 0 = off */
	u64 least;
	u32 depth;
	atomic_uint taken; /* since the last turn */
} all;

/* Intervals of waiting until the next sample of this thread. */
static __thread double left __attribute__((tls_model("initial-exec")));
static __thread u64 random_state __attribute__((tls_model("initial-exec")));

static double draw(void)
{
	return poisson_distance(poisson_uniform(&random_state), 1);
}

struct wait {
	u8 kind;
	bool asks; /* a wait changes its behaviour once it is certain to be sampled */
	const volatile void *lock;
	s64 ns;
	u32 question;
	double crossed; /* nanoseconds after which that was */
};

/*
 * A normal wait is weighted by the inverse probability of its length. For a wait with a request to
 * the holder that would be biased, because the request makes it longer, and trying again makes it
 * shorter. Its part before the request counts for an interval on average, and the rest as measured:
 * this is unbiased in any case.
 */
static void weigh(const struct wait *w, u64 interval, double *ret_count, double *ret_sum)
{
	if (!w->asks) {
		poisson_weights((u64)w->ns, interval, ret_count, ret_sum);
		return;
	}
	*ret_sum = (double)interval + (double)w->ns - w->crossed;
	*ret_count = *ret_sum / (double)w->ns;
}

/* The same wait once more, by the stack of who held the lock. */
static void take_holder(const struct taken_sample *wait, u32 question)
{
	struct taken_sample *s = sample_claim(SAMPLE_HELD);

	if (!s)
		sample_lost();
	if (!holder_take(question, s)) {
		if (s)
			sample_abandon(s);
		return;
	}
	s->count = wait->count;
	s->value = wait->value;
	s->object = wait->object;
	s->context = wait->context;
	sample_publish(s);
}

static void take_sample(const struct wait *w, u64 interval, const struct alloc_caller *caller)
{
	struct taken_sample *s = sample_claim(w->kind);
	const struct own_thread *t = threads_known();
	u64 registers[17] = {0};
	double count, sum;

	atomic_fetch_add_explicit(&all.taken, 1, memory_order_relaxed);
	if (!s) {
		sample_lost();
		return;
	}
	weigh(w, interval, &count, &sum);
	s->count = poisson_round(&random_state, count);
	s->value = poisson_round(&random_state, sum);
	s->object = (u64)(uintptr_t)w->lock;
	if (t && t->stable)
		s->context = t->context;
	registers[ARCH_DWARF_RA] = caller->return_address;
	registers[ARCH_DWARF_RSP] = caller->stack;
	registers[ARCH_DWARF_RBP] = caller->frame;
	(void)stack_walk(s, registers, true, all.depth);
	if (w->question)
		take_holder(s, w->question);
	sample_publish(s);
	/* A child of fork() without a background thread now needs one. */
	cpu_notify();
}

static void begin_thread(void)
{
	if (random_state)
		return;
	random_state = poisson_seed(&random_state);
	left = draw();
}

s64 lock_sample_after(void)
{
	u64 interval = atomic_load_explicit(&all.interval, memory_order_relaxed);

	if (!interval || alloc_ignored)
		return 0;
	begin_thread();
	return (s64)(left * (double)interval) + 1;
}

static void waited(struct wait *w, const struct alloc_caller *caller)
{
	u64 interval = atomic_load_explicit(&all.interval, memory_order_relaxed);
	int saved = errno;

	if (!interval || alloc_ignored || w->ns <= 0)
		return;
	begin_thread();
	w->crossed = left * (double)interval;
	left -= (double)w->ns / (double)interval;
	if (left > 0)
		return;
	left = draw();
	alloc_ignored = true;
	take_sample(w, interval, caller);
	alloc_ignored = false;
	errno = saved;
}

void lock_waited(u8 kind, const volatile void *lock, s64 ns, const struct alloc_caller *caller)
{
	struct wait w = {.kind = kind, .lock = lock, .ns = ns};

	waited(&w, caller);
}

void lock_waited_for(const volatile void *lock, s64 ns, const struct alloc_caller *caller,
		     u32 question)
{
	struct wait w = {
		.kind = SAMPLE_LOCK, .lock = lock, .ns = ns, .asks = true, .question = question};

	waited(&w, caller);
	/* The answer was not used: drop it. */
	if (question)
		(void)holder_take(question, NULL);
}

void lock_turn(s64 turn_ns)
{
	u64 interval = atomic_load_explicit(&all.interval, memory_order_relaxed);
	u64 taken = atomic_exchange_explicit(&all.taken, 0, memory_order_relaxed);
	u64 most = SAMPLES_A_SECOND * (u64)turn_ns / NS_PER_S + 1;

	if (taken > most && interval && interval < INTERVAL_MOST)
		interval *= 2;
	else if (taken < most / 4 && interval / 2 >= all.least)
		interval /= 2;
	else
		return;
	atomic_store_explicit(&all.interval, interval, memory_order_relaxed);
}

u64 lock_interval(void)
{
	return atomic_load_explicit(&all.interval, memory_order_relaxed);
}

void lock_start(u64 interval_ns, u32 depth)
{
	all.depth = depth;
	all.least = interval_ns;
	atomic_store(&all.interval, interval_ns);
	atomic_store(&lock_timed, true);
}

void lock_stop(void)
{
	atomic_store(&lock_timed, false);
	atomic_store(&all.interval, 0);
}
