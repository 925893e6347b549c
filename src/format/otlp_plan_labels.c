/*
 * Labels -> attributes. A key stands once in a list of attributes, so that several values of one
 * key (pprof allows that) become one array; otlp_build_labels.c takes them apart again.
 */
#include "base/hash.h"
#include "format/otlp_planner.h"

static enum err label_any(struct otlp_planner *p, const struct label *l, struct otlp_any *ret)
{
	*ret = (struct otlp_any){0};
	switch (l->type) {
	case LABEL_STRING:
		ret->type = ANY_STRING;
		return otlp_plan_text(p, dict_str(p->d, (uint32_t)l->value), &ret->text);
	case LABEL_BYTES:
		ret->type = ANY_BYTES;
		ret->text = dict_str(p->d, (uint32_t)l->value);
		return ERR_OK;
	case LABEL_BOOL:
		ret->type = ANY_BOOL;
		ret->number = l->value != 0;
		return ERR_OK;
	case LABEL_INT:
		ret->type = ANY_INT;
		ret->number = l->value;
		return ERR_OK;
	case LABEL_DOUBLE:
		ret->type = ANY_DOUBLE;
		memcpy(&ret->real, &l->value, sizeof(ret->real));
		return ERR_OK;
	case LABEL_JSON:
		return otlp_any_of_json(dict_str(p->d, (uint32_t)l->value), &p->t->arena, ret);
	}
	return ERR_OK;
}

/* The labels of a set that share the key of the first, as one value; returns how many. */
static enum err key_value(struct otlp_planner *p, const uint32_t *items, uint32_t n,
			  struct otlp_any *ret, uint32_t *ret_unit, uint32_t *ret_used)
{
	const struct label *labels = p->d->labels.v, *first = &labels[items[0]];
	uint32_t used = 1;

	*ret_unit = first->unit;
	while (used < n && labels[items[used]].key == first->key)
		used++;
	*ret_used = used;
	if (used == 1)
		return label_any(p, first, ret);
	*ret = (struct otlp_any){.type = ANY_ARRAY, .n = used};
	ret->items = arena_zalloc(&p->t->arena, used, sizeof(*ret->items));
	if (!ret->items)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < used; i++) {
		const struct label *l = &labels[items[i]];

		TRY(label_any(p, l, &ret->items[i]));
		if (l->type == LABEL_INT && l->unit != *ret_unit) {
			if (*ret_unit)
				notes_add(&p->in->notes, "values of one label in different units: "
							 "the first unit is written");
			else
				*ret_unit = l->unit;
		}
	}
	return ERR_OK;
}

static enum err plan_attribute(struct otlp_planner *p, int32_t key, int32_t unit,
			       const struct otlp_any *value, int32_t *ret)
{
	struct otlp_attribute a = {.key = key, .unit = unit, .value = *value};
	uint64_t place = (uint64_t)(uint32_t)key << 32 | (uint32_t)unit;
	uint64_t hash = otlp_any_hash(value, place ^ p->d->seed);

	MAP_PROBE(&p->attribute_index, hash, id)
	{
		const struct otlp_attribute *known = &p->t->attributes.v[id];

		if (known->key == key && known->unit == unit &&
		    otlp_any_equal(&known->value, value)) {
			*ret = (int32_t)id;
			return ERR_OK;
		}
	}
	if (p->t->attributes.n >= INT32_MAX)
		return ERR_TABLE_FULL;
	TRY(map_put(&p->attribute_index, hash, (uint32_t)p->t->attributes.n));
	*ret = (int32_t)p->t->attributes.n;
	return vec_push(&p->t->attributes, a);
}

/* The index of a text of ours; the dictionary may have it too, and a file has it once. */
static enum err literal(struct otlp_planner *p, struct str text, int32_t *ret)
{
	struct otlp_extra extra = {.text = text};

	MAP_PROBE(&p->d->strings.index, content_string(p->d, text), id)
	{
		if (str_eq(dict_str(p->d, id), text))
			return otlp_plan_string(p, id, ret);
	}
	vec_for_each (known, &p->extra) {
		if (str_eq(known->text, text)) {
			*ret = known->index;
			return ERR_OK;
		}
	}
	if (p->t->strings.n >= INT32_MAX)
		return ERR_TABLE_FULL;
	*ret = extra.index = (int32_t)p->t->strings.n;
	TRY(vec_push(&p->t->strings, text));
	return vec_push(&p->extra, extra);
}

enum err otlp_plan_named(struct otlp_planner *p, const char *key, struct otlp_any value,
			 int32_t *ret)
{
	int32_t index;

	TRY(literal(p, str_of(key), &index));
	return plan_attribute(p, index, 0, &value, ret);
}

static bool in_scope(const struct otlp_planner *p, const struct label *l)
{
	return str_starts(dict_str(p->d, l->key), STR(ATTR_SCOPE_PREFIX));
}

/* Appends the attributes of a set to p->scratch. */
static enum err push_labels(struct otlp_planner *p, uint32_t set, bool skip_scope)
{
	uint32_t n, used, unit;
	const uint32_t *items = label_set_items(p->d, set, &n);

	for (uint32_t i = 0; i < n; i += used) {
		const struct label *l = &p->d->labels.v[items[i]];
		int32_t key_index, unit_index, index;
		struct otlp_any value;

		TRY(key_value(p, items + i, n - i, &value, &unit, &used));
		if (!l->key) {
			notes_add(&p->in->notes, "a label without a key was dropped");
			continue;
		}
		if (skip_scope && in_scope(p, l))
			continue;
		TRY(otlp_plan_string(p, l->key, &key_index));
		TRY(otlp_plan_string(p, unit, &unit_index));
		TRY(plan_attribute(p, key_index, unit_index, &value, &index));
		TRY(vec_push(&p->scratch, index));
	}
	return ERR_OK;
}

