#include "agent/table_reader.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/owner_queue.h"
#include "agent/worker_host.h"
#include "agent/worker_wire.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"

/* CPU time of a worker: of the first try while other owners wait, while a small file of the same
 * owner waits, and at most. */
#define SLICE_NS     ((u64)200 * NS_PER_MS)
#define YIELD_NS     ((u64)10 * NS_PER_MS)
#define CPU_MOST_NS  ((u64)60 * NS_PER_S)
/* Factor of the time limit of each further attempt, which starts over. */
#define SLICE_GROWTH 4u
#define BREAKS_MAX   5u
/* After so many yields a large file is read to its end. */
#define YIELDS_MAX   3u
/* It crashed or hung over the file; it was stopped, for which the file can do nothing. */
#define FAILURES_MAX 2u
#define STOPS_MAX    5u
/* From its begin an answer is there soon, but not at once on a busy machine. */
#define RECEIVE_NS   (5 * NS_PER_S)
/* A worker without work is sent away: it costs memory. */
#define IDLE_NS	     (5 * NS_PER_S)

struct job {
	u32 module;
	int fd;
	u32 owner;
	u64 size;
	struct str image;
	bool used; /* the place */
	unsigned failures, stops, breaks, yields;
};

struct table_reader {
	struct thread thread;
	struct mutex lock;
	struct cond changed;
	bool stop;
	VEC(struct job) jobs; /* places */
	struct owner_queue queue;
	u32 serving; /* owner */
	u64 weight;  /* of what is read for it */
	/* CPU time until it gives way: to others, and to small files of its owner; what is charged
	 * when it has to be replaced, and whether that was for its owner's. */
	u64 slice, yield, spent;
	bool yielded;
	VEC(struct table_result) results;
	size_t unfinished; /* jobs without a result yet */
	int ready;	   /* an eventfd: results */
	int worker;	   /* its socket; -1 = none. Changed by the thread, under the lock */
	/* The thread's own. */
	struct unwind_rules *rules;
	struct unwind_rule *shared;
	size_t shared_count;
};

/* Publish new rules before tables that use them. */
static void share_rules(struct table_reader *r)
{
	size_t count;
	const struct unwind_rule *all = unwind_rules_all(r->rules, &count);

	memcpy(r->shared + r->shared_count, all + r->shared_count,
	       (count - r->shared_count) * sizeof(*all));
	r->shared_count = count;
}

static void build_trusted(struct table_reader *r, struct str image, struct table_result *ret)
{
	ret->error = unwind_image_read(image, &ret->image, NULL);
	if (!ret->error)
		ret->error = unwind_table_build(image, r->rules, &ret->table, NULL);
}

static void set_worker(struct table_reader *r, int socket)
{
	int old;

	mutex_lock(&r->lock);
	old = r->worker;
	r->worker = socket;
	mutex_unlock(&r->lock);
	worker_close(old);
}

static enum err receive_parts(struct table_reader *r, const struct wire_table *head,
			      struct unwind_table *t, int64_t deadline)
{
	CLEANUP(buf_release)
	struct buf rules = BUF_INIT(sizeof(struct unwind_rule) * UNWIND_RULES_MAX);
	size_t rule_bytes = (size_t)head->rule_count * sizeof(struct unwind_rule);
	char *to;

	t->pages = mem_zalloc((size_t)head->page_count + 1, sizeof(*t->pages));
	if (!t->pages)
		return ERR_NO_MEMORY;
	t->page_count = head->page_count;
	t->rows = head->rows;
	TRY(wire_recv(r->worker, t->pages, t->page_count * sizeof(*t->pages), deadline));
	to = buf_reserve(&rules, rule_bytes + 1);
	if (!to)
		return ERR_NO_MEMORY;
	TRY(wire_recv(r->worker, to, rule_bytes, deadline));
	to = buf_reserve(&t->blocks, head->block_bytes + 1);
	if (!to)
		return ERR_NO_MEMORY;
	TRY(wire_recv(r->worker, to, head->block_bytes, deadline));
	t->blocks.n = head->block_bytes;
	return unwind_table_adopt(t, (const struct unwind_rule *)rules.data, head->rule_count,
				  r->rules);
}

static enum err receive(struct table_reader *r, struct table_result *ret)
{
	int64_t deadline = clock_monotonic_ns() + RECEIVE_NS;
	struct wire_table head;
	enum err e;

