/*
 * Faults of the system, for a program started with LD_PRELOAD: every n-th call of a kind fails, or
 * does only a part of its work. Files are faulted when they are regular ones, sockets always.
 *
 * FAULT_SHIM names a file that is mapped and holds, for every row of `enum kind`, two u32 in the
 * machine's order: every how many calls (0 = never), and how many faults there were. Whoever wrote
 * it changes it while the program runs (tests/e2e/test_faults.py).
 */
/* Both names of a call are wanted, pread and pread64. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind {
	DISK_SHORT,	/* half of what was asked for */
	DISK_INTERRUPT, /* EINTR */
	DISK_FULL,	/* ENOSPC where something is written */
	DISK_BAD_WRITE, /* EIO */
	DISK_BAD_SYNC,
	DISK_BAD_READ,
	NET_SHORT, /* one byte is sent */
	NET_INTERRUPT,
	NO_DESCRIPTOR, /* EMFILE of accept */
	ABORTED,       /* ECONNABORTED of accept */
	POLL_INTERRUPT,
	DISK_QUOTA,	/* EDQUOT */
	DISK_READ_ONLY, /* EROFS, also where a file is opened to be written */
	KINDS
};

struct control {
	_Atomic uint32_t every, faults;
};

static struct control *controls;
static _Atomic uint32_t calls[KINDS];

__attribute__((constructor)) static void map_controls(void)
{
	const char *path = getenv("FAULT_SHIM");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = MAP_FAILED;

	if (fd >= 0) {
		p = mmap(NULL, KINDS * sizeof(*controls), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0);
		close(fd);
	}
	if (p != MAP_FAILED)
		controls = p;
}

static bool is_due(enum kind kind)
{
	uint32_t every = controls ? atomic_load(&controls[kind].every) : 0;

	if (!every || (atomic_fetch_add(&calls[kind], 1) + 1) % every)
		return false;
	atomic_fetch_add(&controls[kind].faults, 1);
	return true;
}

static bool fail_with(enum kind kind, int error)
{
	if (!is_due(kind))
		return false;
	errno = error;
	return true;
}

static bool is_file(int fd)
{
	struct stat s;

	return controls && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

static bool is_socket(int fd)
{
	struct stat s;

	return controls && fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode);
}

static size_t half(size_t n)
{
	return n > 1 && is_due(DISK_SHORT) ? n / 2 : n;
}

static bool fail_disk_read(void)
{
	return fail_with(DISK_INTERRUPT, EINTR) || fail_with(DISK_BAD_READ, EIO);
}

static bool fail_disk_write(void)
{
	return fail_with(DISK_INTERRUPT, EINTR) || fail_with(DISK_FULL, ENOSPC) ||
	       fail_with(DISK_BAD_WRITE, EIO) || fail_with(DISK_QUOTA, EDQUOT) ||
	       fail_with(DISK_READ_ONLY, EROFS);
}

/* Finds the function behind the one of this name, once. */
#define FIND(next, name) \
	if (!(next))     \
	(next) = (__typeof__(next))dlsym(RTLD_NEXT, name)

#pragma GCC visibility push(default)

ssize_t read(int fd, void *to, size_t n)
{
	static ssize_t (*next)(int, void *, size_t);

	FIND(next, "read");
	if (is_file(fd)) {
		if (fail_disk_read())
			return -1;
		n = half(n);
	} else if (is_socket(fd) && fail_with(NET_INTERRUPT, EINTR)) {
		return -1;
	}
	return next(fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n)
{
	static ssize_t (*next)(int, const void *, size_t);

	FIND(next, "write");
	if (is_file(fd)) {
		if (fail_disk_write())
			return -1;
		n = half(n);
	} else if (is_socket(fd)) {
		if (fail_with(NET_INTERRUPT, EINTR))
			return -1;
		n = n && is_due(NET_SHORT) ? 1 : n;
	}
	return next(fd, from, n);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
	static ssize_t (*next)(int, void *, size_t, off64_t);

	FIND(next, "pread64");
	if (is_file(fd)) {
		if (fail_disk_read())
			return -1;
		n = half(n);
	}
	return next(fd, to, n, at);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	return pread64(fd, to, n, at);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at)
{
	static ssize_t (*next)(int, const void *, size_t, off64_t);

	FIND(next, "pwrite64");
	if (is_file(fd)) {
		if (fail_disk_write())
			return -1;
		n = half(n);
	}
	return next(fd, from, n, at);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
	return pwrite64(fd, from, n, at);
}

int posix_fallocate(int fd, off_t at, off_t n)
{
	static int (*next)(int, off_t, off_t);

	FIND(next, "posix_fallocate");
	return is_file(fd) && is_due(DISK_FULL) ? ENOSPC : next(fd, at, n);
}

int fsync(int fd)
{
	static int (*next)(int);

	FIND(next, "fsync");
	return fail_with(DISK_BAD_SYNC, EIO) ? -1 : next(fd);
}

int fdatasync(int fd)
{
	static int (*next)(int);

	FIND(next, "fdatasync");
	return fail_with(DISK_BAD_SYNC, EIO) ? -1 : next(fd);
}

/* Never short: that a stream gives less than asked for means that it is empty (epoll(7)), and the
 * server relies on it. */
ssize_t recv(int fd, void *to, size_t n, int flags)
{
	static ssize_t (*next)(int, void *, size_t, int);

	FIND(next, "recv");
	if (fail_with(NET_INTERRUPT, EINTR))
		return -1;
	return next(fd, to, n, flags);
}

ssize_t send(int fd, const void *from, size_t n, int flags)
{
	static ssize_t (*next)(int, const void *, size_t, int);

	FIND(next, "send");
	if (fail_with(NET_INTERRUPT, EINTR))
		return -1;
	return next(fd, from, n && is_due(NET_SHORT) ? 1 : n, flags);
}

/* A short one sends a byte of the first part that has any. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	static ssize_t (*next)(int, const struct msghdr *, int);
	struct msghdr one;
	struct iovec byte;

	FIND(next, "sendmsg");
	if (fail_with(NET_INTERRUPT, EINTR))
		return -1;
	for (size_t i = 0; i < (size_t)message->msg_iovlen; i++) {
		if (!message->msg_iov[i].iov_len)
			continue;
		if (!is_due(NET_SHORT))
			break;
		byte = (struct iovec){message->msg_iov[i].iov_base, 1};
		one = *message;
		one.msg_iov = &byte;
		one.msg_iovlen = 1;
		return next(fd, &one, flags);
	}
	return next(fd, message, flags);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	static int (*next)(int, struct sockaddr *, socklen_t *, int);

	FIND(next, "accept4");
	if (fail_with(NO_DESCRIPTOR, EMFILE) || fail_with(ABORTED, ECONNABORTED))
		return -1;
	return next(fd, address, size, flags);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);

	FIND(next, "epoll_wait");
	return fail_with(POLL_INTERRUPT, EINTR) ? -1 : next(fd, events, n, timeout);
}

#pragma GCC visibility pop
