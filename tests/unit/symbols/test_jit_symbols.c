#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "symbols/symbols.h"
#include "test.h"

static int temporary(void)
{
	char path[] = "/tmp/vestal-jit-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	unlink(path);
	return fd;
}

static bool put(int fd, const char *text)
{
	return write_all(fd, text, strlen(text)) == ERR_OK;
}

static bool is(const struct jit_symbols *j, uint64_t address, const char *name)
{
	struct symbol_frame f;

	if (!jit_symbols_find(j, address, &f))
		return !name;
	return name && strcmp(f.function, name) == 0;
}

TEST(later_lines_of_a_perf_map_win_and_growth_is_followed)
{
	struct jit_symbols *j = NULL;
	int fd = temporary();
	bool good;

	CHECK(fd >= 0);
	CHECK_OK(jit_symbols_new((size_t)1 << 20, &j));
	good = put(fd, "1000 100 LazyCompile:~first file.js:1\n"
		       "1080 10 inner\n"
		       "not a line\nffffffffffffffff 10 wraps\n2000 0 empty\n"
		       "0x3000 0x20 with prefix\n4000 10 half");
	good &= jit_symbols_read_map_fd(j, fd) == ERR_OK;
	good &= is(j, 0x1000, "LazyCompile:~first file.js:1") && is(j, 0x108f, "inner");
	good &= is(j, 0x1090, "LazyCompile:~first file.js:1") && is(j, 0x1100, NULL);
	good &= is(j, 0x301f, "with prefix") && is(j, 0x4000, NULL) && is(j, 0x2000, NULL);
	good &= put(fd, " of a name\n1000 40 again\n");
	good &= jit_symbols_read_map_fd(j, fd) == ERR_OK;
	good &= is(j, 0x4001, "half of a name") && is(j, 0x103f, "again") && is(j, 0x1085, "inner");
	close(fd);
	jit_symbols_free(j);
	CHECK(good);
}

static void u32(struct buf *b, uint32_t v)
{
	buf_append(b, &v, sizeof(v));
}

static void u64(struct buf *b, uint64_t v)
{
	buf_append(b, &v, sizeof(v));
}

static void head(struct buf *b)
{
	u32(b, 0x4a695444);
	u32(b, 1);
	u32(b, 40);
	u32(b, 62);
	u32(b, 0);
	u32(b, 1);
	u64(b, 0);
	u64(b, 0);
}

static void load(struct buf *b, uint64_t address, const char *name)
{
	u32(b, 0);
	u32(b, (uint32_t)(16 + 40 + strlen(name) + 1 + 32));
	u64(b, 1);
	u32(b, 1);
	u32(b, 1);
	u64(b, address);
	u64(b, address);
	u64(b, 32);
	u64(b, 1);
	buf_append(b, name, strlen(name) + 1);
	buf_append(b, (char[32]){0}, 32);
}

static void lines(struct buf *b, uint64_t address)
{
	u32(b, 2);
	u32(b, 16 + 16 + 16 + 8 + 16 + 2);
	u64(b, 1);
	u64(b, address);
	u64(b, 2);
	u64(b, address);
	u32(b, 10);
	u32(b, 0);
	buf_append(b, "file.jl", 8);
	u64(b, address + 16);
	u32(b, 12);
	u32(b, 0);
	buf_append(b, "\xff", 2);
}

static void move(struct buf *b, uint64_t from, uint64_t to)
{
	u32(b, 1);
	u32(b, 16 + 48);
	u64(b, 1);
	u32(b, 1);
	u32(b, 1);
	u64(b, to);
	u64(b, from);
	u64(b, to);
	u64(b, 32);
	u64(b, 1);
}

static bool line_is(const struct jit_symbols *j, uint64_t address, const char *name, uint32_t line)
{
	struct symbol_frame f;

	return jit_symbols_find(j, address, &f) && strcmp(f.function, name) == 0 &&
	       f.line == line && strcmp(f.file, line ? "file.jl" : "") == 0;
}

TEST(a_jitdump_gives_names_lines_and_moves)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(65536);
	struct jit_symbols *j = NULL;
	int fd = temporary();
	bool good;

	CHECK_OK(jit_symbols_new((size_t)1 << 20, &j));
	head(&b);
	lines(&b, 0x7000);
	load(&b, 0x7000, "julia_f");
	load(&b, 0x8000, "plain");
	move(&b, 0x7000, 0x9000);
	good = write_all(fd, b.data, b.n - 5) == ERR_OK;
	good &= jit_symbols_read_dump_fd(j, fd) == ERR_OK;
	good &= line_is(j, 0x7001, "julia_f", 10) && line_is(j, 0x7010, "julia_f", 12);
	good &= line_is(j, 0x8001, "plain", 0) && is(j, 0x9000, NULL);
	good &= write_all(fd, b.data + b.n - 5, 5) == ERR_OK;
	good &= jit_symbols_read_dump_fd(j, fd) == ERR_OK;
	good &= line_is(j, 0x901f, "julia_f", 12) && is(j, 0x9020, NULL);
	close(fd);
	jit_symbols_free(j);
	CHECK(good);
}

TEST(what_is_no_jitdump_is_refused)
{
	struct jit_symbols *j = NULL;
	int fd = temporary();
	bool good = put(fd, "this is text that is longer than the head of a jitdump");

	CHECK_OK(jit_symbols_new((size_t)1 << 20, &j));
	good &= jit_symbols_read_dump_fd(j, fd) == ERR_UNKNOWN_FORMAT;
	close(fd);
	jit_symbols_free(j);
	CHECK(good);
	CHECK(jit_is_dump("/home/u/.debug/jit/x/jit-42.dump"));
	CHECK(!jit_is_dump("/tmp/jit-.dump") && !jit_is_dump("/tmp/jit-x.dump") &&
	      !jit_is_dump("perf-1.map"));
}

