#include "model/values.h"

#include <math.h>

int64_t value_round(double x)
{
	if (isnan(x))
		return 0;
	/* 2^63 is a double, INT64_MAX is not. */
	if (x >= 0x1p63)
		return INT64_MAX;
	if (x <= -0x1p63)
		return INT64_MIN;
	return llround(x);
}

static enum err check_columns(const struct tree_column *columns, uint32_t count)
{
	if (!count || count > PROFILE_MAX_TYPES * 2)
		return ERR_BAD_ARGUMENT;
	for (uint32_t c = 0; c < count; c++)
		if (columns[c].profile->dict != columns[0].profile->dict ||
		    columns[c].type >= columns[c].profile->type_count)
			return ERR_BAD_ARGUMENT;
	return ERR_OK;
}

static void add_column(struct stack_sums *s, uint32_t c, const struct profile *p, uint32_t type)
{
	uint32_t columns = s->columns, types = p->type_count;

	for (size_t row = 0; row < p->row_count; row++) {
		int64_t value = p->values[row * types + type];
		int64_t *sum = &s->v[(size_t)p->stack[row] * columns + c];

		*sum = value_add(*sum, value);
		s->totals[c] = value_add(s->totals[c], value);
	}
}

enum err stack_sums_build(const struct tree_column *columns, uint32_t count, struct stack_sums *ret)
{
	struct stack_sums s = {.columns = count};

	TRY(check_columns(columns, count));
	s.dict = columns[0].profile->dict;
	s.stacks = s.dict->stacks.entries.n;
	s.v = mem_zalloc(s.stacks * count, sizeof(*s.v));
	s.totals = mem_zalloc(count, sizeof(*s.totals));
	if (!s.v || !s.totals) {
		stack_sums_release(&s);
		return ERR_NO_MEMORY;
	}
	for (uint32_t c = 0; c < count; c++)
		add_column(&s, c, columns[c].profile, columns[c].type);
	*ret = s;
	return ERR_OK;
}

void stack_sums_release(struct stack_sums *s)
{
	mem_free(s->v);
	mem_free(s->totals);
	s->v = s->totals = NULL;
}
