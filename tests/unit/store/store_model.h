/*
 * What a store should answer, computed the slow and obvious way: random profiles as lists of rows,
 * and questions answered by looking at every row. Both sides become sorted lines of text.
 */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "../test.h"

#include "base/arena.h"
#include "base/clock.h"
#include "store/store.h"

#define DAY	   (86400 * NS_PER_S)
#define MODEL_NOW  (20000 * DAY + DAY / 2)
#define MODEL_FROM (19999 * DAY)
#define MODEL_ROWS 12

static const char *const model_types[] = {
	"process_cpu:samples:count:cpu:nanoseconds",
	"process_cpu:cpu:nanoseconds:cpu:nanoseconds",
	"memory:inuse_space:bytes:space:bytes",
};
#define TYPE_SAMPLES STR("process_cpu:samples:count:cpu:nanoseconds")
#define TYPE_CPU     STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds")
#define TYPE_HEAP    STR("memory:inuse_space:bytes:space:bytes")

struct model_row {
	unsigned stack, labels, link; /* of the tables below */
	int64_t value;
	int64_t time;
};

/* A profile of cpu (samples and nanoseconds) or of the heap. */
struct model_profile {
	const char *tenant, *service, *pod; /* pod NULL = no such label */
	bool heap;
	int64_t time, duration;
	struct model_row rows[MODEL_ROWS];
	unsigned n;
};

static const char *const model_stacks[] = {
	"main;serve;parse", "main;serve;render",     "main;gc", "main;serve", "main",
	"init;load",	    "main;serve;parse;copy",
};
static const char *const model_labels[] = {
	"", "thread=t1", "endpoint=/x,thread=t2", "endpoint=/y", "pod=not-the-series",
};

struct model {
	struct model_profile *v;
	size_t n;
};

static inline unsigned model_next(uint64_t *state, unsigned below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33) % below;
}

static inline bool model_same_series(const struct model_profile *a, const struct model_profile *b)
{
	return !strcmp(a->service, b->service) &&
	       (a->pod == b->pod || (a->pod && b->pod && !strcmp(a->pod, b->pod)));
}

/* Each series of a gauge is measured regularly, and each at its own distance. */
static inline int64_t model_level_time(const struct model *m, size_t i)
{
	const struct model_profile *p = &m->v[i];
	int64_t kind = (p->service[0] == 'w') * 3 + (p->pod ? p->pod[0] - 'a' : 2), before = 0;

	for (size_t k = 0; k < i; k++)
		before += m->v[k].heap && model_same_series(&m->v[k], p) &&
			  !strcmp(m->v[k].tenant, p->tenant);
	return MODEL_FROM + DAY / 2 + (kind * 20 + before * (1500 + 61 * kind)) * NS_PER_S;
}

static inline void model_fill(struct model *m, uint64_t *state, unsigned profiles)
{
	static const char *const services[] = {"api", "web"};
	static const char *const pods[] = {"a", "b", NULL};

	m->v = calloc(profiles, sizeof(*m->v));
	m->n = m->v ? profiles : 0;
	for (size_t i = 0; i < m->n; i++) {
		struct model_profile *p = &m->v[i];

		p->tenant = model_next(state, 10) ? "acme" : "other";
		p->service = services[model_next(state, 2)];
		p->pod = pods[model_next(state, 3)];
		p->heap = model_next(state, 3) == 0;
		p->time = MODEL_FROM + DAY / 2 + model_next(state, 24 * 3600) * NS_PER_S;
		if (p->heap)
			p->time = model_level_time(m, i);
		p->duration = 15 * NS_PER_S;
		p->n = model_next(state, MODEL_ROWS + 1);
		for (unsigned r = 0; r < p->n; r++) {
			struct model_row *row = &p->rows[r];

			row->stack = model_next(state, 7);
			row->labels = i % 2 ? model_next(state, 5) : 0;
			row->link = i % 3 ? 0 : model_next(state, 4);
			row->time = i % 5 ? 0 : p->time + model_next(state, 1000) * NS_PER_MS;
			row->value = 1 + model_next(state, p->heap ? 100000 : 20);
		}
	}
}

static inline void model_release(struct model *m)
{
	free(m->v);
	*m = (struct model){0};
}

