/* What a worker does: worker_host.h says who it is, worker_wire.h what is said. */
#pragma once

#include <stdint.h>

#include "base/clock.h"

/* More than a window: what is sampled all the time stays open. */
#define WORKER_IDLE_NS	  (20 * NS_PER_S)
/* Indexes and unpacked sections of a large file are made again rather than kept. */
#define WORKER_KEPT_BYTES ((uint64_t)2 << 20)

/*
 * Answers until the other end is closed, or until a question is not understood. Files that nobody
 * asked about for `idle_ns` are closed, and what was read of them is given back; after the answer
 * the one it was about, when the worker has taken more than `kept_bytes`.
 */
void worker_serve(int socket, int64_t idle_ns, uint64_t kept_bytes);
