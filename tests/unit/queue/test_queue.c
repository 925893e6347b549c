#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "queue/queue.h"

#define ROOM 65536

struct place {
	char folder[100], queue[120];
};

static struct place place_new(void)
{
	const char *tmp = getenv("TMPDIR");
	struct place p;

	snprintf(p.folder, sizeof(p.folder), "%.60s/vestal-queue-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(p.folder))
		abort();
	snprintf(p.queue, sizeof(p.queue), "%s/a/q", p.folder);
	return p;
}

static void place_release(struct place *p)
{
	char command[160], mounted[120];

	snprintf(mounted, sizeof(mounted), "%s/small", p->folder);
	(void)umount2(mounted, MNT_DETACH);
	snprintf(command, sizeof(command), "rm -rf '%s'", p->folder);
	if (system(command))
		abort();
}

static void close_ptr(struct queue **q)
{
	queue_close(*q);
}

static struct queue *open_queue(const char *directory, size_t bytes, size_t memory, size_t entries)
{
	struct queue_options o = {.directory = directory,
				  .max_bytes = bytes,
				  .max_memory = memory,
				  .max_entries = entries};
	struct queue *q = NULL;
	struct fault fault = {0};

	if (queue_open(&o, &q, &fault) != ERR_OK)
		test_fail(__FILE__, __LINE__, "%s", fault.text);
	return q;
}

/* Takes the oldest and finishes it; "" when there is none. */
static const char *next(struct queue *q)
{
	static char text[ROOM];
	CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
	uint64_t id;

	if (queue_take(q, &b, &id) != ERR_OK)
		return "";
	queue_done(q, id);
	snprintf(text, sizeof(text), "%.*s", (int)b.n, b.data ? b.data : "");
	return text;
}

static enum err push(struct queue *q, const char *text)
{
	return queue_push(q, str_of(text));
}

/* The path of the i-th file of the directory, by name. */
static bool file_at(const struct place *p, int i, char path[400])
{
	struct dirent **names = NULL;
	int n = scandir(p->queue, &names, NULL, alphasort);
	bool found = n > i + 2;

	if (found)
		snprintf(path, 400, "%s/%s", p->queue, names[i + 2]->d_name);
	for (int k = 0; k < n; k++)
		free(names[k]);
	free(names);
	return found;
}

TEST(entries_come_out_in_order_also_after_a_restart)
{
	CLEANUP(place_release) struct place p = place_new();
	struct queue_stats stats;

	{
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);

		CHECK(q && queue_is_empty(q));
		CHECK_OK(push(q, "one"));
		CHECK_OK(push(q, "two"));
		CHECK(!strcmp(next(q), "one"));
		CHECK_OK(push(q, "three"));
	}
	{
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);

		CHECK(q && !queue_is_empty(q));
		CHECK_OK(push(q, "four"));
		queue_stats(q, &stats);
		CHECK(stats.entries == 3 && stats.bytes == 3 * 32 + 12);
		CHECK(!strcmp(next(q), "two"));
		CHECK(!strcmp(next(q), "three"));
		CHECK(!strcmp(next(q), "four"));
		CHECK(!strcmp(next(q), ""));
		queue_stats(q, &stats);
		CHECK(stats.entries == 0 && stats.bytes == 0 && !stats.dropped && !stats.damaged);
	}
	char path[400];

	CHECK(!file_at(&p, 0, path));
}

TEST(what_is_put_back_comes_first_again_and_twice_taken_are_two)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);
	CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
	uint64_t first, second;

	CHECK(q);
	CHECK_OK(push(q, "one"));
	CHECK_OK(push(q, "two"));
	CHECK_OK(queue_take(q, &b, &first));
	CHECK_OK(queue_take(q, &b, &second));
	CHECK(str_eq(buf_view(&b), STR("onetwo")) && first != second);
	queue_put_back(q, first);
	CHECK(!strcmp(next(q), "one"));
	queue_put_back(q, second);
	CHECK(!strcmp(next(q), "two"));
	CHECK(queue_is_empty(q));
}

