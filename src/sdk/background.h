/*
 * The one thread of the library and what it does a few times a second: takes the samples over,
 * looks for new modules and threads, and at the end of an interval makes profiles and sends them.
 * One for the process.
 */
#pragma once

#include "base/err.h"
#include "sdk/sdk_settings.h"

struct background_counts {
	u64 samples, lost, delivered, given_up;
};

/* Begins to sample what the settings say, and starts the thread. */
enum err background_start(const struct sdk_settings *s, struct fault *fault) MUST_CHECK;
/* Ends sampling; what there is goes out, for at most `limit_ms`. Waits for it. */
void background_stop(u32 limit_ms);
bool background_running(void);
struct background_counts background_counts(void);
/* Children of fork() go on; before the start. Their thread begins when they have samples. */
void background_follow_children(void);
/* Whether threads announce themselves (threads_enter) or must be looked for; before the start. */
void background_threads_announced(void);
