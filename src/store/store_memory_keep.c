/*
 * The engine in memory: deleting, retention, spans, settings, numbers.
 */
#include <stdlib.h>

#include "store/coverage.h"
#include "store/question.h"
#include "store/store_memory.h"

/* ------------------------------------------------------------------ deleting */

struct deletion {
	struct partition *p;
	struct choice choice;
	const struct selection *selection;
	struct arena arena;
	struct chunk_scratch scratch;
	uint64_t profiles;
};

static bool keeps_type(void *context, uint32_t type)
{
	const struct deletion *d = context;

	return !choice_has_type(&d->choice, type);
}

/* Deletes the chunk, or what of it is selected. */
static enum err delete_from(struct deletion *d, struct stored_chunk *chunk)
{
	CLEANUP(buf_release) struct buf rest = BUF_INIT((size_t)1 << 30);
	struct chunk_view v;
	uint32_t hit = 0;

	if (chunk->time_ns < d->selection->from_ns || chunk->time_ns >= d->selection->until_ns ||
	    !choice_has_series(&d->choice, chunk->series))
		return ERR_OK;
	TRY(chunk_open(str_n(chunk->bytes, chunk->n), &d->arena, &v));
	for (uint32_t i = 0; i < v.head.column_count; i++)
		hit += choice_has_type(&d->choice, v.head.columns[i].type);
	if (!hit)
		return ERR_OK;
	TRY(chunk_filter_types(&v, keeps_type, d, &d->scratch, &rest));
	d->profiles++;
	mem_free(chunk->bytes);
	chunk->bytes = NULL;
	chunk->n = rest.n;
	if (!rest.n)
		return ERR_OK;
	/* The buffer's memory becomes the chunk's. */
	chunk->bytes = rest.data;
	rest = BUF_INIT(0);
	return ERR_OK;
}

/* The tables of series must match the remaining data again. */
static enum err recount_series(struct deletion *d, const struct memory_partition *own)
{
	struct partition *p = d->p;

	for (size_t i = 0; i < p->series.n; i++) {
		p->series.v[i].first_ns = INT64_MAX;
		p->series.v[i].last_ns = INT64_MIN;
	}
	map_clear(&p->pair_index);
	p->pairs.n = 0;
	for (size_t i = 0; i < own->chunks.n; i++) {
		struct series_entry *s = &p->series.v[own->chunks.v[i].series];
		struct chunk_view v;
		int64_t last;

		TRY(chunk_open(str_n(own->chunks.v[i].bytes, own->chunks.v[i].n), &d->arena, &v));
		if (v.head.time_ns < s->first_ns)
			s->first_ns = v.head.time_ns;
		last = last_moment(v.head.time_ns, v.head.duration_ns);
		if (last > s->last_ns)
			s->last_ns = last;
		for (uint32_t t = 0; t < v.head.column_count; t++)
			TRY(partition_pair(p, v.head.series, v.head.columns[t].type));
	}
	return ERR_OK;
}

static enum err delete_chunks(struct deletion *d, struct memory_partition *own)
{
	size_t kept = 0;
	enum err e = ERR_OK;

	for (uint32_t s = 0; s < d->choice.series_count; s++)
		if (choice_has_series(&d->choice, s) && d->choice.open[s])
			return ERR_UNSUPPORTED;
	for (size_t i = 0; i < own->chunks.n; i++) {
		if (!e)
			e = delete_from(d, &own->chunks.v[i]);
		if (own->chunks.v[i].bytes)
			own->chunks.v[kept++] = own->chunks.v[i];
	}
	own->chunks.n = kept;
	return e ? e : recount_series(d, own);
}

static enum err delete_in(struct partition *p, const struct selection *selection,
			  uint64_t *profiles)
{
	struct deletion d = {.p = p, .selection = selection};
	enum err e;

	mutex_lock(&p->lock);
	e = choice_init(&d.choice, p, selection);
	if (!e)
		e = delete_chunks(&d, p->engine);
	choice_release(&d.choice);
	mutex_unlock(&p->lock);
	chunk_scratch_release(&d.scratch);
	arena_release(&d.arena);
	*profiles += d.profiles;
	return e;
}

static void tell_aged(struct memory_store *m, const struct partition *p)
{
	const struct memory_partition *own = p->engine;
	struct store_deleted deleted = {.why = STORE_DELETED_AGE,
					.tenant = p->tenant,
					.service = p->service,
					.day = p->day,
					.count = own->chunks.n};

	for (size_t i = 0; i < own->chunks.n; i++)
		deleted.bytes += own->chunks.v[i].n;
	store_tell(&m->base, &(struct store_event){STORE_DELETED, .deleted = &deleted});
}

/* Frees empty and old partitions, with their dictionaries. 0: none is too old. */
static void drop_partitions(struct memory_store *m, int64_t retention_ns)
{
	size_t kept = 0;

	mutex_lock(&m->lock);
	for (size_t i = 0; i < m->partitions.n; i++) {
		struct partition *p = m->partitions.v[i];
		struct memory_partition *own = p->engine;
		bool old = retention_ns &&
			   trusted_clock_age(&m->base.clock, (p->day + 1) * NS_PER_DAY) >=
				   retention_ns;

		if (old && own->chunks.n)
			tell_aged(m, p);

		/* One that a batch holds will get something. */
		if (old || (atomic_load(&p->references) == 1 && !own->chunks.n))
			memory_drop(p);
		else
			m->partitions.v[kept++] = p;
	}
	m->partitions.n = kept;
	mutex_unlock(&m->lock);
}

