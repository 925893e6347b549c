#include "agent/prober.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/owner_queue.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "symbols/symbols.h"

/* Later than this a thread counts as one that hangs. */
#define HUNG_NS	    (300 * NS_PER_MS)
#define WAITING_MAX 8192u
/* Of these, of one user. */
#define USER_MAX    (WAITING_MAX / 4 * 3)
/* How long to wait for hanging threads at shutdown. */
#define END_NS	    (NS_PER_S / 2)

/* CPU time saved up while idle, so that a few processes are read at once. */
#define SAVED_NS (2 * NS_PER_MS)

/* Files below /proc hardly ever hang: they have threads of their own. */
enum { LANE_PROCESSES, LANE_FILES, LANES };
#define THREADS_MAX 8u

struct lane_thread {
	struct thread thread;
	struct lane *lane;
	struct probe *probe; /* that it works on */
	bool started;
};

struct probe_queue {
	VEC(struct probe *) list; /* from `next` on */
	size_t next;
};

struct lane {
	struct prober *prober;
	struct probe_queue urgent;  /* PROBE_CALLER_WAITS */
	struct owner_queue waiting; /* the others: by user, weighted by rank, as pointers */
	struct lane_thread threads[THREADS_MAX];
	unsigned count, idle, asleep; /* of the idle ones: until something is posted */
	VEC(struct probe *) finished; /* from `taken` on */
	size_t taken;
	u32 pending; /* not finished */
};

struct prober {
	struct mutex lock;
	struct cond changed, done;
	bool stop;
	struct lane lanes[LANES];
	u64 refused;
	int ready;
	u64 pace;	/* CPU time a second */
	int64_t credit; /* CPU time; below 0: sleeps */
	int64_t credited_at;
	u64 cpu_ns;
};

static bool is_working_for(const struct lane *l, u32 pid)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->threads[i].probe && l->threads[i].probe->pid == pid)
			return true;
	return false;
}

static struct probe *probe_of(u64 id)
{
	return (struct probe *)(uintptr_t)id;
}

static bool is_free(void *context, u64 id)
{
	return !is_working_for(context, probe_of(id)->pid);
}

static size_t waiting_count(const struct lane *l)
{
	return l->urgent.list.n - l->urgent.next + l->waiting.jobs.n;
}

/* The first one whose process no thread is busy with; NULL = none. */
static struct probe *take_urgent(struct lane *l)
{
	struct probe_queue *q = &l->urgent;

	for (size_t i = q->next; i < q->list.n; i++) {
		struct probe *probe = q->list.v[i];

		if (is_working_for(l, probe->pid))
			continue;
		memmove(q->list.v + q->next + 1, q->list.v + q->next,
			(i - q->next) * sizeof(*q->list.v));
		if (++q->next == q->list.n)
			q->next = q->list.n = 0;
		return probe;
	}
	return NULL;
}

/* Called with the lock. When the threads may work again; 0 = now. */
static int64_t rests_until(struct prober *p)
{
	int64_t now = clock_monotonic_ns();

	if (!p->pace)
		return 0;
	p->credit += (int64_t)((double)(now - p->credited_at) * (double)p->pace / NS_PER_S);
	if (p->credit > SAVED_NS)
		p->credit = SAVED_NS;
	p->credited_at = now;
	return p->credit >= 0 ? 0
			      : now + (int64_t)((double)-p->credit / (double)p->pace * NS_PER_S);
}

static void rest(struct prober *p, struct lane *l, int64_t until)
{
	l->idle++;
	if (until) {
		(void)cond_wait_until(&p->changed, &p->lock, until);
	} else {
		l->asleep++;
		cond_wait(&p->changed, &p->lock);
		l->asleep--;
	}
	l->idle--;
}

/* Called with the lock. NULL when the thread has rested. */
static struct probe *next_probe(struct prober *p, struct lane *l)
{
	/* A caller that waits has a deadline. */
	struct probe *probe = take_urgent(l);
	int64_t until = 0;
	struct owner_job job;

	if (probe)
		return probe;
	if (l->waiting.jobs.n)
		until = rests_until(p);
	if (!until && owner_queue_pop_if(&l->waiting, is_free, l, &job))
		return probe_of(job.id);
	rest(p, l, until);
	return NULL;
}

/* Called with the lock. Returns the CPU time of this thread since `*used`. */
static u64 spend(struct prober *p, int64_t *used)
{
	int64_t now = clock_thread_cpu_ns(), ns = now - *used;

	*used = now;
	p->cpu_ns += (u64)ns;
	p->credit -= p->pace ? ns : 0;
	return (u64)ns;
}

/* Called with the lock. */
static void finish(struct prober *p, struct lane *l, struct probe *probe)
{
	l->pending--;
	probe->done = true;
	if (probe->abandoned) {
		probe_free(probe);
	} else if (probe->rank != PROBE_CALLER_WAITS) {
		/* There is room since it was posted. */
		l->finished.v[l->finished.n++] = probe;
		(void)!write(p->ready, &(u64){1}, sizeof(u64));
	}
	cond_broadcast(&p->done);
	/* Another one of the same process may be waiting. */
	cond_broadcast(&p->changed);
}

