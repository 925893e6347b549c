/*
 * The function table in one pass over the distinct stacks. Values are summed per stack first;
 * then every frame is visited once, and a stamp beside each cumulative value says which stack
 * added to it last, so that recursion counts once without a set per stack.
 */
#include "model/top.h"

#include <stdlib.h>

#include "base/work_scope.h"
#include "model/frame_order.h"
#include "model/values.h"

/* What a pass gathers per key. `cum` holds the stamp and the cumulative values side by side: they
 * are used together, and at random. */
struct tally {
	const struct frame_keys *keys;
	const struct stack_sums *sums;
	size_t stride; /* 1 + columns */
	int64_t *cum;  /* [key * stride]: stamp, then one value per column */
	int64_t *flat; /* [key * columns] */
};

/* The usual case, one column, without the inner loop. */
static void visit_single(struct tally *t, uint32_t stack, const uint32_t *frames, uint32_t n)
{
	int64_t value = t->sums->v[stack], stamp = (int64_t)stack;
	const uint32_t *keys = t->keys->keys;

	for (uint32_t i = 0; i < n; i++) {
		int64_t *cum = t->cum + (size_t)keys[frames[i]] * 2;

		if (cum[0] == stamp)
			continue;
		cum[0] = stamp;
		cum[1] = value_add(cum[1], value);
	}
	t->flat[keys[frames[0]]] = value_add(t->flat[keys[frames[0]]], value);
}

static void visit_columns(struct tally *t, uint32_t stack, const uint32_t *frames, uint32_t n)
{
	uint32_t columns = t->sums->columns;
	const int64_t *values = t->sums->v + (size_t)stack * columns;
	int64_t *flat = t->flat + (size_t)t->keys->keys[frames[0]] * columns;

	for (uint32_t i = 0; i < n; i++) {
		int64_t *cum = t->cum + t->keys->keys[frames[i]] * t->stride;

		if (cum[0] == (int64_t)stack)
			continue;
		cum[0] = (int64_t)stack;
		for (uint32_t c = 0; c < columns; c++)
			cum[1 + c] = value_add(cum[1 + c], values[c]);
	}
	for (uint32_t c = 0; c < columns; c++)
		flat[c] = value_add(flat[c], values[c]);
}

/* Stack 0 is empty, so a stamp of 0 is no stack's. */
static void visit_stacks(struct tally *t)
{
	for (uint32_t stack = 1; stack < t->sums->stacks; stack++) {
		uint32_t n;
		const uint32_t *frames;

		if (work_stopped_at(stack))
			return;
		if (!stack_sums_any(t->sums, stack))
			continue;
		frames = stack_frames(t->sums->dict, stack, &n);
		if (!n)
			continue;
		if (t->sums->columns == 1)
			visit_single(t, stack, frames, n);
		else
			visit_columns(t, stack, frames, n);
	}
}

static bool all_zero(const int64_t *v, uint32_t n)
{
	int64_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= v[i];
	return any == 0;
}

/* As pprof: a function whose values are all zero is no row. */
static bool key_has_value(const struct tally *t, size_t key)
{
	uint32_t columns = t->sums->columns;

	return !all_zero(t->cum + key * t->stride + 1, columns) ||
	       !all_zero(t->flat + key * columns, columns);
}

static enum err collect_rows(const struct tally *t, struct top *top)
{
	size_t keys = t->keys->representative.n, n = 0;
	uint32_t columns = t->sums->columns;

	for (size_t key = 0; key < keys; key++)
		n += key_has_value(t, key);
	top->rows = mem_alloc(n * sizeof(*top->rows));
	top->values = mem_alloc(n * columns * 2 * sizeof(*top->values));
	if (!top->rows || !top->values)
		return ERR_NO_MEMORY;
	for (size_t key = 0; key < keys; key++) {
		struct top_row *row = &top->rows[top->n];
		int64_t *values = top->values + top->n * columns * 2;

		if (!key_has_value(t, key))
			continue;
		*row = (struct top_row){t->keys->representative.v[key], values, values + columns};
		memcpy(row->flat, t->flat + key * columns, columns * sizeof(*values));
		memcpy(row->cum, t->cum + key * t->stride + 1, columns * sizeof(*values));
		top->n++;
	}
	return ERR_OK;
}

