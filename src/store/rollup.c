/*
 * Roll-ups: what a range of one service adds up to, without who it was.
 */
#include "base/hash.h"
#include "base/map.h"
#include "store/block.h"
#include "store/coverage.h"
#include "store/row_cut.h"

/* A series that comes irregularly has no more runs of a type in an hour than these. */
#define MOST_RUNS 64

/* One type, and for a gauge one series; or what of a type lies beyond the end. */
struct part {
	uint32_t type, series;
	bool beyond;
	uint64_t profiles;
	struct sums sums;
};

struct rollup {
	int64_t time_ns, duration_ns;
	VEC(struct part) parts;
	struct map index;
	struct coverage coverage;
	/* Of a profile that is cut. */
	VEC(uint32_t) stacks;
	VEC(int64_t) values, before, times;
};

enum err rollup_new(int64_t time_ns, int64_t duration_ns, struct rollup **ret)
{
	struct rollup *r = mem_zalloc(1, sizeof(*r));

	if (!r)
		return ERR_NO_MEMORY;
	r->time_ns = time_ns;
	r->duration_ns = duration_ns;
	coverage_init(&r->coverage, time_ns, INT64_MAX);
	r->coverage.most_runs = MOST_RUNS;
	if (duration_ns > COVERAGE_HOUR_NS)
		r->coverage.most_runs *= (size_t)(duration_ns / COVERAGE_HOUR_NS);
	*ret = r;
	return ERR_OK;
}

void rollup_free(struct rollup *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->parts.n; i++)
		mem_free(r->parts.v[i].sums.v);
	vec_release(&r->parts);
	map_release(&r->index);
	coverage_release(&r->coverage);
	vec_release(&r->stacks);
	vec_release(&r->values);
	vec_release(&r->before);
	vec_release(&r->times);
	mem_free(r);
}

static enum err find_part(struct rollup *r, uint32_t type, uint32_t series, bool beyond,
			  struct part **ret)
{
	struct part fresh = {.type = type, .series = series, .beyond = beyond};
	uint64_t hash = hash_mix((uint64_t)type << 32 | series, 1 + beyond);

	MAP_PROBE(&r->index, hash, id)
	{
		*ret = &r->parts.v[id];
		if ((*ret)->type == type && (*ret)->series == series && (*ret)->beyond == beyond)
			return ERR_OK;
	}
	TRY(vec_reserve(&r->parts, 1));
	TRY(map_put(&r->index, hash, (uint32_t)r->parts.n));
	r->parts.v[r->parts.n] = fresh;
	*ret = &r->parts.v[r->parts.n++];
	return ERR_OK;
}

static enum err grow(struct sums *s, uint32_t stacks)
{
	size_t cap = s->n;

	if (stacks <= s->n)
		return ERR_OK;
	TRY(mem_grow(&s->v, &cap, stacks, sizeof(*s->v), VEC_CEILING));
	memset(s->v + s->n, 0, (cap - s->n) * sizeof(*s->v));
	s->n = (uint32_t)cap;
	return ERR_OK;
}

static int64_t end_of(const struct rollup *r)
{
	return r->time_ns + r->duration_ns;
}

static enum err add_sum(struct rollup *r, const struct chunk_view *v,
			const struct chunk_column *column, bool gauge, bool beyond,
			uint32_t stack_count)
{
	struct part *part;

	TRY(find_part(r, column->type, gauge ? v->head.series : SERIES_MANY, beyond, &part));
	TRY(grow(&part->sums, stack_count));
	TRY(chunk_sum(v, column, &part->sums));
	part->profiles += v->head.profiles;
	return ERR_OK;
}

static enum err read_rows(struct rollup *r, const struct chunk_view *v,
			  const struct chunk_column *column, uint32_t stack_count)
{
	size_t n = (size_t)v->head.rows + 1;

	r->stacks.n = r->values.n = r->before.n = r->times.n = 0;
	TRY(vec_reserve(&r->stacks, n));
	TRY(vec_reserve(&r->values, n));
	TRY(vec_reserve(&r->before, n));
	TRY(vec_reserve(&r->times, n));
	TRY(chunk_stacks(v, stack_count, r->stacks.v));
	TRY(chunk_values(v, column, r->values.v));
	return chunk_times(v, r->times.v);
}

/* The part of a profile after the end of the roll-up. */
static enum err add_beyond(struct rollup *r, const struct chunk_view *v,
			   const struct chunk_column *column, uint32_t stack_count)
{
	struct row_cut cut;
	struct part *part;

	TRY(read_rows(r, v, column, stack_count));
	TRY(find_part(r, column->type, SERIES_MANY, true, &part));
	TRY(grow(&part->sums, stack_count));
	row_cut_init(&cut, &v->head, r->values.v, r->times.v);
	row_cut_before(&cut, end_of(r), r->before.v);
	for (uint32_t i = 0; i < v->head.rows; i++) {
		int64_t *sum = &part->sums.v[r->stacks.v[i]];

		*sum = add_saturating(*sum, r->values.v[i] - r->before.v[i]);
	}
	return ERR_OK;
}

static enum err add_run(struct rollup *r, const struct chunk_view *v, uint32_t type, bool gauge)
{
	struct coverage_run run = coverage_of_chunk(&v->head);
	uint32_t line;

	TRY(coverage_line(&r->coverage, v->head.series, type, gauge, &line));
	return coverage_add(&r->coverage, NULL, line, &run);
}

