/*
 * A chunk without some of its columns: what deleting one type of a profile leaves.
 */
#include "store/chunk.h"

struct columns {
	struct arena arena;
	uint32_t types[PROFILE_MAX_TYPES], column[PROFILE_MAX_TYPES];
	uint32_t count;
	uint32_t *stack, *labels, *link;
	uint64_t *time;
	int64_t *values;
	struct link *links;
};

static enum err read_groups(const struct chunk_view *v, struct columns *c)
{
	struct chunk_group *groups;
	struct str links;
	uint32_t n;

	TRY(chunk_groups(v, &c->arena, &groups, &n));
	TRY(chunk_links(v, &links));
	if (links.n)
		memcpy(c->links + 1, links.p, links.n);
	for (uint32_t g = 0; g < n; g++) {
		for (uint32_t i = groups[g].first; i < groups[g].first + groups[g].n; i++) {
			c->labels[i] = groups[g].labels;
			c->link[i] = groups[g].link;
		}
	}
	return ERR_OK;
}

static enum err read_values(const struct chunk_view *v, struct columns *c)
{
	uint32_t rows = v->head.rows;
	int64_t *one = arena_alloc(&c->arena, (rows + 1) * sizeof(*one));

	if (!one)
		return ERR_NO_MEMORY;
	for (uint32_t t = 0; t < c->count; t++) {
		TRY(chunk_values(v, chunk_find(v, c->types[t]), one));
		for (uint32_t i = 0; i < rows; i++)
			c->values[(size_t)i * c->count + t] = one[i];
		c->column[t] = t;
	}
	return chunk_times(v, (int64_t *)c->time);
}

static enum err read_columns(const struct chunk_view *v, struct columns *c)
{
	size_t rows = (size_t)v->head.rows + 1;

	c->stack = arena_alloc(&c->arena, rows * sizeof(*c->stack));
	c->labels = arena_alloc(&c->arena, rows * sizeof(*c->labels));
	c->link = arena_alloc(&c->arena, rows * sizeof(*c->link));
	c->time = arena_alloc(&c->arena, rows * sizeof(*c->time));
	c->values = arena_alloc(&c->arena, rows * c->count * sizeof(*c->values));
	c->links = arena_zalloc(&c->arena, (size_t)v->head.links + 1, sizeof(*c->links));
	if (!c->stack || !c->labels || !c->link || !c->time || !c->values || !c->links)
		return ERR_NO_MEMORY;
	TRY(chunk_stacks(v, UINT32_MAX, c->stack));
	TRY(read_groups(v, c));
	return read_values(v, c);
}

enum err chunk_filter_types(const struct chunk_view *v, bool (*keep)(void *context, uint32_t type),
			    void *context, struct chunk_scratch *s, struct buf *out)
{
	struct columns c = {0};
	struct chunk_rows rows;
	enum err e;

	for (uint32_t i = 0; i < v->head.column_count; i++)
		if (keep(context, v->head.columns[i].type))
			c.types[c.count++] = v->head.columns[i].type;
	if (!c.count)
		return ERR_OK;
	e = read_columns(v, &c);
	if (!e) {
		rows = (struct chunk_rows){
			.series = v->head.series,
			.profiles = v->head.profiles,
			.time_ns = v->head.time_ns,
			.duration_ns = v->head.duration_ns,
			.type_count = c.count,
			.types = c.types,
			.n = v->head.rows,
			.stack = c.stack,
			.labels = c.labels,
			.link = c.link,
			.links = c.links,
			.time = v->head.flags & CHUNK_TIMES ? c.time : NULL,
			.values = c.values,
			.stride = c.count,
			.column = c.column,
		};
		e = chunk_encode(&rows, s, out);
	}
	arena_release(&c.arena);
	return e;
}
