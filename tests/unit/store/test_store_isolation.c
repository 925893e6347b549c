/*
 * What one tenant does to the others: turns at the thread that commits, dictionaries within their
 * limits, and more days and tenants than a process may have files.
 */
#include <sys/resource.h>

#include "engine_fixture.h"

#define CPU    "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define SECOND NS_PER_S

/* ------------------------------------------------------------------ descriptors */

static enum err write_service(struct store *s, const char *tenant, const char *service,
			      int64_t time_ns)
{
	static const struct str type = STR(CPU);
	struct label_pair label = {STR("service_name"), str_of(service)};
	struct series_profile series = {.labels = &label,
					.label_count = 1,
					.types = &type,
					.time_ns = time_ns,
					.duration_ns = SECOND};
	struct store_batch *b;
	struct row row = {0};
	struct profile p;
	int64_t value = 7;
	struct dict *d;
	enum err e;

	TRY(store_batch_new(s, str_of(tenant), &b, NULL));
	e = store_batch_service(b, str_of(service), &d, NULL);
	if (!e) {
		profile_init(&p, d);
		e = profile_add_type(&p, STR("cpu"), STR("nanoseconds"));
		if (!e)
			e = model_stack(d, "main;work", &row.stack);
		if (!e)
			e = profile_add(&p, &row, &value);
		series.profile = &p;
		if (!e)
			e = store_batch_add(b, &series, NULL);
		profile_release(&p);
	}
	if (e) {
		store_batch_abandon(b);
		return e;
	}
	return commit(b);
}

static enum err write_small(struct store *s, const char *tenant, int64_t time_ns)
{
	return write_service(s, tenant, "api", time_ns);
}

static int64_t total_of(struct store *s, const char *tenant)
{
	struct selection all = {
		.type = STR(CPU), .from_ns = MODEL_NOW - 400 * DAY, .until_ns = MODEL_NOW + DAY};
	int64_t total = -1;
	struct profile p;
	struct dict d;

	if (dict_init(&d, store_seed(s)))
		return -1;
	profile_init(&p, &d);
	if (!store_merge(s, str_of(tenant), &all, NULL, 0, NULL, &p))
		total = p.type_count ? profile_total(&p, 0) : 0;
	profile_release(&p);
	dict_release(&d);
	return total;
}

static void lower_limit(rlim_t files, struct rlimit *before)
{
	struct rlimit limit;

	(void)!getrlimit(RLIMIT_NOFILE, before);
	limit = *before;
	limit.rlim_cur = files;
	(void)!setrlimit(RLIMIT_NOFILE, &limit);
}

static void restore_limit(struct rlimit *before)
{
	(void)!setrlimit(RLIMIT_NOFILE, before);
}

TEST(days_and_tenants_may_be_more_than_descriptors)
{
	CLEANUP(restore_limit) struct rlimit before;
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	struct store_options o = fixture_options();
	struct store_stats stats;
	char tenant[20];

	lower_limit(64, &before);
	o.limits.max_age_ns = 400 * DAY;
	OPEN_WITH(&f, &o);
	for (int day = 0; day < 40; day++)
		CHECK_OK(write_small(f.store, "old", MODEL_NOW - day * DAY));
	for (int t = 0; t < 40; t++) {
		snprintf(tenant, sizeof(tenant), "tenant-%d", t);
		CHECK_OK(write_small(f.store, tenant, MODEL_NOW));
		CHECK_OK(store_setting_set(f.store, str_of(tenant), STR("a"), STR("b")));
	}
	CHECK_INT(total_of(f.store, "old"), 40 * 7);
	for (int t = 0; t < 40; t++) {
		snprintf(tenant, sizeof(tenant), "tenant-%d", t);
		CHECK_INT(total_of(f.store, tenant), 7);
	}
	CHECK_OK(store_settle(f.store, true, NULL));
	CHECK_INT(total_of(f.store, "old"), 40 * 7);
	CHECK_OK(store_stats(f.store, STR("old"), &stats));
	CHECK_INT(stats.profiles, 40);
	/* Three files each, and half of the descriptors. */
	CHECK(stats.connections <= 64 / 2 / 3 + 2);
}

/* Sockets took all descriptors: what is idle in the store makes room. */
TEST(idle_connections_make_room_when_others_took_the_descriptors)
{
	CLEANUP(restore_limit) struct rlimit before;
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	int taken[256], n = 0;

	lower_limit(128, &before);
	OPEN(&f);
	for (int day = 0; day < 3; day++)
		CHECK_OK(write_small(f.store, "acme", MODEL_NOW - day * DAY));
	while (n < 256 && (taken[n] = dup(0)) >= 0)
		n++;
	CHECK_OK(write_small(f.store, "acme", MODEL_NOW));
	CHECK_INT(total_of(f.store, "acme"), 4 * 7);
	while (n)
		close(taken[--n]);
}

