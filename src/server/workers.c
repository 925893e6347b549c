#include "server/workers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

#define QUIET_NS (5 * NS_PER_S)

struct job {
	void (*run)(void *);
	void *context;
};

struct workers {
	struct mutex lock;
	struct cond wake;
	struct job *ring;
	size_t size, first, n;
	bool stopping;
	bool untidy;	 /* a job ran since memory was given back */
	int64_t last_ns; /* when a job was last taken, monotonic */
	struct thread *threads;
	unsigned thread_count;
};

/* Waits for a job, or for the moment when it is quiet enough to give back what the last ones took.
 */
static void wait_for_job(struct workers *w)
{
	if (!w->untidy) {
		cond_wait(&w->wake, &w->lock);
	} else if (clock_monotonic_ns() < w->last_ns + QUIET_NS) {
		(void)cond_wait_until(&w->wake, &w->lock, w->last_ns + QUIET_NS);
	} else {
		w->untidy = false;
		mutex_unlock(&w->lock);
		mem_trim();
		mutex_lock(&w->lock);
	}
}

/* The next job; false when there is none left and none will come. */
static bool take(struct workers *w, struct job *ret)
{
	mutex_lock(&w->lock);
	while (!w->n && !w->stopping)
		wait_for_job(w);
	bool found = w->n > 0;

	if (found) {
		*ret = w->ring[w->first];
		w->first = (w->first + 1) % w->size;
		w->n--;
		w->untidy = true;
		w->last_ns = clock_monotonic_ns();
	}
	mutex_unlock(&w->lock);
	return found;
}

static void work(void *context)
{
	struct job job;

	while (take(context, &job))
		job.run(job.context);
}

enum err workers_new(unsigned threads, size_t queue, struct workers **ret)
{
	struct workers *w = mem_zalloc(1, sizeof(*w));
	enum err error = ERR_OK;

	if (!w)
		return ERR_NO_MEMORY;
	mutex_init(&w->lock);
	cond_init(&w->wake);
	w->size = queue;
	w->ring = mem_zalloc(queue, sizeof(*w->ring));
	w->threads = mem_zalloc(threads, sizeof(*w->threads));
	if (!w->ring || !w->threads)
		error = ERR_NO_MEMORY;
	for (; error == ERR_OK && w->thread_count < threads; w->thread_count++)
		error = thread_start(&w->threads[w->thread_count], "question", work, w);
	if (error != ERR_OK)
		workers_free(w);
	else
		*ret = w;
	return error;
}

enum err workers_give(struct workers *w, void (*run)(void *), void *context)
{
	enum err error = ERR_BUSY;

	mutex_lock(&w->lock);
	if (w->n < w->size && !w->stopping) {
		w->ring[(w->first + w->n++) % w->size] = (struct job){run, context};
		error = ERR_OK;
		cond_signal(&w->wake);
	}
	mutex_unlock(&w->lock);
	return error;
}

size_t workers_waiting(struct workers *w)
{
	mutex_lock(&w->lock);
	size_t n = w->n;

	mutex_unlock(&w->lock);
	return n;
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	mutex_lock(&w->lock);
	w->stopping = true;
	cond_broadcast(&w->wake);
	mutex_unlock(&w->lock);
	for (unsigned i = 0; w->threads && i < w->thread_count; i++)
		thread_join(&w->threads[i]);
	cond_release(&w->wake);
	mutex_release(&w->lock);
	mem_free(w->threads);
	mem_free(w->ring);
	mem_free(w);
}