TEST(the_oldest_is_dropped_by_bytes_and_by_entries)
{
	CLEANUP(place_release) struct place p = place_new();
	struct queue_stats stats;

	{
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, 3 * 40, 0, 100);

		CHECK(q);
		for (int i = 0; i < 5; i++)
			CHECK_OK(queue_push(
				q, str_n(&"aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee"[i * 8], 8)));
		queue_stats(q, &stats);
		CHECK(stats.dropped == 2 && stats.entries == 3 && stats.bytes == 120);
		CHECK_ERR(queue_push(q, str_n("01234567890123456789012345678901234567890123456789"
					      "01234567890123456789012345678901234567890123456789",
					      100)),
			  ERR_TOO_LARGE);
		queue_stats(q, &stats);
		CHECK(stats.dropped == 3 && stats.entries == 3);
	}
	{
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 2);

		CHECK(q);
		queue_stats(q, &stats);
		CHECK(stats.dropped == 1 && stats.entries == 2);
		CHECK_OK(push(q, "ffffffff"));
		CHECK(!strcmp(next(q), "eeeeeeee"));
		CHECK(!strcmp(next(q), "ffffffff"));
	}
}

TEST(the_one_being_sent_is_not_dropped)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 2);
	CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
	uint64_t id;

	CHECK(q);
	CHECK_OK(push(q, "one"));
	CHECK_OK(push(q, "two"));
	CHECK_OK(queue_take(q, &b, &id));
	CHECK_OK(push(q, "three"));
	queue_put_back(q, id);
	CHECK(!strcmp(next(q), "one"));
	CHECK(!strcmp(next(q), "three"));
}

/* Every way to cut a file, and a flip of every byte: never handed out, counted, the next comes. */
TEST(cut_and_changed_entries_are_left_out)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(buf_release) struct buf whole = BUF_INIT(ROOM);
	char path[400];

	{
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);

		CHECK(q);
		CHECK_OK(push(q, "the first of two"));
		CHECK_OK(push(q, "second"));
	}
	CHECK(file_at(&p, 0, path));
	CHECK_OK(file_read(path, &whole, NULL));
	CHECK(whole.n == 48);
	for (size_t i = 0; i < 2 * whole.n; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
		struct queue_stats stats;
		bool cut = i < whole.n;

		buf_append(&b, whole.data, cut ? i : whole.n);
		if (!cut)
			b.data[i - whole.n] ^= 0x10;
		CHECK_OK(file_write(path, buf_view(&b), OUTPUT_FORCE | OUTPUT_NO_SYNC, NULL));
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);
		uint64_t id;

		CHECK(q);
		buf_clear(&b);
		CHECK_OK(queue_take(q, &b, &id));
		CHECK(str_eq(buf_view(&b), STR("second")));
		queue_stats(q, &stats);
		CHECK(stats.damaged == 1 && stats.entries == 1);
		CHECK(access(path, F_OK) != 0);
	}
	/* And one that is longer than it says. */
	buf_text(&whole, "x");
	CHECK_OK(file_write(path, buf_view(&whole), 0, NULL));
	CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);

	CHECK(q && !strcmp(next(q), "second"));
}

TEST(what_is_no_entry_is_left_alone_and_unfinished_ones_go)
{
	CLEANUP(place_release) struct place p = place_new();
	char path[400];

	queue_close(open_queue(p.queue, ROOM, 0, 100));
	for (int i = 0; i < 6; i++) {
		static const char *const names[] = {
			"README",  "0000000000000001.new",   "000000000000000G.entry",
			"1.entry", "ffffffffffffffff.entry", ".entry"};

		snprintf(path, sizeof(path), "%s/%s", p.queue, names[i]);
		CHECK_OK(file_write(path, STR("x"), 0, NULL));
	}
	/* A link and a pipe with the name of an entry. */
	snprintf(path, sizeof(path), "%s/0000000000000005.entry", p.queue);
	CHECK(!symlink("/etc/passwd", path));
	snprintf(path, sizeof(path), "%s/0000000000000006.entry", p.queue);
	CHECK(!mkfifo(path, 0600));
	CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);

	CHECK(q && queue_is_empty(q));
	CHECK_OK(push(q, "mine"));
	CHECK(!strcmp(next(q), "mine"));
	CHECK(!file_at(&p, 7, path) && file_at(&p, 6, path));
	snprintf(path, sizeof(path), "%s/0000000000000001.new", p.queue);
	CHECK(access(path, F_OK));
}

