/*
 * HTTP/2 (RFC 9113). Settings and ping floods, too many CONTINUATION frames and malformed heads are
 * caught by nghttp2; rapid resets, slow bodies, large heads and bodies are caught here.
 */
#include "net/http2.h"

#include "base/alloc.h"
#include "base/clock.h"

#define RESET_BURST 200
#define RESET_RATE  50 /* a second */
#define RESET_PRICE (NS_PER_S / RESET_RATE)
#define DRAIN_WAIT  NS_PER_S
#define BODY_GRACE  (3 * NS_PER_S)
#define EARLY_GRACE (5 * NS_PER_S)

static void *ng_malloc(size_t size, void *unused)
{
	(void)unused;
	return mem_alloc(size);
}

static void ng_free(void *p, void *unused)
{
	(void)unused;
	mem_free(p);
}

static void *ng_calloc(size_t count, size_t size, void *unused)
{
	(void)unused;
	return mem_zalloc(count, size);
}

static void *ng_realloc(void *p, size_t size, void *unused)
{
	(void)unused;
	return mem_realloc(p, size);
}

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t http2_body_deadline(const struct exchange *x)
{
	size_t rate = x->shared->options->min_body_rate;

	if (!rate)
		return SESSION_NEVER;
	return x->http.started_ns + BODY_GRACE +
	       (int64_t)((double)x->body.n / (double)rate * NS_PER_S);
}

/*
 * When a client that does not read this reply is disconnected. Streams share the connection, so the
 * rate is that of all of them, but each must make some progress.
 */
static int64_t reply_deadline(const struct http2 *h, const struct exchange *x)
{
	const struct http_options *o = h->base.shared->options;
	const struct http2_stream *stream = http2_stream_of(x);
	int64_t quiet = stream->taken_ns + 2 * o->write_timeout_ns;
	int64_t slow = stream->answered_ns + o->write_timeout_ns;
	uint64_t taken = h->answered_bytes - stream->answered_after;

	if (!o->min_reply_rate)
		return quiet;
	slow += (int64_t)((double)taken / (double)o->min_reply_rate * NS_PER_S);
	return min_ns(quiet, slow);
}

/* The next moment at which something must have come from the peer. */
static void plan(struct http2 *h)
{
	const struct http_options *options = h->base.shared->options;
	int64_t at = min_ns(h->head_deadline_ns, h->drain_deadline_ns);

	at = min_ns(at, h->bodies_deadline_ns);
	/* Idle, or an unread reply; while a handler runs, the peer need not do anything. */
	if (!h->streams || h->answering)
		at = min_ns(at, h->quiet_since_ns + (h->settings_seen ? options->idle_timeout_ns
								      : options->head_timeout_ns));
	h->base.deadline_ns = at;
}

static void settle(struct http2 *h)
{
	if (!nghttp2_session_want_read(h->ng) && !nghttp2_session_want_write(h->ng))
		h->base.closing = true;
	else if (h->input_ended && !h->streams && !nghttp2_session_want_write(h->ng))
		h->base.closing = true;
	plan(h);
}

void http2_reset(struct http2 *h, int32_t id, uint32_t code)
{
	if (nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, id, code))
		h->base.closing = true;
}

void http2_terminate(struct http2 *h, uint32_t code)
{
	h->base.linger = code != NGHTTP2_NO_ERROR;
	if (nghttp2_session_terminate_session(h->ng, code))
		h->base.closing = true;
}

void http2_count_reset(struct http2 *h)
{
	int64_t now = h->base.shared->now_ns;

	if (h->reset_credit_ns < now)
		h->reset_credit_ns = now;
	h->reset_credit_ns += RESET_PRICE;
	if (h->reset_credit_ns - now <= RESET_BURST * RESET_PRICE)
		return;
	counter_add(&h->base.shared->counters.protocol_errors, 1);
	http2_terminate(h, NGHTTP2_ENHANCE_YOUR_CALM);
}

static enum err input(struct session *s, struct str bytes)
{
	struct http2 *h = (struct http2 *)s;
	ssize_t n = nghttp2_session_mem_recv(h->ng, (const uint8_t *)bytes.p, bytes.n);

