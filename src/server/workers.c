#include "server/workers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

#define MORE_THREADS	   8 /* times the base, for tenants that have nothing running */
#define MAX_THREADS	   64
#define RESERVE_THREADS	   2
#define QUERIES_WAITING	   4096
/* Uploads that wait are bounded by the memory their bodies take. */
#define UPLOADS_WAITING	   65536
#define UPLOADS_PER_TENANT (UPLOADS_WAITING / 4)
#define QUERIES_PER_TENANT 64
/* Threads that receive, write and reply need little CPU time, and every request waits for it: they
 * get a higher priority than these. */
#define BUSY_NICE	   5

/* A thread, and what it runs. */
struct worker {
	struct lane_state *lane;
	struct thread thread;
	struct job *job; /* NULL: none; with the lane's lock */
	int64_t deadline_ns;
	atomic_bool stop;
	/* Idle threads are woken last in, first out: what the last one touched is still warm. */
	struct cond wake;
	struct worker *next_idle;
	bool idle;
};

struct lane_state {
	struct mutex lock;
	struct fair_queue *queue;
	struct worker *idle;
	struct worker *workers;
	unsigned worker_count, started;
	bool stopping;
	bool is_busy;	 /* may use a CPU for long */
	int64_t last_ns; /* when something was last taken */
};

struct workers {
	struct lane_state lanes[LANES_];
	/* The thread that watches deadlines. */
	struct mutex lock;
	struct cond changed;
	struct thread watch;
	int64_t next_ns; /* the earliest known deadline */
	bool stopping;
};

/* ------------------------------------------------------------------ running */

static void wake_one(struct lane_state *l)
{
	struct worker *w = l->idle;

	if (!w)
		return;
	l->idle = w->next_idle;
	w->idle = false;
	cond_signal(&w->wake);
}

static void wait_idle(struct worker *w)
{
	w->idle = true;
	w->next_idle = w->lane->idle;
	w->lane->idle = w;
	while (w->idle)
		cond_wait(&w->wake, &w->lane->lock);
}

static struct fair_job *wait_for_job(struct worker *w)
{
	struct lane_state *l = w->lane;
	struct fair_job *next;

	while (!(next = fair_queue_take(l->queue, clock_monotonic_ns(), l->stopping)) &&
	       !l->stopping)
		wait_idle(w);
	return next;
}

static void run(struct worker *w, struct fair_job *fair)
{
	struct lane_state *l = w->lane;
	struct job job = *(struct job *)fair;
	/* The caller's memory goes with the reply. */
	struct fair_job kept = *fair;
	int64_t before = clock_thread_cpu_ns();

	w->deadline_ns = kept.deadline_ns;
	atomic_store(&w->stop, clock_monotonic_ns() >= kept.deadline_ns);
	w->job = (struct job *)fair;
	mutex_unlock(&l->lock);
	job.run(job.context, &w->stop);
	mutex_lock(&l->lock);
	w->job = NULL;
	fair_queue_done(l->queue, &kept, clock_thread_cpu_ns() - before);
	l->last_ns = clock_monotonic_ns();
}

static void work(void *context)
{
	struct worker *w = context;
	struct lane_state *l = w->lane;
	struct fair_job *next;

	if (l->is_busy)
		thread_lower_priority(BUSY_NICE);
	mutex_lock(&l->lock);
	while ((next = wait_for_job(w)))
		run(w, next);
	mutex_unlock(&l->lock);
}

/* ------------------------------------------------------------------ deadlines */

/* Stops what runs too long, and ends what waited too long; the next deadline. */
static int64_t check_lane(struct lane_state *l, int64_t now)
{
	static const atomic_bool late = true;
	int64_t next, next_running = INT64_MAX;
	struct fair_job *job;

	mutex_lock(&l->lock);
	for (unsigned i = 0; i < l->started; i++) {
		struct worker *w = &l->workers[i];

		if (!w->job)
			continue;
		if (w->deadline_ns <= now)
			atomic_store(&w->stop, true);
		else if (w->deadline_ns < next_running)
			next_running = w->deadline_ns;
	}
	while ((job = fair_queue_late(l->queue, now, &next))) {
		struct job copy = *(struct job *)job;

		mutex_unlock(&l->lock);
		copy.run(copy.context, &late);
		mutex_lock(&l->lock);
	}
	mutex_unlock(&l->lock);
	return next < next_running ? next : next_running;
}

static void watch(void *context)
{
	struct workers *w = context;

	mutex_lock(&w->lock);
	while (!w->stopping) {
		int64_t now = clock_monotonic_ns(), next = INT64_MAX;

		w->next_ns = INT64_MAX;
		mutex_unlock(&w->lock);
		for (int i = 0; i < LANES_; i++) {
			int64_t of_lane = check_lane(&w->lanes[i], now);

			next = of_lane < next ? of_lane : next;
		}
		mutex_lock(&w->lock);
		/* Jobs added meanwhile have signalled that. */
		if (next < w->next_ns)
			w->next_ns = next;
		if (w->stopping)
			break;
		if (w->next_ns == INT64_MAX)
			cond_wait(&w->changed, &w->lock);
		else
			(void)cond_wait_until(&w->changed, &w->lock, w->next_ns);
	}
	mutex_unlock(&w->lock);
}

static void watch_deadline(struct workers *w, int64_t deadline_ns)
{
	mutex_lock(&w->lock);
	if (deadline_ns < w->next_ns) {
		w->next_ns = deadline_ns;
		cond_signal(&w->changed);
	}
	mutex_unlock(&w->lock);
}

