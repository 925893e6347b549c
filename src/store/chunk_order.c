/*
 * The rows of a chunk in order. They are sorted with a radix sort that looks only at bytes that
 * differ: a profile of 600 stacks takes two passes.
 */
#include "store/chunk.h"

void chunk_scratch_release(struct chunk_scratch *s)
{
	if (!s)
		return;
	vec_release(&s->keys);
	vec_release(&s->spare);
	vec_release(&s->order);
	vec_release(&s->order_spare);
	vec_release(&s->stacks);
	vec_release(&s->groups);
	vec_release(&s->times);
	vec_release(&s->values);
	for (size_t i = 0; i < CHUNK_MAX_STREAMS; i++)
		buf_release(&s->streams[i]);
	*s = (struct chunk_scratch){0};
}

static void radix_pass(const struct chunk_key *from, struct chunk_key *to, size_t n, unsigned shift)
{
	uint32_t start[256] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		start[from[i].key >> shift & 0xff]++;
	for (unsigned b = 0; b < 256; b++) {
		uint32_t count = start[b];

		start[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i].key >> shift & 0xff]++] = from[i];
}

/* Sorts s->keys, keeping the order of equal ones. */
static void sort_keys(struct chunk_scratch *s)
{
	uint64_t any = 0, all = UINT64_MAX;
	bool sorted = true;

	for (size_t i = 0; i < s->keys.n; i++) {
		any |= s->keys.v[i].key;
		all &= s->keys.v[i].key;
		sorted &= !i || s->keys.v[i - 1].key <= s->keys.v[i].key;
	}
	for (unsigned shift = 0; !sorted && shift < 64; shift += 8) {
		__typeof__(s->keys) swap;

		if (!((any ^ all) >> shift & 0xff))
			continue;
		radix_pass(s->keys.v, s->spare.v, s->keys.n, shift);
		s->spare.n = s->keys.n;
		swap = s->keys;
		s->keys.v = s->spare.v;
		s->keys.cap = s->spare.cap;
		s->spare.v = swap.v;
		s->spare.cap = swap.cap;
	}
}

static uint64_t row_group(const struct chunk_rows *rows, size_t i)
{
	return (uint64_t)(rows->link ? rows->link[i] : 0) << 32 |
	       (rows->labels ? rows->labels[i] : 0);
}

/* The least important key first: the sort is stable. */
static enum err sort_rows(const struct chunk_rows *rows, struct chunk_scratch *s)
{
	s->keys.n = s->spare.n = 0;
	TRY(vec_reserve(&s->keys, rows->n));
	TRY(vec_reserve(&s->spare, rows->n));
	s->keys.n = rows->n;
	for (uint32_t i = 0; i < rows->n; i++)
		s->keys.v[i] = (struct chunk_key){rows->time ? rows->time[i] : rows->stack[i], i};
	sort_keys(s);
	if (rows->time) {
		for (size_t i = 0; i < rows->n; i++)
			s->keys.v[i].key = rows->stack[s->keys.v[i].row];
		sort_keys(s);
	}
	if (rows->labels || rows->link) {
		for (size_t i = 0; i < rows->n; i++)
			s->keys.v[i].key = row_group(rows, s->keys.v[i].row);
		sort_keys(s);
	}
	return ERR_OK;
}

static enum err merge_rows(const struct chunk_rows *rows, struct chunk_scratch *s)
{
	size_t n = 0;

	s->stacks.n = s->groups.n = s->times.n = s->values.n = 0;
	TRY(vec_reserve(&s->stacks, rows->n));
	TRY(vec_reserve(&s->groups, rows->n));
	TRY(vec_reserve(&s->times, rows->n));
	TRY(vec_reserve(&s->values, rows->n * rows->type_count));
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t row = s->keys.v[i].row, stack = rows->stack[row];
		uint64_t group = row_group(rows, row), time = rows->time ? rows->time[row] : 0;
		const int64_t *from = rows->values + row * rows->stride;

		if (n && s->stacks.v[n - 1] == stack && s->groups.v[n - 1] == group &&
		    s->times.v[n - 1] == time) {
			for (uint32_t t = 0; t < rows->type_count; t++) {
				int64_t *sum = &s->values.v[t * rows->n + n - 1];

				*sum = add_saturating(*sum, from[rows->column[t]]);
			}
			continue;
		}
		s->stacks.v[n] = stack;
		s->groups.v[n] = group;
		s->times.v[n] = time;
		for (uint32_t t = 0; t < rows->type_count; t++)
			s->values.v[t * rows->n + n] = from[rows->column[t]];
		n++;
	}
	s->stacks.n = s->groups.n = s->times.n = n;
	return ERR_OK;
}

/* ------------------------------------------------------------------ rows of stacks alone */

static bool is_plain(const struct chunk_rows *rows)
{
	return !rows->labels && !rows->link && !rows->time;
}

static void order_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
	uint32_t start[256] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		start[from[i] >> shift & 0xff]++;
	for (unsigned b = 0; b < 256; b++) {
		uint32_t count = start[b];

		start[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i] >> shift & 0xff]++] = from[i];
}

/* Rows by their stacks: what most profiles need, in half the memory of the general way. */
static enum err order_rows(const struct chunk_rows *rows, struct chunk_scratch *s,
			   const uint64_t **ret)
{
	uint64_t *from, *to, *swap, differ = 0;

	s->order.n = s->order_spare.n = 0;
	TRY(vec_reserve(&s->order, rows->n + 1));
	TRY(vec_reserve(&s->order_spare, rows->n + 1));
	from = s->order.v;
	to = s->order_spare.v;
	for (size_t i = 0; i < rows->n; i++) {
		from[i] = (uint64_t)rows->stack[i] << 32 | i;
		differ |= (from[i] ^ from[0]) >> 32 << 32;
	}
	for (unsigned shift = 32; shift < 64; shift += 8) {
		if (!(differ >> shift & 0xff))
			continue;
		order_pass(from, to, rows->n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	*ret = from;
	return ERR_OK;
}

static enum err merge_plain_rows(const struct chunk_rows *rows, struct chunk_scratch *s)
{
	const uint64_t *order;
	size_t n = 0;

	TRY(order_rows(rows, s, &order));
	s->stacks.n = s->groups.n = s->times.n = s->values.n = 0;
	TRY(vec_reserve(&s->stacks, rows->n));
	TRY(vec_reserve(&s->values, rows->n * rows->type_count));
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t stack = (uint32_t)(order[i] >> 32);
		const int64_t *from = rows->values + (uint32_t)order[i] * rows->stride;
		bool again = n && s->stacks.v[n - 1] == stack;
		int64_t *to = s->values.v + (again ? n - 1 : n);

		for (uint32_t t = 0; t < rows->type_count; t++, to += rows->n)
			*to = again ? add_saturating(*to, from[rows->column[t]])
				    : from[rows->column[t]];
		s->stacks.v[n] = stack;
		n += !again;
	}
	s->stacks.n = n;
	return ERR_OK;
}

enum err chunk_order(const struct chunk_rows *rows, struct chunk_scratch *s)
{
	if (is_plain(rows))
		return merge_plain_rows(rows, s);
	TRY(sort_rows(rows, s));
	return merge_rows(rows, s);
}
