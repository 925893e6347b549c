#include "sdk/lock_holder.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "sdk/own_threads.h"
#include "sdk/sleeper.h"
#include "sdk/stack_walk.h"

#define QUESTIONS    16u
/* A request is identified by its slot and the number of earlier requests in that slot. */
#define SERIAL_SHIFT 8
#define WAKE_NS	     (10 * NS_PER_MS)

enum { FREE, BEING_ASKED, ASKED, BEING_WALKED, WALKED, LEFT };

struct question {
	atomic_int state;
	atomic_uint serial;
	_Atomic(int) tid;
	_Atomic(bool) sleeps; /* it is the background's */
	_Atomic(u64) owner;   /* the word of the lock that says who */
	struct taken_sample answer;
};

static struct {
	struct question questions[QUESTIONS];
	int signal_number;
	u32 depth;
	void (*wake)(void);
	_Atomic(s64) woken_ns;
} all;

/* ------------------------------------------------------------------ who asks */

static struct question *claim(void)
{
	for (u32 i = 0; i < QUESTIONS; i++) {
		int expected = FREE;

		if (atomic_compare_exchange_strong(&all.questions[i].state, &expected, BEING_ASKED))
			return &all.questions[i];
	}
	return NULL;
}

static u32 number_of(const struct question *q)
{
	return atomic_load(&q->serial) << SERIAL_SHIFT | ((u32)(q - all.questions) + 1);
}

/* NULL when the place has another one by now. */
static struct question *question_of(u32 number)
{
	u32 at = (number & ((1u << SERIAL_SHIFT) - 1)) - 1;

	return at < QUESTIONS && number_of(&all.questions[at]) == number ? &all.questions[at]
									 : NULL;
}

/* One signal at a time: where a thread blocks them they would pile up. */
static bool send_signal(struct own_thread *t, int tid, u32 number)
{
	siginfo_t info;

	if (!all.signal_number || atomic_exchange(&t->asked, true))
		return false;
	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	info.si_value.sival_ptr = (void *)(uintptr_t)number;
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, all.signal_number, &info) == 0)
		return true;
	t->asked = false;
	return false;
}

/* A turn of the background costs more than a sample: one that sleeps for less is missed. */
static void wake_at_times(void)
{
	s64 now = clock_monotonic_ns(), last = atomic_load(&all.woken_ns);

	if (now - last >= WAKE_NS && atomic_compare_exchange_strong(&all.woken_ns, &last, now))
		all.wake();
}

static bool put(struct question *q, int tid)
{
	struct own_thread *t = threads_find(tid);
	enum sleeper_state state = t ? sleeper_is(tid) : SLEEPER_GONE;

	q->sleeps = state == SLEEPER_SLEEPS;
	atomic_store(&q->state, ASKED);
	if (state == SLEEPER_RUNS)
		return send_signal(t, tid, number_of(q));
	if (state == SLEEPER_SLEEPS)
		wake_at_times();
	return state == SLEEPER_SLEEPS;
}

u32 holder_ask(const volatile int *owner)
{
	int saved = errno, tid = *owner;
	struct question *q;
	u32 number = 0;

	if (tid <= 0 || !all.wake || tid == (int)syscall(SYS_gettid) || !(q = claim()))
		return 0;
	atomic_fetch_add(&q->serial, 1);
	q->tid = tid;
	q->owner = (u64)(uintptr_t)owner;
	if (put(q, tid))
		number = number_of(q);
	else
		atomic_store(&q->state, FREE);
	errno = saved;
	return number;
}

static void copy_answer(const struct taken_sample *from, struct taken_sample *to)
{
	to->end = from->end;
	to->from_call = from->from_call;
	to->frame_count = from->frame_count;
	to->raw = from->raw;
	memcpy(to->frames, from->frames, from->frame_count * sizeof(*from->frames));
}

bool holder_take(u32 number, struct taken_sample *s)
{
	struct question *q = question_of(number);
	int state = q ? atomic_load(&q->state) : FREE;
	bool answered = false;

	while (state == ASKED || state == BEING_WALKED)
		if (atomic_compare_exchange_weak(&q->state, &state, state == ASKED ? FREE : LEFT))
			return false;
	if (state != WALKED)
		return false;
	answered = s && q->answer.frame_count;
	if (answered)
		copy_answer(&q->answer, s);
	else
		raw_stack_free(q->answer.raw);
	atomic_store(&q->state, FREE);
	return answered;
}

/* ------------------------------------------------------------------ who answers */

/* By the kernel: the lock may be gone with its memory. */
static bool still_holds(const struct question *q)
{
	int now = 0;
	struct iovec here = {&now, sizeof(now)}, there = {(void *)(uintptr_t)q->owner, sizeof(now)};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof(now) && now == q->tid;
}

static bool begin_answer(struct question *q)
{
	int expected = ASKED;

	if (!atomic_compare_exchange_strong(&q->state, &expected, BEING_WALKED))
		return false;
	q->answer.frame_count = 0;
	q->answer.raw = NULL;
	return true;
}

static void end_answer(struct question *q)
{
	int expected = BEING_WALKED;

	if (atomic_compare_exchange_strong(&q->state, &expected, WALKED))
		return;
	raw_stack_free(q->answer.raw);
	atomic_store(&q->state, FREE);
}

void holder_answer(const siginfo_t *info, const u64 registers[17])
{
	int tid = (int)syscall(SYS_gettid);
	struct own_thread *t = threads_find(tid);
	struct question *q = question_of((u32)(uintptr_t)info->si_value.sival_ptr);

	if (t)
		t->asked = false;
	if (!q || q->tid != tid || !begin_answer(q))
		return;
	if (still_holds(q))
		(void)stack_walk(&q->answer, registers, false, all.depth);
	end_answer(q);
}

static void look(struct loaded *l, struct question *q)
{
	static struct sleeper sleeper;

	if (!begin_answer(q))
		return;
	if (sleeper_look(l, q->tid, all.depth, &sleeper) == SLEEPER_SLEEPS && still_holds(q)) {
		q->answer.frame_count = sleeper.count;
		q->answer.from_call = 0;
		memcpy(q->answer.frames, sleeper.frames, sleeper.count * sizeof(*sleeper.frames));
	}
	end_answer(q);
}

void holder_turn(struct loaded *l)
{
	for (u32 i = 0; i < QUESTIONS; i++) {
		struct question *q = &all.questions[i];

		if (atomic_load(&q->state) == ASKED && q->sleeps)
			look(l, q);
	}
}

void holder_start(int signal_number, u32 depth, void (*wake)(void))
{
	all.signal_number = signal_number;
	all.depth = depth;
	all.wake = wake;
}

void holder_after_fork(void)
{
	for (u32 i = 0; i < QUESTIONS; i++)
		atomic_store(&all.questions[i].state, FREE);
}
