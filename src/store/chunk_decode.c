/*
 * A chunk's columns, out of its bytes. Nothing of what the bytes say is believed: stacks are
 * compared with the size of their table, streams end where they end.
 */
#include "store/block_segment.h"
#include "store/chunk.h"
#include "store/varint.h"

#define GAP_ESCAPE   31
#define VALUE_ESCAPE 7

enum err chunk_open(struct str bytes, struct arena *arena, struct chunk_view *ret)
{
	struct chunk_view v = {0};
	uint32_t sizes[CHUNK_MAX_STREAMS];
	struct str *streams, body;
	struct cursor c;

	TRY(blob_verify(bytes, CHUNK_VERSION, &body));
	c = cursor_of(body);
	TRY(chunk_head_read(&c, 0, arena, &v.head, sizes));
	streams = arena_zalloc(arena, v.head.stream_count, sizeof(*streams));
	if (!streams)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < v.head.stream_count; i++)
		streams[i] = get_bytes(&c, sizes[i]);
	if (c.bad || c.p != c.end)
		return ERR_CORRUPT;
	v.streams = streams;
	*ret = v;
	return ERR_OK;
}

const struct chunk_column *chunk_find(const struct chunk_view *v, uint32_t type)
{
	for (uint32_t i = 0; i < v->head.column_count; i++)
		if (v->head.columns[i].type == type)
			return &v->head.columns[i];
	return NULL;
}

enum err chunk_stream(const struct chunk_view *v, uint32_t stream, struct str *ret)
{
	struct str whole;

	if (stream >= v->head.stream_count)
		return ERR_CORRUPT;
	if (!v->segment) {
		*ret = v->streams[stream];
		return ERR_OK;
	}
	TRY(segment_stream(v->segment, stream, &whole));
	*ret = str_n(whole.p + v->at[stream], v->n[stream]);
	return ERR_OK;
}

enum err chunk_groups(const struct chunk_view *v, struct arena *arena, struct chunk_group **ret,
		      uint32_t *ret_n)
{
	struct chunk_group *groups = arena_zalloc(arena, v->head.groups, sizeof(*groups));
	uint32_t row = 0;
	struct str bytes;
	struct cursor c;

	if (!groups)
		return ERR_NO_MEMORY;
	if (!(v->head.flags & CHUNK_GROUPS)) {
		if (v->head.groups)
			groups[0].n = v->head.rows;
	} else {
		TRY(chunk_stream(v, STREAM_GROUPS, &bytes));
		c = cursor_of(bytes);
		for (uint32_t i = 0; i < v->head.groups; i++) {
			groups[i].labels = (uint32_t)get_bounded(&c, UINT32_MAX);
			groups[i].link = (uint32_t)get_bounded(&c, v->head.links);
			groups[i].first = row;
			groups[i].n = (uint32_t)get_bounded(&c, v->head.rows - row);
			row += groups[i].n;
		}
		if (c.bad || row != v->head.rows)
			return ERR_CORRUPT;
	}
	*ret = groups;
	*ret_n = v->head.groups;
	return ERR_OK;
}

enum err chunk_links(const struct chunk_view *v, struct str *ret)
{
	return chunk_stream(v, STREAM_LINKS, ret);
}

/* Walks over the tokens: (stack, value of the first stream) row by row. */
struct walk {
	const uint8_t *token, *end;
	struct cursor escapes;
	struct cursor groups;
	uint64_t stack;
	uint32_t left; /* rows of the group */
	bool grouped;
};

static enum err walk_begin(const struct chunk_view *v, struct walk *w)
{
	struct str tokens, escapes, groups;

	TRY(chunk_stream(v, STREAM_TOKENS, &tokens));
	TRY(chunk_stream(v, STREAM_ESCAPES, &escapes));
	*w = (struct walk){.token = (const uint8_t *)tokens.p, .left = v->head.rows};
	w->end = w->token + tokens.n;
	w->escapes = cursor_of(escapes);
	w->grouped = v->head.flags & CHUNK_GROUPS;
	if (!w->grouped)
		return ERR_OK;
	TRY(chunk_stream(v, STREAM_GROUPS, &groups));
	w->groups = cursor_of(groups);
	w->left = 0;
	return ERR_OK;
}

/* The end of the next group's rows, or NULL at the end of the chunk. Restarts gaps. */
static const uint8_t *walk_group(struct walk *w)
{
	if (w->token == w->end || w->escapes.bad)
		return NULL;
	if (w->grouped) {
		(void)get_varint(&w->groups);
		(void)get_varint(&w->groups);
		w->left = (uint32_t)get_bounded(&w->groups, (uint64_t)(w->end - w->token));
		if (!w->left)
			w->escapes.bad = true;
	}
	w->stack = 0;
	return w->token + w->left;
}

static inline int64_t walk_next(struct walk *w)
{
	uint8_t token = *w->token++;

	if (__builtin_expect(token >= GAP_ESCAPE << 3, 0))
		w->stack += GAP_ESCAPE + get_bounded(&w->escapes, UINT32_MAX);
	else
		w->stack += token >> 3;
	if (__builtin_expect((token & VALUE_ESCAPE) == VALUE_ESCAPE, 0))
		return get_zigzag(&w->escapes);
	return token & VALUE_ESCAPE;
}

enum err chunk_stacks(const struct chunk_view *v, uint32_t stack_count, uint32_t *ret)
{
	const uint8_t *end;
	struct walk w;

