#include "sdk/own_threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/thread.h"
#include "sdk/cpu_sampler.h"
#include "sdk/own_pages.h"
#include "sdk/wall.h"

#define THREADS_MAX  32768u
#define EXCLUDED_MAX 2

static struct {
	struct own_thread *records;
	atomic_int *tids; /* of the records; 0 = free. Apart from them, because it is searched */
	atomic_uint used; /* records from here on were never given */
	u32 free;	  /* none before this one is free */
	atomic_uint count;
	struct mutex lock;
	int excluded[EXCLUDED_MAX]; /* our own */
} all = {.lock = MUTEX_INIT};

/* Found without a call, also in a signal handler. */
static __thread struct own_thread *self __attribute__((tls_model("initial-exec")));

/* ------------------------------------------------------------------ clocks */

static atomic_int *tid_of(const struct own_thread *t)
{
	return &all.tids[t - all.records];
}

/* The kernel's id of a thread's CPU clock. */
clockid_t thread_cpu_clock(int thread)
{
	enum { SCHEDULER = 2, OF_THREAD = 4 };

	return (clockid_t)(~(unsigned)thread << 3 | OF_THREAD | SCHEDULER);
}

s64 thread_cpu_ns(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) ? 0
							    : now.tv_sec * NS_PER_S + now.tv_nsec;
}

u32 threads_number(const struct own_thread *t)
{
	return (u32)(t - all.records) + 1;
}

static bool is_excluded(int tid)
{
	for (int i = 0; i < EXCLUDED_MAX; i++)
		if (all.excluded[i] == tid)
			return true;
	return false;
}

static void start_clock(struct own_thread *t)
{
	int tid = *tid_of(t);
	struct timespec now = {0};

	if (!clocks_period() || t->clock.has_timer || is_excluded(tid))
		return;
	/* Its earlier CPU time is not counted. */
	clock_gettime(thread_cpu_clock(tid), &now);
	t->accounted_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
	t->kernel_ns = 0;
	/* So that threads of less than a period are counted in proportion. */
	t->counted_ns = (s64)(hash_mix((u64)tid, (u64)clock_monotonic_ns()) % (u64)clocks_period());
	clock_start(&t->clock, tid, t);
}

/* ------------------------------------------------------------------ records */

bool threads_open(void)
{
	mutex_lock(&all.lock);
	if (!all.tids)
		all.tids = own_pages(THREADS_MAX * sizeof(*all.tids));
	if (!all.records)
		all.records = own_pages(THREADS_MAX * sizeof(*all.records));
	mutex_unlock(&all.lock);
	return all.records && all.tids;
}

/* With the lock held, as what follows. */
static struct own_thread *give_record(int tid)
{
	for (u32 i = all.free; i < THREADS_MAX; i++) {
		if (all.tids[i])
			continue;
		if (i >= all.used)
			all.used = i + 1;
		all.free = i + 1;
		all.records[i] = (struct own_thread){.stable = 1};
		all.tids[i] = tid;
		all.count++;
		return &all.records[i];
	}
	return NULL;
}

static struct own_thread *find_record(int tid)
{
	for (u32 i = 0; i < all.used; i++)
		if (atomic_load_explicit(&all.tids[i], memory_order_relaxed) == tid)
			return &all.records[i];
	return NULL;
}

struct own_thread *threads_find(int tid)
{
	return all.tids ? find_record(tid) : NULL;
}

static void take_record(struct own_thread *t)
{
	u32 at = (u32)(t - all.records);

	clock_end(&t->clock);
	all.tids[at] = 0;
	all.count--;
	if (at < all.free)
		all.free = at;
}

struct own_thread *threads_known(void)
{
	return self;
}

static struct own_thread *enter(void)
{
	int tid = (int)syscall(SYS_gettid);
	struct own_thread *t = find_record(tid);

	if (!t)
		t = give_record(tid);
	if (!t)
		return NULL;
	t->born_ns = clock_monotonic_ns();
	t->born_cpu_ns = thread_cpu_ns();
	start_clock(t);
	return t;
}

struct own_thread *threads_self(void)
{
	if (self || !threads_open())
		return self;
	mutex_lock(&all.lock);
	self = enter();
	mutex_unlock(&all.lock);
	return self;
}

void threads_enter(void *(*start)(void *))
{
	struct own_thread *t = threads_self();

	if (t)
		t->start = start;
}

void threads_leave(void)
{
	struct own_thread *t = self;

	if (!t)
		return;
	wall_settle(t);
	if (t->clock.has_timer) {
		clock_end(&t->clock);
		cpu_settle(t);
	}
	self = NULL;
	mutex_lock(&all.lock);
	take_record(t);
	mutex_unlock(&all.lock);
}

void threads_exclude_self(void)
{
	mutex_lock(&all.lock);
	/* The oldest has ended: there are no more at a time. */
	memmove(all.excluded, all.excluded + 1, (EXCLUDED_MAX - 1) * sizeof(all.excluded[0]));
	all.excluded[EXCLUDED_MAX - 1] = (int)syscall(SYS_gettid);
	mutex_unlock(&all.lock);
}

