#include "model/rows.h"

#include "base/hash.h"
#include "model/values.h"

void row_index_release(struct row_index *index)
{
	map_release(&index->map);
	vec_release(&index->group);
	vec_release(&index->plain);
}

static bool is_plain(const struct row_index *index, const struct row *row, uint32_t group)
{
	return index->dense && !row->labels && !row->link && !row->time && !group;
}

/* The index entry of a row with only a stack. */
static enum err plain_slot(struct row_index *index, const struct profile *p, uint32_t stack,
			   uint32_t **ret)
{
	size_t have = index->plain.n, need = p->dict->stacks.entries.n;

	if (__builtin_expect(stack >= have, 0)) {
		if (need <= stack)
			need = (size_t)stack + 1;
		TRY(vec_reserve(&index->plain, need - have));
		memset(index->plain.v + have, 0,
		       (index->plain.cap - have) * sizeof(*index->plain.v));
		index->plain.n = index->plain.cap;
	}
	*ret = &index->plain.v[stack];
	return ERR_OK;
}

static uint64_t row_hash(const struct profile *p, const struct row *row, uint32_t group)
{
	uint64_t content = hash_mix((uint64_t)row->stack << 32 | row->labels, p->dict->seed);

	return hash_mix(content ^ ((uint64_t)group << 32 | row->link), row->time ^ p->dict->seed);
}

static bool row_equals(const struct row_index *index, const struct profile *p, uint32_t i,
		       const struct row *row, uint32_t group)
{
	return p->stack[i] == row->stack && p->labels[i] == row->labels &&
	       (p->link ? p->link[i] : 0) == row->link && (p->time ? p->time[i] : 0) == row->time &&
	       index->group.v[i] == group;
}

static void add_values(struct profile *p, uint32_t row, const int64_t *values)
{
	int64_t *sum = p->values + (size_t)row * p->type_count;

	for (uint32_t t = 0; t < p->type_count; t++)
		sum[t] = value_add(sum[t], values[t]);
}

static enum err add_plain(struct row_index *index, struct profile *p, const struct row *row,
			  const int64_t *values)
{
	uint32_t *slot;

	TRY(plain_slot(index, p, row->stack, &slot));
	if (*slot) {
		add_values(p, *slot - 1, values);
		return ERR_OK;
	}
	TRY(vec_push(&index->group, 0));
	TRY(profile_add(p, row, values));
	*slot = (uint32_t)p->row_count;
	return ERR_OK;
}

enum err row_index_add(struct row_index *index, struct profile *p, const struct row *row,
		       uint32_t group, const int64_t *values)
{
	uint64_t hash;

	if (is_plain(index, row, group))
		return add_plain(index, p, row, values);
	hash = row_hash(p, row, group);
	MAP_PROBE(&index->map, hash, id)
	{
		if (row_equals(index, p, id, row, group)) {
			add_values(p, id, values);
			return ERR_OK;
		}
	}
	TRY(vec_push(&index->group, group));
	TRY(map_put(&index->map, hash, (uint32_t)p->row_count));
	return profile_add(p, row, values);
}

enum err row_index_fill(struct row_index *index, const struct profile *p, uint32_t group)
{
	uint32_t *slot;

	TRY(vec_reserve(&index->group, p->row_count));
	for (size_t i = 0; i < p->row_count; i++) {
		struct row row = profile_row(p, i);

		TRY(vec_push(&index->group, group));
		if (is_plain(index, &row, group)) {
			TRY(plain_slot(index, p, row.stack, &slot));
			/* Of equal rows the first one counts. */
			if (!*slot)
				*slot = (uint32_t)i + 1;
			continue;
		}
		TRY(map_put(&index->map, row_hash(p, &row, group), (uint32_t)i));
	}
	return ERR_OK;
}

enum err profile_copy_head(const struct profile *src, struct profile *dst)
{
	memcpy(dst->types, src->types, sizeof(dst->types));
	dst->type_count = src->type_count;
	dst->derived = src->derived;
	dst->default_type = src->default_type;
	dst->period_type = src->period_type;
	dst->period = src->period;
	dst->time_ns = src->time_ns;
	dst->duration_ns = src->duration_ns;
	dst->resource = src->resource;
	dst->attributes = src->attributes;
	dst->scope_name = src->scope_name;
	dst->scope_version = src->scope_version;
	dst->doc_url = src->doc_url;
	dst->drop_frames = src->drop_frames;
	dst->keep_frames = src->keep_frames;
	memcpy(dst->profile_id, src->profile_id, sizeof(dst->profile_id));
	TRY(vec_append(&dst->mappings, src->mappings.v, src->mappings.n));
	return vec_append(&dst->comments, src->comments.v, src->comments.n);
}

void profile_drop_column(struct profile *p, uint32_t column)
{
	uint32_t types = p->type_count, behind = types - column - 1;
	int64_t *to = p->values;

	for (size_t i = 0; i < p->row_count; i++)
		for (uint32_t t = 0; t < types; t++)
			if (t != column)
				*to++ = p->values[i * types + t];
	memmove(&p->types[column], &p->types[column + 1], behind * sizeof(*p->types));
	p->derived = (p->derived & ((UINT64_C(1) << column) - 1)) |
		     (p->derived >> 1 & ~((UINT64_C(1) << column) - 1));
	p->type_count--;
	if (p->default_type == (int)column)
		p->default_type = -1;
	else if (p->default_type > (int)column)
		p->default_type--;
}

enum err profile_add_column(struct profile *p, struct value_type type)
{
	size_t have = p->type_count, want = have + 1;
	int64_t *wide;

	if (p->type_count == PROFILE_MAX_TYPES)
		return ERR_TOO_LARGE;
	if (p->row_cap) {
		wide = mem_zalloc(p->row_cap, want * sizeof(*wide));
		if (!wide)
			return ERR_NO_MEMORY;
		for (size_t i = 0; have && i < p->row_count; i++)
			memcpy(wide + i * want, p->values + i * have, have * sizeof(*wide));
		mem_free(p->values);
		p->values = wide;
	}
	p->types[p->type_count++] = type;
	return ERR_OK;
}

static bool row_is_zero(const struct profile *p, size_t i)
{
	int64_t any = 0;

	for (uint32_t t = 0; t < p->type_count; t++)
		any |= p->values[i * p->type_count + t];
	return any == 0;
}

void profile_move_row(struct profile *p, size_t from, size_t to)
{
	p->stack[to] = p->stack[from];
	p->labels[to] = p->labels[from];
	if (p->link)
		p->link[to] = p->link[from];
	if (p->time)
		p->time[to] = p->time[from];
	memmove(p->values + to * p->type_count, p->values + from * p->type_count,
		p->type_count * sizeof(*p->values));
}

void profile_drop_zero(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		if (row_is_zero(p, i))
			continue;
		if (kept != i)
			profile_move_row(p, i, kept);
		kept++;
	}
	p->row_count = kept;
}
