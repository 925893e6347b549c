#include "sdk/thread_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "sdk/own_threads.h"
#include "sdk/quiet_calls.h"

/* Of the descriptors that the program may have, ours are one in so many, and not more than that. */
#define DESCRIPTORS_SHARE 8
#define DESCRIPTORS_MOST  1024
#define DESCRIPTORS_HIGH  960

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { UNKNOWN, ALLOWED, FORBIDDEN };

static struct {
	_Atomic(s64) period_ns; /* 0 = no timing now; handlers look at it without a lock */
	_Atomic(s64) timer_ns;
	s64 tick_ns;
	int timer_signal, event_signal; /* 0 = no events */
	int events;			/* whether the system lets us */
	bool fast;			/* the period is the events' */
	bool withheld;			/* threads that start get no event */
	int first_descriptor;
	atomic_uint open, open_most;
	u64 random;
} all;

static struct timespec timespec_of(s64 ns)
{
	return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

/* ------------------------------------------------------------------ what the system allows */

/* A seccomp filter of the program may kill it for this call. */
static bool is_filtered(void)
{
	char text[4096];
	int fd = quiet_open("/proc/self/status");
	ssize_t n = fd < 0 ? 0 : quiet_read(fd, text, sizeof(text) - 1);
	const char *line;

	if (fd >= 0)
		quiet_close(fd);
	text[n > 0 ? n : 0] = 0;
	line = strstr(text, "\nSeccomp:\t");
	return !line || line[10] != '0';
}

static int open_event(int tid, s64 first_ns)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = PERF_ATTR_SIZE_VER0,
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .sample_period = (u64)first_ns,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void ask_for_events(void)
{
	struct rlimit limit;
	int fd = is_filtered() ? -1 : open_event(0, NS_PER_S);

	all.events = fd >= 0 ? ALLOWED : FORBIDDEN;
	if (fd >= 0)
		quiet_close(fd);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		limit.rlim_cur = 0;
	all.first_descriptor =
		limit.rlim_cur > DESCRIPTORS_HIGH + 64 ? DESCRIPTORS_HIGH : (int)limit.rlim_cur / 2;
	all.open_most = limit.rlim_cur / DESCRIPTORS_SHARE < DESCRIPTORS_MOST
				? (u32)limit.rlim_cur / DESCRIPTORS_SHARE
				: DESCRIPTORS_MOST;
}

bool clocks_want_events(s64 period_ns)
{
	struct timespec tick = {0};

	/* The tick of this kernel is how exact its coarse clock is. */
	if (!all.tick_ns && clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && !tick.tv_sec)
		all.tick_ns = tick.tv_nsec;
	if (period_ns >= all.tick_ns)
		return false;
	if (all.events == UNKNOWN)
		ask_for_events();
	return all.events == ALLOWED;
}

void clocks_set(s64 period_ns, int timer_signal, int event_signal)
{
	all.timer_signal = timer_signal;
	all.event_signal = event_signal;
	all.fast = period_ns && event_signal;
	if (!all.random)
		all.random = (u64)clock_monotonic_ns() ^ (u64)getpid() << 32;
	all.timer_ns = period_ns && period_ns < all.tick_ns ? all.tick_ns : period_ns;
	all.period_ns = all.fast ? period_ns : all.timer_ns;
}

s64 clocks_period(void)
{
	return atomic_load_explicit(&all.period_ns, memory_order_relaxed);
}

void clocks_use_events(bool use)
{
	all.withheld = !use;
}

/* ------------------------------------------------------------------ events */

static bool is_ours(int fd, u64 id)
{
	u64 now = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &now) == 0 && now == id;
}

static void close_event(struct thread_clock *c)
{
	int fd = atomic_exchange(&c->event, 0) - 1;

	if (fd < 0)
		return;
	atomic_fetch_sub(&all.open, 1);
	/* A program that closes every descriptor may have another by this number. */
	if (is_ours(fd, c->event_id))
		quiet_close(fd);
}

/* Away from the numbers that the program uses. */
static int move_high(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, all.first_descriptor);

	quiet_close(fd);
	return moved;
}

static bool signal_to(int fd, int tid)
{
	struct f_owner_ex owner = {F_OWNER_TID, tid};

	return fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, all.event_signal) == 0 &&
	       fcntl(fd, F_SETFL, O_ASYNC) == 0;
}

static bool set_event(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == 0;
}

