/* Finds the services of a day that a query concerns, by the day's index. */
#include "store/embedded_index.h"

#include "store/coverage.h"
#include "store/label_listing.h"
#include "store/reach.h"

/* For a day before the range: a bit per service with profiles that extend into the range. */
static enum err reaching(struct day *d, const struct series_index *x, int64_t from_ns,
			 uint64_t **ret)
{
	uint64_t *services;

	*ret = NULL;
	if ((d->name.day + 1) * NS_PER_DAY > from_ns)
		return ERR_OK;
	services = mem_zalloc(x->services.n / 64 + 1, sizeof(*services));
	if (!services)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < x->services.n; i++) {
		struct day_service *ds = day_service_by_id(d, x->services.v[i].id);

		if (ds && reach_after_day(ds, from_ns, from_ns))
			services[i / 64] |= UINT64_C(1) << (i % 64);
	}
	*ret = services;
	return ERR_OK;
}

static enum err refuse_damaged(struct day_index *x, const struct selection *selection,
			       struct fault *fault)
{
	vec_for_each (id, &x->damaged) {
		struct day_service *ds = day_service_by_id(x->day, *id);
		bool takes;

		if (!ds)
			continue;
		TRY(selection_takes_service(selection, str_of(ds->name), &takes));
		if (takes)
			return day_damaged(x->day, ERR_DAMAGED, "the dictionary", ds->name, fault);
	}
	return ERR_OK;
}

bool index_is_stale(struct day_index *x)
{
	bool stale;

	engine_lock(x->day->engine);
	stale = x->stale;
	engine_unlock(x->day->engine);
	return stale;
}

static bool is_damaged(const struct day_index *x, uint32_t id)
{
	vec_for_each (damaged, &x->damaged)
		if (*damaged == id)
			return true;
	return false;
}

static enum err list_service(struct day_index *x, const struct service_bits *bits,
			     const struct selection *selection, struct day_service *ds,
			     struct service_list *ret)
{
	uint32_t id = atomic_load(&ds->id);
	const struct index_service *s = series_index_service(&x->table, id);
	struct listed_service one = {.service = ds, .at = MAP_NONE};
	bool takes = false;

	if (s && s->series.n) {
		one.at = (uint32_t)(s - x->table.services.v);
		takes = bits->matching[one.at / 64] >> (one.at % 64) & 1;
		one.open = bits->open[one.at / 64] >> (one.at % 64) & 1;
	} else if (id && is_damaged(x, id)) {
		TRY(selection_takes_service(selection, str_of(ds->name), &takes));
	}
	return takes ? vec_push(&ret->v, one) : ERR_OK;
}

/* In the order of the day, so that results do not depend on what is in memory. */
static enum err list_day(struct day_index *x, const struct service_bits *bits,
			 const struct selection *selection, struct service_list *ret)
{
	struct day_service *some[SERVICES_PORTION];
	size_t n;

	for (size_t i = 0; (n = day_services_from(x->day, i, some, SERVICES_PORTION)); i += n)
		for (size_t k = 0; k < n; k++)
			TRY(list_service(x, bits, selection, some[k], ret));
	return ERR_OK;
}

enum err index_list_only(struct day_index *x, const struct str *names, size_t n,
			 struct service_list *ret)
{
	for (size_t i = 0; i < n; i++) {
		struct day_service *ds = day_service_find(x->day, names[i]);
		uint32_t id = ds ? atomic_load(&ds->id) : 0;
		const struct index_service *s = series_index_service(&x->table, id);
		struct listed_service one = {.service = ds, .at = MAP_NONE};

		if (!id || (!(s && s->series.n) && !is_damaged(x, id)))
			continue;
		if (s && s->series.n)
			one.at = (uint32_t)(s - x->table.services.v);
		TRY(vec_push(&ret->v, one));
	}
	return ERR_OK;
}

enum err index_list(struct day_index *x, const struct selection *selection, struct ask *ask,
		    struct service_list *ret)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct service_bits bits;
	struct service_list list = {0};
	enum err error = index_services(&x->table, selection, ask, &arena, &bits);

	if (error == ERR_OK)
		error = list_day(x, &bits, selection, &list);
	if (error == ERR_OK)
		*ret = list;
	else
		vec_release(&list.v);
	return error;
}

static enum err each_day(struct day *d, const struct selection *selection, struct ask *ask,
			 enum err (*each)(void *, struct series_index *, const uint64_t *),
			 void *context)
{
	CLEANUP(mem_free_ptr) uint64_t *services = NULL;
	struct fault *fault = ask ? ask->fault : NULL;
	struct day_index *x;
	enum err error;

	if (ask_cancelled(ask))
		return fault_set(fault, ERR_CANCELLED, "the query was cancelled");
	TRY(day_ask(d, ask));
	TRY(index_get(d, &x, fault));
	error = ask_forgive(ask, refuse_damaged(x, selection, fault), fault);
	if (error == ERR_OK)
		error = reaching(d, &x->table, selection->from_ns, &services);
	if (error == ERR_OK)
		error = each(context, &x->table, services);
	index_put(x);
	return error;
}

enum err embedded_indexes(void *engine, struct str tenant, const struct selection *selection,
			  struct ask *ask,
			  enum err (*each)(void *, struct series_index *, const uint64_t *),
			  void *context)
{
	struct fault *fault = ask ? ask->fault : NULL;
	struct day_list days = {0};
	struct tenant *t;
	enum err error = tenant_get(engine, tenant, false, &t, fault);

	if (error == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(error);
	if (selection->from_ns >= selection->until_ns)
		return ERR_OK;
	TRY(days_of_range(t, DAY_PROFILES, add_saturating(selection->from_ns, -PROFILE_LONGEST_NS),
			  selection->until_ns, &days, fault));
	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = ask_forgive(ask, each_day(days.v.v[i], selection, ask, each, context),
				    fault);
	day_list_put(&days);
	return error;
}
