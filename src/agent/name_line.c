#include "agent/name_line.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/owner_queue.h"
#include "agent/prober.h"
#include "agent/worker_host.h"
#include "base/clock.h"
#include "base/thread.h"

#define ASKS_MAX      256u
/* CPU time of a worker: of the first try while others wait, and at most. */
#define SLICE_NS      ((u64)100 * NS_PER_MS)
#define CPU_MOST_NS   ((u64)60 * NS_PER_S)
/* Times as much with each further try. */
#define SLICE_GROWTH  4u
#define BREAKS_MAX    5u
/* It crashed or hung over the file; it was stopped, for which the file can do nothing. */
#define FAILURES_MAX  2u
#define STOPS_MAX     5u
/* From its begin an answer is there at once. */
#define RECEIVE_NS    (2 * NS_PER_S)
/* Opening a file may block. */
#define OPEN_NS	      (500 * NS_PER_MS)
/* A worker that has taken more is replaced; one without work is sent away. */
#define WORKER_MEMORY ((u64)16 << 20)
#define IDLE_NS	      (30 * NS_PER_S)

struct name_line {
	struct thread thread;
	struct mutex lock;
	struct cond changed, answered;
	bool stop;
	struct owner_queue queue;	/* ids are indexes in `asks` */
	VEC(struct name_ask *) asks;	/* NULL = not in use */
	VEC(struct name_ask *) answers; /* room for all asks */
	u32 outstanding;		/* not taken yet */
	int ready;
	u64 memory;
	/* The thread's own. */
	int worker;
	u32 serving; /* owner */
	u64 slice;
	struct debug_source *debug;
	struct prober *prober;
};

struct name_ask *name_ask_new(u32 kind)
{
	struct name_ask *a = mem_zalloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->kind = kind;
	a->fd = -1;
	a->answer = BUF_INIT(WIRE_NAMES_MAX + 1);
	return a;
}

void name_ask_free(struct name_ask *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	mem_free((char *)(uintptr_t)a->path.p);
	vec_release(&a->addresses);
	buf_release(&a->answer);
	mem_free(a);
}

/* ---- one question ---- */

static void send_away(struct name_line *l)
{
	worker_close(l->worker);
	l->worker = -1;
}

static enum err send_question(struct name_line *l, const struct name_ask *a)
{
	struct wire_head head = {.kind = a->kind,
				 .count = (u32)a->addresses.n,
				 .size = (u32)(a->path.n < WIRE_PATH_MAX ? a->path.n : 0),
				 .serial = a->serial};

	TRY(wire_send_head(l->worker, &head, a->fd));
	TRY(wire_send(l->worker, a->path.p, head.size));
	return wire_send(l->worker, a->addresses.v, a->addresses.n * sizeof(u64));
}

/* A worker that ended while idle is replaced, without blaming this file. */
static enum err begin(struct name_line *l, const struct name_ask *a)
{
	if (l->worker >= 0 && send_question(l, a) == ERR_OK)
		return ERR_OK;
	send_away(l);
	TRY(worker_open(WORKER_NAMES, &l->worker));
	return send_question(l, a);
}

static enum err receive(struct name_line *l, struct name_ask *a)
{
	int64_t deadline = clock_monotonic_ns() + RECEIVE_NS;
	char *to;

	TRY(wire_recv(l->worker, &a->head, sizeof(a->head), deadline));
	if (a->head.error >= ERR_COUNT_ || a->head.size > WIRE_NAMES_MAX)
		return ERR_CORRUPT;
	buf_clear(&a->answer);
	to = buf_reserve(&a->answer, a->head.size + 1);
	if (!to)
		return ERR_NO_MEMORY;
	TRY(wire_recv(l->worker, to, a->head.size, deadline));
	a->answer.n = a->head.size;
	return ERR_OK;
}

/* Called by the wait, every now and then. */
static bool is_enough(void *context, u64 cpu_ns)
{
	struct name_line *l = context;
	bool enough;

	mutex_lock(&l->lock);
	enough = l->stop || (cpu_ns > l->slice && owner_queue_others(&l->queue, l->serving));
	mutex_unlock(&l->lock);
	return enough;
}

static bool is_stopping(struct name_line *l)
{
	bool stop;

	mutex_lock(&l->lock);
	stop = l->stop;
	mutex_unlock(&l->lock);
	return stop;
}

