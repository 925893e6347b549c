#include "server/fair_queue.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"

#define BUCKETS	     1024
#define KEPT_TENANTS 1000 /* that have nothing to do, for what they used */
#define KINDS	     16
#define LONG_FACTOR  8		    /* an expected second is worth waiting eight */
#define PATIENCE_NS  (5 * NS_PER_S) /* beyond it long work goes as if it were short */
#define UNKNOWN_NS   (2 * NS_PER_MS)

/* Recent CPU time per job of a kind, of one tenant. */
struct expectation {
	const void *kind;
	int64_t cpu_ns;
};

struct fair_tenant {
	struct fair_tenant *next;			   /* of its bucket */
	struct fair_tenant *next_active, *previous_active; /* of those with work waiting */
	struct fair_job *first, *last;			   /* waiting, by rank */
	size_t waiting, running;
	int64_t claim_ns; /* CPU time used by finished jobs; never far below that of others */
	int64_t running_since_ns; /* sum over running work of its start */
	int64_t cpu_ns;
	uint64_t refused;
	struct expectation kinds[KINDS];
	char *name;
};

struct fair_queue {
	struct fair_limits limits;
	uint64_t seed;
	struct fair_tenant *buckets[BUCKETS];
	struct fair_tenant *active;
	size_t waiting, running, idle;
	int64_t floor_ns; /* virtual time: the use of the tenant served last */
};

enum err fair_queue_new(const struct fair_limits *limits, struct fair_queue **ret)
{
	struct fair_queue *q = mem_zalloc(1, sizeof(*q));

	if (!q)
		return ERR_NO_MEMORY;
	q->limits = *limits;
	q->seed = hash_random_seed();
	*ret = q;
	return ERR_OK;
}

static void tenant_free(struct fair_tenant *t)
{
	mem_free(t->name);
	mem_free(t);
}

/* Those with nothing to do. */
static void forget_idle(struct fair_queue *q)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct fair_tenant **at = &q->buckets[i], *t; (t = *at);) {
			if (t->waiting || t->running) {
				at = &t->next;
				continue;
			}
			*at = t->next;
			tenant_free(t);
		}
	q->idle = 0;
}

void fair_queue_free(struct fair_queue *q)
{
	if (!q)
		return;
	forget_idle(q);
	mem_free(q);
}

static struct fair_tenant *find_tenant(struct fair_queue *q, struct str name)
{
	struct fair_tenant **bucket = &q->buckets[hash_str(name, q->seed) % BUCKETS], *t;

	for (t = *bucket; t; t = t->next)
		if (str_eq(str_of(t->name), name))
			return t;
	if (q->idle > KEPT_TENANTS)
		forget_idle(q);
	t = mem_zalloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->name = mem_strndup(name.p, name.n);
	if (!t->name) {
		mem_free(t);
		return NULL;
	}
	t->next = *bucket;
	*bucket = t;
	q->idle++;
	return t;
}

/* ------------------------------------------------------------------ what work costs */

static struct expectation *find_kind(struct fair_tenant *t, const void *kind)
{
	struct expectation *e = t->kinds;

	for (size_t i = 0; i < KINDS && t->kinds[i].kind; i++, e++)
		if (t->kinds[i].kind == kind)
			return &t->kinds[i];
	/* The last place is shared by kinds beyond the table. */
	return e < t->kinds + KINDS ? e : &t->kinds[KINDS - 1];
}

static int64_t expected_of(struct fair_tenant *t, const void *kind)
{
	const struct expectation *e = find_kind(t, kind);

	return e->kind == kind ? e->cpu_ns : UNKNOWN_NS;
}

/* Jobs that were long recently are expected to be long again, until a few short ones. */
static void learn(struct fair_tenant *t, const void *kind, int64_t cpu_ns)
{
	struct expectation *e = find_kind(t, kind);

	if (e->kind != kind)
		*e = (struct expectation){kind, cpu_ns};
	else if (cpu_ns > e->cpu_ns)
		e->cpu_ns = cpu_ns;
	else
		e->cpu_ns -= (e->cpu_ns - cpu_ns) / 4;
}

/* ------------------------------------------------------------------ putting */

static void insert(struct fair_tenant *t, struct fair_job *job)
{
	struct fair_job *before = t->last;

	while (before && before->rank_ns > job->rank_ns)
		before = before->previous;
	job->previous = before;
	job->next = before ? before->next : t->first;
	if (job->next)
		job->next->previous = job;
	else
		t->last = job;
	if (before)
		before->next = job;
	else
		t->first = job;
}

static void activate(struct fair_queue *q, struct fair_tenant *t)
{
	t->previous_active = NULL;
	t->next_active = q->active;
	if (q->active)
		q->active->previous_active = t;
	q->active = t;
	if (t->running)
		return;
	q->idle--;
	if (t->claim_ns < q->floor_ns)
		t->claim_ns = q->floor_ns;
}

