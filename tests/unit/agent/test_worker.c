/* Processes that read files of strangers: what they may do, and what happens when they die. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/name_reader.h"
#include "agent/table_reader.h"
#include "agent/worker.h"
#include "agent/worker_host.h"
#include "agent/worker_pace.h"
#include "agent/worker_wire.h"
#include "base/clock.h"
#include "base/file.h"
#include "../unwind/elf_maker.h"
#include "test.h"

#define PROGRAM "/bin/true"

struct world {
	struct unwind_rule *rules;
	struct table_reader *reader;
};

static void world_close(struct world *w)
{
	table_reader_free(w->reader);
	mem_free(w->rules);
}

static enum err world_open(struct world *w)
{
	*w = (struct world){.rules = mem_zalloc(UNWIND_RULES_MAX, sizeof(*w->rules))};
	TRY(worker_host_start());
	return w->rules ? table_reader_new(w->rules, &w->reader) : ERR_NO_MEMORY;
}

/* Waits at most a minute. */
static bool take(struct world *w, struct table_result *ret)
{
	for (u32 i = 0; i < 60000; i++) {
		if (table_reader_take(w->reader, ret))
			return true;
		clock_sleep_ns(NS_PER_MS);
	}
	return false;
}

/* Whether a process has our zygotes' uid: those whose parent ended are init's children. */
static bool is_ours(unsigned uid, unsigned parent)
{
	static unsigned workers_uid;

	if (!geteuid() && workers_uid)
		return uid == workers_uid;
	if (parent != (unsigned)getpid())
		return !geteuid() ? false : uid == geteuid();
	if (uid != getuid())
		workers_uid = uid;
	return true;
}

/* The process with this name, -1 when there is none. */
static pid_t look_for_worker(const char *name)
{
	DIR *processes = opendir("/proc");
	pid_t found = -1;

	for (struct dirent *d; processes && (d = readdir(processes));) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
		unsigned parent = 0, uid = 0;
		char path[300];
		bool host;

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", d->d_name);
		if (file_read(path, &text, NULL) != ERR_OK || !text.n ||
		    strstr(text.data, "State:\tZ") || !strstr(text.data, "PPid:") ||
		    !strstr(text.data, "Uid:") ||
		    sscanf(strstr(text.data, "PPid:"), "PPid: %u", &parent) != 1 ||
		    sscanf(strstr(text.data, "Uid:"), "Uid: %u", &uid) != 1)
			continue;
		host = !strncmp(text.data + 6, "vestal-host", 11);
		if ((host || !strncmp(text.data + 6, name, strlen(name))) &&
		    is_ours(uid, host ? parent : 0) && !strncmp(text.data + 6, name, strlen(name)))
			found = (pid_t)atoi(d->d_name);
	}
	if (processes)
		closedir(processes);
	return found;
}

/* The same, waited for up to a minute. */
static pid_t find_worker(const char *name)
{
	for (u32 i = 0; i < 6000; i++) {
		pid_t found = look_for_worker(name);

		if (found > 0)
			return found;
		clock_sleep_ns(10 * NS_PER_MS);
	}
	return -1;
}

TEST(a_worker_builds_the_same_table)
{
	CLEANUP(world_close) struct world w;
	CLEANUP(buf_release) struct buf program = BUF_INIT(16 << 20);
	struct table_result theirs = {0};
	struct unwind_table table;
	struct unwind_rules *rules;
	int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	const struct unwind_rule *all;
	size_t count;

	CHECK(fd >= 0);
	CHECK_OK(world_open(&w));
	CHECK_OK(table_reader_queue(w.reader, 7, fd, 0, 0, (struct str){0}));
	CHECK(take(&w, &theirs));
	close(fd);
	CHECK_OK(theirs.error);
	CHECK_INT(theirs.module, 7);
	CHECK_OK(file_read(PROGRAM, &program, NULL));
	CHECK_OK(unwind_rules_new(&rules));
	CHECK_OK(unwind_table_build(buf_view(&program), rules, &table, NULL));
	CHECK(table.page_count == theirs.table.page_count && table.rows == theirs.table.rows);
	for (u64 at = 0; at < (u64)table.page_count << UNWIND_PAGE_SHIFT; at += 7) {
		u32 here = unwind_table_rule(&table, at);
		u32 there = unwind_table_rule(&theirs.table, at);

		all = unwind_rules_all(rules, &count);
		if (here & UNWIND_ESCAPE)
			CHECK(there & UNWIND_ESCAPE &&
			      !memcmp(&all[here & 0x7fff], &w.rules[there & 0x7fff], sizeof(*all)));
		else
			CHECK_INT(there, here);
	}
	unwind_table_release(&table);
	unwind_table_release(&theirs.table);
	unwind_rules_free(rules);
}

