/* Files that processes map: kept as long as they are of use, and no longer. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/modules_internal.h"
#include "agent/worker_host.h"
#include "base/clock.h"
#include "base/file.h"
#include "test.h"

#define SEGMENTS 2u
#define SECOND	 1000000000ull
/* No process has it: files are found by their path. */
#define NOBODY	 0x40000001u

struct world {
	char folder[64];
	u8 *memory;
	struct unwind_rule *rules;
	struct table_space space;
	struct modules *modules;
	struct buf program; /* a small one */
	u64 now;
};

static void world_close(struct world *w)
{
	char command[100];

	modules_free(w->modules);
	table_space_release(&w->space);
	mem_free(w->memory);
	mem_free(w->rules);
	buf_release(&w->program);
	snprintf(command, sizeof(command), "rm -rf %s", w->folder);
	if (w->folder[0] && system(command))
		w->folder[0] = 0;
}

static enum err world_open(struct world *w)
{
	*w = (struct world){.folder = "/tmp/vestal-modules-XXXXXX", .now = SECOND};
	w->program = BUF_INIT(1 << 22);
	if (!mkdtemp(w->folder))
		return ERR_IO;
	TRY(file_read("/bin/true", &w->program, NULL));
	w->memory = mem_zalloc(SEGMENTS, UNWIND_SEGMENT_SIZE);
	w->rules = mem_zalloc(UNWIND_RULES_MAX, sizeof(*w->rules));
	if (!w->memory || !w->rules)
		return ERR_NO_MEMORY;
	TRY(worker_host_start());
	TRY(table_space_init(&w->space, w->memory, SEGMENTS));
	return modules_new(&w->space, w->rules, NULL, &w->modules);
}

/* A new file with its own number, mapped by a process. */
static enum err use_file_of(struct world *w, u32 pid, u32 number, struct str content, u32 *ret)
{
	char path[128];
	struct stat info;

	snprintf(path, sizeof(path), "%s/%u", w->folder, number);
	if (access(path, F_OK))
		TRY(file_write(path, content, OUTPUT_NO_SYNC, NULL));
	if (stat(path, &info))
		return ERR_IO;
	return modules_use(w->modules, pid, 0, 0, str_of(path), 1, info.st_ino, ret);
}

static enum err use_file(struct world *w, u32 number, struct str content, u32 *ret)
{
	return use_file_of(w, NOBODY, number, content, ret);
}

static void settle(struct world *w)
{
	while (modules_pending(w->modules)) {
		modules_settle(w->modules);
		clock_sleep_ns(NS_PER_MS);
	}
}

static void tidy(struct world *w, u64 seconds)
{
	modules_tidy(w->modules, w->now, w->now);
	w->now += seconds * SECOND;
	modules_tidy(w->modules, w->now, w->now);
	table_space_settle(&w->space);
	table_space_settle(&w->space);
}

static u32 open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	u32 n = 0;

	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

static struct modules_stats stats(const struct world *w)
{
	struct modules_stats s;

	modules_stats(w->modules, &s);
	return s;
}

TEST(thousands_of_programs_leave_nothing_behind)
{
	CLEANUP(world_close) struct world w;
	u32 before, module, highest = 0;

	CHECK_OK(world_open(&w));
	settle(&w);
	before = open_files();
	for (u32 i = 0; i < 5000; i++) {
		CHECK_OK(use_file(&w, i, STR("#!"), &module));
		highest = module > highest ? module : highest;
		if (i % 4 == 0)
			modules_read(w.modules, module);
		modules_drop_user(w.modules, module);
		if (i % 100 == 99) {
			settle(&w);
			tidy(&w, 15);
			CHECK(open_files() <= before + 256 + 100);
		}
	}
	CHECK(highest < 1000);
	CHECK_INT(stats(&w).live, 2 + stats(&w).idle + 0);
	CHECK(stats(&w).idle <= 256 && stats(&w).freed >= 4700 && !stats(&w).refused);
	/* And what is left goes with time. */
	tidy(&w, 1000);
	CHECK_INT(stats(&w).live, 2);
	CHECK_INT(stats(&w).open, 0);
	/* One may be the socket of a worker. */
	CHECK(open_files() <= before + 1);
}

