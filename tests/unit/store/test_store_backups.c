/*
 * Online backups: of more days and tenants than a process may have open files, and with late data
 * written during the backup.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine_fixture.h"

#define CPU    "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define SECOND NS_PER_S
#define VALUE  7

/* Adds a profile of a service. */
static enum err add(struct store_batch *b, struct store *s, const char *service, int64_t time_ns)
{
	static const struct str type = STR(CPU);
	struct label_pair label = {STR("service_name"), str_of(service)};
	struct series_profile series = {.labels = &label,
					.label_count = 1,
					.types = &type,
					.time_ns = time_ns,
					.duration_ns = SECOND};
	struct row row = {0};
	struct profile p;
	int64_t value = VALUE;
	struct dict d;
	enum err e = dict_init(&d, store_seed(s));

	if (e)
		return e;
	profile_init(&p, &d);
	e = profile_add_type(&p, STR("cpu"), STR("nanoseconds"));
	if (!e)
		e = model_stack(&d, "main;work", &row.stack);
	if (!e)
		e = profile_add(&p, &row, &value);
	series.profile = &p;
	if (!e)
		e = store_batch_add(b, &series, NULL);
	profile_release(&p);
	dict_release(&d);
	return e;
}

/* Writes one batch: a profile of service `a` at one time, and of `b`, if given, at another. */
static enum err write_two(struct store *s, const char *tenant, int64_t a_ns, int64_t b_ns)
{
	struct store_batch *b;
	enum err e;

	TRY(store_batch_new(s, str_of(tenant), &b, NULL));
	e = add(b, s, "a", a_ns);
	if (!e && b_ns)
		e = add(b, s, "b", b_ns);
	if (e) {
		store_batch_abandon(b);
		return e;
	}
	return commit(b);
}

static int64_t total_between(struct store *s, const char *tenant, const char *service,
			     int64_t from_ns, int64_t until_ns)
{
	struct matcher matcher = {.name = STR("service_name"), .value = str_of(service)};
	struct selection all = {.type = STR(CPU),
				.matchers = &matcher,
				.matcher_count = 1,
				.from_ns = from_ns,
				.until_ns = until_ns};
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

static int64_t total_of(struct store *s, const char *tenant, const char *service)
{
	return total_between(s, tenant, service, MODEL_NOW - 400 * DAY, MODEL_NOW + DAY);
}

static void show_problem(void *context, const char *problem)
{
	(void)context;
	test_fail(__FILE__, __LINE__, "%s", problem);
}

/* A directory next to the store's, removed with it. */
static void copy_name(const struct fixture *f, int number, char out[100])
{
	snprintf(out, 100, "%s/.copy-%d", f->directory, number);
}

static enum err open_copy(const char *path, struct store **ret)
{
	struct store_options o = fixture_options();
	struct store_checked checked;

	o.directory = path;
	o.limits.max_age_ns = 400 * DAY;
	TRY(store_check(path, show_problem, NULL, &checked, NULL));
	return store_open(&o, ret, NULL);
}

/* ------------------------------------------------------------------ descriptors */

static void restore_limit(struct rlimit *before)
{
	(void)!setrlimit(RLIMIT_NOFILE, before);
}

TEST(a_backup_of_more_days_than_descriptors_is_whole)
{
	CLEANUP(restore_limit) struct rlimit before;
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	struct store_options o = fixture_options();
	struct fault fault = {0};
	struct rlimit few;
	struct store *copy;
	char path[100], tenant[20];

	CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 64;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	o.limits.max_age_ns = 400 * DAY;
	OPEN_WITH(&f, &o);
	for (int day = 0; day < 40; day++)
		CHECK_OK(write_two(f.store, "old", MODEL_NOW - day * DAY, 0));
	for (int t = 0; t < 30; t++) {
		snprintf(tenant, sizeof(tenant), "tenant-%d", t);
		CHECK_OK(write_two(f.store, tenant, MODEL_NOW, 0));
	}
	copy_name(&f, 0, path);
	if (store_backup(f.store, path, NULL, &fault) != ERR_OK)
		test_fail(__FILE__, __LINE__, "%s", fault.text);
	/* The limit must not apply to the second store, the copy. */
	restore_limit(&before);
	CHECK_OK(open_copy(path, &copy));
	CHECK_INT(total_of(copy, "old", "a"), 40 * VALUE);
	CHECK_INT(total_of(copy, "tenant-29", "a"), VALUE);
	store_close(copy);
}

/* Tenants that were not accessed since the start. */
TEST(a_backup_has_the_tenants_that_nobody_used_yet)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	struct store *copy;
	char path[100];

	OPEN(&f);
	CHECK_OK(write_two(f.store, "quiet", MODEL_NOW, 0));
	store_close(f.store);
	f.store = NULL;
	OPEN(&f);
	copy_name(&f, 0, path);
	CHECK_OK(store_backup(f.store, path, NULL, NULL));
	CHECK_OK(open_copy(path, &copy));
	CHECK_INT(total_of(copy, "quiet", "a"), VALUE);
	store_close(copy);
}