u32 threads_count(void)
{
	return all.count;
}

void threads_each(void (*each)(void *context, u64 start), void *context)
{
	mutex_lock(&all.lock);
	for (u32 i = 0; i < all.used; i++)
		if (all.tids[i])
			each(context, (u64)(uintptr_t)all.records[i].start);
	mutex_unlock(&all.lock);
}

u32 threads_used(void)
{
	return all.used;
}

int threads_tid(u32 number)
{
	int tid = all.tids[number];

	return is_excluded(tid) ? 0 : tid;
}

struct own_thread *threads_record(u32 number)
{
	return &all.records[number];
}

struct own_thread *threads_of_signal(const siginfo_t *info)
{
	uintptr_t base = (uintptr_t)all.records, at = (uintptr_t)info->si_value.sival_ptr - base;
	struct own_thread *t = info->si_value.sival_ptr;

	if (info->si_code != SI_TIMER || at >= THREADS_MAX * sizeof(*t) || at % sizeof(*t))
		return NULL;
	if (!self)
		self = t;
	return self == t && t->clock.has_timer ? t : NULL;
}

struct own_thread *threads_of_event(const siginfo_t *info)
{
	/* A thread that was found by a scan does not know its record yet. */
	if (!self && all.tids)
		self = find_record((int)syscall(SYS_gettid));
	return self && clock_is_event(&self->clock, info) ? self : NULL;
}

/* ------------------------------------------------------------------ looking */

static void see(int tid)
{
	struct own_thread *t = find_record(tid);

	if (!t)
		t = give_record(tid);
	if (!t)
		return;
	t->seen = true;
	start_clock(t);
}

static bool is_gone(int tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

static void look_at(DIR *threads)
{
	struct dirent *entry;

	for (u32 i = 0; i < all.used; i++)
		all.records[i].seen = false;
	while ((entry = readdir(threads))) {
		s64 tid;

		if (str_to_i64(str_of(entry->d_name), &tid) == ERR_OK && tid > 0 &&
		    !is_excluded((int)tid))
			see((int)tid);
	}
	/* The list may leave one out while others end. */
	for (u32 i = 0; i < all.used; i++)
		if (all.tids[i] && !all.records[i].seen && is_gone(all.tids[i]))
			take_record(&all.records[i]);
}

enum err threads_look(void)
{
	DIR *threads = opendir("/proc/self/task");

	if (!threads)
		return err_from_errno(errno);
	mutex_lock(&all.lock);
	look_at(threads);
	mutex_unlock(&all.lock);
	closedir(threads);
	return ERR_OK;
}

void threads_start(s64 period_ns, int timer_signal, int event_signal)
{
	mutex_lock(&all.lock);
	clocks_set(period_ns, timer_signal, event_signal);
	for (u32 i = 0; i < all.used; i++)
		if (all.tids[i])
			start_clock(&all.records[i]);
	mutex_unlock(&all.lock);
}

void threads_stop(void)
{
	mutex_lock(&all.lock);
	clocks_set(0, 0, 0);
	for (u32 i = 0; i < all.used; i++)
		clock_end(&all.records[i].clock);
	mutex_unlock(&all.lock);
}

void threads_use_events(void)
{
	mutex_lock(&all.lock);
	clocks_use_events(true);
	for (u32 i = 0; i < all.used; i++)
		if (all.tids[i])
			clock_start_event(&all.records[i].clock, all.tids[i]);
	mutex_unlock(&all.lock);
}

/* The child of vfork() shares its parent's memory and must not release anything. */
static struct own_thread *really_self(void)
{
	return self && *tid_of(self) == (int)syscall(SYS_gettid) ? self : NULL;
}

void threads_before_exec(void)
{
	struct own_thread *t = really_self();

	if (t)
		clock_end_event(&t->clock);
}

void threads_exec_failed(void)
{
	struct own_thread *t = really_self();
	int saved = errno;

	if (t)
		clock_start_event(&t->clock, *tid_of(t));
	errno = saved;
}

/* ------------------------------------------------------------------ fork */

void threads_before_fork(void)
{
	mutex_lock(&all.lock);
}

/* Timers are not inherited, and of the threads one is. Its spans go on. */
void threads_after_fork(bool child)
{
	if (child) {
		for (u32 i = 0; i < all.used; i++) {
			clock_forget(&all.records[i].clock);
			if (&all.records[i] != self)
				all.tids[i] = 0;
		}
		all.free = 0;
		all.count = self ? 1 : 0;
		/* Many children become another program at once: events are for those that stay. */
		clocks_use_events(false);
		clocks_set(0, 0, 0);
		memset(all.excluded, 0, sizeof(all.excluded));
		if (self)
			*tid_of(self) = (int)syscall(SYS_gettid);
	}
	mutex_unlock(&all.lock);
}
