/*
 * What the embedded store deletes by itself, why, and what it does not: clocks that jump, tenants
 * that flood, and that all of it is told.
 */
#include "base/file.h"
#include "store/embedded_fixture.h"
#include "store/partition.h"

#define HOUR (60 * MINUTE)

static _Atomic(int64_t) steady;

static int64_t test_steady(void)
{
	return steady;
}

/* As much passes on both clocks. */
static void pass(int64_t ns)
{
	now += ns;
	steady += ns;
}

/* What was told; the keeper tells from its own thread. */
struct told {
	struct mutex lock;
	struct store_deleted_sum sums[STORE_DELETED_WHYS_];
	uint64_t of_tenant[2]; /* "flood" and any other */
	unsigned clock_changes;
	enum store_clock_trust trust;
};

static void hear(void *context, const struct store_event *event)
{
	struct told *t = context;

	mutex_lock(&t->lock);
	if (event->kind == STORE_DELETED) {
		struct store_deleted_sum *sum = &t->sums[event->deleted->why];

		sum->times++;
		sum->bytes += event->deleted->bytes;
		sum->count += event->deleted->count;
		t->of_tenant[!str_eq(event->deleted->tenant, STR("flood"))]++;
	} else if (event->kind == STORE_CLOCK_CHANGED) {
		t->clock_changes++;
		t->trust = event->clock->trust;
	}
	mutex_unlock(&t->lock);
}

static struct store_options options_at(const char *path, struct told *told)
{
	struct store_options o = store_options_default;

	o.directory = path;
	o.now_ns = test_now;
	o.steady_ns = test_steady;
	o.retention_ns = 7 * NS_PER_DAY;
	o.tell = hear;
	o.tell_context = told;
	o.limits.max_age_ns = 400 * NS_PER_DAY;
	return o;
}

static void reset(struct told *told)
{
	now = TEST_TIME;
	steady = NS_PER_DAY;
	memset(told, 0, sizeof(*told));
	mutex_init(&told->lock);
}

static void wait_for_trust(struct store *s, enum store_clock_trust trust)
{
	struct store_state state;

	for (int i = 0; i < 3000; i++) {
		store_state(s, &state);
		if (state.clock.trust == trust)
			return;
		clock_sleep_ns(10 * NS_PER_MS);
	}
	CHECK_INT(state.clock.trust, trust);
}

TEST(a_clock_that_jumps_deletes_nothing_until_it_is_confirmed)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	CHECK_OK(store_open(&o, &s, NULL));
	for (int day = 0; day < 5; day++)
		CHECK_OK(write_one(s, "shop", 1, TEST_TIME - day * NS_PER_DAY, 1));
	now = TEST_TIME + 30 * NS_PER_DAY;
	for (int i = 0; i < 3; i++)
		CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 5);
	CHECK_INT(told.sums[STORE_DELETED_AGE].times, 0);
	wait_for_trust(s, STORE_CLOCK_AHEAD);
	/* Senders with the right time go on, and those with that of the server. */
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME, 10));
	CHECK_OK(write_one(s, "shop", 1, now, 100));
	/* And after a restart it is the same. */
	store_close(s);
	s = NULL;
	CHECK_OK(store_open(&o, &s, NULL));
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 115);
	wait_for_trust(s, STORE_CLOCK_AHEAD);
	store_clock_confirm(s);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 100);
	CHECK_INT(told.sums[STORE_DELETED_AGE].times, 5);
	CHECK_INT(told.sums[STORE_DELETED_AGE].count, 6);
	CHECK(told.sums[STORE_DELETED_AGE].bytes > 0);
	CHECK(told.clock_changes >= 2);
	CHECK_INT(told.trust, STORE_CLOCK_TRUSTED);
}

TEST(a_clock_that_comes_back_was_no_reason_to_delete)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	CHECK_OK(store_open(&o, &s, NULL));
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME, 1));
	now = TEST_TIME + 300 * NS_PER_DAY;
	CHECK_OK(store_settle(s, false, NULL));
	now = TEST_TIME + HOUR;
	steady += HOUR;
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 1);
	wait_for_trust(s, STORE_CLOCK_TRUSTED);
	/* It still ages. */
	pass(9 * NS_PER_DAY);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 0);
}

TEST(chunks_are_merged_although_the_clock_went_back)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_stats stats;
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	CHECK_OK(store_open(&o, &s, NULL));
	now = TEST_TIME - 30 * NS_PER_DAY;
	for (int i = 0; i < 20; i++)
		CHECK_OK(write_one(s, "shop", i, TEST_TIME - HOUR + i, 1));
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK_INT(stats.fresh_chunks, 0);
	CHECK_INT(stats.profiles, 20);
}

/* A machine that was off is another boot: the record says so by another id. */
static void change_boot(struct scratch *dir)
{
	CLEANUP(buf_release) struct buf record = BUF_INIT(8192);
	char *line;

	CHECK_OK(file_read(scratch_file(dir, ".clock"), &record, NULL));
	buf_byte(&record, '\0');
	line = strstr(record.data, "boot ");
	CHECK(line);
	if (line)
		line[5] = line[5] == 'x' ? 'y' : 'x';
	CHECK_OK(file_write(scratch_file(dir, ".clock"), str_of(record.data), OUTPUT_FORCE, NULL));
}

