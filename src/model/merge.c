/*
 * Many profiles into one. Rows go through a hash index that lives as long as the merge, so the
 * cost of a profile is its own rows, however many came before; ids are interned anew lazily
 * (remap.c). What depends on all profiles waits for merge_finish.c.
 */
#include "base/hash.h"
#include "base/work_scope.h"
#include "model/merge_state.h"
#include "model/types.h"
#include "model/values.h"

/* The target of a source column, and the factor between their units. */
struct column {
	uint32_t to;
	int64_t factor;
};

void merge_begin(struct merge *m, struct profile *dst)
{
	*m = (struct merge){.dst = dst};
}

static void state_release(struct merge_state *s)
{
	remap_release(&s->remap);
	row_index_release(&s->rows);
	vec_release(&s->series);
	map_release(&s->series_index);
	map_release(&s->comment_index);
	map_release(&s->mapping_index);
}

void merge_release(struct merge *m)
{
	if (!m->state)
		return;
	state_release(m->state);
	mem_free(m->state);
	m->state = NULL;
}

static int64_t multiply(int64_t a, int64_t b)
{
	int64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
	return product;
}

static enum err find_series(struct merge_state *s, uint32_t resource, uint32_t *ret)
{
	uint64_t hash = hash_mix(resource, 1);
	struct series fresh = {.resource = resource};

	MAP_PROBE(&s->series_index, hash, id)
	{
		if (s->series.v[id].resource == resource) {
			*ret = id;
			return ERR_OK;
		}
	}
	TRY(vec_push(&s->series, fresh));
	*ret = (uint32_t)s->series.n - 1;
	return map_put(&s->series_index, hash, *ret);
}

/* Whether an id is new to a set of ids, which then has it. */
static enum err remember(struct map *seen, uint32_t id, bool *ret_new)
{
	*ret_new = map_get(seen, hash_mix(id, 1)) == MAP_NONE;
	return *ret_new ? map_put(seen, hash_mix(id, 1), id) : ERR_OK;
}

/* The target may have rows of its own: they are the first profile of the merge. */
static enum err state_begin(struct merge *m)
{
	struct profile *dst = m->dst;
	struct merge_state *s = mem_zalloc(1, sizeof(*s));
	uint32_t series;
	bool fresh;

	if (!s)
		return ERR_NO_MEMORY;
	m->state = s;
	s->rows.dense = true;
	for (size_t i = 0; i < dst->comments.n; i++)
		TRY(remember(&s->comment_index, dst->comments.v[i], &fresh));
	for (size_t i = 0; i < dst->mappings.n; i++)
		TRY(remember(&s->mapping_index, dst->mappings.v[i], &fresh));
	if (!dst->row_count)
		return ERR_OK;
	TRY(find_series(s, dst->resource, &series));
	for (uint32_t t = 0; t < dst->type_count; t++)
		s->series.v[series].profiles[t] = 1;
	m->count = 1;
	return row_index_fill(&s->rows, dst, series);
}

int64_t merge_unit_ratio(const struct dict *d, uint32_t src, uint32_t dst)
{
	double from, to;
	enum unit_kind kind;

	if (src == dst)
		return 1;
	kind = unit_kind(dict_str(d, src), &from);
	if (kind == UNIT_OTHER || kind != unit_kind(dict_str(d, dst), &to))
		return 0;
	return from >= to ? (int64_t)(from / to) : -(int64_t)(to / from);
}

void merge_scale_column(struct profile *p, uint32_t column, int64_t factor)
{
	for (size_t i = 0; i < p->row_count; i++) {
		int64_t *value = &p->values[i * p->type_count + column];

		*value = multiply(*value, factor);
	}
}

/* As pprof: values in different units of one kind are added in the finer one. */
static bool match_type(struct profile *dst, uint32_t t, struct value_type type, struct column *ret)
{
	int64_t ratio;

	if (dst->types[t].type != type.type)
		return false;
	ratio = merge_unit_ratio(dst->dict, type.unit, dst->types[t].unit);
	if (!ratio)
		return false;
	if (ratio < 0) {
		merge_scale_column(dst, t, -ratio);
		dst->types[t].unit = type.unit;
		ratio = 1;
	}
	*ret = (struct column){t, ratio};
	return true;
}

