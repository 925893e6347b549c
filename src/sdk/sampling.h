/*
 * What is being sampled at this moment. Others say what they want: the settings at the start, a
 * request or a signal (on, off), a schedule, the machine's load, the budget (rate). Any thread, but
 * no signal handler.
 */
#pragma once

#include "base/err.h"
#include "sdk/sdk_settings.h"

/* Why nothing is sampled; several may hold at once. */
enum sampling_pause {
	PAUSED_BY_USER = 1,
	PAUSED_BY_SCHEDULE = 2,
	PAUSED_BY_LOAD = 4,
};

/* Begins, as the settings say; they must stay until sampling_end(). */
enum err sampling_begin(const struct sdk_settings *s, struct fault *fault) MUST_CHECK;
void sampling_end(void);
/* From now on there is this reason, or it is gone. */
void sampling_pause(unsigned reason, bool holds);
/* The reasons that hold; 0 = samples are taken. */
unsigned sampling_paused(void);
/* CPU samples are wanted once more, or once less, whatever pauses them. */
void sampling_demand(bool more);
/* Samples a second from now on; and now. */
void sampling_set_rate(u32 rate_hz);
u32 sampling_rate(void);
void sampling_before_fork(void);
/* In the child timers are gone; it goes on with what they did, or it ends. */
void sampling_after_fork(bool child, bool goes_on);
