/*
 * Service by service, for queries about all of them: small partitions are built from the indexes of
 * the days, and freed before the next service.
 */
#include <stdlib.h>

#include "store/coverage.h"
#include "store/embedded_index.h"
#include "store/reach.h"

/* A partition without a dictionary, used again for one service after the other. */
struct light {
	struct partition p;
	struct arena arena;
};

struct apart_day {
	struct day *day;
	struct day_index *index; /* in use, but not locked */
	uint64_t began;		 /* the latest version of any service before the index was read */
	struct service_list services;
};

/* A service on one of the days. */
struct apart_service {
	const struct listed_service *listed;
	uint32_t day;
};

struct apart {
	struct embedded *engine;
	const struct apart_use *use;
	struct ask *ask;
	struct day_list list;
	VEC(struct apart_day) days;
	VEC(struct apart_service) services;
	struct light *lights; /* one for each day */
	struct partition **partitions;
	struct partition **full; /* those that were loaded, to be given back */
	struct day_service **busy;
	size_t n;    /* of the current service */
	bool sorted; /* services are sorted by name */
};

static void light_release(struct light *l)
{
	vec_release(&l->p.series);
	vec_release(&l->p.types);
	vec_release(&l->p.pairs);
	map_release(&l->p.type_index);
	map_release(&l->p.pair_index);
	arena_release(&l->arena);
	mutex_release(&l->p.lock);
}

static void apart_release(struct apart *a)
{
	for (size_t i = 0; i < a->days.n; i++) {
		if (a->lights)
			light_release(&a->lights[i]);
		vec_release(&a->days.v[i].services.v);
		mutex_lock(&a->days.v[i].index->lock);
		index_put(a->days.v[i].index);
	}
	vec_release(&a->days);
	vec_release(&a->services);
	mem_free(a->lights);
	mem_free(a->partitions);
	mem_free(a->full);
	mem_free(a->busy);
	day_list_put(&a->list);
}

/* ------------------------------------------------------------------ a light partition */

static enum err fill_series(struct light *l, const struct series_index *x,
			    const struct index_service *s)
{
	for (size_t i = 0; i < s->series.n; i++) {
		const struct index_series *from = &x->series.v[s->series.v[i]];
		struct series_entry *to = &l->p.series.v[i];
		struct label_pair *labels =
			arena_alloc(&l->arena, (from->label_count + 1) * sizeof(*labels));

		if (!labels)
			return ERR_NO_MEMORY;
		for (uint32_t k = 0; k < from->label_count; k++) {
			const struct index_label *label =
				&x->labels.v[x->label_pool.v[from->labels_at + k]];

			labels[k] = (struct label_pair){x->texts.v[label->name],
							x->texts.v[label->value]};
		}
		*to = (struct series_entry){.labels = labels,
					    .n = from->label_count,
					    .hash = from->hash,
					    .first_ns = from->first_ns,
					    .last_ns = from->last_ns};
	}
	l->p.series.n = s->series.n;
	return ERR_OK;
}

/* The types of each series matter only with derived types. */
static enum err fill_pairs(struct light *l, const struct series_index *x,
			   const struct index_service *s)
{
	for (uint32_t t = 0; t < s->types.n; t++)
		TRY(map_put(&l->p.type_index, l->p.types.v[t].hash, t));
	for (uint32_t i = 0; i < s->series.n; i++) {
		const struct index_type_set *set =
			&x->type_sets.v[x->series.v[s->series.v[i]].type_set];

		for (uint32_t k = 0; k < set->n; k++)
			for (uint32_t t = 0; t < s->types.n; t++)
				if (s->types.v[t] == x->type_pool.v[set->at + k])
					TRY(partition_pair(&l->p, i, t));
	}
	return ERR_OK;
}

static enum err fill(struct light *l, const struct series_index *x, const struct index_service *s,
		     struct day_service *ds)
{
	struct partition *p = &l->p;
	bool derived = false;

	arena_release(&l->arena);
	l->arena = (struct arena){0};
	p->series.n = p->types.n = p->pairs.n = 0;
	map_clear(&p->type_index);
	map_clear(&p->pair_index);
	p->light = true;
	p->engine = ds;
	p->tenant = str_of(ds->day->tenant->name);
	p->service = str_of(ds->name);
	p->day = ds->day->name.day;
	p->dict.seed = x->seed;
	TRY(vec_reserve(&p->series, s->series.n + 1));
	TRY(vec_reserve(&p->types, s->types.n + 1));
	for (size_t i = 0; i < s->types.n; i++) {
		const struct index_type *type = &x->types.v[s->types.v[i]];

		derived |= type->derived;
		p->types.v[p->types.n++] = (struct type_entry){
			.id = x->texts.v[type->text], .gauge = type->gauge, .hash = type->hash};
	}
	TRY(fill_series(l, x, s));
	return derived ? fill_pairs(l, x, s) : ERR_OK;
}

/* ------------------------------------------------------------------ a service */

/* Its partition of a day, until finish_service. */
static enum err open_service(struct apart *a, const struct apart_service *one)
{
	struct apart_day *d = &a->days.v[one->day];
	struct day_service *ds = one->listed->service;
	struct partition *full = NULL;
	enum err error;