/* ------------------------------------------------------------------ deep stacks */

TEST(stacks_are_cut_before_they_are_interned)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	const uint32_t deep = 100000;
	static uint32_t frames[100000];
	struct store_batch *b;
	struct dict *d;

	OPEN(&f); /* at most 8 frames */
	CHECK_OK(store_batch_new(f.store, STR("acme"), &b, NULL));
	CHECK_OK(store_batch_service(b, STR("api"), &d, NULL));
	for (uint32_t i = 0; i < 50; i++) {
		char name[20];

		snprintf(name, sizeof(name), "f%u", i);
		CHECK_OK(dict_named_frame(d, str_of(name), &frames[i]));
	}
	for (uint32_t i = 50; i < deep; i++)
		frames[i] = frames[i % 50];
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t stack, n;

		/* Other leaves on the same root. */
		frames[0] = frames[1 + i % 49];
		CHECK_OK(dict_stack(d, frames, deep - i % 50, &stack));
		stack_frames(d, stack, &n);
		CHECK_INT(n, 8);
	}
	CHECK_INT(d->cut_stacks, 1000);
	CHECK(d->stacks.pool.n < 1000 * 8);
	store_batch_abandon(b);
}

TEST(stacks_beyond_the_limit_are_not_interned)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	struct store_options o = fixture_options();
	struct fault fault = {0};
	struct store_batch *b;
	struct dict *d;
	size_t before;
	struct row row = {0};
	struct profile p;
	int64_t value = 1;
	static const struct str type = STR(CPU);
	struct label_pair label = {STR("service_name"), STR("api")};
	struct series_profile series = {.labels = &label,
					.label_count = 1,
					.types = &type,
					.time_ns = MODEL_NOW,
					.duration_ns = SECOND,
					.profile = &p};

	o.limits.max_stacks = 20;
	OPEN_WITH(&f, &o);
	CHECK_OK(store_batch_new(f.store, STR("acme"), &b, NULL));
	CHECK_OK(store_batch_service(b, STR("api"), &d, NULL));
	profile_init(&p, d);
	CHECK_OK(profile_add_type(&p, STR("cpu"), STR("nanoseconds")));
	for (uint32_t i = 0; i < 100; i++) {
		char text[40];

		snprintf(text, sizeof(text), "main;f%u", i);
		CHECK_OK(model_stack(d, text, &row.stack));
		CHECK_OK(profile_add(&p, &row, &value));
	}
	before = d->stacks.entries.n;
	CHECK(before <= 20);
	CHECK_ERR(store_batch_add(b, &series, &fault), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "different stacks") != NULL);
	profile_release(&p);
	store_batch_abandon(b);
}

/* ------------------------------------------------------------------ turns */

#define FLOOD	    150
#define FLOOD_ROWS  20000
#define GROUP_BYTES (8u << 20)

struct turns {
	struct mutex lock;
	struct cond changed;
	unsigned flood_done;   /* batches of the flood */
	unsigned before_small; /* of these, when the small one was queued, … */
	unsigned until_small;  /* … and when it was done */
	bool small_done;
	enum err error;
};

static void flood_done(void *context, enum err error, const struct fault *fault)
{
	struct turns *t = context;

	(void)fault;
	mutex_lock(&t->lock);
	t->flood_done++;
	if (error)
		t->error = error;
	cond_broadcast(&t->changed);
	mutex_unlock(&t->lock);
}

static void small_done(void *context, enum err error, const struct fault *fault)
{
	struct turns *t = context;

	(void)fault;
	mutex_lock(&t->lock);
	t->until_small = t->flood_done;
	t->small_done = true;
	if (error)
		t->error = error;
	cond_broadcast(&t->changed);
	mutex_unlock(&t->lock);
}

/* So many rows, each with a time of its own: 13 bytes and more of a chunk each. */
static enum err fill_profile(struct profile *p, struct dict *d, size_t rows, uint64_t *state)
{
	struct row row = {0};

	profile_init(p, d);
	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	TRY(model_stack(d, "main;work", &row.stack));
	for (size_t i = 0; i < rows; i++) {
		int64_t value = ((int64_t)model_next(state, INT32_MAX) << 28) | INT64_C(1) << 58;

		row.time = (uint64_t)MODEL_NOW + i * 3000000 + model_next(state, 900);
		TRY(profile_add(p, &row, &value));
	}
	return ERR_OK;
}

