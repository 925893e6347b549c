/*
 * Lists of names, values, types and label sets from the index of a day. What a matcher says of a
 * value is found out once for the value, what it says of a service's name once for the service; of
 * a series numbers are compared.
 */
#include "base/hash.h"
#include "store/label_listing.h"

/* Interval, in entries, of checks for cancellation. */
#define SERIES_AT_ONCE 65536

struct index_matcher {
	const struct matcher *matcher;
	uint32_t name;	   /* MAP_NONE: no series of the day has it, nor rows */
	bool takes_absent; /* as an empty value */
	uint64_t *takes;   /* bit per label: it has this name, and the value matches */
};

/* Labels of series that are wanted. */
struct index_set {
	uint32_t at, n; /* in set_pool */
	uint32_t type_set;
};

struct index_listing {
	struct listing *l;
	const struct series_index *x;
	struct series_index *own; /* the same where it may be put in order */
	struct arena arena;
	struct index_matcher matchers[MATCHERS_MAX];
	size_t matcher_count;
	uint64_t *types;     /* bit per type: it matches */
	uint64_t *type_sets; /* bit per set: it has one that does */
	/* Bit per label, type set: a series that matches has it. */
	uint64_t *seen_labels, *seen_sets;
	/* Bits per service, if requested: it has a matching series; matching depends on its
	 * rows. */
	uint64_t *seen_services, *open_services;
	/* Of LIST_SETS: names that are wanted, and which sets there are, by their labels. */
	uint32_t *names;
	bool any_parts;
	struct map set_map;
	VEC(uint32_t) set_pool;
	VEC(struct index_set) sets;
	size_t looked_at;
};

static bool bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static void set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static uint64_t *new_bits(struct index_listing *c, size_t n)
{
	return arena_zalloc(&c->arena, n / 64 + 1, sizeof(uint64_t));
}

static void index_listing_release(struct index_listing *c)
{
	arena_release(&c->arena);
	map_release(&c->set_map);
	vec_release(&c->set_pool);
	vec_release(&c->sets);
}

/* ------------------------------------------------------------------ matchers */

static enum err choose_values(struct index_listing *c, struct index_matcher *m)
{
	const struct series_index *x = c->x;

	for (uint32_t i = 0; i < x->labels.n; i++) {
		bool takes;

		if (x->labels.v[i].name != m->name)
			continue;
		if (i % SERIES_AT_ONCE == 0 && ask_cancelled(c->l->ask))
			return ERR_CANCELLED;
		TRY(matcher_takes(m->matcher, x->texts.v[x->labels.v[i].value], &takes));
		if (takes)
			set_bit(m->takes, i);
	}
	return ERR_OK;
}

static enum err choose_matchers(struct index_listing *c)
{
	const struct selection *s = c->l->selection;
	struct str ignored;

	if (s->matcher_count > MATCHERS_MAX)
		return ERR_TOO_LARGE;
	for (size_t i = 0; i < s->matcher_count; i++) {
		struct index_matcher *m = &c->matchers[c->matcher_count];

		if (type_label(s->matchers[i].name, STR(""), &ignored))
			continue;
		c->matcher_count++;
		m->matcher = &s->matchers[i];
		m->name = series_index_text(c->x, s->matchers[i].name);
		m->takes = new_bits(c, c->x->labels.n);
		if (!m->takes)
			return ERR_NO_MEMORY;
		TRY(matcher_takes(m->matcher, STR(""), &m->takes_absent));
		if (m->name != MAP_NONE)
			TRY(choose_values(c, m));
	}
	return ERR_OK;
}

static struct str type_text(const struct series_index *x, uint32_t type)
{
	return type_shown(x->texts.v[x->types.v[type].text]);
}

static enum err takes_type(const struct selection *s, struct str id, bool *ret)
{
	struct str part;

	*ret = !s->type.n || str_eq(s->type, id);
	for (size_t i = 0; *ret && i < s->matcher_count; i++)
		if (type_label(s->matchers[i].name, id, &part))
			TRY(matcher_takes(&s->matchers[i], part, ret));
	return ERR_OK;
}

/* A series without a type counts where no type is refused. */
static enum err choose_types(struct index_listing *c)
{
	const struct series_index *x = c->x;
	bool all = true;

