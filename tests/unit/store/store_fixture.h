/*
 * Small profiles for tests of stores: a service, a number that tells one from another as the label
 * "n", a time and a value.
 */
#pragma once

#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "store/store.h"

#define TEST_TYPE   "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define TEST_TENANT STR("anonymous")
/* 2026-01-31T10:00:00Z */
#define TEST_TIME   INT64_C(1769853600000000000)

struct waiter {
	struct mutex lock;
	struct cond changed;
	bool done;
	enum err error;
	struct fault fault;
};

static inline void waiter_done(void *context, enum err error, const struct fault *fault)
{
	struct waiter *w = context;

	mutex_lock(&w->lock);
	w->done = true;
	w->error = error;
	if (fault)
		w->fault = *fault;
	cond_broadcast(&w->changed);
	mutex_unlock(&w->lock);
}

/* Commits and waits. */
static inline enum err commit_and_wait(struct store_batch *b, struct fault *fault)
{
	struct waiter w = {0};

	mutex_init(&w.lock);
	cond_init(&w.changed);
	store_batch_commit(b, waiter_done, &w);
	mutex_lock(&w.lock);
	while (!w.done)
		cond_wait(&w.changed, &w.lock);
	mutex_unlock(&w.lock);
	mutex_release(&w.lock);
	cond_release(&w.changed);
	if (fault)
		*fault = w.fault;
	return w.error;
}

struct test_profile {
	const char *service;
	int n;
	int64_t time_ns, value;
	const char *function; /* NULL = "work" */
	uint8_t span;	      /* 0 = not linked */
};

static inline enum err fixture_rows(struct profile *p, struct dict *d, const struct test_profile *t)
{
	const char *function = t->function ? t->function : "work";
	uint32_t frames[2], link = 0;
	struct row row = {0};

	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	TRY(dict_named_frame(d, str_of(function), &frames[0]));
	TRY(dict_named_frame(d, STR("main"), &frames[1]));
	TRY(dict_stack(d, frames, 2, &row.stack));
	if (t->span) {
		struct link l = {{0}, {0}};

		memset(l.trace_id, t->span, sizeof(l.trace_id));
		memset(l.span_id, t->span, sizeof(l.span_id));
		TRY(dict_link(d, &l, &link));
		row.link = link;
	}
	return profile_add(p, &row, &t->value);
}

static inline enum err fixture_add(struct store *s, struct store_batch *b,
				   const struct test_profile *t, struct fault *fault)
{
	static const struct str types[] = {{TEST_TYPE, sizeof(TEST_TYPE) - 1}};
	struct label_pair labels[2];
	struct series_profile sp = {.labels = labels,
				    .label_count = 2,
				    .types = types,
				    .time_ns = t->time_ns,
				    .duration_ns = 10 * NS_PER_S};
	struct profile p;
	struct dict d;
	char number[20];
	enum err error = dict_init(&d, store_seed(s));

	if (error != ERR_OK)
		return error;
	profile_init(&p, &d);
	snprintf(number, sizeof(number), "%d", t->n);
	labels[0] = (struct label_pair){STR("n"), str_of(number)};
	labels[1] = (struct label_pair){STR("service_name"), str_of(t->service)};
	error = fixture_rows(&p, &d, t);
	sp.profile = &p;
	if (error == ERR_OK)
		error = store_batch_add(b, &sp, fault);
	profile_release(&p);
	dict_release(&d);
	return error;
}

/* One batch of these profiles of a tenant, committed. */
static inline enum err fixture_write_of(struct store *s, struct str tenant,
					const struct test_profile *v, size_t n, struct fault *fault)
{
	struct store_batch *b;
	enum err error;

	TRY(store_batch_new(s, tenant, &b, fault));
	for (size_t i = 0; i < n; i++) {
		error = fixture_add(s, b, &v[i], fault);
		if (error != ERR_OK) {
			store_batch_abandon(b);
			return error;
		}
	}
	return commit_and_wait(b, fault);
}

static inline enum err fixture_write(struct store *s, const struct test_profile *v, size_t n,
				     struct fault *fault)
{
	return fixture_write_of(s, TEST_TENANT, v, n, fault);
}

static inline struct selection fixture_all(void)
{
	return (struct selection){.type = STR(TEST_TYPE),
				  .from_ns = TEST_TIME - 40 * 86400 * NS_PER_S,
				  .until_ns = TEST_TIME + 40 * 86400 * NS_PER_S};
}

/* The sum of everything selected; -1 when the question failed. */
static inline int64_t fixture_total(struct store *s, const struct selection *selection)
{
	struct ask ask = {0};
	struct profile p;
	struct dict d;
	int64_t total = -1;

	if (dict_init(&d, store_seed(s)) != ERR_OK)
		return -1;
	profile_init(&p, &d);
	if (store_merge(s, TEST_TENANT, selection, NULL, 0, &ask, &p) == ERR_OK)
		total = p.type_count ? profile_total(&p, 0) : 0;
	profile_release(&p);
	dict_release(&d);
	return total;
}

/* Sums by the label "n": sums[n], for n below `count`. */
static inline enum err fixture_sums(struct store *s, int64_t *sums, size_t count)
{
	static const struct str by = {"n", 1};
	struct series_question question = {
		.group_by = &by, .group_count = 1, .step_ns = 86400 * NS_PER_S};
	struct selection all = fixture_all();
	struct series_answer answer = {0};
	struct fault fault = {0};
	struct ask ask = {.fault = &fault};
	enum err error;

	memset(sums, 0, count * sizeof(*sums));
	error = store_series(s, TEST_TENANT, &all, &question, &ask, &answer);
	if (error != ERR_OK) {
		printf("# %s: %s\n", err_text(error), fault.text);
		return error;
	}
	for (size_t i = 0; i < answer.n; i++) {
		struct series_points *one = &answer.series[i];
		uint64_t n;

		if (!one->label_count || str_to_u64(one->labels[0].value, 10, &n) != ERR_OK ||
		    n >= count)
			continue;
		for (size_t k = 0; k < one->n; k++)
			if (one->points[k].value == one->points[k].value)
				sums[n] += (int64_t)one->points[k].value;
	}
	arena_release(&answer.arena);
	return ERR_OK;
}
