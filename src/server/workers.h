/*
 * Threads for what takes longer than an event loop may be held up: queries, decoding of uploads,
 * and, apart from both, what the operator and health checks need. Each of these three lanes has
 * threads of its own, and in each tenants take turns (fair_queue.h).
 */
#pragma once

#include <stdatomic.h>

#include "server/fair_queue.h"

enum lane { LANE_QUERIES, LANE_UPLOADS, LANE_RESERVE, LANES_ };

/* One piece of work: in the caller's memory until it was run. */
struct job {
	struct fair_job fair; /* `kind` and `deadline_ns` are the caller's to set */
	/* `stop` becomes true when the deadline passes while it runs, and is true from the start
	 * when it passed before. Neither job nor context is used after it was called. */
	void (*run)(void *context, const atomic_bool *stop);
	void *context;
};

struct workers_options {
	/* Threads for queries and for uploads at a time; 0 = one per CPU, at least two. A tenant
	 * that has nothing running gets one more, up to eight times as many. */
	unsigned threads[LANES_];
	unsigned queries_per_tenant; /* waiting */
};

struct workers;

enum err workers_new(const struct workers_options *options, struct workers **ret) MUST_CHECK;
/* ERR_BUSY when too much waits already, with a sentence. */
enum err workers_give(struct workers *w, enum lane lane, struct str tenant, struct job *job,
		      struct fault *fault) MUST_CHECK;
size_t workers_waiting(struct workers *w, enum lane lane);
/* Whether a lane was quiet since `since_ns` (monotonic). */
bool workers_quiet(struct workers *w, int64_t since_ns);
/* Under the lane's lock. */
void workers_each(struct workers *w, enum lane lane,
		  void (*each)(void *context, const struct fair_figures *f), void *context);
/* Runs what waits, then ends. NULL is fine. */
void workers_free(struct workers *w);