	question_begin(ds);
	error = ask_forgive(a->ask, service_verify(ds, a->ask->fault), a->ask->fault);
	if (error != ERR_OK) {
		question_end(ds);
		return error;
	}
	if (one->listed->at == MAP_NONE || one->listed->open || index_is_stale(d->index)) {
		error = service_partition(ds, &full, a->ask->fault);
		a->partitions[a->n] = full;
	} else {
		mutex_lock(&d->index->lock);
		error = fill(&a->lights[one->day], &d->index->table,
			     &d->index->table.services.v[one->listed->at], ds);
		mutex_unlock(&d->index->lock);
		a->partitions[a->n] = &a->lights[one->day].p;
	}
	if (error != ERR_OK) {
		question_end(ds);
		return error;
	}
	a->busy[a->n] = ds;
	a->full[a->n] = full;
	a->n++;
	return ERR_OK;
}

static void finish_service(struct apart *a)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->full[i])
			partition_give_back(a->engine, a->full[i]);
		question_end(a->busy[i]);
	}
	a->n = 0;
}

static bool same_service(const struct apart_service *x, const struct apart_service *y)
{
	return strcmp(x->listed->service->name, y->listed->service->name) == 0;
}

/* A service on `n` days that follow each other in the list. */
static struct totals_key key_of(const struct apart_service *first, size_t n)
{
	return (struct totals_key){
		.version = atomic_load(&first[n - 1].listed->service->version),
		.before = n > 1 ? atomic_load(&first[0].listed->service->version) : 0,
		.days = (unsigned)n,
	};
}

/* Whether all its partitions are of the indexes, and none has changed since these were brought up to
 * date. */
static bool may_keep(const struct apart *a, const struct apart_service *first, size_t n,
		     const struct totals_key *key)
{
	if (n > TOTALS_DAYS || a->n != n || key->version > a->days.v[first[n - 1].day].began ||
	    (n > 1 && key->before > a->days.v[first[0].day].began))
		return false;
	for (size_t i = 0; i < n; i++)
		if (a->full[i] || a->busy[i] != first[i].listed->service ||
		    first[i].listed->at == MAP_NONE)
			return false;
	return true;
}

/* A service with the partitions that are open. Totals are cached beside the index of its last day. */
static enum err use_service(struct apart *a, const struct apart_service *first, size_t n,
			    const struct totals_key *key)
{
	struct day_index *x = a->days.v[first[n - 1].day].index;
	struct service_totals *totals = NULL;
	enum err error = a->use->each(a->use->context, str_of(first->listed->service->name),
				      a->partitions, a->n, &totals);

	if (!totals || !may_keep(a, first, n, key)) {
		mem_free(totals);
		return error;
	}
	mutex_lock(&x->lock);
	totals_keep(x, first[n - 1].listed->at, key, totals);
	mutex_unlock(&x->lock);
	return error;
}

/* The entries of a service, one for each day; they are adjacent. */
static size_t count_days(const struct apart *a, size_t i)
{
	size_t n = 1;

	while (i + n < a->services.n && same_service(&a->services.v[i], &a->services.v[i + n]))
		n++;
	return n;
}

static enum err each_service(struct apart *a)
{
	enum err error = ERR_OK;

	for (size_t i = 0, n; error == ERR_OK && i < a->services.n; i += n) {
		const struct apart_service *first = &a->services.v[i];
		struct totals_key key;

		if (ask_cancelled(a->ask))
			return fault_set(a->ask->fault, ERR_CANCELLED, "the query was cancelled");
		n = count_days(a, i);
		key = key_of(first, n);
		for (size_t k = 0; error == ERR_OK && k < n; k++)
			if (atomic_load(&first[k].listed->service->id))
				error = ask_forgive(a->ask, open_service(a, first + k),
						    a->ask->fault);
		if (error == ERR_OK)
			error = use_service(a, first, n, &key);
		error = ask_forgive(a->ask, error, a->ask->fault);
		finish_service(a);
	}
	return error;
}

/* ------------------------------------------------------------------ cached totals */

static bool is_sound(const struct listed_service *listed)
{
	return listed->at != MAP_NONE && !listed->open && atomic_load(&listed->service->id) &&
	       atomic_load(&listed->service->verified);
}

static enum err ask_known(struct apart *a, const struct apart_service *first, size_t n,
			  bool *ret_enough)
{
	const struct apart_service *last = &first[n - 1];
	struct day_index *x = a->days.v[last->day].index;
	struct totals_key key = key_of(first, n);
	const struct service_totals *totals;
	enum err error = ERR_OK;

	*ret_enough = false;
	for (size_t i = 0; i < n; i++)
		if (!is_sound(first[i].listed))
			return ERR_OK;
	mutex_lock(&x->lock);
	totals = totals_find(x, last->listed->at, &key);
	if (totals)
		error = a->use->known(a->use->context, str_of(last->listed->service->name), totals,
				      ret_enough);
	mutex_unlock(&x->lock);
	return error;
}

