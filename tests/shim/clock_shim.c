/*
 * A machine that was suspended for an hour, for a program started with LD_PRELOAD: as soon as the
 * file that CLOCK_SHIM names is there, the calendar and the clock that counts suspension are an
 * hour ahead, and the one that does not is where it was (tests/e2e/test_agent_rough.py).
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	const char *path = getenv("CLOCK_SHIM");
	int status = (int)syscall(SYS_clock_gettime, clock, ret);

	if ((clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME) && path && !access(path, F_OK))
		ret->tv_sec += 3600;
	return status;
}
