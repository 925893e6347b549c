#include "sdk/cpu_sampler.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <ucontext.h>

#include "base/clock.h"
#include "sdk/span_ends.h"
#include "sdk/stack_walk.h"

/* Less than this is not worth a sample of its own. */
#define SETTLE_LEAST_NS 100000

static struct {
	atomic_bool open;
	atomic_uint handlers; /* under way */
	atomic_uint_least64_t samples;
	atomic_uint_least64_t cost_ns; /* of handlers, where that is measured */
	atomic_bool measured;
	int signal_number; /* 0 = none yet; then kept for good */
	u32 depth;
	s64 period_ns;
	_Atomic(void (*)(void)) notify;
} cpu;

static void read_registers(const void *context, u64 registers[17])
{
	/* The kernel's order of registers, by DWARF number. */
	static const u8 place[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
	const ucontext_t *u = context;

	for (int i = 0; i < 17; i++)
		registers[i] = (u64)u->uc_mcontext.gregs[place[i]];
}

void cpu_notify(void)
{
	void (*notify)(void) = atomic_load_explicit(&cpu.notify, memory_order_relaxed);

	if (notify)
		notify();
}

static void take_sample(struct own_thread *t, const siginfo_t *info, const void *context)
{
	s64 now = thread_cpu_ns();
	struct taken_sample *s = sample_claim(SAMPLE_CPU);
	u64 registers[17];

	if (!s) {
		sample_lost();
		return;
	}
	read_registers(context, registers);
	s->record = threads_number(t);
	s->count = 1 + (info->si_overrun > 0 ? info->si_overrun : 0);
	s->value = now > t->accounted_ns ? now - t->accounted_ns : 0;
	t->accounted_ns = now;
	if (t->depth && atomic_load_explicit(&span_ends_wanted, memory_order_relaxed)) {
		s->time_ns = t->sampled = clock_monotonic_ns();
		s->thread = threads_number(t);
	}
	/* Interrupted while the thread changes it: half a context is none. */
	if (t->stable)
		s->context = t->context;
	(void)stack_walk(s, registers, false, cpu.depth);
	atomic_fetch_add_explicit(&cpu.samples, 1, memory_order_relaxed);
	sample_publish(s);
	if (atomic_load_explicit(&cpu.measured, memory_order_relaxed))
		atomic_fetch_add_explicit(&cpu.cost_ns, (u64)(thread_cpu_ns() - now),
					  memory_order_relaxed);
	cpu_notify();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)number;
	atomic_fetch_add(&cpu.handlers, 1);
	if (atomic_load(&cpu.open)) {
		struct own_thread *t = threads_of_signal(info);

		if (t) {
			take_sample(t, info, context);
			threads_vary(t);
		}
	}
	atomic_fetch_sub(&cpu.handlers, 1);
	errno = saved;
}

void cpu_settle(struct own_thread *t)
{
	s64 rest = thread_cpu_ns() - t->accounted_ns;
	struct taken_sample *s;

	if (!atomic_load(&cpu.open) || rest < SETTLE_LEAST_NS)
		return;
	s = sample_claim(SAMPLE_CPU);
	if (!s) {
		sample_lost();
		return;
	}
	t->accounted_ns += rest;
	s->settled = SETTLED;
	s->value = rest;
	if (t->start)
		s->frames[s->frame_count++] = (u64)(uintptr_t)t->start;
	sample_publish(s);
}

static bool is_free(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
	       now.sa_handler == SIG_DFL;
}

/* From above: programs count from SIGRTMIN. The very last are used by some libraries. */
static enum err choose_signal(struct fault *fault)
{
	for (int number = SIGRTMAX - 3; number > SIGRTMIN + 3 && !cpu.signal_number; number--)
		if (is_free(number))
			cpu.signal_number = number;
	return cpu.signal_number ? ERR_OK
				 : fault_set(fault, ERR_EXISTS, "every real-time signal is in use");
}

bool cpu_taken_over(void)
{
	struct sigaction now;

	return atomic_load(&cpu.open) && sigaction(cpu.signal_number, NULL, &now) == 0 &&
	       now.sa_sigaction != on_signal;
}

enum err cpu_start(u32 rate_hz, u32 depth, struct fault *fault)
{
	struct sigaction own = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	TRY(choose_signal(fault));
	/* No other handler on top of ours: it may jump out. */
	sigfillset(&own.sa_mask);
	cpu.depth = depth;
	cpu.period_ns = NS_PER_S / rate_hz;
	if (sigaction(cpu.signal_number, &own, NULL) != 0)
		return err_from_errno(errno);
	atomic_store(&cpu.open, true);
	threads_start(cpu.period_ns, cpu.signal_number);
	return ERR_OK;
}

/* The handler stays: a signal that is late would otherwise end the program. */
void cpu_stop(void)
{
	threads_stop();
	atomic_store(&cpu.open, false);
	while (atomic_load(&cpu.handlers))
		sched_yield();
}

void cpu_measure(bool on)
{
	atomic_store(&cpu.measured, on);
}

u64 cpu_cost_ns(void)
{
	return atomic_load(&cpu.cost_ns);
}

void cpu_set_notify(void (*notify)(void))
{
	atomic_store(&cpu.notify, notify);
}

/* Of the handlers that ran in other threads none will come to its end here. */
void cpu_after_fork(void)
{
	atomic_store(&cpu.open, false);
	atomic_store(&cpu.handlers, 0);
	atomic_store(&cpu.samples, 0);
}

u64 cpu_samples(void)
{
	return atomic_load(&cpu.samples);
}
