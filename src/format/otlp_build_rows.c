/*
 * Profiles that belong together -> one profile with its rows.
 *
 * A Profile of OTLP has one sample type; one of ours has several. Profiles of one scope that agree
 * in everything but their type and values (a pprof file that became OTLP) are one group and become
 * one profile with a column each. Of groups that are joined (otlp_groups.h) the rows are those of
 * all, and equal ones become one.
 */
#include "format/otlp_builder.h"

/* Profiles of a model in one file: each costs a good deal more than it does in the file. */
#define MAX_PROFILES 200000

static int64_t value_of(const struct otlp_tables *t, const struct otlp_sample *s, uint32_t i)
{
	/* Times alone count one each; a sample with neither is worth nothing. */
	if (s->values.n)
		return t->values.v[s->values.at + i];
	return s->times.n ? 1 : 0;
}

static const struct otlp_any *scope_attribute(const struct otlp_scope *s, struct str key)
{
	for (uint32_t i = 0; i < s->attribute_count; i++)
		if (str_eq(s->attributes[i].key, key))
			return &s->attributes[i].value;
	return NULL;
}

/* pprof.scope.sample_type_order: which column each Profile was in the pprof file. */
static bool read_order(const struct otlp_scope *s, uint32_t n, uint32_t *column)
{
	const struct otlp_any *order = scope_attribute(s, STR(ATTR_TYPE_ORDER));
	uint64_t seen = 0;

	if (!order || order->type != ANY_ARRAY || order->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int64_t place = order->items[i].number;

		if (order->items[i].type != ANY_INT || place < 0 || place >= n ||
		    seen & (uint64_t)1 << place)
			return false;
		seen |= (uint64_t)1 << place;
		column[i] = (uint32_t)place;
	}
	return true;
}

/* OTLP shows the first Profile, pprof its last type, unless the scope says more. */
static void choose_default(const struct otlp_scope *s, struct profile *p, bool ordered,
			   uint32_t first)
{
	const struct otlp_any *name = scope_attribute(s, STR(ATTR_DEFAULT_TYPE));

	p->default_type = -1;
	for (uint32_t i = 0; name && name->type == ANY_STRING && i < p->type_count; i++)
		if (str_eq(dict_str(p->dict, p->types[i].type), name->text) && p->default_type < 0)
			p->default_type = (int)i;
	if (p->default_type < 0 && p->type_count > 1 && !(ordered && first + 1 == p->type_count))
		p->default_type = (int)first;
}

static enum err add_types(struct otlp_builder *b, const struct otlp_scope *scope,
			  struct otlp_columns *g, struct profile *p)
{
	uint32_t *column = g->column;
	bool ordered = read_order(scope, g->n, column);

	for (uint32_t i = 0; i < g->n; i++) {
		const struct otlp_profile *src = &b->t->profiles.v[g->members[i]];
		struct value_type *type;

		if (!ordered)
			column[i] = i;
		type = &p->types[column[i]];
		TRY(otlp_string(b, src->sample_type.type, "Profile.sample_type.type_strindex",
				OTLP_PROFILE, g->members[i], &type->type));
		TRY(otlp_string(b, src->sample_type.unit, "Profile.sample_type.unit_strindex",
				OTLP_PROFILE, g->members[i], &type->unit));
	}
	p->type_count = g->n;
	choose_default(scope, p, ordered, column[0]);
	return ERR_OK;
}

/*
 * Counts of CPU samples with the time between them: people want the time. The column is added
 * behind, where pprof's rule makes it the default; otlp_plan leaves it out again, and
 * profile_list_settle takes it away when the resource has its CPU time measured.
 */
static enum err add_cpu_time(const struct otlp_scope *scope, struct profile *p, int *ret_counts)
{
	const struct dict *d = p->dict;
	int counts = -1;

	*ret_counts = -1;
	for (uint32_t i = 0; i < p->type_count; i++) {
		if (str_eq(dict_str(d, p->types[i].type), STR("cpu")))
			return ERR_OK;
		if (str_eq(dict_str(d, p->types[i].type), STR("samples")) &&
		    str_eq(dict_str(d, p->types[i].unit), STR("count")))
			counts = (int)i;
	}
	if (counts < 0 || p->period <= 0 || p->type_count == PROFILE_MAX_TYPES ||
	    !str_eq(dict_str(d, p->period_type.type), STR("cpu")) ||
	    !str_eq(dict_str(d, p->period_type.unit), STR("nanoseconds")))
		return ERR_OK;
	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	p->derived = UINT64_C(1) << (p->type_count - 1);
	choose_default(scope, p, true, p->type_count - 1);
	*ret_counts = counts;
	return ERR_OK;
}

static int64_t times_period(int64_t count, int64_t period)
{
	int64_t product;

	if (__builtin_mul_overflow(count, period, &product))
		return count < 0 ? INT64_MIN : INT64_MAX;
	return product;
}

