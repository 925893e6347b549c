/*
 * Clocks that jump, for a program started with LD_PRELOAD.
 *
 * CLOCK_SHIM: a machine that was suspended for an hour. As soon as the file of this name is there,
 * the calendar and the clock that counts suspension are an hour ahead, and the one that does not is
 * where it was (tests/e2e/test_agent_rough.py).
 *
 * CLOCK_JUMP: a calendar that somebody sets. The file of this name holds by how many seconds, as an
 * i64 in the machine's order; whoever wrote it changes it while the program runs
 * (tests/e2e/test_clock_jumps.py).
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t *jump;

__attribute__((constructor)) static void map_jump(void)
{
	const char *path = getenv("CLOCK_JUMP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd >= 0 ? mmap(NULL, sizeof(*jump), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (p != MAP_FAILED)
		jump = p;
	if (fd >= 0)
		close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	const char *path = getenv("CLOCK_SHIM");
	int status = (int)syscall(SYS_clock_gettime, clock, ret);

	if ((clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME) && path && !access(path, F_OK))
		ret->tv_sec += 3600;
	if (clock == CLOCK_REALTIME && jump)
		ret->tv_sec += (time_t)atomic_load(jump);
	return status;
}
