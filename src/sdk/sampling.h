/*
 * The current state of sampling, as requested by the settings, a control request or signal (on,
 * off), the schedule, the machine's load, and the budget (rate). Thread safe, not
 * async-signal-safe.
 */
#pragma once

#include "base/err.h"
#include "sdk/sdk_settings.h"

/* Why sampling is paused; several reasons may hold at once. */
enum sampling_pause {
	PAUSED_BY_USER = 1,
	PAUSED_BY_SCHEDULE = 2,
	PAUSED_BY_LOAD = 4,
};

/* Starts according to the settings, which must stay valid until sampling_end(). */
enum err sampling_begin(const struct sdk_settings *s, struct fault *fault) MUST_CHECK;
void sampling_end(void);
/* Adds or removes a reason. */
void sampling_pause(unsigned reason, bool holds);
/* The current reasons; 0 = not paused. */
unsigned sampling_paused(void);
/* Increments or decrements the users of CPU samples, which override any pause. */
void sampling_demand(bool more);
/* Sets and returns the current samples per second. */
void sampling_set_rate(u32 rate_hz);
u32 sampling_rate(void);
void sampling_before_fork(void);
/* In the child of fork(), which has no timers: continues sampling, or stops. */
void sampling_after_fork(bool child, bool goes_on);
