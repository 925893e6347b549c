#include "agent/worker_pace.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "symbols/symbols.h"

/* Wall time between two checks. Timers of CPU time fire at a tick of the kernel only, which is
 * every 4 ms or so. */
#define SLICE_NS NS_PER_MS
/* Credit saved while idle, so that a short request is answered immediately. */
#define SAVED_NS NS_PER_MS
/* At a time: the agent may have changed the pace meanwhile. */
#define SLEEP_NS (50 * NS_PER_MS)
/* A sleep that is worth giving pages back for. */
#define LONG_NS	 (20 * NS_PER_MS)
#define KINDS	 (WORKER_NAMES + 1)

/* Shared by the agent, the zygotes and the workers: paces, which the agent writes, then beats. */
static _Atomic u64 *page;

/* A worker's own. */
static enum worker_kind own_kind;
static int64_t credit, paid_at, paid_cpu;
static timer_t timer;
static bool have_timer;
static volatile sig_atomic_t working;
static void *mapped;
static size_t mapped_size;

void worker_pace_share(void)
{
	void *shared = mmap(NULL, 2 * KINDS * sizeof(*page), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!page && shared != MAP_FAILED)
		page = shared;
}

void worker_pace_set(enum worker_kind kind, u64 ns)
{
	if (page)
		atomic_store(&page[kind], ns);
}

u64 worker_pace(enum worker_kind kind)
{
	return page ? atomic_load(&page[kind]) : 0;
}

u64 worker_pace_beat(enum worker_kind kind)
{
	return page ? atomic_load_explicit(&page[KINDS + kind], memory_order_relaxed) : 0;
}

static void beat(void)
{
	atomic_fetch_add_explicit(&page[KINDS + own_kind], 1, memory_order_relaxed);
}

void worker_pace_map(void *bytes, size_t size)
{
	mapped_size = bytes ? size : 0;
	mapped = bytes;
}

/* Updates the credit by used and elapsed time since the last call. */
static void count(u64 pace)
{
	int64_t now = clock_monotonic_ns(), cpu = clock_process_cpu_ns();

	credit += (int64_t)((double)(now - paid_at) * (double)pace / (double)NS_PER_S);
	if (credit > SAVED_NS)
		credit = SAVED_NS;
	credit -= cpu - paid_cpu;
	paid_at = now;
	paid_cpu = cpu;
}

/* File-backed pages: they are read again on access. */
static void give_pages_back(void)
{
	if (mapped_size)
		madvise(mapped, mapped_size, MADV_DONTNEED);
	symbols_drop_pages();
}

/* Sleeps off what was used. */
static void pay(void)
{
	bool given = false;
	u64 pace;

	if (!page)
		return;
	beat();
	while ((pace = worker_pace(own_kind))) {
		double wanted;

		beat();
		count(pace);
		if (credit >= 0)
			return;
		wanted = (double)-credit / (double)pace * (double)NS_PER_S;
		if (wanted > LONG_NS && !given) {
			give_pages_back();
			given = true;
		}
		clock_sleep_ns(wanted < SLEEP_NS ? (int64_t)wanted : SLEEP_NS);
	}
	credit = 0;
	paid_at = clock_monotonic_ns();
	paid_cpu = clock_process_cpu_ns();
}

/* One-shot, so that it interrupts nothing while the worker waits for a CPU or a request. */
static void set_clock(int64_t ns)
{
	struct itimerspec once = {.it_value = {0, ns}};

	if (have_timer)
		(void)timer_settime(timer, 0, &once, NULL);
}

static void on_clock(int signal)
{
	int before = errno;

	(void)signal;
	/* It may have fired while the work ended. */
	if (working) {
		if (page)
			beat();
		/* Some of the time it may have waited for a CPU: short sleeps would not give pages
		 * back. */
		if (clock_process_cpu_ns() - paid_cpu >= SLICE_NS / 2)
			pay();
		set_clock(SLICE_NS);
	}
	errno = before;
}

void worker_pace_work(void)
{
	working = true;
	set_clock(SLICE_NS);
}

void worker_pace_rest(void)
{
	working = false;
	set_clock(0);
	pay();
}

void worker_pace_begin(enum worker_kind kind)
{
	struct sigaction action = {.sa_handler = on_clock, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};

	own_kind = kind;
	credit = SAVED_NS;
	paid_at = clock_monotonic_ns();
	paid_cpu = clock_process_cpu_ns();
	/* Without a timer it throttles only between requests. */
	have_timer = !sigaction(SIGPROF, &action, NULL) &&
		     !timer_create(CLOCK_MONOTONIC, &event, &timer);
}