	for (uint32_t t = 0; t < x->types.n; t++) {
		bool takes;

		TRY(takes_type(c->l->selection, type_text(x, t), &takes));
		if (takes)
			set_bit(c->types, t);
		all &= takes;
	}
	for (uint32_t set = 0; set < x->type_sets.n; set++)
		for (uint32_t i = 0; i < x->type_sets.v[set].n; i++)
			if (bit(c->types, x->type_pool.v[x->type_sets.v[set].at + i]))
				set_bit(c->type_sets, set);
	if (all)
		set_bit(c->type_sets, 0);
	return ERR_OK;
}

/* A label of rows decides row by row: every series of the service may match. */
static uint64_t open_matchers(const struct index_listing *c, const struct index_service *s)
{
	uint64_t open = 0;

	if (!s->labels.n)
		return 0;
	for (size_t i = 0; i < c->matcher_count; i++)
		if (c->matchers[i].name != MAP_NONE &&
		    index_service_has_name(c->x, s, c->matchers[i].name))
			open |= UINT64_C(1) << i;
	return open;
}

static bool takes_series(const struct index_listing *c, const struct index_series *s, uint64_t open)
{
	const struct series_index *x = c->x;

	for (size_t i = 0; i < c->matcher_count; i++) {
		const struct index_matcher *m = &c->matchers[i];
		bool has = false, takes = m->takes_absent || open >> i & 1;

		for (uint32_t k = 0; !has && k < s->label_count; k++) {
			uint32_t label = x->label_pool.v[s->labels_at + k];

			has = x->labels.v[label].name == m->name;
			if (has)
				takes = bit(m->takes, label);
		}
		if (!takes)
			return false;
	}
	return true;
}

/* Series of a service have its name as a label: one says it for all. */
static bool takes_service(const struct index_listing *c, const struct index_service *s)
{
	const struct series_index *x = c->x;
	const struct index_series *first;

	if (!s->series.n)
		return false;
	first = &x->series.v[s->series.v[0]];
	for (size_t i = 0; i < c->matcher_count; i++)
		if (str_eq(c->matchers[i].matcher->name, STR("service_name")))
			for (uint32_t k = 0; k < first->label_count; k++) {
				uint32_t label = x->label_pool.v[first->labels_at + k];

				if (x->labels.v[label].name == c->matchers[i].name &&
				    !bit(c->matchers[i].takes, label))
					return false;
			}
	return true;
}

static bool in_range(const struct selection *selection, const struct index_series *s)
{
	/* Begun, and nothing is stored yet. */
	if (!s->first_ns && !s->last_ns)
		return true;
	return s->last_ns >= selection->from_ns && s->first_ns < selection->until_ns;
}

/* ------------------------------------------------------------------ sets of labels */

static bool is_wanted(const struct index_listing *c, uint32_t name)
{
	if (!c->l->name_count)
		return true;
	for (size_t i = 0; i < c->l->name_count; i++)
		if (c->names[i] == name)
			return true;
	return false;
}

/* Notes the labels of a series that are wanted, once. */
static enum err note_set(struct index_listing *c, const struct index_series *s)
{
	struct index_set fresh = {.at = (uint32_t)c->set_pool.n,
				  .type_set = c->any_parts ? s->type_set : 0};
	uint64_t hash = fresh.type_set;

	TRY(vec_reserve(&c->set_pool, s->label_count));
	for (uint32_t k = 0; k < s->label_count; k++) {
		uint32_t label = c->x->label_pool.v[s->labels_at + k];

		if (!is_wanted(c, c->x->labels.v[label].name))
			continue;
		c->set_pool.v[c->set_pool.n++] = label;
		hash = hash_mix(hash, label);
		fresh.n++;
	}
	MAP_PROBE(&c->set_map, hash, id)
	{
		const struct index_set *known = &c->sets.v[id];

		if (known->n == fresh.n && known->type_set == fresh.type_set &&
		    (!fresh.n || !memcmp(c->set_pool.v + known->at, c->set_pool.v + fresh.at,
					 fresh.n * sizeof(*c->set_pool.v)))) {
			c->set_pool.n = fresh.at;
			return ERR_OK;
		}
	}
	TRY(map_put(&c->set_map, hash, (uint32_t)c->sets.n));
	return vec_push(&c->sets, fresh);
}

