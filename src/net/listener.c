#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "net/loop.h"

#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

static enum err bad_address(struct str text, struct fault *fault)
{
	return fault_set(
		fault, ERR_BAD_ARGUMENT,
		"%.*s is not an address to listen on: expected 127.0.0.1:4040, [::1]:4040, "
		"unix:/path or fd:N",
		(int)text.n, text.p);
}

static enum err os_fault(struct fault *fault, struct str address)
{
	enum err e = errno == EADDRINUSE ? ERR_EXISTS : err_from_errno(errno);

	if (errno == EADDRINUSE)
		return fault_set(fault, e, "%.*s is in use by another program", (int)address.n,
				 address.p);
	if (errno == EADDRNOTAVAIL)
		return fault_set(fault, e, "%.*s is not an address of this machine", (int)address.n,
				 address.p);
	return fault_set(fault, e, "cannot listen on %.*s: %s", (int)address.n, address.p,
			 strerrordesc_np(errno));
}

/* "host:port" with a numeric host; an empty host is every address. */
static bool parse_inet(struct str text, union address *a, socklen_t *ret_size)
{
	size_t colon = str_rfind(text, ':');
	struct str host = str_n(text.p, colon);
	uint64_t port;
	char name[INET6_ADDRSTRLEN + 1];

	if (colon == text.n || str_to_u64(str_skip(text, colon + 1), 10, &port) || port > 65535)
		return false;
	if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
		host = str_n(host.p + 1, host.n - 2);
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons((uint16_t)port);
		*ret_size = sizeof(a->in6);
	} else {
		if (str_eq(host, STR("localhost")))
			host = STR("127.0.0.1");
		else if (!host.n)
			host = STR("0.0.0.0");
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons((uint16_t)port);
		*ret_size = sizeof(a->in);
	}
	if (host.n >= sizeof(name))
		return false;
	memcpy(name, host.p, host.n);
	name[host.n] = '\0';
	return a->any.sa_family == AF_INET6 ? inet_pton(AF_INET6, name, &a->in6.sin6_addr) == 1
					    : inet_pton(AF_INET, name, &a->in.sin_addr) == 1;
}

static bool parse_unix(struct str path, union address *a, socklen_t *ret_size)
{
	if (!path.n || path.n >= sizeof(a->un.sun_path) || memchr(path.p, 0, path.n))
		return false;
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, path.p, path.n);
	a->un.sun_path[path.n] = '\0';
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + 1);
	return true;
}

/* The stale socket of a killed program: connecting fails. */
static bool remove_stale(const union address *a, socklen_t size)
{
	struct stat st;
	int fd;
	bool stale;

	if (lstat(a->un.sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	stale = connect(fd, &a->any, size) != 0 && errno == ECONNREFUSED;
	close(fd);
	return stale && unlink(a->un.sun_path) == 0;
}

static bool bind_socket(int fd, const union address *a, socklen_t size)
{
	int on = 1;

	if (a->any.sa_family == AF_UNIX)
		return bind(fd, &a->any, size) == 0 ||
		       (errno == EADDRINUSE && remove_stale(a, size) &&
			bind(fd, &a->any, size) == 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* "[::]:4040" and "0.0.0.0:4040" are two addresses, wherever bindv6only stands. */
	if (a->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	return bind(fd, &a->any, size) == 0;
}

static enum err open_socket(struct listener *l, const union address *a, socklen_t size,
			    struct str text, struct fault *fault)
{
	l->fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0 || !bind_socket(l->fd, a, size))
		return os_fault(fault, text);
	if (a->any.sa_family == AF_UNIX) {
		l->unlink_path = mem_strdup(a->un.sun_path);
		if (!l->unlink_path) {
			unlink(a->un.sun_path);
			return ERR_NO_MEMORY;
		}
	}
	return listen(l->fd, BACKLOG) == 0 ? ERR_OK : os_fault(fault, text);
}

/* A socket opened by systemd (LISTEN_FDS), given by number in the configuration. */
static enum err adopt_socket(struct listener *l, struct str number, struct str text,
			     struct fault *fault)
{
	int listening = 0;
	socklen_t size = sizeof(listening);
	uint64_t fd;

	if (str_to_u64(number, 10, &fd) || fd > INT32_MAX)
		return bad_address(text, fault);
	if (getsockopt((int)fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || !listening)
		return fault_set(fault, ERR_BAD_ARGUMENT, "descriptor %d is not a listening socket",
				 (int)fd);
	l->fd = (int)fd;
	if (fcntl(l->fd, F_SETFL, fcntl(l->fd, F_GETFL) | O_NONBLOCK) != 0 ||
	    fcntl(l->fd, F_SETFD, FD_CLOEXEC) != 0)
		return os_fault(fault, text);
	return ERR_OK;
}

/* The actual address: the port for ":0", the path of an inherited socket. */
static void describe(struct listener *l, uint16_t tag, struct buf *ret)
{
	union address a = {0};
	socklen_t size = sizeof(a);
	char host[INET6_ADDRSTRLEN] = "";
	uint16_t port = 0;

	if (getsockname(l->fd, &a.any, &size) != 0)
		a.any.sa_family = AF_UNSPEC;
	if (a.any.sa_family == AF_INET6) {
		port = ntohs(a.in6.sin6_port);
		inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host));
	} else if (a.any.sa_family == AF_INET) {
		port = ntohs(a.in.sin_port);
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
	}
	l->port = tag ? tag : port;
	l->local = a.any.sa_family == AF_UNIX;
	if (!ret)
		return;
	if (l->local)
		buf_printf(ret, "unix:%.*s", (int)sizeof(a.un.sun_path), a.un.sun_path);
	else if (a.any.sa_family == AF_INET6)
		buf_printf(ret, "[%s]:%u", host, port);
	else
		buf_printf(ret, "%s:%u", host, port);
}

static void set_options(int fd)
{
	int on = 1;

	/* Accepted sockets inherit both. A unix socket knows neither, which does not matter. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static enum err listener_begin(struct listener *l, struct str text, struct fault *fault)
{
	union address a = {0};
	socklen_t size = 0;

	if (str_starts(text, STR("fd:")))
		return adopt_socket(l, str_skip(text, 3), text, fault);
	if (str_starts(text, STR("unix:")) ? !parse_unix(str_skip(text, 5), &a, &size)
					   : !parse_inet(text, &a, &size))
		return bad_address(text, fault);
	return open_socket(l, &a, size, text, fault);
}

enum err listener_open(struct str address, uint16_t tag, struct listener **ret,
		       struct buf *ret_address, struct fault *fault)
{
	struct listener *l = mem_zalloc(1, sizeof(*l));
	enum err e;

	if (!l)
		return ERR_NO_MEMORY;
	l->watch = WATCH_LISTENER;
	l->fd = -1;
	e = listener_begin(l, address, fault);
	if (e) {
		listener_free(l);
		return e;
	}
	set_options(l->fd);
	describe(l, tag, ret_address);
	*ret = l;
	return ERR_OK;
}

void listener_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	if (l->unlink_path)
		unlink(l->unlink_path);
	mem_free(l->unlink_path);
	l->unlink_path = NULL;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	listener_close(l);
	mem_free(l);
}