TEST(tables_are_given_back_and_a_number_gets_another_serial)
{
	CLEANUP(world_close) struct world w;
	u32 modules[4], again;
	u64 used, serial;

	CHECK_OK(world_open(&w));
	settle(&w);
	used = w.space.used_bytes;
	for (u32 i = 0; i < 4; i++) {
		CHECK_OK(use_file(&w, i, buf_view(&w.program), &modules[i]));
		CHECK_INT(modules_get(w.modules, modules[i])->state, MODULE_UNREAD);
		modules_read(w.modules, modules[i]);
	}
	settle(&w);
	CHECK_INT(modules_get(w.modules, modules[3])->state, MODULE_READY);
	CHECK(w.space.used_bytes > used);
	serial = modules_get(w.modules, modules[3])->serial;
	modules_drop_user(w.modules, modules[3]);
	/* It comes back before it is forgotten: nothing is read again. */
	tidy(&w, 100);
	CHECK_OK(use_file(&w, 3, STR(""), &again));
	CHECK(again == modules[3] && modules_get(w.modules, again)->serial == serial);
	CHECK_INT(modules_get(w.modules, again)->state, MODULE_READY);
	tidy(&w, 1000);
	CHECK(modules_get(w.modules, again));
	for (u32 i = 0; i < 4; i++)
		modules_drop_user(w.modules, modules[i]);
	tidy(&w, 1000);
	CHECK(!modules_get(w.modules, again));
	CHECK_INT(w.space.used_bytes, used);
	CHECK_OK(use_file(&w, 3, STR(""), &again));
	CHECK(modules_get(w.modules, again)->serial > serial);
	CHECK_INT(modules_get(w.modules, again)->state, MODULE_UNREAD);
}

TEST(what_was_used_just_now_is_not_taken_away)
{
	CLEANUP(world_close) struct world w;
	u32 module;

	CHECK_OK(world_open(&w));
	for (u32 i = 0; i < 400; i++) {
		CHECK_OK(use_file(&w, i, STR("x"), &module));
		modules_drop_user(w.modules, module);
	}
	tidy(&w, 1);
	CHECK_INT(stats(&w).idle, 400);
	tidy(&w, 9);
	CHECK_INT(stats(&w).idle, 256);
}

TEST(files_above_the_limit_are_counted_and_those_without_a_user_make_room)
{
	CLEANUP(world_close) struct world w;
	struct rlimit old, few;
	u32 module, limit;
	enum err e;

	CHECK(!getrlimit(RLIMIT_NOFILE, &old));
	few = (struct rlimit){200, old.rlim_max};
	limit = old.rlim_max < 4096 * 2 ? (u32)old.rlim_max * 3 / 4 : 4096;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	e = world_open(&w);
	CHECK(!getrlimit(RLIMIT_NOFILE, &few));
	CHECK(few.rlim_cur > 200 && !setrlimit(RLIMIT_NOFILE, &old));
	CHECK_OK(e);
	/* Nobody tidies: the ceiling holds by itself. */
	for (u32 i = 0; i < limit + 300; i++) {
		CHECK_OK(use_file(&w, i, STR("x"), &module));
		modules_drop_user(w.modules, module);
	}
	CHECK(stats(&w).open <= limit && !stats(&w).refused);
	for (u32 i = 0; i < limit + 1; i++)
		CHECK_OK(use_file(&w, i, STR("x"), &module));
	CHECK_INT(stats(&w).open, limit);
	CHECK_INT(stats(&w).refused, 1);
	CHECK_INT(modules_get(w.modules, module)->state, MODULE_FAILED);
}

/* Of nobody's user, or ours. */
TEST(a_user_with_most_files_loses_them_to_another_one)
{
	CLEANUP(world_close) struct world w;
	u32 module, first = 0, state, open = 0, before;

	CHECK_OK(world_open(&w));
	settle(&w);
	before = open_files();
	w.modules->files_max = 20;
	for (u32 i = 0; i < 30; i++) {
		CHECK_OK(use_file(&w, i, STR("x"), &module));
		CHECK(modules_get(w.modules, module)->user == 65534);
		if (!i)
			first = module;
		open += modules_get(w.modules, module)->fd >= 0;
	}
	CHECK(open == 20 && stats(&w).refused == 10);
	/* One that is being read stays: another thread has it. */
	w.modules->list.v[first]->state = MODULE_READING;
	for (u32 i = 0; i < 20; i++) {
		CHECK_OK(use_file_of(&w, (u32)getpid(), 100 + i, STR("x"), &module));
		state = modules_get(w.modules, module)->state;
		CHECK_INT(state, i < 10 ? MODULE_UNREAD : MODULE_FAILED);
		CHECK_INT(stats(&w).open, 20);
	}
	CHECK_INT(stats(&w).refused, 10 + 10 + 10);
	CHECK(modules_get(w.modules, first)->fd >= 0);
	CHECK_INT(open_files(), before + 20);
	/* They are told that nothing will come of those that were closed. */
	CHECK(modules_settle(w.modules));
	w.modules->list.v[first]->state = MODULE_UNREAD;
}

