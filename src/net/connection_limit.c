/*
 * The limit on connections, and which one is closed at the limit: first those that never sent a
 * request and have been silent longest, then other idle ones, and last those that were just
 * accepted, whose request may be arriving. A connection with a running request is never closed.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/hash.h"
#include "net/loop.h"

#define LOOK_AT	      256		 /* connections, from the idlest on */
#define YOUNG_NS      (250 * NS_PER_MS)	 /* a client sends its first request within that time */
#define PLAIN_SIZE    ((size_t)4 << 10)	 /* of the structs and what the heap adds */
#define TLS_SIZE      ((size_t)48 << 10) /* of OpenSSL, about */
#define SMALL_SESSION ((size_t)40 << 10) /* HTTP/2's own, and the beginning of a head */

/* Of IPv6 the network: its hosts choose the rest of their address freely. */
static uint16_t origin_of(const struct connection *c)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = {0};
	socklen_t size = sizeof(a);
	uint64_t seed = c->loop->server->seed, hash;

	if (getpeername(c->transport.fd, &a.any, &size) != 0)
		return 0;
	if (a.any.sa_family == AF_INET)
		hash = hash_bytes(&a.in.sin_addr, sizeof(a.in.sin_addr), seed);
	else if (a.any.sa_family == AF_INET6)
		hash = hash_bytes(&a.in6.sin6_addr, 8, seed);
	else
		return 0;
	/* 0 is for sockets of this host, which have no address and no limit of their own. */
	return (uint16_t)(1 + hash % (ORIGINS - 1));
}

bool connection_count(struct connection *c, unsigned total)
{
	struct http_server *s = c->loop->server;
	unsigned most = s->options.max_connections, here = 0;

	c->origin = origin_of(c);
	if (c->origin)
		here = atomic_fetch_add(&s->origins[c->origin], 1);
	c->at_limit = total >= most || (most > 3 && here >= most - most / 4);
	/* Those on their way to a loop that will close another one for them are few. */
	if (total < most + most / 16 + 16)
		return true;
	connection_uncount(c);
	return false;
}

void connection_uncount(struct connection *c)
{
	if (c->origin)
		atomic_fetch_sub(&c->loop->server->origins[c->origin], 1);
	c->origin = 0;
}

void connection_list(struct connection *c)
{
	struct loop *l = c->loop;

	if (!c->accepted_ns)
		c->accepted_ns = l->shared.now_ns;
	c->previous = NULL;
	c->next = l->connections;
	if (c->next)
		c->next->previous = c;
	else
		l->idlest = c;
	l->connections = c;
}

void connection_unlist(struct connection *c)
{
	struct loop *l = c->loop;

	if (c->previous)
		c->previous->next = c->next;
	else
		l->connections = c->next;
	if (c->next)
		c->next->previous = c->previous;
	else
		l->idlest = c->previous;
}

void connection_touch(struct connection *c)
{
	if (c->dead || c->loop->connections == c)
		return;
	connection_unlist(c);
	connection_list(c);
}

static bool has_request(const struct connection *c)
{
	return c->session && (c->session->exchanges || c->session->out.bytes);
}

/* The lowest is closed first. */
static int rank_of(const struct connection *c)
{
	if (c->asked)
		return 1;
	return c->loop->shared.now_ns - c->accepted_ns < YOUNG_NS ? 2 : 0;
}

bool connection_make_room(struct connection *c)
{
	struct http_server *s = c->loop->server;
	unsigned most = s->options.max_connections;
	bool same = c->origin && atomic_load(&s->origins[c->origin]) > most - most / 4;
	struct connection *best = NULL;
	int left = LOOK_AT;

	for (struct connection *other = c->loop->idlest; other && left--; other = other->previous) {
		if (other == c || has_request(other) || (same && other->origin != c->origin))
			continue;
		if (!best || rank_of(other) < rank_of(best))
			best = other;
		if (!rank_of(best))
			break;
	}
	if (!best)
		return false;
	counter_add(&c->loop->shared.counters.evicted, 1);
	connection_close(best);
	return true;
}

bool connection_charge(struct connection *c)
{
	struct memory_account *account = c->loop->server->options.account;
	size_t n = PLAIN_SIZE + (c->loop->server->tls ? TLS_SIZE : 0) +
		   (c->session ? c->session->memory : 0);

	if (!account || n == c->hold.n)
		return true;
	/* Health checks get in when memory is short: only headers are charged here. */
	if (!c->session || c->session->memory <= SMALL_SESSION) {
		memory_hold_set(&c->hold, account, MEMORY_CONNECTIONS, n);
		return true;
	}
	if (memory_hold_grow(&c->hold, account, MEMORY_CONNECTIONS, n, NULL) == ERR_OK)
		return true;
	connection_close(c);
	return false;
}

void connection_refuse(struct loop *l, int fd)
{
	static const char full[] =
		"HTTP/1.1 503 Service Unavailable\r\nServer: vestal\r\nRetry-After: 1\r\n"
		"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 52\r\n"
		"Connection: close\r\n\r\nthe server has too many connections; try again soon\n";

	counter_add(&l->shared.counters.refused, 1);
	/* A peer in the handshake cannot read it. */
	if (!l->server->tls && send(fd, full, sizeof(full) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		shutdown(fd, SHUT_WR);
}
