#include "pipeline/row_plan.h"

#include "base/hash.h"

enum role {
	ROLE_KEEP,
	ROLE_SERIES,
	ROLE_SERVICE,
	ROLE_SPAN,
	ROLE_TRACE,
	ROLE_SIZE,
	ROLE_CONTEXT,
	ROLE_SPAN_NAME,
};

enum err row_plans_init(struct row_plans *p, struct dict *d, const struct row_rules *rules,
			struct arena *arena, struct notes *notes)
{
	struct row_group none = {0};

	*p = (struct row_plans){.d = d, .rules = *rules, .arena = arena, .notes = notes};
	buf_init(&p->text, (size_t)1 << 20);
	return vec_push(&p->groups, none);
}

void row_plans_release(struct row_plans *p)
{
	vec_release(&p->plans);
	map_release(&p->index);
	vec_release(&p->groups);
	map_release(&p->group_index);
	vec_release(&p->pairs);
	vec_release(&p->ids);
	vec_release(&p->kept);
	vec_release(&p->found);
	buf_release(&p->text);
}

static enum role find_role(const struct row_plans *p, struct str key)
{
	const struct receive_limits *l = p->rules.limits;

	if (str_eq(key, STR("span_id")) || str_eq(key, STR("profile_id")))
		return ROLE_SPAN;
	if (str_eq(key, STR("trace_id")))
		return ROLE_TRACE;
	if (str_eq(key, STR("bytes")))
		return ROLE_SIZE;
	if (p->rules.services && str_eq(key, STR("service.name")))
		return ROLE_SERVICE;
	if (p->rules.contexts && str_eq(key, STR("contextId")))
		return ROLE_CONTEXT;
	if (p->rules.contexts && str_eq(key, STR("spanName")))
		return ROLE_SPAN_NAME;
	for (size_t i = 0; i < l->series_label_count; i++)
		if (str_eq(l->series_labels[i], key))
			return ROLE_SERIES;
	return ROLE_KEEP;
}

static enum role role_of(struct row_plans *p, uint32_t key)
{
	const uint32_t most = sizeof(p->roles) / sizeof(p->roles[0]);
	enum role role;

	for (uint32_t i = 0; i < p->role_n && i < most; i++)
		if (p->roles[i].key == key)
			return (enum role)p->roles[i].role;
	role = find_role(p, dict_str(p->d, key));
	p->roles[p->role_n++ % most] = (struct row_role){key, (int)role};
	return role;
}

/* n bytes from 2n hexadecimal digits; false when it is something else. */
static bool parse_id(struct str text, uint8_t *out, size_t n)
{
	uint64_t byte;

	if (text.n != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (str_to_u64(str_n(text.p + 2 * i, 2), 16, &byte) != ERR_OK)
			return false;
		out[i] = (uint8_t)byte;
	}
	return true;
}

/* Extracts the link from the labels of a set; `found` has the series labels. */
struct findings {
	struct link link;
	bool linked;
};

/* A label of the series, unless the series has one of that name. */
static enum err series_label(struct row_plans *p, uint32_t id, bool service)
{
	struct str name = dict_str(p->d, p->d->labels.v[id].key);

	if (!service && series_labels_get(p->rules.series, name).p)
		return ERR_OK;
	return vec_push(&p->found, id);
}

static enum err take_label(struct row_plans *p, struct findings *f, uint32_t id);

/* The labels a Java program had set when the sample was taken. */
static enum err context_labels(struct row_plans *p, struct findings *f, int64_t context)
{
	uint32_t at, n, id;

	jfr_contexts_find(p->rules.contexts, context, &at, &n);
	for (uint32_t i = at; i < at + n; i++) {
		const struct label_pair *pair = &p->rules.contexts->pairs.v[i];

		TRY(dict_label_text(p->d, pair->name, pair->value, &id));
		TRY(take_label(p, f, id));
	}
	return ERR_OK;
}

static enum err span_name(struct row_plans *p, const struct label *l)
{
	struct str name = jfr_contexts_string(p->rules.contexts, l->value);
	uint32_t id;

	if (!name.n)
		return ERR_OK;
	TRY(dict_label_text(p->d, STR("span_name"), name, &id));
	return vec_push(&p->kept, id);
}

static enum err take_label(struct row_plans *p, struct findings *f, uint32_t id)
{
	const struct label l = p->d->labels.v[id];
	enum role role = role_of(p, l.key);
	struct str text = l.type == LABEL_STRING ? dict_str(p->d, (uint32_t)l.value) : STR("");

