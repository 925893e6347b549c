#include "sdk/control_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "sdk/alloc_sampler.h"
#include "sdk/control_connection.h"
#include "sdk/own_pages.h"
#include "sdk/own_threads.h"

/* While a request waits for the background thread. */
#define STEP_MS	 20
/* Otherwise: the program may have closed the socket, which poll() does not report. */
#define PAUSE_MS 1000
#define BACKLOG	 16

static struct {
	struct own_socket socket;
	struct connection *connections; /* ASKS_MAX of them, never given back */
	struct thread thread;
	atomic_bool stop;
} it = {.socket = {-1, 0, 0}};

/* ------------------------------------------------------------------ connections */

/* A free place; else that of the one who has been sending its request for longest. */
static struct connection *place_for_new(void)
{
	struct connection *oldest = NULL;

	for (u32 i = 0; i < ASKS_MAX; i++) {
		struct connection *c = &it.connections[i];

		if (c->state == CONNECTION_FREE && ask_is_free(c->ask))
			return c;
		if (c->state == CONNECTION_READING && (!oldest || c->deadline < oldest->deadline))
			oldest = c;
	}
	if (oldest)
		connection_close(oldest);
	return oldest;
}

static void take_connection(void)
{
	int fd = accept4(it.socket.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *c = fd < 0 ? NULL : place_for_new();

	if (c)
		connection_open(c, fd);
	else if (fd >= 0)
		close(fd);
}

/* Sets the events for poll(); returns the timeout. */
static int prepare(struct pollfd *fds)
{
	int wait = PAUSE_MS;

	fds[0] = (struct pollfd){it.socket.fd, POLLIN, 0};
	for (u32 i = 0; i < ASKS_MAX; i++) {
		const struct connection *c = &it.connections[i];

		fds[1 + i] = (struct pollfd){-1, 0, 0};
		if (c->state == CONNECTION_FREE)
			continue;
		fds[1 + i].fd = c->socket.fd;
		fds[1 + i].events = connection_events(c);
		if (c->state == CONNECTION_ASKING)
			wait = STEP_MS;
	}
	return wait;
}

static void run(void *unused)
{
	struct pollfd fds[1 + ASKS_MAX];

	(void)unused;
	alloc_ignored = true;
	threads_exclude_self();
	while (!it.stop && own_socket_there(&it.socket)) {
		int n = poll(fds, 1 + ASKS_MAX, prepare(fds));

		if (it.stop)
			break;
		for (u32 i = 0; i < ASKS_MAX; i++)
			connection_turn(&it.connections[i], n > 0 ? fds[1 + i].revents : 0);
		if (n > 0 && fds[0].revents & POLLIN && own_socket_there(&it.socket))
			take_connection();
	}
	for (u32 i = 0; i < ASKS_MAX; i++)
		connection_close(&it.connections[i]);
}

/* ------------------------------------------------------------------ begin and end */

static enum err open_socket(const struct control_settings *c, struct fault *fault)
{
	int fd = socket(c->listen_address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0),
	    on = 1;

	if (fd < 0)
		return fault_set(fault, err_from_errno(errno), "no socket to listen on");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &c->listen_address.any, c->listen_size) != 0 || listen(fd, BACKLOG) != 0) {
		bool used = errno == EADDRINUSE;

		close(fd);
		return fault_set(fault, used ? ERR_EXISTS : ERR_UNAVAILABLE, "%s: %s", c->listen,
				 used ? "the address is in use" : "cannot be listened on");
	}
	if (!own_socket_take(&it.socket, fd))
		return fault_set(fault, ERR_UNAVAILABLE, "%s: cannot be listened on", c->listen);
	return ERR_OK;
}

enum err listener_start(const struct sdk_settings *s, struct fault *fault)
{
	enum err e;

	if (!it.connections)
		it.connections = own_pages(ASKS_MAX * sizeof(*it.connections));
	if (!it.connections)
		return ERR_NO_MEMORY;
	for (u32 i = 0; i < ASKS_MAX; i++)
		connection_init(&it.connections[i], i, s);
	TRY(open_socket(&s->control, fault));
	it.stop = false;
	e = thread_start(&it.thread, "vestal-http", run, NULL);
	if (e)
		own_socket_close(&it.socket);
	return e;
}

void listener_stop(void)
{
	if (!it.thread.running)
		return;
	it.stop = true;
	/* Wakes poll(). */
	if (own_socket_there(&it.socket))
		shutdown(it.socket.fd, SHUT_RDWR);
	thread_join(&it.thread);
	own_socket_close(&it.socket);
}

void listener_after_fork(void)
{
	for (u32 i = 0; it.connections && i < ASKS_MAX; i++)
		connection_forget(&it.connections[i]);
	own_socket_close(&it.socket);
	it.thread.running = false;
}
