/*
 * Rows -> Samples. Rows with equal stack, labels and link are one Sample: with a time each they
 * make its timestamps, without they are added up. Every column has the same Samples in the same
 * order, so that a reader can put the columns together again.
 */
#include "base/hash.h"
#include "format/otlp_planner.h"

struct rows {
	const struct profile *src;
	uint32_t *slot;			 /* by row: its sample */
	uint32_t *at;			 /* by sample: where its times and values begin */
	VEC(struct otlp_sample) samples; /* n of `times` is the count of rows */
	VEC(uint32_t) first;		 /* by sample: a row of it */
	struct map index;
	bool timed;
	uint64_t start, duration;
};

static bool same_sample(const struct profile *p, size_t a, size_t b)
{
	return p->stack[a] == p->stack[b] && p->labels[a] == p->labels[b] &&
	       (!p->link || p->link[a] == p->link[b]);
}

static enum err new_sample(struct otlp_planner *p, struct rows *r, size_t i)
{
	struct row row = profile_row(r->src, i);
	struct otlp_sample s = {0};

	TRY(otlp_plan_stack(p, row.stack, &s.stack));
	TRY(otlp_plan_labels(p, row.labels, &s.attributes));
	TRY(otlp_plan_link(p, row.link, &s.link));
	TRY(vec_push(&r->samples, s));
	return vec_push(&r->first, (uint32_t)i);
}

static enum err start_sample(struct otlp_planner *p, struct rows *r, size_t i)
{
	r->slot[i] = (uint32_t)r->samples.n;
	TRY(new_sample(p, r, i));
	r->samples.v[r->slot[i]].times.n = 1;
	return ERR_OK;
}

/* Among the samples of a stack that has several. */
static enum err place_among(struct otlp_planner *p, struct rows *r, size_t i)
{
	const struct profile *src = r->src;
	uint64_t hash = hash_mix((uint64_t)src->stack[i] << 32 | src->labels[i],
				 src->link ? src->link[i] : 0);

	MAP_PROBE(&r->index, hash, id)
	{
		if (same_sample(src, r->first.v[id], i)) {
			r->slot[i] = id;
			r->samples.v[id].times.n++;
			return ERR_OK;
		}
	}
	TRY(map_put(&r->index, hash, (uint32_t)r->samples.n));
	return start_sample(p, r, i);
}

/* Most stacks have one sample, and that is found by the stack's number; others are hashed. What
 * earlier profiles have left there is below samples_before, counted from 1. */
static enum err place_row(struct otlp_planner *p, struct rows *r, size_t i)
{
	uint32_t *first = &p->first_samples[r->src->stack[i]], known;

	if (*first <= p->samples_before) {
		*first = p->samples_before + (uint32_t)r->samples.n + 1;
		return start_sample(p, r, i);
	}
	known = *first - p->samples_before - 1;
	if (!same_sample(r->src, r->first.v[known], i))
		return place_among(p, r, i);
	r->slot[i] = known;
	r->samples.v[known].times.n++;
	return ERR_OK;
}

/* Timestamps must lie in the profile's window: it grows when they do not. */
static void find_window(struct otlp_planner *p, struct rows *r)
{
	const struct profile *src = r->src;
	uint64_t low = UINT64_MAX, high = 0, missing = 0, end;

	r->start = src->time_ns > 0 ? (uint64_t)src->time_ns : 0;
	r->duration = src->duration_ns > 0 ? (uint64_t)src->duration_ns : 0;
	for (size_t i = 0; src->time && i < src->row_count; i++) {
		if (!src->time[i]) {
			missing++;
			continue;
		}
		low = src->time[i] < low ? src->time[i] : low;
		high = src->time[i] > high ? src->time[i] : high;
	}
	r->timed = high != 0;
	if (!r->timed)
		return;
	end = r->start + r->duration;
	if (!r->start || low < r->start)
		r->start = low;
	if (end <= high || end < r->start)
		end = high + 1;
	if (src->time_ns &&
	    (r->start != (uint64_t)src->time_ns || end - r->start != (uint64_t)src->duration_ns))
		notes_add(&p->in->notes,
			  "the profile's time was widened: samples were taken outside of it");
	r->duration = end - r->start;
	if (missing)
		notes_add(&p->in->notes,
			  "samples without a time were given the start of the profile");
}

static enum err place_rows(struct otlp_planner *p, struct rows *r)
{
	size_t n = r->src->row_count;

	r->slot = mem_alloc((n ? n : 1) * sizeof(*r->slot));
	if (!r->slot)
		return ERR_NO_MEMORY;
	/* Sample counters have 32 bits: restart before they overflow. */
	if (n >= UINT32_MAX - p->samples_before) {
		memset(p->first_samples, 0, p->d->stacks.entries.n * sizeof(*p->first_samples));
		p->samples_before = 0;
	}
	TRY(vec_reserve(&r->samples, n));
	TRY(vec_reserve(&r->first, n));
	for (size_t i = 0; i < n; i++)
		TRY(place_row(p, r, i));
	p->samples_before += (uint32_t)r->samples.n;
	r->at = mem_alloc((r->samples.n ? r->samples.n : 1) * sizeof(*r->at));
	return r->at ? ERR_OK : ERR_NO_MEMORY;
}

