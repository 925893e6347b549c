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
	vec_release(&p->kept);
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

/* What the labels of one set say, before it is looked up. */
struct findings {
	struct link link;
	bool linked;
	size_t first_pair; /* in pairs: those found are behind it */
};

static enum err add_pair(struct row_plans *p, struct findings *f, struct str name, struct str value)
{
	struct label_pair pair = {name, value};

	if (!value.n || str_starts(name, STR("__")))
		return ERR_OK;
	if (series_labels_get(p->rules.series, name).p && !str_eq(name, STR("service_name")) &&
	    !str_eq(name, STR("service.name")))
		return ERR_OK;
	for (size_t i = f->first_pair; i < p->pairs.n; i++)
		if (str_eq(p->pairs.v[i].name, name))
			return ERR_OK;
	/* The dictionary's strings move when it grows. */
	pair.name.p = arena_copy(p->arena, name);
	pair.value.p = arena_copy(p->arena, value);
	if (!pair.name.p || !pair.value.p)
		return ERR_NO_MEMORY;
	return vec_push(&p->pairs, pair);
}

static enum err series_label(struct row_plans *p, struct findings *f, const struct label *l,
			     bool service)
{
	buf_clear(&p->text);
	label_value(p->d, l, &p->text);
	TRY(buf_error(&p->text));
	TRY(add_pair(p, f, dict_str(p->d, l->key), buf_view(&p->text)));
	return service ? add_pair(p, f, STR("service_name"), buf_view(&p->text)) : ERR_OK;
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
		return series_label(p, f, &l, role == ROLE_SERVICE);
	case ROLE_CONTEXT:
		return l.type == LABEL_INT ? context_labels(p, f, l.value) : ERR_OK;
	case ROLE_SPAN_NAME:
		return l.type == LABEL_INT ? span_name(p, &l) : ERR_OK;
	case ROLE_KEEP:
		break;
	}
	return vec_push(&p->kept, id);
}

static bool same_pairs(const struct row_plans *p, const struct row_group *g, size_t first)
{
	if (g->n != p->pairs.n - first)
		return false;
	for (uint32_t i = 0; i < g->n; i++)
		if (!str_eq(p->pairs.v[g->at + i].name, p->pairs.v[first + i].name) ||
		    !str_eq(p->pairs.v[g->at + i].value, p->pairs.v[first + i].value))
			return false;
	return true;
}

/* The group of the pairs from `first` on, which are then taken away unless they are its own. */
static enum err find_group(struct row_plans *p, size_t first, uint32_t *ret)
{
	struct row_group g = {
		.hash = p->d->seed, .at = (uint32_t)first, .n = (uint32_t)(p->pairs.n - first)};

	*ret = 0;
	if (!g.n)
		return ERR_OK;
	for (size_t i = first; i < p->pairs.n; i++)
		g.hash = hash_str(p->pairs.v[i].value, hash_str(p->pairs.v[i].name, g.hash));
	MAP_PROBE(&p->group_index, g.hash, id)
	{
		if (!same_pairs(p, &p->groups.v[id], first))
			continue;
		p->pairs.n = first;
		*ret = id;
		return ERR_OK;
	}
	TRY(map_put(&p->group_index, g.hash, (uint32_t)p->groups.n));
	TRY(vec_push(&p->groups, g));
	*ret = (uint32_t)p->groups.n - 1;
	return ERR_OK;
}

static enum err make_plan(struct row_plans *p, struct row_plan *plan)
{
	struct findings f = {.first_pair = p->pairs.n};
	const uint32_t *items;
	uint32_t n;

	p->kept.n = 0;
	items = label_set_items(p->d, plan->set, &n);
	for (uint32_t i = 0; i < n; i++) {
		TRY(take_label(p, &f, items[i]));
		/* New labels may have moved the table. */
		items = label_set_items(p->d, plan->set, &n);
	}
	plan->labels = plan->set;
	if (p->pairs.n > f.first_pair && p->groups.n >= ROW_GROUPS_MAX) {
		notes_add(p->notes,
			  "a profile belongs to more than %d series: the rest of its "
			  "labels stay with its samples",
			  ROW_GROUPS_MAX);
		p->pairs.n = f.first_pair;
		return ERR_OK;
	}
	TRY(find_group(p, f.first_pair, &plan->group));
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
