/*
 * CPU samples: a signal of the thread's CPU clock (thread_clock.h) walks the stack and fills a
 * slot.
 *
 * The value of a sample is all CPU time since the previous one, including delays by the kernel's
 * tick and by blocked signals, so that values add up to the CPU time used; the sample count is that
 * time divided by the period. The rest at the end of a thread is attributed to its start function
 * (cpu_settle).
 */
#pragma once

#include "base/err.h"
#include "sdk/own_threads.h"

/* The real-time signal in use, otherwise unused, with our handler; 0 = none.
 */
int cpu_claim_signal(void);
/* The signals with our handler, 0 = none; false if there are none. */
bool cpu_signals(int ret[2]);
/* Begins. */
enum err cpu_start(u32 rate_hz, u32 depth, struct fault *fault) MUST_CHECK;
void cpu_stop(void);
/* True if the program has installed another handler for our signal: sampling then ends. */
bool cpu_taken_over(void);
/* Records the rest of an ending thread; call in that thread. */
void cpu_settle(struct own_thread *t);
u64 cpu_samples(void);
/* The actual period of samples, which may be longer than configured (thread_clock.h); 0 = no
 * samples.
 */
s64 cpu_period_ns(void);
/* CPU time spent on taking samples, since measuring was switched on. */
void cpu_measure(bool on);
u64 cpu_cost_ns(void);
/* Called in the signal handler after each sample; NULL = nothing. */
void cpu_set_notify(void (*notify)(void));
/* Calls that function; also for samples of other kinds. Async-signal-safe. */
void cpu_notify(void);
/* In the child of fork(): stops. */
void cpu_after_fork(void);