/* With each type of the set, where parts of types are wanted. */
static enum err add_set(struct index_listing *c, const struct index_set *set,
			struct label_pair *labels)
{
	const struct series_index *x = c->x;
	const struct index_type_set *types = &x->type_sets.v[set->type_set];
	struct label_pair parts[TYPE_LABELS];
	size_t n = listing_type_parts(c->l, STR(""), parts);
	struct label_group group = {.labels = labels + TYPE_LABELS - n, .n = n + set->n};

	for (uint32_t i = 0; i < set->n; i++) {
		const struct index_label *label = &x->labels.v[c->set_pool.v[set->at + i]];

		labels[TYPE_LABELS + i] = (struct label_pair){.name = x->texts.v[label->name],
							      .value = x->texts.v[label->value]};
	}
	if (!n)
		return listing_add_set(c->l, &group);
	for (uint32_t i = 0; i < types->n; i++) {
		uint32_t type = x->type_pool.v[types->at + i];

		if (!bit(c->types, type))
			continue;
		listing_type_parts(c->l, type_text(x, type), group.labels);
		TRY(listing_add_set(c->l, &group));
	}
	return ERR_OK;
}

static enum err add_sets(struct index_listing *c)
{
	vec_for_each (set, &c->sets) {
		CLEANUP(mem_free_ptr)
		struct label_pair *labels =
			mem_zalloc((size_t)set->n + TYPE_LABELS, sizeof(*labels));

		if (!labels)
			return ERR_NO_MEMORY;
		TRY(add_set(c, set, labels));
	}
	return ERR_OK;
}

static enum err begin_sets(struct index_listing *c)
{
	struct str ignored;

	c->names = arena_alloc(&c->arena, (c->l->name_count + 1) * sizeof(*c->names));
	if (!c->names)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->l->name_count; i++) {
		/* Parts of types are not among the labels of series. */
		bool part = type_label(c->l->names[i], STR(""), &ignored);

		c->any_parts |= part;
		c->names[i] = series_index_text(c->x, c->l->names[i]);
	}
	return ERR_OK;
}

/* ------------------------------------------------------------------ series that match */

static enum err take_series(struct index_listing *c, const struct index_series *s)
{
	if (!c->seen_sets)
		return ERR_OK;
	set_bit(c->seen_sets, s->type_set);
	if (c->l->kind == LIST_SETS)
		return note_set(c, s);
	if (c->l->kind == LIST_NAMES || c->l->kind == LIST_VALUES)
		for (uint32_t k = 0; k < s->label_count; k++)
			set_bit(c->seen_labels, c->x->label_pool.v[s->labels_at + k]);
	return ERR_OK;
}

static enum err list_service(struct index_listing *c, const struct index_service *service)
{
	uint64_t open;
	bool any = false;

	if (!takes_service(c, service))
		return ERR_OK;
	open = open_matchers(c, service);
	for (size_t i = 0; i < service->series.n; i++) {
		const struct index_series *s = &c->x->series.v[service->series.v[i]];

		if (++c->looked_at % SERIES_AT_ONCE == 0 && ask_cancelled(c->l->ask))
			return ERR_CANCELLED;
		if (!in_range(c->l->selection, s) || !bit(c->type_sets, s->type_set) ||
		    !takes_series(c, s, open))
			continue;
		TRY(take_series(c, s));
		any = true;
		/* One is enough if only services are listed. */
		if (!c->seen_sets)
			break;
	}
	for (size_t i = 0; any && c->l->label && i < service->labels.n; i++)
		set_bit(c->seen_labels, service->labels.v[i]);
	if (any && c->seen_services)
		set_bit(c->seen_services, (uint32_t)(service - c->x->services.v));
	if (open && c->open_services)
		set_bit(c->open_services, (uint32_t)(service - c->x->services.v));
	return ERR_OK;
}

static enum err list_services(struct index_listing *c, const uint64_t *services)
{
	for (uint32_t i = 0; i < c->x->services.n; i++)
		if (!services || bit(services, i))
			TRY(list_service(c, &c->x->services.v[i]));
	return ERR_OK;
}

/* ------------------------------------------------------------------ what they have */

