#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

/* A folder of its own per test, gone at its end. */
struct place {
	char folder[100];
	char path[140];
};

static struct place place_new(void)
{
	const char *tmp = getenv("TMPDIR");
	struct place p;

	snprintf(p.folder, sizeof(p.folder), "%.60s/vestal-file-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(p.folder))
		abort();
	snprintf(p.path, sizeof(p.path), "%s/target", p.folder);
	return p;
}

static int entries(const char *folder)
{
	DIR *d = opendir(folder);
	int n = -2; /* . and .. */

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void place_release(struct place *p)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf '%s'", p->folder);
	if (system(command))
		abort();
}

static bool holds(const char *path, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(10000);

	return file_read(path, &b, NULL) == ERR_OK && str_eq(buf_view(&b), str_of(text));
}

static bool mentions(const struct fault *f, const char *text)
{
	return strstr(f->text, text) != NULL;
}

TEST(a_file_is_read_whole)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(buf_release) struct buf b = BUF_INIT(300000), back = BUF_INIT(300000);

	for (int i = 0; i < 200000; i++)
		buf_byte(&b, (unsigned char)(i * 7));
	CHECK_OK(file_write(p.path, buf_view(&b), 0, NULL));
	CHECK_OK(file_read(p.path, &back, NULL));
	CHECK(str_eq(buf_view(&b), buf_view(&back)));
	CHECK(back.data[back.n] == '\0');
	CHECK(back.cap < 210000);
	buf_release(&back);
}

TEST(reading_appends_to_what_is_there)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(buf_release) struct buf b = BUF_INIT(100);

	CHECK_OK(file_write(p.path, STR("two"), 0, NULL));
	buf_text(&b, "one ");
	CHECK_OK(file_read(p.path, &b, NULL));
	CHECK_STR(buf_view(&b), "one two");
}

TEST(a_file_of_exactly_the_ceiling_is_read_and_one_byte_more_refused)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(buf_release) struct buf exact = BUF_INIT(5), less = BUF_INIT(4);
	struct fault f = {0};

	CHECK_OK(file_write(p.path, STR("12345"), 0, NULL));
	CHECK_OK(file_read(p.path, &exact, NULL));
	CHECK_ERR(file_read(p.path, &less, &f), ERR_TOO_LARGE);
	CHECK(mentions(&f, p.path) && mentions(&f, "4 bytes"));
	CHECK(less.n == 0 && !less.error);
	buf_release(&less);
}

TEST(a_file_that_says_nothing_of_its_size_is_read)
{
	CLEANUP(buf_release)
	struct buf b = BUF_INIT(1 << 20), none = BUF_INIT(100), small = BUF_INIT(10);

	CHECK_OK(file_read("/proc/self/maps", &b, NULL));
	CHECK(b.n > 100 && str_search(buf_view(&b), STR("test_file")) < b.n);
	CHECK_OK(file_read("/dev/null", &none, NULL));
	CHECK_INT(none.n, 0);
	CHECK_ERR(file_read("/proc/self/maps", &small, NULL), ERR_TOO_LARGE);
	CHECK_ERR(file_read("/dev/zero", &small, NULL), ERR_TOO_LARGE);
	CHECK_INT(small.n, 0);
	buf_release(&none);
	buf_release(&small);
}

static void *feed(void *fd)
{
	char piece[1000];

	memset(piece, 'p', sizeof(piece));
	for (int i = 0; i < 300; i++)
		if (write_all(*(int *)fd, piece, sizeof(piece)))
			break;
	close(*(int *)fd);
	return NULL;
}

TEST(a_pipe_is_read_to_its_end)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(300000);
	pthread_t feeder;
	int ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	CHECK(pthread_create(&feeder, NULL, feed, &ends[1]) == 0);
	CHECK_OK(file_read_fd(ends[0], "standard input", &b, NULL));
	pthread_join(feeder, NULL);
	close(ends[0]);
	CHECK_INT(b.n, 300000);
}

TEST(faults_of_reading_name_the_path_and_the_reason)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100);
	struct fault f = {0};

	CHECK_ERR(file_read("/no/such/file", &b, &f), ERR_NOT_FOUND);
	CHECK(mentions(&f, "/no/such/file") && mentions(&f, "no such file"));
	CHECK_ERR(file_read("/proc", &b, &f), ERR_BAD_ARGUMENT);
	CHECK(mentions(&f, "directory"));
	CHECK_ERR(file_read_fd(-1, "standard input", &b, &f), ERR_IO);
	CHECK(mentions(&f, "standard input"));
}

