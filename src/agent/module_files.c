#include "agent/module_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any machine maps at one time; each costs the kernel about a kilobyte. */
#define FILES_MAX 4096u

/* Check the type before opening: opening a device or pipe can have side effects. */
static int open_regular(const char *name, u64 inode)
{
	int place = open(name, O_PATH | O_CLOEXEC), fd = -1;
	struct stat info;
	char again[40];

	if (place < 0)
		return -1;
	if (!fstat(place, &info) && S_ISREG(info.st_mode) && (!inode || info.st_ino == inode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	close(place);
	return fd;
}

int module_file_open(u32 pid, u64 start, u64 end, struct str path, u64 inode)
{
	char name[4200];
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	fd = open_regular(name, 0);
	if (fd < 0) {
		snprintf(name, sizeof(name), "/proc/%u/root%.*s", pid, (int)path.n, path.p);
		fd = open_regular(name, inode);
	}
	if (fd < 0) {
		snprintf(name, sizeof(name), "%.*s", (int)path.n, path.p);
		fd = open_regular(name, inode);
	}
	return fd;
}

u32 module_files_ceiling(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 256;
	if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < 2 * FILES_MAX) {
		limit.rlim_cur = limit.rlim_max < 2 * FILES_MAX ? limit.rlim_max : 2 * FILES_MAX;
		if (setrlimit(RLIMIT_NOFILE, &limit) && getrlimit(RLIMIT_NOFILE, &limit))
			return 256;
	}
	/* The rest is for sockets, rings and maps. */
	return limit.rlim_cur / 4 * 3 < FILES_MAX ? (u32)(limit.rlim_cur / 4 * 3) : FILES_MAX;
}