enum err memory_delete(struct store *s, struct str tenant, const struct selection *selection,
		       struct ask *ask, uint64_t *ret_profiles)
{
	struct memory_store *m = (struct memory_store *)s;
	struct partition_list list;
	uint64_t profiles = 0;
	enum err e;

	memory_enter_alone(m);
	e = memory_list(m, tenant, &list);
	for (size_t i = 0; !e && i < list.n; i++) {
		bool takes = false;

		e = selection_takes_service(selection, list.v[i]->service, &takes);
		if (!e && takes)
			e = delete_in(list.v[i], selection, &profiles);
	}
	partition_list_release(&list);
	drop_partitions(m, 0);
	memory_leave_alone(m);
	if (e == ERR_UNSUPPORTED)
		return fault_set(ask ? ask->fault : NULL, e,
				 "profiles can be deleted by labels of their series only, not by "
				 "labels of samples");
	if (!e)
		*ret_profiles = profiles;
	return e;
}

enum err memory_settle(struct store *s, bool all, struct fault *fault)
{
	struct memory_store *m = (struct memory_store *)s;
	struct store_state state;

	(void)all;
	(void)fault;
	store_state(s, &state);
	if (!s->options.retention_ns || state.clock.trust != STORE_CLOCK_TRUSTED)
		return ERR_OK;
	memory_enter_alone(m);
	drop_partitions(m, s->options.retention_ns);
	memory_leave_alone(m);
	return ERR_OK;
}

/* ------------------------------------------------------------------ numbers */

static void count_partition(struct partition *p, struct store_stats *ret)
{
	const struct memory_partition *own = p->engine;

	mutex_lock(&p->lock);
	ret->dictionary_bytes += partition_memory(p);
	ret->profiles += own->chunks.n;
	for (size_t i = 0; i < own->chunks.n; i++) {
		int64_t time = own->chunks.v[i].time_ns;

		ret->rows += own->chunks.v[i].rows;
		ret->disk_bytes += own->chunks.v[i].n;
		if (!ret->oldest_ns || time < ret->oldest_ns)
			ret->oldest_ns = time;
		if (time > ret->newest_ns)
			ret->newest_ns = time;
	}
	mutex_unlock(&p->lock);
}

static size_t series_of(struct partition *p)
{
	size_t n;

	mutex_lock(&p->lock);
	n = p->series.n;
	mutex_unlock(&p->lock);
	return n;
}

/* A service at its first day: its series are those of the day with most. */
static void count_service(const struct partition_list *list, size_t at, struct store_stats *ret)
{
	size_t most = 0;

	for (size_t i = 0; i < list->n; i++) {
		size_t n;

		if (!str_eq(list->v[i]->service, list->v[at]->service))
			continue;
		if (i < at)
			return;
		n = series_of(list->v[i]);
		most = n > most ? n : most;
	}
	ret->services++;
	ret->series += most;
}

static uint64_t count_spans(struct memory_store *m, struct str tenant)
{
	uint64_t n = 0;

	mutex_lock(&m->lock);
	for (size_t i = 0; i < m->spans.n; i++)
		n += str_eq(m->spans.v[i].tenant, tenant);
	mutex_unlock(&m->lock);
	return n;
}

enum err memory_stats(struct store *s, struct str tenant, struct store_stats *ret)
{
	struct memory_store *m = (struct memory_store *)s;
	struct partition_list list;
	enum err e;

	memory_enter(m);
	e = memory_list(m, tenant, &list);
	for (size_t i = 0; !e && i < list.n; i++) {
		count_partition(list.v[i], ret);
		count_service(&list, i, ret);
	}
	partition_list_release(&list);
	memory_leave(m);
	ret->spans = count_spans(m, tenant);
	ret->commits = atomic_load(&m->commits);
	ret->fresh_chunks = ret->profiles;
	return e;
}

static int compare_texts(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static enum err list_tenants(const struct memory_store *m, struct text_answer *ret)
{
	size_t n = 0;

	ret->v = arena_zalloc(&ret->arena, m->partitions.n + 1, sizeof(*ret->v));
	if (!ret->v)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m->partitions.n; i++) {
		ret->v[i] = arena_str(&ret->arena, m->partitions.v[i]->tenant);
		if (!ret->v[i].p)
			return ERR_NO_MEMORY;
	}
	if (m->partitions.n)
		qsort(ret->v, m->partitions.n, sizeof(*ret->v), compare_texts);
	for (size_t i = 0; i < m->partitions.n; i++)
		if (!n || !str_eq(ret->v[n - 1], ret->v[i]))
			ret->v[n++] = ret->v[i];
	ret->n = n;
	return ERR_OK;
}

enum err memory_tenants(struct store *s, struct text_answer *ret)
{
	struct memory_store *m = (struct memory_store *)s;
	struct text_answer answer = {0};
	enum err e;

	mutex_lock(&m->lock);
	e = list_tenants(m, &answer);
	mutex_unlock(&m->lock);
	if (e)
		arena_release(&answer.arena);
	else
		*ret = answer;
	return e;
}
