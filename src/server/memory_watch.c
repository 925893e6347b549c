#include "server/memory_watch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/thread.h"
#include "server/workers.h"

#define LOOK_NS	 (50 * NS_PER_MS)
#define REST_NS	 (500 * NS_PER_MS) /* while nothing happens */
#define TRIM_NS	 NS_PER_S	   /* it stops every thread that allocates, so not more often */
#define QUIET_NS (5 * NS_PER_S)	   /* after the last request */

struct memory_watch {
	struct memory_budget *budget;
	struct workers *workers;
	struct thread thread;
	struct mutex lock;
	struct cond changed;
	bool stopping;
	bool untidy; /* something ran since memory was given back */
	int64_t trimmed_ns;
};

static void trim(struct memory_watch *w, int64_t now)
{
	mem_trim();
	w->trimmed_ns = now;
	memory_budget_measured(w->budget, memory_resident());
}

/* The heap keeps what was freed: the first cache to shrink. Returns when to look again. */
static int64_t look(struct memory_watch *w)
{
	int64_t now = clock_monotonic_ns();
	bool quiet = workers_quiet(w->workers, now - QUIET_NS);
	struct memory_budget_figures f;

	memory_budget_measured(w->budget, memory_resident());
	f = memory_budget_look(w->budget);
	w->untidy |= !quiet;
	if (f.measured + f.all.used > f.limit / 2 && w->trimmed_ns + TRIM_NS <= now) {
		trim(w, now);
	} else if (quiet && w->untidy) {
		w->untidy = false;
		trim(w, now);
	}
	if (memory_budget_shrink(w->budget))
		memory_budget_measured(w->budget, memory_resident());
	return now + (quiet && f.all.used < f.limit / 8 ? REST_NS : LOOK_NS);
}

static void watch(void *context)
{
	struct memory_watch *w = context;

	mutex_lock(&w->lock);
	while (!w->stopping) {
		mutex_unlock(&w->lock);
		int64_t again = look(w);

		mutex_lock(&w->lock);
		if (!w->stopping)
			(void)cond_wait_until(&w->changed, &w->lock, again);
	}
	mutex_unlock(&w->lock);
}

enum err memory_watch_new(struct memory_budget *budget, struct workers *workers,
			  struct memory_watch **ret)
{
	struct memory_watch *w = mem_zalloc(1, sizeof(*w));
	enum err error;

	if (!w)
		return ERR_NO_MEMORY;
	w->budget = budget;
	w->workers = workers;
	mutex_init(&w->lock);
	cond_init(&w->changed);
	error = thread_start(&w->thread, "memory", watch, w);
	if (error != ERR_OK)
		memory_watch_free(w);
	else
		*ret = w;
	return error;
}

void memory_watch_free(struct memory_watch *w)
{
	if (!w)
		return;
	mutex_lock(&w->lock);
	w->stopping = true;
	cond_signal(&w->changed);
	mutex_unlock(&w->lock);
	thread_join(&w->thread);
	cond_release(&w->changed);
	mutex_release(&w->lock);
	mem_free(w);
}
