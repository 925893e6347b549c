#include "server/completeness_ask.h"

#include <stdlib.h>

void completeness_answer_release(struct completeness_answer *a)
{
	if (!a->ready)
		return;
	vec_release(&a->count.order);
	vec_release(&a->time.order);
	profile_release(&a->count.p);
	profile_release(&a->time.p);
	dict_release(&a->dict);
}

/* Labels of a type id would exclude completeness profiles. */
static bool is_about_type(struct str name)
{
	return str_starts(name, STR("__"));
}

static bool has_name(const struct text_answer *names, struct str name)
{
	for (size_t i = 0; i < names->n; i++)
		if (str_eq(names->v[i], name))
			return true;
	return false;
}

/* The matchers of series: those of samples, as a thread, say nothing of what was lost. */
static enum err choose_matchers(struct inquiry *q, struct selection *s, struct arena *arena)
{
	struct matcher *kept = arena_zalloc(arena, s->matcher_count + 1, sizeof(*kept));
	struct ask ask = q->ask;
	struct text_answer names = {0};
	struct selection all = *s;
	size_t n = 0;

	if (!kept)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s->matcher_count; i++)
		if (str_eq(s->matchers[i].name, STR("service_name")))
			kept[n++] = s->matchers[i];
	all.matchers = kept;
	all.matcher_count = n;
	if (n < s->matcher_count)
		TRY(store_label_names(q->request->server->store, q->request->tenant, &all, &ask,
				      &names));
	n = 0;
	for (size_t i = 0; i < s->matcher_count; i++)
		if (!is_about_type(s->matchers[i].name) &&
		    (str_eq(s->matchers[i].name, STR("service_name")) ||
		     has_name(&names, s->matchers[i].name)))
			kept[n++] = s->matchers[i];
	arena_release(&names.arena);
	s->matchers = kept;
	s->matcher_count = n;
	return ERR_OK;
}

static int by_labels(const void *x, const void *y, void *context)
{
	const struct profile *p = context;
	uint32_t a = p->labels[*(const uint32_t *)x], b = p->labels[*(const uint32_t *)y];

	return a < b ? -1 : a > b;
}

static enum err put_in_order(struct completeness_rows *r)
{
	TRY(vec_reserve(&r->order, r->p.row_count));
	for (uint32_t i = 0; i < r->p.row_count; i++)
		r->order.v[r->order.n++] = i;
	if (r->order.n)
		qsort_r(r->order.v, r->order.n, sizeof(*r->order.v), by_labels, &r->p);
	return ERR_OK;
}

static enum err merge(struct inquiry *q, struct selection *s, const char *id, bool by_service,
		      struct completeness_rows *ret)
{
	static const struct str service[] = {STR("service_name")};
	struct ask ask = q->ask;

	s->type = str_of(id);
	TRY(store_merge(q->request->server->store, q->request->tenant, s, service,
			by_service ? 1 : 0, &ask, &ret->p));
	return put_in_order(ret);
}

static size_t keep_service(struct matcher *matchers, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (str_eq(matchers[i].name, STR("service_name")))
			matchers[kept++] = matchers[i];
	return kept;
}

static enum err read_answer(struct inquiry *q, bool by_service, struct completeness_answer *a)
{
	struct selection s = q->selection;
	struct arena arena = {0};
	enum err error;

	/* For whole series: a query for some spans or seconds gets the completeness of the
	 * surrounding time. */
	s.links = NULL;
	s.profiles = NULL;
	s.times = NULL;
	s.link_count = s.profile_count = s.time_count = 0;
	s.type = STR(COMPLETENESS_TIME_ID);
	TRY(dict_init(&a->dict, store_seed(q->request->server->store)));
	profile_init(&a->count.p, &a->dict);
	profile_init(&a->time.p, &a->dict);
	a->ready = true;
	arena_init(&arena, (size_t)1 << 20);
	error = s.matcher_count ? choose_matchers(q, &s, &arena) : ERR_OK;
	if (error == ERR_OK)
		error = merge(q, &s, COMPLETENESS_TIME_ID, by_service, &a->time);
	/* Labels of samples, as a thread: what is known is of the whole service. */
	if (error == ERR_OK && !a->time.p.row_count && s.matcher_count) {
		s.matcher_count = keep_service((struct matcher *)s.matchers, s.matcher_count);
		profile_release(&a->time.p);
		profile_init(&a->time.p, &a->dict);
		error = merge(q, &s, COMPLETENESS_TIME_ID, by_service, &a->time);
	}
	/* Senders that report times also report counts. */
	if (error == ERR_OK && a->time.p.row_count)
		error = merge(q, &s, COMPLETENESS_COUNT_ID, by_service, &a->count);
	arena_release(&arena);
	return error;
}

