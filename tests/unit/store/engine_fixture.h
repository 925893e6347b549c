/*
 * A store of any engine for a test, and a model beside it that says what its answers must be. A
 * test written with ENGINE_TEST runs for the engine in memory, for the one in files, for that one
 * after its compaction, and for one that has no memory to keep dictionaries between questions; it
 * is told against store.h alone.
 */
#pragma once

#include <ftw.h>
#include <stdatomic.h>
#include <unistd.h>

#include "store_model.h"

#include "base/thread.h"

static inline int64_t model_now(void)
{
	return MODEL_NOW;
}

enum engine_kind { IN_MEMORY, IN_FILES, IN_FILES_SETTLED, IN_FILES_CRAMPED };

struct fixture {
	enum engine_kind kind;
	struct store *store;
	char directory[64];
	struct model model;
};

static inline int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	(void)info;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void fixture_release(struct fixture *f)
{
	store_close(f->store);
	if (f->directory[0])
		nftw(f->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	model_release(&f->model);
}

static inline struct store_options fixture_options(void)
{
	struct store_options o = store_options_default;

	o.now_ns = model_now;
	o.limits.max_depth = 8;
	o.limits.max_series = 40;
	o.limits.max_labels = 6;
	o.limits.max_label_value = 50;
	o.limits.max_age_ns = 3 * DAY;
	o.limits.max_ahead_ns = 600 * NS_PER_S;
	return o;
}

static inline enum err fixture_open(struct fixture *f, struct store_options *o)
{
	struct fault fault = {0};
	enum err e;

	if (f->kind != IN_MEMORY) {
		const char *base = getenv("TMPDIR");

		if (!f->directory[0]) {
			snprintf(f->directory, sizeof(f->directory), "%s/vestal-store-XXXXXX",
				 base && strlen(base) < 30 ? base : "/tmp");
			if (!mkdtemp(f->directory))
				return ERR_IO;
		}
		o->directory = f->directory;
		if (f->kind == IN_FILES_CRAMPED)
			o->dictionary_memory = 0;
	}
	e = store_open(o, &f->store, &fault);
	if (e && e != ERR_UNSUPPORTED)
		test_fail(__FILE__, __LINE__, "store_open: %s", fault.text);
	return e;
}

/* Opens with options, or leaves the test: skipped where the engine is not there. */
#define OPEN_WITH(f, options)                                              \
	do {                                                               \
		enum err open_error_ = fixture_open(f, options);           \
		if (open_error_ == ERR_UNSUPPORTED) {                      \
			test_skip("this engine is not part of the build"); \
			return;                                            \
		}                                                          \
		CHECK_OK(open_error_);                                     \
	} while (0)
#define OPEN(f)                                                 \
	do {                                                    \
		struct store_options open_ = fixture_options(); \
		OPEN_WITH(f, &open_);                           \
	} while (0)

#define ENGINE_TEST(name_)                                                              \
	static void run_##name_(struct fixture *f);                                     \
	TEST(memory_##name_)                                                            \
	{                                                                               \
		CLEANUP(fixture_release) struct fixture f = {.kind = IN_MEMORY};        \
		run_##name_(&f);                                                        \
	}                                                                               \
	TEST(files_##name_)                                                             \
	{                                                                               \
		CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};         \
		run_##name_(&f);                                                        \
	}                                                                               \
	TEST(settled_files_##name_)                                                     \
	{                                                                               \
		CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES_SETTLED}; \
		run_##name_(&f);                                                        \
	}                                                                               \
	TEST(cramped_files_##name_)                                                     \
	{                                                                               \
		CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES_CRAMPED}; \
		run_##name_(&f);                                                        \
	}                                                                               \
	static void run_##name_(struct fixture *f)

struct waiting {
	struct mutex lock;
	struct cond changed;
	bool done;
	enum err error;
	char text[400];
};

static inline void wake(void *context, enum err error, const struct fault *fault)
{
	struct waiting *w = context;

	mutex_lock(&w->lock);
	w->done = true;
	w->error = error;
	if (fault)
		memcpy(w->text, fault->text, sizeof(w->text));
	cond_signal(&w->changed);
	mutex_unlock(&w->lock);
}

static inline enum err commit(struct store_batch *b)
{
	struct waiting w = {.lock = MUTEX_INIT};

	cond_init(&w.changed);
	store_batch_commit(b, wake, &w);
	mutex_lock(&w.lock);
	while (!w.done)
		cond_wait(&w.changed, &w.lock);
	mutex_unlock(&w.lock);
	cond_release(&w.changed);
	mutex_release(&w.lock);
	return w.error;
}

/* Several profiles a batch: some over a dictionary of their own, some over the service's. */
static inline enum err send_some(struct store *s, const struct model_profile *p, size_t n,
				 bool fast)
{
	struct store_batch *b = NULL;
	struct dict own, *d = &own;
	enum err e = store_batch_new(s, str_of(p->tenant), &b, NULL);

	if (!e)
		e = dict_init(&own, store_seed(s));
	if (e) {
		store_batch_abandon(b);
		return e;
	}
	for (size_t i = 0; !e && i < n && !strcmp(p[i].tenant, p->tenant); i++) {
		if (fast)
			e = store_batch_service(b, str_of(p[i].service), &d, NULL);
		if (!e)
			e = model_send(b, &p[i], d, NULL);
	}
	dict_release(&own);
	if (e)
		store_batch_abandon(b);
	return e ? e : commit(b);
}

static inline enum err send_model(struct fixture *f)
{
	for (size_t i = 0; i < f->model.n;) {
		const struct model_profile *p = &f->model.v[i];
		size_t n = 1;

		while (n < 1 + i % 13 && i + n < f->model.n && !strcmp(p[n].tenant, p->tenant))
			n++;
		TRY(send_some(f->store, p, n, i % 2));
		i += n;
	}
	return f->kind == IN_FILES_SETTLED ? store_settle(f->store, true, NULL) : ERR_OK;
}

#define SEND_MODEL(f, seed, profiles)                       \
	do {                                                \
		uint64_t state_ = (seed);                   \
		OPEN(f);                                    \
		model_fill(&(f)->model, &state_, profiles); \
		CHECK_OK(send_model(f));                    \
	} while (0)

static inline struct selection everything(struct str type)
{
	return (struct selection){.type = type, .from_ns = MODEL_FROM, .until_ns = MODEL_NOW + DAY};
}

/* All gauges. */
static inline struct selection all_levels(void)
{
	return (struct selection){.type = TYPE_HEAP,
				  .from_ns = MODEL_FROM + DAY / 2 - 3600 * NS_PER_S,
				  .until_ns = MODEL_NOW + DAY / 4};
}

/* Whether lines that end in a number are the same; means are rounded up here and down there. */
static inline bool lines_agree(struct str a, struct str b, bool means)
{
	while (a.n && b.n) {
		struct str x = {0}, y = {0};

		if (!str_split(&a, '\n', &x) || !str_split(&b, '\n', &y))
			return false;
		size_t in_x = str_rfind(x, ' '), in_y = str_rfind(y, ' ');
		long long more = atoll(x.p + in_x) - atoll(y.p + in_y);

		if (!str_eq(str_n(x.p, in_x), str_n(y.p, in_y)) || more < -means || more > means)
			return false;
	}
	return !a.n && !b.n;
}

/* The answer of the store and that of the model, as text; false when they differ. */
static inline bool merge_agrees(struct fixture *f, const char *tenant,
				const struct question_text *q)
{
	CLEANUP(buf_release) struct buf expected = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
	struct fault fault = {0};
	struct ask ask = {.fault = &fault};
	struct profile p;
	struct dict d;
	enum err e;

	if (dict_init(&d, store_seed(f->store)))
		return false;
	profile_init(&p, &d);
	e = store_merge(f->store, str_of(tenant), &q->s, q->group_by, q->group_count, &ask, &p);
	if (e)
		printf("# store_merge: %s %s\n", err_text(e), fault.text);
	model_merge(&f->model, tenant, q, &expected);
	profile_text(q, &p, &got);
	profile_release(&p);
	dict_release(&d);
	if (e || !lines_agree(buf_view(&expected), buf_view(&got), str_eq(q->s.type, TYPE_HEAP))) {
		printf("# expected:\n# %.*s\n# got:\n# %.*s\n", (int)expected.n,
		       expected.n ? expected.data : "", (int)got.n, got.n ? got.data : "");
		return false;
	}
	return expected.n != 0;
}