TEST(a_file_appears_only_when_it_is_complete)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(output_release) struct output o = {0};

	CHECK_OK(output_open(&o, p.path, 0, NULL));
	CHECK_OK(output_write(&o, STR("half "), NULL));
	CHECK(access(p.path, F_OK) < 0);
	CHECK_INT(entries(p.folder), 1);
	CHECK_OK(output_write(&o, STR("whole"), NULL));
	CHECK_OK(output_commit(&o, NULL));
	CHECK(holds(p.path, "half whole"));
	CHECK_INT(entries(p.folder), 1);
}

TEST(a_dropped_output_leaves_nothing)
{
	CLEANUP(place_release) struct place p = place_new();
	struct output o = {0};

	CHECK_OK(output_open(&o, p.path, 0, NULL));
	CHECK_OK(output_write(&o, STR("x"), NULL));
	output_release(&o);
	output_release(&o);
	output_release(NULL);
	CHECK_INT(entries(p.folder), 0);
	CHECK_ERR(output_write(&o, STR("x"), NULL), ERR_INTERNAL);
	CHECK_ERR(output_commit(&o, NULL), ERR_INTERNAL);
}

TEST(an_existing_file_is_kept_without_force)
{
	CLEANUP(place_release) struct place p = place_new();
	struct fault f = {0};

	CHECK_OK(file_write(p.path, STR("old"), 0, NULL));
	CHECK_ERR(file_write(p.path, STR("new"), 0, &f), ERR_EXISTS);
	CHECK(mentions(&f, p.path) && mentions(&f, "-f"));
	CHECK(holds(p.path, "old"));
	CHECK_OK(file_write(p.path, STR("new"), OUTPUT_FORCE, NULL));
	CHECK(holds(p.path, "new"));
	CHECK_INT(entries(p.folder), 1);
}

TEST(a_file_that_appears_meanwhile_is_not_overwritten)
{
	CLEANUP(place_release) struct place p = place_new();
	CLEANUP(output_release) struct output o = {0};

	CHECK_OK(output_open(&o, p.path, 0, NULL));
	CHECK_OK(output_write(&o, STR("ours"), NULL));
	CHECK_OK(file_write(p.path, STR("theirs"), 0, NULL));
	CHECK_ERR(output_commit(&o, NULL), ERR_EXISTS);
	CHECK(holds(p.path, "theirs"));
	CHECK_INT(entries(p.folder), 1);
}

TEST(replacing_keeps_the_mode_and_a_new_file_obeys_the_umask)
{
	CLEANUP(place_release) struct place p = place_new();
	mode_t before = umask(027);
	struct stat st = {0};

	CHECK_OK(file_write(p.path, STR("x"), OUTPUT_NO_SYNC, NULL));
	CHECK(stat(p.path, &st) == 0 && (st.st_mode & 0777) == 0640);
	CHECK(chmod(p.path, 0604) == 0);
	CHECK_OK(file_write(p.path, STR("y"), OUTPUT_FORCE, NULL));
	umask(before);
	CHECK(stat(p.path, &st) == 0 && (st.st_mode & 0777) == 0604);
}