TEST(memory_for_names_has_a_ceiling)
{
	struct jit_symbols *j = NULL;
	int fd = temporary();
	bool good = true;
	char line[64];

	CHECK_OK(jit_symbols_new(4096, &j));
	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "%x 10 name%d\n", 0x1000 + i * 16, i);
		good &= put(fd, line);
	}
	good &= jit_symbols_read_map_fd(j, fd) == ERR_TOO_LARGE;
	good &= is(j, 0x1000, "name0");
	close(fd);
	jit_symbols_free(j);
	CHECK(good);
}

static enum err read_both(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(65536);
	struct jit_symbols *j = NULL;
	enum err error = jit_symbols_new((size_t)1 << 20, &j);
	int map = temporary(), dump = temporary();

	head(&b);
	lines(&b, 0x7000);
	load(&b, 0x7000, "julia_f");
	move(&b, 0x7000, 0x9000);
	if (!error)
		error = buf_error(&b);
	if (!error)
		error = write_all(map, "1000 100 a\n1010 10 b\n1020 10 c\n", 32);
	if (!error)
		error = write_all(dump, b.data, b.n);
	if (!error)
		error = jit_symbols_read_map_fd(j, map);
	if (!error)
		error = jit_symbols_read_dump_fd(j, dump);
	jit_symbols_free(j);
	close(map);
	close(dump);
	return error;
}

TEST(reading_copes_without_memory)
{
	ALLOC_SWEEP(read_both());
}

/* What /tmp holds for this process, by any trick. */
TEST(only_plain_files_of_the_process_are_believed)
{
	struct jit_symbols *j = NULL;
	char path[64], other[64];
	bool good = true;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind does not know openat2");
		return;
	}
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "/tmp/vestal-perf-target-%d", (int)getpid());
	CHECK_OK(jit_symbols_new((size_t)1 << 20, &j));
	good &= jit_symbols_read_map(j, getpid()) == ERR_NOT_FOUND;
	good &= file_write(other, STR("1000 10 f\n"), OUTPUT_NO_SYNC, NULL) == ERR_OK;
	good &= symlink(other, path) == 0;
	good &= jit_symbols_read_map(j, getpid()) == ERR_NO_PERMISSION;
	unlink(path);
	good &= link(other, path) == 0;
	good &= jit_symbols_read_map(j, getpid()) == ERR_NO_PERMISSION;
	unlink(path);
	good &= mkfifo(path, 0600) == 0;
	good &= jit_symbols_read_map(j, getpid()) == ERR_NO_PERMISSION;
	unlink(path);
	good &= rename(other, path) == 0;
	good &= jit_symbols_read_map(j, getpid()) == ERR_OK && is(j, 0x1001, "f");
	/* A file from before the process began is another process's. */
	struct timespec old[2] = {{1000000, 0}, {1000000, 0}};

	good &= utimensat(AT_FDCWD, path, old, 0) == 0;
	good &= jit_symbols_read_map(j, getpid()) == ERR_NOT_FOUND;
	if (geteuid() == 0) {
		good &= utimensat(AT_FDCWD, path, NULL, 0) == 0 && chown(path, 12345, 0) == 0;
		good &= jit_symbols_read_map(j, getpid()) == ERR_NO_PERMISSION;
	}
	unlink(path);
	unlink(other);
	good &= jit_symbols_read_map(j, 0x7ffffff) != ERR_OK;
	jit_symbols_free(j);
	CHECK(good);
}

/* A process that is number 1 of its own namespace and has its own root, as in a container. Its
 * number here goes to the pipe; it lives until it is killed. */
static void be_a_container(const char *root, int pipe)
{
	pid_t inner;

	if (unshare(CLONE_NEWPID) || chroot(root) || chdir("/"))
		_exit(2);
	inner = fork();
	if (inner == 0) {
		pause();
		_exit(0);
	}
	if (inner < 0 || write(pipe, &inner, sizeof(inner)) != sizeof(inner))
		_exit(2);
	waitpid(inner, NULL, 0);
	_exit(0);
}

TEST(a_process_with_its_own_root_is_read_by_its_own_number)
{
	char root[] = "/tmp/vestal-root-XXXXXX", path[64];
	struct jit_symbols *j = NULL;
	bool good = true;
	pid_t outer, inner = 0;
	int ends[2];

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind does not know openat2");
		return;
	}
	if (geteuid() != 0) {
		test_skip("needs root to make a namespace");
		return;
	}
	CHECK(mkdtemp(root) && pipe2(ends, O_CLOEXEC) == 0);
	snprintf(path, sizeof(path), "%s/tmp", root);
	CHECK(mkdir(path, 0755) == 0);
	snprintf(path, sizeof(path), "%s/tmp/perf-1.map", root);
	CHECK_OK(file_write(path, STR("1000 10 contained\n"), OUTPUT_NO_SYNC, NULL));
	CHECK_OK(jit_symbols_new((size_t)1 << 20, &j));
	outer = fork();
	if (outer == 0)
		be_a_container(root, ends[1]);
	close(ends[1]);
	bool made = read(ends[0], &inner, sizeof(inner)) == sizeof(inner);

	close(ends[0]);
	if (made) {
		good = jit_symbols_read_map(j, inner) == ERR_OK && is(j, 0x1001, "contained");
		kill(inner, SIGKILL);
	}
	waitpid(outer, NULL, 0);
	jit_symbols_free(j);
	unlink(path);
	path[strlen(path) - strlen("/perf-1.map")] = 0;
	rmdir(path);
	rmdir(root);
	if (!made)
		test_skip("namespaces cannot be made here");
	CHECK(good);
}