static enum err add_names(struct index_listing *c)
{
	const struct series_index *x = c->x;
	uint64_t *names = new_bits(c, x->texts.n);

	if (!names)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < x->labels.n; i++) {
		uint32_t name = x->labels.v[i].name;

		if (!bit(c->seen_labels, i) || bit(names, name))
			continue;
		set_bit(names, name);
		TRY(listing_add_text(c->l, x->texts.v[name]));
	}
	return ERR_OK;
}

static enum err add_values(struct index_listing *c)
{
	const struct series_index *x = c->x;
	uint32_t name = series_index_text(x, c->l->name);
	size_t n, found = 0, most = c->l->limit ? c->l->limit + 1 : SIZE_MAX;
	CLEANUP(mem_free_ptr) struct str *values = NULL;
	const uint32_t *labels;

	if (name == MAP_NONE)
		return ERR_OK;
	TRY(series_index_order(c->own));
	n = series_index_labels_of(x, name, &labels);
	values = mem_zalloc(n + 1, sizeof(*values));
	if (!values)
		return ERR_NO_MEMORY;
	/* One more than the limit shows that there are more. */
	for (size_t i = 0; i < n && found < most; i++)
		if (bit(c->seen_labels, labels[i]))
			values[found++] = x->texts.v[x->labels.v[labels[i]].value];
	return listing_add_sorted(c->l, values, found);
}

static enum err add_type(struct index_listing *c, uint32_t type)
{
	struct str id = type_text(c->x, type), part;

	if (c->l->kind == LIST_TYPES)
		return listing_add_text(c->l, id);
	return type_label(c->l->name, id, &part) ? listing_add_text(c->l, part) : ERR_OK;
}

static enum err add_types(struct index_listing *c)
{
	const struct series_index *x = c->x;

	for (uint32_t set = 0; set < x->type_sets.n; set++) {
		const struct index_type_set *s = &x->type_sets.v[set];

		for (uint32_t i = 0; bit(c->seen_sets, set) && i < s->n; i++)
			if (bit(c->types, x->type_pool.v[s->at + i]))
				TRY(add_type(c, x->type_pool.v[s->at + i]));
	}
	return ERR_OK;
}

static enum err add_all(struct index_listing *c)
{
	switch (c->l->kind) {
	case LIST_NAMES:
		return add_names(c);
	case LIST_VALUES:
		return add_values(c);
	case LIST_SETS:
		return add_sets(c);
	default:
		return add_types(c);
	}
}

enum err listing_index(void *context, struct series_index *x, const uint64_t *services)
{
	CLEANUP(index_listing_release) struct index_listing c = {.l = context, .x = x, .own = x};

	c.types = new_bits(&c, x->types.n);
	c.type_sets = new_bits(&c, x->type_sets.n);
	c.seen_labels = new_bits(&c, x->labels.n);
	c.seen_sets = new_bits(&c, x->type_sets.n);
	if (!c.types || !c.type_sets || !c.seen_labels || !c.seen_sets)
		return ERR_NO_MEMORY;
	TRY(choose_matchers(&c));
	TRY(choose_types(&c));
	if (c.l->kind == LIST_SETS)
		TRY(begin_sets(&c));
	TRY(list_services(&c, services));
	return add_all(&c);
}

enum err index_services(const struct series_index *x, const struct selection *selection,
			struct ask *ask, struct arena *arena, struct service_bits *ret)
{
	struct listing l = {.selection = selection, .ask = ask, .kind = LIST_TYPES};
	CLEANUP(index_listing_release) struct index_listing c = {.l = &l, .x = x};

	c.types = new_bits(&c, x->types.n);
	c.type_sets = new_bits(&c, x->type_sets.n);
	c.seen_services = arena_zalloc(arena, x->services.n / 64 + 1, sizeof(*c.seen_services));
	c.open_services = arena_zalloc(arena, x->services.n / 64 + 1, sizeof(*c.open_services));
	if (!c.types || !c.type_sets || !c.seen_services || !c.open_services)
		return ERR_NO_MEMORY;
	TRY(choose_matchers(&c));
	TRY(choose_types(&c));
	TRY(list_services(&c, NULL));
	*ret = (struct service_bits){c.seen_services, c.open_services};
	return ERR_OK;
}
