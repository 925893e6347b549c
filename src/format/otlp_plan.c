/*
 * Model -> tables: resources, scopes, and which columns in which order.
 */
#include "format/otlp_planner.h"

static bool type_is(const struct dict *d, struct value_type t, struct str type, struct str unit)
{
	return str_eq(dict_str(d, t.type), type) && str_eq(dict_str(d, t.unit), unit);
}

/* CPU time that a reader adds to counts with times by itself: count times period, to the last. */
static bool has_derived_time(const struct profile *p)
{
	const struct dict *d = p->dict;

	if (!p->time || p->type_count != 2 || p->period <= 0 ||
	    !type_is(d, p->types[0], STR("samples"), STR("count")) ||
	    !type_is(d, p->types[1], STR("cpu"), STR("nanoseconds")) ||
	    !type_is(d, p->period_type, STR("cpu"), STR("nanoseconds")))
		return false;
	for (size_t i = 0; i < p->row_count; i++) {
		const int64_t *values = profile_values(p, i);
		int64_t product;

		if (__builtin_mul_overflow(values[0], p->period, &product))
			product = values[0] < 0 ? INT64_MIN : INT64_MAX;
		if (values[1] != product)
			return false;
	}
	return true;
}

static bool has_cpu(const struct profile *p)
{
	for (uint32_t t = 0; t < p->type_count; t++)
		if (str_eq(dict_str(p->dict, p->types[t].type), STR("cpu")))
			return true;
	return false;
}

/* Of which profiles the CPU time need not be written. A reader adds it only for resources that have
 * none written: for others it is written with all of their profiles. */
static enum err find_derived(struct otlp_planner *p, const struct profile_list *list, bool **ret)
{
	bool *derived = arena_zalloc(&p->arena, list->n, sizeof(*derived));
	bool *written = arena_zalloc(&p->arena, p->d->label_sets.entries.n, sizeof(*written));

	if (!derived || !written)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < list->n; i++) {
		derived[i] = has_derived_time(list->v[i]);
		if (!derived[i] && has_cpu(list->v[i]))
			written[list->v[i]->resource] = true;
	}
	for (size_t i = 0; i < list->n; i++)
		derived[i] &= !written[list->v[i]->resource];
	*ret = derived;
	return ERR_OK;
}

/* The default comes first in OTLP; the others keep their order. */
static uint32_t column_order(const struct profile *p, bool derived, uint32_t *order)
{
	uint32_t n = 0, first;

	if (derived) {
		order[0] = 0;
		return 1;
	}
	if (!p->type_count)
		return 0;
	first = (uint32_t)profile_default_type(p);
	order[n++] = first;
	for (uint32_t i = 0; i < p->type_count; i++)
		if (i != first)
			order[n++] = i;
	return n;
}

static enum err plan_profile(struct otlp_planner *p, const struct profile *src, bool derived)
{
	struct otlp_scope scope = {.profiles.at = (uint32_t)p->t->profiles.n};
	uint32_t order[PROFILE_MAX_TYPES];
	uint32_t columns = column_order(src, derived, order);
	int32_t index;

	/* The main binary comes first, as in pprof. */
	if (src->mappings.n)
		TRY(otlp_plan_mapping(p, src->mappings.v[0], &index));
	TRY(otlp_plan_scope(p, src, order, columns, &scope));
	TRY(otlp_plan_profiles(p, src, order, columns));
	scope.profiles.n = (uint32_t)p->t->profiles.n - scope.profiles.at;
	return vec_push(&p->t->scopes, scope);
}

static enum err plan_list(struct otlp_planner *p, const struct profile_list *list)
{
	bool *derived;

	TRY(find_derived(p, list, &derived));
	TRY(otlp_plan_zero_entries(p));
	for (size_t i = 0; i < list->n;) {
		struct otlp_resource r = {.scopes.at = (uint32_t)p->t->scopes.n};
		uint32_t resource = list->v[i]->resource;

		TRY(otlp_plan_pairs(p, resource, &r.attributes, &r.attribute_count));
		for (; i < list->n && list->v[i]->resource == resource; i++)
			TRY(plan_profile(p, list->v[i], derived[i]));
		r.scopes.n = (uint32_t)p->t->scopes.n - r.scopes.at;
		TRY(vec_push(&p->t->resources, r));
	}
	return ERR_OK;
}

static enum err planner_init(struct otlp_planner *p)
{
	const struct dict *d = p->d;

	p->strings = arena_zalloc(&p->arena, d->strings.n, sizeof(*p->strings));
	p->functions = arena_zalloc(&p->arena, d->functions.n, sizeof(*p->functions));
	p->mappings = arena_zalloc(&p->arena, d->mappings.n, sizeof(*p->mappings));
	p->links = arena_zalloc(&p->arena, d->links.n, sizeof(*p->links));
	p->stacks = arena_zalloc(&p->arena, d->stacks.entries.n, sizeof(*p->stacks));
	p->single = arena_zalloc(&p->arena, d->frames.n, sizeof(*p->single));
	p->coded = arena_zalloc(&p->arena, d->frames.n, sizeof(*p->coded));
	p->first_samples = arena_zalloc(&p->arena, d->stacks.entries.n, sizeof(*p->first_samples));
	p->sets = arena_zalloc(&p->arena, d->label_sets.entries.n, sizeof(*p->sets));
	if (!p->strings || !p->functions || !p->mappings || !p->links || !p->stacks || !p->single ||
	    !p->coded || !p->first_samples || !p->sets)
		return ERR_NO_MEMORY;
	return ERR_OK;
}

static void planner_release(struct otlp_planner *p)
{
	arena_release(&p->arena);
	vec_release(&p->extra);
	vec_release(&p->runs);
	vec_release(&p->scratch);
	vec_release(&p->stack_scratch);
	map_release(&p->run_index);
	map_release(&p->attribute_index);
}

enum err otlp_plan(struct writing *in, bool encode, struct otlp_tables *ret)
{
	struct otlp_planner p = {.in = in, .t = ret, .encode = encode};
	enum err e;

	if (!in->list->n)
		return fault_set(&in->fault, ERR_BAD_ARGUMENT, "no profile to write");
	p.d = in->list->v[0]->dict;
	arena_init(&p.arena, 0);
	e = planner_init(&p);
	if (!e)
		e = plan_list(&p, in->list);
	planner_release(&p);
	return e;
}
