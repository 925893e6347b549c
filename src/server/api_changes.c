/*
 * /api/v1/changes: when a new version of something was first seen.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/api.h"
#include "server/completeness_ask.h"

#define POINTS	     240
#define MAX_VERSIONS 2000

/* Labels that name the version of a program. */
static const char *const labels[] = {
	"commit",	   "service.version", "service_version",       "version",
	"service_git_ref", "git_commit",      "vcs.ref.head.revision", "container.image.tag",
};
#define LABELS (sizeof(labels) / sizeof(*labels))

struct version {
	int64_t time_ns; /* when it was first seen */
	const char *label;
	struct str value, service;
	bool first; /* of this service, in the examined range */
};

struct changes {
	struct inquiry *q;
	struct series_answer answers[LABELS];
	VEC(struct version) list;
};

static void changes_release(struct changes *c)
{
	for (size_t i = 0; i < LABELS; i++)
		arena_release(&c->answers[i].arena);
	vec_release(&c->list);
}

static int64_t first_time(const struct series_points *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->points[i].value))
			return s->points[i].time_ns;
	return INT64_MAX;
}

static struct str text_of_label(const struct series_points *s, struct str name)
{
	for (size_t i = 0; i < s->label_count; i++)
		if (str_eq(s->labels[i].name, name))
			return s->labels[i].value;
	return (struct str){0};
}

static enum err add_versions(struct changes *c, const char *label, const struct series_answer *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct series_points *s = &a->series[i];
		struct version v = {.time_ns = first_time(s),
				    .label = label,
				    .value = text_of_label(s, str_of(label)),
				    .service = text_of_label(s, STR("service_name"))};

		if (v.value.n && v.time_ns < INT64_MAX)
			TRY(vec_push(&c->list, v));
	}
	return ERR_OK;
}

static bool listed(const struct text_answer *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (str_eq(names->v[i], str_of(name)))
			return true;
	return false;
}

static enum err ask_versions(struct changes *c, const struct text_answer *names, int64_t step_ns)
{
	struct request *r = c->q->request;

	for (size_t i = 0; i < LABELS; i++) {
		struct str by[] = {STR("service_name"), str_of(labels[i])};
		struct series_question what = {.group_by = by,
					       .group_count = 2,
					       .step_ns = step_ns,
					       .force_sum = true,
					       .limit = MAX_VERSIONS};

		if (!listed(names, labels[i]))
			continue;
		TRY(store_series(r->server->store, r->tenant, &c->q->selection, &what, &c->q->ask,
				 &c->answers[i]));
		TRY(add_versions(c, labels[i], &c->answers[i]));
	}
	return ERR_OK;
}

/* By label, service and time: versions that follow each other stand together. */
static int compare_places(const void *left, const void *right)
{
	const struct version *a = left, *b = right;
	int order = a->label != b->label ? strcmp(a->label, b->label) : 0;

	if (!order)
		order = str_cmp(a->service, b->service);
	if (!order)
		order = (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
	return order ? order : str_cmp(a->value, b->value);
}

static int compare_times(const void *left, const void *right)
{
	const struct version *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return compare_places(left, right);
}

static void put_in_order(struct changes *c)
{
	if (!c->list.n)
		return;
	qsort(c->list.v, c->list.n, sizeof(*c->list.v), compare_places);
	for (size_t i = 0; i < c->list.n; i++)
		c->list.v[i].first = !i || c->list.v[i].label != c->list.v[i - 1].label ||
				     !str_eq(c->list.v[i].service, c->list.v[i - 1].service);
	qsort(c->list.v, c->list.n, sizeof(*c->list.v), compare_times);
}

static void put_changes(const struct changes *c, int64_t from_ns, struct jsonout *o)
{
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.changes/1");
	jsonout_put_i64(o, "from_ns", from_ns);
	jsonout_put_i64(o, "until_ns", c->q->selection.until_ns);
	jsonout_put_array(o, "changes");
	for (size_t i = 0; i < c->list.n; i++) {
		const struct version *v = &c->list.v[i];

		if (v->time_ns < from_ns)
			continue;
		jsonout_object(o);
		jsonout_put_i64(o, "time_ms", v->time_ns / NS_PER_MS);
		jsonout_put_text(o, "label", v->label);
		jsonout_put_str(o, "value", v->value);
		jsonout_put_str(o, "service", v->service);
		jsonout_put_bool(o, "first", v->first);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	jsonout_end_object(o);
}

/* Any type shows when a version ran; use cpu if available. */
static enum err choose_type(struct inquiry *q, struct text_answer *types)
{
	struct request *r = q->request;

	if (q->selection.type.n)
		return ERR_OK;
	TRY(shown_types(r, &q->selection, &q->ask, types));
	for (size_t i = 0; i < types->n; i++)
		if (!i || str_eq(type_split(types->v[i]).sample_type, STR("cpu")))
			q->selection.type = types->v[i];
	return ERR_OK;
}

static enum err ask_all(struct changes *c, int64_t step_ns)
{
	struct request *r = c->q->request;
	struct text_answer types = {0}, names = {0};
	enum err error = choose_type(c->q, &types);

	if (error == ERR_OK && c->q->selection.type.n)
		error = store_label_names(r->server->store, r->tenant, &c->q->selection, &c->q->ask,
					  &names);
	if (error == ERR_OK)
		error = ask_versions(c, &names, step_ns);
	arena_release(&names.arena);
	arena_release(&types.arena);
	return error;
}

static enum err answer_changes(struct inquiry *q, struct jsonout *o)
{
	CLEANUP(changes_release) struct changes c = {.q = q};
	int64_t length, from_ns;

	TRY(api_select(q));
	from_ns = q->selection.from_ns;
	length = q->selection.until_ns - from_ns;
	/* Versions that ran before are not new. */
	q->selection.from_ns = from_ns > length ? from_ns - length : 0;
	TRY(ask_all(&c, api_step(length / POINTS)));
	put_in_order(&c);
	put_changes(&c, from_ns, o);
	return ERR_OK;
}

void api_changes(struct request *r)
{
	api_answer(r, answer_changes);
}
