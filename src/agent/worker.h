/* The main loop of a worker (worker_host.h); worker_wire.h defines its protocol. */
#pragma once

#include <stdint.h>

#include "base/clock.h"

/* Longer than a window, so that frequently sampled files stay open. */
#define WORKER_IDLE_NS	  (20 * NS_PER_S)
/* Above this, indexes and decompressed sections of a file are freed and rebuilt on demand. */
#define WORKER_KEPT_BYTES ((uint64_t)2 << 20)

/*
 * Serves requests until the socket is closed or a request is invalid. Closes files not used for
 * `idle_ns` and releases their pages; if the worker uses more than `kept_bytes`, it does so with
 * the current file after each answer.
 */
void worker_serve(int socket, int64_t idle_ns, uint64_t kept_bytes);
