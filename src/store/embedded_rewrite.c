/* A chunk of one partition becomes a chunk of another, perhaps without some of its rows. */
#include "store/change.h"

/* Limits do not apply to data that is already stored. */
static const struct store_limits no_limits = {
	.max_series = UINT32_MAX,
	.max_labels = UINT32_MAX,
	.max_label_name = UINT32_MAX,
	.max_label_value = UINT32_MAX,
	.max_depth = UINT32_MAX,
	.max_stacks = UINT64_MAX,
	.max_age_ns = INT64_MAX,
	.max_ahead_ns = INT64_MAX,
	.max_spans_per_day = UINT64_MAX,
};

struct expanded {
	struct arena arena;
	struct profile profile;
	struct str types[PROFILE_MAX_TYPES];
	struct series_profile series_profile;
};

static enum err read_values(const struct chunk_view *v, struct expanded *x)
{
	uint32_t rows = v->head.rows, types = v->head.column_count;
	int64_t *one = arena_alloc(&x->arena, (rows + 1) * sizeof(*one));

	if (!one)
		return ERR_NO_MEMORY;
	for (uint32_t t = 0; t < types; t++) {
		TRY(chunk_values(v, &v->head.columns[t], one));
		for (uint32_t i = 0; i < rows; i++)
			x->profile.values[(size_t)i * types + t] = one[i];
	}
	return ERR_OK;
}

static enum err read_groups(const struct chunk_view *v, struct dict *d, struct expanded *x)
{
	struct chunk_group *groups;
	uint32_t n, *ids = arena_zalloc(&x->arena, (size_t)v->head.links + 1, sizeof(*ids));
	struct str links;

	if (!ids)
		return ERR_NO_MEMORY;
	TRY(chunk_groups(v, &x->arena, &groups, &n));
	TRY(chunk_links(v, &links));
	for (uint32_t i = 0; i < v->head.links; i++) {
		struct link link;

		memcpy(&link, links.p + i * sizeof(link), sizeof(link));
		TRY(dict_link(d, &link, &ids[i + 1]));
	}
	for (uint32_t g = 0; g < n; g++) {
		if (groups[g].labels >= d->label_sets.entries.n)
			return ERR_CORRUPT;
		for (uint32_t i = groups[g].first; i < groups[g].first + groups[g].n; i++) {
			x->profile.labels[i] = groups[g].labels;
			x->profile.link[i] = ids[groups[g].link];
		}
	}
	return ERR_OK;
}

static enum err make_columns(struct expanded *x, size_t rows)
{
	struct profile *p = &x->profile;

	p->stack = arena_alloc(&x->arena, rows * sizeof(*p->stack));
	p->labels = arena_alloc(&x->arena, rows * sizeof(*p->labels));
	p->link = arena_alloc(&x->arena, rows * sizeof(*p->link));
	p->time = arena_alloc(&x->arena, rows * sizeof(*p->time));
	p->values = arena_alloc(&x->arena, rows * p->type_count * sizeof(*p->values));
	return p->stack && p->labels && p->link && p->time && p->values ? ERR_OK : ERR_NO_MEMORY;
}

/* The rows as a profile over the partition's dictionary. Its columns are in the arena. */
static enum err expand(struct partition *from, const struct chunk_view *v, struct expanded *x)
{
	struct profile *p = &x->profile;

	profile_init(p, &from->dict);
	if (v->head.column_count > PROFILE_MAX_TYPES || v->head.series >= from->series.n)
		return ERR_CORRUPT;
	p->type_count = v->head.column_count;
	p->time_ns = v->head.time_ns;
	p->duration_ns = v->head.duration_ns;
	p->row_count = v->head.rows;
	TRY(make_columns(x, (size_t)v->head.rows + 1));
	TRY(chunk_stacks(v, (uint32_t)from->dict.stacks.entries.n, p->stack));
	TRY(read_groups(v, &from->dict, x));
	TRY(chunk_times(v, (int64_t *)p->time));
	if (!(v->head.flags & CHUNK_TIMES))
		p->time = NULL;
	TRY(read_values(v, x));
	for (uint32_t t = 0; t < p->type_count; t++) {
		if (v->head.columns[t].type >= from->types.n)
			return ERR_CORRUPT;
		x->types[t] = from->types.v[v->head.columns[t].type].id;
	}
	x->series_profile = (struct series_profile){
		.labels = from->series.v[v->head.series].labels,
		.label_count = from->series.v[v->head.series].n,
		.types = x->types,
		.profile = p,
		.time_ns = v->head.time_ns,
		.duration_ns = v->head.duration_ns,
	};
	return ERR_OK;
}

/* Takes rows out in which nothing is left. */
static void drop_empty_rows(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		int64_t any = 0;

		for (uint32_t t = 0; t < p->type_count; t++)
			any |= p->values[i * p->type_count + t];
		if (!any)
			continue;
		p->stack[kept] = p->stack[i];
		p->labels[kept] = p->labels[i];
		p->link[kept] = p->link[i];
		if (p->time)
			p->time[kept] = p->time[i];
		memmove(p->values + kept * p->type_count, p->values + i * p->type_count,
			p->type_count * sizeof(*p->values));
		kept++;
	}
	p->row_count = kept;
}

/* Of every row that `rows` marks, the columns that `types` marks. */
static void remove_marked(struct expanded *x, const struct removal *r)
{
	struct profile *p = &x->profile;
	bool all = true;

	for (size_t i = 0; i < p->row_count; i++) {
		all &= r->rows[i];
		for (uint32_t t = 0; r->rows[i] && t < p->type_count; t++)
			if (r->types[t])
				p->values[i * p->type_count + t] = 0;
	}
	for (uint32_t t = 0; all && t < p->type_count; t++)
		if (r->types[t])
			x->types[t] = (struct str){0};
	drop_empty_rows(p);
}

static bool has_types(const struct expanded *x)
{
	bool any = !x->profile.type_count;

	for (uint32_t t = 0; t < x->profile.type_count; t++)
		any |= x->types[t].n > 0;
	return any;
}

static void lock_both(struct partition *a, struct partition *b)
{
	mutex_lock(a->order < b->order ? &a->lock : &b->lock);
	mutex_lock(a->order < b->order ? &b->lock : &a->lock);
}

enum err chunk_view_move(struct partition *from, const struct chunk_view *v, struct partition *to,
			 const struct removal *removal, struct buf *out, struct encoded_chunk *ret,
			 struct fault *fault)
{
	struct expanded x = {0};
	enum err error;

	*ret = (struct encoded_chunk){0};
	lock_both(from, to);
	error = expand(from, v, &x);
	if (error == ERR_OK && removal)
		remove_marked(&x, removal);
	/* A profile without remaining rows was still measured. */
	if (error == ERR_OK && has_types(&x))
		error = partition_encode(to, &x.series_profile, &no_limits, out, ret, fault);
	mutex_unlock(&from->lock);
	mutex_unlock(&to->lock);
	arena_release(&x.arena);
	return error;
}

enum err chunk_move(struct partition *from, struct str bytes, struct partition *to, struct buf *out,
		    struct encoded_chunk *ret, struct fault *fault)
{
	struct arena arena = {0};
	struct chunk_view v;
	enum err error = chunk_open(bytes, &arena, &v);

	if (error == ERR_OK)
		error = chunk_view_move(from, &v, to, NULL, out, ret, fault);
	arena_release(&arena);
	return error;
}
