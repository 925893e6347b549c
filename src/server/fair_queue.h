/*
 * Whose turn it is. Work waits in a queue per tenant; the tenant that has used the least CPU time
 * goes first, whatever the number of its requests. Within a tenant work that is expected to be
 * short goes before long work, and nothing waits for ever: what has waited long enough counts as
 * short.
 *
 * - CPU time that is being used counts as well, so that a long query delays its tenant's next one.
 * - A tenant that was away does not come back with a claim to all that others used meanwhile.
 * - `base` jobs run at a time. A tenant that has none running is given a thread beyond that, up to
 *   `most`: nobody has to wait for another tenant's long query to end.
 *
 * No threads and no clock here: the caller locks, tells the time, and runs what it takes.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct fair_tenant;

struct fair_job {
	/* The caller's: what is alike costs alike ("the route"), compared by address. */
	const void *kind;
	int64_t deadline_ns; /* monotonic; INT64_MAX = none */
	/* The queue's. */
	struct fair_tenant *tenant;
	struct fair_job *next, *previous;
	int64_t rank_ns, since_ns;
	bool running;
};

struct fair_limits {
	unsigned base, most; /* running at a time; `most` only for tenants that have none */
	unsigned per_tenant; /* waiting, of one tenant */
	unsigned all;	     /* waiting */
};

struct fair_queue;

enum err fair_queue_new(const struct fair_limits *limits, struct fair_queue **ret) MUST_CHECK;
/* Nothing may be waiting or running. NULL is fine. */
void fair_queue_free(struct fair_queue *q);
/* ERR_BUSY when the tenant, or all together, have too much waiting. `*ret_now`: somebody may take
 * it at once. */
enum err fair_queue_put(struct fair_queue *q, struct str tenant, struct fair_job *job,
			int64_t now_ns, bool *ret_now, struct fault *fault) MUST_CHECK;
/* The next one to run, or NULL: none may run now. `all` ignores `base` and `most`. */
struct fair_job *fair_queue_take(struct fair_queue *q, int64_t now_ns, bool all);
/* It has run, and used so much CPU time. */
void fair_queue_done(struct fair_queue *q, struct fair_job *job, int64_t cpu_ns);
/* Takes out a job that waits and whose deadline has passed, or NULL; `*ret_next_ns` is the next
 * deadline of those that wait. */
struct fair_job *fair_queue_late(struct fair_queue *q, int64_t now_ns, int64_t *ret_next_ns);

size_t fair_queue_waiting(const struct fair_queue *q);
struct fair_figures {
	struct str tenant;
	size_t waiting, running;
	int64_t cpu_ns; /* used, since the queue knows the tenant */
	uint64_t refused;
};
void fair_queue_each(const struct fair_queue *q,
		     void (*each)(void *context, const struct fair_figures *f), void *context);