	if (n == NGHTTP2_ERR_NOMEM)
		return ERR_NO_MEMORY;
	if (n < 0) {
		counter_add(&s->shared->counters.protocol_errors, 1);
		return ERR_CORRUPT;
	}
	s->memory = HTTP2_MEMORY + h->head_text.cap;
	settle(h);
	return ERR_OK;
}

static void end_of_input(struct session *s)
{
	struct http2 *h = (struct http2 *)s;

	h->input_ended = true;
	settle(h);
}

static void reply(struct session *s, struct exchange *x)
{
	struct http2 *h = (struct http2 *)s;

	http2_reply(h, x);
	settle(h);
}

static void produce(struct session *s)
{
	struct http2 *h = (struct http2 *)s;

	while (s->out.bytes < SESSION_OUT_LOW && !s->out.error) {
		const uint8_t *bytes;
		size_t before = s->out.bytes;
		ssize_t n = nghttp2_session_mem_send(h->ng, &bytes);

		if (n < 0) {
			s->closing = true;
			break;
		}
		/* Bodies go past nghttp2's buffer, see send_body. */
		if (n == 0 && s->out.bytes == before)
			break;
		outqueue_copy(&s->out, str_n(bytes, (size_t)n));
		h->quiet_since_ns = s->shared->now_ns;
	}
	settle(h);
}

/*
 * A reset at once would be right, but makes some clients forget the reply that came before it (curl
 * 7.88). So the rest of the body is read for a while and thrown away.
 */
void http2_said_early(struct http2 *h, struct exchange *x)
{
	struct http2_stream *stream = http2_stream_of(x);

	stream->said = true;
	stream->reset_at_ns = h->base.shared->now_ns + EARLY_GRACE;
	h->bodies_deadline_ns = min_ns(h->bodies_deadline_ns, stream->reset_at_ns);
}

void http2_end_early(struct http2 *h, struct exchange *x)
{
	http2_stream_of(x)->said = false;
	http2_reset(h, http2_stream_of(x)->id, NGHTTP2_NO_ERROR);
}

static bool is_taking(const struct exchange *x)
{
	return http2_stream_of(x)->answered && !http2_stream_of(x)->said;
}

static bool is_due(const struct exchange *x)
{
	const struct http2_stream *stream = http2_stream_of(x);

	return stream->said || stream->answered ||
	       (x->admitted && !stream->complete && !stream->refused);
}

static int64_t deadline_of(const struct http2 *h, const struct exchange *x)
{
	const struct http2_stream *stream = http2_stream_of(x);

	return stream->said	  ? stream->reset_at_ns
	       : stream->answered ? reply_deadline(h, x)
				  : http2_body_deadline(x);
}

void http2_look_again(struct http2 *h, const struct exchange *x)
{
	h->bodies_deadline_ns = min_ns(h->bodies_deadline_ns, deadline_of(h, x));
}

/* Refuses bodies that are too slow; returns when to check the others again. */
static void check_bodies(struct http2 *h, int64_t now)
{
	h->bodies_deadline_ns = SESSION_NEVER;
	for (struct exchange *x = h->base.exchanges; x; x = x->next) {
		if (!is_due(x))
			continue;
		if (deadline_of(h, x) > now) {
			http2_look_again(h, x);
		} else if (http2_stream_of(x)->said) {
			http2_end_early(h, x);
		} else if (is_taking(x)) {
			counter_add(&h->base.shared->counters.timeouts, 1);
			counter_add(&h->base.shared->counters.slow_readers, 1);
			http2_reset(h, http2_stream_of(x)->id, NGHTTP2_CANCEL);
			http2_stream_of(x)->taken_ns = now;
		} else {
			counter_add(&h->base.shared->counters.timeouts, 1);
			counter_add(&h->base.shared->counters.slow_bodies, 1);
			http2_refuse(h, x, 408, "4", "the body came too slowly\n");
		}
	}
}

/* Nothing above the last stream that was begun is taken any more. */
static void last_goaway(struct http2 *h)
{
	h->drain_deadline_ns = SESSION_NEVER;
	if (nghttp2_submit_goaway(h->ng, NGHTTP2_FLAG_NONE,
				  nghttp2_session_get_last_proc_stream_id(h->ng), NGHTTP2_NO_ERROR,
				  NULL, 0))
		h->base.closing = true;
}