static enum err make_batch(struct store *s, const char *tenant, struct profile *p,
			   struct store_batch **ret)
{
	static const struct str type = STR(CPU);
	struct label_pair label = {STR("service_name"), STR("api")};
	struct series_profile series = {.labels = &label,
					.label_count = 1,
					.types = &type,
					.time_ns = MODEL_NOW,
					.duration_ns = 100 * SECOND,
					.profile = p};

	TRY(store_batch_new(s, str_of(tenant), ret, NULL));
	return store_batch_add(*ret, &series, NULL);
}

TEST(a_flood_delays_others_by_one_transaction)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	struct turns t = {.lock = MUTEX_INIT};
	static struct store_batch *flood[FLOOD];
	struct store_batch *small;
	uint64_t state = 1;
	/* A batch is at least so large: two groups are less than half of the flood. */
	const size_t least = FLOOD_ROWS * 13;
	struct profile large, little;
	struct dict d;

	cond_init(&t.changed);
	OPEN(&f);
	CHECK_OK(dict_init(&d, store_seed(f.store)));
	CHECK_OK(fill_profile(&large, &d, FLOOD_ROWS, &state));
	CHECK_OK(fill_profile(&little, &d, 1, &state));
	for (int i = 0; i < FLOOD; i++)
		CHECK_OK(make_batch(f.store, "flood", &large, &flood[i]));
	CHECK_OK(make_batch(f.store, "small", &little, &small));
	profile_release(&large);
	profile_release(&little);
	dict_release(&d);
	for (int i = 0; i < FLOOD; i++)
		store_batch_commit(flood[i], flood_done, &t);
	mutex_lock(&t.lock);
	t.before_small = t.flood_done;
	mutex_unlock(&t.lock);
	store_batch_commit(small, small_done, &t);
	mutex_lock(&t.lock);
	while (!t.small_done || t.flood_done < FLOOD)
		cond_wait(&t.changed, &t.lock);
	mutex_unlock(&t.lock);
	CHECK_OK(t.error);
	/* What was under way, and what shared its group: not what had come before it. */
	CHECK(t.until_small - t.before_small <= 2 * GROUP_BYTES / least + 2);
	mutex_release(&t.lock);
	cond_release(&t.changed);
}

/* ------------------------------------------------------------------ what is kept in memory */

static size_t cached_of(struct memory_account *a)
{
	return memory_account_look(a).by_use[MEMORY_CACHED];
}

static void check_who_pays(struct fixture *f, struct memory_account *large,
			   struct memory_account *small, size_t ceiling)
{
	size_t of_small;
	char service[20];

	for (int i = 0; i < 4; i++) {
		snprintf(service, sizeof(service), "small-%d", i);
		CHECK_OK(write_service(f->store, "small", service, MODEL_NOW));
	}
	of_small = cached_of(small);
	CHECK(of_small > 0);
	for (int i = 0; i < 200; i++) {
		snprintf(service, sizeof(service), "large-%d", i);
		CHECK_OK(write_service(f->store, "large", service, MODEL_NOW));
	}
	CHECK_OK(store_settle(f->store, false, NULL));
	/* More than fits was loaded since the small tenant's last use, and none of its memory was
	 * freed. */
	CHECK_INT(cached_of(small), of_small);
	CHECK(cached_of(large) > ceiling / 2 && cached_of(large) <= ceiling);
	/* Not even when memory is short. */
	CHECK_INT(store_shrink(f->store, STR("nobody"), 1), 0);
	CHECK(store_shrink(f->store, (struct str){0}, ceiling / 2) >= ceiling / 2);
	CHECK_INT(cached_of(small), of_small);
	CHECK(store_shrink(f->store, STR("small"), 1) > 0);
	CHECK(cached_of(small) < of_small);
	CHECK_INT(total_of(f->store, "small"), 4 * 7);
	CHECK_INT(total_of(f->store, "large"), 200 * 7);
}

TEST(a_tenant_that_loads_much_gives_up_its_own_before_others_do)
{
	struct memory_account *large, *small;
	struct memory_budget *budget;
	struct store_options o = fixture_options();
	struct fixture f = {.kind = IN_FILES};

	CHECK_OK(memory_budget_new((size_t)1 << 30, &budget));
	CHECK_OK(memory_account_get(budget, STR("large"), &large));
	CHECK_OK(memory_account_get(budget, STR("small"), &small));
	o.limits.max_series = 1000;
	o.dictionary_memory = (size_t)2 << 20; /* enough for about fifty of them */
	o.memory = budget;
	if (fixture_open(&f, &o) == ERR_OK)
		check_who_pays(&f, large, small, o.dictionary_memory);
	fixture_release(&f);
	CHECK_INT(memory_budget_look(budget).all.used, 0);
	memory_account_put(large);
	memory_account_put(small);
	memory_budget_free(budget);
}