static inline struct link model_link(unsigned i)
{
	struct link l = {0};

	if (i) {
		memset(l.trace_id, (int)(i % 2 + 1), sizeof(l.trace_id));
		memset(l.span_id, (int)i, sizeof(l.span_id));
	}
	return l;
}

/* ------------------------------------------------------------------ into a store */

static inline enum err model_stack(struct dict *d, const char *folded, uint32_t *ret)
{
	uint32_t frames[64], n = 0;
	struct str rest = str_of(folded), part;

	while (n < 64 && str_split(&rest, ';', &part))
		TRY(dict_named_frame(d, part, &frames[63 - n++]));
	return dict_stack(d, frames + 64 - n, n, ret);
}

static inline enum err model_label_set(struct dict *d, const char *text, uint32_t *ret)
{
	uint32_t labels[8], n = 0;
	struct str rest = str_of(text), part;

	while (n < 8 && str_split(&rest, ',', &part)) {
		size_t equals = str_find(part, '=');

		TRY(dict_label_text(d, str_n(part.p, equals), str_skip(part, equals + 1),
				    &labels[n++]));
	}
	return dict_label_set(d, labels, n, ret);
}

static inline enum err model_to_profile(const struct model_profile *m, struct profile *p)
{
	TRY(profile_add_type(p, m->heap ? STR("inuse_space") : STR("samples"),
			     m->heap ? STR("bytes") : STR("count")));
	if (!m->heap)
		TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	for (unsigned i = 0; i < m->n; i++) {
		int64_t values[2] = {m->rows[i].value, m->rows[i].value * 10000000};
		struct link link = model_link(m->rows[i].link);
		struct row row = {.time = (uint64_t)m->rows[i].time};

		TRY(model_stack(p->dict, model_stacks[m->rows[i].stack], &row.stack));
		TRY(model_label_set(p->dict, model_labels[m->rows[i].labels], &row.labels));
		TRY(dict_link(p->dict, &link, &row.link));
		TRY(profile_add(p, &row, values));
	}
	return ERR_OK;
}

static inline enum err model_send(struct store_batch *b, const struct model_profile *m,
				  struct dict *d, struct fault *fault)
{
	struct label_pair labels[2] = {{STR("pod"), str_of(m->pod)},
				       {STR("service_name"), str_of(m->service)}};
	struct str types[2] = {str_of(model_types[m->heap ? 2 : 0]), str_of(model_types[1])};
	struct profile p;
	struct series_profile s = {
		.labels = m->pod ? labels : labels + 1,
		.label_count = m->pod ? 2 : 1,
		.types = types,
		.profile = &p,
		.time_ns = m->time,
		.duration_ns = m->duration,
	};
	enum err e;

	profile_init(&p, d);
	e = model_to_profile(m, &p);
	if (!e)
		e = store_batch_add(b, &s, fault);
	profile_release(&p);
	return e;
}

/* ------------------------------------------------------------------ asked the slow way */

struct question_text {
	struct selection s;
	const struct str *group_by;
	size_t group_count;
};

static inline struct str model_value(const struct model_profile *p, const struct model_row *row,
				     struct str name)
{
	struct str rest = str_of(model_labels[row->labels]), part;

	if (str_eq(name, STR("service_name")))
		return str_of(p->service);
	if (str_eq(name, STR("pod")) && p->pod)
		return str_of(p->pod);
	while (str_split(&rest, ',', &part)) {
		size_t equals = str_find(part, '=');

		if (str_eq(str_n(part.p, equals), name))
			return str_skip(part, equals + 1);
	}
	return (struct str){0};
}

static inline bool model_matcher(const struct matcher *m, struct str value)
{
	bool same = false;

	if (m->op == MATCH_EQUAL || m->op == MATCH_NOT_EQUAL)
		same = str_eq(value, m->value);
	else if (linear_regex_match(m->regex, value, &same))
		return false;
	return same == (m->op == MATCH_EQUAL || m->op == MATCH_REGEX);
}

static inline bool model_takes_row(const struct selection *s, const struct model_profile *p,
				   const struct model_row *row)
{
	struct link link = model_link(row->link), none = {0};
	bool linked = !s->link_count;

	for (size_t i = 0; i < s->matcher_count; i++)
		if (!model_matcher(&s->matchers[i], model_value(p, row, s->matchers[i].name)))
			return false;
	for (size_t i = 0; i < s->link_count && row->link; i++)
		linked |= (!memcmp(s->links[i].trace_id, none.trace_id, 16) ||
			   !memcmp(s->links[i].trace_id, link.trace_id, 16)) &&
			  (!memcmp(s->links[i].span_id, none.span_id, 8) ||
			   !memcmp(s->links[i].span_id, link.span_id, 8));
	return linked;
}

