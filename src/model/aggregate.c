/*
 * Equal rows added up, values scaled, one profile taken from another.
 */
#include "model/ops.h"
#include "model/rows.h"
#include "model/values.h"

static enum err aggregate_rows(const struct profile *src, unsigned flags, struct row_index *index,
			       struct profile *dst)
{
	for (size_t i = 0; i < src->row_count; i++) {
		struct row row = profile_row(src, i);

		if (flags & AGGREGATE_IGNORE_LABELS)
			row.labels = row.link = 0;
		if (flags & AGGREGATE_IGNORE_TIME)
			row.time = 0;
		TRY(row_index_add(index, dst, &row, 0, profile_values(src, i)));
	}
	return ERR_OK;
}

enum err profile_aggregate(const struct profile *src, unsigned flags, struct profile *dst)
{
	CLEANUP(row_index_release) struct row_index index = {0};
	struct profile result;
	enum err e;

	profile_init(&result, src->dict);
	e = profile_copy_head(src, &result);
	if (!e)
		e = aggregate_rows(src, flags, &index, &result);
	if (e) {
		profile_release(&result);
		return e;
	}
	if (flags & AGGREGATE_DROP_ZERO)
		profile_drop_zero(&result);
	*dst = result;
	return ERR_OK;
}

enum err profile_scale(struct profile *p, const double *factor)
{
	for (uint32_t t = 0; t < p->type_count; t++) {
		if (factor[t] == 1)
			continue;
		for (size_t i = 0; i < p->row_count; i++) {
			int64_t *value = &p->values[i * p->type_count + t];

			*value = value_round((double)*value * factor[t]);
		}
	}
	return ERR_OK;
}

static enum err find_or_add_type(struct profile *p, struct value_type type, uint32_t *ret)
{
	for (uint32_t t = 0; t < p->type_count; t++) {
		if (p->types[t].type == type.type && p->types[t].unit == type.unit) {
			*ret = t;
			return ERR_OK;
		}
	}
	*ret = p->type_count;
	return profile_add_column(p, type);
}

enum err profile_subtract(struct profile *dst, const struct profile *src)
{
	CLEANUP(row_index_release) struct row_index index = {0};
	uint32_t column[PROFILE_MAX_TYPES];
	int default_type = profile_default_type(dst);

	if (dst->dict != src->dict)
		return ERR_BAD_ARGUMENT;
	for (uint32_t t = 0; t < src->type_count; t++)
		TRY(find_or_add_type(dst, src->types[t], &column[t]));
	if (default_type >= 0 && profile_default_type(dst) != default_type)
		dst->default_type = default_type;
	TRY(row_index_fill(&index, dst, 0));
	for (size_t i = 0; i < src->row_count; i++) {
		struct row row = profile_row(src, i);
		int64_t values[PROFILE_MAX_TYPES] = {0};

		for (uint32_t t = 0; t < src->type_count; t++)
			values[column[t]] = value_negate(profile_values(src, i)[t]);
		TRY(row_index_add(&index, dst, &row, 0, values));
	}
	profile_drop_zero(dst);
	return ERR_OK;
}