TEST(nobody_else_reads_it)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(close_ptr) struct queue *q = NULL;
	struct stat st;
	char path[400];

	umask(0);
	q = open_queue(p.queue, ROOM, 0, 100);
	CHECK(q);
	CHECK_OK(push(q, "one"));
	CHECK(!stat(p.queue, &st) && (st.st_mode & 07777) == 0700);
	CHECK(file_at(&p, 0, path) && !stat(path, &st) && (st.st_mode & 07777) == 0600);
	queue_close(q);
	q = NULL;
	CHECK(!chmod(p.queue, 0777));
	q = open_queue(p.queue, ROOM, 0, 100);
	umask(022);
	CHECK(q && !stat(p.queue, &st) && (st.st_mode & 07777) == 0700);
}

TEST(links_other_owners_and_second_users_are_refused)
{
	CLEANUP(place_release) struct place p = place_new();
	struct queue_options o = {
		.directory = p.queue, .max_bytes = ROOM, .max_memory = 0, .max_entries = 100};
	CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 0, 100);
	struct queue *other = NULL;
	struct fault fault = {0};
	char link[140];

	CHECK(q);
	CHECK_ERR(queue_open(&o, &other, &fault), ERR_BUSY);
	CHECK(strstr(fault.text, "in use by another agent"));
	snprintf(link, sizeof(link), "%s/link", p.folder);
	CHECK(!symlink(p.queue, link));
	o.directory = link;
	CHECK_ERR(queue_open(&o, &other, &fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "link"));
	snprintf(link, sizeof(link), "%s/file", p.folder);
	CHECK_OK(file_write(link, STR("x"), 0, NULL));
	CHECK_ERR(queue_open(&o, &other, &fault), ERR_BAD_ARGUMENT);
	o.directory = "";
	CHECK_ERR(queue_open(&o, &other, &fault), ERR_BAD_ARGUMENT);
	if (geteuid()) {
		test_skip("the owner of a directory is changed by root alone");
		return;
	}
	queue_close(q);
	q = NULL;
	CHECK(!chown(p.queue, 1, 1));
	o.directory = p.queue;
	CHECK_ERR(queue_open(&o, &other, &fault), ERR_NO_PERMISSION);
	CHECK(strstr(fault.text, "another user"));
}

/* A limit on the size of files stands for a disk that is full. */
TEST(a_full_disk_means_memory_and_the_disk_again_when_it_has_room)
{
	CLEANUP(place_release) struct place p = place_new();
	struct rlimit was, small;
	struct queue_stats stats;

	signal(SIGXFSZ, SIG_IGN);
	CHECK(!getrlimit(RLIMIT_FSIZE, &was));
	small = was;
	small.rlim_cur = 40;
	{
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 50, 100);

		CHECK(q);
		CHECK_OK(push(q, "small"));
		CHECK(!setrlimit(RLIMIT_FSIZE, &small));
		for (int i = 0; i < 3; i++) {
			char text[30];

			snprintf(text, sizeof(text), "larger than forty, %d", i);
			CHECK_OK(push(q, text));
		}
		CHECK(!setrlimit(RLIMIT_FSIZE, &was));
		queue_stats(q, &stats);
		CHECK(stats.disk_faults == 3 && stats.last_disk_fault != ERR_OK);
		CHECK(stats.entries == 1 && stats.memory_entries == 2);
		CHECK(stats.memory_bytes == 40 && stats.dropped == 1);
		CHECK_OK(push(q, "there is room"));
		queue_stats(q, &stats);
		CHECK(stats.entries == 4 && stats.memory_entries == 0 && !stats.memory_bytes);
		CHECK(stats.last_disk_fault == ERR_OK);
	}
	CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, ROOM, 50, 100);

	CHECK(q && !strcmp(next(q), "small"));
	CHECK(!strcmp(next(q), "larger than forty, 1"));
	CHECK(!strcmp(next(q), "larger than forty, 2"));
	CHECK(!strcmp(next(q), "there is room"));
	CHECK(!strcmp(next(q), ""));
}