static void run(void *context)
{
	struct lane_thread *t = context;
	struct lane *l = t->lane;
	struct prober *p = l->prober;

	int64_t used = clock_thread_cpu_ns();

	mutex_lock(&p->lock);
	while (!p->stop) {
		struct probe *probe = next_probe(p, l);
		u32 user;

		if (!probe)
			continue;
		user = probe->user;
		probe->begun = clock_monotonic_ns();
		t->probe = probe;
		mutex_unlock(&p->lock);
		probe_work(probe);
		mutex_lock(&p->lock);
		t->probe = NULL;
		finish(p, l, probe);
		owner_queue_charge(&l->waiting, user, spend(p, &used));
	}
	mutex_unlock(&p->lock);
}

/* Requires the lock. If no thread can be started, the existing ones continue. */
static void start_thread(struct lane *l)
{
	struct lane_thread *t = &l->threads[l->count];

	if (l->count == THREADS_MAX)
		return;
	*t = (struct lane_thread){.lane = l};
	if (thread_start(&t->thread, "vestal-probe", run, t) != ERR_OK)
		return;
	t->started = true;
	l->count++;
}

static unsigned count_hung(const struct lane *l, int64_t now)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->count; i++)
		n += l->threads[i].probe && now - l->threads[i].probe->begun > HUNG_NS;
	return n;
}

void prober_turn(struct prober *p)
{
	int64_t now = clock_monotonic_ns();

	mutex_lock(&p->lock);
	for (unsigned i = 0; i < LANES; i++) {
		struct lane *l = &p->lanes[i];

		if (waiting_count(l) && !l->idle && count_hung(l, now) == l->count)
			start_thread(l);
	}
	mutex_unlock(&p->lock);
}

enum err prober_new(struct prober **ret)
{
	struct prober *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return ERR_NO_MEMORY;
	mutex_init(&p->lock);
	cond_init(&p->changed);
	cond_init(&p->done);
	p->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	mutex_lock(&p->lock);
	for (unsigned i = 0; i < LANES; i++) {
		p->lanes[i].prober = p;
		start_thread(&p->lanes[i]);
	}
	mutex_unlock(&p->lock);
	if (p->ready < 0 || !p->lanes[LANE_PROCESSES].count || !p->lanes[LANE_FILES].count) {
		prober_free(p);
		return ERR_UNAVAILABLE;
	}
	*ret = p;
	return ERR_OK;
}

static bool works(const struct prober *p)
{
	for (unsigned i = 0; i < LANES; i++)
		for (unsigned k = 0; k < p->lanes[i].count; k++)
			if (p->lanes[i].threads[k].probe)
				return true;
	return false;
}

static void drop_waiting(struct lane *l)
{
	struct probe_queue *q = &l->urgent;

	while (q->next < q->list.n)
		probe_free(q->list.v[q->next++]);
	vec_release(&q->list);
	q->next = 0;
	vec_for_each (job, &l->waiting.jobs)
		probe_free(probe_of(job->id));
	owner_queue_release(&l->waiting);
}

static void drop_finished(struct lane *l)
{
	while (l->taken < l->finished.n)
		probe_free(l->finished.v[l->taken++]);
	vec_release(&l->finished);
}

void prober_free(struct prober *p)
{
	int64_t deadline = clock_monotonic_ns() + END_NS;
	bool hangs;

	if (!p)
		return;
	mutex_lock(&p->lock);
	p->stop = true;
	for (unsigned i = 0; i < LANES; i++)
		drop_waiting(&p->lanes[i]);
	cond_broadcast(&p->changed);
	while (works(p) && cond_wait_until(&p->done, &p->lock, deadline))
		;
	hangs = works(p);
	mutex_unlock(&p->lock);
	/* It still uses all this, and ends with the process. */
	if (hangs)
		return;
	for (unsigned i = 0; i < LANES; i++) {
		for (unsigned k = 0; k < p->lanes[i].count; k++)
			thread_join(&p->lanes[i].threads[k].thread);
		drop_finished(&p->lanes[i]);
	}
	if (p->ready >= 0)
		close(p->ready);
	cond_release(&p->done);
	cond_release(&p->changed);
	mutex_release(&p->lock);
	mem_free(p);
}

/* ---- questions ---- */

static bool hangs_on(const struct prober *p, u32 pid)
{
	int64_t now = clock_monotonic_ns();

	for (unsigned i = 0; i < LANES; i++)
		for (unsigned k = 0; k < p->lanes[i].count; k++) {
			const struct probe *probe = p->lanes[i].threads[k].probe;

			if (probe && probe->pid == pid && now - probe->begun > HUNG_NS)
				return true;
		}
	return false;
}

static struct lane *lane_of(struct prober *p, enum probe_kind kind)
{
	return &p->lanes[kind == PROBE_PROCESS ? LANE_PROCESSES : LANE_FILES];
}

static enum err enqueue(struct lane *l, struct probe *probe)
{
	if (probe->rank == PROBE_CALLER_WAITS)
		return vec_push(&l->urgent.list, probe);
	if (owner_queue_waiting(&l->waiting, probe->user) >= USER_MAX)
		return ERR_TOO_LARGE;
	return owner_queue_push(&l->waiting, probe->user, probe->rank, (u64)(uintptr_t)probe);
}

