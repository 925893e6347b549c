/*
 * Workers throttle themselves. On a page shared with all of them, the agent sets how much CPU time
 * per second a kind of worker may use. A timer interrupts a worker every millisecond while it
 * answers a question, and the worker sleeps when it has used more than its share, whatever it is
 * doing. So a library whose table takes 200 ms to build costs a few milliseconds in any half
 * second.
 *
 * A worker compromised by a malicious file may ignore this. Therefore it is also measured from
 * outside (worker_host.h), and the agent reads nothing from the page but whether it changes.
 */
#pragma once

#include "agent/worker_host.h"

/* Call once, before the host is forked. Without memory for the page no worker is throttled. */
void worker_pace_share(void);
/* CPU time per second, in ns; 0 = no limit. Takes effect on running workers, too. Thread safe. */
void worker_pace_set(enum worker_kind kind, u64 ns);
u64 worker_pace(enum worker_kind kind);
/* A counter that changes several times a second while workers of this kind run or sleep here. It
 * shows that a worker is alive, but proves nothing: a compromised worker may write anything. Thread
 * safe. */
u64 worker_pace_beat(enum worker_kind kind);

/* Call in the worker, before it is sandboxed. */
void worker_pace_begin(enum worker_kind kind);
/* The mapping of the file being read: its pages are released while the worker sleeps, as are those
 * of files that src/symbols has open. NULL = none. */
void worker_pace_map(void *bytes, size_t size);
/* Starts the timer: call before a question is answered. */
void worker_pace_work(void);
/* Stops it, and sleeps off what was used. */
void worker_pace_rest(void);
