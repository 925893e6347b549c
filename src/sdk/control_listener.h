/*
 * The HTTP control server, in a thread of its own, if it is configured. A few connections at a
 * time, each with limits on bytes and time.
 */
#pragma once

#include "base/err.h"
#include "sdk/sdk_settings.h"

/* Starts it. ERR_EXISTS if the address is in use. */
enum err listener_start(const struct sdk_settings *s, struct fault *fault) MUST_CHECK;
/* Stops it and waits for the thread; does nothing if there is none. */
void listener_stop(void);
/* In the child of fork(): drops it, because it belongs to the parent. */
void listener_after_fork(void);
