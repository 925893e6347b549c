#include "store/store_memory.h"

#include <stdlib.h>

#include "base/hash.h"
#include "store/coverage.h"

void memory_enter(struct memory_store *m)
{
	mutex_lock(&m->lock);
	while (m->deleting)
		cond_wait(&m->idle, &m->lock);
	m->questions++;
	mutex_unlock(&m->lock);
}

void memory_leave(struct memory_store *m)
{
	mutex_lock(&m->lock);
	if (!--m->questions)
		cond_broadcast(&m->idle);
	mutex_unlock(&m->lock);
}

void memory_enter_alone(struct memory_store *m)
{
	mutex_lock(&m->lock);
	while (m->deleting || m->questions)
		cond_wait(&m->idle, &m->lock);
	m->deleting = true;
	mutex_unlock(&m->lock);
}

void memory_leave_alone(struct memory_store *m)
{
	mutex_lock(&m->lock);
	m->deleting = false;
	cond_broadcast(&m->idle);
	mutex_unlock(&m->lock);
}

void memory_drop(struct partition *p)
{
	struct memory_partition *own = p->engine;

	if (atomic_fetch_sub(&p->references, 1) != 1)
		return;
	for (size_t i = 0; own && i < own->chunks.n; i++)
		mem_free(own->chunks.v[i].bytes);
	if (own)
		vec_release(&own->chunks);
	mem_free(own);
	partition_free(p);
}

static void give_back(struct store *s, struct partition *p)
{
	(void)s;
	memory_drop(p);
}

static void memory_close(struct store *s)
{
	struct memory_store *m = (struct memory_store *)s;

	for (size_t i = 0; i < m->partitions.n; i++)
		memory_drop(m->partitions.v[i]);
	for (size_t i = 0; i < m->quotas.n; i++)
		mem_free(m->quotas.v[i]);
	for (size_t i = 0; i < m->settings.n; i++) {
		mem_free(m->settings.v[i].name);
		mem_free(m->settings.v[i].value);
	}
	vec_release(&m->partitions);
	vec_release(&m->quotas);
	vec_release(&m->spans);
	vec_release(&m->settings);
	arena_release(&m->arena);
	mutex_release(&m->commit);
	mutex_release(&m->lock);
	cond_release(&m->idle);
	store_base_release(s);
	mem_free(m);
}

/* ------------------------------------------------------------------ partitions */

static enum err find_quota(struct memory_store *m, struct str tenant, int64_t day,
			   struct quota **ret)
{
	struct memory_quota *q;

	for (size_t i = 0; i < m->quotas.n; i++) {
		q = m->quotas.v[i];
		*ret = &q->quota;
		if (q->day == day && str_eq(q->tenant, tenant))
			return ERR_OK;
	}
	TRY(vec_reserve(&m->quotas, 1));
	q = mem_zalloc(1, sizeof(*q));
	if (!q)
		return ERR_NO_MEMORY;
	m->quotas.v[m->quotas.n++] = q;
	q->day = day;
	q->tenant = arena_str(&m->arena, tenant);
	*ret = &q->quota;
	return q->tenant.p ? ERR_OK : ERR_NO_MEMORY;
}

static enum err make_partition(struct memory_store *m, struct str tenant, struct str service,
			       int64_t day, struct partition **ret)
{
	struct partition *p;
	struct quota *quota;

	TRY(vec_reserve(&m->partitions, 1));
	TRY(find_quota(m, tenant, day, &quota));
	TRY(partition_new(tenant, service, day, m->base.seed, quota, &p));
	p->engine = mem_zalloc(1, sizeof(struct memory_partition));
	if (!p->engine) {
		partition_free(p);
		return ERR_NO_MEMORY;
	}
	atomic_store(&p->references, 1);
	m->partitions.v[m->partitions.n++] = p;
	*ret = p;
	return ERR_OK;
}

static enum err find_or_make(struct memory_store *m, struct str tenant, struct str service,
			     int64_t day, struct partition **ret)
{
	for (size_t i = 0; i < m->partitions.n; i++) {
		struct partition *p = m->partitions.v[i];

		*ret = p;
		if (p->day == day && str_eq(p->service, service) && str_eq(p->tenant, tenant))
			return ERR_OK;
	}
	return make_partition(m, tenant, service, day, ret);
}

static enum err memory_get(struct store *s, struct str tenant, struct str service, int64_t day,
			   struct partition **ret, struct fault *fault)
{
	struct memory_store *m = (struct memory_store *)s;
	enum err e;

	(void)fault;
	mutex_lock(&m->lock);
	e = find_or_make(m, tenant, service, day, ret);
	if (!e)
		atomic_fetch_add(&(*ret)->references, 1);
	mutex_unlock(&m->lock);
	return e;
}

/* ------------------------------------------------------------------ commit */

