/*
 * The embedded store: what goes (age, size, delete), what is kept apart, checked and copied.
 */
#include "store/store.h"

#include "base/file.h"
#include "store/embedded_fixture.h"
#include "store/partition.h"

TEST(old_days_go_and_services_may_differ)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	const struct service_retention overrides[] = {{STR("keep"), 30 * NS_PER_DAY},
						      {STR("short"), NS_PER_DAY}};
	struct store_options o = store_options_default;
	struct selection all = fixture_all();

	now = TEST_TIME;
	scratch_make(&dir);
	o.directory = dir.path;
	o.now_ns = test_now;
	o.retention_ns = 7 * NS_PER_DAY;
	o.overrides = overrides;
	o.override_count = 2;
	CHECK_OK(store_open(&o, &s, NULL));
	for (int day = 0; day < 20; day++) {
		CHECK_OK(write_one(s, "keep", 1, TEST_TIME - day * NS_PER_DAY, 1));
		CHECK_OK(write_one(s, "plain", 1, TEST_TIME - day * NS_PER_DAY, 100));
		CHECK_OK(write_one(s, "short", 1, TEST_TIME - day * NS_PER_DAY, 10000));
	}
	CHECK_OK(store_settle(s, false, NULL));
	/* A day goes when all of it is too old. */
	CHECK_INT(fixture_total(s, &all), 20 + 8 * 100 + 2 * 10000);
	now = TEST_TIME + 50 * NS_PER_DAY;
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 0);
	CHECK(access(scratch_file(&dir, "anonymous/2026-01-31.db"), F_OK) < 0);
	now = TEST_TIME;
}

TEST(too_much_data_is_cut_at_its_old_end)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_options o = store_options_default;
	struct store_stats stats;
	int64_t *sums = calloc(800, sizeof(*sums));
	int first = -1;

	now = TEST_TIME;
	scratch_make(&dir);
	o.directory = dir.path;
	o.now_ns = test_now;
	o.max_size = 400 << 10;
	CHECK_OK(store_open(&o, &s, NULL));
	for (int i = 0; i < 80; i++) {
		struct test_profile t[10];
		char functions[10][20];

		for (int k = 0; k < 10; k++) {
			snprintf(functions[k], sizeof(functions[k]), "f%d", i * 10 + k);
			t[k] = (struct test_profile){.service = "shop",
						     .n = i * 10 + k,
						     .time_ns = TEST_TIME - 500 * MINUTE +
								i * 5 * MINUTE,
						     .value = 1,
						     .function = functions[k]};
		}
		CHECK_OK(fixture_write(s, t, 10, NULL));
	}
	CHECK_OK(store_settle(s, true, NULL));
	for (int i = 0; i < 3; i++)
		CHECK_OK(store_settle(s, true, NULL));
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK(stats.disk_bytes <= (500 << 10));
	CHECK_OK(fixture_sums(s, sums, 800));
	for (int i = 0; i < 800 && first < 0; i++)
		if (sums[i])
			first = i;
	CHECK(sums[799] == 1);
	for (int i = first; i < 800; i++)
		CHECK_INT(sums[i], 1);
	free(sums);
}

static bool directory_contains(struct scratch *dir, const char *text)
{
	static const char *const files[] = {"anonymous/2026-01-31.db",
					    "anonymous/2026-01-31.db-wal"};
	bool found = false;

	for (size_t i = 0; i < 2; i++) {
		struct buf b = BUF_INIT(100 << 20);

		if (file_read(scratch_file(dir, files[i]), &b, NULL) == ERR_OK)
			found |= str_search(buf_view(&b), str_of(text)) < b.n;
		buf_release(&b);
	}
	return found;
}

TEST(deleted_profiles_and_their_names_leave_the_disk)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all(), some = all;
	struct matcher match = {STR("n"), MATCH_EQUAL, STR("1"), NULL};
	struct test_profile t[2] = {
		{.service = "shop",
		 .n = 1,
		 .time_ns = TEST_TIME,
		 .value = 5,
		 .function = "embarrassing_function_name"},
		{.service = "shop", .n = 2, .time_ns = TEST_TIME, .value = 7, .function = "fine"},
	};
	uint64_t removed = 0;

	some.matchers = &match;
	some.matcher_count = 1;
	now = TEST_TIME;
	for (int compacted = 0; compacted < 2; compacted++) {
		struct ask ask = {0};

		scratch_make(&dir);
		CHECK_OK(open_at(dir.path, &s));
		CHECK_OK(fixture_write(s, t, 2, NULL));
		t[0].time_ns = t[1].time_ns = TEST_TIME - 100 * MINUTE;
		CHECK_OK(fixture_write(s, t, 2, NULL));
		if (compacted)
			CHECK_OK(store_settle(s, true, NULL));
		else
			CHECK(directory_contains(&dir, "embarrassing_function_name"));
		CHECK_OK(store_delete(s, TEST_TENANT, &some, &ask, &removed));
		CHECK_INT(removed, 2);
		CHECK_INT(fixture_total(s, &all), 14);
		CHECK_INT(fixture_total(s, &some), 0);
		/* Written over the old dictionary or the new one, it is there. */
		CHECK_OK(write_one(s, "shop", 3, TEST_TIME, 1));
		CHECK_INT(fixture_total(s, &all), 15);
		store_close(s);
		s = NULL;
		CHECK(!directory_contains(&dir, "embarrassing_function_name"));
		CHECK_OK(open_at(dir.path, &s));
		CHECK_INT(fixture_total(s, &all), 15);
		store_close(s);
		s = NULL;
		if (!compacted)
			scratch_remove(&dir);
	}
}