/* ------------------------------------------------------------------ damage */

/* Overwrites the first page of a day. */
static void destroy_day(const struct fixture *f, const char *tenant, const char *day)
{
	static const char nothing[4096];
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s/%s.db", f->directory, tenant, day);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && pwrite(fd, nothing, sizeof(nothing), 0) == sizeof(nothing));
	close(fd);
}

static void find_problem(void *context, const char *problem)
{
	*(bool *)context |= strstr(problem, "2024-09-24.db") != NULL;
}

TEST(a_backup_names_the_day_that_it_lacks_and_has_the_others)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	int64_t day = 19990 * DAY; /* 2024-09-24 */
	struct store_options o = fixture_options();
	struct damage_notes damage = {0};
	struct store_checked checked;
	struct fault fault = {0};
	bool missed = false;
	struct store *copy;
	char path[100];

	o.limits.max_age_ns = 400 * DAY;
	OPEN_WITH(&f, &o);
	for (int i = -2; i < 3; i++)
		CHECK_OK(write_two(f.store, "one", day + i * DAY + SECOND, 0));
	CHECK_OK(write_two(f.store, "two", day + SECOND, 0));
	store_close(f.store);
	f.store = NULL;
	destroy_day(&f, "one", "2024-09-24");
	OPEN_WITH(&f, &o);
	copy_name(&f, 0, path);
	CHECK_ERR(store_backup(f.store, path, NULL, NULL), ERR_DAMAGED);
	copy_name(&f, 1, path);
	if (store_backup(f.store, path, &damage, &fault) != ERR_OK)
		test_fail(__FILE__, __LINE__, "%s", fault.text);
	CHECK_INT(damage.n, 1);
	CHECK(strstr(damage.v[0].text, "2024-09-24.db") != NULL);
	/* The copy knows that it lacks something. */
	CHECK_OK(store_check(path, find_problem, &missed, &checked, NULL));
	CHECK(missed);
	o.directory = path;
	CHECK_OK(store_open(&o, &copy, NULL));
	CHECK_INT(total_of(copy, "two", "a"), VALUE);
	CHECK_INT(total_between(copy, "one", "a", day - 3 * DAY, day), 2 * VALUE);
	CHECK_INT(total_between(copy, "one", "a", day + DAY, day + 4 * DAY), 2 * VALUE);
	store_close(copy);
}

static void run_sql(const struct fixture *f, const char *file, const char *sql)
{
	char path[200];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/one/%s", f->directory, file);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	CHECK(sqlite3_changes(db) > 0);
	sqlite3_close(db);
}

static enum err fill_two_days(struct store *s, int64_t day)
{
	struct store_batch *b;

	for (int i = 0; i < 2; i++)
		TRY(write_two(s, "one", day + i * DAY + SECOND, day + i * DAY + 2 * SECOND));
	TRY(store_batch_new(s, STR("one"), &b, NULL));
	for (int i = 0; i < 2; i++) {
		struct trace_span span = {.service = STR("a"),
					  .operation = STR("get"),
					  .start_ns = day + i * DAY + SECOND,
					  .duration_ns = SECOND};

		memset(span.trace_id, 1, sizeof(span.trace_id));
		TRY(store_batch_span(b, &span, NULL));
	}
	TRY(commit(b));
	return store_settle(s, true, NULL);
}

static void note_problem(void *context, const char *problem)
{
	(void)problem;
	*(bool *)context = true;
}