TEST(a_worker_has_no_rights)
{
	CLEANUP(buf_release) struct buf status = BUF_INIT(8192);
	unsigned uid, effective, gid;
	char path[64];
	int socket, files = 0;
	DIR *folder;
	pid_t pid;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind does not know seccomp");
		return;
	}
	CHECK_OK(worker_host_start());
	CHECK_OK(worker_open(WORKER_NAMES, &socket));
	pid = find_worker("vestal-names");
	CHECK(pid > 0);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	/* It has just begun. */
	for (u32 i = 0; i < 6000 && !(status.n && strstr(status.data, "Seccomp:\t2")); i++) {
		status.n = 0;
		CHECK_OK(file_read(path, &status, NULL));
		clock_sleep_ns(10 * NS_PER_MS);
	}
	CHECK(strstr(status.data, "Seccomp:\t2"));
	CHECK(strstr(status.data, "NoNewPrivs:\t1"));
	CHECK(strstr(status.data, "CapEff:\t0000000000000000"));
	CHECK(strstr(status.data, "CapPrm:\t0000000000000000"));
	/* A uid of its own, which nobody who is not root can be. */
	CHECK(sscanf(strstr(status.data, "Uid:"), "Uid:\t%u\t%u", &uid, &effective) == 2);
	CHECK(uid == effective && (geteuid() ? uid == geteuid() : uid > 60513 && uid != 65534));
	CHECK(sscanf(strstr(status.data, "Gid:"), "Gid:\t%u", &gid) == 1);
	CHECK(geteuid() || gid == uid);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	while (folder && readdir(folder))
		files++;
	if (folder)
		closedir(folder);
	/* Nothing to read, to write and to complain to, a socket; "." and "..". */
	CHECK(!folder || files == 6);
	close(socket);
}

/* By the worker's own clock: on a busy machine it can only be slower. */
TEST(a_worker_takes_no_more_cpu_time_than_its_pace_allows)
{
	const u64 pace = 20 * NS_PER_MS; /* a second */
	/* What it had saved, a slice, and what cannot be interrupted. */
	const u64 slack = 8 * NS_PER_MS;
	CLEANUP(world_close) struct world w;
	struct worker_usage usage;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct table_result r;
	u64 begun, used;
	int64_t from;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind does not interrupt what it runs");
		return;
	}
	CHECK(fd >= 0);
	CHECK_OK(world_open(&w));
	CHECK_OK(table_reader_queue(w.reader, 1, fd, 0, 0, (struct str){0}));
	CHECK(take(&w, &r));
	unwind_table_release(&r.table);
	worker_pace_set(WORKER_TABLES, pace);
	worker_usage(&usage);
	begun = usage.cpu_ns;
	from = clock_monotonic_ns();
	/* It would take all of a CPU. */
	for (u32 i = 0; i < 50; i++)
		CHECK_OK(table_reader_queue(w.reader, 2 + i, fd, 0, 0, (struct str){0}));
	do {
		clock_sleep_ns(50 * NS_PER_MS);
		worker_usage(&usage);
		used = usage.cpu_ns - begun;
		CHECK(used <= (u64)(clock_monotonic_ns() - from) * pace / NS_PER_S + slack);
	} while (clock_monotonic_ns() - from < 3 * NS_PER_S);
	/* It is measured while it works. */
	CHECK(used > 0);
	/* And hurries when it is told so, also in the middle of a question. */
	worker_pace_set(WORKER_TABLES, 0);
	for (u32 i = 0; i < 50; i++) {
		CHECK(take(&w, &r));
		CHECK_OK(r.error);
		unwind_table_release(&r.table);
	}
	close(fd);
}

/* Whose table takes dozens of milliseconds. */
#define FUNCTIONS 400000u

static int large_file(void)
{
	struct buf frames = BUF_INIT(64 << 20), file = BUF_INIT(64 << 20);
	uint64_t cie = cie_make(&frames, CIE_PLAIN);
	int fd = memfd_create("large", MFD_CLOEXEC);

	/* push %rbp after a byte. */
	for (u32 i = 0; i < FUNCTIONS; i++)
		fde_make(&frames, CIE_PLAIN, cie, 0x1000 + 16 * (u64)i, 16, STR("\x41\x0e\x10"));
	elf_make(&file, &(struct made_section){".eh_frame", buf_view(&frames), 0x10000000}, 1);
	if (fd >= 0 && (buf_error(&file) || write(fd, file.data, file.n) != (ssize_t)file.n)) {
		close(fd);
		fd = -1;
	}
	buf_release(&frames);
	buf_release(&file);
	return fd;
}