	TRY(wire_recv(r->worker, &head, sizeof(head), deadline));
	if (head.error >= ERR_COUNT_ || head.page_count > WIRE_PAGES_MAX ||
	    head.rule_count > UNWIND_RULES_MAX || head.block_bytes > WIRE_BLOCKS_MAX ||
	    head.image.load_count > UNWIND_LOADS_MAX ||
	    head.image.build_id_size > UNWIND_BUILD_ID_SIZE)
		return ERR_CORRUPT;
	ret->image = head.image;
	ret->table.blocks = BUF_INIT(WIRE_BLOCKS_MAX + 1);
	e = receive_parts(r, &head, &ret->table, deadline);
	if (e)
		unwind_table_release(&ret->table);
	else
		ret->error = (enum err)head.error;
	return e;
}

/* Asks; a worker that ended meanwhile is replaced. */
static enum err ask(struct table_reader *r, const struct job *job)
{
	struct wire_head question = {.kind = WIRE_TABLE};
	int socket;

	if (r->worker >= 0 && wire_send_head(r->worker, &question, job->fd) == ERR_OK)
		return ERR_OK;
	TRY(worker_open(WORKER_TABLES, &socket));
	set_worker(r, socket);
	return wire_send_head(socket, &question, job->fd);
}

/* Called by the wait, every now and then. */
static bool is_enough(void *context, u64 cpu_ns)
{
	struct table_reader *r = context;
	bool enough;

	mutex_lock(&r->lock);
	enough = r->stop || (cpu_ns > r->slice && owner_queue_others(&r->queue, r->serving));
	r->yielded = !enough && cpu_ns > r->yield &&
		     owner_queue_lighter(&r->queue, r->serving, r->weight);
	enough |= r->yielded;
	if (enough)
		r->spent = cpu_ns;
	mutex_unlock(&r->lock);
	return enough;
}

static bool is_stopping(struct table_reader *r)
{
	bool stop;

	mutex_lock(&r->lock);
	stop = r->stop;
	mutex_unlock(&r->lock);
	return stop;
}

static u64 grown(u64 ns, unsigned tries)
{
	while (tries--)
		ns *= SLICE_GROWTH;
	return ns;
}

/* ERR_TRUNCATED when there was no answer. */
static enum err ask_once(struct table_reader *r, const struct job *job, struct table_result *ret,
			 enum worker_fate *ret_fate)
{
	struct worker_patience patience = {
		.cpu_ns = CPU_MOST_NS, .enough = is_enough, .context = r};
	enum err e;

	r->slice = grown(SLICE_NS, job->breaks);
	r->yield = job->yields < YIELDS_MAX ? grown(YIELD_NS, job->yields) : UINT64_MAX;
	r->spent = SLICE_NS;
	r->yielded = false;
	*ret_fate = WORKER_ENDED;
	TRY(ask(r, job));
	*ret_fate = worker_wait(r->worker, &patience);
	if (*ret_fate != WORKER_ANSWERS)
		return ERR_TRUNCATED;
	e = receive(r, ret);
	if (e == ERR_TIMEOUT)
		*ret_fate = WORKER_HUNG;
	else if (e && e != ERR_CORRUPT)
		*ret_fate = WORKER_ENDED;
	return e;
}

/* False if it must be repeated: it was stopped, interrupted, or may succeed the second time. */
static bool build_file(struct table_reader *r, struct job *job, struct table_result *ret)
{
	enum worker_fate fate;
	enum err e = ask_once(r, job, ret, &fate);
	bool again;
	int old;

	if (!e)
		return true;
	ret->error = e;
	ret->image = (struct unwind_image){0};
	mutex_lock(&r->lock);
	old = r->worker;
	r->worker = -1;
	mutex_unlock(&r->lock);
	worker_replace(old, fate);
	job->yields += r->yielded;
	again = r->yielded		 ? true
		: fate == WORKER_STOPPED ? ++job->stops < STOPS_MAX
		: fate == WORKER_SPENT	 ? ++job->breaks < BREAKS_MAX
					 : ++job->failures < FAILURES_MAX;
	if (again && !is_stopping(r))
		return false;
	if (fate != WORKER_STOPPED)
		worker_count_lost();
	return true;
}