static enum err check_shape(struct otlp_builder *b, const struct otlp_sample *s, size_t at)
{
	char place[96];

	if (s->values.n == s->times.n || (s->values.n <= 1 && !s->times.n) || !s->values.n) {
		if (!s->values.n && !s->times.n)
			notes_add(&b->out->notes, "a sample with neither value nor time counts 0");
		return ERR_OK;
	}
	otlp_place(b, OTLP_SAMPLE, at, place);
	return fault_set(&b->out->fault, ERR_CORRUPT,
			 "a Sample has %u values and %u timestamps: expected one value, or as many "
			 "values as timestamps%s",
			 s->values.n, s->times.n, place);
}

static enum err count_rows(struct otlp_builder *b, uint64_t n)
{
	b->rows += n;
	if (b->rows > b->out->limits.max_samples)
		return fault_set(&b->out->fault, ERR_TOO_LARGE, "more than %llu samples",
				 (unsigned long long)b->out->limits.max_samples);
	return ERR_OK;
}

/* The sample at the same place in the members from `begin` to `end`: a row per time, or one row. */
static enum err add_sample(struct otlp_builder *b, const struct otlp_columns *g, uint32_t begin,
			   uint32_t end, uint32_t i, struct profile *p)
{
	const struct otlp_sample *samples[PROFILE_MAX_TYPES];
	int64_t values[PROFILE_MAX_TYPES];
	size_t at = b->t->profiles.v[g->members[begin]].samples.at + i;
	const struct otlp_sample *first = &b->t->samples.v[at];
	struct row row = {0};
	uint32_t n;

	for (uint32_t m = begin; m < end; m++) {
		size_t place = b->t->profiles.v[g->members[m]].samples.at + i;

		samples[m] = &b->t->samples.v[place];
		TRY(check_shape(b, samples[m], place));
	}
	n = first->times.n ? first->times.n : 1;
	TRY(otlp_stack(b, first->stack, at, &row.stack));
	TRY(otlp_sample_labels(b, first, at, &row.labels));
	TRY(otlp_link(b, first->link, at, &row.link));
	TRY(count_rows(b, n));
	if (g->groups > 1)
		memset(values, 0, p->type_count * sizeof(*values));
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t m = begin; m < end; m++)
			values[g->column[m]] = value_of(b->t, samples[m], k);
		if (g->counts >= 0)
			values[p->type_count - 1] = times_period(values[g->counts], p->period);
		row.time = first->times.n ? b->t->times.v[first->times.at + k] : 0;
		TRY(profile_add(p, &row, values));
	}
	return ERR_OK;
}

static enum err add_samples(struct otlp_builder *b, const struct otlp_columns *g, struct profile *p)
{
	struct profile merged;

	for (uint32_t part = 0, begin = 0; part < g->groups; begin = g->ends[part++]) {
		struct otlp_range samples = b->t->profiles.v[g->members[begin]].samples;

		TRY(profile_reserve(p, samples.n));
		TRY(otlp_prepare_stacks(b, samples));
		for (uint32_t i = 0; i < samples.n; i++)
			TRY(add_sample(b, g, begin, g->ends[part], i, p));
	}
	if (g->groups == 1)
		return ERR_OK;
	TRY(profile_aggregate(p, 0, &merged));
	profile_release(p);
	*p = merged;
	return ERR_OK;
}

static void note_joined(struct otlp_builder *b, const struct otlp_columns *g)
{
	const struct otlp_profile *first = &b->t->profiles.v[g->members[0]];

	for (uint32_t m = 0; m < g->n; m++) {
		const struct otlp_profile *src = &b->t->profiles.v[g->members[m]];

		if (src->dropped_attributes)
			notes_add(&b->out->notes, "a sender dropped attributes of a profile");
		if (m && src->id.n && !str_eq(src->id, first->id))
			notes_add(&b->out->notes, "a profile_id was dropped: profiles were joined");
	}
}

enum err otlp_build_rows(struct otlp_builder *b, const struct otlp_scope *scope,
			 struct otlp_columns *g, uint32_t resource)
{
	const struct otlp_profile *first = &b->t->profiles.v[g->members[0]];
	struct profile *p;

	if (b->out->list->n >= MAX_PROFILES)
		return fault_set(&b->out->fault, ERR_TOO_LARGE, "more than %d profiles",
				 MAX_PROFILES);
	TRY(profile_list_add(b->out->list, b->d, &p));
	p->resource = resource;
	TRY(otlp_profile_header(b, first, g->members[0], scope, p));
	TRY(add_types(b, scope, g, p));
	TRY(add_cpu_time(scope, p, &g->counts));
	note_joined(b, g);
	return add_samples(b, g, p);
}
