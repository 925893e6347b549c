#include "sdk/alloc_sampler.h"

#include <stdatomic.h>
#include <time.h>

#include "sdk/live_objects.h"
#include "sdk/own_threads.h"
#include "sdk/poisson.h"
#include "sdk/quiet_calls.h"
#include "sdk/stack_walk.h"
#include "unwind/arch_x86_64.h"

__thread s64 alloc_left __attribute__((tls_model("initial-exec")));
__thread bool alloc_ignored __attribute__((tls_model("initial-exec")));
static __thread u64 random_state __attribute__((tls_model("initial-exec")));
/* Remaining bytes when the countdown was interrupted; 0 = not interrupted. */
static __thread s64 interrupted __attribute__((tls_model("initial-exec")));

/* If sampling is off, a thread checks again after this many bytes. */
#define ASK_AGAIN ((s64)1 << 20)

static struct {
	_Atomic(u64) interval; /* 0 = off */
	u32 depth;
	bool heap;
	bool decided; /* permanently on or off: threads need not check again */
	void (*helper)(void);
	void (*hurry)(void);
} all;

/* ------------------------------------------------------------------ samples */

static s64 draw(u64 interval)
{
	return interval == 1
		       ? 1
		       : (s64)poisson_distance(poisson_uniform(&random_state), (double)interval) +
				 1;
}

/* Moments that an allocation waits at most for the background. */
#define WAITS 100

static void wait_a_moment(void)
{
	struct timespec moment = {0, 200000};

	all.hurry();
	quiet_sleep(&moment);
}

/* If every allocation is sampled, slots fill up faster than the background thread wakes: wait up to
 * 20 ms for it, but not longer, because the caller may hold locks. */
static struct taken_sample *claim(void)
{
	struct taken_sample *s = sample_claim(SAMPLE_ALLOC);

	for (int i = 0; !s && all.hurry && i < WAITS; i++) {
		wait_a_moment();
		s = sample_claim(SAMPLE_ALLOC);
	}
	if (!s)
		sample_lost();
	return s;
}

static void take_sample(void *object, u64 size, u64 interval, const struct alloc_caller *caller)
{
	struct taken_sample *s = claim();
	const struct own_thread *t = threads_known();
	u64 registers[17] = {0};
	double objects, bytes;

	if (!s)
		return;
	/* One byte is what an empty object takes part with. */
	poisson_weights(size ? size : 1, interval, &objects, &bytes);
	s->count = poisson_round(&random_state, objects);
	s->value = size ? poisson_round(&random_state, bytes) : 0;
	if (t && t->stable)
		s->context = t->context;
	registers[ARCH_DWARF_RA] = caller->return_address;
	registers[ARCH_DWARF_RSP] = caller->stack;
	registers[ARCH_DWARF_RBP] = caller->frame;
	for (int i = 0; !stack_walk(s, registers, true, all.depth) && all.hurry && i < WAITS; i++)
		wait_a_moment();
	if (all.heap) {
		s->object = (u64)(uintptr_t)object;
		s->serial = live_add(s->object, s->count, s->value);
	}
	sample_publish(s);
}

/* The first allocation of a thread: its countdown has not begun. */
static bool begin_thread(u64 size, u64 interval)
{
	random_state = poisson_seed(&random_state);
	alloc_left = draw(interval) - (s64)size;
	return alloc_left > 0;
}

/* A deferred call was requested; the countdown continues where it was. */
static void call_helper(void)
{
	bool before = alloc_ignored;

	alloc_left += interrupted;
	interrupted = 0;
	if (!all.helper || before)
		return;
	alloc_ignored = true;
	all.helper();
	alloc_ignored = before;
}

void alloc_reached(void *object, u64 size, const struct alloc_caller *caller)
{
	u64 interval;

	if (interrupted)
		call_helper();
	if (alloc_left > 0)
		return;
	interval = atomic_load_explicit(&all.interval, memory_order_relaxed);
	if (!interval) {
		/* Before the decision nothing is known: threads ask again. */
		alloc_left = all.decided ? ASK_AGAIN : 0;
		/* That this countdown ended is no reason for a sample: the next one is drawn. */
		random_state = 0;
		return;
	}
	if (!random_state && begin_thread(size, interval))
		return;
	alloc_left = draw(interval);
	if (alloc_ignored || !object)
		return;
	alloc_ignored = true;
	take_sample(object, size, interval, caller);
	alloc_ignored = false;
}

void alloc_interrupt(void)
{
	if (alloc_left <= 0)
		return;
	interrupted = alloc_left;
	alloc_left = 0;
}

void alloc_set_helper(void (*helper)(void))
{
	all.helper = helper;
}

void alloc_set_hurry(void (*hurry)(void))
{
	all.hurry = hurry;
}

bool alloc_start(u64 interval, u32 depth, bool heap)
{
	if (heap && !live_open())
		return false;
	all.depth = depth;
	all.heap = heap;
	all.interval = interval;
	all.decided = true;
	alloc_left = 0;
	random_state = 0;
	return true;
}

void alloc_stop(void)
{
	all.interval = 0;
	all.decided = true;
}

void alloc_after_fork(void)
{
	interrupted = 0;
	alloc_ignored = false;
	live_forget();
}
