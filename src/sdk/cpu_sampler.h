/*
 * CPU samples: a signal from the thread's own clock (thread_clock.h), a walk of its stack, a slot
 * filled.
 *
 * A sample stands for all CPU time since the one before it: what the kernel's clock tick made late,
 * and signals that were blocked meanwhile, are in its value, and values add up to the time that was
 * used; their number is that time in periods. What is left when a thread ends is told by its place
 * of birth (cpu_settle).
 */
#pragma once

#include "base/err.h"
#include "sdk/own_threads.h"

/* The real-time signal that is used, which nobody else does, with our handler; 0 = there is none.
 */
int cpu_claim_signal(void);
/* The signals that have our handler, 0 = none; false when there is none at all. */
bool cpu_signals(int ret[2]);
/* Begins. */
enum err cpu_start(u32 rate_hz, u32 depth, struct fault *fault) MUST_CHECK;
void cpu_stop(void);
/* True when somebody else has taken our signal: sampling ends then. */
bool cpu_taken_over(void);
/* The rest of a thread that ends; in that thread. */
void cpu_settle(struct own_thread *t);
u64 cpu_samples(void);
/* The period of samples, which may be longer than was asked (thread_clock.h); 0 = none was taken.
 */
s64 cpu_period_ns(void);
/* CPU time that taking samples took, from when it is measured on. */
void cpu_measure(bool on);
u64 cpu_cost_ns(void);
/* Called in the signal handler after each sample; NULL = nothing. */
void cpu_set_notify(void (*notify)(void));
/* Calls what was set, also for samples of others. Signal-safe. */
void cpu_notify(void);
/* In the child: stopped. */
void cpu_after_fork(void);