#define LARGE ((u64)10 << 20)
#define SMALL ((u64)10 << 10)

TEST(a_large_file_gives_way_to_a_small_one_of_the_same_owner)
{
	CLEANUP(world_close) struct world w;
	struct worker_usage before, usage;
	struct table_result r;
	int large = large_file(), small = open(PROGRAM, O_RDONLY | O_CLOEXEC);

	CHECK(large >= 0 && small >= 0);
	CHECK_OK(world_open(&w));
	worker_pace_set(WORKER_TABLES, 50 * NS_PER_MS);
	worker_usage(&before);
	CHECK_OK(table_reader_queue(w.reader, 1, large, 0, LARGE, (struct str){0}));
	/* It is worked on. */
	do {
		clock_sleep_ns(5 * NS_PER_MS);
		worker_usage(&usage);
	} while (usage.cpu_ns - before.cpu_ns < 5 * NS_PER_MS);
	worker_pace_set(WORKER_TABLES, 20 * NS_PER_MS);
	CHECK_OK(table_reader_queue(w.reader, 2, small, 0, SMALL, (struct str){0}));
	CHECK(take(&w, &r));
	CHECK_OK(r.error);
	CHECK_INT(r.module, 2);
	unwind_table_release(&r.table);
	worker_pace_set(WORKER_TABLES, 0);
	CHECK(take(&w, &r));
	CHECK_OK(r.error);
	CHECK_INT(r.module, 1);
	unwind_table_release(&r.table);
	close(large);
	close(small);
}

/* Small ones come all the time. */
TEST(a_large_file_does_not_give_way_for_ever)
{
	CLEANUP(world_close) struct world w;
	struct worker_usage before, after;
	struct table_result r = {0};
	int large = large_file(), small = open(PROGRAM, O_RDONLY | O_CLOEXEC);

	CHECK(large >= 0 && small >= 0);
	CHECK_OK(world_open(&w));
	worker_usage(&before);
	worker_pace_set(WORKER_TABLES, 200 * NS_PER_MS);
	CHECK_OK(table_reader_queue(w.reader, 1, large, 0, LARGE, (struct str){0}));
	for (u32 i = 0; i < 10000 && r.module != 1; i++) {
		/* One waits whenever the large file is worked on. */
		CHECK_OK(table_reader_queue(w.reader, 2, small, 0, SMALL, (struct str){0}));
		CHECK(take(&w, &r));
		CHECK_OK(r.error);
		unwind_table_release(&r.table);
	}
	CHECK_INT(r.module, 1);
	worker_usage(&after);
	CHECK(after.replaced[WORKER_SPENT] <= before.replaced[WORKER_SPENT] + 3);
	worker_pace_set(WORKER_TABLES, 0);
	close(large);
	close(small);
}

/* Ends every worker that reads this file, until it is given up; its result. */
static bool kill_while_asked(struct world *w, int fd, u32 module, struct table_result *ret)
{
	if (table_reader_queue(w->reader, module, fd, 0, 0, (struct str){0}) != ERR_OK)
		return false;
	for (u32 i = 0; i < 6000; i++) {
		pid_t pid = look_for_worker("vestal-tables");

		if (table_reader_take(w->reader, ret))
			return true;
		if (pid > 0)
			kill(pid, SIGKILL);
		clock_sleep_ns(10 * NS_PER_MS);
	}
	return false;
}

/* Slow enough to be met while it works. */
#define SLOW (NS_PER_MS / 2)

static enum err open_slow_world(struct world *w, int *ret_fd)
{
	*ret_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	TRY(world_open(w));
	worker_pace_set(WORKER_TABLES, SLOW);
	return *ret_fd < 0 ? ERR_IO : ERR_OK;
}

TEST(a_file_that_ends_two_workers_is_given_up_and_the_next_one_is_read)
{
	CLEANUP(world_close) struct world w;
	struct worker_usage before, after;
	struct table_result r;
	int fd;

	if (geteuid()) {
		test_skip("needs root");
		return;
	}
	CHECK_OK(open_slow_world(&w, &fd));
	worker_usage(&before);
	/* One that was read before its worker could be met is read again. */
	for (u32 i = 0; i < 100; i++) {
		CHECK(kill_while_asked(&w, fd, 3, &r));
		if (r.error)
			break;
		unwind_table_release(&r.table);
	}
	CHECK(r.module == 3 && r.error != ERR_OK && !r.table.pages && !r.image.load_count);
	worker_usage(&after);
	CHECK(after.lost == before.lost + 1);
	CHECK(after.replaced[WORKER_ENDED] >= before.replaced[WORKER_ENDED] + 2);
	worker_pace_set(WORKER_TABLES, 0);
	CHECK_OK(table_reader_queue(w.reader, 4, fd, 0, 0, (struct str){0}));
	CHECK(take(&w, &r));
	CHECK_OK(r.error);
	unwind_table_release(&r.table);
	close(fd);
}

