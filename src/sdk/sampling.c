#include "sdk/sampling.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "sdk/alloc_sampler.h"
#include "sdk/cpu_sampler.h"
#include "sdk/lock_sampler.h"
#include "sdk/wall.h"

static struct {
	struct mutex lock;
	const struct sdk_settings *settings; /* NULL = ended */
	atomic_uint paused;
	atomic_uint rate_hz;
	u32 demands;
	u32 timed_hz; /* the rate that timers have; 0 = none run */
	bool counting, locks;
} now = {.lock = MUTEX_INIT};

/* With the lock held: makes it so. */
static enum err apply(struct fault *fault)
{
	const struct sdk_settings *s = now.settings;
	bool allocations = s && !now.paused && s->types & (SDK_ALLOC | SDK_HEAP);
	bool cpu = s && (now.demands || (!now.paused && s->types & SDK_TIMERS));
	bool locks = s && !now.paused && s->types & SDK_LOCK;
	u32 rate = cpu ? now.rate_hz : 0;
	enum err e = ERR_OK;

	if (allocations && !now.counting &&
	    !alloc_start(s->alloc_interval, s->depth, s->types & SDK_HEAP))
		return ERR_NO_MEMORY;
	if (!allocations)
		alloc_stop();
	now.counting = allocations;
	if (locks && !now.locks)
		lock_start(s->lock_interval, s->depth);
	else if (!locks)
		lock_stop();
	now.locks = locks;
	wall_settles(s && !now.paused && s->types & SDK_WALL);
	if (now.timed_hz && rate != now.timed_hz)
		cpu_stop();
	if (rate && rate != now.timed_hz)
		e = cpu_start(rate, s->depth, fault);
	now.timed_hz = e ? 0 : rate;
	return e;
}

/* For callers without a result: if a signal or memory is not available, it will not be the next
 * time either. */
static void apply_now(void)
{
	if (now.settings)
		(void)!apply(NULL);
}

enum err sampling_begin(const struct sdk_settings *s, struct fault *fault)
{
	enum err e;

	mutex_lock(&now.lock);
	now.settings = s;
	now.paused = s->control.start_off ? PAUSED_BY_USER : 0;
	now.rate_hz = sdk_timer_rate(s);
	now.demands = 0;
	e = apply(fault);
	if (e)
		now.settings = NULL;
	mutex_unlock(&now.lock);
	return e;
}

void sampling_end(void)
{
	mutex_lock(&now.lock);
	now.settings = NULL;
	(void)!apply(NULL);
	mutex_unlock(&now.lock);
}

void sampling_pause(unsigned reason, bool holds)
{
	mutex_lock(&now.lock);
	now.paused = holds ? now.paused | reason : now.paused & ~reason;
	apply_now();
	mutex_unlock(&now.lock);
}

unsigned sampling_paused(void)
{
	return now.paused;
}

void sampling_demand(bool more)
{
	mutex_lock(&now.lock);
	if (more)
		now.demands++;
	else if (now.demands)
		now.demands--;
	apply_now();
	mutex_unlock(&now.lock);
}

void sampling_set_rate(u32 rate_hz)
{
	mutex_lock(&now.lock);
	now.rate_hz = rate_hz;
	apply_now();
	mutex_unlock(&now.lock);
}

u32 sampling_rate(void)
{
	return now.rate_hz;
}

void sampling_before_fork(void)
{
	mutex_lock(&now.lock);
}

void sampling_after_fork(bool child, bool goes_on)
{
	if (child) {
		now.demands = now.timed_hz = 0;
		/* There is no thread yet that would undo this. */
		now.paused &= PAUSED_BY_USER;
		if (!goes_on)
			now.settings = NULL;
		(void)!apply(NULL);
	}
	mutex_unlock(&now.lock);
}