void clock_start_event(struct thread_clock *c, int tid)
{
	s64 first;
	u64 id;
	int fd;

	if (!all.fast || all.withheld || c->event || !c->has_timer ||
	    atomic_load(&all.open) >= all.open_most)
		return;
	all.random = hash_mix(all.random, (u64)tid);
	first = (s64)(all.random % (u64)all.period_ns) + 1;
	fd = open_event(tid, first);
	if (fd >= 0)
		fd = move_high(fd);
	if (fd < 0)
		return;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0 || !signal_to(fd, tid)) {
		quiet_close(fd);
		return;
	}
	atomic_fetch_add(&all.open, 1);
	c->event_id = id;
	c->event_ns = first;
	/* The handler must know it by the time it fires. */
	c->event = fd + 1;
	if (!set_event(fd))
		close_event(c);
}

void clock_end_event(struct thread_clock *c)
{
	static const struct timespec at_once;
	int saved = errno;
	u64 own;

	if (!clock_has_event(c))
		return;
	close_event(c);
	own = 1ull << (all.event_signal - 1);
	/* The kernel's own call: libc's is for the program (preload_sigwait.c). */
	while (syscall(SYS_rt_sigtimedwait, &own, NULL, &at_once, sizeof(own)) > 0)
		;
	errno = saved;
}

bool clock_has_event(const struct thread_clock *c)
{
	return atomic_load_explicit(&c->event, memory_order_relaxed) != 0;
}

bool clock_is_event(const struct thread_clock *c, const siginfo_t *info)
{
	/* POLL_HUP reports the last of the requested overflows, and only one is requested. */
	return info->si_code == POLL_HUP && info->si_fd == c->event - 1;
}

static s64 draw(struct thread_clock *c, s64 period, u64 entropy)
{
	c->random = hash_mix(c->random, entropy);
	return period / 2 + (s64)(c->random % (u64)period);
}

void clock_vary_event(struct thread_clock *c, u64 entropy)
{
	s64 period = clocks_period();
	int fd = c->event - 1;
	u64 next;

	if (!period || fd < 0)
		return;
	next = (u64)draw(c, period, entropy);
	if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &next) == 0)
		c->event_ns = (s64)next;
	set_event(fd);
}

void clock_revive_event(struct thread_clock *c)
{
	int fd = c->event - 1;

	if (fd >= 0 && is_ours(fd, c->event_id))
		set_event(fd);
	else
		close_event(c);
}

/* ------------------------------------------------------------------ timers */

/* The kernel's own call: the library's takes memory on some systems. A first expiry at random, so
 * that threads shorter than the period are hit in proportion. */
void clock_start(struct thread_clock *c, int tid, void *value)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = all.timer_signal};
	s64 period = all.timer_ns;
	struct itimerspec when;

	if (!period || c->has_timer)
		return;
	event.sigev_notify_thread_id = tid;
	event.sigev_value.sival_ptr = value;
	if (syscall(SYS_timer_create, thread_cpu_clock(tid), &event, &c->timer) != 0)
		return;
	all.random = hash_mix(all.random, (u64)tid);
	c->random = all.random;
	when.it_interval = timespec_of(period);
	when.it_value = timespec_of((s64)(all.random % (u64)period) + 1);
	c->has_timer = true;
	if (syscall(SYS_timer_settime, c->timer, 0, &when, NULL) != 0) {
		syscall(SYS_timer_delete, c->timer);
		c->has_timer = false;
	}
	clock_start_event(c, tid);
}

/* It fires with the tick that follows, half a tick late on average. Every tick is what comes
 * nearest to a shorter period. */
void clock_vary_timer(struct thread_clock *c, u64 entropy)
{
	s64 period = atomic_load_explicit(&all.timer_ns, memory_order_relaxed), next;
	struct itimerspec when = {.it_interval = timespec_of(period)};

	if (!period)
		return;
	next = period > all.tick_ns ? draw(c, period, entropy) - all.tick_ns / 2 : 0;
	when.it_value = timespec_of(next > 0 ? next : 1);
	syscall(SYS_timer_settime, c->timer, 0, &when, NULL);
}

void clock_end(struct thread_clock *c)
{
	close_event(c);
	if (atomic_exchange(&c->has_timer, false))
		syscall(SYS_timer_delete, c->timer);
}

void clock_forget(struct thread_clock *c)
{
	close_event(c);
	c->has_timer = false;
}
