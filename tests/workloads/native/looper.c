/*
 * An event loop of known turns: one that works for 80 ms, one that blocks for 20 ms, and quick ones
 * between. Prints how long turns were in all and by what they did, and how many were long:
 *	looper SECONDS
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "truth.h"

static volatile uint64_t sink;
static int64_t spent[3];

NOINLINE void handle_slow(void)
{
	int64_t end = wall_ns() + 80000000;

	while (wall_ns() < end)
		sink += churn(sink, 2000);
}

NOINLINE void handle_blocking(void)
{
	struct timespec t = {0, 20000000};

	nanosleep(&t, NULL);
	sink++;
}

NOINLINE void handle_quick(void)
{
	int64_t end = wall_ns() + 200000;

	while (wall_ns() < end)
		sink += churn(sink, 100);
}

static void (*const handlers[])(void) = {handle_slow, handle_blocking, handle_quick};

static int timer_every(int64_t ns)
{
	struct itimerspec t = {.it_value = {0, 1000000},
			       .it_interval = {ns / 1000000000, ns % 1000000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	timerfd_settime(fd, 0, &t, NULL);
	return fd;
}

int main(int argc, char **argv)
{
	static const int64_t every[] = {250000000, 160000000, 5000000};
	int64_t end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "3") * 1e9), begun = 0;
	int64_t turns = 0, total = 0, long_ns = 0;
	int loop = epoll_create1(0), timers[3], long_turns = 0;
	uint32_t what = 2;

	for (uint32_t i = 0; i < 3; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

		timers[i] = timer_every(every[i]);
		if (epoll_ctl(loop, EPOLL_CTL_ADD, timers[i], &event))
			return 1;
	}
	while (wall_ns() < end) {
		struct epoll_event event;
		uint64_t ticks;
		int64_t length = begun ? wall_ns() - begun : 0;

		total += length;
		spent[what] += length;
		if (length >= 64000000) {
			long_turns++;
			long_ns += length;
		}
		/* One event a turn: what a turn did is one thing. */
		if (epoll_wait(loop, &event, 1, 1000) != 1)
			return 1;
		begun = wall_ns();
		turns++;
		what = event.data.u32;
		if (read(timers[what], &ticks, sizeof(ticks)) == sizeof(ticks))
			handlers[what]();
	}
	printf("{\"total\": %lld, \"turns\": %lld, \"long\": %d, \"long_ns\": %lld, "
	       "\"handle_slow\": %lld, "
	       "\"handle_blocking\": %lld, \"handle_quick\": %lld}\n",
	       (long long)total, (long long)turns, long_turns, (long long)long_ns,
	       (long long)spent[0], (long long)spent[1], (long long)spent[2]);
	return 0;
}
