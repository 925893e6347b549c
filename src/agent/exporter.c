#include "agent/exporter.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "format/format.h"
#include "net/net.h"

#define PATH_PROFILES "/v1development/profiles"
#define FIRST_PAUSE   (500 * NS_PER_MS)
#define LAST_PAUSE    (30 * NS_PER_S)
#define GZIP_LEVEL    1
#define SEND_SECONDS  30.0

struct exporter {
	struct exporter_options options;
	struct buf url, authorization;
	struct thread thread;
	struct mutex lock;
	struct cond changed;
	VEC(struct buf) waiting;
	struct exporter_stats stats;
	bool stop;
	int64_t give_up; /* when stopping: not later than this */
};

/* True when it is done with: delivered, or refused for good. */
static bool deliver(struct exporter *x, const struct buf *bytes)
{
	const char *headers[] = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip",
				 x->authorization.n ? x->authorization.data : NULL, NULL};
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	struct fetch_failure failure = {0};
	struct fault fault = {0};
	struct fetch f = {.url = x->url.data,
			  .user_agent = "vestal/" VESTAL_VERSION,
			  .timeout = SEND_SECONDS,
			  .insecure = x->options.insecure,
			  .ca_file = x->options.ca_file,
			  .unattended = true,
			  .headers = headers,
			  .post = true,
			  .body = buf_view(bytes),
			  .failure = &failure};
	enum err e = fetch(&f, &answer, &fault);
	bool again = failure.status == 0 || failure.status == 408 || failure.status == 429 ||
		     failure.status >= 500;

	mutex_lock(&x->lock);
	if (!e) {
		x->stats.sent++;
		x->stats.bytes += bytes->n;
		x->stats.last_fault[0] = 0;
	} else {
		x->stats.failed++;
		snprintf(x->stats.last_fault, sizeof(x->stats.last_fault), "%s", fault.text);
		if (!again)
			x->stats.dropped++;
	}
	mutex_unlock(&x->lock);
	return !e || !again;
}

static bool take_first(struct exporter *x, struct buf *ret)
{
	if (!x->waiting.n)
		return false;
	*ret = x->waiting.v[0];
	memmove(x->waiting.v, x->waiting.v + 1, --x->waiting.n * sizeof(*ret));
	x->stats.waiting_bytes -= ret->n;
	return true;
}

/* Waits before the next try; false when it is time to end. */
static bool pause_for(struct exporter *x, int64_t pause)
{
	int64_t until = clock_monotonic_ns() + pause;

	while (!x->stop && clock_monotonic_ns() < until)
		cond_wait_until(&x->changed, &x->lock, until);
	return !x->stop || clock_monotonic_ns() < x->give_up;
}

static void run(void *context)
{
	struct exporter *x = context;
	int64_t pause = FIRST_PAUSE;

	mutex_lock(&x->lock);
	for (;;) {
		struct buf bytes;

		if (!take_first(x, &bytes)) {
			if (x->stop)
				break;
			cond_wait(&x->changed, &x->lock);
			continue;
		}
		mutex_unlock(&x->lock);
		for (;;) {
			bool done = deliver(x, &bytes);

			mutex_lock(&x->lock);
			if (done) {
				pause = FIRST_PAUSE;
				break;
			}
			if (!pause_for(x, pause)) {
				x->stats.dropped++;
				break;
			}
			pause = pause * 2 < LAST_PAUSE ? pause * 2 : LAST_PAUSE;
			mutex_unlock(&x->lock);
		}
		buf_release(&bytes);
		if (x->stop && clock_monotonic_ns() >= x->give_up)
			break;
	}
	mutex_unlock(&x->lock);
}

enum err exporter_new(const struct exporter_options *o, struct exporter **ret, struct fault *fault)
{
	struct exporter *x;
	size_t n = strlen(o->url);
	enum err e;

	if (!fetch_is_url(str_of(o->url)))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%s is no server: http://host:4318 or https://host:4318", o->url);
	x = mem_zalloc(1, sizeof(*x));
	if (!x)
		return ERR_NO_MEMORY;
	x->options = *o;
	x->url = BUF_INIT(4096);
	x->authorization = BUF_INIT(8192);
	mutex_init(&x->lock);
	cond_init(&x->changed);
	while (n && o->url[n - 1] == '/')
		n--;
	buf_append(&x->url, o->url, n);
	buf_text(&x->url, PATH_PROFILES);
	if (o->token)
		buf_printf(&x->authorization, "Authorization: Bearer %s", o->token);
	e = buf_error(&x->url) ? buf_error(&x->url) : buf_error(&x->authorization);
	if (!e)
		e = thread_start(&x->thread, "vestal-export", run, x);
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
	cond_broadcast(&x->changed);
	mutex_unlock(&x->lock);
	thread_join(&x->thread);
	vec_for_each (bytes, &x->waiting)
		buf_release(bytes);
	vec_release(&x->waiting);
	buf_release(&x->url);
	buf_release(&x->authorization);
	cond_release(&x->changed);
	mutex_release(&x->lock);
	mem_free(x);
}

void exporter_send(struct exporter *x, struct buf *bytes)
{
	struct buf packed = BUF_INIT(bytes->n + 4096), oldest;

	if (compress_gzip(buf_view(bytes), GZIP_LEVEL, &packed) != ERR_OK) {
		buf_release(&packed);
		packed = (struct buf){0};
	}
	buf_clear(bytes);
	mutex_lock(&x->lock);
	while (x->waiting.n && x->stats.waiting_bytes + packed.n > x->options.waiting_bytes) {
		take_first(x, &oldest);
		buf_release(&oldest);
		x->stats.dropped++;
	}
	if (packed.n && vec_push(&x->waiting, packed) == ERR_OK) {
		x->stats.waiting_bytes += packed.n;
		cond_signal(&x->changed);
	} else {
		buf_release(&packed);
		x->stats.dropped++;
	}
	mutex_unlock(&x->lock);
}

void exporter_stats(struct exporter *x, struct exporter_stats *ret)
{
	mutex_lock(&x->lock);
	*ret = x->stats;
	mutex_unlock(&x->lock);
}
