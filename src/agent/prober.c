#include "agent/prober.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/debug_source.h"
#include "agent/module_files.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "symbols/symbols.h"

/* Later than this a thread counts as one that hangs. */
#define HUNG_NS	    (300 * NS_PER_MS)
#define WAITING_MAX 8192u
/* What hangs when everything ends is waited for so long. */
#define END_NS	    (NS_PER_S / 2)

/* Files below /proc hardly ever hang: they have threads of their own. */
enum { LANE_PROCESSES, LANE_FILES, LANES };
#define THREADS_MAX 8u

struct lane_thread {
	struct thread thread;
	struct lane *lane;
	struct probe *probe; /* that it works on */
	bool started;
};

struct lane {
	struct prober *prober;
	VEC(struct probe *) waiting; /* from `next` on */
	size_t next;
	struct lane_thread threads[THREADS_MAX];
	unsigned count, idle;
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
};

struct probe *probe_new(enum probe_kind kind, u32 pid)
{
	struct probe *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->kind = kind;
	p->pid = pid;
	p->fd = -1;
	return p;
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	process_report_free(p->report);
	mem_free((char *)(uintptr_t)p->path.p);
	mem_free(p);
}

/* ---- the work ---- */

static void look_at_file(struct probe *p)
{
	struct stat info;

	if (p->fd < 0)
		return;
	if (fstat(p->fd, &info)) {
		close(p->fd);
		p->fd = -1;
		return;
	}
	p->owner = info.st_uid;
	p->size = (u64)info.st_size;
	p->seconds = info.st_mtim.tv_sec;
	p->nanoseconds = (u64)info.st_mtim.tv_nsec;
}

void probe_work(struct probe *p)
{
	switch (p->kind) {
	case PROBE_PROCESS:
		process_report_read(p->report);
		break;
	case PROBE_MODULE:
		p->fd = module_file_open(p->pid, p->start, p->end, p->path, p->inode);
		break;
	case PROBE_PERF_MAP:
		if (jit_map_open((pid_t)p->pid, &p->fd) != ERR_OK)
			p->fd = -1;
		break;
	case PROBE_DEBUG_FILE:
		p->fd = debug_source_open(p->pid, p->path);
		break;
	}
	look_at_file(p);
}

/* ---- threads ---- */

static bool is_working_for(const struct lane *l, u32 pid)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->threads[i].probe && l->threads[i].probe->pid == pid)
			return true;
	return false;
}

/* The first whose process nobody waits for. */
static struct probe *next_probe(struct lane *l)
{
	for (size_t i = l->next; i < l->waiting.n; i++) {
		struct probe *p = l->waiting.v[i];

		if (is_working_for(l, p->pid))
			continue;
		memmove(l->waiting.v + l->next + 1, l->waiting.v + l->next,
			(i - l->next) * sizeof(p));
		if (++l->next == l->waiting.n)
			l->next = l->waiting.n = 0;
		return p;
	}
	return NULL;
}

/* Called with the lock. */
static void finish(struct prober *p, struct lane *l, struct probe *probe)
{
	l->pending--;
	probe->done = true;
	if (probe->abandoned) {
		probe_free(probe);
	} else if (!probe->waited) {
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

	mutex_lock(&p->lock);
	while (!p->stop) {
		struct probe *probe = next_probe(l);

		if (!probe) {
			l->idle++;
			cond_wait(&p->changed, &p->lock);
			l->idle--;
			continue;
		}
		probe->begun = clock_monotonic_ns();
		t->probe = probe;
		mutex_unlock(&p->lock);
		probe_work(probe);
		mutex_lock(&p->lock);
		t->probe = NULL;
		finish(p, l, probe);
	}
	mutex_unlock(&p->lock);
}

/* Called with the lock. Without a thread more what there is goes on with those that work. */
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

		if (l->next < l->waiting.n && !l->idle && count_hung(l, now) == l->count)
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
	for (size_t i = l->next; i < l->waiting.n; i++)
		probe_free(l->waiting.v[i]);
	vec_release(&l->waiting);
	l->next = 0;
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

/* Called with the lock. */
static enum err post(struct prober *p, struct probe *probe)
{
	struct lane *l = lane_of(p, probe->kind);

	if (l->waiting.n - l->next >= WAITING_MAX)
		return ERR_TOO_LARGE;
	if (hangs_on(p, probe->pid))
		return ERR_UNAVAILABLE;
	TRY(vec_reserve(&l->finished, l->pending + 1));
	TRY(vec_push(&l->waiting, probe));
	l->pending++;
	cond_broadcast(&p->changed);
	return ERR_OK;
}

enum err prober_post(struct prober *p, struct probe *probe)
{
	enum err e;

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

	probe->waited = true;
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
