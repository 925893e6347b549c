/*
 * Raw system calls for code that runs in the program's threads: libc's wrappers are cancellation
 * points, but malloc, pthread_create and pthread_mutex_lock, from which we are called, must not be.
 * A thread cancelled here would hold our locks forever.
 */
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline int quiet_open(const char *path)
{
	return (int)syscall(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
}

static inline ssize_t quiet_read(int fd, void *to, size_t n)
{
	return syscall(SYS_read, fd, to, n);
}

static inline void quiet_close(int fd)
{
	syscall(SYS_close, fd);
}

static inline void quiet_sleep(const struct timespec *time)
{
	syscall(SYS_nanosleep, time, NULL);
}