static enum err take_scratch(struct otlp_planner *p, struct otlp_range *ret)
{
	*ret = (struct otlp_range){(uint32_t)p->t->indices.n, (uint32_t)p->scratch.n};
	return vec_append(&p->t->indices, p->scratch.v, p->scratch.n);
}

enum err otlp_plan_labels(struct otlp_planner *p, uint32_t set, struct otlp_range *ret)
{
	if (set && !p->sets[set].n) {
		p->scratch.n = 0;
		TRY(push_labels(p, set, false));
		TRY(take_scratch(p, &p->sets[set]));
	}
	*ret = p->sets[set];
	return ERR_OK;
}

static enum err add_pairs(struct otlp_planner *p, uint32_t set, bool scope_only,
			  struct otlp_pair *pairs, uint32_t *n_pairs)
{
	size_t prefix = scope_only ? sizeof(ATTR_SCOPE_PREFIX) - 1 : 0;
	uint32_t n, used, unit;
	const uint32_t *items = label_set_items(p->d, set, &n);

	for (uint32_t i = 0; i < n; i += used) {
		const struct label *l = &p->d->labels.v[items[i]];
		struct otlp_pair *pair = &pairs[*n_pairs];

		TRY(key_value(p, items + i, n - i, &pair->value, &unit, &used));
		if (!l->key || (scope_only && !in_scope(p, l)))
			continue;
		TRY(otlp_plan_text(p, str_skip(dict_str(p->d, l->key), prefix), &pair->key));
		++*n_pairs;
	}
	return ERR_OK;
}

enum err otlp_plan_pairs(struct otlp_planner *p, uint32_t set, struct otlp_pair **ret,
			 uint32_t *ret_n)
{
	uint32_t n;

	(void)label_set_items(p->d, set, &n);
	*ret = arena_zalloc(&p->t->arena, (size_t)n + 1, sizeof(**ret));
	*ret_n = 0;
	return *ret ? add_pairs(p, set, false, *ret, ret_n) : ERR_NO_MEMORY;
}

static bool in_order(const uint32_t *order, uint32_t columns)
{
	for (uint32_t i = 0; i < columns; i++)
		if (order[i] != i)
			return false;
	return true;
}

enum err otlp_plan_scope(struct otlp_planner *p, const struct profile *src, const uint32_t *order,
			 uint32_t columns, struct otlp_scope *ret)
{
	struct otlp_pair *pair;
	uint32_t n;

	TRY(otlp_plan_text(p, dict_str(p->d, src->scope_name), &ret->name));
	TRY(otlp_plan_text(p, dict_str(p->d, src->scope_version), &ret->version));
	(void)label_set_items(p->d, src->attributes, &n);
	ret->attributes = arena_zalloc(&p->t->arena, (size_t)n + 2, sizeof(*ret->attributes));
	if (!ret->attributes)
		return ERR_NO_MEMORY;
	if (src->default_type >= 0 && (uint32_t)src->default_type < src->type_count) {
		pair = &ret->attributes[ret->attribute_count++];
		pair->key = STR(ATTR_DEFAULT_TYPE);
		pair->value.type = ANY_STRING;
		TRY(otlp_plan_text(p, dict_str(p->d, src->types[src->default_type].type),
				   &pair->value.text));
	}
	if (!in_order(order, columns)) {
		pair = &ret->attributes[ret->attribute_count++];
		pair->key = STR(ATTR_TYPE_ORDER);
		pair->value = (struct otlp_any){.type = ANY_ARRAY, .n = columns};
		pair->value.items = arena_zalloc(&p->t->arena, columns, sizeof(struct otlp_any));
		if (!pair->value.items)
			return ERR_NO_MEMORY;
		for (uint32_t i = 0; i < columns; i++)
			pair->value.items[i] =
				(struct otlp_any){.type = ANY_INT, .number = order[i]};
	}
	return add_pairs(p, src->attributes, true, ret->attributes, &ret->attribute_count);
}

static enum err push_comments(struct otlp_planner *p, const struct profile *src)
{
	struct otlp_any value = {.type = ANY_ARRAY, .n = (uint32_t)src->comments.n};
	int32_t index;

	if (!value.n)
		return ERR_OK;
	value.items = arena_zalloc(&p->t->arena, value.n, sizeof(*value.items));
	if (!value.items)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < value.n; i++) {
		value.items[i].type = ANY_STRING;
		TRY(otlp_plan_text(p, dict_str(p->d, src->comments.v[i]), &value.items[i].text));
	}
	TRY(otlp_plan_named(p, ATTR_COMMENT, value, &index));
	return vec_push(&p->scratch, index);
}

enum err otlp_plan_profile_attributes(struct otlp_planner *p, const struct profile *src,
				      struct otlp_range *ret)
{
	p->scratch.n = 0;
	TRY(push_comments(p, src));
	TRY(otlp_plan_push_text(p, ATTR_DOC_URL, src->doc_url));
	TRY(otlp_plan_push_text(p, ATTR_DROP_FRAMES, src->drop_frames));
	TRY(otlp_plan_push_text(p, ATTR_KEEP_FRAMES, src->keep_frames));
	TRY(push_labels(p, src->attributes, true));
	return take_scratch(p, ret);
}
