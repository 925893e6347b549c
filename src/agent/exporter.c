#include "agent/exporter.h"

#include <stdio.h>

#include "agent/delivery.h"
#include "agent/lost_requests.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "format/format.h"

#define FIRST_PAUSE	(500 * NS_PER_MS)
#define LAST_PAUSE	(30 * NS_PER_S)
/* A server may ask for more than we would wait ourselves, but not silence us for ever. */
#define ASKED_PAUSE	(15 * 60 * NS_PER_S)
#define GZIP_LEVEL	1
/* Of what was lost, after each request that was taken. */
#define NOTES_AT_ONCE	8
#define REQUEST_CEILING ((size_t)128 << 20)

struct exporter {
	struct endpoint endpoint;
	size_t waiting_most;
	struct queue *queue;	   /* used by the thread alone */
	struct lost_requests lost; /* with the lock */
	struct thread thread;
	struct mutex lock;
	struct cond changed;
	VEC(struct buf) waiting;
	size_t waiting_bytes;
	char about[EXPORTER_ABOUT]; /* the agent, as a header */
	struct exporter_stats stats;
	bool stop;
	int64_t give_up; /* when stopping: not later than this */
	/* Of the thread alone. */
	int64_t pause, next_try;
	uint64_t random;
	bool failing;
	char refused_for[400]; /* what was logged last */
};

static bool take_first(struct exporter *x, struct buf *ret)
{
	if (!x->waiting.n)
		return false;
	*ret = x->waiting.v[0];
	memmove(x->waiting.v, x->waiting.v + 1, --x->waiting.n * sizeof(*ret));
	x->waiting_bytes -= ret->n;
	return true;
}

/* After a failure: twice as long as last time, and not all agents at the same moment. */
static void set_pause(struct exporter *x, int64_t asked)
{
	int64_t pause;

	x->random = hash_mix(x->random, HASH_K1);
	pause = x->pause / 2 + (int64_t)(x->random % (uint64_t)(x->pause / 2 + 1));
	if (asked > ASKED_PAUSE)
		asked = ASKED_PAUSE;
	x->next_try = clock_monotonic_ns() + (pause > asked ? pause : asked);
	x->pause = x->pause * 2 < LAST_PAUSE ? x->pause * 2 : LAST_PAUSE;
}

static void tell_delivered(struct exporter *x, const struct delivery *d)
{
	if (x->failing)
		log_info("delivered again",
			 log_u64("waiting",
				 x->stats.queue.entries + x->stats.queue.memory_entries));
	if (d->reason[0] || d->rejected)
		log_warn("server rejected a part of it", log_u64("rejected_profiles", d->rejected),
			 log_text("reason", d->reason));
	x->failing = false;
	x->refused_for[0] = 0;
	x->pause = FIRST_PAUSE;
}

static void tell_failed(struct exporter *x, const struct delivery *d)
{
	if (d->end == DELIVERY_REFUSED) {
		if (strcmp(x->refused_for, d->reason) != 0)
			log_error("server refuses profiles, they are dropped",
				  log_text("reason", d->reason));
		snprintf(x->refused_for, sizeof(x->refused_for), "%s", d->reason);
		return;
	}
	if (!x->failing)
		log_warn("not delivered, will be tried again", log_text("reason", d->reason));
	x->failing = true;
}

/* Lost requests, refused or rejected in part, that are not reported yet. */
static void note_refused(struct exporter *x, const struct delivery *d, struct str bytes)
{
	uint64_t rejected = d->end == DELIVERY_REFUSED ? LOST_WHOLE : d->rejected;

	if (rejected)
		x->stats.samples_refused +=
			lost_requests_add(&x->lost, bytes, "refused by the server", rejected);
}

/* Notes of what was lost, now that a server takes requests. Called and left with the lock. */
static void send_notes(struct exporter *x)
{
	struct buf note;
	struct delivery d;
	char about[EXPORTER_ABOUT];

	memcpy(about, x->about, sizeof(about));
	for (unsigned n = 0; n < NOTES_AT_ONCE && lost_requests_take(&x->lost, &note); n++) {
		mutex_unlock(&x->lock);
		deliver(&x->endpoint, about, buf_view(&note), &d);
		mutex_lock(&x->lock);
		if (d.end == DELIVERY_LATER) {
			lost_requests_put_back(&x->lost, &note);
			return;
		}
		/* A report that the server refuses is not repeated. */
		buf_release(&note);
	}
}