	TRY(walk_begin(v, &w));
	while ((end = walk_group(&w))) {
		while (w.token < end) {
			(void)walk_next(&w);
			if (w.stack >= stack_count)
				return ERR_BAD_INDEX;
			*ret++ = (uint32_t)w.stack;
		}
	}
	return w.escapes.bad ? ERR_CORRUPT : ERR_OK;
}

static int64_t scaled(int64_t value, int64_t scale)
{
	return (int64_t)((uint64_t)value * (uint64_t)scale);
}

static enum err values_of_tokens(const struct chunk_view *v, int64_t scale, int64_t *ret)
{
	const uint8_t *end;
	struct walk w;

	TRY(walk_begin(v, &w));
	while ((end = walk_group(&w)))
		while (w.token < end)
			*ret++ = scaled(walk_next(&w), scale);
	return w.escapes.bad ? ERR_CORRUPT : ERR_OK;
}

enum err chunk_values(const struct chunk_view *v, const struct chunk_column *column, int64_t *ret)
{
	struct str bytes;
	struct cursor c;

	if (column->source == COLUMN_TOKENS)
		return values_of_tokens(v, column->scale, ret);
	if (column->source == COLUMN_ONES) {
		for (uint32_t i = 0; i < v->head.rows; i++)
			ret[i] = column->scale;
		return ERR_OK;
	}
	TRY(chunk_stream(v, STREAM_VALUES + column->source - COLUMN_VALUES, &bytes));
	c = cursor_of(bytes);
	for (uint32_t i = 0; i < v->head.rows; i++)
		ret[i] = scaled(get_zigzag(&c), column->scale);
	return c.bad ? ERR_CORRUPT : ERR_OK;
}

enum err chunk_times(const struct chunk_view *v, int64_t *ret)
{
	struct str bytes;
	struct cursor c;

	if (!(v->head.flags & CHUNK_TIMES)) {
		memset(ret, 0, v->head.rows * sizeof(*ret));
		return ERR_OK;
	}
	TRY(chunk_stream(v, STREAM_TIMES, &bytes));
	c = cursor_of(bytes);
	for (uint32_t i = 0; i < v->head.rows; i++) {
		uint64_t offset = get_varint(&c);

		ret[i] = 0;
		if (offset)
			ret[i] = (int64_t)((uint64_t)v->head.time_ns +
					   (uint64_t)unzigzag(offset - 1));
	}
	return c.bad ? ERR_CORRUPT : ERR_OK;
}

/* Adds without looking when the totals of all that was added cannot overflow. */
static inline void sum_add(int64_t *sum, int64_t value, bool watch)
{
	if (!watch)
		*sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
	else if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

static inline enum err sum_rows(struct walk *w, const struct chunk_column *column,
				struct cursor *values, struct sums *sums, bool watch)
{
	bool ones = column->source == COLUMN_ONES;
	const uint8_t *end;

	while ((end = walk_group(w))) {
		while (w->token < end) {
			int64_t value = walk_next(w);

			if (w->stack >= sums->n)
				return ERR_BAD_INDEX;
			if (values)
				value = get_zigzag(values);
			sum_add(&sums->v[w->stack], scaled(ones ? 1 : value, column->scale), watch);
		}
	}
	return w->escapes.bad || (values && values->bad) ? ERR_CORRUPT : ERR_OK;
}

/* Finds the values of a column, if they are not in the tokens; `ret` is a cursor or NULL. */
static enum err open_values(const struct chunk_view *v, const struct chunk_column *column,
			    struct cursor *c, struct cursor **ret)
{
	struct str bytes;

	*ret = NULL;
	if (column->source < COLUMN_VALUES)
		return ERR_OK;
	TRY(chunk_stream(v, STREAM_VALUES + column->source - COLUMN_VALUES, &bytes));
	*c = cursor_of(bytes);
	*ret = c;
	return ERR_OK;
}

/* `shared`: whether there is anything to divide by, which takes longer than the rest. */
static inline enum err weigh_rows(struct walk *w, const struct chunk_column *column,
				  struct cursor *values, const struct chunk_weights *to,
				  bool shared)
{
	bool ones = column->source == COLUMN_ONES;
	const uint8_t *end;

	while ((end = walk_group(w))) {
		while (w->token < end) {
			int64_t value = walk_next(w);
			__int128 weighed;

			if (w->stack >= to->n)
				return ERR_BAD_INDEX;
			if (values)
				value = get_zigzag(values);
			weighed = (__int128)scaled(ones ? 1 : value, column->scale) * to->weight;
			to->held[w->stack] += shared ? weighed / to->share : weighed;
		}
	}
	return w->escapes.bad || (values && values->bad) ? ERR_CORRUPT : ERR_OK;
}

enum err chunk_weigh(const struct chunk_view *v, const struct chunk_column *column,
		     const struct chunk_weights *to)
{
	struct cursor c, *values;
	struct walk w;

	TRY(walk_begin(v, &w));
	TRY(open_values(v, column, &c, &values));
	return to->share == 1 ? weigh_rows(&w, column, values, to, false)
			      : weigh_rows(&w, column, values, to, true);
}

enum err chunk_sum(const struct chunk_view *v, const struct chunk_column *column, struct sums *sums)
{
	bool watch = v->head.flags & CHUNK_NEGATIVE ||
		     __builtin_add_overflow(sums->bound, column->total, &sums->bound);
	struct cursor c, *values;
	struct walk w;

	if (watch)
		sums->bound = INT64_MAX;
	TRY(walk_begin(v, &w));
	TRY(open_values(v, column, &c, &values));
	if (!values)
		return watch ? sum_rows(&w, column, NULL, sums, true)
			     : sum_rows(&w, column, NULL, sums, false);
	return sum_rows(&w, column, &c, sums, watch);
}
