/*
 * /api/v1/function: one function over time, and by service, version, thread, other labels with few
 * values, and spans.
 */

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "server/amounts.h"
#include "server/completeness_ask.h"
#include "server/filters.h"

#define POINTS	   120
#define MAX_LABELS 16
#define MAX_VALUES 50 /* of a label, to be of use */
#define MAX_GROUPS 64
#define MAX_SPANS  20
#define MAX_NAME   4096

/* ------------------------------------------------------------------ over time */

static enum err put_series(struct inquiry *q, struct str name, int64_t step_ns, bool self,
			   int64_t *ret_start, struct jsonout *o)
{
	struct request *r = q->request;
	struct series_question what = {.step_ns = step_ns,
				       .function = name,
				       .function_self = self,
				       .late = q->late.frames.v,
				       .late_count = q->late.frames.n};
	struct series_answer answer = {0};
	struct series_points nothing = {0};

	TRY(store_series(r->server->store, r->tenant, &q->selection, &what, &q->ask, &answer));
	if (!answer.n)
		answer.series = &nothing;
	api_points(o, self ? "self" : "total", answer.series, 0);
	if (!self)
		api_covered(o, answer.series, 0);
	if (answer.series->n)
		*ret_start = answer.series->points[0].time_ns;
	arena_release(&answer.arena);
	return ERR_OK;
}

/* ------------------------------------------------------------------ by label */

struct share {
	struct str value;
	int64_t self, total;
};

struct looking {
	struct inquiry *q;
	struct str name;
	struct str labels[MAX_LABELS];
	size_t label_count;
	uint8_t *stacks; /* by stack: 0 not seen, 1 without it, 2 in it, 3 it is on top */
	bool *frames;	 /* by frame: is the function */
	int64_t all, self, total;
};

/* Versions and threads are always queried; other labels only if they have few values. */
static bool is_always_wanted(struct str name)
{
	static const char *const names[] = {"service_name",    "commit",      "service.version",
					    "service_version", "version",     "thread",
					    "thread.name",     "thread_name", "span_name"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_eq(name, str_of(names[i])))
			return true;
	return false;
}

static bool is_internal(struct str name)
{
	return str_starts(name, STR("__")) || str_eq(name, STR("waker"));
}

/* The days of the range and the one before, from which values reach into it: what is known of the
 * times of series within a day depends on whether they were just received. */
static struct selection whole_days(const struct inquiry *q)
{
	const int64_t day = 86400 * NS_PER_S;
	struct selection s = q->selection;

	s.from_ns = s.from_ns > 2 * day ? s.from_ns - s.from_ns % day - day : 0;
	s.until_ns = s.until_ns < INT64_MAX - day ? s.until_ns + day - 1 - (s.until_ns - 1) % day
						  : INT64_MAX;
	return s;
}

static enum err has_few_values(struct looking *f, struct str name, bool *ret)
{
	struct request *r = f->q->request;
	struct selection days = whole_days(f->q);
	struct text_answer values = {0};

	TRY(store_label_values(r->server->store, r->tenant, name, &days, MAX_VALUES, &f->q->ask,
			       &values));
	*ret = values.n > 1 && !values.more;
	arena_release(&values.arena);
	return ERR_OK;
}

static enum err choose_labels(struct looking *f, const struct text_answer *names)
{
	for (int always = 1; always >= 0; always--)
		for (size_t i = 0; i < names->n && f->label_count < MAX_LABELS; i++) {
			bool wanted = is_always_wanted(names->v[i]);

			if (is_internal(names->v[i]) || wanted != always)
				continue;
			if (!wanted)
				TRY(has_few_values(f, names->v[i], &wanted));
			if (wanted)
				f->labels[f->label_count++] = names->v[i];
		}
	return ERR_OK;
}

/* Evaluates a stack for the function, once. */
static uint8_t look_at(struct looking *f, uint32_t stack)
{
	uint32_t n;
	const uint32_t *ids = stack_frames(&f->q->dict, stack, &n);
	uint8_t found = 1;

	for (uint32_t i = 0; i < n && found == 1; i++)
		if (f->frames[ids[i]])
			found = i ? 2 : 3;
	f->stacks[stack] = found;
	return found;
}

static enum err find_frames(struct looking *f)
{
	const struct dict *d = &f->q->dict;
	CLEANUP(buf_release) struct buf label = BUF_INIT((size_t)1 << 22);