enum err completeness_ask(struct inquiry *q, bool by_service, struct completeness_answer *a)
{
	enum err error = read_answer(q, by_service, a);

	if (error != ERR_TOO_LARGE)
		return error;
	/* Reports are untrusted: ignore a huge one instead of failing the query. */
	completeness_answer_release(a);
	*a = (struct completeness_answer){0};
	*q->fault = (struct fault){0};
	return ERR_OK;
}

/* Index of the first row with these labels. */
static size_t first_row(const struct completeness_rows *r, uint32_t labels)
{
	size_t low = 0, high = r->order.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->p.labels[r->order.v[middle]] < labels)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void read_rows(const struct completeness_rows *r, bool time, const uint32_t *labels,
		      struct str measure, struct completeness *c)
{
	for (size_t i = labels ? first_row(r, *labels) : 0; i < r->order.n; i++) {
		uint32_t row = r->order.v[i];

		if (labels && r->p.labels[row] != *labels)
			return;
		completeness_read_row(&r->p, row, time ? -1 : 0, time ? 0 : -1, measure, c);
	}
}

enum err completeness_about(struct completeness_answer *a, struct str type,
			    const struct str *service, struct completeness *ret)
{
	struct str measure = completeness_measure(type_split(type).sample_type);
	uint32_t labels = 0, label;

	*ret = (struct completeness){0};
	if (!a->ready || !a->time.p.row_count)
		return ERR_OK;
	if (service) {
		TRY(dict_label_text(&a->dict, STR("service_name"), *service, &label));
		TRY(dict_label_set(&a->dict, &label, 1, &labels));
	}
	read_rows(&a->time, true, service ? &labels : NULL, measure, ret);
	read_rows(&a->count, false, service ? &labels : NULL, measure, ret);
	return ERR_OK;
}

enum err inquiry_completeness(struct inquiry *q, struct completeness *ret)
{
	CLEANUP(completeness_answer_release) struct completeness_answer a = {0};

	TRY(completeness_ask(q, false, &a));
	return completeness_about(&a, q->selection.type, NULL, ret);
}

enum err api_completeness(struct inquiry *q, struct jsonout *o)
{
	struct completeness c;
	struct stack_quality quality;

	TRY(inquiry_completeness(q, &c));
	if (q->merged)
		TRY(profile_quality(&q->profile, 0, &quality));
	jsonout_key(o, STR("completeness"));
	completeness_json(o, &c, q->merged ? &quality : NULL);
	return ERR_OK;
}

void completeness_put_sides(struct jsonout *o, const struct completeness sides[2],
			    const struct stack_quality *quality)
{
	jsonout_put_object(o, "completeness");
	jsonout_key(o, STR("baseline"));
	completeness_json(o, &sides[0], quality ? &quality[0] : NULL);
	jsonout_key(o, STR("comparison"));
	completeness_json(o, &sides[1], quality ? &quality[1] : NULL);
	jsonout_end_object(o);
}

enum err shown_types(struct request *r, const struct selection *s, struct ask *ask,
		     struct text_answer *ret)
{
	size_t kept = 0;

	TRY(store_types(r->server->store, r->tenant, s, ask, ret));
	for (size_t i = 0; i < ret->n; i++)
		if (!type_is_completeness(ret->v[i]))
			ret->v[kept++] = ret->v[i];
	ret->n = kept;
	return ERR_OK;
}

static bool is_hidden(const struct label_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (str_eq(g->labels[i].name, STR("__profile_type__")))
			return type_is_completeness(g->labels[i].value);
	return false;
}

void hide_completeness(struct label_set_answer *sets)
{
	size_t kept = 0;

	for (size_t i = 0; i < sets->n; i++)
		if (!is_hidden(&sets->v[i]))
			sets->v[kept++] = sets->v[i];
	sets->n = kept;
}