/* Called with the lock. */
static enum err post(struct prober *p, struct probe *probe)
{
	struct lane *l = lane_of(p, probe->kind);

	if (waiting_count(l) >= WAITING_MAX)
		return ERR_TOO_LARGE;
	if (hangs_on(p, probe->pid))
		return ERR_UNAVAILABLE;
	TRY(vec_reserve(&l->finished, l->pending + 1));
	probe->posted = clock_monotonic_ns();
	TRY(enqueue(l, probe));
	l->pending++;
	/* Threads that rest for their pace wake by themselves; to wake them for nothing costs, too. */
	if (l->asleep || probe->rank == PROBE_CALLER_WAITS)
		cond_broadcast(&p->changed);
	return ERR_OK;
}

enum err prober_post(struct prober *p, struct probe *probe)
{
	enum err e;

	probe->user = probe_user(probe->pid);
	mutex_lock(&p->lock);
	e = post(p, probe);
	p->refused += e != ERR_OK;
	mutex_unlock(&p->lock);
	if (e)
		probe_free(probe);
	return e;
}

struct probe *prober_take(struct prober *p, enum probe_kind kind)
{
	struct lane *l = lane_of(p, kind);
	struct probe *probe = NULL;
	u64 count;

	mutex_lock(&p->lock);
	if (l->taken < l->finished.n) {
		probe = l->finished.v[l->taken++];
		if (l->taken == l->finished.n)
			l->taken = l->finished.n = 0;
	} else {
		(void)!read(p->ready, &count, sizeof(count));
	}
	mutex_unlock(&p->lock);
	return probe;
}

int prober_fd(const struct prober *p)
{
	return p->ready;
}

u32 prober_pending(struct prober *p, enum probe_kind kind)
{
	struct lane *l = lane_of(p, kind);
	u32 n;

	mutex_lock(&p->lock);
	n = l->pending + (u32)(l->finished.n - l->taken);
	mutex_unlock(&p->lock);
	return n;
}

void prober_set_pace(struct prober *p, u64 ns)
{
	mutex_lock(&p->lock);
	if (p->pace != ns) {
		p->credit = 0;
		p->credited_at = clock_monotonic_ns();
		p->pace = ns;
		cond_broadcast(&p->changed);
	}
	mutex_unlock(&p->lock);
}

u64 prober_cpu_ns(struct prober *p)
{
	u64 ns;

	mutex_lock(&p->lock);
	ns = p->cpu_ns;
	mutex_unlock(&p->lock);
	return ns;
}

int64_t prober_oldest(struct prober *p, enum probe_kind kind)
{
	struct lane *l = lane_of(p, kind);
	const struct probe_queue *q = &l->urgent;
	int64_t oldest = INT64_MAX;

	mutex_lock(&p->lock);
	if (q->next < q->list.n)
		oldest = q->list.v[q->next]->posted;
	if (l->waiting.jobs.n && probe_of(l->waiting.jobs.v[0].id)->posted < oldest)
		oldest = probe_of(l->waiting.jobs.v[0].id)->posted;
	mutex_unlock(&p->lock);
	return oldest;
}

void prober_counts(struct prober *p, u32 *ret_hung, u64 *ret_refused)
{
	int64_t now = clock_monotonic_ns();

	mutex_lock(&p->lock);
	*ret_hung = count_hung(&p->lanes[0], now) + count_hung(&p->lanes[1], now);
	*ret_refused = p->refused;
	mutex_unlock(&p->lock);
}

/* The descriptor that a probe finds in time. */
static int call(struct prober *p, struct probe *probe, int64_t deadline)
{
	int fd = -1;
	enum err e;

	probe->rank = PROBE_CALLER_WAITS;
	probe->user = probe_user(probe->pid);
	mutex_lock(&p->lock);
	e = post(p, probe);
	while (!e && !probe->done && cond_wait_until(&p->done, &p->lock, deadline))
		;
	if (!e && !probe->done) {
		probe->abandoned = true;
		probe = NULL;
		p->refused++;
	}
	mutex_unlock(&p->lock);
	if (probe && !e) {
		fd = probe->fd;
		probe->fd = -1;
	}
	probe_free(probe);
	return fd;
}

int prober_perf_map(struct prober *p, u32 pid, int64_t deadline)
{
	struct probe *probe = probe_new(PROBE_PERF_MAP, pid);

	return probe ? call(p, probe, deadline) : -1;
}

int prober_debug_file(struct prober *p, u32 pid, const struct unwind_image *image, int64_t deadline)
{
	struct probe *probe = probe_new(PROBE_DEBUG_FILE, pid);
	char id[BUILD_ID_TEXT_MAX + 1], *copy;

	build_id_text(str_n(image->build_id, image->build_id_size), id);
	copy = probe ? mem_strdup(id) : NULL;
	if (!copy) {
		probe_free(probe);
		return -1;
	}
	probe->path = str_of(copy);
	return call(p, probe, deadline);
}