	f->frames = mem_zalloc(d->frames.n, sizeof(*f->frames));
	f->stacks = mem_zalloc(d->stacks.entries.n, sizeof(*f->stacks));
	if (!f->frames || !f->stacks)
		return ERR_NO_MEMORY;
	for (uint32_t i = 1; i < d->frames.n; i++) {
		buf_clear(&label);
		frame_label(d, i, &label);
		TRY(buf_error(&label));
		f->frames[i] = str_eq(buf_view(&label), f->name);
	}
	return ERR_OK;
}

static struct str row_value(const struct looking *f, size_t row, struct str name)
{
	const struct label *l = label_find(&f->q->dict, f->q->profile.labels[row], name);

	return l ? dict_str(&f->q->dict, (uint32_t)l->value) : (struct str){0};
}

static int compare_shares(const void *left, const void *right)
{
	const struct share *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return str_cmp(a->value, b->value);
}

static void put_shares(const struct share *shares, size_t n, struct jsonout *o)
{
	for (size_t i = 0; i < n && i < MAX_GROUPS; i++) {
		jsonout_object(o);
		jsonout_put_str(o, "value", shares[i].value);
		jsonout_put_i64(o, "self", shares[i].self);
		jsonout_put_i64(o, "total", shares[i].total);
		jsonout_end_object(o);
	}
}

/* Rows come group by group: the value of the last row is mostly that of the next. */
static enum err put_label(struct looking *f, struct str name, struct jsonout *o)
{
	const struct profile *p = &f->q->profile;
	VEC(struct share) shares = {0};
	size_t at = 0;
	enum err error = ERR_OK;

	for (size_t i = 0; error == ERR_OK && i < p->row_count; i++) {
		uint8_t seen = f->stacks[p->stack[i]];
		int64_t value = profile_values(p, i)[0];
		struct str text;

		if (seen < 2)
			continue;
		text = row_value(f, i, name);
		if (at >= shares.n || !str_eq(shares.v[at].value, text))
			for (at = 0; at < shares.n && !str_eq(shares.v[at].value, text); at++)
				;
		if (at == shares.n)
			error = vec_push(&shares, ((struct share){.value = text}));
		if (error == ERR_OK) {
			shares.v[at].total += value;
			shares.v[at].self += seen == 3 ? value : 0;
		}
	}
	if (shares.n)
		qsort(shares.v, shares.n, sizeof(*shares.v), compare_shares);
	/* A label that nothing here has says nothing. */
	if (error == ERR_OK && (shares.n > 1 || (shares.n && shares.v[0].value.n))) {
		jsonout_key(o, name);
		jsonout_array(o);
		put_shares(shares.v, shares.n, o);
		jsonout_end_array(o);
	}
	vec_release(&shares);
	return error;
}

static void put_totals(const struct looking *f, struct jsonout *o)
{
	struct amount all = api_amount(f->q, f->all);
	struct amount self = api_amount(f->q, f->all);
	struct amount total = api_amount(f->q, f->all);

	/* 0 if the function did not run; unknown without coverage. */
	amount_set(&self, f->self);
	amount_set(&total, f->total);
	amount_put_total(o, "all", &all);
	jsonout_put_double(o, "all_rate", amount_rate(&all));
	amount_put_total(o, "self", &self);
	jsonout_put_double(o, "self_rate", amount_rate(&self));
	amount_put_total(o, "total", &total);
	amount_put_rates(o, &total);
}

static enum err put_labels(struct looking *f, struct jsonout *o)
{
	const struct profile *p = &f->q->profile;

	TRY(find_frames(f));
	for (size_t i = 0; i < p->row_count; i++) {
		uint8_t seen = f->stacks[p->stack[i]];
		int64_t value = profile_values(p, i)[0];

		seen = seen ? seen : look_at(f, p->stack[i]);
		f->all += value;
		f->total += seen >= 2 ? value : 0;
		f->self += seen == 3 ? value : 0;
	}
	put_totals(f, o);
	jsonout_put_object(o, "by");
	for (size_t i = 0; i < f->label_count; i++)
		TRY(put_label(f, f->labels[i], o));
	jsonout_end_object(o);
	return ERR_OK;
}

/* ------------------------------------------------------------------ spans */

static void put_id(struct jsonout *o, const char *key, const uint8_t *bytes, size_t n)
{
	char text[33];

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	jsonout_put_str(o, key, str_n(text, 2 * n));
}

/* The stored span of a trace, if available. */
static enum err put_operation(struct inquiry *q, const struct exemplar *e, struct jsonout *o)
{
	struct request *r = q->request;
	struct span_question what = {
		.until_ns = INT64_MAX, .trace_id = e->link.trace_id, .limit = 1000};
	struct span_answer answer = {0};