static void deactivate(struct fair_queue *q, struct fair_tenant *t)
{
	if (t->previous_active)
		t->previous_active->next_active = t->next_active;
	else
		q->active = t->next_active;
	if (t->next_active)
		t->next_active->previous_active = t->previous_active;
}

static bool may_run(const struct fair_queue *q, const struct fair_tenant *t)
{
	return q->running < q->limits.base || (!t->running && q->running < q->limits.most);
}

static enum err refuse(struct fair_queue *q, struct fair_tenant *t, struct fault *fault)
{
	t->refused++;
	return fault_set(fault, ERR_BUSY,
			 "%zu requests of this tenant are waiting already (%zu of all); try again "
			 "in a second",
			 t->waiting, q->waiting);
}

enum err fair_queue_put(struct fair_queue *q, struct str tenant, struct fair_job *job,
			int64_t now_ns, bool *ret_now, struct fault *fault)
{
	struct fair_tenant *t = find_tenant(q, tenant);
	int64_t handicap;

	if (!t)
		return ERR_NO_MEMORY;
	if (t->waiting >= q->limits.per_tenant || q->waiting >= q->limits.all)
		return refuse(q, t, fault);
	job->tenant = t;
	job->running = false;
	handicap = expected_of(t, job->kind);
	handicap = handicap < PATIENCE_NS / LONG_FACTOR ? handicap * LONG_FACTOR : PATIENCE_NS;
	job->rank_ns = now_ns + handicap;
	job->since_ns = now_ns;
	if (!t->waiting)
		activate(q, t);
	insert(t, job);
	t->waiting++;
	q->waiting++;
	*ret_now = may_run(q, t);
	return ERR_OK;
}

/* ------------------------------------------------------------------ taking */

static void take_out(struct fair_queue *q, struct fair_job *job)
{
	struct fair_tenant *t = job->tenant;

	if (job->previous)
		job->previous->next = job->next;
	else
		t->first = job->next;
	if (job->next)
		job->next->previous = job->previous;
	else
		t->last = job->previous;
	job->next = job->previous = NULL;
	q->waiting--;
	if (!--t->waiting)
		deactivate(q, t);
}

static void now_idle(struct fair_queue *q, const struct fair_tenant *t)
{
	if (!t->waiting && !t->running)
		q->idle++;
}

/* Its use, with estimates for running jobs. */
static int64_t claim_of(const struct fair_tenant *t, int64_t now_ns)
{
	return t->claim_ns + (int64_t)t->running * now_ns - t->running_since_ns;
}

struct fair_job *fair_queue_take(struct fair_queue *q, int64_t now_ns, bool all)
{
	struct fair_tenant *best = NULL;
	struct fair_job *job;

	for (struct fair_tenant *t = q->active; t; t = t->next_active)
		if ((all || may_run(q, t)) &&
		    (!best || claim_of(t, now_ns) < claim_of(best, now_ns) ||
		     (claim_of(t, now_ns) == claim_of(best, now_ns) &&
		      t->first->since_ns < best->first->since_ns)))
			best = t;
	if (!best)
		return NULL;
	job = best->first;
	take_out(q, job);
	if (claim_of(best, now_ns) > q->floor_ns)
		q->floor_ns = claim_of(best, now_ns);
	job->running = true;
	job->since_ns = now_ns;
	best->running++;
	best->running_since_ns += now_ns;
	q->running++;
	return job;
}

void fair_queue_done(struct fair_queue *q, struct fair_job *job, int64_t cpu_ns)
{
	struct fair_tenant *t = job->tenant;

	t->running--;
	t->running_since_ns -= job->since_ns;
	q->running--;
	t->claim_ns += cpu_ns;
	t->cpu_ns += cpu_ns;
	learn(t, job->kind, cpu_ns);
	job->tenant = NULL;
	now_idle(q, t);
}

struct fair_job *fair_queue_late(struct fair_queue *q, int64_t now_ns, int64_t *ret_next_ns)
{
	*ret_next_ns = INT64_MAX;
	for (struct fair_tenant *t = q->active; t; t = t->next_active)
		for (struct fair_job *job = t->first; job; job = job->next) {
			if (job->deadline_ns <= now_ns) {
				take_out(q, job);
				now_idle(q, t);
				job->tenant = NULL;
				return job;
			}
			if (job->deadline_ns < *ret_next_ns)
				*ret_next_ns = job->deadline_ns;
		}
	return NULL;
}

/* ------------------------------------------------------------------ looking */

size_t fair_queue_waiting(const struct fair_queue *q)
{
	return q->waiting;
}

void fair_queue_each(const struct fair_queue *q,
		     void (*each)(void *context, const struct fair_figures *f), void *context)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct fair_tenant *t = q->buckets[i]; t; t = t->next)
			each(context, &(struct fair_figures){str_of(t->name), t->waiting,
							     t->running, t->cpu_ns, t->refused});
}