TEST(a_symbolic_link_stays_and_its_file_is_replaced)
{
	CLEANUP(place_release) struct place p = place_new();
	char link_path[160];
	struct stat st;

	snprintf(link_path, sizeof(link_path), "%s/link", p.folder);
	CHECK_OK(file_write(p.path, STR("old"), 0, NULL));
	CHECK(symlink("target", link_path) == 0);
	CHECK_ERR(file_write(link_path, STR("new"), 0, NULL), ERR_EXISTS);
	CHECK_OK(file_write(link_path, STR("new"), OUTPUT_FORCE, NULL));
	CHECK(lstat(link_path, &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(holds(p.path, "new"));
}

TEST(devices_are_written_in_place)
{
	CLEANUP(output_release) struct output o = {0};

	CHECK_OK(file_write("/dev/null", STR("x"), 0, NULL));
	CHECK_ERR(file_write("/dev/full", STR("x"), 0, NULL), ERR_NO_SPACE);
	CHECK(access("/dev/full", F_OK) == 0);
	CHECK_OK(output_open(&o, "/dev/null", 0, NULL));
	CHECK_OK(output_commit(&o, NULL));
}

TEST(faults_of_writing_say_what_can_be_done)
{
	CLEANUP(place_release) struct place p = place_new();
	char deep[200];
	char *longer = NULL;
	struct fault f = {0};

	snprintf(deep, sizeof(deep), "%s/none/target", p.folder);
	CHECK_ERR(file_write(deep, STR("x"), 0, &f), ERR_NOT_FOUND);
	CHECK(mentions(&f, deep) && mentions(&f, "directory does not exist"));
	CHECK_ERR(file_write(p.folder, STR("x"), 0, &f), ERR_BAD_ARGUMENT);
	CHECK(mentions(&f, "is a directory"));
	longer = mem_zalloc(1, 5000);
	CHECK(longer);
	memset(longer, 'x', 4999);
	f.code = ERR_OK;
	if (file_write(longer, STR("x"), 0, &f) == ERR_OK || f.code == ERR_OK)
		test_fail(__FILE__, __LINE__, "a name of 4999 bytes was accepted");
	mem_free(longer);
}

/* The largest file a process may make is a disk that can be filled without root. */
TEST(a_write_that_does_not_fit_leaves_nothing)
{
	CLEANUP(place_release) struct place p = place_new();
	struct rlimit before, small;
	struct fault f = {0};
	static char bytes[100000];
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	enum err e;

	CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
	small = before;
	small.rlim_cur = 5000;
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	e = file_write(p.path, str_n(bytes, sizeof(bytes)), 0, &f);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, handler);
	CHECK_ERR(e, ERR_TOO_LARGE);
	CHECK(mentions(&f, p.path));
	CHECK_INT(entries(p.folder), 0);
}

TEST(a_full_disk_leaves_the_old_file_and_nothing_else)
{
	CLEANUP(place_release) struct place p = place_new();
	static char bytes[200000];
	struct fault f = {0};
	enum err e;
	bool kept;
	int left;

	if (mount("none", p.folder, "tmpfs", 0, "size=64k") < 0) {
		test_skip("needs the right to mount a small tmpfs");
		return;
	}
	e = file_write(p.path, STR("old"), 0, NULL);
	if (!e)
		e = file_write(p.path, str_n(bytes, sizeof(bytes)), OUTPUT_FORCE, &f);
	kept = holds(p.path, "old");
	left = entries(p.folder);
	umount2(p.folder, MNT_DETACH);
	CHECK_ERR(e, ERR_NO_SPACE);
	CHECK(mentions(&f, "no space left") && kept && left == 1);
}

static void clean_up_and_die(int signal_number)
{
	output_abort_all();
	_exit(128 + signal_number);
}

TEST(a_signal_handler_removes_unfinished_files)
{
	CLEANUP(place_release) struct place p = place_new();
	int ends[2], status = 0;
	char ready;
	pid_t child;

	CHECK(pipe(ends) == 0);
	child = fork();
	if (child == 0) {
		struct output a, b;
		char other[160];

		signal(SIGINT, clean_up_and_die);
		snprintf(other, sizeof(other), "%s/other", p.folder);
		if (output_open(&a, p.path, 0, NULL) || output_open(&b, other, 0, NULL) ||
		    output_write(&a, STR("x"), NULL) || write(ends[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(read(ends[0], &ready, 1) == 1);
	CHECK_INT(entries(p.folder), 2);
	kill(child, SIGINT);
	CHECK(waitpid(child, &status, 0) == child);
	close(ends[0]);
	close(ends[1]);
	CHECK_INT(WEXITSTATUS(status), 128 + SIGINT);
	CHECK_INT(entries(p.folder), 0);
}

TEST(more_outputs_than_the_table_holds_are_refused)
{
	CLEANUP(place_release) struct place p = place_new();
	static struct output outputs[17];
	enum err last = ERR_OK;
	char path[160];

	for (int i = 0; i < 17; i++) {
		snprintf(path, sizeof(path), "%s/%d", p.folder, i);
		last = output_open(&outputs[i], path, 0, NULL);
		if (i < 16)
			CHECK_OK(last);
	}
	for (int i = 0; i < 17; i++)
		output_release(&outputs[i]);
	CHECK_ERR(last, ERR_TABLE_FULL);
	CHECK_INT(entries(p.folder), 0);
	CHECK_OK(file_write(p.path, STR("x"), 0, NULL));
}

static enum err read_and_write(const char *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	TRY(file_read("/proc/self/status", &b, NULL));
	TRY(file_write(path, buf_view(&b), OUTPUT_FORCE | OUTPUT_NO_SYNC, NULL));
	return file_read(path, &b, NULL);
}

TEST(files_survive_every_failing_allocation)
{
	CLEANUP(place_release) struct place p = place_new();

	ALLOC_SWEEP(read_and_write(p.path));
}