static inline bool model_takes_profile(const struct selection *s, const char *tenant,
				       const struct model_profile *p)
{
	bool type = p->heap ? str_eq(s->type, TYPE_HEAP)
			    : str_eq(s->type, TYPE_SAMPLES) || str_eq(s->type, TYPE_CPU);

	return type && strcmp(p->tenant, tenant) == 0 && p->time < s->until_ns &&
	       (p->time >= s->from_ns || (!p->heap && p->time + p->duration > s->from_ns));
}

/* What of a total lies in [from, until), to the last unit. */
static inline int64_t model_before(int64_t total, int64_t start, int64_t duration, int64_t t)
{
	if (t <= start || t >= start + duration)
		return t > start ? total : 0;
	return (int64_t)((2 * (__int128)total * (t - start) + duration) / (2 * (__int128)duration));
}

static inline int64_t model_share(int64_t total, int64_t start, int64_t duration, int64_t from,
				  int64_t until)
{
	return model_before(total, start, duration, until) -
	       model_before(total, start, duration, from);
}

/* What of a row lies in the range, as far as rows can be told apart. */
static inline double model_part(const struct model_profile *p, const struct model_row *row,
				int64_t from, int64_t until)
{
	int64_t first = from > p->time ? from : p->time;
	int64_t last = until < p->time + p->duration ? until : p->time + p->duration;

	if (p->heap)
		return (double)row->value;
	if (row->time || !p->duration) {
		int64_t time = row->time ? row->time : p->time;

		if (row->time && time >= p->time + p->duration)
			time = p->duration ? p->time + p->duration - 1 : p->time;
		return time >= from && time < until ? (double)row->value : 0;
	}
	return first < last ? (double)row->value * (double)(last - first) / (double)p->duration : 0;
}

/* Of a whole profile, to the last unit. `unit`: what a sample counts. */
static inline int64_t model_total(const struct model_profile *p, int64_t unit, int64_t from,
				  int64_t until)
{
	int64_t spread = 0, sum = 0;

	for (unsigned r = 0; r < p->n; r++) {
		if (p->rows[r].time)
			sum += (int64_t)model_part(p, &p->rows[r], from, until) * unit;
		else
			spread += p->rows[r].value * unit;
	}
	return sum + model_share(spread, p->time, p->duration, from, until);
}

/* Profiles of all lengths, overlapping, some of no length and some of hours. */
static inline void model_vary(struct model *m, uint64_t *state)
{
	static const int64_t lengths_s[] = {0,	 10,  15,   60,	  60,	119,
					    121, 900, 3599, 3601, 9000, 80000};

	for (size_t i = 0; i < m->n; i++) {
		struct model_profile *p = &m->v[i];

		/* Long ones are rare. */
		p->duration =
			lengths_s[model_next(state, model_next(state, 20) ? 7 : 12)] * NS_PER_S;
		p->time += model_next(state, 1000000000);
		for (unsigned r = 0; r < p->n; r++)
			if (p->rows[r].time && p->duration)
				p->rows[r].time = p->time + (int64_t)(model_next(state, 1000) *
								      (p->duration / 1000));
	}
}

/* Whether a series may be selected, by its own labels, unless rows override them. Time without such
 * a row counts as covered, too. */
