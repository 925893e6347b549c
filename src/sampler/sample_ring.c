#include "sampler/sample_ring.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include "base/alloc.h"

/* Since glibc 2.35 the unwinder finds its tables without a lock (_dl_find_object), so that a
 * signal handler may walk through libraries that keep no frame pointers. */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && (defined(__x86_64__) || defined(__aarch64__))
#define CAN_UNWIND 1
#else
#define CAN_UNWIND 0
#endif

enum state { FREE, BEING_FILLED, FILLED };

/* One for the process, as signal handlers are. */
static struct {
	struct sample *slots;
	size_t count;
	atomic_size_t next;
	atomic_uint handlers; /* under way */
	atomic_bool open;
	atomic_uint_least64_t lost;
	struct sigaction before;
} ring;

struct walk {
	struct sample *sample;
	uintptr_t interrupted;
	bool begun; /* the handler's own frames are over */
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *argument)
{
	struct walk *w = argument;
	int exact = 0;
	uintptr_t at = _Unwind_GetIPInfo(context, &exact);

	if (!w->begun && at != w->interrupted)
		return _URC_NO_REASON;
	if (!at || w->sample->frame_count == SAMPLE_MAX_FRAMES)
		return _URC_END_OF_STACK;
	/* A return address may be the first byte of the next function. */
	w->sample->frames[w->sample->frame_count++] = w->begun && !exact ? at - 1 : at;
	w->begun = true;
	return _URC_NO_REASON;
}

static uintptr_t interrupted_at(const void *context)
{
	const ucontext_t *u = context;

#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)u->uc_mcontext.pc;
#else
	(void)u;
	return 0;
#endif
}

static void fill(struct sample *s, const siginfo_t *info, const void *context)
{
	struct walk w = {.sample = s, .interrupted = interrupted_at(context)};

	s->frame_count = 0;
	s->weight = info->si_overrun > 0 ? (uint32_t)info->si_overrun + 1 : 1;
	_Unwind_Backtrace(on_frame, &w);
	/* Code without unwind tables, such as a compiled regular expression: its own address is
	 * still known. */
	if (!s->frame_count)
		s->frames[s->frame_count++] = w.interrupted;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)number;
	atomic_fetch_add(&ring.handlers, 1);
	if (atomic_load(&ring.open) && info->si_code == SI_TIMER) {
		size_t at = atomic_fetch_add(&ring.next, 1) % ring.count;
		struct sample *s = &ring.slots[at];
		int expected = FREE;

		if (atomic_compare_exchange_strong(&s->state, &expected, BEING_FILLED)) {
			fill(s, info, context);
			atomic_store(&s->state, FILLED);
		} else {
			atomic_fetch_add(&ring.lost, 1);
		}
	}
	atomic_fetch_sub(&ring.handlers, 1);
	errno = saved;
}

static _Unwind_Reason_Code ignore_frame(struct _Unwind_Context *context, void *argument)
{
	(void)context;
	(void)argument;
	return _URC_NO_REASON;
}

static enum err install(struct fault *fault)
{
	struct sigaction own = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	sigfillset(&own.sa_mask);
	if (sigaction(SIGPROF, NULL, &ring.before) != 0)
		return err_from_errno(errno);
	if ((ring.before.sa_flags & SA_SIGINFO) ||
	    (ring.before.sa_handler != SIG_DFL && ring.before.sa_handler != SIG_IGN))
		return fault_set(fault, ERR_EXISTS, "SIGPROF has a handler already");
	if (sigaction(SIGPROF, &own, NULL) != 0)
		return err_from_errno(errno);
	return ERR_OK;
}

enum err sample_ring_open(size_t slots, struct fault *fault)
{
	enum err e;

	if (!CAN_UNWIND)
		return fault_set(fault, ERR_UNSUPPORTED,
				 "a profile of itself takes glibc 2.35 on x86-64 or arm64");
	if (atomic_load(&ring.open))
		return fault_set(fault, ERR_EXISTS, "this process is being sampled already");
	ring.slots = mem_zalloc(slots, sizeof(*ring.slots));
	if (!ring.slots)
		return ERR_NO_MEMORY;
	ring.count = slots;
	atomic_store(&ring.lost, 0);
	/* The unwinder's one-time initialization must not happen in the handler. */
	_Unwind_Backtrace(ignore_frame, NULL);
	atomic_store(&ring.open, true);
	e = install(fault);
	if (e) {
		atomic_store(&ring.open, false);
		mem_free(ring.slots);
		ring.slots = NULL;
	}
	return e;
}

void sample_ring_close(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (!atomic_load(&ring.open))
		return;
	atomic_store(&ring.open, false);
	/* Ignoring throws away signals that wait in a thread; the default action would end us. */
	sigaction(SIGPROF, &ignore, NULL);
	while (atomic_load(&ring.handlers))
		sched_yield();
	sigaction(SIGPROF, &ring.before, NULL);
	mem_free(ring.slots);
	ring.slots = NULL;
}

enum err sample_ring_drain(enum err (*each)(void *context, const struct sample *s), void *context)
{
	enum err e = ERR_OK;

	for (size_t i = 0; i < ring.count; i++) {
		struct sample *s = &ring.slots[i];

		if (atomic_load(&s->state) != FILLED)
			continue;
		if (!e)
			e = each(context, s);
		atomic_store(&s->state, FREE);
	}
	return e;
}

uint64_t sample_ring_lost(void)
{
	return atomic_load(&ring.lost);
}
