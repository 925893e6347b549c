#include "sdk/control_connection.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"

/* Time limits for receiving a complete request, and for sending a complete response. */
#define READ_NS	 (5 * NS_PER_S)
#define WRITE_NS (60 * NS_PER_S)
/* Extra time for the response: symbolizing a large program takes time. */
#define ASK_NS	 (60 * NS_PER_S)

void connection_init(struct connection *c, u32 number, const struct sdk_settings *s)
{
	c->state = CONNECTION_FREE;
	c->socket = OWN_SOCKET_NONE;
	c->ask = ask_place(number);
	c->settings = s;
	c->head = c->body = BUF_INIT(0);
}

void connection_open(struct connection *c, int fd)
{
	if (!own_socket_take(&c->socket, fd))
		return;
	c->state = CONNECTION_READING;
	c->deadline = clock_monotonic_ns() + READ_NS;
	c->n = 0;
	c->sent = 0;
}

void connection_close(struct connection *c)
{
	if (c->state == CONNECTION_FREE)
		return;
	if (c->state == CONNECTION_ASKING)
		ask_drop(c->ask);
	own_socket_close(&c->socket);
	buf_release(&c->head);
	buf_release(&c->body);
	c->state = CONNECTION_FREE;
}

void connection_forget(struct connection *c)
{
	own_socket_close(&c->socket);
	c->head = c->body = BUF_INIT(0);
	c->state = CONNECTION_FREE;
}

short connection_events(const struct connection *c)
{
	if (c->state == CONNECTION_WRITING)
		return POLLOUT;
	return c->state == CONNECTION_READING ? POLLIN : POLLRDHUP;
}

/* ------------------------------------------------------------------ answers */

static const char *reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 301:
		return "Moved Permanently";
	case 404:
		return "Not Found";
	case 500:
		return "Internal Server Error";
	default:
		return status < 500 ? "Not Accepted" : "Not Now";
	}
}

/* The body is taken over. */
static void begin_answer(struct connection *c, int status, const char *type, struct buf *body)
{
	c->body = *body;
	*body = BUF_INIT(0);
	c->head = BUF_INIT(1024);
	buf_printf(&c->head,
		   "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
		   "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		   "Connection: close\r\n\r\n",
		   status, reason(status), type, c->body.n,
		   status == 301 ? "Location: " PAGE_INDEX "\r\n" : "");
	c->sent = 0;
	c->state = CONNECTION_WRITING;
	c->deadline = clock_monotonic_ns() + WRITE_NS;
}

static void answer_page(struct connection *c, struct page *p)
{
	if (!buf_error(&p->body))
		begin_answer(c, p->status, p->type, &p->body);
	else
		connection_close(c);
	buf_release(&p->body);
}

static void answer_request(struct connection *c, const struct http_request *r)
{
	struct page p = {.body = BUF_INIT(PAGE_MAX)};

	page_of(r, c->settings, c->ask, &p);
	if (!p.asks) {
		answer_page(c, &p);
		return;
	}
	buf_release(&p.body);
	c->type = p.type;
	c->state = CONNECTION_ASKING;
	c->deadline = clock_monotonic_ns() + ASK_NS + (int64_t)c->ask->seconds * NS_PER_S;
	ask_send(c->ask);
}

/* An answer that did not come to be says why. */
static void take_answer(struct connection *c)
{
	struct page p = {.body = BUF_INIT(PAGE_MAX)};

	if (!ask_is_answered(c->ask))
		return;
	if (c->ask->error) {
		page_of_error(c->ask->error, &p);
		ask_drop(c->ask);
		answer_page(c, &p);
		return;
	}
	begin_answer(c, 200, c->type, &c->ask->answer);
	ask_drop(c->ask);
}

/* ------------------------------------------------------------------ bytes */

static void refuse(struct connection *c, int status, const char *text)
{
	struct page p = {.body = BUF_INIT(PAGE_MAX), .status = status, .type = PAGE_TEXT};

	buf_printf(&p.body, "%s\n", text);
	answer_page(c, &p);
}

static void read_some(struct connection *c)
{
	ssize_t n = recv(c->socket.fd, c->request + c->n, REQUEST_SIZE - c->n, 0);
	struct http_request r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		connection_close(c);
		return;
	}
	c->n += (u32)n;
	switch (http_request_read(str_n(c->request, c->n), REQUEST_SIZE, &r)) {
	case HTTP_MORE:
		break;
	case HTTP_COMPLETE:
		answer_request(c, &r);
		break;
	case HTTP_WRONG:
		refuse(c, 400, "this is no request that is understood here");
		break;
	case HTTP_TOO_LONG:
		refuse(c, 431, "the request is too long");
		break;
	}
}

static void write_some(struct connection *c)
{
	bool head = c->sent < c->head.n;
	struct str rest = head ? str_skip(buf_view(&c->head), c->sent)
			       : str_skip(buf_view(&c->body), c->sent - c->head.n);
	ssize_t n = send(c->socket.fd, rest.p, rest.n, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n >= 0)
		c->sent += (size_t)n;
	if (n < 0 || c->sent == c->head.n + c->body.n)
		connection_close(c);
}

void connection_turn(struct connection *c, short events)
{
	if (c->state == CONNECTION_FREE)
		return;
	if (clock_monotonic_ns() >= c->deadline || !own_socket_there(&c->socket)) {
		connection_close(c);
		return;
	}
	if (c->state == CONNECTION_ASKING) {
		if (events & (POLLHUP | POLLERR | POLLRDHUP))
			connection_close(c);
		else
			take_answer(c);
	} else if (c->state == CONNECTION_READING && events) {
		read_some(c);
	}
	if (c->state == CONNECTION_WRITING && (events || !c->sent))
		write_some(c);
}