/* Puts where the elements of each sample begin into r->at, from `base` on. */
static uint32_t lay_out(struct rows *r, size_t base)
{
	uint32_t at = (uint32_t)base;

	for (size_t i = 0; i < r->samples.n; i++) {
		r->at[i] = at;
		at += r->samples.v[i].times.n;
	}
	return at;
}

static enum err write_times(struct otlp_planner *p, struct rows *r)
{
	struct otlp_tables *t = p->t;
	const struct profile *src = r->src;

	TRY(vec_reserve(&t->times, src->row_count));
	t->times.n = lay_out(r, t->times.n);
	for (size_t i = 0; i < r->samples.n; i++)
		r->samples.v[i].times.at = r->at[i];
	for (size_t i = 0; i < src->row_count; i++)
		t->times.v[r->at[r->slot[i]]++] = src->time[i] ? src->time[i] : r->start;
	return ERR_OK;
}

static bool only_ones(const struct profile *p, uint32_t type)
{
	for (size_t i = 0; i < p->row_count; i++)
		if (profile_values(p, i)[type] != 1)
			return false;
	return true;
}

/* A value per timestamp. */
static enum err write_values(struct otlp_planner *p, struct rows *r, uint32_t type)
{
	struct otlp_tables *t = p->t;
	struct otlp_sample *out = t->samples.v + t->samples.n - r->samples.n;

	if (only_ones(r->src, type))
		return ERR_OK;
	TRY(vec_reserve(&t->values, r->src->row_count));
	t->values.n = lay_out(r, t->values.n);
	for (size_t i = 0; i < r->samples.n; i++)
		out[i].values = (struct otlp_range){r->at[i], r->samples.v[i].times.n};
	for (size_t i = 0; i < r->src->row_count; i++)
		t->values.v[r->at[r->slot[i]]++] = profile_values(r->src, i)[type];
	return ERR_OK;
}

/* One value per sample. */
static enum err write_sums(struct otlp_planner *p, struct rows *r, uint32_t type)
{
	struct otlp_tables *t = p->t;
	struct otlp_sample *out = t->samples.v + t->samples.n - r->samples.n;
	size_t base = t->values.n;

	TRY(vec_reserve(&t->values, r->samples.n));
	t->values.n += r->samples.n;
	for (size_t i = 0; i < r->samples.n; i++) {
		t->values.v[base + i] = 0;
		out[i].values = (struct otlp_range){(uint32_t)(base + i), 1};
		out[i].times = (struct otlp_range){0};
	}
	for (size_t i = 0; i < r->src->row_count; i++) {
		int64_t *sum = &t->values.v[base + r->slot[i]], v = profile_values(r->src, i)[type];

		if (__builtin_add_overflow(*sum, v, sum))
			*sum = v > 0 ? INT64_MAX : INT64_MIN;
	}
	return ERR_OK;
}

static enum err write_column(struct otlp_planner *p, struct rows *r, uint32_t type,
			     struct otlp_profile profile)
{
	const struct value_type *vt = &r->src->types[type];

	TRY(otlp_plan_string(p, vt->type, &profile.sample_type.type));
	TRY(otlp_plan_string(p, vt->unit, &profile.sample_type.unit));
	profile.samples = (struct otlp_range){(uint32_t)p->t->samples.n, (uint32_t)r->samples.n};
	TRY(vec_append(&p->t->samples, r->samples.v, r->samples.n));
	if (r->samples.n)
		TRY(r->timed ? write_values(p, r, type) : write_sums(p, r, type));
	return vec_push(&p->t->profiles, profile);
}

static bool has_id(const struct profile *src)
{
	static const uint8_t none[16];

	return memcmp(src->profile_id, none, sizeof(none)) != 0;
}

static enum err write_profiles(struct otlp_planner *p, struct rows *r, const uint32_t *order,
			       uint32_t columns)
{
	const struct profile *src = r->src;
	struct otlp_profile profile = {.period = src->period};

	find_window(p, r);
	profile.time = r->start;
	profile.duration = r->duration;
	TRY(otlp_plan_string(p, src->period_type.type, &profile.period_type.type));
	TRY(otlp_plan_string(p, src->period_type.unit, &profile.period_type.unit));
	TRY(otlp_plan_profile_attributes(p, src, &profile.attributes));
	if (!columns) {
		if (src->row_count)
			notes_add(&p->in->notes, "samples without any sample type were dropped");
		return vec_push(&p->t->profiles, profile);
	}
	TRY(place_rows(p, r));
	if (r->timed)
		TRY(write_times(p, r));
	for (uint32_t i = 0; i < columns; i++) {
		/* An id names one Profile: the first. */
		if (has_id(src) && i == 0)
			profile.id = str_n(src->profile_id, sizeof(src->profile_id));
		else
			profile.id = (struct str){0};
		TRY(write_column(p, r, order[i], profile));
	}
	return ERR_OK;
}

enum err otlp_plan_profiles(struct otlp_planner *p, const struct profile *src,
			    const uint32_t *order, uint32_t columns)
{
	struct rows r = {.src = src};
	enum err e = write_profiles(p, &r, order, columns);

	mem_free(r.slot);
	mem_free(r.at);
	vec_release(&r.samples);
	vec_release(&r.first);
	map_release(&r.index);
	return e;
}
