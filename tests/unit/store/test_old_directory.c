/*
 * A directory of the first format of the store opens, and says the same as ever; so it does when it
 * was brought up to date.
 */
#include <sys/stat.h>

#include "test.h"

#include "base/file.h"
#include "store/old_directory.h"
#include "store/scratch.h"

#define HOUR (3600 * NS_PER_S)

static int64_t old_now(void)
{
	return TEST_TIME + 2 * 86400 * NS_PER_S;
}

static enum err copy_file(const char *name, const struct scratch *to)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(16 << 20);
	char path[300];
	FILE *out;
	bool wrote;

	snprintf(path, sizeof(path), "%s/%s", OLD_STORE, name);
	TRY(file_read(path, &bytes, NULL));
	out = fopen(scratch_file(to, name), "wb");
	if (!out)
		return ERR_IO;
	wrote = fwrite(bytes.data, 1, bytes.n, out) == bytes.n;
	return fclose(out) || !wrote ? ERR_IO : ERR_OK;
}

static enum err copy_store(const struct scratch *to)
{
	static const char *const names[] = {"STORE", "anonymous/catalog.db",
					    "anonymous/2026-01-30.db", "anonymous/2026-01-31.db",
					    "anonymous/2026-02-01.db"};

	if (mkdir(scratch_file(to, "anonymous"), 0700))
		return ERR_IO;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		TRY(copy_file(names[i], to));
	return ERR_OK;
}

/* What lies in [from, until): profiles last ten seconds, and those that are cut lie half in it. */
static int64_t expected(int64_t from, int64_t until)
{
	int64_t sum = 0;

	for (int i = 0; i < OLD_PROFILES; i++) {
		struct test_profile t = old_profile(i);
		int64_t first = t.time_ns > from ? t.time_ns : from;
		int64_t last = t.time_ns + 10 * NS_PER_S;

		last = last < until ? last : until;
		if (first >= last)
			continue;
		if (last - first == 10 * NS_PER_S)
			sum += t.value;
		else
			sum += first == t.time_ns ? (t.value + 1) / 2 : t.value / 2;
	}
	return sum;
}

static void check_all(struct store *s)
{
	int64_t begin = (TEST_TIME / HOUR - 14) * HOUR, whole = 0;
	struct selection all = fixture_all();
	int64_t sums[2], wanted[2] = {0};

	for (int i = 0; i < OLD_PROFILES; i++)
		wanted[i % 2] += old_profile(i).value;
	CHECK_OK(fixture_sums(s, sums, 2));
	CHECK_INT(sums[0], wanted[0]);
	CHECK_INT(sums[1], wanted[1]);
	CHECK_INT(fixture_total(s, &all), wanted[0] + wanted[1]);
	for (int64_t h = 0; h < 50; h++) {
		struct selection part = fixture_all();

		part.from_ns = begin + h * HOUR;
		part.until_ns = part.from_ns + HOUR;
		CHECK_INT(fixture_total(s, &part), expected(part.from_ns, part.until_ns));
		whole += fixture_total(s, &part);
		part.until_ns += HOUR;
		CHECK_INT(fixture_total(s, &part), expected(part.from_ns, part.until_ns));
	}
	CHECK_INT(whole, wanted[0] + wanted[1]);
}

TEST(a_directory_of_the_first_format_says_the_same)
{
	CLEANUP(scratch_remove) struct scratch dir;
	struct store_options o = store_options_default;
	struct store_stats stats;
	struct store *s;

	scratch_make(&dir);
	CHECK_OK(copy_store(&dir));
	o.directory = dir.path;
	o.now_ns = old_now;
	CHECK_OK(store_open(&o, &s, NULL));
	check_all(s);
	/* The keeper brings it up to date; roll-ups are made anew. */
	CHECK_OK(store_settle(s, true, NULL));
	CHECK_OK(store_stats(s, TEST_TENANT, &stats));
	CHECK(stats.rollups > 90);
	CHECK_INT(stats.profiles, OLD_PROFILES);
	check_all(s);
	store_close(s);
	CHECK_OK(store_open(&o, &s, NULL));
	check_all(s);
	store_close(s);
}
