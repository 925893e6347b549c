/*
 * From sample counts and their period readers derive a column of CPU time. Senders that also
 * measure CPU time may send it in another profile, in any order and with other boundaries: then the
 * derived column would count it twice.
 */
#include "base/hash.h"
#include "model/ops.h"
#include "model/rows.h"

struct measured {
	uint32_t resource, type;
	enum unit_kind kind;
};

struct measures {
	VEC(struct measured) list;
	struct map index;
	uint64_t seed;
};

static void measures_release(struct measures *m)
{
	vec_release(&m->list);
	map_release(&m->index);
}

static struct measured column_key(const struct profile *p, uint32_t column)
{
	double factor;

	return (struct measured){p->resource, p->types[column].type,
				 unit_kind(dict_str(p->dict, p->types[column].unit), &factor)};
}

static uint64_t key_hash(const struct measures *m, const struct measured *key)
{
	return hash_mix((uint64_t)key->resource << 32 | key->type, m->seed ^ key->kind);
}

static bool measures_have(const struct measures *m, const struct measured *key)
{
	MAP_PROBE(&m->index, key_hash(m, key), i)
	{
		if (m->list.v[i].resource == key->resource && m->list.v[i].type == key->type &&
		    m->list.v[i].kind == key->kind)
			return true;
	}
	return false;
}

static enum err add_measured(struct measures *m, const struct profile *p)
{
	for (uint32_t t = 0; p->row_count && t < p->type_count; t++) {
		struct measured key = column_key(p, t);

		if (p->derived >> t & 1 || measures_have(m, &key))
			continue;
		TRY(vec_push(&m->list, key));
		TRY(map_put(&m->index, key_hash(m, &key), (uint32_t)m->list.n - 1));
	}
	return ERR_OK;
}

static void drop_derived(const struct measures *m, struct profile *p)
{
	for (uint32_t t = p->type_count; t-- > 0;) {
		struct measured key = column_key(p, t);

		if (p->derived >> t & 1 && measures_have(m, &key))
			profile_drop_column(p, t);
	}
}

enum err profile_list_settle(struct profile_list *list)
{
	CLEANUP(measures_release) struct measures m = {0};
	bool any = false;

	for (size_t i = 0; i < list->n; i++)
		any |= list->v[i]->derived != 0;
	if (!any)
		return ERR_OK;
	m.seed = list->v[0]->dict->seed;
	for (size_t i = 0; i < list->n; i++)
		TRY(add_measured(&m, list->v[i]));
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i]->derived)
			drop_derived(&m, list->v[i]);
	return ERR_OK;
}
