/* The sending half of a connection, and its end. */
#include "base/clock.h"
#include "net/loop.h"

#define IOV_COUNT     16
#define LINGER_NS     (2 * NS_PER_S)
#define LINGER_BUDGET (128u << 10) /* then others have their turn */

void connection_linger(struct connection *c)
{
	size_t budget = LINGER_BUDGET, n = 0;
	enum io_status status = IO_OK;

	while (budget && status == IO_OK) {
		status = c->transport.ops->read(&c->transport, c->loop->scratch, LOOP_SCRATCH, &n);
		budget -= n < budget ? n : budget;
	}
	if (status == IO_END || status == IO_FAILED)
		connection_close(c);
	else if (status == IO_OK)
		loop_ready(c->loop, c);
}

static void finish(struct connection *c)
{
	bool wait = c->session->linger && !c->input_ended;

	c->transport.ops->end(&c->transport);
	if (!wait) {
		connection_close(c);
		return;
	}
	session_free(c->session);
	c->session = NULL;
	c->lingering = true;
	c->deadline_ns = c->loop->shared.now_ns + LINGER_NS;
	timer_set(&c->loop->timers, &c->timer, c->deadline_ns);
	connection_linger(c);
}

static void note_progress(struct connection *c, size_t sent)
{
	counter_add(&c->loop->shared.counters.bytes_out, sent);
	if (c->session->out.bytes == 0)
		c->out_since_ns = 0;
	c->out_sent += sent;
}

/* False: the connection is closed or nothing more can be sent now. */
static bool write_some(struct connection *c)
{
	struct iovec parts[IOV_COUNT];
	struct outqueue *out = &c->session->out;
	size_t sent = 0;
	enum io_status status;

	status = c->transport.ops->write(&c->transport, parts, outqueue_view(out, parts, IOV_COUNT),
					 &sent);
	if (status == IO_OK) {
		outqueue_sent(out, sent);
		note_progress(c, sent);
		return true;
	}
	if (status == IO_AGAIN) {
		c->writable = false;
		if (!c->out_since_ns) {
			c->out_since_ns = c->loop->shared.now_ns;
			c->out_sent = 0;
		}
	} else {
		connection_close(c);
	}
	return false;
}

bool connection_flush(struct connection *c)
{
	struct session *s = c->session;

	if (!s)
		return true;
	for (;;) {
		if (s->ops->produce && !s->closing && s->out.bytes < SESSION_OUT_LOW)
			s->ops->produce(s);
		if (s->out.error) {
			connection_close(c);
			return false;
		}
		if (!s->out.bytes || !c->writable)
			break;
		if (!write_some(c))
			return !c->dead;
	}
	if (s->closing && !s->out.bytes) {
		finish(c);
		return false;
	}
	return true;
}

int64_t connection_write_deadline(const struct connection *c)
{
	const struct http_options *o = &c->loop->server->options;
	int64_t earned = o->write_timeout_ns;

	if (!c->out_since_ns)
		return SESSION_NEVER;
	if (o->min_reply_rate) {
		uint64_t seconds = c->out_sent / o->min_reply_rate;

		earned += (int64_t)(seconds < 1u << 30 ? seconds : 1u << 30) * NS_PER_S;
	}
	return c->out_since_ns + earned;
}
