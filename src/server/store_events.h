/*
 * What the store tells: written into the log, and what was deleted into audit.log as well.
 */
#pragma once

#include "server/server_internal.h"

/* For store_options.tell; the context is the server. Waits for `told_lock`. */
void store_events_tell(void *context, const struct store_event *event);

/* Why retention is suspended, for a person, without a line end; empty while it is not. */
void store_events_clock_text(const struct store_clock_state *clock, struct buf *out);