/* What one left the next one completes. */
TEST(a_worker_that_is_killed_or_stopped_is_replaced_and_its_file_is_read)
{
	static const int signals[] = {SIGKILL, SIGSTOP};
	CLEANUP(world_close) struct world w;
	struct worker_usage before, after;
	struct table_result r;
	int fd;

	if (geteuid()) {
		test_skip("needs root");
		return;
	}
	CHECK_OK(open_slow_world(&w, &fd));
	worker_usage(&before);
	for (u32 i = 0; i < 2; i++) {
		enum worker_fate fate = i ? WORKER_STOPPED : WORKER_ENDED;
		u32 tries = 0;

		/* One that had read the file before it was met is no matter of this. */
		do {
			pid_t pid;

			worker_pace_set(WORKER_TABLES, SLOW);
			CHECK_OK(table_reader_queue(w.reader, i, fd, 0, 0, (struct str){0}));
			pid = find_worker("vestal-tables");
			CHECK(pid > 0);
			kill(pid, signals[i]);
			worker_pace_set(WORKER_TABLES, 0);
			CHECK(take(&w, &r));
			CHECK_OK(r.error);
			CHECK(r.module == i && r.table.page_count);
			unwind_table_release(&r.table);
			worker_usage(&after);
		} while (after.replaced[fate] == before.replaced[fate] && tries++ < 100);
		CHECK(after.replaced[fate] > before.replaced[fate]);
	}
	worker_usage(&after);
	CHECK_INT(after.lost, before.lost);
	close(fd);
}

/* By the counter of those that were replaced; a minute at most. */
static bool wait_for_zygotes(u64 count)
{
	struct worker_usage usage;

	for (u32 i = 0; i < 6000; i++) {
		worker_usage(&usage);
		if (usage.zygotes >= count)
			return true;
		clock_sleep_ns(10 * NS_PER_MS);
	}
	return false;
}

TEST(processes_that_start_workers_are_replaced_when_they_are_killed_or_stopped)
{
	static const int signals[] = {SIGKILL, SIGSTOP, SIGSTOP, SIGKILL};
	CLEANUP(world_close) struct world w;
	struct worker_usage before;
	struct table_result r;
	int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);

	if (geteuid() || getenv("VESTAL_VALGRIND")) {
		close(fd);
		test_skip("needs root, and a clock that is not valgrind's");
		return;
	}
	CHECK_OK(world_open(&w));
	worker_host_watch();
	worker_usage(&before);
	for (u32 i = 0; i < 4; i++) {
		pid_t pid = find_worker("vestal-host");

		CHECK(pid > 0 && !kill(pid, signals[i]));
		CHECK(wait_for_zygotes(before.zygotes + i + 1));
		CHECK_OK(table_reader_queue(w.reader, i, fd, 0, 0, (struct str){0}));
		CHECK(take(&w, &r));
		CHECK_OK(r.error);
		unwind_table_release(&r.table);
	}
	close(fd);
}

static void *shorten(void *context)
{
	const char *path = context;

	clock_sleep_ns(300 * (NS_PER_MS / 1000));
	if (truncate(path, 0))
		return context;
	return NULL;
}

/* Whether it is too early or too late is luck; in between it is SIGBUS, for a worker alone. */
TEST(a_file_that_is_shortened_while_it_is_read_does_no_harm)
{
	CLEANUP(world_close) struct world w;
	CLEANUP(buf_release) struct buf program = BUF_INIT(64 << 20);
	char path[] = "/tmp/vestal-worker-XXXXXX";
	int made = mkstemp(path);

	CHECK(made >= 0);
	close(made);
	CHECK_OK(world_open(&w));
	CHECK_OK(file_read("/proc/self/exe", &program, NULL));
	for (u32 i = 0; i < 20; i++) {
		struct table_result r;
		pthread_t thread;
		void *failed;
		int fd;

		CHECK_OK(file_write(path, buf_view(&program), OUTPUT_FORCE | OUTPUT_NO_SYNC, NULL));
		fd = open(path, O_RDONLY | O_CLOEXEC);
		CHECK(fd >= 0 && !pthread_create(&thread, NULL, shorten, path));
		CHECK_OK(table_reader_queue(w.reader, i, fd, 0, 0, (struct str){0}));
		CHECK(take(&w, &r));
		CHECK(!pthread_join(thread, &failed) && !failed);
		unwind_table_release(&r.table);
		close(fd);
	}
	unlink(path);
}

