/*
 * Batches: what one request brings, encoded and kept together until an engine makes it durable.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/work_scope.h"
#include "store/question.h"
#include "store/store_engine.h"

#define BATCH_BYTES ((size_t)1 << 30)

enum err store_batch_new(struct store *s, struct str tenant, struct store_batch **ret,
			 struct fault *fault)
{
	struct store_batch *b = mem_zalloc(1, sizeof(*b));

	(void)fault;
	if (!b)
		return ERR_NO_MEMORY;
	b->store = s;
	b->filling = true;
	atomic_fetch_add(&s->filling, 1);
	b->bytes = BUF_INIT(BATCH_BYTES);
	b->tenant = str_n(arena_copy(&b->arena, tenant), tenant.n);
	if (!b->tenant.p) {
		store_batch_abandon(b);
		return ERR_NO_MEMORY;
	}
	*ret = b;
	return ERR_OK;
}

static void unlock(struct store_batch *b)
{
	if (b->locked)
		mutex_unlock(&b->locked->lock);
	b->locked = NULL;
}

void batch_filled(struct store_batch *b)
{
	if (b->filling)
		atomic_fetch_sub(&b->store->filling, 1);
	b->filling = false;
}

void store_batch_abandon(struct store_batch *b)
{
	if (!b)
		return;
	unlock(b);
	batch_filled(b);
	for (size_t i = 0; i < b->held.n; i++)
		b->store->ops->give_back(b->store, b->held.v[i]);
	vec_release(&b->held);
	vec_release(&b->chunks);
	vec_release(&b->spans);
	buf_release(&b->bytes);
	arena_release(&b->arena);
	mem_free(b);
}

void batch_finish(struct store_batch *b, enum err error, const struct fault *fault)
{
	void (*done)(void *, enum err, const struct fault *) = b->done;
	void *context = b->context;

	if (error)
		atomic_fetch_add(&b->store->refused[error], 1);
	store_batch_abandon(b);
	if (done)
		done(context, error, fault);
}

/* Shared tables grow by half of their size, or double, with any new entry; this is not charged to
 * the limit of this upload. */
static void allow_growth(struct partition *p)
{
	size_t memory;

	if (!work_scope_now())
		return;
	mutex_lock(&p->lock);
	memory = partition_memory(p);
	mutex_unlock(&p->lock);
	work_scope_allow(memory);
}

/* The partition, held by the batch until it ends. No partition is locked while the engine looks
 * for it: that may take long, and needs locks of the engine's own. */
static enum err hold(struct store_batch *b, struct str service, int64_t day, struct partition **ret,
		     struct fault *fault)
{
	enum err e;

	for (size_t i = 0; i < b->held.n; i++) {
		*ret = b->held.v[i];
		if ((*ret)->day == day && str_eq((*ret)->service, service))
			return ERR_OK;
	}
	TRY(vec_reserve(&b->held, 1));
	if (b->locked)
		mutex_unlock(&b->locked->lock);
	e = b->store->ops->partition(b->store, b->tenant, service, day, ret, fault);
	if (!e)
		allow_growth(*ret);
	if (b->locked)
		mutex_lock(&b->locked->lock);
	if (!e)
		b->held.v[b->held.n++] = *ret;
	return e;
}

/* Counts what was refused, by reason. */
static enum err refuse(struct store_batch *b, enum err e)
{
	if (e)
		atomic_fetch_add(&b->store->refused[e], 1);
	return e;
}

static enum err lock_service(struct store_batch *b, struct str service, struct fault *fault)
{
	int64_t day = day_of(store_now(b->store));
	struct partition *p;

	if (b->locked && b->locked->day == day && str_eq(b->locked->service, service))
		return ERR_OK;
	unlock(b);
	TRY(hold(b, service, day, &p, fault));
	mutex_lock(&p->lock);
	b->locked = p;
	partition_limit(p, &b->store->options.limits);
	if (p->dict.stacks.entries.n < b->store->options.limits.max_stacks)
		return ERR_OK;
	unlock(b);
	return fault_set(fault, ERR_TOO_LARGE,
			 "the service \"%.*s\" has %" PRIu64
			 " different stacks today, and more are refused",
			 (int)service.n, service.p, b->store->options.limits.max_stacks);
}

enum err store_batch_service(struct store_batch *b, struct str service, struct dict **ret_dict,
			     struct fault *fault)
{
	TRY(refuse(b, lock_service(b, service, fault)));
	*ret_dict = &b->locked->dict;
	return ERR_OK;
}

static enum err check_time(const struct store_batch *b, int64_t time_ns, struct fault *fault)
{
	const struct store_limits *limits = &b->store->options.limits;
	int64_t low, high;
	char text[CLOCK_TEXT_SIZE];