static void free_copies(struct stored_chunk *copies, size_t n)
{
	for (size_t i = 0; copies && i < n; i++)
		mem_free(copies[i].bytes);
	mem_free(copies);
}

static enum err copy_chunks(const struct store_batch *b, struct stored_chunk *copies)
{
	for (size_t i = 0; i < b->chunks.n; i++) {
		const struct batch_chunk *chunk = &b->chunks.v[i];

		copies[i] = (struct stored_chunk){
			.bytes = mem_alloc(chunk->n),
			.n = chunk->n,
			.time_ns = chunk->info.time_ns,
			.duration_ns = chunk->info.duration_ns,
			.series = chunk->info.series,
			.rows = chunk->info.rows,
		};
		if (!copies[i].bytes)
			return ERR_NO_MEMORY;
		memcpy(copies[i].bytes, b->bytes.data + chunk->at, chunk->n);
	}
	return ERR_OK;
}

/* Room in every list first: then nothing can fail half way. One batch at a time commits, so that no
 * other takes the room. */
static enum err reserve_lists(const struct store_batch *b)
{
	for (size_t i = 0; i < b->chunks.n; i++) {
		struct partition *p = b->chunks.v[i].partition;
		struct memory_partition *own = p->engine;
		enum err e;

		mutex_lock(&p->lock);
		e = vec_reserve(&own->chunks, b->chunks.n);
		mutex_unlock(&p->lock);
		if (e)
			return e;
	}
	return ERR_OK;
}

static enum err put_chunks(struct memory_store *m, const struct store_batch *b,
			   struct stored_chunk *copies, struct fault *fault)
{
	enum err e;

	TRY(reserve_lists(b));
	mutex_lock(&m->lock);
	e = memory_add_spans(m, b, fault);
	mutex_unlock(&m->lock);
	if (e)
		return e;
	for (size_t i = 0; i < b->chunks.n; i++) {
		struct partition *p = b->chunks.v[i].partition;
		struct memory_partition *own = p->engine;

		mutex_lock(&p->lock);
		own->chunks.v[own->chunks.n++] = copies[i];
		mutex_unlock(&p->lock);
		copies[i].bytes = NULL;
	}
	atomic_fetch_add(&m->commits, 1);
	return ERR_OK;
}

static void memory_commit(struct store *s, struct store_batch *b)
{
	struct memory_store *m = (struct memory_store *)s;
	struct stored_chunk *copies = mem_zalloc(b->chunks.n + 1, sizeof(*copies));
	struct fault fault = {0};
	enum err e = copies ? copy_chunks(b, copies) : ERR_NO_MEMORY;

	if (!e) {
		mutex_lock(&m->commit);
		e = put_chunks(m, b, copies, &fault);
		mutex_unlock(&m->commit);
	}
	free_copies(copies, b->chunks.n);
	batch_finish(b, e, e ? &fault : NULL);
}

/* ------------------------------------------------------------------ reading */

static int compare_days(const void *left, const void *right)
{
	const struct partition *a = *(struct partition *const *)left;
	const struct partition *b = *(struct partition *const *)right;

	return a->day != b->day ? (a->day > b->day) - (a->day < b->day)
				: str_cmp(a->service, b->service);
}

static enum err list_locked(const struct memory_store *m, struct str tenant,
			    struct partition_list *ret)
{
	ret->v = mem_zalloc(m->partitions.n + 1, sizeof(struct partition *));
	if (!ret->v)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m->partitions.n; i++) {
		if (!str_eq(m->partitions.v[i]->tenant, tenant))
			continue;
		atomic_fetch_add(&m->partitions.v[i]->references, 1);
		ret->v[ret->n++] = m->partitions.v[i];
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(struct partition *), compare_days);
	return ERR_OK;
}

enum err memory_list(struct memory_store *m, struct str tenant, struct partition_list *ret)
{
	enum err e;

	*ret = (struct partition_list){0};
	mutex_lock(&m->lock);
	e = list_locked(m, tenant, ret);
	mutex_unlock(&m->lock);
	return e;
}

void partition_list_release(struct partition_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		memory_drop(l->v[i]);
	mem_free(l->v);
}

static bool chunk_touches(const struct stored_chunk *chunk, int64_t since_ns, int64_t from_ns,
			  int64_t until_ns)
{
	struct chunk_head head = {.time_ns = chunk->time_ns, .duration_ns = chunk->duration_ns};

	return profile_touches(&head, from_ns, until_ns) ||
	       (chunk->time_ns >= since_ns && chunk->time_ns < until_ns);
}