/* ---- names ---- */

static void frame(struct buf *b, const char *function, const char *file, u32 line)
{
	struct wire_frame f = {
		.line = line, .function = (u16)strlen(function), .file = (u16)strlen(file)};

	buf_append(b, &f, sizeof(f));
	buf_text(b, function);
	buf_text(b, file);
}

static void range(struct buf *b, u64 start, u64 end, u32 frames)
{
	struct wire_range r = {start, end, frames, 0};

	buf_append(b, &r, sizeof(r));
}

TEST(what_a_worker_says_is_believed_only_as_a_whole)
{
	static const u64 addresses[] = {0x10, 0x18, 0x20, 0x30};
	CLEANUP(buf_release) struct buf answer = BUF_INIT(4096);
	struct name_cache c;
	const struct cached_place *p;

	name_cache_init(&c, 1 << 20);
	range(&answer, 8, 0x20, 2);
	frame(&answer, "inner", "a.c", 3);
	frame(&answer, "outer", "a.c", 9);
	range(&answer, 0x20, 0x21, 0);
	range(&answer, 0x30, 0x40, 1);
	frame(&answer, "inner", "", 0);
	for (size_t n = 0; n < answer.n; n++) {
		CHECK_ERR(name_cache_add(&c, 5, addresses, 4, str_n(answer.data, n)), ERR_CORRUPT);
		CHECK_OK(name_cache_settle(&c));
		CHECK(!name_cache_find(&c, 5, 0x10) && !name_cache_find(&c, 5, 0x30));
	}
	CHECK_ERR(name_cache_add(&c, 5, addresses, 3, buf_view(&answer)), ERR_CORRUPT);
	CHECK_OK(name_cache_add(&c, 5, addresses, 4, buf_view(&answer)));
	CHECK_OK(name_cache_settle(&c));
	p = name_cache_find(&c, 5, 0x10);
	CHECK(p && p->count == 2);
	CHECK(!strcmp(name_cache_text(&c, c.names.v[p->first + 1].function), "outer"));
	CHECK(!strcmp(name_cache_text(&c, c.names.v[p->first + 1].linkage), ""));
	CHECK_INT(c.names.v[p->first + 1].line, 9);
	/* A text is there once. */
	CHECK_INT(c.names.v[name_cache_find(&c, 5, 0x30)->first].function,
		  c.names.v[p->first].function);
	/* The answer holds for its range, and only there. */
	CHECK(name_cache_find(&c, 5, 8) == p && name_cache_find(&c, 5, 0x1f) == p);
	CHECK(!name_cache_find(&c, 5, 7) && !name_cache_find(&c, 5, 0x22));
	p = name_cache_find(&c, 5, 0x20);
	CHECK(p && !p->count);
	CHECK(!name_cache_find(&c, 6, 0x10) && !name_cache_find(&c, 4, 0x10));
	/* Never more than the ceiling from one window to the next. */
	c.ceiling = 100;
	name_cache_tidy(&c);
	CHECK(!name_cache_find(&c, 5, 0x10) && c.forgotten == 1 && !name_cache_bytes(&c));
	name_cache_release(&c);
}

TEST(an_answer_that_does_not_hold_its_address_is_refused)
{
	static const u64 addresses[] = {0x10, 0x20};
	static const u64 ranges[][2] = {{0x11, 0x20}, {0, 0x10}, {0x20, 0x30}, {0x10, 0x10}};
	struct name_cache c;

	name_cache_init(&c, 1 << 20);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		CLEANUP(buf_release) struct buf answer = BUF_INIT(4096);

		range(&answer, ranges[i][0], ranges[i][1], 0);
		range(&answer, 0x20, 0x21, 0);
		CHECK_ERR(name_cache_add(&c, 1, addresses, 2, buf_view(&answer)), ERR_CORRUPT);
	}
	CHECK_INT(c.places.n, 0);
	name_cache_release(&c);
}