	/* While the clock cannot be trusted, senders with the right time and those on this host are
	 * both believed: what is refused is lost. */
	trusted_clock_bounds(&b->store->clock, &low, &high);
	if (time_ns <= 0)
		return fault_set(fault, ERR_BAD_ARGUMENT, "the profile has no time");
	if (time_ns < low - limits->max_age_ns)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the profile began at %s, and nothing older than %lld hours is "
				 "taken",
				 clock_format(time_ns, 0, text),
				 (long long)limits->max_age_ns / (3600 * NS_PER_S));
	if (time_ns > high && time_ns - high > limits->max_ahead_ns)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the profile began at %s, which is more than %lld minutes ahead: "
				 "is the sender's clock right?",
				 clock_format(time_ns, 0, text),
				 (long long)limits->max_ahead_ns / (60 * NS_PER_S));
	return ERR_OK;
}

static enum err find_service(const struct series_profile *p, struct str *ret, struct fault *fault)
{
	for (size_t i = 0; i < p->label_count; i++) {
		if (!str_eq(p->labels[i].name, STR("service_name")) || !p->labels[i].value.n)
			continue;
		*ret = p->labels[i].value;
		return ERR_OK;
	}
	return fault_set(fault, ERR_BAD_ARGUMENT, "the profile has no label service_name");
}

/*
 * Locks the partition a profile goes to. The one that store_batch_service locked stays locked when
 * the profile is over its dictionary; both are then taken in their order, so that two batches never
 * wait for each other.
 */
static void lock_target(struct store_batch *b, struct partition *p, const struct dict *source)
{
	if (p == b->locked)
		return;
	if (b->locked && source != &b->locked->dict)
		unlock(b);
	if (b->locked && p->order < b->locked->order) {
		mutex_unlock(&b->locked->lock);
		mutex_lock(&p->lock);
		mutex_lock(&b->locked->lock);
		return;
	}
	mutex_lock(&p->lock);
}

static enum err add(struct store_batch *b, const struct series_profile *profile,
		    struct fault *fault)
{
	struct batch_chunk chunk = {.at = b->bytes.n};
	struct str service;
	enum err e;

	TRY(check_time(b, profile->time_ns, fault));
	TRY(find_service(profile, &service, fault));
	TRY(hold(b, service, day_of(profile->time_ns), &chunk.partition, fault));
	TRY(vec_reserve(&b->chunks, 1));
	lock_target(b, chunk.partition, profile->profile->dict);
	e = partition_encode(chunk.partition, profile, &b->store->options.limits, &b->bytes,
			     &chunk.info, fault);
	if (chunk.partition != b->locked)
		mutex_unlock(&chunk.partition->lock);
	if (e) {
		/* A failed append leaves nothing behind, also not its error. */
		b->bytes.n = chunk.at;
		b->bytes.error = ERR_OK;
		return e;
	}
	chunk.n = b->bytes.n - chunk.at;
	b->cut_stacks += chunk.info.cut_stacks;
	b->rows += chunk.info.rows;
	if (chunk.n)
		b->chunks.v[b->chunks.n++] = chunk;
	return ERR_OK;
}

enum err store_batch_add(struct store_batch *b, const struct series_profile *p, struct fault *fault)
{
	return refuse(b, add(b, p, fault));
}

uint64_t store_batch_cut_stacks(const struct store_batch *b)
{
	return b->cut_stacks;
}

static enum err copy_span(struct store_batch *b, struct trace_span *s)
{
	struct label_pair *attributes =
		arena_zalloc(&b->arena, s->attribute_count + 1, sizeof(*attributes));

	if (!attributes)
		return ERR_NO_MEMORY;
	s->service = arena_str(&b->arena, s->service);
	s->operation = arena_str(&b->arena, s->operation);
	for (size_t i = 0; i < s->attribute_count; i++) {
		attributes[i].name = arena_str(&b->arena, s->attributes[i].name);
		attributes[i].value = arena_str(&b->arena, s->attributes[i].value);
		if (!attributes[i].name.p || !attributes[i].value.p)
			return ERR_NO_MEMORY;
	}
	s->attributes = attributes;
	return s->service.p && s->operation.p ? ERR_OK : ERR_NO_MEMORY;
}

enum err store_batch_span(struct store_batch *b, const struct trace_span *span, struct fault *fault)
{
	struct trace_span copy = *span;
	enum err e = check_time(b, span->start_ns, fault);

	if (!e)
		e = copy_span(b, &copy);
	if (!e)
		e = vec_push(&b->spans, copy);
	return refuse(b, e);
}

void store_batch_commit(struct store_batch *b,
			void (*done)(void *context, enum err error, const struct fault *fault),
			void *context)
{
	unlock(b);
	b->done = done;
	b->context = context;
	if (!b->chunks.n && !b->spans.n)
		batch_finish(b, ERR_OK, NULL);
	else
		b->store->ops->commit(b->store, b);
}
