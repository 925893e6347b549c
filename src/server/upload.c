#include "base/clock.h"
#include "server/agents.h"
#include "server/batch_sink.h"
#include "server/upload.h"

static void release(struct upload *u)
{
	notes_release(&u->receive.result.notes);
	buf_release(&u->plain);
}

struct upload *upload_begin(struct request *r, void (*reply)(struct upload *u))
{
	struct upload *u = arena_zalloc(&r->x->arena, 1, sizeof(*u));
	struct fault fault = {0};
	enum err error = ERR_NO_MEMORY;

	if (u) {
		u->request = r;
		u->reply = reply;
		u->started_ns = clock_monotonic_ns();
		error = store_batch_new(r->server->store, r->tenant, &u->batch, &fault);
	}
	if (error == ERR_OK) {
		receive_into_batch(&u->receive, r->server, u->batch);
		agents_saw(r->server->agents, r->tenant, http_find(r->x, STR(AGENT_HEADER)),
			   u->started_ns);
		return u;
	}
	request_fail(r, error, &fault);
	return NULL;
}

static void count(struct upload *u)
{
	struct metrics *m = &u->request->server->metrics;

	atomic_fetch_add(&m->uploads, 1);
	atomic_fetch_add(&m->profiles, u->receive.result.profiles);
	atomic_fetch_add(&m->samples, u->receive.result.samples);
	atomic_fetch_add(&m->spans, u->receive.result.spans);
	atomic_fetch_add(&m->rejected_parts, u->receive.result.rejected);
	atomic_fetch_add(&m->derived_profiles, u->receive.result.derived_profiles);
	atomic_fetch_add(&m->dropped_rows, u->receive.result.dropped_rows);
	atomic_fetch_add(&m->dropped_columns, u->receive.result.dropped_columns);
	atomic_fetch_add(&m->clamped_values, u->receive.result.clamped_values);
	tenant_counts_add(u->request->server->counts, u->request->tenant,
			  &(struct tenant_numbers){
				  .uploads = 1,
				  .profiles = u->receive.result.profiles,
				  .samples = u->receive.result.samples,
				  .spans = u->receive.result.spans,
				  .rejected_parts = u->receive.result.rejected,
			  });
	int64_t now = clock_monotonic_ns();

	histogram_add(&m->ack, now - u->started_ns);
	histogram_add(&m->commit_wait, now - u->decoded_ns);
}

/* Called on a commit thread of the store. The reply ends the exchange and frees the upload. */
static void durable(void *context, enum err error, const struct fault *fault)
{
	struct upload *u = context;

	if (error == ERR_OK) {
		count(u);
		u->reply(u);
	} else {
		release(u);
		request_fail(u->request, error, fault);
	}
}

void upload_end(struct upload *u, enum err error, const struct fault *fault)
{
	struct store_batch *batch = u->batch;

	u->batch = NULL;
	buf_release(&u->plain);
	if (error == ERR_OK) {
		u->decoded_ns = clock_monotonic_ns();
		request_keeps_memory(u->request);
		store_batch_commit(batch, durable, u);
		return;
	}
	store_batch_abandon(batch);
	release(u);
	request_fail(u->request, error, fault);
}
