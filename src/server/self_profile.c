#include "server/self_profile.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "sampler/sampler.h"
#include "server/batch_sink.h"
#include "server/request.h"

#define SAMPLES_PER_SECOND 97 /* no multiple of what programs do by the clock */
#define POLL_NS		   NS_PER_S
#define POLLS_PER_PROFILE  10
#define MAX_PROFILE_BYTES  ((size_t)16 << 20)

struct self_profile {
	struct server *server;
	struct sampler *sampler;
	struct thread thread;
	struct mutex lock;
	struct cond wake;
	bool stopping;
	struct sampler_counts counts; /* as of the last poll */
	uint64_t failures;	      /* profiles that could not be stored */
};

/* ------------------------------------------------------------------ storing */

static enum err encode(const struct profile *profile, struct buf *out, struct fault *fault)
{
	struct profile *one = (struct profile *)profile;
	struct profile_list list = {&one, 1, 1};
	struct writing w = {.list = &list, .type = -1, .compress = 0};
	enum err e = format_write(&formats[FORMAT_PPROF], &w, out);

	if (e)
		*fault = w.fault;
	notes_release(&w.notes);
	return e;
}

static enum err receive_own(struct receive *r, const struct server *s, struct str body,
			    struct fault *fault)
{
	struct label_pair labels[3] = {{STR("service_name"), STR(SELF_PROFILE_SERVICE)}};
	struct upload_request q = {
		.labels = labels, .label_count = 1, .format = STR("pprof"), .body = body};

	if (s->addresses[0].n)
		labels[q.label_count++] =
			(struct label_pair){STR("instance"), buf_view(&s->addresses[0])};
	if (s->options.revision && s->options.revision[0])
		labels[q.label_count++] =
			(struct label_pair){STR("commit"), str_of(s->options.revision)};
	return receive_upload(r, &q, fault);
}

static enum err store_bytes(struct server *s, struct str body, struct fault *fault)
{
	struct receive receive = {0};
	struct store_batch *batch;
	enum err e;

	TRY(store_batch_new(s->store, STR(DEFAULT_TENANT), &batch, fault));
	receive_into_batch(&receive, s, batch);
	e = receive_own(&receive, s, body, fault);
	if (e)
		store_batch_abandon(batch);
	else
		e = batch_commit(batch, fault);
	received_release(&receive.result);
	return e;
}

static enum err store_profile(struct self_profile *p, struct fault *fault)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(MAX_PROFILE_BYTES);
	const struct profile *profile = sampler_profile(p->sampler);

	if (!profile->row_count)
		return ERR_OK;
	TRY(encode(profile, &body, fault));
	return store_bytes(p->server, buf_view(&body), fault);
}

/* ------------------------------------------------------------------ its thread */

/* Drop the profile if it cannot be stored, so that it does not grow while the disk is full. */
static void hand_in(struct self_profile *p)
{
	struct fault fault = {0};
	enum err e = store_profile(p, &fault);

	sampler_clear(p->sampler);
	if (!e)
		return;
	mutex_lock(&p->lock);
	p->failures++;
	mutex_unlock(&p->lock);
	log_warn("own profile not stored",
		 log_text("reason", fault.text[0] ? fault.text : err_text(e)));
}

static void poll_sampler(struct self_profile *p)
{
	enum err e = sampler_poll(p->sampler);

	if (e)
		log_warn("own profile not sampled", log_text("reason", err_text(e)));
	mutex_lock(&p->lock);
	p->counts = sampler_counts(p->sampler);
	mutex_unlock(&p->lock);
}

/* True when it is time to end. */
static bool wait(struct self_profile *p, int64_t until_ns)
{
	bool stopping;

	mutex_lock(&p->lock);
	while (!p->stopping && cond_wait_until(&p->wake, &p->lock, until_ns))
		;
	stopping = p->stopping;
	mutex_unlock(&p->lock);
	return stopping;
}

static void run(void *context)
{
	struct self_profile *p = context;
	unsigned polls = 0;

	while (!wait(p, clock_monotonic_ns() + POLL_NS)) {
		poll_sampler(p);
		if (++polls % POLLS_PER_PROFILE == 0)
			hand_in(p);
	}
	poll_sampler(p);
	hand_in(p);
}

/* ------------------------------------------------------------------ life */

enum err self_profile_new(struct server *s, struct self_profile **ret, struct fault *fault)
{
	struct self_profile *p = mem_zalloc(1, sizeof(*p));
	enum err e;

	if (!p)
		return ERR_NO_MEMORY;
	p->server = s;
	mutex_init(&p->lock);
	cond_init(&p->wake);
	e = sampler_new(SAMPLES_PER_SECOND, &p->sampler, fault);
	if (!e)
		e = thread_start(&p->thread, "self-profile", run, p);
	if (e) {
		fault_prefix(fault, "--self-profile");
		self_profile_free(p);
	} else {
		*ret = p;
	}
	return e;
}

void self_profile_print_metrics(struct self_profile *p, struct buf *out)
{
	struct sampler_counts counts;
	uint64_t failures;

	if (!p)
		return;
	mutex_lock(&p->lock);
	counts = p->counts;
	failures = p->failures;
	mutex_unlock(&p->lock);
	metrics_one(out, "self_profile_samples_total", "counter", "Samples of this process.",
		    counts.samples);
	metrics_one(out, "self_profile_lost_total", "counter",
		    "Samples of this process that found no room.", counts.lost);
	metrics_one(out, "self_profile_failed_total", "counter",
		    "Profiles of this process that could not be stored.", failures);
}

void self_profile_free(struct self_profile *p)
{
	if (!p)
		return;
	mutex_lock(&p->lock);
	p->stopping = true;
	cond_signal(&p->wake);
	mutex_unlock(&p->lock);
	thread_join(&p->thread);
	sampler_free(p->sampler);
	cond_release(&p->wake);
	mutex_release(&p->lock);
	mem_free(p);
}