TEST(time_in_which_the_machine_was_off_does_not_age_data)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	CHECK_OK(store_open(&o, &s, NULL));
	for (int day = 0; day < 5; day++)
		CHECK_OK(write_one(s, "shop", 1, TEST_TIME - day * NS_PER_DAY, 1));
	store_close(s);
	s = NULL;
	change_boot(&dir);
	now += 10 * NS_PER_DAY;
	CHECK_OK(store_open(&o, &s, NULL));
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 5);
	wait_for_trust(s, STORE_CLOCK_TRUSTED);
	/* What comes now and what was there age side by side. */
	CHECK_OK(write_one(s, "shop", 1, now, 10));
	pass(5 * NS_PER_DAY);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 10 + 3);
	store_clock_confirm(s);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 10);
}

TEST(a_directory_without_a_record_has_not_aged)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_options o;
	struct told told;

	/* Of a version that wrote none, or a backup that was put away for a year. */
	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	CHECK_OK(store_open(&o, &s, NULL));
	for (int day = 0; day < 5; day++)
		CHECK_OK(write_one(s, "shop", 1, TEST_TIME - day * NS_PER_DAY, 1));
	store_close(s);
	s = NULL;
	CHECK(unlink(scratch_file(&dir, ".clock")) == 0);
	now += 365 * NS_PER_DAY;
	CHECK_OK(store_open(&o, &s, NULL));
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 5);
	pass(20 * NS_PER_DAY);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 0);
}

TEST(a_day_that_cannot_be_read_keeps_no_other_from_being_deleted)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	const struct service_retention overrides[] = {{STR("short"), NS_PER_DAY}};
	struct selection all = fixture_all();
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	o.overrides = overrides;
	o.override_count = 1;
	CHECK_OK(store_open(&o, &s, NULL));
	for (int day = 0; day < 5; day++)
		CHECK_OK(write_one(s, "short", 1, TEST_TIME - day * NS_PER_DAY, 1));
	store_close(s);
	s = NULL;
	CHECK_OK(file_write(scratch_file(&dir, "anonymous/2026-01-27.db"), STR("no database"),
			    OUTPUT_FORCE, NULL));
	CHECK_OK(store_open(&o, &s, NULL));
	CHECK(store_settle(s, false, NULL) != ERR_OK);
	all.from_ns = TEST_TIME - 2 * NS_PER_DAY;
	CHECK_INT(fixture_total(s, &all), 2);
}

/* ------------------------------------------------------------------ limits */

/* `days` days of a tenant, the last is today, with much that cannot be packed. */
static void fill(struct store *s, const char *tenant, int days, int profiles)
{
	for (int day = days - 1; day >= 0; day--)
		for (int i = 0; i < profiles; i += 10) {
			struct test_profile t[10];
			char functions[10][40];

			for (int k = 0; k < 10; k++) {
				snprintf(functions[k], sizeof(functions[k]), "%s-%d-%d", tenant,
					 day, i + k);
				t[k] = (struct test_profile){.service = "shop",
							     .n = i + k,
							     .time_ns = TEST_TIME -
									day * NS_PER_DAY - HOUR +
									i * MINUTE / 10,
							     .value = 1,
							     .function = functions[k]};
			}
			CHECK_OK(fixture_write_of(s, str_of(tenant), t, 10, NULL));
		}
}

static uint64_t bytes_of(struct store *s, const char *tenant)
{
	struct store_stats stats = {0};

	return store_stats(s, str_of(tenant), &stats) == ERR_OK ? stats.disk_bytes : UINT64_MAX;
}

static uint64_t profiles_of(struct store *s, const char *tenant)
{
	struct store_stats stats = {0};

	return store_stats(s, str_of(tenant), &stats) == ERR_OK ? stats.profiles : UINT64_MAX;
}

TEST(a_flood_deletes_its_own_days_and_nobody_elses)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_stats stats;
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	o.retention_ns = 0;
	o.max_size = 2 << 20;
	CHECK_OK(store_open(&o, &s, NULL));
	fill(s, "small", 3, 10);
	fill(s, "flood", 6, 300);
	fill(s, "tiny", 1, 10);
	for (int i = 0; i < 3; i++)
		CHECK_OK(store_settle(s, true, NULL));
	CHECK(bytes_of(s, "small") + bytes_of(s, "flood") + bytes_of(s, "tiny") <= (2 << 20));
	CHECK_INT(profiles_of(s, "small"), 30);
	CHECK_INT(profiles_of(s, "tiny"), 10);
	CHECK(profiles_of(s, "flood") < 1800);
	CHECK(profiles_of(s, "flood") >= 300);
	CHECK(told.of_tenant[0] > 0);
	CHECK_INT(told.of_tenant[1], 0);
	CHECK_INT(told.sums[STORE_DELETED_SIZE].count, 1800 - profiles_of(s, "flood"));
	CHECK_OK(store_stats(s, STR("flood"), &stats));
	CHECK_INT(stats.deleted[STORE_DELETED_SIZE].count, 1800 - stats.profiles);
	CHECK(stats.deleted[STORE_DELETED_SIZE].bytes > 0);
}

