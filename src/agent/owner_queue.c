#include "agent/owner_queue.h"

/* Above this number, owners without jobs are removed. */
#define OWNERS_KEPT 256u

void owner_queue_release(struct owner_queue *q)
{
	vec_release(&q->jobs);
	vec_release(&q->owners);
}

static struct queue_owner *find(struct owner_queue *q, u32 owner)
{
	vec_for_each (one, &q->owners)
		if (one->owner == owner)
			return one;
	return NULL;
}

/* Their `used` would soon be raised to the floor anyway. */
static void forget_idle(struct owner_queue *q)
{
	size_t kept = 0;

	if (q->owners.n < OWNERS_KEPT)
		return;
	for (size_t i = 0; i < q->owners.n; i++)
		if (q->owners.v[i].waiting)
			q->owners.v[kept++] = q->owners.v[i];
	q->owners.n = kept;
}

enum err owner_queue_push(struct owner_queue *q, u32 owner, u64 weight, u64 id)
{
	struct queue_owner *o = find(q, owner);

	if (!o) {
		forget_idle(q);
		TRY(vec_push(&q->owners, ((struct queue_owner){.owner = owner, .used = q->floor})));
		o = &q->owners.v[q->owners.n - 1];
	}
	TRY(vec_push(&q->jobs, ((struct owner_job){.owner = owner, .weight = weight, .id = id})));
	if (!o->waiting++ && o->used < q->floor)
		o->used = q->floor;
	return ERR_OK;
}

u32 owner_queue_waiting(const struct owner_queue *q, u32 owner)
{
	vec_for_each (one, &q->owners)
		if (one->owner == owner)
			return one->waiting;
	return 0;
}

static struct queue_owner *next_owner(struct owner_queue *q)
{
	struct queue_owner *best = NULL;

	vec_for_each (one, &q->owners)
		if (one->waiting && !one->skipped && (!best || one->used < best->used))
			best = one;
	return best;
}

struct choice {
	bool (*may)(void *context, u64 id);
	void *context;
};

/* An owner's lightest job, or the oldest one that has waited long enough; the number of jobs if
 * none may be chosen. */
static size_t next_job(struct owner_queue *q, u32 owner, const struct choice *c)
{
	size_t oldest = q->jobs.n, at = q->jobs.n;

	for (size_t i = 0; i < q->jobs.n; i++) {
		const struct owner_job *job = &q->jobs.v[i];

		if (job->owner != owner || (c->may && !c->may(c->context, job->id)))
			continue;
		if (oldest == q->jobs.n)
			oldest = at = i;
		if (job->weight < q->jobs.v[at].weight)
			at = i;
	}
	if (at == oldest || q->jobs.v[oldest].passed == QUEUE_PASSED_MOST)
		return oldest;
	q->jobs.v[oldest].passed++;
	return at;
}

bool owner_queue_pop_if(struct owner_queue *q, bool (*may)(void *context, u64 id), void *context,
			struct owner_job *ret)
{
	struct choice choice = {may, context};
	struct queue_owner *o;
	size_t at = q->jobs.n;

	while (at == q->jobs.n && (o = next_owner(q))) {
		at = next_job(q, o->owner, &choice);
		o->skipped = at == q->jobs.n;
	}
	vec_for_each (one, &q->owners)
		one->skipped = false;
	if (at == q->jobs.n)
		return false;
	*ret = q->jobs.v[at];
	memmove(q->jobs.v + at, q->jobs.v + at + 1, (q->jobs.n - at - 1) * sizeof(*q->jobs.v));
	q->jobs.n--;
	o->waiting--;
	q->floor = o->used;
	return true;
}

bool owner_queue_pop(struct owner_queue *q, struct owner_job *ret)
{
	return owner_queue_pop_if(q, NULL, NULL, ret);
}

void owner_queue_charge(struct owner_queue *q, u32 owner, u64 cost)
{
	struct queue_owner *o = find(q, owner);

	if (o)
		o->used += cost;
}

bool owner_queue_others(const struct owner_queue *q, u32 owner)
{
	vec_for_each (one, &q->owners)
		if (one->waiting && one->owner != owner)
			return true;
	return false;
}

bool owner_queue_lighter(const struct owner_queue *q, u32 owner, u64 weight)
{
	vec_for_each (job, &q->jobs)
		if (job->owner == owner && job->weight < weight / 2)
			return true;
	return false;
}
