#include "pipeline/baseline.h"

#include "base/alloc.h"

#define MAX_ROWS     1000000
#define FALLEN_SHARE 10 /* more than one row in so many: not rounding */

static uint64_t row_hash(const struct profile *p, size_t i)
{
	const struct dict *d = p->dict;

	return hash_mix(stack_hash(d, p->stack[i]), d->label_sets.entries.v[p->labels[i]].hash);
}

static uint64_t hash_kinds(const struct profile *p, const bool *cumulative)
{
	uint64_t hash = p->type_count;

	for (uint32_t t = 0; t < p->type_count; t++) {
		uint64_t type = hash_str(dict_str(p->dict, p->types[t].type), hash);

		hash = hash_mix(hash_str(dict_str(p->dict, p->types[t].unit), type), cumulative[t]);
	}
	return hash;
}

static enum err add_row(struct baseline *b, const struct profile *p, size_t i,
			const bool *cumulative)
{
	uint32_t place = b->columns ? (uint32_t)(b->values.n / b->columns) : 0, column = 0;

	TRY(vec_reserve(&b->values, b->columns));
	TRY(map_put(&b->rows, row_hash(p, i), place));
	for (uint32_t t = 0; t < p->type_count; t++) {
		int64_t value = profile_values(p, i)[t];

		if (!cumulative[t])
			continue;
		b->values.v[b->values.n++] = value;
		if (__builtin_add_overflow(b->totals[column], value, &b->totals[column]))
			b->totals[column] = INT64_MAX;
		column++;
	}
	return ERR_OK;
}

/* Go lists what was allocated since the last collection with zeros, and under other labels than
 * later. */
static bool has_counted(const struct profile *p, size_t i, const bool *cumulative)
{
	for (uint32_t t = 0; t < p->type_count; t++)
		if (cumulative[t] && profile_values(p, i)[t])
			return true;
	return false;
}

static enum err take(struct baseline *b, const struct profile *p, const bool *cumulative)
{
	if (p->row_count > MAX_ROWS)
		return ERR_TOO_LARGE;
	b->known = true;
	b->kinds = hash_kinds(p, cumulative);
	for (uint32_t t = 0; t < p->type_count; t++)
		b->columns += cumulative[t];
	TRY(map_reserve(&b->rows, (uint32_t)p->row_count));
	for (size_t i = 0; i < p->row_count; i++)
		if (has_counted(p, i, cumulative))
			TRY(add_row(b, p, i, cumulative));
	return ERR_OK;
}

/* By more than a hundredth. */
static bool fell(int64_t before, int64_t now)
{
	return now < before - before / 100;
}

static const int64_t *values_before(const struct baseline *b, uint64_t hash)
{
	uint32_t place = map_get(&b->rows, hash);

	return place == MAP_NONE ? NULL : b->values.v + (size_t)place * b->columns;
}

static bool row_fell(const struct profile *p, size_t i, const bool *cumulative,
		     const int64_t *before)
{
	for (uint32_t t = 0; t < p->type_count; t++)
		if (cumulative[t] && fell(*before++, profile_values(p, i)[t]))
			return true;
	return false;
}

static bool is_reset(const struct baseline *before, const struct baseline *now,
		     const struct profile *p, const bool *cumulative)
{
	size_t rows = before->rows.n, missing = rows, fallen = 0;

	for (uint32_t c = 0; c < before->columns; c++)
		if (fell(before->totals[c], now->totals[c]))
			return true;
	for (size_t i = 0; i < p->row_count; i++) {
		const int64_t *values = values_before(before, row_hash(p, i));

		if (!values)
			continue;
		missing--;
		fallen += row_fell(p, i, cumulative, values);
	}
	return (missing + fallen) * FALLEN_SHARE > rows;
}

static void subtract(const struct baseline *before, struct profile *p, const bool *cumulative)
{
	for (size_t i = 0; i < p->row_count; i++) {
		const int64_t *values = values_before(before, row_hash(p, i));
		int64_t *now = p->values + i * p->type_count;

		for (uint32_t t = 0; values && t < p->type_count; t++) {
			if (!cumulative[t])
				continue;
			now[t] = now[t] > *values ? now[t] - *values : 0;
			values++;
		}
	}
}

/* No counter is negative; one that claims to be counts as nothing. */
static void drop_negative(struct profile *p, const bool *cumulative)
{
	for (size_t i = 0; i < p->row_count; i++)
		for (uint32_t t = 0; t < p->type_count; t++) {
			int64_t *value = &p->values[i * p->type_count + t];

			if (cumulative[t] && *value < 0)
				*value = 0;
		}
}

enum err baseline_subtract(const struct baseline *before, struct profile *p, const bool *cumulative,
			   struct baseline *ret_next, enum baseline_outcome *ret)
{
	struct baseline next = {0};
	enum err e;

	drop_negative(p, cumulative);
	e = take(&next, p, cumulative);
	if (e) {
		baseline_release(&next);
		return e;
	}
	if (!before->known || before->kinds != next.kinds) {
		*ret = BASELINE_FIRST;
	} else if (is_reset(before, &next, p, cumulative)) {
		*ret = BASELINE_RESET;
	} else {
		*ret = BASELINE_DELTA;
		subtract(before, p, cumulative);
	}
	*ret_next = next;
	return ERR_OK;
}

void baseline_release(struct baseline *b)
{
	map_release(&b->rows);
	vec_release(&b->values);
	*b = (struct baseline){0};
}
