#include "format/fractions.h"

#include <math.h>
#include <stdlib.h>

void fractions_release(struct fractions *f)
{
	vec_release(&f->rest);
}

enum err fractions_add(struct fractions *f, size_t row, double rest, int64_t *ret_carry)
{
	double sum, whole;

	*ret_carry = 0;
	if (!(rest > 0 && rest < 1))
		return ERR_OK;
	while (f->rest.n <= row)
		TRY(vec_push(&f->rest, 0.0));
	sum = f->rest.v[row] + rest;
	whole = floor(sum);
	f->rest.v[row] = sum - whole;
	*ret_carry = (int64_t)whole;
	f->any = true;
	return ERR_OK;
}

static int by_stack(const void *a, const void *b, void *context)
{
	const struct profile *p = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (p->stack[x] != p->stack[y])
		return p->stack[x] < p->stack[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Rows of one stack stand together, so that what they get differs from their sum by less than 1. */
enum err fractions_settle(struct fractions *f, struct profile *p, uint32_t column,
			  struct notes *notes)
{
	size_t n = f->rest.n < p->row_count ? f->rest.n : p->row_count;
	CLEANUP(mem_free_ptr) uint32_t *order = NULL;
	double sum = 0;
	int64_t given = 0;

	if (!f->any)
		return ERR_OK;
	notes_add(notes, "values with decimals were rounded to whole numbers; their sum is kept");
	order = mem_alloc((n + 1) * sizeof(*order));
	if (!order)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_stack, p);
	for (size_t i = 0; i < n; i++) {
		int64_t *value = &p->values[(size_t)order[i] * p->type_count + column];

		sum += f->rest.v[order[i]];
		if (llround(sum) > given && *value < INT64_MAX)
			(*value)++;
		given = llround(sum);
	}
	return ERR_OK;
}