TEST(a_tenant_above_its_own_limit_loses_its_own)
{
	static const struct tenant_size sizes[] = {{STR("large"), 100 << 20}};
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_stats stats;
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	o.retention_ns = 0;
	o.tenant_max_size = 600 << 10;
	o.tenant_sizes = sizes;
	o.tenant_size_count = 1;
	CHECK_OK(store_open(&o, &s, NULL));
	fill(s, "large", 5, 200);
	fill(s, "flood", 5, 200);
	for (int i = 0; i < 3; i++)
		CHECK_OK(store_settle(s, true, NULL));
	CHECK(bytes_of(s, "flood") <= (600 << 10));
	CHECK(profiles_of(s, "flood") < 1000);
	CHECK_INT(profiles_of(s, "large"), 1000);
	CHECK(told.sums[STORE_DELETED_QUOTA].times > 0);
	CHECK_INT(told.sums[STORE_DELETED_SIZE].times, 0);
	CHECK_OK(store_stats(s, STR("flood"), &stats));
	CHECK_INT(stats.max_size, 600 << 10);
	CHECK_OK(store_stats(s, STR("large"), &stats));
	CHECK_INT(stats.max_size, 100 << 20);
}

TEST(limits_survive_a_lack_of_memory)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make_fast(&dir);
	o = options_at(dir.path, &told);
	o.tenant_max_size = 300 << 10;
	o.max_size = 500 << 10;
	CHECK_OK(store_open(&o, &s, NULL));
	fill(s, "small", 1, 10);
	fill(s, "flood", 4, 40);
	ALLOC_SWEEP(store_settle(s, false, NULL));
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(profiles_of(s, "small"), 10);
	CHECK(bytes_of(s, "flood") <= (300 << 10));
}

static void fill_spans(struct store *s, int n)
{
	for (int i = 0; i < n; i++) {
		struct label_pair attribute = {STR("text"),
					       STR("something that takes some room, so that "
						   "a file of it does too, in the end")};
		struct trace_span span = {.service = STR("shop"),
					  .operation = STR("GET /"),
					  .start_ns = TEST_TIME - HOUR + i * NS_PER_S,
					  .duration_ns = 1,
					  .attributes = &attribute,
					  .attribute_count = 1};
		struct store_batch *b;

		memcpy(span.trace_id, &i, sizeof(i));
		memcpy(span.span_id, &i, sizeof(i));
		CHECK_OK(store_batch_new(s, STR("flood"), &b, NULL));
		CHECK_OK(store_batch_span(b, &span, NULL));
		CHECK_OK(commit_and_wait(b, NULL));
	}
}

TEST(spans_of_the_last_day_are_cut_as_well)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct store_options o;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	o.tenant_max_size = 400 << 10;
	CHECK_OK(store_open(&o, &s, NULL));
	fill_spans(s, 3000);
	for (int i = 0; i < 3; i++)
		CHECK_OK(store_settle(s, true, NULL));
	CHECK(bytes_of(s, "flood") <= (400 << 10));
	CHECK(told.sums[STORE_DELETED_QUOTA].count > 0);
}

TEST(a_delete_is_told_by_day)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_options o;
	uint64_t profiles;
	struct told told;

	reset(&told);
	scratch_make(&dir);
	o = options_at(dir.path, &told);
	CHECK_OK(store_open(&o, &s, NULL));
	for (int day = 0; day < 5; day++)
		CHECK_OK(write_one(s, "shop", 1, TEST_TIME - day * NS_PER_DAY, 1));
	all.from_ns = TEST_TIME - 2 * NS_PER_DAY - HOUR;
	CHECK_OK(store_delete(s, TEST_TENANT, &all, NULL, &profiles));
	CHECK_INT(profiles, 3);
	CHECK_INT(told.sums[STORE_DELETED_SELECTOR].times, 3);
	CHECK_INT(told.sums[STORE_DELETED_SELECTOR].count, 3);
}

TEST(memory_is_as_careful)
{
	CLEANUP(close_store) struct store *s = NULL;
	struct selection all = fixture_all();
	struct store_options o;
	struct told told;

	reset(&told);
	o = options_at(NULL, &told);
	CHECK_OK(store_open(&o, &s, NULL));
	CHECK_OK(write_one(s, "shop", 1, TEST_TIME, 1));
	now += 30 * NS_PER_DAY;
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 1);
	store_clock_confirm(s);
	CHECK_OK(store_settle(s, false, NULL));
	CHECK_INT(fixture_total(s, &all), 0);
	CHECK_INT(told.sums[STORE_DELETED_AGE].count, 1);
}