/* Computed columns stay apart from measured ones until all are there (merge_finish.c). */
static enum err place_column(struct profile *dst, struct value_type type, bool derived,
			     uint64_t *taken, struct column *ret)
{
	for (uint32_t t = 0; t < dst->type_count; t++) {
		if (*taken >> t & 1 || (dst->derived >> t & 1) != derived ||
		    !match_type(dst, t, type, ret))
			continue;
		*taken |= UINT64_C(1) << t;
		return ERR_OK;
	}
	TRY(profile_add_column(dst, type));
	dst->derived |= (uint64_t)derived << (dst->type_count - 1);
	*ret = (struct column){dst->type_count - 1, 1};
	*taken |= UINT64_C(1) << ret->to;
	return ERR_OK;
}

static enum err place_columns(struct merge *m, const struct profile *src, struct column *columns)
{
	struct profile *dst = m->dst;
	struct remap *r = &m->state->remap;
	int before = profile_default_type(dst);
	uint64_t taken = 0;

	for (uint32_t t = 0; t < src->type_count; t++) {
		struct value_type type;

		TRY(remap_string(r, src->types[t].type, &type.type));
		TRY(remap_string(r, src->types[t].unit, &type.unit));
		TRY(place_column(dst, type, src->derived >> t & 1, &taken, &columns[t]));
	}
	if (src->default_type >= 0 && (uint32_t)src->default_type < src->type_count &&
	    dst->default_type < 0)
		dst->default_type = (int)columns[src->default_type].to;
	/* "The last column" must not become another one because columns were added. */
	if (before >= 0 && dst->default_type < 0 && profile_default_type(dst) != before)
		dst->default_type = before;
	return ERR_OK;
}

static enum err merge_comments(struct merge *m, const struct profile *src)
{
	for (size_t i = 0; i < src->comments.n; i++) {
		uint32_t id;
		bool fresh;

		TRY(remap_string(&m->state->remap, src->comments.v[i], &id));
		TRY(remember(&m->state->comment_index, id, &fresh));
		if (fresh)
			TRY(vec_push(&m->dst->comments, id));
	}
	return ERR_OK;
}

static enum err first_wins(struct remap *r, uint32_t *dst, uint32_t src)
{
	return *dst ? ERR_OK : remap_string(r, src, dst);
}

static enum err merge_period(struct merge *m, const struct profile *src)
{
	struct profile *dst = m->dst;
	struct value_type type;

	TRY(remap_string(&m->state->remap, src->period_type.type, &type.type));
	TRY(remap_string(&m->state->remap, src->period_type.unit, &type.unit));
	if (m->count == 0)
		dst->period_type = type;
	if (dst->period_type.type != type.type || dst->period_type.unit != type.unit)
		m->state->period_differs = true;
	if (src->period > dst->period)
		dst->period = src->period;
	if (m->state->period_differs) {
		dst->period_type = (struct value_type){0};
		dst->period = 0;
	}
	return ERR_OK;
}

/* Properties that are kept only if they are equal in all profiles. */
static enum err merge_identity(struct merge *m, const struct profile *src)
{
	struct profile *dst = m->dst;
	struct remap *r = &m->state->remap;
	uint32_t name, version, attributes;

	TRY(remap_string(r, src->scope_name, &name));
	TRY(remap_string(r, src->scope_version, &version));
	TRY(remap_label_set(r, src->attributes, &attributes));
	if (m->count == 0) {
		dst->scope_name = name;
		dst->scope_version = version;
		dst->attributes = attributes;
		memcpy(dst->profile_id, src->profile_id, sizeof(dst->profile_id));
		return ERR_OK;
	}
	if (dst->scope_name != name || dst->scope_version != version)
		dst->scope_name = dst->scope_version = 0;
	if (dst->attributes != attributes)
		dst->attributes = 0;
	memset(dst->profile_id, 0, sizeof(dst->profile_id));
	return ERR_OK;
}

/*
 * A recording of several kinds of events (JFR) is several profiles of the same time, one behind the
 * other, with columns of their own: that time has passed once.
 */
static bool same_recording(struct merge_state *s, const struct profile *src,
			   const struct column *columns)
{
	uint64_t mask = 0;
	bool same;

	for (uint32_t t = 0; t < src->type_count; t++)
		mask |= (uint64_t)1 << columns[t].to;
	same = src->time_ns && src->time_ns == s->last_time &&
	       src->duration_ns == s->last_duration && !(mask & s->last_columns);
	s->last_columns = same ? s->last_columns | mask : mask;
	s->last_time = src->time_ns;
	s->last_duration = src->duration_ns;
	return same;
}

