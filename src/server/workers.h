/*
 * Threads for work that would block an event loop too long: queries, decoding of uploads, and
 * administration and health checks. Each of these three lanes has its own threads, scheduled fairly
 * by tenant (fair_queue.h).
 */
#pragma once

#include <stdatomic.h>

#include "server/fair_queue.h"

enum lane { LANE_QUERIES, LANE_UPLOADS, LANE_RESERVE, LANES_ };

/* A job, in memory of the caller until it was run. */
struct job {
	struct fair_job fair; /* the caller sets `kind` and `deadline_ns` */
	/* `stop` is set when the deadline passes, perhaps before the call. Neither job nor context
	 * is used after the call. */
	void (*run)(void *context, const atomic_bool *stop);
	void *context;
};

struct workers_options {
	/* Threads for queries and for uploads at a time; 0 = one per CPU, at least two. A tenant
	 * with nothing running gets another one, up to eight times as many. */
	unsigned threads[LANES_];
	unsigned queries_per_tenant; /* waiting */
};

struct workers;

enum err workers_new(const struct workers_options *options, struct workers **ret) MUST_CHECK;
/* ERR_BUSY, with a message, if too many jobs are waiting. */
enum err workers_give(struct workers *w, enum lane lane, struct str tenant, struct job *job,
		      struct fault *fault) MUST_CHECK;
size_t workers_waiting(struct workers *w, enum lane lane);
/* Whether a lane was quiet since `since_ns` (monotonic). */
bool workers_quiet(struct workers *w, int64_t since_ns);
/* Requires the lane's lock. */
void workers_each(struct workers *w, enum lane lane,
		  void (*each)(void *context, const struct fair_figures *f), void *context);
/* Runs waiting jobs, then stops. NULL is allowed. */
void workers_free(struct workers *w);
