/*
 * Handles events of the store: writes them to the log, and deletions to audit.log, too.
 */
#pragma once

#include "server/server_internal.h"

/* For store_options.tell; the context is the server. Waits for `told_lock`. */
void store_events_tell(void *context, const struct store_event *event);

/* Why retention is suspended, as a message without newline; empty if it is not. */
void store_events_clock_text(const struct store_clock_state *clock, struct buf *out);