static enum worker_fate ask_once(struct name_line *l, struct name_ask *a)
{
	struct worker_patience patience = {
		.cpu_ns = CPU_MOST_NS, .enough = is_enough, .context = l};
	enum worker_fate fate;
	enum err e;

	l->slice = SLICE_NS;
	for (unsigned i = 0; i < a->breaks; i++)
		l->slice *= SLICE_GROWTH;
	if (begin(l, a) != ERR_OK)
		return WORKER_ENDED;
	fate = worker_wait(l->worker, &patience);
	if (fate != WORKER_ANSWERS)
		return fate;
	e = receive(l, a);
	a->error = e == ERR_CORRUPT || e == ERR_NO_MEMORY ? e : ERR_OK;
	return e == ERR_TIMEOUT ? WORKER_HUNG : e ? WORKER_ENDED : WORKER_ANSWERS;
}

/* Gives the worker the debug file it lacks; false when there is none (yet). */
static bool send_debug(struct name_line *l, struct name_ask *a)
{
	struct wire_head head = {.kind = WIRE_DEBUG, .serial = a->serial};
	int fd = -1;
	enum err e;

	if (l->prober)
		fd = prober_debug_file(l->prober, a->pid, &a->image,
				       clock_monotonic_ns() + OPEN_NS);
	if (fd < 0)
		fd = debug_source_fetched(l->debug, &a->image, &a->debug_pending);
	if (fd < 0)
		return false;
	e = wire_send_head(l->worker, &head, fd);
	close(fd);
	return e == ERR_OK;
}

/* JIT-compiled code: its file is opened for each request, because it may have been replaced. */
static bool open_code(struct name_line *l, struct name_ask *a)
{
	if (a->kind != WIRE_CODE || a->fd >= 0)
		return true;
	if (l->prober)
		a->fd = prober_perf_map(l->prober, a->pid, clock_monotonic_ns() + OPEN_NS);
	a->error = a->fd < 0 ? ERR_NOT_FOUND : ERR_OK;
	return a->fd >= 0;
}

/* True if it is finished, false if it must be repeated. */
static bool judge(struct name_line *l, struct name_ask *a, enum worker_fate fate)
{
	bool again;

	if (fate == WORKER_ANSWERS && !a->error)
		return true;
	worker_replace(l->worker, fate);
	l->worker = -1;
	if (a->error == ERR_NO_MEMORY)
		return true;
	again = fate == WORKER_STOPPED ? ++a->stops < STOPS_MAX
		: fate == WORKER_SPENT ? ++a->breaks < BREAKS_MAX
				       : ++a->failures < FAILURES_MAX;
	if (again && !is_stopping(l))
		return false;
	a->error = fate == WORKER_STOPPED ? ERR_UNAVAILABLE : ERR_CORRUPT;
	if (fate != WORKER_STOPPED)
		worker_count_lost();
	return true;
}

static bool serve(struct name_line *l, struct name_ask *a)
{
	enum worker_fate fate;

	a->error = ERR_OK;
	if (!open_code(l, a))
		return true;
	fate = ask_once(l, a);
	if (fate == WORKER_ANSWERS && !a->error && a->head.wants_debug && send_debug(l, a))
		fate = ask_once(l, a);
	return judge(l, a, fate);
}

/* ---- the thread ---- */

/* Called with the lock, which it lets go of meanwhile. */
static void serve_one(struct name_line *l, struct owner_job job)
{
	struct name_ask *a = l->asks.v[job.id];
	u64 begun, cost;
	bool done;

	l->serving = job.owner;
	mutex_unlock(&l->lock);
	begun = worker_cpu_ns(l->worker);
	done = serve(l, a);
	/* Of a worker that was replaced: what it was given. */
	cost = l->worker < 0 ? SLICE_NS << (2 * (a->breaks < 5 ? a->breaks : 5))
			     : worker_cpu_ns(l->worker) - begun;
	if (l->worker >= 0 && a->head.memory > WORKER_MEMORY)
		send_away(l);
	mutex_lock(&l->lock);
	l->memory = l->worker < 0 ? 0 : a->head.memory;
	owner_queue_charge(&l->queue, job.owner, cost);
	if (!done && owner_queue_push(&l->queue, job.owner, a->weight, job.id) == ERR_OK)
		return;
	if (!done)
		a->error = ERR_NO_MEMORY;
	l->asks.v[job.id] = NULL;
	l->answers.v[l->answers.n++] = a;
	(void)!write(l->ready, &(u64){1}, sizeof(u64));
	cond_broadcast(&l->answered);
}

