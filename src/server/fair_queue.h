/*
 * Fair scheduling by tenant. Work waits in a queue per tenant; the tenant that has used the least
 * CPU time goes first, no matter how many requests it has. Within a tenant, work that is expected
 * to be short goes before long work; work that has waited long enough counts as short.
 *
 * - CPU time of running jobs counts, too, so that a long query delays its tenant's next one.
 * - A tenant that was idle cannot claim what others used meanwhile.
 * - `base` jobs run at a time. A tenant with none running gets a thread beyond that, up to
 *   `most`: no tenant has to wait for another one's long query to end.
 *
 * No threads and no clock here: the caller locks, passes the time, and runs the jobs.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct fair_tenant;

struct fair_job {
	/* Set by the caller: jobs of the same kind (route) are expected to cost the same; compared
	 * by address. */
	const void *kind;
	int64_t deadline_ns; /* monotonic; INT64_MAX = none */
	/* Private to the queue. */
	struct fair_tenant *tenant;
	struct fair_job *next, *previous;
	int64_t rank_ns, since_ns;
	bool running;
};

struct fair_limits {
	unsigned base, most; /* running at a time; above `base` only for tenants with none */
	unsigned per_tenant; /* queued per tenant */
	unsigned all;	     /* waiting */
};

struct fair_queue;

enum err fair_queue_new(const struct fair_limits *limits, struct fair_queue **ret) MUST_CHECK;
/* It must be empty and idle. NULL is allowed. */
void fair_queue_free(struct fair_queue *q);
/* ERR_BUSY if the tenant, or all together, have too many jobs waiting. `*ret_now`: it may run
 * immediately. */
enum err fair_queue_put(struct fair_queue *q, struct str tenant, struct fair_job *job,
			int64_t now_ns, bool *ret_now, struct fault *fault) MUST_CHECK;
/* The next job, or NULL: none may run now. `all` ignores `base` and `most`. */
struct fair_job *fair_queue_take(struct fair_queue *q, int64_t now_ns, bool all);
/* Call when it has run, with the CPU time it used. */
void fair_queue_done(struct fair_queue *q, struct fair_job *job, int64_t cpu_ns);
/* Removes a waiting job whose deadline has passed, or NULL; `*ret_next_ns` is the next deadline of
 * waiting jobs. */
struct fair_job *fair_queue_late(struct fair_queue *q, int64_t now_ns, int64_t *ret_next_ns);

size_t fair_queue_waiting(const struct fair_queue *q);
struct fair_figures {
	struct str tenant;
	size_t waiting, running;
	int64_t cpu_ns; /* CPU time used since the tenant was added */
	uint64_t refused;
};
void fair_queue_each(const struct fair_queue *q,
		     void (*each)(void *context, const struct fair_figures *f), void *context);