static enum err merge_head(struct merge *m, const struct profile *src, const struct column *columns)
{
	struct profile *dst = m->dst;
	struct remap *r = &m->state->remap;

	if (src->time_ns && (!dst->time_ns || src->time_ns < dst->time_ns))
		dst->time_ns = src->time_ns;
	if (!same_recording(m->state, src, columns))
		dst->duration_ns = value_add(dst->duration_ns, src->duration_ns);
	TRY(first_wins(r, &dst->doc_url, src->doc_url));
	TRY(first_wins(r, &dst->drop_frames, src->drop_frames));
	TRY(first_wins(r, &dst->keep_frames, src->keep_frames));
	TRY(merge_period(m, src));
	TRY(merge_identity(m, src));
	return merge_comments(m, src);
}

static enum err merge_row(struct merge *m, const struct profile *src, size_t i,
			  const struct column *columns, uint32_t series)
{
	struct remap *r = &m->state->remap;
	const int64_t *from = profile_values(src, i);
	struct row row = profile_row(src, i);
	int64_t values[PROFILE_MAX_TYPES] = {0};

	TRY(remap_stack(r, row.stack, &row.stack));
	TRY(remap_label_set(r, row.labels, &row.labels));
	TRY(remap_link(r, row.link, &row.link));
	for (uint32_t t = 0; t < src->type_count; t++)
		values[columns[t].to] = multiply(from[t], columns[t].factor);
	return row_index_add(&m->state->rows, m->dst, &row, series, values);
}

/*
 * Most rows, when many profiles of one program are merged, are a stack that is there already: then
 * nothing has to be interned or looked up by content, and the values are added in place.
 */
static bool may_add_in_place(const struct merge *m, const struct profile *src,
			     const struct column *columns, uint32_t series)
{
	for (uint32_t t = 0; t < src->type_count; t++)
		if (columns[t].factor != 1)
			return false;
	return remap_keeps_all(&m->state->remap) && !series && !src->link && !src->time;
}

static enum err merge_rows(struct merge *m, const struct profile *src, const struct column *columns,
			   uint32_t series)
{
	bool in_place = may_add_in_place(m, src, columns, series);

	for (size_t i = 0; i < src->row_count; i++) {
		const int64_t *from = profile_values(src, i);
		uint32_t row = 0;
		int64_t *to;

		if (work_stopped_at(i))
			return ERR_CANCELLED;
		if (in_place && !src->labels[i])
			row = row_index_plain(&m->state->rows, src->stack[i]);
		if (!row) {
			TRY(merge_row(m, src, i, columns, series));
			continue;
		}
		to = m->dst->values + (size_t)(row - 1) * m->dst->type_count;
		for (uint32_t t = 0; t < src->type_count; t++)
			to[columns[t].to] = value_add(to[columns[t].to], from[t]);
	}
	return ERR_OK;
}

/* In the order of the files: the first mapping of a pprof file is the program itself. */
static enum err merge_mappings(struct merge *m, const struct profile *src)
{
	for (size_t i = 0; i < src->mappings.n; i++) {
		uint32_t id;
		bool fresh;

		TRY(remap_mapping(&m->state->remap, src->mappings.v[i], &id));
		TRY(remember(&m->state->mapping_index, id, &fresh));
		if (fresh)
			TRY(vec_push(&m->dst->mappings, id));
	}
	return ERR_OK;
}

enum err merge_add(struct merge *m, const struct profile *src)
{
	struct column columns[PROFILE_MAX_TYPES];
	uint32_t resource, series;

	if (!m->state)
		TRY(state_begin(m));
	TRY(remap_begin(&m->state->remap, src->dict, m->dst->dict));
	TRY(merge_mappings(m, src));
	TRY(place_columns(m, src, columns));
	TRY(merge_head(m, src, columns));
	TRY(remap_label_set(&m->state->remap, src->resource, &resource));
	TRY(find_series(m->state, resource, &series));
	for (uint32_t t = 0; t < src->type_count; t++)
		m->state->series.v[series].profiles[columns[t].to]++;
	TRY(merge_rows(m, src, columns, series));
	m->count++;
	return ERR_OK;
}
