#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pipes are read in pieces of this size at least. */
#define READ_PIECE ((size_t)64 * 1024)
#define LARGE_PAGE ((size_t)2 << 20)

static enum err read_fault(struct fault *fault, const char *name, int os_error)
{
	enum err code = err_from_errno(os_error);

	if (os_error == EISDIR)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is a directory; give the files in it",
				 name);
	if (code == ERR_NOT_FOUND)
		return fault_set(fault, code, "%s: no such file; check the path", name);
	if (code == ERR_NO_PERMISSION)
		return fault_set(fault, code, "%s may not be read by this user", name);
	return fault_set(fault, code, "%s cannot be read: %s", name, strerror(os_error));
}

static enum err too_large(struct fault *fault, const char *name, size_t ceiling)
{
	if (ceiling >= 1 << 20)
		return fault_set(fault, ERR_TOO_LARGE, "%s is larger than the limit of %zu MiB",
				 name, ceiling >> 20);
	return fault_set(fault, ERR_TOO_LARGE, "%s is larger than the limit of %zu bytes", name,
			 ceiling);
}

static ssize_t read_some(int fd, void *at, size_t n)
{
	ssize_t got;

	do {
		got = read(fd, at, n);
	} while (got < 0 && errno == EINTR);
	return got;
}

/* The size of the next read: the rest of the claimed size, or one byte to detect the end if the
 * ceiling is reached, or else READ_PIECE. */
static size_t next_piece(const struct buf *b, size_t claimed_left, bool claim_met)
{
	size_t room = b->ceiling > b->n ? b->ceiling - b->n : 0;
	size_t piece = claimed_left ? claimed_left : claim_met ? 0 : READ_PIECE;

	/* Use all memory that is already allocated. */
	if (!claimed_left && b->cap > b->n + 1 && b->cap - b->n - 1 > piece)
		piece = b->cap - b->n - 1;
	return piece < room ? piece : room;
}

/* Asks for large pages where a buffer is about to be filled: a file of some MiB is otherwise
 * thousands of page faults, which cost more than copying it. */
static void prefer_large_pages(char *at, size_t n)
{
	uintptr_t begin = ((uintptr_t)at + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)at + n) & ~(uintptr_t)(LARGE_PAGE - 1);

	/* Only a hint; the result does not matter. */
	if (begin < end)
		(void)madvise(at + (begin - (uintptr_t)at), end - begin, MADV_HUGEPAGE);
}

/*
 * Reads to the end. `claimed` is the size the file says it has (0 when it does not): then one read
 * takes it all, and a second one finds the end. A claim is not trusted: the file may grow or shrink
 * meanwhile, and /proc claims 0 for everything.
 */
static enum err read_to_end(int fd, const char *name, size_t claimed, struct buf *ret,
			    struct fault *fault)
{
	size_t left = claimed, piece;
	char probe, *at;
	ssize_t got;

	if (claimed > ret->ceiling || ret->n > ret->ceiling - claimed)
		return too_large(fault, name, ret->ceiling);
	for (;;) {
		piece = next_piece(ret, left, claimed && !left);
		at = piece ? buf_reserve(ret, piece) : &probe;
		if (!at)
			break;
		if (piece >= 2 * LARGE_PAGE)
			prefer_large_pages(at, piece);
		got = read_some(fd, at, piece ? piece : 1);
		if (got < 0)
			return read_fault(fault, name, errno);
		if (got == 0)
			return ERR_OK;
		if (!piece && ret->n >= ret->ceiling)
			return too_large(fault, name, ret->ceiling);
		if (piece)
			ret->n += (size_t)got;
		else
			buf_append(ret, &probe, 1);
		if (buf_error(ret))
			break;
		ret->data[ret->n] = '\0';
		/* A file that is longer than it said is read on like a pipe. */
		left = left > (size_t)got ? left - (size_t)got : 0;
		claimed = piece ? claimed : 0;
	}
	return fault_set(fault, ret->error, "%s: %s", name, err_text(ret->error));
}

enum err file_read_fd(int fd, const char *name, struct buf *ret, struct fault *fault)
{
	size_t before = ret->n, expected = 0;
	struct stat st;
	enum err e;

	if (ret->error)
		return fault_set(fault, ret->error, "%s: %s", name, err_text(ret->error));
	if (fstat(fd, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return read_fault(fault, name, EISDIR);
		if (S_ISREG(st.st_mode) && st.st_size > 0)
			expected = (size_t)st.st_size;
	}
	e = read_to_end(fd, name, expected, ret, fault);
	if (e) {
		ret->n = before;
		ret->error = ERR_OK;
		if (ret->data)
			ret->data[before] = '\0';
	}
	return e;
}

enum err file_read(const char *path, struct buf *ret, struct fault *fault)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	enum err e;

	if (fd < 0)
		return read_fault(fault, path, errno);
	e = file_read_fd(fd, path, ret, fault);
	close(fd);
	return e;
}

enum err write_all(int fd, const void *data, size_t n)
{
	const char *at = data;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_from_errno(errno);
		at += done;
		n -= (size_t)done;
	}
	return ERR_OK;
}