TEST(a_table_without_room_waits_in_memory_until_there_is_some)
{
	CLEANUP(world_close) struct world w;
	struct space_range taken[64];
	u32 module, n = 0, rule;

	CHECK_OK(world_open(&w));
	settle(&w);
	while (n < 64 && table_space_take(&w.space, 1 << 16, &taken[n]) == ERR_OK)
		n++;
	for (struct space_range r; table_space_take(&w.space, 64, &r) == ERR_OK;)
		;
	CHECK_OK(use_file(&w, 1, buf_view(&w.program), &module));
	modules_read(w.modules, module);
	settle(&w);
	CHECK(modules_get(w.modules, module)->in_heap && stats(&w).heap_bytes);
	CHECK_INT(module_rule(w.modules, module, modules_get(w.modules, module)->image.entry,
			      &rule),
		  -1);
	CHECK_INT(rule, UNWIND_RULE_END);
	for (u32 i = 0; i < n; i++)
		table_space_give(&w.space, taken[i]);
	tidy(&w, 0);
	modules_tidy(w.modules, w.now, w.now);
	CHECK(!modules_get(w.modules, module)->in_heap && !stats(&w).heap_bytes);
	/* Whoever maps it is told. */
	CHECK(modules_settle(w.modules));
	CHECK_INT(module_rule(w.modules, module, modules_get(w.modules, module)->image.entry,
			      &rule),
		  -1);
	CHECK_INT(rule, UNWIND_RULE_END);
}

/* A program of another user, whose table is read. */
static enum err use_program(struct world *w, u32 number, u32 owner, u32 *ret)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", w->folder, number);
	TRY(file_write(path, buf_view(&w->program), OUTPUT_NO_SYNC, NULL));
	if (chown(path, owner, owner))
		return err_from_errno(errno);
	TRY(use_file(w, number, (struct str){0}, ret));
	modules_read(w->modules, *ret);
	settle(w);
	return ERR_OK;
}

TEST(an_owner_with_most_tables_gives_way_to_another_one)
{
	CLEANUP(world_close) struct world w;
	struct space_range room;
	u32 first = 0, module, n = 0;

	if (geteuid()) {
		test_skip("needs root");
		return;
	}
	CHECK_OK(world_open(&w));
	settle(&w);
	CHECK_OK(table_space_take(&w.space, 1 << 15, &room));
	for (struct space_range r; table_space_take(&w.space, 64, &r) == ERR_OK;)
		;
	table_space_give(&w.space, room);
	tidy(&w, 0);
	do {
		CHECK_OK(use_program(&w, n, 65531, &module));
		first = n++ ? first : module;
	} while (n < 1000 && !modules_get(w.modules, module)->in_heap);
	CHECK(n > 2 && n < 1000);
	CHECK_OK(use_program(&w, n, 65532, &module));
	tidy(&w, 0);
	modules_tidy(w.modules, w.now, w.now);
	CHECK(modules_get(w.modules, module)->placed.pages.units);
	CHECK(modules_get(w.modules, first)->placed.pages.units);
	/* They share it in the end. */
	for (u32 i = 1; i <= n; i++) {
		CHECK_OK(use_program(&w, n + i, 65532, &module));
		tidy(&w, 0);
		modules_tidy(w.modules, w.now, w.now);
	}
	CHECK(modules_get(w.modules, first)->placed.pages.units);
	n = 0;
	vec_for_each (one, &w.modules->list)
		n += *one && (*one)->owner == 65532 && (*one)->placed.pages.units ? 1 : 0;
	CHECK(n > 1);
}

static enum err sweep(void)
{
	CLEANUP(world_close) struct world w;
	u32 module;

	TRY(world_open(&w));
	for (u32 i = 0; i < 8; i++) {
		TRY(use_file(&w, i, STR("x"), &module));
		modules_drop_user(w.modules, module);
	}
	tidy(&w, 1000);
	return ERR_OK;
}

TEST(small_files_are_read_ahead_and_large_ones_when_a_stack_needs_them)
{
	CLEANUP(world_close) struct world w;
	CLEANUP(buf_release) struct buf large = BUF_INIT(8 << 20);
	u32 small_one, large_one;
	char *rest;

	CHECK_OK(world_open(&w));
	settle(&w);
	buf_str(&large, buf_view(&w.program));
	rest = buf_reserve(&large, 5 << 20);
	CHECK(rest != NULL);
	memset(rest, 0, 5 << 20);
	large.n += 5 << 20;
	CHECK_OK(use_file(&w, 1, buf_view(&w.program), &small_one));
	CHECK_OK(use_file(&w, 2, buf_view(&large), &large_one));
	modules_read_ahead(w.modules, small_one);
	modules_read_ahead(w.modules, large_one);
	CHECK_INT(modules_pending(w.modules), 1);
	settle(&w);
	CHECK_INT(modules_get(w.modules, small_one)->state, MODULE_READY);
	CHECK_INT(modules_get(w.modules, large_one)->state, MODULE_UNREAD);
	modules_read(w.modules, large_one);
	settle(&w);
	CHECK_INT(modules_get(w.modules, large_one)->state, MODULE_READY);
}

TEST(without_memory_nothing_is_lost)
{
	ALLOC_SWEEP(sweep());
}