static void count(struct exporter *x, const struct delivery *d, size_t bytes)
{
	struct exporter_stats *s = &x->stats;

	if (d->end == DELIVERED) {
		s->sent++;
		s->bytes += bytes;
		s->rejected_profiles += d->rejected;
		s->last_fault[0] = 0;
		return;
	}
	s->failed++;
	snprintf(s->last_fault, sizeof(s->last_fault), "%s", d->reason);
	if (d->end == DELIVERY_REFUSED)
		s->refused++;
}

/* Moves requests in memory to the disk queue. Requires the lock. */
static void spill(struct exporter *x)
{
	struct buf bytes;

	while (take_first(x, &bytes)) {
		mutex_unlock(&x->lock);
		if (queue_push(x->queue, buf_view(&bytes)) != ERR_OK)
			log_warn("a window was lost", log_text("reason", "no room in the queue"));
		buf_release(&bytes);
		mutex_lock(&x->lock);
	}
	queue_stats(x->queue, &x->stats.queue);
}

/* The oldest there is. Called and left without the lock. */
static enum err take_oldest(struct exporter *x, struct buf *ret, bool *ret_queued, uint64_t *ret_id)
{
	bool found;

	*ret_queued = false;
	if (!queue_is_empty(x->queue)) {
		enum err e = queue_take(x->queue, ret, ret_id);

		*ret_queued = !e;
		if (e != ERR_NOT_FOUND)
			return e;
	}
	buf_release(ret);
	mutex_lock(&x->lock);
	found = take_first(x, ret);
	mutex_unlock(&x->lock);
	return found ? ERR_OK : ERR_NOT_FOUND;
}

/* Called and left with the lock. */
static void send_one(struct exporter *x)
{
	struct buf bytes = BUF_INIT(REQUEST_CEILING);
	struct delivery d;
	uint64_t id = 0;
	bool queued, kept = true;
	char about[EXPORTER_ABOUT];
	enum err e;

	memcpy(about, x->about, sizeof(about));
	mutex_unlock(&x->lock);
	e = take_oldest(x, &bytes, &queued, &id);
	if (!e) {
		deliver(&x->endpoint, about, buf_view(&bytes), &d);
		if (d.end == DELIVERY_LATER && queued)
			queue_put_back(x->queue, id);
		else if (d.end == DELIVERY_LATER)
			kept = queue_push(x->queue, buf_view(&bytes)) == ERR_OK;
		else if (queued)
			queue_done(x->queue, id);
	}
	mutex_lock(&x->lock);
	queue_stats(x->queue, &x->stats.queue);
	if (!e) {
		count(x, &d, bytes.n);
		note_refused(x, &d, buf_view(&bytes));
		if (d.end == DELIVERED)
			tell_delivered(x, &d);
		else
			tell_failed(x, &d);
		if (d.end == DELIVERED)
			send_notes(x);
		if (!kept)
			log_warn("a window was lost", log_text("reason", "no room in the queue"));
		if (d.end == DELIVERY_LATER)
			set_pause(x, d.retry_ns);
	} else if (e != ERR_NOT_FOUND) {
		set_pause(x, 0);
	}
	buf_release(&bytes);
}

/* Waits for work, or for the time of the next try; false when it is time to end. */
static bool wait_for_turn(struct exporter *x)
{
	int64_t now = clock_monotonic_ns();

	if (x->stop && (now >= x->give_up || (x->failing && x->stats.queue.entries)))
		return false;
	if (!x->waiting.n && queue_is_empty(x->queue)) {
		if (x->stop)
			return false;
		cond_wait(&x->changed, &x->lock);
	} else if (now < x->next_try) {
		spill(x);
		if (!x->waiting.n)
			cond_wait_until(&x->changed, &x->lock,
					x->stop && x->give_up < x->next_try ? x->give_up
									    : x->next_try);
	} else {
		send_one(x);
	}
	return true;
}

/* Saves unreported losses for the next start, if there is a disk queue. Requires the lock. */
static void save_notes(struct exporter *x)
{
	struct buf note;

	/* Room for one may cost an entry, which becomes a note again: not for ever. */
	for (size_t n = x->lost.list.n; n && lost_requests_take(&x->lost, &note); n--) {
		mutex_unlock(&x->lock);
		if (queue_push(x->queue, buf_view(&note)) != ERR_OK)
			log_warn("cannot queue the report of lost samples",
				 log_text("reason", "no room"));
		buf_release(&note);
		mutex_lock(&x->lock);
	}
}