	TRY(store_spans(r->server->store, r->tenant, &what, &q->ask, &answer));
	for (size_t i = 0; i < answer.n; i++) {
		const struct trace_span *s = &answer.v[i];

		if (memcmp(s->span_id, e->link.span_id, sizeof(s->span_id)) != 0)
			continue;
		jsonout_put_str(o, "service", s->service);
		jsonout_put_str(o, "operation", s->operation);
		jsonout_put_i64(o, "duration_ns", s->duration_ns);
		break;
	}
	arena_release(&answer.arena);
	return ERR_OK;
}

static enum err put_spans(struct looking *f, struct jsonout *o)
{
	struct inquiry *q = f->q;
	struct exemplar_question what = {.by_span = true,
					 .function = f->name,
					 .late = q->late.frames.v,
					 .late_count = q->late.frames.n,
					 .limit = MAX_SPANS};
	struct exemplar_answer answer = {0};
	enum err error = ERR_OK;

	TRY(store_exemplars(q->request->server->store, q->request->tenant, &q->selection, &what,
			    &q->ask, &answer));
	jsonout_put_array(o, "spans");
	for (size_t i = 0; error == ERR_OK && i < answer.n; i++) {
		const struct exemplar *e = &answer.v[i];

		jsonout_object(o);
		put_id(o, "trace_id", e->link.trace_id, sizeof(e->link.trace_id));
		put_id(o, "span_id", e->link.span_id, sizeof(e->link.span_id));
		jsonout_put_i64(o, "time_ms", e->time_ns / NS_PER_MS);
		jsonout_put_i64(o, "value", e->value);
		error = put_operation(q, e, o);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	arena_release(&answer.arena);
	return error;
}

/* ------------------------------------------------------------------ all of it */

/* With the returned labels and those used by filters. */
static enum err merge(struct looking *f)
{
	struct str by[MAX_LABELS + FILTERS_EACH];
	struct filters filters;
	size_t n = 0;
	enum err error = filters_read(f->q->request, &filters, f->q->fault);

	for (; n < f->label_count; n++)
		by[n] = f->labels[n];
	for (size_t i = 0; error == ERR_OK && i < filters.label_count; i++) {
		bool known = false;

		for (size_t k = 0; k < n; k++)
			known |= str_eq(by[k], filters.labels[i]);
		if (!known)
			by[n++] = filters.labels[i];
	}
	if (error == ERR_OK)
		error = inquiry_merge(f->q, by, n);
	if (error == ERR_OK)
		error = filters_apply(&filters, &f->q->profile, f->q->fault);
	filters_release(&filters);
	return error;
}

static enum err put_function(struct looking *f, const struct text_answer *names, struct jsonout *o)
{
	struct inquiry *q = f->q;
	int64_t start = q->selection.from_ns, step;

	TRY(choose_labels(f, names));
	TRY(parameter_duration(q->request, "step",
			       api_step((q->selection.until_ns - q->selection.from_ns) / POINTS),
			       &step, q->fault));
	TRY(merge(f));
	jsonout_object(o);
	api_head(q, o, "vestal.function/1");
	jsonout_put_str(o, "name", f->name);
	jsonout_put_object(o, "series");
	TRY(put_series(q, f->name, step, true, &start, o));
	TRY(put_series(q, f->name, step, false, &start, o));
	jsonout_put_i64(o, "step_ms", step / NS_PER_MS);
	jsonout_put_i64(o, "start_ms", start / NS_PER_MS);
	jsonout_end_object(o);
	TRY(put_labels(f, o));
	TRY(put_spans(f, o));
	TRY(api_completeness(q, o));
	api_cost(q, o);
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err answer_function(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct looking f = {.q = q, .name = parameter(r, "name")};
	struct text_answer names = {0};
	struct selection days;
	enum err error;

	if (!f.name.n || f.name.n > MAX_NAME)
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "name is a function's, of at most %d bytes", MAX_NAME);
	TRY(api_select(q));
	TRY(inquiry_need_type(q));
	days = whole_days(q);
	TRY(store_label_names(r->server->store, r->tenant, &days, &q->ask, &names));
	error = put_function(&f, &names, o);
	arena_release(&names.arena);
	mem_free(f.stacks);
	mem_free(f.frames);
	return error;
}

void api_function(struct request *r)
{
	api_answer(r, answer_function);
}