TEST(a_file_system_that_is_full_takes_no_half_entries)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
	struct queue_stats stats;
	char path[400];

	snprintf(path, sizeof(path), "%s/small", p.folder);
	CHECK(!mkdir(path, 0700));
	if (mount("none", path, "tmpfs", 0, "size=64k")) {
		test_skip("needs to mount");
		return;
	}
	for (int i = 0; i < 10000; i++)
		buf_byte(&b, (unsigned char)i);
	{
		CLEANUP(close_ptr) struct queue *q = open_queue(path, 1 << 20, 1 << 20, 100);

		for (int i = 0; q && i < 12; i++)
			CHECK_OK(queue_push(q, buf_view(&b)));
		queue_stats(q, &stats);
		CHECK(stats.entries + stats.memory_entries == 12 && stats.disk_faults);
		CHECK(stats.last_disk_fault == ERR_NO_SPACE);
		for (int i = 0; i < 12; i++) {
			CLEANUP(buf_release) struct buf one = BUF_INIT(ROOM);
			uint64_t id;

			CHECK_OK(queue_take(q, &one, &id));
			CHECK(str_eq(buf_view(&one), buf_view(&b)));
			queue_done(q, id);
		}
		queue_stats(q, &stats);
		CHECK(!stats.damaged && !stats.dropped);
	}
}

TEST(without_a_directory_it_is_memory)
{
	CLEANUP(close_ptr) struct queue *q = open_queue(NULL, 0, 10, 100);
	struct queue_stats stats;

	CHECK(q);
	CHECK_OK(push(q, "aaaa"));
	CHECK_OK(push(q, "bbbb"));
	CHECK_OK(push(q, "cccc"));
	queue_stats(q, &stats);
	CHECK(stats.dropped == 1 && stats.memory_bytes == 8 && !stats.disk_faults);
	CHECK(!strcmp(next(q), "bbbb"));
	CHECK(!strcmp(next(q), "cccc"));
	CHECK_ERR(push(q, "much too long"), ERR_TOO_LARGE);
}

/* A child pushes entries of every size and is killed; what is found is whole and in order. */
TEST(kill_at_any_moment_leaves_whole_entries)
{
	CLEANUP(place_release) struct place p = place_new();

	for (int round = 0; round < 20; round++) {
		pid_t child = fork();

		if (!child) {
			struct queue *q = open_queue(p.queue, 1 << 20, 0, 100000);
			char text[3000];

			for (unsigned i = 0;; i++) {
				if (!q)
					_exit(1);
				memset(text, 'a' + (int)(i % 26), sizeof(text));
				if (queue_push(q, str_n(text, i * 37 % sizeof(text))))
					_exit(1);
				if (i % 3 == 0)
					next(q);
			}
		}
		usleep(2000 + (useconds_t)round * 1500);
		kill(child, SIGKILL);
		CHECK(waitpid(child, NULL, 0) == child);
		CLEANUP(close_ptr) struct queue *q = open_queue(p.queue, 1 << 20, 0, 100000);
		struct queue_stats stats;

		CHECK(q);
		for (;;) {
			CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
			uint64_t id;

			if (queue_take(q, &b, &id) != ERR_OK)
				break;
			for (size_t i = 1; i < b.n; i++)
				CHECK(b.data[i] == b.data[0]);
			queue_done(q, id);
		}
		queue_stats(q, &stats);
		CHECK(!stats.damaged);
	}
}

static enum err use(const struct place *p)
{
	struct queue_options o = {
		.directory = p->queue, .max_bytes = ROOM, .max_memory = ROOM, .max_entries = 100};
	CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
	struct queue *q = NULL;
	uint64_t id;
	enum err e;

	TRY(queue_open(&o, &q, NULL));
	e = queue_push(q, STR("one"));
	if (!e)
		e = queue_push(q, STR("two"));
	if (!e)
		e = queue_take(q, &b, &id);
	if (!e)
		queue_done(q, id);
	queue_close(q);
	return e;
}

static enum err use_memory(void)
{
	struct queue_options o = {
		.directory = NULL, .max_bytes = 0, .max_memory = ROOM, .max_entries = 100};
	CLEANUP(buf_release) struct buf b = BUF_INIT(ROOM);
	struct queue *q = NULL;
	uint64_t id;
	enum err e;

	TRY(queue_open(&o, &q, NULL));
	e = queue_push(q, STR("one"));
	if (!e)
		e = queue_take(q, &b, &id);
	queue_close(q);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(place_release) struct place p = place_new();

	queue_close(open_queue(p.queue, ROOM, ROOM, 100));
	ALLOC_SWEEP(use(&p));
	ALLOC_SWEEP(use_memory());
}
