/*
 * A profile's rows into the bytes of a chunk.
 */
#include "store/chunk.h"
#include "store/varint.h"

#define GAP_ESCAPE   31
#define VALUE_ESCAPE 7

/* The streams of a chunk and its columns. */
struct plan {
	size_t n; /* rows */
	uint32_t source_count;
	const int64_t *sources[PROFILE_MAX_TYPES]; /* reduced by their greatest common divisor */
	struct chunk_column columns[PROFILE_MAX_TYPES];
	uint32_t flags;
};

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static uint64_t common_divisor(const int64_t *v, size_t n)
{
	uint64_t g = 0;

	for (size_t i = 0; i < n && g != 1; i++) {
		uint64_t a = magnitude(v[i]);

		if (g && a % g == 0)
			continue;
		while (a) {
			uint64_t rest = g % a;

			g = a;
			a = rest;
		}
	}
	return g && g <= INT64_MAX ? g : 1;
}

static bool all_equal(const int64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

/* Whether v is a whole multiple of the source, and of how much. */
static bool is_multiple(const int64_t *v, const int64_t *source, size_t n, int64_t *ret)
{
	size_t first = 0;
	int64_t factor;

	while (first < n && !source[first])
		first++;
	if (first == n || source[first] == -1 || v[first] % source[first])
		return false;
	factor = v[first] / source[first];
	for (size_t i = 0; i < n; i++) {
		int64_t product;

		if (__builtin_mul_overflow(source[i], factor, &product) || product != v[i])
			return false;
	}
	*ret = factor;
	return true;
}

static void plan_column(struct plan *p, int64_t *v, struct chunk_column *column)
{
	for (size_t i = 0; i < p->n; i++) {
		column->total = add_saturating(column->total, v[i]);
		if (v[i] < 0)
			p->flags |= CHUNK_NEGATIVE;
	}
	column->source = COLUMN_ONES;
	column->scale = p->n ? v[0] : 0;
	if (all_equal(v, p->n))
		return;
	for (uint32_t i = 0; i < p->source_count; i++) {
		if (!is_multiple(v, p->sources[i], p->n, &column->scale))
			continue;
		column->source = COLUMN_TOKENS + i;
		return;
	}
	column->scale = (int64_t)common_divisor(v, p->n);
	for (size_t i = 0; column->scale != 1 && i < p->n; i++)
		v[i] /= column->scale;
	column->source = COLUMN_TOKENS + p->source_count;
	p->sources[p->source_count++] = v;
}

static uint64_t first_value(const struct plan *p, const struct chunk_rows *rows,
			    const struct chunk_scratch *s, uint32_t type)
{
	return p->n ? magnitude(s->values.v[type * rows->n]) : 0;
}

/* Counts before amounts: the columns with the smallest numbers are most likely what the others are
 * multiples of, and fit into tokens best. */
static void plan_columns(struct plan *p, const struct chunk_rows *rows, struct chunk_scratch *s)
{
	uint32_t order[PROFILE_MAX_TYPES];

	for (uint32_t t = 0; t < rows->type_count; t++) {
		uint64_t first = first_value(p, rows, s, t);
		uint32_t at = t;

		for (; at && first_value(p, rows, s, order[at - 1]) > first; at--)
			order[at] = order[at - 1];
		order[at] = t;
	}
	for (uint32_t i = 0; i < rows->type_count; i++) {
		uint32_t t = order[i];

		p->columns[t] = (struct chunk_column){.type = rows->types[t]};
		plan_column(p, rows->n ? s->values.v + t * rows->n : NULL, &p->columns[t]);
	}
}

/* Tokens of rows first … until - 1, which are one group. */
static uint8_t *write_tokens(const struct plan *p, const struct chunk_scratch *s, size_t first,
			     size_t until, uint8_t *tokens, uint8_t *escapes)
{
	const int64_t *values = p->source_count ? p->sources[0] : NULL;
	uint32_t before = 0;

	for (size_t i = first; i < until; i++) {
		uint32_t gap = s->stacks.v[i] - before;
		uint64_t value = values ? (uint64_t)values[i] : 1;
		uint8_t token = (uint8_t)((gap < GAP_ESCAPE ? gap : GAP_ESCAPE) << 3);

		before = s->stacks.v[i];
		if (gap >= GAP_ESCAPE)
			escapes = varint_write(escapes, gap - GAP_ESCAPE);
		if (value < VALUE_ESCAPE) {
			token |= (uint8_t)value;
		} else {
			token |= VALUE_ESCAPE;
			escapes = varint_write(escapes, zigzag((int64_t)value));
		}
		tokens[i] = token;
	}
	return escapes;
}

static size_t group_end(const struct chunk_scratch *s, size_t first)
{
	size_t end = first + 1;

	if (!s->groups.n)
		return s->stacks.n;
	while (end < s->groups.n && s->groups.v[end] == s->groups.v[first])
		end++;
	return end;
}

/* Links get numbers of their own; groups come sorted by link, so that an equal one is the last. */
static uint32_t local_link(const struct chunk_rows *rows, struct buf *out, uint32_t link,
			   uint32_t before)
{
	if (link && link != before)
		buf_append(out, &rows->links[link], sizeof(struct link));
	return link ? (uint32_t)(out->n / sizeof(struct link)) : 0;
}

static void write_group(const struct chunk_rows *rows, struct chunk_scratch *s, size_t first,
			size_t until)
{
	uint64_t group = s->groups.v[first];
	uint32_t before = first ? (uint32_t)(s->groups.v[first - 1] >> 32) : 0;
	uint32_t link =
		local_link(rows, &s->streams[STREAM_LINKS], (uint32_t)(group >> 32), before);

	put_varint(&s->streams[STREAM_GROUPS], (uint32_t)group);
	put_varint(&s->streams[STREAM_GROUPS], link);
	put_varint(&s->streams[STREAM_GROUPS], until - first);
}

static enum err write_rows(const struct plan *p, const struct chunk_rows *rows,
			   struct chunk_scratch *s, uint32_t *ret_groups)
{
	uint8_t *tokens = buf_reserve(&s->streams[STREAM_TOKENS], p->n);
	uint8_t *escapes = buf_reserve(&s->streams[STREAM_ESCAPES], 2 * VARINT_MAX * p->n);
	uint8_t *end = escapes;

	*ret_groups = 0;
	if (!tokens || !escapes)
		return ERR_NO_MEMORY;
	for (size_t first = 0, until; first < p->n; first = until, ++*ret_groups) {
		until = group_end(s, first);
		end = write_tokens(p, s, first, until, tokens, end);
		if (p->flags & CHUNK_GROUPS)
			write_group(rows, s, first, until);
	}
	s->streams[STREAM_TOKENS].n = p->n;
	s->streams[STREAM_ESCAPES].n = (size_t)(end - escapes);
	for (size_t i = 0; p->flags & CHUNK_TIMES && i < p->n; i++)
		put_varint(&s->streams[STREAM_TIMES],
			   s->times.v[i]
				   ? zigzag((int64_t)(s->times.v[i] - (uint64_t)rows->time_ns)) + 1
				   : 0);
	for (uint32_t c = 1; c < p->source_count; c++)
		for (size_t i = 0; i < p->n; i++)
			put_zigzag(&s->streams[STREAM_VALUES + c - 1], p->sources[c][i]);
	return ERR_OK;
}

static void clear_streams(struct chunk_scratch *s)
{
	for (size_t i = 0; i < CHUNK_MAX_STREAMS; i++) {
		s->streams[i].ceiling = UINT32_MAX;
		buf_clear(&s->streams[i]);
	}
}

static enum err write_chunk(const struct chunk_head *head, struct chunk_scratch *s, struct buf *out)
{
	uint32_t sizes[CHUNK_MAX_STREAMS];
	size_t at = out->n;

	for (uint32_t i = 0; i < head->stream_count; i++) {
		TRY(buf_error(&s->streams[i]));
		sizes[i] = (uint32_t)s->streams[i].n;
	}
	buf_append(out, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	chunk_head_write(head, sizes, 0, out);
	for (uint32_t i = 0; i < head->stream_count; i++)
		buf_append(out, s->streams[i].data, s->streams[i].n);
	blob_seal(out, at, CHUNK_VERSION);
	if (out->error)
		out->n = at;
	return buf_error(out);
}

enum err chunk_encode(const struct chunk_rows *rows, struct chunk_scratch *s, struct buf *out)
{
	struct plan p = {0};
	struct chunk_head head = {
		.series = rows->series,
		.profiles = rows->profiles,
		.time_ns = rows->time_ns,
		.duration_ns = rows->duration_ns,
		.column_count = rows->type_count,
		.columns = p.columns,
	};

	if (rows->n > CHUNK_MAX_ROWS || rows->type_count > PROFILE_MAX_TYPES)
		return ERR_TOO_LARGE;
	clear_streams(s);
	TRY(chunk_order(rows, s));
	p.n = s->stacks.n;
	for (size_t i = 0; i < p.n; i++)
		if (s->stacks.v[i] >= head.stack_limit)
			head.stack_limit = s->stacks.v[i] + 1;
	for (size_t i = 0; i < s->groups.n; i++) {
		p.flags |= s->groups.v[i] ? CHUNK_GROUPS : 0;
		p.flags |= s->times.v[i] ? CHUNK_TIMES : 0;
	}
	plan_columns(&p, rows, s);
	TRY(write_rows(&p, rows, s, &head.groups));
	head.rows = (uint32_t)p.n;
	head.flags = p.flags;
	head.links = (uint32_t)(s->streams[STREAM_LINKS].n / sizeof(struct link));
	head.stream_count = STREAM_VALUES + (p.source_count > 1 ? p.source_count - 1 : 0);
	return write_chunk(&head, s, out);
}
