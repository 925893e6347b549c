#include "net/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Few, so that replies and unfinished bodies do not wait for many handlers. */
#define EVENTS_A_TURN 8
#define ACCEPT_A_TURN 64
/* The time per iteration for connections with more to do; and the length of an iteration after
 * which accepting comes first in the next one. */
#define READY_NS      (2 * NS_PER_MS)
#define LONG_NS	      NS_PER_MS
#define STOP_POLL_NS  (10 * NS_PER_MS)

enum err loop_init(struct loop *l, struct http_server *s)
{
	struct epoll_event wake = {.events = EPOLLIN | EPOLLET};

	l->server = s;
	l->epoll = -1;
	l->ready.last = &l->ready.first;
	l->answered.last = &l->answered.first;
	l->mailbox_watch = WATCH_MAILBOX;
	l->shared.options = &s->options;
	l->shared.handlers = &s->handlers;
	l->shared.pool = &l->pool;
	l->shared.clients = s->clients;
	l->shared.date_second = -1;
	mailbox_init(&l->shared.mailbox);
	session_clock(&l->shared);
	l->scratch = mem_alloc(LOOP_SCRATCH);
	if (!l->scratch)
		return ERR_NO_MEMORY;
	TRY(mailbox_open(&l->shared.mailbox));
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return err_from_errno(errno);
	wake.data.ptr = &l->mailbox_watch;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->shared.mailbox.fd, &wake) != 0)
		return err_from_errno(errno);
	return ERR_OK;
}

/* Except those that a list still names. */
static void free_dead(struct loop *l)
{
	struct connection *c = l->dead, *next;

	l->dead = NULL;
	for (; c; c = next) {
		next = c->next;
		if (c->listed) {
			c->next = l->dead;
			l->dead = c;
		} else {
			connection_free(c);
		}
	}
}

void loop_release(struct loop *l)
{
	if (!l->server)
		return;
	for (struct connection *c = l->ready.first; c; c = c->next_run)
		c->listed = false;
	for (struct connection *c = l->answered.first; c; c = c->next_run)
		c->listed = false;
	free_dead(l);
	mailbox_release(&l->shared.mailbox);
	if (l->epoll >= 0)
		close(l->epoll);
	timer_heap_release(&l->timers);
	buf_pool_release(&l->pool);
	mem_free(l->scratch);
	*l = (struct loop){0};
}

static void run_later(struct run_list *list, struct connection *c)
{
	if (c->listed)
		return;
	c->listed = true;
	c->next_run = NULL;
	*list->last = c;
	list->last = &c->next_run;
}

void loop_ready(struct loop *l, struct connection *c)
{
	run_later(&l->ready, c);
}

/* Those in the list now; who is added meanwhile waits for the next time. */
static void run_all(struct run_list *list)
{
	struct connection *c = list->first;

	list->first = NULL;
	list->last = &list->first;
	while (c) {
		struct connection *next = c->next_run;

		c->listed = false;
		connection_run(c);
		c = next;
	}
}

/* Runs connections with more to do, round robin, until others would have to wait. */
static void run_ready(struct loop *l)
{
	struct run_list *list = &l->ready;
	struct connection **end = list->last, *c;
	int64_t until;

	if (!list->first)
		return;
	until = clock_monotonic_ns() + READY_NS;
	do {
		bool is_last = end == &list->first->next_run;

		c = list->first;
		list->first = c->next_run;
		if (!list->first)
			list->last = &list->first;
		c->listed = false;
		connection_run(c);
		if (is_last)
			break;
	} while (clock_monotonic_ns() < until);
}

static void take_reply(struct loop *l, struct exchange *x)
{
	struct connection *c = x->session ? x->session->owner : NULL;

	exchange_deliver(x);
	if (c)
		run_later(&l->answered, c);
}

static void read_mail(struct loop *l)
{
	struct mail *mail = mailbox_take(&l->shared.mailbox), *next;

	for (; mail; mail = next) {
		next = mail->next;
		if (mail->kind == MAIL_REPLY)
			take_reply(l, (struct exchange *)((char *)mail -
							  offsetof(struct exchange, mail)));
		else if (mail->kind == MAIL_CONNECTION)
			connection_begin((struct connection *)((char *)mail -
							       offsetof(struct connection, mail)));
		else
			l->stop_asked = true;
	}
	/* Several replies to one client leave together. */
	if (l->answered.first)
		run_all(&l->answered);
}

