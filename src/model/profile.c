#include "model/profile.h"

#include "model/types.h"

void profile_init(struct profile *p, struct dict *d)
{
	*p = (struct profile){.dict = d, .default_type = -1};
}

void profile_release(struct profile *p)
{
	if (!p)
		return;
	mem_free(p->stack);
	mem_free(p->labels);
	mem_free(p->link);
	mem_free(p->time);
	mem_free(p->values);
	vec_release(&p->comments);
	vec_release(&p->mappings);
	profile_init(p, p->dict);
}

enum err profile_add_type(struct profile *p, struct str type, struct str unit)
{
	struct value_type *t = &p->types[p->type_count];

	if (p->type_count == PROFILE_MAX_TYPES)
		return ERR_TOO_LARGE;
	TRY(dict_string(p->dict, type, &t->type));
	TRY(dict_string(p->dict, unit, &t->unit));
	p->type_count++;
	return ERR_OK;
}

int profile_default_type(const struct profile *p)
{
	if (p->default_type >= 0 && (uint32_t)p->default_type < p->type_count)
		return p->default_type;
	return (int)p->type_count - 1;
}

int profile_find_type(const struct profile *p, struct str name)
{
	const struct profile_type *known;

	if (!name.n)
		return profile_default_type(p);
	for (uint32_t i = 0; i < p->type_count; i++)
		if (str_eq(dict_str(p->dict, p->types[i].type), name))
			return (int)i;
	known = type_by_name(name);
	for (uint32_t i = 0; known && i < p->type_count; i++)
		if (type_by_value(dict_str(p->dict, p->types[i].type),
				  dict_str(p->dict, p->types[i].unit)) == known)
			return (int)i;
	return -1;
}

static enum err grow_column(void *column, size_t old_cap, size_t cap, size_t size)
{
	size_t have = old_cap;

	return mem_grow(column, &have, cap, size, cap);
}

enum err profile_reserve(struct profile *p, size_t rows)
{
	size_t need, cap, types = p->type_count ? p->type_count : 1;

	if (__builtin_add_overflow(p->row_count, rows, &need) || need > UINT32_MAX)
		return ERR_TABLE_FULL;
	if (need <= p->row_cap)
		return ERR_OK;
	cap = p->row_cap + p->row_cap / 2 + 64;
	if (cap < need)
		cap = need;
	TRY(grow_column(&p->stack, p->row_cap, cap, sizeof(*p->stack)));
	TRY(grow_column(&p->labels, p->row_cap, cap, sizeof(*p->labels)));
	TRY(grow_column(&p->values, p->row_cap, cap, types * sizeof(*p->values)));
	if (p->link)
		TRY(grow_column(&p->link, p->row_cap, cap, sizeof(*p->link)));
	if (p->time)
		TRY(grow_column(&p->time, p->row_cap, cap, sizeof(*p->time)));
	p->row_cap = cap;
	return ERR_OK;
}

/* Columns few files use are made when the first row needs them. */
static enum err ensure_optional(struct profile *p, const struct row *row)
{
	if (row->link && !p->link) {
		p->link = mem_zalloc(p->row_cap, sizeof(*p->link));
		if (!p->link)
			return ERR_NO_MEMORY;
	}
	if (row->time && !p->time) {
		p->time = mem_zalloc(p->row_cap, sizeof(*p->time));
		if (!p->time)
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

enum err profile_add(struct profile *p, const struct row *row, const int64_t *values)
{
	size_t i = p->row_count;

	if (__builtin_expect(i == p->row_cap, 0))
		TRY(profile_reserve(p, 1));
	if (__builtin_expect(row->link || row->time, 0))
		TRY(ensure_optional(p, row));
	p->stack[i] = row->stack;
	p->labels[i] = row->labels;
	if (p->link)
		p->link[i] = row->link;
	if (p->time)
		p->time[i] = row->time;
	memcpy(p->values + i * p->type_count, values, p->type_count * sizeof(*values));
	p->row_count++;
	return ERR_OK;
}

struct row profile_row(const struct profile *p, size_t i)
{
	return (struct row){
		.stack = p->stack[i],
		.labels = p->labels[i],
		.link = p->link ? p->link[i] : 0,
		.time = p->time ? p->time[i] : 0,
	};
}

int64_t profile_total(const struct profile *p, uint32_t type)
{
	int64_t total = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		int64_t value = p->values[i * p->type_count + type];

		if (__builtin_add_overflow(total, value, &total))
			return value > 0 ? INT64_MAX : INT64_MIN;
	}
	return total;
}

enum err profile_list_add(struct profile_list *list, struct dict *d, struct profile **ret)
{
	struct profile *p;

	TRY(mem_grow(&list->v, &list->cap, list->n + 1, sizeof(struct profile *), VEC_CEILING));
	p = mem_alloc(sizeof(*p));
	if (!p)
		return ERR_NO_MEMORY;
	profile_init(p, d);
	list->v[list->n++] = p;
	*ret = p;
	return ERR_OK;
}

void profile_list_cut(struct profile_list *list, size_t n)
{
	while (list->n > n) {
		list->n--;
		profile_release(list->v[list->n]);
		mem_free(list->v[list->n]);
	}
}

void profile_list_release(struct profile_list *list)
{
	if (!list)
		return;
	profile_list_cut(list, 0);
	mem_free(list->v);
	*list = (struct profile_list){0};
}
