/*
 * Perf maps: "start size name" per line, numbers in hexadecimal, appended as code is made. They are
 * in /tmp, where any user can create files: links are not followed, and only a regular file of the
 * process's user or root that is not older than the process is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "symbols/jit_table.h"

#define MAP_FILE_MAX ((uint64_t)512 << 20)
#define CLOCK_SLACK  2 /* seconds a file may seem older than its process */

static enum err read_line(struct jit_symbols *j, struct str line)
{
	struct str start_text, size_text;
	uint64_t start, size;

	if (!str_split(&line, ' ', &start_text) || !str_split(&line, ' ', &size_text))
		return ERR_OK;
	if (str_starts(start_text, STR("0x")))
		start_text = str_skip(start_text, 2);
	if (str_starts(size_text, STR("0x")))
		size_text = str_skip(size_text, 2);
	line = str_trim(line);
	if (!line.n || memchr(line.p, 0, line.n) || str_to_u64(start_text, 16, &start) ||
	    str_to_u64(size_text, 16, &size))
		return ERR_OK;
	return jit_table_add(j, start, size, line, j->lines.n);
}

/* Whole lines of a piece of the file; how many bytes they were. */
static enum err read_lines(struct jit_symbols *j, struct str piece, size_t *ret_used)
{
	const char *start = piece.p, *end = piece.p + piece.n, *newline;

	while (start < end && (newline = memchr(start, '\n', (size_t)(end - start)))) {
		TRY(read_line(j, str_n(start, (size_t)(newline - start))));
		start = newline + 1;
	}
	*ret_used = (size_t)(start - piece.p);
	return ERR_OK;
}

static enum err read_new(struct jit_symbols *j, int fd, char *buffer, size_t size, uint64_t most)
{
	for (uint64_t done = 0; done < most;) {
		ssize_t got = pread(fd, buffer, size, (off_t)j->map.offset);
		size_t used = 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? err_from_errno(errno) : ERR_OK;
		TRY(read_lines(j, str_n(buffer, (size_t)got), &used));
		if (!used && (size_t)got < size)
			return ERR_OK; /* half a line: the rest comes later */
		j->map.offset += used ? used : size;
		done += used ? used : size;
	}
	return ERR_OK;
}

enum err jit_symbols_read_map_some(struct jit_symbols *j, int fd, uint64_t bytes)
{
	const size_t size = 65536;
	enum err error, order;
	char *buffer;

	TRY(jit_progress_check(&j->map, fd, MAP_FILE_MAX));
	buffer = mem_alloc(size);
	if (!buffer)
		return ERR_NO_MEMORY;
	error = read_new(j, fd, buffer, size, bytes);
	mem_free(buffer);
	order = address_ranges_flatten(&j->ranges);
	return error ? error : order;
}

enum err jit_symbols_read_map_fd(struct jit_symbols *j, int fd)
{
	return jit_symbols_read_map_some(j, fd, MAP_FILE_MAX);
}

struct process {
	pid_t inner; /* its number in its own namespace */
	uint64_t user;
	int64_t started; /* seconds since 1970 */
};

/* The last, or the first, number of a line "Name:\t1\t2\t3". */
static bool status_number(struct str status, struct str name, bool last, uint64_t *ret)
{
	struct str line, word;
	bool found = false;

	while (str_split(&status, '\n', &line)) {
		if (!str_starts(line, name))
			continue;
		line = str_skip(line, name.n);
		while (str_split(&line, '\t', &word) && !(found && !last))
			found |= word.n && !str_to_u64(word, 10, ret);
		return found;
	}
	return false;
}

/* Field 22 of /proc/PID/stat, counted after the name, which may contain anything. */
static bool start_time(struct str stat, int64_t *ret)
{
	size_t parenthesis = str_rfind(stat, ')');
	struct timespec now, boot;
	struct str word = {"", 0};
	uint64_t ticks;

	stat = str_skip(stat, parenthesis < stat.n ? parenthesis + 2 : stat.n);
	for (int field = 3; field <= 22; field++)
		if (!str_split(&stat, ' ', &word))
			return false;
	if (str_to_u64(word, 10, &ticks))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	*ret = now.tv_sec - boot.tv_sec + (int64_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

static enum err read_process(pid_t pid, struct process *ret)
{
	CLEANUP(buf_release) struct buf status = BUF_INIT(65536), stat = BUF_INIT(65536);
	char path[64];
	uint64_t inner;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	TRY(file_read(path, &status, NULL));
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	TRY(file_read(path, &stat, NULL));
	if (!status_number(buf_view(&status), STR("NSpid:\t"), true, &inner))
		inner = (uint64_t)pid;
	ret->inner = (pid_t)inner;
	if (!status_number(buf_view(&status), STR("Uid:\t"), false, &ret->user) ||
	    !start_time(buf_view(&stat), &ret->started))
		return ERR_NOT_FOUND;
	return ERR_OK;
}

static enum err check_owner(int fd, const struct process *p)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_from_errno(errno);
	if (!S_ISREG(st.st_mode) || (st.st_uid != p->user && st.st_uid != 0) || st.st_nlink != 1)
		return ERR_NO_PERMISSION;
	/* Left by an earlier process with the same pid. */
	return st.st_mtime + CLOCK_SLACK < p->started ? ERR_NOT_FOUND : ERR_OK;
}

enum err jit_map_open(pid_t pid, int *ret)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct process p;
	char path[64];
	enum err error;
	int root, fd;

	TRY(read_process(pid, &p));
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_from_errno(errno);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)p.inner);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	error = fd < 0 ? err_from_errno(errno) : ERR_OK;
	if (fd < 0 && errno == ELOOP)
		error = ERR_NO_PERMISSION;
	close(root);
	if (error)
		return error;
	error = check_owner(fd, &p);
	if (error)
		close(fd);
	else
		*ret = fd;
	return error;
}

enum err jit_symbols_read_map(struct jit_symbols *j, pid_t pid)
{
	enum err error;
	int fd;

	TRY(jit_map_open(pid, &fd));
	error = jit_symbols_read_map_fd(j, fd);
	close(fd);
	return error;
}
