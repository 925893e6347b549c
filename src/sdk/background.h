/*
 * The library's background thread. A few times per second it collects samples and looks for new
 * modules and threads; at the end of an interval it makes profiles and sends them. One per process.
 */
#pragma once

#include "base/err.h"
#include "sdk/sdk_settings.h"

struct background_counts {
	u64 samples, lost, delivered, given_up;
};

/* Starts sampling according to the settings, and the thread. */
enum err background_start(const struct sdk_settings *s, struct fault *fault) MUST_CHECK;
/* Stops sampling and sends the remaining data, waiting at most `limit_ms`. */
void background_stop(u32 limit_ms);
bool background_running(void);
struct background_counts background_counts(void);
/* Continue in children of fork(); call before the start. The child's thread is started when it has
 * samples. */
void background_follow_children(void);
/* Whether threads register themselves (threads_enter) or must be searched for; call before the
 * start. */
void background_threads_announced(void);
