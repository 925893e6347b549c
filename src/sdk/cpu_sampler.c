#include "sdk/cpu_sampler.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <ucontext.h>

#include "base/clock.h"
#include "sdk/lock_holder.h"
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
	int timer_signal; /* 0 = none yet; never changes afterwards */
	int event_signal; /* the same; 0 also if the program uses it */
	u32 depth;
	_Atomic(s64) period_ns; /* the true one; stays when sampling ends */
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

/* ------------------------------------------------------------------ what a sample stands for */

/* The system call's way back leaves the address in both. */
static bool is_in_kernel(const u64 registers[17])
{
	enum { RCX = 2, RIP = 16 };

	return registers[RCX] == registers[RIP];
}

/* Kernel time that no system call's sample came for goes to where the thread is: page faults. */
#define KERNEL_PERIODS 32
/* An event that is so many times too late comes no more. */
#define EVENT_PERIODS  64

/*
 * The event fires at multiples of its period, but not in the kernel: the missed time since the last
 * sample was spent in the kernel, and is kept until the timer finds the thread in a system call.
 * Time with the signal blocked is attributed to where it is unblocked, which is a system call, too.
 */
static s64 stands_for(struct own_thread *t, const u64 registers[17], bool event)
{
	s64 elapsed = thread_cpu_ns() - t->accounted_ns, set = t->clock.event_ns, missed;

	if (elapsed < 0)
		elapsed = 0;
	if (!clock_has_event(&t->clock) || (event && is_in_kernel(registers))) {
		t->accounted_ns += elapsed;
		return elapsed + atomic_exchange(&t->kernel_ns, 0);
	}
	missed = elapsed / set * set;
	if (event) {
		missed = missed > set ? missed - set : 0;
		t->accounted_ns += elapsed;
		t->kernel_ns += missed;
		return elapsed - missed;
	}
	if (elapsed > EVENT_PERIODS * clocks_period())
		clock_revive_event(&t->clock);
	if (is_in_kernel(registers)) {
		t->accounted_ns += missed;
		return missed + atomic_exchange(&t->kernel_ns, 0);
	}
	return t->kernel_ns > KERNEL_PERIODS * clocks_period() ? atomic_exchange(&t->kernel_ns, 0)
							       : 0;
}

/* Whole periods, so that their number times the period is the time. */
static s64 periods(struct own_thread *t, s64 ns)
{
	s64 period = cpu_period_ns(), sum = t->counted_ns + ns, n = period ? sum / period : 0;

	t->counted_ns = sum - n * period;
	return n;
}

/* ------------------------------------------------------------------ taking one */

static void take_sample(struct own_thread *t, const u64 registers[17], s64 value)
{
	struct taken_sample *s = sample_claim(SAMPLE_CPU);

	if (!s) {
		/* The next sample covers its time, too. */
		t->accounted_ns -= value;
		sample_lost();
		return;
	}
	s->record = threads_number(t);
	s->count = periods(t, value);
	s->value = value;
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
	cpu_notify();
}

static void handle(struct own_thread *t, const void *context, bool event)
{
	bool measured = atomic_load_explicit(&cpu.measured, memory_order_relaxed);
	s64 begin = measured ? thread_cpu_ns() : 0, value;
	u64 registers[17];

	read_registers(context, registers);
	value = stands_for(t, registers, event);
	if (value > 0)
		take_sample(t, registers, value);
	if (event)
		clock_vary_event(&t->clock, (u64)t->accounted_ns);
	else
		clock_vary_timer(&t->clock, (u64)t->accounted_ns);
	if (measured)
		atomic_fetch_add_explicit(&cpu.cost_ns, (u64)(thread_cpu_ns() - begin),
					  memory_order_relaxed);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	atomic_fetch_add(&cpu.handlers, 1);
	if (info->si_code == SI_QUEUE) {
		u64 registers[17];

		read_registers(context, registers);
		holder_answer(info, registers);
	} else if (atomic_load(&cpu.open)) {
		bool event = number == cpu.event_signal;
		struct own_thread *t = event ? threads_of_event(info) : threads_of_signal(info);

		if (t)
			handle(t, context, event);
	}
	atomic_fetch_sub(&cpu.handlers, 1);
	errno = saved;
}

void cpu_settle(struct own_thread *t)
{
	s64 rest = thread_cpu_ns() - t->accounted_ns + t->kernel_ns;
	struct taken_sample *s;

	if (!atomic_load(&cpu.open) || rest < SETTLE_LEAST_NS)
		return;
	s = sample_claim(SAMPLE_CPU);
	if (!s) {
		sample_lost();
		return;
	}
	t->accounted_ns += rest - atomic_exchange(&t->kernel_ns, 0);
	s->settled = SETTLED;
	s->count = periods(t, rest);
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
	for (int number = SIGRTMAX - 3; number > SIGRTMIN + 3 && !cpu.timer_signal; number--)
		if (is_free(number))
			cpu.timer_signal = number;
	return cpu.timer_signal ? ERR_OK
				: fault_set(fault, ERR_EXISTS, "every real-time signal is in use");
}

static bool is_taken_over(int number)
{
	struct sigaction now;

	return number && sigaction(number, NULL, &now) == 0 && now.sa_sigaction != on_signal;
}

bool cpu_taken_over(void)
{
	return atomic_load(&cpu.open) &&
	       (is_taken_over(cpu.timer_signal) || is_taken_over(cpu.event_signal));
}

static enum err handle_signal(int number)
{
	struct sigaction own = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	/* No other handler on top of ours: it may jump out. */
	sigfillset(&own.sa_mask);
	return sigaction(number, &own, NULL) == 0 ? ERR_OK : err_from_errno(errno);
}

bool cpu_signals(int ret[2])
{
	ret[0] = cpu.timer_signal;
	ret[1] = cpu.event_signal;
	return ret[0] || ret[1];
}

int cpu_claim_signal(void)
{
	return choose_signal(NULL) || handle_signal(cpu.timer_signal) ? 0 : cpu.timer_signal;
}

enum err cpu_start(u32 rate_hz, u32 depth, struct fault *fault)
{
	s64 period = NS_PER_S / rate_hz;
	bool events = clocks_want_events(period);

	TRY(choose_signal(fault));
	TRY(handle_signal(cpu.timer_signal));
	/* Neither the kernel nor programs have a use for this one. */
	if (events && (cpu.event_signal == SIGSTKFLT || is_free(SIGSTKFLT)) &&
	    !handle_signal(SIGSTKFLT))
		cpu.event_signal = SIGSTKFLT;
	cpu.depth = depth;
	atomic_store(&cpu.open, true);
	threads_start(period, cpu.timer_signal, events ? cpu.event_signal : 0);
	cpu.period_ns = clocks_period();
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

s64 cpu_period_ns(void)
{
	return atomic_load_explicit(&cpu.period_ns, memory_order_relaxed);
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
