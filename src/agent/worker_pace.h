/*
 * Workers slow themselves down. The agent says how much CPU time a second a kind of worker may
 * take, on a page that it shares with all of them; a worker's own CPU clock interrupts it every
 * few milliseconds, and when it has used more than that it sleeps, whatever it is doing. So a
 * library whose table takes 200 ms to build costs a few milliseconds in any half second.
 *
 * A worker that was taken over by a file may ignore this; it is measured from outside
 * (worker_host.h), and the agent reads nothing from the page but that it changes.
 */
#pragma once

#include "agent/worker_host.h"

/* Once, before the host is forked. Without memory for the page nobody is slowed down. */
void worker_pace_share(void);
/* Nanoseconds of CPU time a second; 0 = no limit. Also for workers that run already. Any thread. */
void worker_pace_set(enum worker_kind kind, u64 ns);
u64 worker_pace(enum worker_kind kind);
/* Changes while workers of this kind run or sleep off what they used, several times a second. A
 * worker that was taken over may write anything: it is a sign of life, no proof. Any thread. */
u64 worker_pace_beat(enum worker_kind kind);

/* In the worker, before it is confined. */
void worker_pace_begin(enum worker_kind kind);
/* The file it reads, mapped: its pages are given back while the worker sleeps, as are those of
 * files that src/symbols has open. NULL = none. */
void worker_pace_map(void *bytes, size_t size);
/* Sleeps off what was used. The clock calls it, too. */
void worker_pace_pay(void);