TEST(a_batch_encoded_before_a_delete_is_stored_after_it)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all(), some = all;
	struct matcher match = {STR("n"), MATCH_EQUAL, STR("1"), NULL};
	struct test_profile gone = {.service = "shop", .n = 1, .time_ns = TEST_TIME, .value = 5};
	struct test_profile kept = {.service = "shop",
				    .n = 2,
				    .time_ns = TEST_TIME,
				    .value = 7,
				    .function = "later",
				    .span = 9};
	struct store_batch *b;
	struct ask ask = {0};
	uint64_t removed = 0;

	some.matchers = &match;
	some.matcher_count = 1;
	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(fixture_write(s, &gone, 1, NULL));
	CHECK_OK(store_batch_new(s, TEST_TENANT, &b, NULL));
	CHECK_OK(fixture_add(s, b, &kept, NULL));
	CHECK_OK(store_delete(s, TEST_TENANT, &some, &ask, &removed));
	CHECK_INT(removed, 1);
	CHECK_OK(commit_and_wait(b, NULL));
	CHECK_INT(fixture_total(s, &all), 7);
	store_close(s);
	s = NULL;
	CHECK_OK(open_at(dir.path, &s));
	CHECK_INT(fixture_total(s, &all), 7);
}

static void print_problem(void *context, const char *problem)
{
	++*(int *)context;
	printf("# %s\n", problem);
}

static void count_problem(void *context, const char *problem)
{
	(void)problem;
	++*(int *)context;
}

TEST(check_finds_nothing_in_a_sound_store_and_a_flipped_bit_in_another)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(100 << 20);
	struct fault fault = {0};
	struct store_checked checked = {0};
	int problems = 0;
	size_t at;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (int i = 0; i < 50; i++)
		CHECK_OK(write_one(s, "shop", i, TEST_TIME - i * MINUTE, i));
	CHECK_OK(store_settle(s, true, NULL));
	CHECK_OK(write_one(s, "shop", 99, TEST_TIME, 5));
	CHECK_ERR(store_check(dir.path, count_problem, &problems, &checked, &fault), ERR_EXISTS);
	store_close(s);
	s = NULL;
	CHECK_OK(store_check(dir.path, print_problem, &problems, &checked, NULL));
	CHECK_INT(problems, 0);
	CHECK(checked.pieces > 10);
	CHECK_OK(file_read(scratch_file(&dir, "anonymous/2026-01-31.db"), &bytes, NULL));
	/* The label set "n" = "99" stands in the last delta, which is not compressed. */
	at = str_search(buf_view(&bytes), STR("99"));
	CHECK(at < bytes.n);
	bytes.data[at] ^= 1;
	CHECK_OK(file_write(scratch_file(&dir, "anonymous/2026-01-31.db"), buf_view(&bytes),
			    OUTPUT_FORCE, NULL));
	CHECK_OK(store_check(dir.path, count_problem, &problems, &checked, NULL));
	CHECK(problems > 0);
}

TEST(a_backup_is_a_store_of_its_own)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	CLEANUP(close_store) struct store *copy = NULL;
	struct selection all = fixture_all();
	struct fault fault = {0};
	char path[400];
	int problems = 0;
	struct store_checked checked;

	now = TEST_TIME;
	scratch_make(&dir);
	snprintf(path, sizeof(path), "%s/copy", dir.path);
	CHECK_OK(open_at(scratch_file(&dir, "data"), &s));
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME, 3));
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME - NS_PER_DAY, 4));
	CHECK_OK(store_setting_set(s, TEST_TENANT, STR("theme"), STR("dark")));
	CHECK_OK(store_backup(s, path, NULL, &fault));
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME, 100));
	CHECK_OK(open_at(path, &copy));
	CHECK_INT(fixture_total(copy, &all), 7);
	CHECK(store_seed(copy) == store_seed(s));
	CHECK_ERR(store_backup(s, path, NULL, &fault), ERR_BAD_ARGUMENT);
	store_close(copy);
	copy = NULL;
	CHECK_OK(store_check(path, print_problem, &problems, &checked, NULL));
	CHECK_INT(problems, 0);
}