/* Whether something of a day before the range reaches into it. */
static bool reaches_range(const struct selection *s, int64_t since_ns, struct partition *p)
{
	struct memory_partition *own = p->engine;
	bool any = false;

	mutex_lock(&p->lock);
	for (size_t i = 0; !any && i < own->chunks.n; i++)
		any = chunk_touches(&own->chunks.v[i], since_ns, s->from_ns, s->until_ns);
	mutex_unlock(&p->lock);
	return any;
}

static enum err show_partition(const struct selection *s, int64_t since_ns, struct partition *p,
			       enum err (*each)(void *context, struct partition *p), void *context)
{
	int64_t end = (p->day + 1) * NS_PER_DAY;
	bool takes;

	if (p->day * NS_PER_DAY >= s->until_ns || (end <= s->from_ns && since_ns > s->from_ns))
		return ERR_OK;
	TRY(selection_takes_service(s, p->service, &takes));
	if (takes && end <= s->from_ns)
		takes = reaches_range(s, since_ns, p);
	return takes ? each(context, p) : ERR_OK;
}

static enum err memory_partitions(void *engine, struct str tenant,
				  const struct selection *selection, int64_t since_ns,
				  struct ask *ask,
				  enum err (*each)(void *context, struct partition *p),
				  void *context)
{
	struct memory_store *m = engine;
	struct partition_list list;
	enum err e;

	(void)ask;
	memory_enter(m);
	e = memory_list(m, tenant, &list);
	for (size_t i = 0; !e && i < list.n; i++)
		e = show_partition(selection, since_ns, list.v[i], each, context);
	partition_list_release(&list);
	memory_leave(m);
	return e;
}

static enum err show_chunk(const struct scan *scan, const struct stored_chunk *chunk,
			   struct arena *arena)
{
	struct chunk_view v;

	TRY(chunk_open(str_n(chunk->bytes, chunk->n), arena, &v));
	if (scan->ask) {
		scan->ask->chunks++;
		scan->ask->bytes += chunk->n;
	}
	return scan->each(scan->context, &v);
}

static bool scan_takes(const struct scan *scan, const struct stored_chunk *chunk)
{
	if (!chunk_touches(chunk, scan->since_ns, scan->from_ns, scan->until_ns))
		return false;
	return !scan->series || (chunk->series < scan->series_count &&
				 scan->series[chunk->series / 64] >> (chunk->series % 64) & 1);
}

static int by_start(const void *a, const void *b)
{
	const struct stored_chunk *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->duration_ns > y->duration_ns) - (x->duration_ns < y->duration_ns);
}

static enum err memory_scan(void *engine, struct partition *p, const struct scan *scan)
{
	struct memory_partition *own = p->engine;
	CLEANUP(mem_free_ptr) struct stored_chunk *chunks = NULL;
	struct arena arena = {0};
	size_t n = 0;
	enum err e = ERR_OK;

	(void)engine;
	/* The list may move while it grows; the bytes stay. */
	mutex_lock(&p->lock);
	chunks = mem_alloc((own->chunks.n + 1) * sizeof(*chunks));
	for (size_t i = 0; chunks && i < own->chunks.n; i++)
		if (scan_takes(scan, &own->chunks.v[i]))
			chunks[n++] = own->chunks.v[i];
	mutex_unlock(&p->lock);
	if (!chunks)
		return ERR_NO_MEMORY;
	if (n > 1)
		qsort(chunks, n, sizeof(*chunks), by_start);
	for (size_t i = 0; !e && i < n; i++) {
		e = show_chunk(scan, &chunks[i], &arena);
		if (arena.used > 1 << 15)
			arena_release(&arena);
	}
	arena_release(&arena);
	return e;
}

static enum err memory_backup(struct store *s, const char *destination, struct damage_notes *damage,
			      struct fault *fault)
{
	(void)s, (void)destination, (void)damage;
	return fault_set(fault, ERR_UNSUPPORTED, "a store in memory has no backup");
}

static const struct store_ops memory_ops = {
	.name = "memory",
	.close = memory_close,
	.partition = memory_get,
	.give_back = give_back,
	.commit = memory_commit,
	.partitions = memory_partitions,
	.scan = memory_scan,
	.spans = memory_spans,
	.stats = memory_stats,
	.tenants = memory_tenants,
	.delete = memory_delete,
	.backup = memory_backup,
	.settle = memory_settle,
	.setting_set = memory_setting_set,
	.settings = memory_settings,
};

enum err store_memory_open(const struct store_options *options, struct store **ret,
			   struct fault *fault)
{
	struct memory_store *m = mem_zalloc(1, sizeof(*m));
	enum err e;

	(void)fault;
	if (!m)
		return ERR_NO_MEMORY;
	mutex_init(&m->commit);
	mutex_init(&m->lock);
	cond_init(&m->idle);
	e = store_base_init(&m->base, &memory_ops, options, hash_random_seed());
	if (e)
		memory_close(&m->base);
	else
		*ret = &m->base;
	return e;
}