	switch (role) {
	case ROLE_SPAN:
		if (!parse_id(text, f->link.span_id, sizeof(f->link.span_id)))
			break;
		f->linked = true;
		return ERR_OK;
	case ROLE_TRACE:
		if (!parse_id(text, f->link.trace_id, sizeof(f->link.trace_id)))
			break;
		f->linked = true;
		return ERR_OK;
	case ROLE_SIZE:
		if (l.type != LABEL_INT)
			break;
		p->merge = true;
		return ERR_OK;
	case ROLE_SERIES:
	case ROLE_SERVICE:
		return series_label(p, id, role == ROLE_SERVICE);
	case ROLE_CONTEXT:
		return l.type == LABEL_INT ? context_labels(p, f, l.value) : ERR_OK;
	case ROLE_SPAN_NAME:
		return l.type == LABEL_INT ? span_name(p, &l) : ERR_OK;
	case ROLE_KEEP:
		break;
	}
	return vec_push(&p->kept, id);
}

static enum err add_pair(struct row_plans *p, struct str name, struct str value)
{
	struct label_pair pair = {name, value};

	pair.name.p = arena_copy(p->arena, name);
	pair.value.p = arena_copy(p->arena, value);
	if (!pair.name.p || !pair.value.p)
		return ERR_NO_MEMORY;
	return vec_push(&p->pairs, pair);
}

/* The text of the labels that were found. */
static enum err make_pairs(struct row_plans *p, struct row_group *g)
{
	g->at = (uint32_t)p->pairs.n;
	for (uint32_t i = 0; i < g->id_n; i++) {
		const struct label *l = &p->d->labels.v[p->ids.v[g->id_at + i]];

		buf_clear(&p->text);
		label_value(p->d, l, &p->text);
		TRY(buf_error(&p->text));
		if (role_of(p, l->key) == ROLE_SERVICE)
			TRY(add_pair(p, STR("service_name"), buf_view(&p->text)));
		TRY(add_pair(p, dict_str(p->d, l->key), buf_view(&p->text)));
	}
	g->n = (uint32_t)p->pairs.n - g->at;
	return ERR_OK;
}

/* The group of the labels that were found; equal labels have equal ids. False in `*ret_room` when
 * it would be one too many. */
static enum err find_group(struct row_plans *p, uint32_t *ret, bool *ret_room)
{
	size_t bytes = p->found.n * sizeof(*p->found.v);
	uint64_t hash = hash_bytes(p->found.v, bytes, p->d->seed);
	struct row_group g = {.id_at = (uint32_t)p->ids.n, .id_n = (uint32_t)p->found.n};

	*ret_room = true;
	MAP_PROBE(&p->group_index, hash, id)
	{
		const struct row_group *known = &p->groups.v[id];

		if (known->id_n != g.id_n ||
		    memcmp(p->ids.v + known->id_at, p->found.v, bytes) != 0)
			continue;
		*ret = id;
		return ERR_OK;
	}
	*ret_room = p->groups.n < ROW_GROUPS_MAX;
	if (!*ret_room)
		return ERR_OK;
	TRY(vec_append(&p->ids, p->found.v, p->found.n));
	TRY(make_pairs(p, &g));
	TRY(map_put(&p->group_index, hash, (uint32_t)p->groups.n));
	*ret = (uint32_t)p->groups.n;
	return vec_push(&p->groups, g);
}

static enum err make_plan(struct row_plans *p, struct row_plan *plan)
{
	struct findings f = {0};
	const uint32_t *items;
	bool room = true;
	uint32_t n;

	p->kept.n = p->found.n = 0;
	items = label_set_items(p->d, plan->set, &n);
	for (uint32_t i = 0; i < n; i++)
		TRY(take_label(p, &f, items[i]));
	if (p->found.n)
		TRY(find_group(p, &plan->group, &room));
	if (!room) {
		notes_add(p->notes,
			  "a profile belongs to more than %d series: further labels stay with its "
			  "samples",
			  ROW_GROUPS_MAX);
		TRY(vec_append(&p->kept, p->found.v, p->found.n));
	}
	if (f.linked)
		TRY(dict_link(p->d, &f.link, &plan->link));
	return dict_label_set(p->d, p->kept.v, (uint32_t)p->kept.n, &plan->labels);
}

enum err row_plans_get(struct row_plans *p, uint32_t set, const struct row_plan **ret)
{
	struct row_plan plan = {.set = set};
	uint64_t hash = hash_mix(set ^ p->d->seed, p->d->seed);

	MAP_PROBE(&p->index, hash, id)
	{
		if (p->plans.v[id].set == set) {
			*ret = &p->plans.v[id];
			return ERR_OK;
		}
	}
	if (set)
		TRY(make_plan(p, &plan));
	TRY(map_put(&p->index, hash, (uint32_t)p->plans.n));
	TRY(vec_push(&p->plans, plan));
	*ret = &p->plans.v[p->plans.n - 1];
	return ERR_OK;
}
