#include "server/batch_sink.h"

#include "base/clock.h"
#include "base/thread.h"

static enum err sink_dictionary(void *context, struct str service, struct dict **ret,
				struct fault *fault)
{
	return store_batch_service(context, service, ret, fault);
}

static enum err sink_profile(void *context, const struct series_profile *p, struct fault *fault)
{
	return store_batch_add(context, p, fault);
}

static enum err sink_span(void *context, const struct trace_span *span, struct fault *fault)
{
	return store_batch_span(context, span, fault);
}

void receive_into_batch(struct receive *r, const struct server *s, struct store_batch *batch)
{
	const struct server_options *o = &s->options;
	struct receive_limits *l = &r->limits;

	r->now_ns = clock_wall_ns();
	r->sink = (struct sink){batch, store_seed(s->store), sink_dictionary, sink_profile,
				sink_span};
	*l = receive_limits_default;
	l->format.max_bytes = o->max_inflated;
	l->max_labels = o->store.limits.max_labels;
	l->max_label_name = o->store.limits.max_label_name;
	l->max_label_value = o->store.limits.max_label_value;
}

/* State of a thread that waits for the store. */
struct landing {
	struct mutex lock;
	struct cond durable;
	bool over;
	enum err error;
	struct fault fault;
};

static void on_durable(void *context, enum err error, const struct fault *fault)
{
	struct landing *l = context;

	mutex_lock(&l->lock);
	l->over = true;
	l->error = error;
	if (error && fault)
		l->fault = *fault;
	cond_signal(&l->durable);
	mutex_unlock(&l->lock);
}

enum err batch_commit(struct store_batch *batch, struct fault *fault)
{
	struct landing l = {.over = false};

	mutex_init(&l.lock);
	cond_init(&l.durable);
	store_batch_commit(batch, on_durable, &l);
	mutex_lock(&l.lock);
	while (!l.over)
		cond_wait(&l.durable, &l.lock);
	mutex_unlock(&l.lock);
	cond_release(&l.durable);
	mutex_release(&l.lock);
	if (l.error)
		*fault = l.fault;
	return l.error;
}