static void run(void *context)
{
	struct name_line *l = context;
	struct owner_job job;

	mutex_lock(&l->lock);
	while (!l->stop) {
		if (owner_queue_pop(&l->queue, &job)) {
			serve_one(l, job);
		} else if (l->worker < 0) {
			cond_wait(&l->changed, &l->lock);
		} else if (!cond_wait_until(&l->changed, &l->lock,
					    clock_monotonic_ns() + IDLE_NS)) {
			send_away(l);
			l->memory = 0;
		}
	}
	mutex_unlock(&l->lock);
	send_away(l);
}

enum err name_line_new(struct debug_source *debug, struct prober *prober, struct name_line **ret)
{
	struct name_line *l = mem_zalloc(1, sizeof(*l));
	enum err e;

	if (!l)
		return ERR_NO_MEMORY;
	mutex_init(&l->lock);
	cond_init(&l->changed);
	cond_init(&l->answered);
	l->debug = debug;
	l->prober = prober;
	l->worker = -1;
	l->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e = l->ready < 0 ? err_from_errno(errno) : thread_start(&l->thread, "vestal-names", run, l);
	if (e) {
		name_line_free(l);
		return e;
	}
	*ret = l;
	return ERR_OK;
}

void name_line_free(struct name_line *l)
{
	if (!l)
		return;
	mutex_lock(&l->lock);
	l->stop = true;
	cond_broadcast(&l->changed);
	mutex_unlock(&l->lock);
	thread_join(&l->thread);
	vec_for_each (a, &l->asks)
		name_ask_free(*a);
	vec_for_each (a, &l->answers)
		name_ask_free(*a);
	vec_release(&l->asks);
	vec_release(&l->answers);
	owner_queue_release(&l->queue);
	if (l->ready >= 0)
		close(l->ready);
	cond_release(&l->answered);
	cond_release(&l->changed);
	mutex_release(&l->lock);
	mem_free(l);
}

/* Called with the lock. */
static enum err add(struct name_line *l, struct name_ask *a)
{
	u64 place = 0;

	if (l->outstanding >= ASKS_MAX)
		return ERR_TOO_LARGE;
	while (place < l->asks.n && l->asks.v[place])
		place++;
	if (place == l->asks.n)
		TRY(vec_push(&l->asks, NULL));
	/* Reserve room for its answer now. */
	TRY(vec_reserve(&l->answers, l->outstanding + 1));
	TRY(owner_queue_push(&l->queue, a->owner, a->weight, place));
	l->asks.v[place] = a;
	l->outstanding++;
	cond_signal(&l->changed);
	return ERR_OK;
}

enum err name_line_push(struct name_line *l, struct name_ask *a)
{
	enum err e;

	mutex_lock(&l->lock);
	e = add(l, a);
	mutex_unlock(&l->lock);
	if (e)
		name_ask_free(a);
	return e;
}

struct name_ask *name_line_take(struct name_line *l)
{
	struct name_ask *a = NULL;
	u64 count;

	mutex_lock(&l->lock);
	if (l->answers.n) {
		a = l->answers.v[0];
		memmove(l->answers.v, l->answers.v + 1, --l->answers.n * sizeof(a));
		l->outstanding--;
	} else {
		(void)!read(l->ready, &count, sizeof(count));
	}
	mutex_unlock(&l->lock);
	return a;
}

bool name_line_wait(struct name_line *l, int64_t deadline)
{
	bool any;

	mutex_lock(&l->lock);
	while (!l->answers.n && cond_wait_until(&l->answered, &l->lock, deadline))
		;
	any = l->answers.n > 0;
	mutex_unlock(&l->lock);
	return any;
}

int name_line_fd(const struct name_line *l)
{
	return l->ready;
}

u64 name_line_memory(struct name_line *l)
{
	u64 memory;

	mutex_lock(&l->lock);
	memory = l->memory;
	mutex_unlock(&l->lock);
	return memory;
}