/* Answers come in many turns, of several modules; each is found afterwards. */
TEST(answers_of_many_turns_are_in_order)
{
	struct name_cache c;

	name_cache_init(&c, 1 << 20);
	for (u64 turn = 0; turn < 60; turn++) {
		CLEANUP(buf_release) struct buf answer = BUF_INIT(4096);
		u64 serial = 1 + turn * 7 % 3, at = turn * 37 % 60 * 16;

		range(&answer, at, at + 8, 0);
		CHECK_OK(name_cache_add(&c, serial, &at, 1, buf_view(&answer)));
		if (turn % 5 == 4)
			CHECK_OK(name_cache_settle(&c));
	}
	for (u64 turn = 0; turn < 60; turn++) {
		u64 serial = 1 + turn * 7 % 3, at = turn * 37 % 60 * 16;
		const struct cached_place *p = name_cache_find(&c, serial, at + 7);

		CHECK(p && p->start == at && p->serial == serial);
		CHECK(!name_cache_find(&c, serial, at + 8));
	}
	/* A module that is too much for a worker keeps what it said before. */
	CHECK_OK(name_cache_add_nameless(&c, 2));
	CHECK_OK(name_cache_settle(&c));
	for (u64 at = 0; at < 1000; at++)
		CHECK(name_cache_find(&c, 2, at) && name_cache_find(&c, 2, at)->serial == 2);
	CHECK(!name_cache_find(&c, 1, 8));
	name_cache_release(&c);
}

/* A text with a NUL in it would be another one when it is looked for. */
TEST(a_text_with_a_nul_is_refused)
{
	static const u64 address = 1;
	CLEANUP(buf_release) struct buf answer = BUF_INIT(4096);
	struct name_cache c;

	name_cache_init(&c, 1 << 20);
	range(&answer, 1, 2, 1);
	frame(&answer, "name", "", 0);
	answer.data[answer.n - 2] = 0;
	CHECK_ERR(name_cache_add(&c, 1, &address, 1, buf_view(&answer)), ERR_CORRUPT);
	name_cache_release(&c);
}

static enum err sweep(void)
{
	static const u64 addresses[] = {1, 2};
	CLEANUP(buf_release) struct buf answer = BUF_INIT(4096);
	struct name_cache c;
	enum err e;

	name_cache_init(&c, 1 << 20);
	range(&answer, 1, 2, 1);
	frame(&answer, "name", "file", 1);
	range(&answer, 2, 3, 0);
	e = buf_error(&answer);
	if (!e)
		e = name_cache_add(&c, 1, addresses, 2, buf_view(&answer));
	if (!e)
		e = name_cache_settle(&c);
	name_cache_release(&c);
	return e;
}

TEST(names_without_memory)
{
	ALLOC_SWEEP(sweep());
}

TEST(the_names_of_our_own_functions)
{
	u8 *memory;
	struct unwind_rule *rules;
	struct wanted_name wanted[2];
	const struct cached_place *p;
	struct table_space space;
	struct name_reader reader;
	struct worker_usage usage;
	u64 lost;
	struct modules *m;
	struct module *module;
	u32 number;
	u64 bias = 0;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind does not know openat2");
		return;
	}
	memory = mem_zalloc(1, UNWIND_SEGMENT_SIZE);
	rules = mem_zalloc(UNWIND_RULES_MAX, sizeof(*rules));
	CHECK(memory && rules);
	CHECK_OK(worker_host_start());
	CHECK_OK(table_space_init(&space, memory, 1));
	CHECK_OK(modules_new(&space, rules, NULL, &m));
	CHECK_OK(modules_use(m, (u32)getpid(), 0, 0, STR("/proc/self/exe"), 1, 0, &number));
	modules_read(m, number);
	while (modules_pending(m)) {
		modules_settle(m);
		clock_sleep_ns(NS_PER_MS);
	}
	module = modules_get(m, number);
	CHECK_INT(module->state, MODULE_READY);
	/* Where the loader put us: entry is the file's word for _start. */
	extern char _start[];

	bias = (u64)(uintptr_t)_start - module->image.entry;
	wanted[0] = (struct wanted_name){.module = number,
					 .address = (u64)(uintptr_t)&find_worker - bias};
	wanted[1] = (struct wanted_name){.module = number, .address = 1};
	CHECK_OK(name_reader_init(&reader, NULL, NULL));
	worker_usage(&usage);
	lost = usage.lost;
	CHECK_OK(name_reader_learn(&reader, m, wanted, 2, clock_monotonic_ns() + 60 * NS_PER_S));
	p = name_cache_find(&reader.cache, module->serial, (u64)(uintptr_t)&find_worker - bias);
	CHECK(p && p->count == 1);
	CHECK(!strcmp(name_cache_text(&reader.cache, reader.cache.names.v[p->first].function),
		      "find_worker"));
	p = name_cache_find(&reader.cache, module->serial, 1);
	CHECK(p && !p->count);
	worker_usage(&usage);
	CHECK(usage.memory > 0);
	/* Killed while nobody looks: another one answers. */
	if (!geteuid())
		CHECK(!kill(find_worker("vestal-names"), SIGKILL));
	wanted[0].address = (u64)(uintptr_t)&world_close - bias;
	CHECK_OK(name_reader_learn(&reader, m, wanted, 1, clock_monotonic_ns() + 60 * NS_PER_S));
	p = name_cache_find(&reader.cache, module->serial, (u64)(uintptr_t)&world_close - bias);
	worker_usage(&usage);
	CHECK(p && p->count == 1 && usage.lost == lost);
	name_reader_release(&reader);
	modules_free(m);
	table_space_release(&space);
	mem_free(memory);
	mem_free(rules);
}