TEST(settings_are_kept_and_deleted)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct setting_answer answer;

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(store_setting_set(s, TEST_TENANT, STR("a"), STR("1")));
	CHECK_OK(store_setting_set(s, TEST_TENANT, STR("b"), STR("")));
	CHECK_OK(store_setting_set(s, TEST_TENANT, STR("a"), STR("2")));
	store_close(s);
	s = NULL;
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(store_settings(s, TEST_TENANT, &answer));
	CHECK_INT(answer.n, 2);
	CHECK_STR(answer.v[0].value, "2");
	CHECK_STR(answer.v[1].value, "");
	arena_release(&answer.arena);
	CHECK_OK(store_setting_set(s, TEST_TENANT, STR("a"), (struct str){0}));
	CHECK_OK(store_settings(s, TEST_TENANT, &answer));
	CHECK_INT(answer.n, 1);
	arena_release(&answer.arena);
}

static enum err write_span(struct store *s, uint8_t id, int64_t time_ns, const char *operation)
{
	struct label_pair attributes[] = {{STR("http.method"), STR("GET")}};
	struct trace_span span = {.kind = 2,
				  .status = 1,
				  .service = STR("shop"),
				  .operation = str_of(operation),
				  .start_ns = time_ns,
				  .duration_ns = 1000 * id,
				  .attributes = attributes,
				  .attribute_count = 1};
	struct store_batch *b;

	memset(span.trace_id, id / 2 + 1, sizeof(span.trace_id));
	memset(span.span_id, id, sizeof(span.span_id));
	TRY(store_batch_new(s, TEST_TENANT, &b, NULL));
	enum err error = store_batch_span(b, &span, NULL);

	if (error != ERR_OK) {
		store_batch_abandon(b);
		return error;
	}
	return commit_and_wait(b, NULL);
}

TEST(spans_are_found_by_trace_service_and_time_and_go_with_their_own_retention)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct span_question q = {.from_ns = TEST_TIME - NS_PER_DAY, .until_ns = TEST_TIME + 1};
	struct span_answer answer;
	uint8_t trace[16];

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	for (uint8_t i = 0; i < 10; i++)
		CHECK_OK(write_span(s, i, TEST_TIME - i * MINUTE, i % 2 ? "GET /" : "POST /"));
	CHECK_OK(store_spans(s, TEST_TENANT, &q, NULL, &answer));
	CHECK_INT(answer.n, 10);
	CHECK_INT(answer.v[0].start_ns, TEST_TIME);
	CHECK_STR(answer.v[0].attributes[0].value, "GET");
	arena_release(&answer.arena);
	memset(trace, 3, sizeof(trace));
	q.trace_id = trace;
	CHECK_OK(store_spans(s, TEST_TENANT, &q, NULL, &answer));
	CHECK_INT(answer.n, 2);
	arena_release(&answer.arena);
	q.trace_id = NULL;
	q.service = STR("shop");
	q.operation = STR("GET /");
	q.min_duration_ns = 3000;
	CHECK_OK(store_spans(s, TEST_TENANT, &q, NULL, &answer));
	CHECK_INT(answer.n, 4);
	arena_release(&answer.arena);
	now = TEST_TIME + 10 * NS_PER_DAY;
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_OK(store_spans(s, TEST_TENANT, &q, NULL, &answer));
	CHECK_INT(answer.n, 0);
	arena_release(&answer.arena);
	now = TEST_TIME;
}

TEST(tenants_do_not_see_each_other)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct test_profile t = {.service = "shop", .n = 1, .time_ns = TEST_TIME, .value = 5};
	struct store_batch *b;
	struct text_answer tenants;
	struct fault fault = {0};

	now = TEST_TIME;
	scratch_make(&dir);
	CHECK_OK(open_at(dir.path, &s));
	CHECK_OK(store_batch_new(s, STR("other"), &b, NULL));
	CHECK_OK(fixture_add(s, b, &t, NULL));
	CHECK_OK(commit_and_wait(b, NULL));
	CHECK_INT(fixture_total(s, &all), 0);
	CHECK_OK(store_tenants(s, &tenants));
	CHECK_INT(tenants.n, 1);
	CHECK_STR(tenants.v[0], "other");
	arena_release(&tenants.arena);
	CHECK_OK(store_batch_new(s, STR("../x"), &b, NULL));
	CHECK_ERR(fixture_add(s, b, &t, &fault), ERR_BAD_ARGUMENT);
	store_batch_abandon(b);
}
