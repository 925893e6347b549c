/*
 * From a profile to a chunk over the ids of a partition.
 */
#include "store/coverage.h"
#include "store/partition.h"

/* Memory for encoding, reused for profiles of all partitions. */
struct workspace {
	struct chunk_scratch chunk;
	struct remap remap;
	VEC(uint32_t) stack, labels;
};

#define SPARES 4
static _Atomic(struct workspace *) spares[SPARES];

static void workspace_free(struct workspace *w)
{
	if (!w)
		return;
	chunk_scratch_release(&w->chunk);
	remap_release(&w->remap);
	vec_release(&w->stack);
	vec_release(&w->labels);
	mem_free(w);
}

static struct workspace *workspace_take(void)
{
	struct workspace *w;

	for (unsigned i = 0; i < SPARES; i++) {
		w = atomic_exchange(&spares[i], NULL);
		if (w)
			return w;
	}
	w = mem_zalloc(1, sizeof(*w));
	if (w)
		w->remap.exact = true;
	return w;
}

static void workspace_give(struct workspace *w)
{
	for (unsigned i = 0; i < SPARES; i++) {
		struct workspace *none = NULL;

		if (atomic_compare_exchange_strong(&spares[i], &none, w))
			return;
	}
	workspace_free(w);
}

struct encoding {
	struct partition *p;
	const struct profile *profile;
	const struct store_limits *limits;
	struct workspace *work;
	struct fault *fault;
	bool own; /* the profile is over the partition's dictionary */
	uint32_t cut;
};

static enum err too_many_stacks(const struct encoding *e)
{
	return fault_set(e->fault, ERR_TOO_LARGE,
			 "the service \"%.*s\" has %llu different stacks today, and more are "
			 "refused",
			 (int)e->p->service.n, e->p->service.p,
			 (unsigned long long)e->limits->max_stacks);
}

/* Keeps the root side of a stack that is too deep. */
static enum err cut_stack(struct encoding *e, uint32_t stack, uint32_t *ret)
{
	uint32_t n, keep = e->limits->max_depth;
	const uint32_t *frames = stack_frames(e->profile->dict, stack, &n);
	VEC(uint32_t) kept = {0};
	enum err error = vec_append(&kept, frames + n - keep, keep);

	e->cut++;
	for (uint32_t i = 0; !error && !e->own && i < keep; i++)
		error = remap_frame(&e->work->remap, kept.v[i], &kept.v[i]);
	if (!error)
		error = dict_stack(&e->p->dict, kept.v, keep, ret);
	vec_release(&kept);
	return error;
}

static enum err place_stack(struct encoding *e, uint32_t stack, uint32_t *ret)
{
	const struct dict *src = e->profile->dict;
	struct dict *dst = &e->p->dict;

	if (src->stacks.entries.v[stack].n > e->limits->max_depth)
		return cut_stack(e, stack, ret);
	*ret = stack;
	if (e->own)
		return ERR_OK;
	*ret = dict_find_stack(dst, stack_hash(src, stack));
	if (*ret != MAP_NONE)
		return ERR_OK;
	if (dst->stacks.entries.n >= e->limits->max_stacks)
		return too_many_stacks(e);
	return remap_stack(&e->work->remap, stack, ret);
}

/* Whether stacks need no checks, because the dictionary has none that exceeds a limit. */
static bool stacks_fit(struct encoding *e)
{
	struct partition *p = e->p;
	const struct sequence_table *stacks = &p->dict.stacks;

	if (!e->own || stacks->entries.n > e->limits->max_stacks)
		return false;
	for (; p->measured < stacks->entries.n; p->measured++)
		if (stacks->entries.v[p->measured].n > p->deepest)
			p->deepest = stacks->entries.v[p->measured].n;
	return p->deepest <= e->limits->max_depth;
}

static enum err place_rows(struct encoding *e)
{
	const struct profile *p = e->profile;
	struct workspace *w = e->work;

	w->stack.n = w->labels.n = 0;
	TRY(vec_reserve(&w->stack, p->row_count + 1));
	TRY(vec_reserve(&w->labels, p->row_count + 1));
	for (size_t i = 0; i < p->row_count; i++) {
		TRY(place_stack(e, p->stack[i], &w->stack.v[i]));
		if (w->stack.v[i] >= e->limits->max_stacks)
			return too_many_stacks(e);
	}
	for (size_t i = 0; !e->own && i < p->row_count; i++)
		TRY(remap_label_set(&w->remap, p->labels[i], &w->labels.v[i]));
	return ERR_OK;
}