/* ---- files that nobody asks about ---- */

/* A worker of our own, so that it may be told how long a file stays open. */
static pid_t begin_worker(int64_t idle_ns, u64 kept_bytes, int *ret_socket)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (!pid) {
		close(pair[0]);
		worker_serve(pair[1], idle_ns, kept_bytes);
		_exit(0);
	}
	close(pair[1]);
	*ret_socket = pair[0];
	return pid;
}

static bool has_mapped(pid_t pid, const char *path)
{
	CLEANUP(buf_release) struct buf maps = BUF_INIT(4 << 20);
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	if (file_read(name, &maps, NULL) != ERR_OK)
		return false;
	buf_byte(&maps, 0);
	return !buf_error(&maps) && strstr(maps.data, path);
}

/* Its answer about one address. */
static enum err ask_worker(int socket, int fd, u64 serial, u64 address, struct buf *ret)
{
	struct wire_head head = {.kind = WIRE_NAMES, .count = 1, .serial = serial};
	int64_t deadline = clock_monotonic_ns() + 60 * NS_PER_S;
	struct wire_names answer;
	char *to;

	TRY(wire_send_head(socket, &head, fd));
	TRY(wire_send(socket, &address, sizeof(address)));
	TRY(wire_recv(socket, &answer, sizeof(answer), deadline));
	if (answer.error)
		return (enum err)answer.error;
	to = buf_reserve(ret, answer.size);
	TRY(to ? wire_recv(socket, to, answer.size, deadline) : ERR_NO_MEMORY);
	ret->n = answer.size;
	return ERR_OK;
}

static bool all_unmapped(pid_t pid, char paths[2][40])
{
	for (u32 i = 0; i < 6000; i++) {
		if (!has_mapped(pid, paths[0]) && !has_mapped(pid, paths[1]))
			return true;
		clock_sleep_ns(10 * NS_PER_MS);
	}
	return false;
}

TEST(files_that_nobody_asks_about_are_closed_and_can_be_asked_about_again)
{
	CLEANUP(buf_release) struct buf program = BUF_INIT(64 << 20);
	char paths[2][40] = {"/tmp/vestal-idle-XXXXXX", "/tmp/vestal-idle-XXXXXX"};
	struct unwind_image image;
	int fds[2];

	CHECK_OK(file_read("/proc/self/exe", &program, NULL));
	CHECK_OK(unwind_image_read(buf_view(&program), &image, NULL));
	for (u32 i = 0; i < 2; i++) {
		fds[i] = mkstemp(paths[i]);
		CHECK(fds[i] >= 0 && write(fds[i], program.data, program.n) == (ssize_t)program.n);
	}
	/* Kept; idle soon; too large to be kept. */
	for (u32 way = 0; way < 3; way++) {
		CLEANUP(buf_release)
		struct buf first = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
		pid_t pid;
		int socket, status;

		pid = begin_worker(way == 1 ? 50 * NS_PER_MS : 3600 * NS_PER_S,
				   way == 2 ? 0 : UINT64_MAX, &socket);
		CHECK(pid > 0);
		CHECK_OK(ask_worker(socket, fds[0], 1, image.entry, &first));
		CHECK_OK(ask_worker(socket, fds[1], 2, image.entry, &again));
		CHECK(first.n > sizeof(struct wire_range) && first.n == again.n);
		/* Nothing else is said to it: it comes upon that by itself. */
		if (way)
			CHECK(all_unmapped(pid, paths));
		else
			CHECK(has_mapped(pid, paths[0]) && has_mapped(pid, paths[1]));
		buf_clear(&again);
		CHECK_OK(ask_worker(socket, fds[0], 1, image.entry, &again));
		CHECK(first.n == again.n && !memcmp(first.data, again.data, first.n));
		close(socket);
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	}
	for (u32 i = 0; i < 2; i++) {
		close(fds[i]);
		unlink(paths[i]);
	}
}