/* ------------------------------------------------------------------ beginning and end */

static enum err lane_start(struct lane_state *l, const struct fair_limits *limits, const char *name)
{
	TRY(fair_queue_new(limits, &l->queue));
	l->worker_count = limits->most;
	l->workers = mem_zalloc(l->worker_count, sizeof(*l->workers));
	if (!l->workers)
		return ERR_NO_MEMORY;
	for (unsigned i = 0; i < l->worker_count; i++) {
		l->workers[i].lane = l;
		cond_init(&l->workers[i].wake);
	}
	for (; l->started < l->worker_count; l->started++) {
		struct worker *w = &l->workers[l->started];

		TRY(thread_start(&w->thread, name, work, w));
	}
	return ERR_OK;
}

static unsigned base_of(const struct workers_options *o, enum lane lane)
{
	unsigned cpus = thread_cpus();

	return o->threads[lane] ? o->threads[lane] : cpus > 2 ? cpus : 2;
}

static unsigned most_of(unsigned base)
{
	unsigned most = base * MORE_THREADS;

	return most < MAX_THREADS ? most : base > MAX_THREADS ? base : MAX_THREADS;
}

static enum err start(struct workers *w, const struct workers_options *o)
{
	static const char *const names[LANES_] = {"query", "upload", "reserve"};
	unsigned waiting = o->queries_per_tenant ? o->queries_per_tenant : QUERIES_PER_TENANT;

	for (int i = 0; i < LANES_; i++) {
		unsigned base = i == LANE_RESERVE ? RESERVE_THREADS : base_of(o, (enum lane)i);
		struct fair_limits limits = {.base = base,
					     .most = i == LANE_RESERVE ? base : most_of(base),
					     .per_tenant = waiting,
					     .all = QUERIES_WAITING};

		if (i == LANE_UPLOADS) {
			limits.per_tenant = UPLOADS_PER_TENANT;
			limits.all = UPLOADS_WAITING;
		}
		w->lanes[i].is_busy = i != LANE_RESERVE;
		TRY(lane_start(&w->lanes[i], &limits, names[i]));
	}
	return thread_start(&w->watch, "deadlines", watch, w);
}

enum err workers_new(const struct workers_options *options, struct workers **ret)
{
	struct workers *w = mem_zalloc(1, sizeof(*w));
	enum err error;

	if (!w)
		return ERR_NO_MEMORY;
	for (int i = 0; i < LANES_; i++)
		mutex_init(&w->lanes[i].lock);
	mutex_init(&w->lock);
	cond_init(&w->changed);
	w->next_ns = INT64_MAX;
	error = start(w, options);
	if (error != ERR_OK)
		workers_free(w);
	else
		*ret = w;
	return error;
}

enum err workers_give(struct workers *w, enum lane lane, struct str tenant, struct job *job,
		      struct fault *fault)
{
	struct lane_state *l = &w->lanes[lane];
	int64_t deadline = job->fair.deadline_ns;
	enum err error = ERR_BUSY;
	bool now = false;

	mutex_lock(&l->lock);
	if (!l->stopping)
		error = fair_queue_put(l->queue, tenant, &job->fair, clock_monotonic_ns(), &now,
				       fault);
	/* If it may not run now, a thread picks it up when it has finished its job. */
	if (now)
		wake_one(l);
	mutex_unlock(&l->lock);
	/* The job may be over by now. */
	if (error == ERR_OK && deadline != INT64_MAX)
		watch_deadline(w, deadline);
	return error;
}

size_t workers_waiting(struct workers *w, enum lane lane)
{
	struct lane_state *l = &w->lanes[lane];

	mutex_lock(&l->lock);
	size_t n = fair_queue_waiting(l->queue);

	mutex_unlock(&l->lock);
	return n;
}

bool workers_quiet(struct workers *w, int64_t since_ns)
{
	bool quiet = true;

	for (int i = 0; i < LANE_RESERVE; i++) {
		struct lane_state *l = &w->lanes[i];

		mutex_lock(&l->lock);
		quiet &= l->last_ns <= since_ns && !fair_queue_waiting(l->queue);
		mutex_unlock(&l->lock);
	}
	return quiet;
}

void workers_each(struct workers *w, enum lane lane,
		  void (*each)(void *context, const struct fair_figures *f), void *context)
{
	struct lane_state *l = &w->lanes[lane];

	mutex_lock(&l->lock);
	fair_queue_each(l->queue, each, context);
	mutex_unlock(&l->lock);
}

static void lane_end(struct lane_state *l)
{
	mutex_lock(&l->lock);
	l->stopping = true;
	while (l->idle)
		wake_one(l);
	mutex_unlock(&l->lock);
	for (unsigned i = 0; l->workers && i < l->started; i++)
		thread_join(&l->workers[i].thread);
}

static void lane_release(struct lane_state *l)
{
	fair_queue_free(l->queue);
	for (unsigned i = 0; l->workers && i < l->worker_count; i++)
		cond_release(&l->workers[i].wake);
	mem_free(l->workers);
	mutex_release(&l->lock);
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	/* Deadlines hold until the last has run. */
	for (int i = 0; i < LANES_; i++)
		lane_end(&w->lanes[i]);
	mutex_lock(&w->lock);
	w->stopping = true;
	cond_broadcast(&w->changed);
	mutex_unlock(&w->lock);
	thread_join(&w->watch);
	for (int i = 0; i < LANES_; i++)
		lane_release(&w->lanes[i]);
	cond_release(&w->changed);
	mutex_release(&w->lock);
	mem_free(w);
}
