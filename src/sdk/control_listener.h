/*
 * The control over HTTP: a thread of its own that listens where the settings say, if they do. Few
 * connections at a time, each with a limit in bytes and in time.
 */
#pragma once

#include "base/err.h"
#include "sdk/sdk_settings.h"

/* Listens and begins to answer. ERR_EXISTS when the address is in use. */
enum err listener_start(const struct sdk_settings *s, struct fault *fault) MUST_CHECK;
/* Ends it, and waits for that. Harmless when there is none. */
void listener_stop(void);
/* In the child of fork(): it is the parent's. */
void listener_after_fork(void);