/* ---- memory while a large file is read ---- */

/* Resident bytes of the mapping of a file. */
static u64 resident_of(pid_t pid, const char *path)
{
	CLEANUP(buf_release) struct buf maps = BUF_INIT(16 << 20);
	struct str rest, line;
	char name[64];
	bool inside = false;
	u64 kib, sum = 0;

	snprintf(name, sizeof(name), "/proc/%d/smaps", (int)pid);
	if (file_read(name, &maps, NULL) != ERR_OK)
		return 0;
	rest = buf_view(&maps);
	while (str_split(&rest, '\n', &line)) {
		size_t colon = str_find(line, ':');

		if (str_find(str_n(line.p, colon), '-') < colon)
			inside = str_ends(line, str_of(path));
		else if (inside && str_starts(line, STR("Rss:"))) {
			line = str_trim(str_skip(line, 4));
			if (!str_to_u64(str_n(line.p, str_find(line, ' ')), 10, &kib))
				sum += kib << 10;
		}
	}
	return sum;
}

static u64 cpu_time_of(pid_t pid)
{
	struct timespec t;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) || clock_gettime(id, &t))
		return 0;
	return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

/* Half a percent of a CPU: the worker sleeps most of the time, in the middle of reading. */
#define SLEEPY	  (5 * NS_PER_MS)
#define READ_SOME (25 * NS_PER_MS)

static pid_t begin_slow_worker(int *ret_socket)
{
	int pair[2];
	pid_t pid;

	worker_pace_share();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	worker_pace_set(WORKER_NAMES, SLEEPY);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		worker_pace_begin(WORKER_NAMES);
		worker_serve(pair[1], 3600 * NS_PER_S, UINT64_MAX);
		_exit(0);
	}
	close(pair[1]);
	*ret_socket = pair[0];
	return pid;
}

/* CPU time of checking its pace; a slice of work takes a millisecond. */
#define NOTHING (NS_PER_MS / 5)

/* Maximum resident bytes of the file, over the samples during which the worker used no CPU time. */
static u64 most_while_asleep(pid_t pid, int socket, const char *path, unsigned *ret_looks)
{
	u64 begun = cpu_time_of(pid), most = 0;

	while (wire_wait(socket, clock_monotonic_ns() + NS_PER_MS) == ERR_TIMEOUT &&
	       cpu_time_of(pid) - begun < READ_SOME) {
		u64 before = cpu_time_of(pid), resident;

		/* It has begun to read, and now sleeps. */
		clock_sleep_ns(10 * NS_PER_MS);
		if (before - begun < 2 * NS_PER_MS || cpu_time_of(pid) - before > NOTHING)
			continue;
		resident = resident_of(pid, path);
		if (cpu_time_of(pid) - before > NOTHING)
			continue;
		most = resident > most ? resident : most;
		(*ret_looks)++;
	}
	return most;
}

TEST(a_worker_gives_the_pages_of_a_large_file_back_while_it_sleeps)
{
	CLEANUP(buf_release) struct buf program = BUF_INIT(64 << 20);
	char path[40] = "/tmp/vestal-large-XXXXXX";
	struct wire_head head = {.kind = WIRE_NAMES, .count = 1000, .serial = 1};
	struct unwind_image image;
	struct wire_names answer;
	u64 addresses[1000];
	unsigned looks = 0;
	int fd, socket;
	enum err e;
	pid_t pid;
	u64 most;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind does not interrupt what it runs");
		return;
	}
	CHECK_OK(file_read("/proc/self/exe", &program, NULL));
	CHECK_OK(unwind_image_read(buf_view(&program), &image, NULL));
	fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, program.data, program.n) == (ssize_t)program.n);
	for (u32 i = 0; i < 1000; i++)
		addresses[i] = image.entry + (u64)i * 300;
	pid = begin_slow_worker(&socket);
	CHECK(pid > 0);
	e = wire_send_head(socket, &head, fd);
	if (!e)
		e = wire_send(socket, addresses, sizeof(addresses));
	most = most_while_asleep(pid, socket, path, &looks);
	worker_pace_set(WORKER_NAMES, 0);
	if (!e)
		e = wire_recv(socket, &answer, sizeof(answer),
			      clock_monotonic_ns() + 60 * NS_PER_S);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(socket);
	close(fd);
	unlink(path);
	CHECK_OK(e);
	CHECK_OK((enum err)answer.error);
	CHECK(looks);
	CHECK(most <= (u64)512 << 10);
}