static enum err tally_rows(const struct stack_sums *sums, const struct frame_keys *keys,
			   struct top *top)
{
	size_t n = keys->representative.n, stride = 1 + (size_t)sums->columns;
	CLEANUP(mem_free_ptr) int64_t *cum = mem_zalloc(n * stride, sizeof(*cum));
	CLEANUP(mem_free_ptr) int64_t *flat = mem_zalloc(n * sums->columns, sizeof(*flat));
	struct tally t = {keys, sums, stride, cum, flat};

	if (!cum || !flat)
		return ERR_NO_MEMORY;
	visit_stacks(&t);
	return collect_rows(&t, top);
}

enum err top_build(const struct tree_column *columns, uint32_t count, unsigned flags,
		   struct top *ret)
{
	CLEANUP(stack_sums_release) struct stack_sums sums = {0};
	CLEANUP(frame_keys_release) struct frame_keys keys = {0};
	struct top top = {.columns = count, .flags = flags};
	enum err e;

	TRY(stack_sums_build(columns, count, &sums));
	TRY(frame_keys_of_sums(&sums, flags & TOP_LINES, &keys));
	e = tally_rows(&sums, &keys, &top);
	/* Some of the stacks may be missing. */
	if (!e && work_stopped())
		e = ERR_CANCELLED;
	if (e) {
		top_release(&top);
		return e;
	}
	top.totals = sums.totals;
	sums.totals = NULL;
	*ret = top;
	return ERR_OK;
}

void top_release(struct top *t)
{
	mem_free(t->totals);
	mem_free(t->rows);
	mem_free(t->values);
	*t = (struct top){0};
}

struct top_sorting {
	const struct dict *dict;
	uint32_t column;
	enum top_order order;
	bool lines;
};

static int larger_first(int64_t a, int64_t b)
{
	uint64_t x = value_magnitude(a), y = value_magnitude(b);

	return (x < y) - (x > y);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct top_sorting *s = context;
	const struct top_row *a = left, *b = right;
	uint32_t c = s->column;
	bool flat = s->order == TOP_BY_FLAT;
	int order =
		flat ? larger_first(a->flat[c], b->flat[c]) : larger_first(a->cum[c], b->cum[c]);

	if (!order)
		order = frame_compare(s->dict, a->frame, b->frame, s->lines);
	if (!order)
		order = flat ? larger_first(a->cum[c], b->cum[c])
			     : larger_first(a->flat[c], b->flat[c]);
	return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

void top_sort(struct top *t, const struct dict *d, uint32_t column, enum top_order order)
{
	struct top_sorting s = {d, column, order, t->flags & TOP_LINES};

	if (t->n)
		qsort_r(t->rows, t->n, sizeof(*t->rows), compare_rows, &s);
}

struct top_keeping {
	uint32_t column, count;
};

static uint64_t largest_value(const struct top_keeping *k, const struct top_row *row)
{
	uint64_t most = 0;

	for (uint32_t c = k->column; c < k->column + k->count; c++) {
		uint64_t value = value_magnitude(row->cum[c]);

		most = value > most ? value : most;
	}
	return most;
}

static int compare_sizes(const void *left, const void *right, void *context)
{
	const struct top_row *a = left, *b = right;
	uint64_t x = largest_value(context, a), y = largest_value(context, b);

	return x != y ? (x < y) - (x > y) : (a->frame > b->frame) - (a->frame < b->frame);
}

void top_keep(struct top *t, uint32_t column, uint32_t count, size_t most)
{
	struct top_keeping k = {column, count};

	if (t->n <= most)
		return;
	qsort_r(t->rows, t->n, sizeof(*t->rows), compare_sizes, &k);
	t->n = most;
}
