#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/loop.h"

#define PAUSE_NS (100 * NS_PER_MS) /* when descriptors or memory are used up */

enum err loop_watch_listeners(struct loop *l)
{
	struct http_server *s = l->server;

	for (size_t i = 0; i < s->listeners.n; i++) {
		/* Only one of the loops is woken for a client. */
		struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE,
					    .data.ptr = s->listeners.v[i]};

		if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, s->listeners.v[i]->fd, &event) != 0 &&
		    errno != EEXIST)
			return err_from_errno(errno);
	}
	l->listening = true;
	return ERR_OK;
}

void loop_unwatch_listeners(struct loop *l)
{
	for (size_t i = 0; l->listening && i < l->server->listeners.n; i++)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->server->listeners.v[i]->fd, NULL);
	l->listening = false;
}

/* The loop with the fewest connections; the kernel's choice alone puts four clients on one. */
static struct loop *choose_loop(struct loop *self, unsigned *ret_total)
{
	struct http_server *s = self->server;
	struct loop *best = self;
	unsigned fewest = atomic_load(&self->open);

	*ret_total = 0;
	for (unsigned i = 0; i < s->loop_count; i++) {
		unsigned open = atomic_load(&s->loops[i].open);

		*ret_total += open;
		if (open < fewest) {
			fewest = open;
			best = &s->loops[i];
		}
	}
	/* One that has begun to stop must not be given more. */
	return self->stopping ? self : best;
}

static void welcome(struct loop *l, struct listener *listener, int fd)
{
	unsigned total;
	struct loop *target = choose_loop(l, &total);
	struct connection *c = connection_new(target, listener, fd);

	if (!c)
		return;
	if (!connection_count(c, total)) {
		connection_refuse(l, fd);
		connection_free(c);
		return;
	}
	atomic_fetch_add(&target->open, 1);
	c->mail.kind = MAIL_CONNECTION;
	if (target == l)
		connection_begin(c);
	else
		mailbox_post(&target->shared.mailbox, &c->mail);
}

void loop_accept(struct loop *l, struct listener *listener, unsigned at_most)
{
	while (at_most--) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			welcome(l, listener, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
			   errno == ENOBUFS) {
			/* The listener stays readable: without a pause the loop would spin. */
			loop_unwatch_listeners(l);
			l->accept_again_ns = l->shared.now_ns + PAUSE_NS;
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}