static void run_timers(struct loop *l)
{
	struct timer *t;

	while ((t = timer_heap_pop(&l->timers, l->shared.now_ns)))
		connection_expired(
			(struct connection *)((char *)t - offsetof(struct connection, timer)));
	if (l->accept_again_ns && l->accept_again_ns <= l->shared.now_ns && !l->stopping &&
	    loop_watch_listeners(l) == ERR_OK)
		l->accept_again_ns = 0;
}

/* Takes who waits at the door, closes it, and lets everybody finish. */
static void begin_stop(struct loop *l)
{
	struct http_server *s = l->server;

	l->stopping = true;
	for (size_t i = 0; i < s->listeners.n; i++)
		loop_accept(l, s->listeners.v[i], UINT32_MAX);
	loop_unwatch_listeners(l);
	if (atomic_fetch_sub(&s->accepting, 1) == 1)
		for (size_t i = 0; i < s->listeners.n; i++)
			listener_close(s->listeners.v[i]);
	for (struct connection *c = l->connections, *next; c; c = next) {
		next = c->next;
		connection_drain(c);
	}
}

static void close_all(struct loop *l)
{
	for (struct connection *c = l->connections, *next; c; c = next) {
		next = c->next;
		connection_close(c);
	}
}

/* When nothing can come any more: no connection, none on its way, no reply that is owed. */
static bool is_over(struct loop *l)
{
	if (l->stop_asked && !l->stopping)
		begin_stop(l);
	if (!l->stopping || atomic_load(&l->server->accepting))
		return false;
	if (clock_monotonic_ns() >= atomic_load(&l->server->deadline_ns))
		close_all(l);
	return !atomic_load(&l->open) && !l->shared.live_exchanges;
}

static int wait_ms(struct loop *l)
{
	int64_t until = timer_heap_next(&l->timers), wait;

	if (l->ready.first || !mailbox_sleep(&l->shared.mailbox))
		return 0;
	if (l->accept_again_ns && l->accept_again_ns < until)
		until = l->accept_again_ns;
	if (l->stopping && l->shared.now_ns + STOP_POLL_NS < until)
		until = l->shared.now_ns + STOP_POLL_NS;
	if (until == INT64_MAX)
		return -1;
	wait = (until - clock_monotonic_ns()) / NS_PER_MS + 1;
	return wait < 0 ? 0 : wait > 1000000 ? 1000000 : (int)wait;
}

static void take_event(struct loop *l, const struct epoll_event *event)
{
	enum watch *watch = event->data.ptr;

	if (*watch == WATCH_CONNECTION)
		connection_event(event->data.ptr, event->events);
	else if (*watch == WATCH_LISTENER && !l->stopping)
		loop_accept(l, event->data.ptr, ACCEPT_A_TURN);
	/* The mailbox only wakes; its counter is never read, every post is a new edge. */
	read_mail(l);
}

/* Measures the iteration from the wakeup, the time that others had to wait. */
static void note_turn(struct loop *l)
{
	uint64_t took = (uint64_t)(clock_monotonic_ns() - l->shared.now_ns);
	net_counter *most = &l->shared.counters.longest_turn;

	l->was_long = took > LONG_NS;
	if (took > atomic_load_explicit(most, memory_order_relaxed))
		atomic_store_explicit(most, took, memory_order_relaxed);
}

/* Listener events may be queued after those of many connections. */
static void accept_first(struct loop *l)
{
	for (size_t i = 0; i < l->server->listeners.n && l->listening && !l->stopping; i++)
		loop_accept(l, l->server->listeners.v[i], ACCEPT_A_TURN);
}

void loop_run(void *argument)
{
	struct loop *l = argument;
	struct epoll_event events[EVENTS_A_TURN];

	while (!is_over(l)) {
		int n = epoll_wait(l->epoll, events, EVENTS_A_TURN, wait_ms(l));

		mailbox_awake(&l->shared.mailbox);
		session_clock(&l->shared);
		if (l->was_long)
			accept_first(l);
		for (int i = 0; i < n; i++)
			take_event(l, &events[i]);
		read_mail(l);
		run_ready(l);
		run_timers(l);
		free_dead(l);
		note_turn(l);
	}
}