/* Removes the services from the list whose cached totals suffice. Before it is sorted, all of it is of
 * one day. */
static enum err pass_known(struct apart *a)
{
	size_t kept = 0, n;

	for (size_t i = 0; i < a->services.n; i += n) {
		struct apart_service *first = &a->services.v[i];
		bool enough = false;

		if (i % SERVICES_PORTION == 0 && ask_cancelled(a->ask))
			return fault_set(a->ask->fault, ERR_CANCELLED, "the query was cancelled");
		n = a->sorted ? count_days(a, i) : 1;
		if (n <= TOTALS_DAYS)
			TRY(ask_known(a, first, n, &enough));
		for (size_t k = 0; !enough && k < n; k++)
			a->services.v[kept++] = first[k];
	}
	a->services.n = kept;
	return ERR_OK;
}

/* ------------------------------------------------------------------ all of them */

static int by_service(const void *left, const void *right)
{
	const struct apart_service *x = left, *y = right;
	int order = strcmp(x->listed->service->name, y->listed->service->name);

	return order ? order : (x->day > y->day) - (x->day < y->day);
}

/* Of a day before the range only what reaches into it, or holds until then. */
static void keep_reaching(struct apart_day *one, int64_t since_ns, int64_t from_ns)
{
	size_t kept = 0;

	if ((one->day->name.day + 1) * NS_PER_DAY > from_ns)
		return;
	vec_for_each (listed, &one->services.v)
		if (reach_after_day(listed->service, since_ns, from_ns))
			one->services.v.v[kept++] = *listed;
	one->services.v.n = kept;
}

static enum err add_day(struct apart *a, struct day *d, const struct selection *selection,
			int64_t since_ns)
{
	struct apart_day one = {.day = d};
	struct selection reaching = *selection;
	enum err error;

	reaching.from_ns = since_ns < selection->from_ns ? since_ns : selection->from_ns;

	TRY(day_ask(d, a->ask));
	TRY(day_verify(d, a->ask->fault));
	TRY(vec_reserve(&a->days, 1));
	one.began = atomic_load(&a->engine->versions);
	TRY(index_get(d, &one.index, a->ask->fault));
	error = a->use->only_count ? index_list_only(one.index, a->use->only, a->use->only_count,
						     &one.services)
				   : index_list(one.index, &reaching, a->ask, &one.services);
	if (error != ERR_OK) {
		index_put(one.index);
		return error;
	}
	mutex_unlock(&one.index->lock);
	keep_reaching(&one, since_ns, selection->from_ns);
	a->days.v[a->days.n++] = one;
	return ERR_OK;
}

static enum err gather(struct apart *a)
{
	size_t n = a->days.n + 1;

	a->lights = mem_zalloc(n, sizeof(*a->lights));
	a->partitions = mem_zalloc(n, sizeof(struct partition *));
	a->full = mem_zalloc(n, sizeof(struct partition *));
	a->busy = mem_zalloc(n, sizeof(struct day_service *));
	if (!a->lights || !a->partitions || !a->full || !a->busy)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < a->days.n; i++) {
		mutex_init(&a->lights[i].p.lock);
		vec_for_each (listed, &a->days.v[i].services.v)
			TRY(vec_push(&a->services, ((struct apart_service){listed, i})));
	}
	return ERR_OK;
}

static void sort_services(struct apart *a)
{
	if (!a->sorted && a->services.n)
		qsort(a->services.v, a->services.n, sizeof(*a->services.v), by_service);
	a->sorted = true;
}

/* Whether the services are from several days. */
static bool have_company(const struct apart *a)
{
	return a->services.n && a->services.v[0].day != a->services.v[a->services.n - 1].day;
}

enum err embedded_apart(void *engine, struct str tenant, const struct selection *selection,
			int64_t since_ns, struct ask *ask, const struct apart_use *use)
{
	CLEANUP(apart_release) struct apart a = {.engine = engine, .use = use, .ask = ask};
	int64_t from = selection->from_ns;
	struct tenant *t;
	enum err error = tenant_get(engine, tenant, false, &t, ask->fault);

	if (error == ERR_NOT_FOUND || selection->from_ns >= selection->until_ns)
		return ERR_OK;
	TRY(error);
	/* Of the days before only what reaches into the range. */
	if (since_ns <= from)
		from = add_saturating(since_ns, -PROFILE_LONGEST_NS);
	TRY(days_of_range(t, DAY_PROFILES, from, selection->until_ns, &a.list, ask->fault));
	for (size_t i = 0; i < a.list.v.n; i++) {
		struct day *d = a.list.v.v[i];

		error = ask_forgive(ask, add_day(&a, d, selection, since_ns), ask->fault);
		/* Ignore errors of a day that was deleted meanwhile. */
		if (error == ERR_CANCELLED || !atomic_load(&d->gone))
			TRY(error);
	}
	TRY(gather(&a));
	if (have_company(&a))
		sort_services(&a);
	if (use->known)
		TRY(pass_known(&a));
	sort_services(&a);
	if (use->begin)
		use->begin(use->context, a.services.n);
	return each_service(&a);
}
