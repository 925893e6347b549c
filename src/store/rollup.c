/*
 * Roll-ups: what a range of one service adds up to, without who it was.
 */
#include "base/hash.h"
#include "base/map.h"
#include "store/block.h"

/* One type, and for a gauge one series. */
struct part {
	uint32_t type, series;
	uint64_t profiles;
	struct sums sums;
};

struct rollup {
	int64_t time_ns, duration_ns;
	VEC(struct part) parts;
	struct map index;
};

enum err rollup_new(int64_t time_ns, int64_t duration_ns, struct rollup **ret)
{
	struct rollup *r = mem_zalloc(1, sizeof(*r));

	if (!r)
		return ERR_NO_MEMORY;
	r->time_ns = time_ns;
	r->duration_ns = duration_ns;
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
	mem_free(r);
}

static enum err find_part(struct rollup *r, uint32_t type, uint32_t series, struct part **ret)
{
	struct part fresh = {.type = type, .series = series};
	uint64_t hash = hash_mix((uint64_t)type << 32 | series, 1);

	MAP_PROBE(&r->index, hash, id)
	{
		*ret = &r->parts.v[id];
		if ((*ret)->type == type && (*ret)->series == series)
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

enum err rollup_add(struct rollup *r, const struct chunk_view *v, const bool *gauge,
		    uint32_t type_count, uint32_t stack_count)
{
	for (uint32_t i = 0; i < v->head.column_count; i++) {
		const struct chunk_column *column = &v->head.columns[i];
		struct part *part;

		if (column->type >= type_count)
			return ERR_BAD_INDEX;
		TRY(find_part(r, column->type, gauge[column->type] ? v->head.series : SERIES_MANY,
			      &part));
		TRY(grow(&part->sums, stack_count));
		TRY(chunk_sum(v, column, &part->sums));
		part->profiles += v->head.profiles;
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
		.time_ns = r->time_ns,
		.duration_ns = r->duration_ns,
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

/* The parts as chunks one behind the other; `ends` says where each ends. */
static enum err encode_parts(const struct rollup *r, struct buf *bytes, size_t *ends)
{
	CLEANUP(chunk_scratch_release) struct chunk_scratch scratch = {0};

	for (size_t i = 0; i < r->parts.n; i++) {
		TRY(encode_part(r, &r->parts.v[i], &scratch, bytes));
		ends[i] = bytes->n;
	}
	return ERR_OK;
}

enum err rollup_finish(struct rollup *r, struct buf *out)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(UINT32_MAX);
	CLEANUP(arena_release) struct arena arena = {0};
	size_t n = r->parts.n, begin = 0;
	size_t *ends = arena_zalloc(&arena, n + 1, sizeof(*ends));
	struct chunk_view *views = arena_zalloc(&arena, n + 1, sizeof(*views));
	struct chunk_view **pointers = arena_zalloc(&arena, n + 1, sizeof(struct chunk_view *));

	if (!ends || !views || !pointers)
		return ERR_NO_MEMORY;
	TRY(encode_parts(r, &bytes, ends));
	for (size_t i = 0; i < n; i++) {
		TRY(chunk_open(str_n(bytes.data + begin, ends[i] - begin), &arena, &views[i]));
		pointers[i] = &views[i];
		begin = ends[i];
	}
	return block_encode(pointers, n, out);
}