/* A row that no query has looked at is damaged. */
static void check_named(const char *file, const char *sql, const char *what)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	int64_t day = 19990 * DAY; /* 2024-09-24 */
	struct store_options o = fixture_options();
	struct damage_notes damage = {0};
	struct store_checked checked;
	struct fault fault = {0};
	bool found = false;
	char path[100];

	o.limits.max_age_ns = 400 * DAY;
	o.retention_ns = 0;
	o.span_retention_ns = 0;
	OPEN_WITH(&f, &o);
	CHECK_OK(fill_two_days(f.store, day));
	copy_name(&f, 0, path);
	CHECK_OK(store_backup(f.store, path, &damage, &fault));
	CHECK_INT(damage.n, 0);
	store_close(f.store);
	f.store = NULL;
	run_sql(&f, file, sql);
	OPEN_WITH(&f, &o);
	copy_name(&f, 1, path);
	if (store_backup(f.store, path, &damage, &fault) != ERR_OK)
		test_fail(__FILE__, __LINE__, "%s", fault.text);
	CHECK_INT(damage.n, 1);
	if (!strstr(damage.v[0].text, what) || !strstr(damage.v[0].text, "2024-09-24"))
		test_fail(__FILE__, __LINE__, "%s", damage.v[0].text);
	CHECK_OK(store_check(path, note_problem, &found, &checked, NULL));
	CHECK(found);
}

TEST(a_backup_names_damage_that_no_query_has_met)
{
	static const char spans[] = "2024-09-24.spans.db", day[] = "2024-09-24.db";

	check_named(day, "UPDATE blocks SET rows = rows + 1 WHERE service = 1", "a block of a");
	check_named(day,
		    "UPDATE blocks SET data = CAST(substr(data, 1, length(data) - 1) || x'5a'"
		    " AS BLOB) WHERE service = 2",
		    "a block of b");
	check_named(day, "DELETE FROM blocks WHERE service = 2", "the blocks of b");
	check_named(day,
		    "UPDATE dictionary SET data = CAST(substr(data, 1, length(data) - 1) || x'5a'"
		    " AS BLOB) WHERE id >> 32 = 1",
		    "the dictionary of a");
	check_named(day, "UPDATE rollups SET start = start + 1 WHERE service = 1", "roll-up of a");
	check_named(spans, "UPDATE spans SET duration = 5", "a span");
	check_named(spans, "DELETE FROM spans", "spans are there instead of");
}

/* ------------------------------------------------------------------ writers */

#define LATE_DAYS 12
#define COPIES	  6

struct writer {
	struct thread thread;
	struct store *store;
	const char *tenant;
	atomic_bool stop;
	enum err error; /* set when the backup has ended */
};

/* A batch of two days, today and an earlier one, with late data for many days. */
static enum err write_late(struct store *s, const char *tenant, int i)
{
	int64_t time_ns = MODEL_NOW - i % LATE_DAYS * DAY;

	return write_two(s, tenant, time_ns, time_ns - DAY);
}

static void write_on(void *context)
{
	struct writer *w = context;

	for (int i = 0; !atomic_load(&w->stop) && !w->error; i++)
		w->error = write_late(w->store, w->tenant, i);
}

static void check_copy(struct fixture *f, int number, const char *tenant)
{
	struct store *copy;
	int64_t a, b;
	char path[100];

	copy_name(f, number, path);
	CHECK_OK(open_copy(path, &copy));
	a = total_of(copy, tenant, "a");
	b = total_of(copy, tenant, "b");
	store_close(copy);
	CHECK(a > 0);
	CHECK_INT(a, b);
}

TEST(a_batch_is_in_a_backup_whole_or_not_at_all)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	static struct writer writers[3];
	static const char *const tenants[] = {"one", "two", "three"};
	struct store_options o = fixture_options();
	char path[100];

	o.limits.max_age_ns = 400 * DAY;
	OPEN_WITH(&f, &o);
	for (int i = 0; i < 3; i++) {
		writers[i].store = f.store;
		writers[i].tenant = tenants[i];
		for (int day = 0; day < LATE_DAYS; day++)
			CHECK_OK(write_late(f.store, tenants[i], day));
		CHECK_OK(thread_start(&writers[i].thread, "writer", write_on, &writers[i]));
	}
	for (int n = 0; n < COPIES; n++) {
		CHECK_OK(store_settle(f.store, n % 2, NULL));
		copy_name(&f, n, path);
		CHECK_OK(store_backup(f.store, path, NULL, NULL));
	}
	for (int i = 0; i < 3; i++) {
		atomic_store(&writers[i].stop, true);
		thread_join(&writers[i].thread);
		CHECK_OK(writers[i].error);
	}
	for (int n = 0; n < COPIES; n++)
		for (int i = 0; i < 3; i++)
			check_copy(&f, n, tenants[i]);
}