static void run(void *context)
{
	struct exporter *x = context;

	mutex_lock(&x->lock);
	while (wait_for_turn(x))
		;
	spill(x);
	save_notes(x);
	mutex_unlock(&x->lock);
}

/* The queue is used without the lock. */
static void note_dropped(void *context, struct str bytes)
{
	struct exporter *x = context;

	mutex_lock(&x->lock);
	x->stats.samples_dropped += lost_requests_add(&x->lost, bytes, "queue full", LOST_WHOLE);
	mutex_unlock(&x->lock);
}

static enum err open_queue(struct exporter *x, const struct exporter_options *o,
			   struct fault *fault)
{
	struct queue_options disk = o->queue, memory;
	enum err e;

	disk.dropping = note_dropped;
	disk.context = x;
	memory = disk;
	e = queue_open(&disk, &x->queue, fault);

	if (!e || !o->queue.directory || !o->queue_optional)
		return e;
	log_warn("nothing is queued on disk", log_text("reason", fault->text));
	memory.directory = NULL;
	return queue_open(&memory, &x->queue, fault);
}

enum err exporter_new(const struct exporter_options *o, struct exporter **ret, struct fault *fault)
{
	struct exporter *x = mem_zalloc(1, sizeof(*x));
	enum err e;

	if (!x)
		return ERR_NO_MEMORY;
	mutex_init(&x->lock);
	cond_init(&x->changed);
	x->waiting_most = o->waiting_bytes;
	x->pause = FIRST_PAUSE;
	x->random = hash_random_seed();
	e = endpoint_init(&x->endpoint, &o->endpoint, fault);
	if (!e)
		e = open_queue(x, o, fault);
	if (!e) {
		queue_stats(x->queue, &x->stats.queue);
		e = thread_start(&x->thread, "vestal-export", run, x);
	}
	if (e) {
		exporter_free(x, 0);
		return e;
	}
	*ret = x;
	return ERR_OK;
}

void exporter_free(struct exporter *x, int64_t patience_ns)
{
	if (!x)
		return;
	mutex_lock(&x->lock);
	x->stop = true;
	x->give_up = clock_monotonic_ns() + patience_ns;
	x->next_try = 0;
	cond_broadcast(&x->changed);
	mutex_unlock(&x->lock);
	thread_join(&x->thread);
	queue_close(x->queue);
	vec_for_each (bytes, &x->waiting)
		buf_release(bytes);
	vec_release(&x->waiting);
	lost_requests_release(&x->lost);
	endpoint_release(&x->endpoint);
	cond_release(&x->changed);
	mutex_release(&x->lock);
	mem_free(x);
}

static enum err pack(const struct exporter *x, struct buf *plain, struct buf *ret)
{
	*ret = BUF_INIT(plain->n + 4096);
	if (x->endpoint.gzip)
		return compress_gzip(buf_view(plain), GZIP_LEVEL, ret);
	buf_str(ret, buf_view(plain));
	return buf_error(ret);
}

void exporter_send(struct exporter *x, struct buf *bytes)
{
	struct buf packed, oldest;
	bool kept = pack(x, bytes, &packed) == ERR_OK;

	buf_clear(bytes);
	mutex_lock(&x->lock);
	/* Only when the thread is held up by a server that does not answer. */
	while (kept && x->waiting_bytes + packed.n > x->waiting_most && take_first(x, &oldest)) {
		x->stats.samples_dropped +=
			lost_requests_add(&x->lost, buf_view(&oldest), "queue full", LOST_WHOLE);
		buf_release(&oldest);
		x->stats.dropped++;
	}
	kept = kept && vec_push(&x->waiting, packed) == ERR_OK;
	if (kept) {
		x->waiting_bytes += packed.n;
		cond_signal(&x->changed);
	} else {
		buf_release(&packed);
		x->stats.dropped++;
	}
	mutex_unlock(&x->lock);
}

void exporter_describe(struct exporter *x, const char *header)
{
	mutex_lock(&x->lock);
	snprintf(x->about, sizeof(x->about), "%s", header);
	mutex_unlock(&x->lock);
}

void exporter_stats(struct exporter *x, struct exporter_stats *ret)
{
	mutex_lock(&x->lock);
	*ret = x->stats;
	ret->waiting_bytes = x->waiting_bytes + x->stats.queue.memory_bytes;
	ret->dropped += x->stats.refused + x->stats.queue.dropped + x->stats.queue.damaged;
	mutex_unlock(&x->lock);
}