/* A column of a chunk, or of a roll-up of a part of this one. */
static enum err add_column(struct rollup *r, const struct chunk_view *v,
			   const struct chunk_column *column, bool gauge, uint32_t stack_count)
{
	if (v->head.flags & CHUNK_BEYOND)
		return v->head.time_ns == end_of(r)
			       ? add_sum(r, v, column, gauge, true, stack_count)
			       : ERR_OK;
	if (!(v->head.flags & CHUNK_SUM))
		TRY(add_run(r, v, column->type, gauge));
	if (v->head.flags & CHUNK_RUN)
		return ERR_OK;
	TRY(add_sum(r, v, column, gauge, false, stack_count));
	if (gauge || v->head.flags & CHUNK_SUM || profile_end(&v->head) <= end_of(r))
		return ERR_OK;
	return add_beyond(r, v, column, stack_count);
}

enum err rollup_add(struct rollup *r, const struct chunk_view *v, const bool *gauge,
		    uint32_t type_count, uint32_t stack_count)
{
	for (uint32_t i = 0; i < v->head.column_count; i++) {
		const struct chunk_column *column = &v->head.columns[i];

		if (column->type >= type_count)
			return ERR_BAD_INDEX;
		TRY(add_column(r, v, column, gauge[column->type], stack_count));
	}
	return ERR_OK;
}

static enum err encode_part(const struct rollup *r, const struct part *part,
			    struct chunk_scratch *scratch, struct buf *out)
{
	VEC(uint32_t) stacks = {0};
	VEC(int64_t) values = {0};
	uint32_t first = 0;
	struct chunk_rows rows = {
		.series = part->series,
		.profiles = part->profiles > UINT32_MAX ? UINT32_MAX : (uint32_t)part->profiles,
		.time_ns = part->beyond ? end_of(r) : r->time_ns,
		.duration_ns = part->beyond ? 0 : r->duration_ns,
		.type_count = 1,
		.types = &part->type,
		.stride = 1,
		.column = &first,
	};
	enum err e = ERR_OK;

	for (uint32_t i = 0; !e && i < part->sums.n; i++) {
		if (!part->sums.v[i])
			continue;
		e = vec_push(&stacks, i);
		if (!e)
			e = vec_push(&values, part->sums.v[i]);
	}
	rows.n = stacks.n;
	rows.stack = stacks.v;
	rows.values = values.v;
	if (!e)
		e = chunk_encode(&rows, scratch, out);
	vec_release(&stacks);
	vec_release(&values);
	return e;
}

/* The parts as consecutive chunks; `ends` has their ends. */
static enum err encode_parts(const struct rollup *r, struct buf *bytes, size_t *ends)
{
	CLEANUP(chunk_scratch_release) struct chunk_scratch scratch = {0};

	for (size_t i = 0; i < r->parts.n; i++) {
		TRY(encode_part(r, &r->parts.v[i], &scratch, bytes));
		ends[i] = bytes->n;
	}
	return ERR_OK;
}

/* A run has no rows: its head says all. */
static enum err make_run(const struct coverage_line *line, const struct coverage_run *run,
			 struct arena *arena, struct chunk_view *ret)
{
	static const struct str none[STREAM_VALUES];
	struct chunk_column *column = arena_zalloc(arena, 1, sizeof(*column));

	if (!column)
		return ERR_NO_MEMORY;
	*column = (struct chunk_column){.type = line->type,
					.source = COLUMN_ONES,
					.scale = run->last_ns - run->start_ns,
					.total = run->covered_ns};
	*ret = (struct chunk_view){
		.head = {.series = line->series,
			 .profiles = run->n > UINT32_MAX ? UINT32_MAX : (uint32_t)run->n,
			 .time_ns = run->start_ns,
			 .duration_ns = run->end_ns - run->start_ns,
			 .flags = CHUNK_RUN,
			 .column_count = 1,
			 .columns = column,
			 .stream_count = STREAM_VALUES},
		.streams = none,
	};
	return ERR_OK;
}

static enum err make_runs(const struct rollup *r, struct arena *arena, struct chunk_view *views)
{
	vec_for_each (line, &r->coverage.lines)
		vec_for_each (run, &line->whole.runs)
			TRY(make_run(line, run, arena, views++));
	return ERR_OK;
}

enum err rollup_finish(struct rollup *r, struct buf *out)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(UINT32_MAX);
	CLEANUP(arena_release) struct arena arena = {0};
	size_t n = r->parts.n, all = n, begin = 0;
	size_t *ends = arena_zalloc(&arena, n + 1, sizeof(*ends));
	struct chunk_view *views, **pointers;

	vec_for_each (line, &r->coverage.lines) {
		TRY(coverage_settle(&r->coverage, NULL, line));
		all += line->whole.runs.n;
	}
	views = arena_zalloc(&arena, all + 1, sizeof(*views));
	pointers = arena_zalloc(&arena, all + 1, sizeof(struct chunk_view *));
	if (!ends || !views || !pointers)
		return ERR_NO_MEMORY;
	TRY(encode_parts(r, &bytes, ends));
	for (size_t i = 0; i < n; i++) {
		TRY(chunk_open(str_n(bytes.data + begin, ends[i] - begin), &arena, &views[i]));
		views[i].head.flags |= r->parts.v[i].beyond ? CHUNK_BEYOND : CHUNK_SUM;
		begin = ends[i];
	}
	TRY(make_runs(r, &arena, views + n));
	for (size_t i = 0; i < all; i++)
		pointers[i] = &views[i];
	return block_encode(pointers, all, out);
}
