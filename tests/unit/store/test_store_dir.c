#include "store/store_dir.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/partition.h"
#include "store/scratch.h"
#include "test.h"

TEST(a_missing_directory_becomes_a_store_that_keeps_its_seed)
{
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(store_dir_close) struct store_dir d = STORE_DIR_CLOSED;
	uint64_t seed;

	scratch_make(&s);
	CHECK_OK(store_dir_open(&d, scratch_file(&s, "data/"), true, NULL));
	seed = d.seed;
	store_dir_close(&d);
	CHECK_OK(store_dir_open(&d, scratch_file(&s, "data"), false, NULL));
	CHECK(d.seed == seed);
}

TEST(a_directory_with_other_things_is_not_made_a_store)
{
	CLEANUP(scratch_remove) struct scratch s;
	struct store_dir d = STORE_DIR_CLOSED;
	struct fault fault = {0};

	scratch_make(&s);
	CHECK_OK(file_write(scratch_file(&s, "letter.txt"), STR("dear"), 0, NULL));
	CHECK_ERR(store_dir_open(&d, s.path, true, &fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "letter.txt"));
	CHECK_ERR(store_dir_open(&d, scratch_file(&s, "none"), false, &fault), ERR_NOT_FOUND);
}

TEST(a_newer_store_is_refused_with_a_sentence)
{
	CLEANUP(scratch_remove) struct scratch s;
	struct store_dir d = STORE_DIR_CLOSED;
	struct fault fault = {0};

	scratch_make(&s);
	CHECK_OK(file_write(scratch_file(&s, "STORE"), STR("vestal store\nformat 99\nseed 01\n"), 0,
			    NULL));
	CHECK_ERR(store_dir_open(&d, s.path, true, &fault), ERR_UNSUPPORTED);
	CHECK(strstr(fault.text, "format version 99"));
	CHECK_OK(file_write(scratch_file(&s, "STORE"), STR("nonsense"), OUTPUT_FORCE, NULL));
	CHECK_ERR(store_dir_open(&d, s.path, true, &fault), ERR_CORRUPT);
}

TEST(a_second_process_is_refused_naming_the_first_and_a_dead_ones_lock_is_taken)
{
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(store_dir_close) struct store_dir d = STORE_DIR_CLOSED;
	struct fault fault = {0};
	char expected[60];
	int ready[2], status;
	char byte;
	pid_t child;

	scratch_make(&s);
	CHECK(pipe(ready) == 0);
	child = fork();
	if (child == 0) {
		struct store_dir own = STORE_DIR_CLOSED;

		byte = store_dir_open(&own, s.path, true, NULL) == ERR_OK ? 'y' : 'n';
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1 && byte == 'y');
	CHECK_ERR(store_dir_open(&d, s.path, true, &fault), ERR_EXISTS);
	snprintf(expected, sizeof(expected), "in use by process %d:", (int)child);
	CHECK(strstr(fault.text, expected));
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_OK(store_dir_open(&d, s.path, true, NULL));
	close(ready[0]);
	close(ready[1]);
}

TEST(tenant_names_cannot_leave_the_directory)
{
	static const char *const bad[] = {"",	  ".", "..",   "a/b",  "../x", "a b",
					  "a%2e", "ä", "a\\b", "a\nb", "~",    "a:b"};
	static const char *const good[] = {"a",	   "team-1", ".hidden",	 "...", "a!b_c.d*e'(f)",
					   "LOCK", "STORE",  "anonymous"};
	char name[TENANT_NAME_MAX + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(tenant_check(str_of(bad[i]), NULL), ERR_BAD_ARGUMENT);
	CHECK_ERR(tenant_check(str_n("a\0b", 3), NULL), ERR_BAD_ARGUMENT);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK_OK(tenant_check(str_of(good[i]), NULL));
	memset(name, 'x', sizeof(name));
	CHECK_OK(tenant_check(str_n(name, TENANT_NAME_MAX), NULL));
	CHECK_ERR(tenant_check(str_n(name, TENANT_NAME_MAX + 1), NULL), ERR_BAD_ARGUMENT);
}

static void collect(void *context, struct str tenant)
{
	struct buf *b = context;

	buf_str(b, tenant);
	buf_byte(b, ' ');
}

TEST(folders_of_tenants_give_their_names_back)
{
	static const char *const names[] = {"LOCK", ".hidden", "plain"};
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(buf_release) struct buf seen = BUF_INIT(1000);
	CLEANUP(store_dir_close) struct store_dir d = STORE_DIR_CLOSED;

	scratch_make(&s);
	CHECK_OK(store_dir_open(&d, s.path, true, NULL));
	for (size_t i = 0; i < 3; i++) {
		char *folder;

		CHECK_OK(tenant_folder(d.path, str_of(names[i]), true, &folder, NULL));
		mem_free(folder);
	}
	CHECK_OK(store_dir_tenants(d.path, collect, &seen, NULL));
	CHECK_INT(seen.n, strlen("LOCK .hidden plain "));
	for (size_t i = 0; i < 3; i++)
		CHECK(str_search(buf_view(&seen), str_of(names[i])) < seen.n);
}

TEST(days_are_named_by_date_and_listed_oldest_first)
{
	CLEANUP(scratch_remove) struct scratch s;
	static const char *const files[] = {"2026-02-01.db", "2026-01-31.spans.db",
					    "2026-01-31.db", "2026-01-31.db-wal",
					    "2026-13-01.db", "catalog.db"};
	struct day_names list = {0};
	int64_t ns;
	char *path;

	scratch_make(&s);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		CHECK_OK(file_write(scratch_file(&s, files[i]), STR("x"), 0, NULL));
	CHECK_OK(day_list(s.path, &list, NULL));
	CHECK_INT(list.names.n, 3);
	CHECK_OK(clock_parse(STR("2026-01-31T23:59:59Z"), &ns));
	CHECK_INT(list.names.v[0].day, day_of(ns));
	CHECK_INT(list.names.v[0].kind, DAY_PROFILES);
	CHECK_INT(list.names.v[1].kind, DAY_SPANS);
	CHECK_INT(list.names.v[2].day, day_of(ns) + 1);
	path = day_path("/t", list.names.v[1]);
	CHECK(path && strcmp(path, "/t/2026-01-31.spans.db") == 0);
	mem_free(path);
	CHECK_OK(day_unlink(s.path, list.names.v[0], NULL));
	CHECK(access(scratch_file(&s, "2026-01-31.db-wal"), F_OK) < 0);
	vec_release(&list.names);
	CHECK_INT(day_of(-1), -1);
	CHECK_INT(day_of(NS_PER_DAY - 1), 0);
}

static enum err open_and_close(const char *path)
{
	struct store_dir d = STORE_DIR_CLOSED;

	TRY(store_dir_open(&d, path, true, NULL));
	store_dir_close(&d);
	return ERR_OK;
}

TEST(opening_survives_every_failing_allocation)
{
	CLEANUP(scratch_remove) struct scratch s;

	scratch_make(&s);
	ALLOC_SWEEP(open_and_close(s.path));
}