static bool any_set(const uint32_t *ids, size_t n)
{
	uint32_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= ids[i];
	return any != 0;
}

/* Stacks that the dictionary truncated or refused while interning. */
static enum err settle_limits(struct encoding *e)
{
	struct dict *d = &e->p->dict;

	if (!e->own)
		return ERR_OK;
	e->cut += (uint32_t)d->cut_stacks;
	d->cut_stacks = 0;
	return d->refused_stacks ? too_many_stacks(e) : ERR_OK;
}

static enum err encode_rows(struct encoding *e, struct chunk_rows *rows, struct buf *out,
			    struct encoded_chunk *ret)
{
	const struct profile *p = e->profile;
	const uint32_t *labels;
	bool fit = stacks_fit(e);

	TRY(settle_limits(e));
	if (!fit)
		TRY(place_rows(e));
	labels = e->own ? p->labels : e->work->labels.v;
	rows->n = p->row_count;
	rows->stack = fit ? p->stack : e->work->stack.v;
	rows->labels = any_set(labels, p->row_count) ? labels : NULL;
	rows->link = p->link;
	rows->links = p->dict->links.v;
	rows->time = p->time;
	rows->values = p->values;
	rows->stride = p->type_count;
	TRY(chunk_encode(rows, &e->work->chunk, out));
	*ret = (struct encoded_chunk){
		.series = rows->series,
		.rows = (uint32_t)p->row_count,
		.time_ns = rows->time_ns,
		.duration_ns = rows->duration_ns,
		.cut_stacks = e->cut,
	};
	return ERR_OK;
}

/* The kept columns, as types of the partition. */
static enum err place_types(struct partition *p, const struct series_profile *s, uint32_t *types,
			    uint32_t *column, uint32_t *ret_n)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < s->profile->type_count; t++) {
		bool twice = false;

		if (!s->types[t].n)
			continue;
		TRY(partition_type(p, s->types[t], &types[n]));
		for (uint32_t i = 0; i < n; i++)
			twice |= types[i] == types[n];
		if (twice)
			continue;
		column[n++] = t;
	}
	*ret_n = n;
	return ERR_OK;
}

static enum err note_series(struct partition *p, const struct chunk_rows *rows)
{
	struct series_entry *s = &p->series.v[rows->series];
	int64_t last = last_moment(rows->time_ns, rows->duration_ns);

	for (uint32_t t = 0; t < rows->type_count; t++)
		TRY(partition_pair(p, rows->series, rows->types[t]));
	if ((!s->first_ns && !s->last_ns) || rows->time_ns < s->first_ns)
		s->first_ns = rows->time_ns;
	if (last > s->last_ns)
		s->last_ns = last;
	p->profiles++;
	p->rows += rows->n;
	return ERR_OK;
}

enum err partition_encode(struct partition *p, const struct series_profile *profile,
			  const struct store_limits *limits, struct buf *out,
			  struct encoded_chunk *ret, struct fault *fault)
{
	uint32_t types[PROFILE_MAX_TYPES], column[PROFILE_MAX_TYPES];
	struct chunk_rows rows = {
		.profiles = 1,
		.time_ns = profile->time_ns,
		.duration_ns = profile->duration_ns,
		.types = types,
		.column = column,
	};
	struct encoding e = {
		.p = p,
		.profile = profile->profile,
		.limits = limits,
		.fault = fault,
		.own = profile->profile->dict == &p->dict,
	};
	enum err error;

	if (profile->profile->dict->seed != p->dict.seed)
		return fault_set(fault, ERR_BAD_ARGUMENT, "the dictionary has another seed");
	*ret = (struct encoded_chunk){0};
	TRY(place_types(p, profile, types, column, &rows.type_count));
	if (!rows.type_count)
		return ERR_OK;
	TRY(partition_series(p, profile->labels, profile->label_count, limits, &rows.series,
			     fault));
	e.work = workspace_take();
	if (!e.work)
		return ERR_NO_MEMORY;
	error = e.own ? ERR_OK : remap_begin(&e.work->remap, e.profile->dict, &p->dict);
	if (!error)
		error = encode_rows(&e, &rows, out, ret);
	workspace_give(e.work);
	return error ? error : note_series(p, &rows);
}