static inline bool model_measures(const struct selection *s, const struct model_profile *p)
{
	struct model_row none = {0};

	for (size_t i = 0; i < s->matcher_count; i++) {
		struct str name = s->matchers[i].name;
		bool of_rows = str_eq(name, STR("thread")) || str_eq(name, STR("endpoint")) ||
			       (str_eq(name, STR("pod")) && !p->pod);

		if (!of_rows && !model_matcher(&s->matchers[i], model_value(p, &none, name)))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------ gauges */

/* A gauge is looked for an hour before the range. */
static inline bool model_is_level(const struct selection *s, const char *tenant,
				  const struct model_profile *p)
{
	return p->heap && str_eq(s->type, TYPE_HEAP) && !strcmp(p->tenant, tenant) &&
	       p->time >= s->from_ns - 3600 * NS_PER_S && p->time < s->until_ns;
}

#define MODEL_LEVELS 2000
struct model_times {
	int64_t v[MODEL_LEVELS];
	size_t n;
};

static inline int model_by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static inline void model_times_of(const struct model *m, const struct selection *s,
				  const struct model_profile *of, struct model_times *t)
{
	t->n = 0;
	for (size_t i = 0; i < m->n && t->n < MODEL_LEVELS; i++)
		if (model_is_level(s, of->tenant, &m->v[i]) && model_same_series(&m->v[i], of))
			t->v[t->n++] = m->v[i].time;
	qsort(t->v, t->n, sizeof(*t->v), model_by_time);
}

/* The smallest that at least half are not longer than; a minute where there is none. */
static inline int64_t model_usual_gap(const struct model_times *t)
{
	static struct model_times gaps;

	gaps.n = 0;
	for (size_t i = 1; i < t->n; i++)
		gaps.v[gaps.n++] = t->v[i] - t->v[i - 1];
	qsort(gaps.v, gaps.n, sizeof(*gaps.v), model_by_time);
	return gaps.n && gaps.v[(gaps.n - 1) / 2] ? gaps.v[(gaps.n - 1) / 2] : 60 * NS_PER_S;
}

/* When a profile holds: until the next of its series, as long as that comes. */
struct model_hold {
	int64_t from, until;
	unsigned same; /* profiles of that time */
};

static inline struct model_hold model_hold(const struct model *m, const struct selection *s,
					   const struct model_profile *p)
{
	static struct model_times t;
	struct model_hold h = {p->time, 0, 0};
	int64_t usual, next = INT64_MAX, before = INT64_MIN;

	model_times_of(m, s, p, &t);
	usual = model_usual_gap(&t);
	for (size_t i = 0; i < t.n; i++) {
		h.same += t.v[i] == p->time;
		if (t.v[i] > p->time && t.v[i] < next)
			next = t.v[i];
		if (t.v[i] < s->from_ns)
			before = t.v[i];
	}
	if (t.v[0] == p->time && p->time > s->from_ns && p->time - s->from_ns <= usual)
		h.from = s->from_ns;
	h.until = p->time + (p->time == before ? 4 * usual : usual);
	if (h.until < p->time + p->duration)
		h.until = p->time + p->duration;
	if (next < h.until || (next < INT64_MAX && next - p->time <= 2 * usual))
		h.until = next;
	h.from = h.from > s->from_ns ? h.from : s->from_ns;
	h.until = h.until < s->until_ns ? h.until : s->until_ns;
	return h;
}

/* A gauge, worked out: how long each profile holds, and whether its series is measured. */
struct model_levels {
	struct model_hold v[MODEL_LEVELS];
	bool measured[MODEL_LEVELS];
};

static inline struct model_levels *model_levels(const struct model *m, const struct selection *s,
						const char *tenant)
{
	struct model_levels *l = calloc(1, sizeof(*l));

	for (size_t i = 0; l && i < m->n && i < MODEL_LEVELS; i++)
		if (model_is_level(s, tenant, &m->v[i]))
			l->v[i] = model_hold(m, s, &m->v[i]);
	for (size_t i = 0; l && i < m->n && i < MODEL_LEVELS; i++)
		l->measured[i] = l->v[i].same && model_measures(s, &m->v[i]);
	return l;
}

/* How long one holds in [a, b). */
static inline double model_held(const struct model_hold *h, int64_t a, int64_t b)
{
	a = a > h->from ? a : h->from;
	b = b < h->until ? b : h->until;
	return h->same && b > a ? (double)(b - a) / h->same : 0;
}

/* How long any does. */
static inline double model_any_held(const struct model *m, const struct model_levels *l, int64_t a,
				    int64_t b)
{
	int64_t at = a, sum = 0;

	while (at < b) {
		int64_t end = at, next = b;

		for (size_t i = 0; i < m->n; i++) {
			const struct model_hold *h = &l->v[i];

			if (!l->measured[i] || h->until <= at)
				continue;
			if (h->from <= at && h->until > end)
				end = h->until;
			if (h->from > at && h->from < next)
				next = h->from;
		}
		end = end < b ? end : b;
		sum += end - at;
		at = end > at ? end : next;
	}
	return (double)sum;
}

struct text_sum {
	char text[200];
	double sum;
};

struct text_sums {
	struct text_sum v[2000];
	size_t n;
};

static inline void text_sums_add(struct text_sums *t, const char *text, double value)
{
	for (size_t i = 0; i < t->n; i++) {
		if (strcmp(t->v[i].text, text) == 0) {
			t->v[i].sum += value;
			return;
		}
	}
	if (t->n < 2000) {
		snprintf(t->v[t->n].text, sizeof(t->v[0].text), "%s", text);
		t->v[t->n++].sum = value;
	}
}

static inline int text_sum_compare(const void *a, const void *b)
{
	return strcmp(((const struct text_sum *)a)->text, ((const struct text_sum *)b)->text);
}

static inline void text_sums_finish(struct text_sums *t, struct buf *out)
{
	qsort(t->v, t->n, sizeof(t->v[0]), text_sum_compare);
	for (size_t i = 0; i < t->n; i++)
		if (llround(t->v[i].sum))
			buf_printf(out, "%s %lld\n", t->v[i].text, llround(t->v[i].sum));
}

static inline void model_group(const struct question_text *q, const struct model_profile *p,
			       const struct model_row *row, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < q->group_count; i++) {
		struct str value = model_value(p, row, q->group_by[i]);

		if (value.p && value.n)
			at += (size_t)snprintf(text + at, size - at, "%.*s=%.*s,",
					       (int)q->group_by[i].n, q->group_by[i].p,
					       (int)value.n, value.p);
	}
}

static inline void model_merge(const struct model *m, const char *tenant,
			       const struct question_text *q, struct buf *out)
{
	struct text_sums *sums = calloc(1, sizeof(*sums));
	bool gauge = str_eq(q->s.type, TYPE_HEAP);
	struct model_levels *levels = gauge ? model_levels(m, &q->s, tenant) : NULL;
	double all = levels ? model_any_held(m, levels, q->s.from_ns, q->s.until_ns) : 0;

	for (size_t i = 0; sums && i < m->n; i++) {
		const struct model_profile *p = &m->v[i];
		bool takes =
			gauge ? levels && levels->v[i].same : model_takes_profile(&q->s, tenant, p);
		double factor = 1;

		if (takes && gauge)
			factor = all > 0 ? model_held(&levels->v[i], q->s.from_ns, q->s.until_ns) /
						   all
					 : 0;
		for (unsigned r = 0; takes && r < p->n; r++) {
			double value =
				model_part(p, &p->rows[r], q->s.from_ns, q->s.until_ns) * factor;
			char group[100], text[200];

			if (!model_takes_row(&q->s, p, &p->rows[r]))
				continue;
			if (str_eq(q->s.type, TYPE_CPU))
				value *= 10000000;
			model_group(q, p, &p->rows[r], group, sizeof(group));
			snprintf(text, sizeof(text), "%s|%s", group,
				 model_stacks[p->rows[r].stack]);
			text_sums_add(sums, text, value);
		}
	}
	if (sums)
		text_sums_finish(sums, out);
	free(levels);
	free(sums);
}

/* ------------------------------------------------------------------ the store's answer as text */

static inline void profile_group(const struct question_text *q, const struct profile *p, size_t row,
				 struct buf *out)
{
	for (size_t i = 0; i < q->group_count; i++) {
		const struct label *l = label_find(p->dict, p->labels[row], q->group_by[i]);

		if (!l)
			continue;
		buf_str(out, q->group_by[i]);
		buf_byte(out, '=');
		label_value(p->dict, l, out);
		buf_byte(out, ',');
	}
}

static inline void profile_text(const struct question_text *q, const struct profile *p,
				struct buf *out)
{
	struct text_sums *sums = calloc(1, sizeof(*sums));

	for (size_t i = 0; sums && i < p->row_count; i++) {
		struct buf line = BUF_INIT(1000);
		uint32_t n;
		const uint32_t *frames = stack_frames(p->dict, p->stack[i], &n);

		profile_group(q, p, i, &line);
		buf_byte(&line, '|');
		for (uint32_t f = n; f-- > 0;) {
			buf_str(&line, frame_name(p->dict, frames[f]));
			if (f)
				buf_byte(&line, ';');
		}
		text_sums_add(sums, line.data, (double)p->values[i]);
		buf_release(&line);
	}
	if (sums)
		text_sums_finish(sums, out);
	free(sums);
}