/* Called with the lock, which it lets go of meanwhile. */
static void do_job(struct table_reader *r, u64 place)
{
	struct job job = r->jobs.v[place];
	struct table_result result = {.module = job.module};
	u64 begun, one = 1;
	bool done = true;

	r->serving = job.owner;
	r->weight = job.size;
	mutex_unlock(&r->lock);
	begun = worker_cpu_ns(r->worker);
	if (job.image.n)
		build_trusted(r, job.image, &result);
	else
		done = build_file(r, &job, &result);
	if (done)
		share_rules(r);
	begun = worker_cpu_ns(r->worker) - begun;
	mutex_lock(&r->lock);
	r->jobs.v[place] = job;
	/* Of a worker that gave way: what it was seen to have used. */
	owner_queue_charge(&r->queue, job.owner, r->worker < 0 ? r->spent : begun);
	if (!done && owner_queue_push(&r->queue, job.owner, job.size, place) == ERR_OK)
		return;
	if (!done)
		result.error = ERR_NO_MEMORY;
	r->jobs.v[place].used = false;
	/* There is room since it was queued. */
	r->results.v[r->results.n++] = result;
	r->unfinished--;
	/* The counter cannot overflow, and a late wake-up does no harm. */
	(void)!write(r->ready, &one, sizeof(one));
}

static void run(void *context)
{
	struct table_reader *r = context;
	struct owner_job job;
	int socket;

	/* There will be something to read soon: it has begun when it is needed. */
	if (worker_open(WORKER_TABLES, &socket) == ERR_OK)
		set_worker(r, socket);
	mutex_lock(&r->lock);
	while (!r->stop) {
		if (owner_queue_pop(&r->queue, &job)) {
			/* It has given way often enough. */
			if (job.passed == QUEUE_PASSED_MOST)
				r->jobs.v[job.id].yields = YIELDS_MAX;
			do_job(r, job.id);
		} else if (r->worker < 0) {
			cond_wait(&r->changed, &r->lock);
		} else if (!cond_wait_until(&r->changed, &r->lock,
					    clock_monotonic_ns() + IDLE_NS)) {
			worker_close(r->worker);
			r->worker = -1;
		}
	}
	mutex_unlock(&r->lock);
}

enum err table_reader_new(struct unwind_rule *rules, struct table_reader **ret)
{
	struct table_reader *r = mem_zalloc(1, sizeof(*r));
	enum err e;

	if (!r)
		return ERR_NO_MEMORY;
	mutex_init(&r->lock);
	cond_init(&r->changed);
	r->shared = rules;
	r->worker = -1;
	r->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e = r->ready < 0 ? err_from_errno(errno) : unwind_rules_new(&r->rules);
	if (!e)
		e = thread_start(&r->thread, "vestal-tables", run, r);
	if (e) {
		table_reader_free(r);
		return e;
	}
	*ret = r;
	return ERR_OK;
}

void table_reader_free(struct table_reader *r)
{
	if (!r)
		return;
	mutex_lock(&r->lock);
	r->stop = true;
	/* No answers are needed any more. */
	if (r->worker >= 0)
		shutdown(r->worker, SHUT_RDWR);
	cond_broadcast(&r->changed);
	mutex_unlock(&r->lock);
	thread_join(&r->thread);
	worker_close(r->worker);
	if (r->ready >= 0)
		close(r->ready);
	vec_for_each (result, &r->results)
		unwind_table_release(&result->table);
	vec_release(&r->results);
	vec_release(&r->jobs);
	owner_queue_release(&r->queue);
	unwind_rules_free(r->rules);
	cond_release(&r->changed);
	mutex_release(&r->lock);
	mem_free(r);
}

/* Called with the lock. */
static enum err add(struct table_reader *r, const struct job *job)
{
	u64 place = 0;

	while (place < r->jobs.n && r->jobs.v[place].used)
		place++;
	if (place == r->jobs.n)
		TRY(vec_push(&r->jobs, ((struct job){0})));
	TRY(vec_reserve(&r->results, r->unfinished + 1));
	TRY(owner_queue_push(&r->queue, job->owner, job->size, place));
	r->jobs.v[place] = *job;
	r->unfinished++;
	cond_signal(&r->changed);
	return ERR_OK;
}

enum err table_reader_queue(struct table_reader *r, u32 module, int fd, u32 owner, u64 size,
			    struct str image)
{
	struct job job = {.module = module,
			  .fd = fd,
			  .owner = owner,
			  .size = size,
			  .image = image,
			  .used = true};
	enum err e;

	mutex_lock(&r->lock);
	e = add(r, &job);
	mutex_unlock(&r->lock);
	return e;
}

int table_reader_fd(const struct table_reader *r)
{
	return r->ready;
}

bool table_reader_take(struct table_reader *r, struct table_result *ret)
{
	bool any;

	mutex_lock(&r->lock);
	any = r->results.n > 0;
	if (any) {
		*ret = r->results.v[0];
		memmove(r->results.v, r->results.v + 1, --r->results.n * sizeof(*ret));
	}
	mutex_unlock(&r->lock);
	return any;
}
