#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "net/loop.h"

#define MAX_LOOPS 256

static unsigned most_of_one(const struct http_options *o)
{
	unsigned most = o->max_connections - o->max_connections / 4;

	return o->max_per_client && o->max_per_client < most ? o->max_per_client : most;
}

enum err http_server_new(const struct http_options *options, const struct http_handlers *handlers,
			 struct http_server **ret, struct fault *fault)
{
	struct http_server *s = mem_zalloc(1, sizeof(*s));
	enum err e = ERR_OK;

	if (!s)
		return ERR_NO_MEMORY;
	if (options->tls.certificate || options->tls.key)
		e = tls_new(&options->tls, &s->tls, fault);
	if (!e)
		e = clients_new(most_of_one(options), &s->clients);
	if (e) {
		tls_free(s->tls);
		mem_free(s);
		return e;
	}
	s->options = *options;
	s->seed = hash_random_seed();
	s->handlers = *handlers;
	if (!s->options.loops)
		s->options.loops = thread_cpus();
	if (s->options.loops > MAX_LOOPS)
		s->options.loops = MAX_LOOPS;
	*ret = s;
	return ERR_OK;
}

enum err http_server_listen(struct http_server *s, struct str address, uint16_t tag,
			    struct buf *ret_address, struct fault *fault)
{
	struct listener *l;
	enum err e;

	if (s->loops)
		return fault_set(fault, ERR_BAD_ARGUMENT, "the server has started already");
	TRY(listener_open(address, tag, &l, ret_address, fault));
	e = vec_push(&s->listeners, l);
	if (e)
		listener_free(l);
	return e;
}

enum err http_server_start(struct http_server *s, struct fault *fault)
{
	enum err e;

	s->loops = mem_zalloc(s->options.loops, sizeof(*s->loops));
	if (!s->loops)
		return ERR_NO_MEMORY;
	/* All are ready before the first one runs: it may hand connections to any. */
	for (unsigned i = 0; i < s->options.loops; i++) {
		s->loop_count = i + 1;
		e = loop_init(&s->loops[i], s);
		if (e)
			return fault_set(fault, e, "an event loop cannot be created: %s",
					 err_text(e));
	}
	atomic_store(&s->accepting, s->loop_count);
	for (unsigned i = 0; i < s->loop_count; i++) {
		struct loop *l = &s->loops[i];

		e = loop_watch_listeners(l);
		if (!e)
			e = thread_start(&l->thread, "http", loop_run, l);
		if (e) {
			/* Those without a thread never come to close the door. */
			atomic_fetch_sub(&s->accepting, s->loop_count - i);
			http_server_stop(s, 0);
			return fault_set(fault, e, "an event loop cannot be started: %s",
					 err_text(e));
		}
	}
	return ERR_OK;
}

enum err http_server_reload(struct http_server *s, struct fault *fault)
{
	return s->tls ? tls_reload(s->tls, fault) : ERR_OK;
}

struct http_counters http_server_counters(const struct http_server *s)
{
	struct http_counters sum = {0};

	for (unsigned i = 0; i < s->loop_count; i++) {
		const struct loop *l = &s->loops[i];
		const struct net_counters *c = &l->shared.counters;

		sum.connections_open += atomic_load(&l->open);
		sum.connections_total += atomic_load(&c->connections);
		sum.requests_total += atomic_load(&c->requests);
		sum.refused_total += atomic_load(&c->refused);
		sum.timeouts_total += atomic_load(&c->timeouts);
		sum.evicted_total += atomic_load(&c->evicted);
		sum.slow_bodies_total += atomic_load(&c->slow_bodies);
		sum.slow_readers_total += atomic_load(&c->slow_readers);
		if (atomic_load(&c->longest_turn) > sum.longest_turn_ns)
			sum.longest_turn_ns = atomic_load(&c->longest_turn);
		sum.protocol_errors_total += atomic_load(&c->protocol_errors);
		sum.bytes_in += atomic_load(&c->bytes_in);
		sum.bytes_out += atomic_load(&c->bytes_out);
	}
	return sum;
}

void http_server_stop(struct http_server *s, int64_t deadline_ns)
{
	atomic_store(&s->deadline_ns, deadline_ns);
	for (unsigned i = 0; i < s->loop_count; i++) {
		struct loop *l = &s->loops[i];

		if (!l->thread.running || atomic_exchange(&l->stop_posted, true))
			continue;
		l->stop.kind = MAIL_STOP;
		mailbox_post(&l->shared.mailbox, &l->stop);
	}
	for (unsigned i = 0; i < s->loop_count; i++)
		thread_join(&s->loops[i].thread);
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	http_server_stop(s, 0);
	for (unsigned i = 0; i < s->loop_count; i++)
		loop_release(&s->loops[i]);
	mem_free(s->loops);
	vec_for_each (l, &s->listeners)
		listener_free(*l);
	vec_release(&s->listeners);
	clients_free(s->clients);
	tls_free(s->tls);
	mem_free(s);
}