static void expired(struct session *s)
{
	struct http2 *h = (struct http2 *)s;
	int64_t now = s->shared->now_ns;

	if (h->drain_deadline_ns <= now)
		last_goaway(h);
	if (h->bodies_deadline_ns <= now)
		check_bodies(h, now);
	plan(h);
	if (s->deadline_ns <= now) {
		if (h->streams || h->head_deadline_ns <= now || !h->settings_seen)
			counter_add(&s->shared->counters.timeouts, 1);
		http2_terminate(h, NGHTTP2_NO_ERROR);
		produce(s);
		s->closing = true;
	}
}

/*
 * First "no more streams, please"; when the peer's answer to the ping shows that it has read that,
 * or after a second, the GOAWAY that names the last stream: so nothing that was sent is lost.
 */
void http2_drain(struct http2 *h)
{
	if (h->draining)
		return;
	h->draining = true;
	h->drain_deadline_ns = h->base.shared->now_ns + DRAIN_WAIT;
	if (nghttp2_submit_shutdown_notice(h->ng) ||
	    nghttp2_submit_ping(h->ng, NGHTTP2_FLAG_NONE, NULL))
		h->base.closing = true;
}

static void drain(struct session *s)
{
	http2_drain((struct http2 *)s);
	settle((struct http2 *)s);
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *context)
{
	struct http2 *h = context;
	bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	(void)ng;
	h->settings_seen = true;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		http2_head_end(h, frame);
		if (last)
			http2_request_end(h, frame->hd.stream_id);
		break;
	case NGHTTP2_DATA:
		if (last)
			http2_request_end(h, frame->hd.stream_id);
		break;
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK && h->drain_deadline_ns != SESSION_NEVER)
			last_goaway(h);
		break;
	}
	return 0;
}

static int on_invalid_frame(nghttp2_session *ng, const nghttp2_frame *frame, int code,
			    void *context)
{
	struct http2 *h = context;

	(void)ng, (void)frame, (void)code;
	counter_add(&h->base.shared->counters.protocol_errors, 1);
	return 0;
}

static enum err submit_settings(struct http2 *h)
{
	const struct http_options *options = h->base.shared->options;
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options->max_streams},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2_STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		 options->max_head < UINT32_MAX ? (uint32_t)options->max_head : UINT32_MAX},
	};

	if (nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings,
				    sizeof(settings) / sizeof(settings[0])) ||
	    nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0,
						  HTTP2_CONNECTION_WINDOW))
		return ERR_NO_MEMORY;
	return ERR_OK;
}

static enum err open_session(struct http2 *h)
{
	nghttp2_mem memory = {NULL, ng_malloc, ng_free, ng_calloc, ng_realloc};
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	int failed;

	if (nghttp2_session_callbacks_new(&callbacks))
		return ERR_NO_MEMORY;
	if (nghttp2_option_new(&option)) {
		nghttp2_session_callbacks_del(callbacks);
		return ERR_NO_MEMORY;
	}
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
	http2_request_callbacks(callbacks);
	http2_reply_callbacks(callbacks);
	failed = nghttp2_session_server_new3(&h->ng, callbacks, h, option, &memory);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return failed ? ERR_NO_MEMORY : submit_settings(h);
}

static void free_session(struct session *s)
{
	struct http2 *h = (struct http2 *)s;

	nghttp2_session_del(h->ng);
	buf_release(&h->head_text);
	vec_release(&h->head_fields);
	mem_free(h);
}

static const struct session_ops http2_ops = {
	.input = input,
	.end_of_input = end_of_input,
	.reply = reply,
	.produce = produce,
	.expired = expired,
	.drain = drain,
	.free = free_session,
};

struct session *http2_session_new(struct session_shared *shared, const struct session_peer *peer,
				  void *owner)
{
	struct http2 *h = mem_zalloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base =
		(struct session){.ops = &http2_ops, .shared = shared, .peer = peer, .owner = owner};
	buf_init(&h->head_text, shared->options->max_head);
	h->head_deadline_ns = h->bodies_deadline_ns = h->drain_deadline_ns = SESSION_NEVER;
	h->quiet_since_ns = shared->now_ns;
	if (open_session(h)) {
		free_session(&h->base);
		return NULL;
	}
	plan(h);
	return &h->base;
}
