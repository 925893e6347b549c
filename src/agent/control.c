#include "agent/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

#define LINE_CEILING   ((size_t)64 << 10)
#define ANSWER_CEILING ((size_t)1 << 20)
/* The agent has other things to do than to wait for a slow client. */
#define PATIENCE_MS    200
#define ASK_MS	       10000
#define CLIENTS	       8

struct control {
	int fd;
	struct control_hooks hooks;
	struct sockaddr_un address;
};

static enum err address_of(const char *path, struct sockaddr_un *ret, struct fault *fault)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!path[0] || strlen(path) >= sizeof(ret->sun_path))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%.60s: a socket's path has 1 to 107 characters", path);
	memcpy(ret->sun_path, path, strlen(path));
	return ERR_OK;
}

static int connect_to(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address))) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* The socket of a killed agent. */
static enum err clear_place(const struct sockaddr_un *address, struct fault *fault)
{
	struct stat info;
	int fd;

	if (lstat(address->sun_path, &info))
		return ERR_OK;
	if (!S_ISSOCK(info.st_mode) || info.st_uid != geteuid())
		return fault_set(fault, ERR_EXISTS, "%s is there and no socket of this user",
				 address->sun_path);
	fd = connect_to(address);
	if (fd >= 0) {
		close(fd);
		return fault_set(fault, ERR_EXISTS, "another agent listens at %s",
				 address->sun_path);
	}
	unlink(address->sun_path);
	return ERR_OK;
}

static void make_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];

	if (!slash || slash == path)
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	/* When that fails so does what follows, with a reason. */
	if (mkdir(folder, 0700))
		return;
}

static enum err listen_at(struct control *c, struct fault *fault)
{
	mode_t old = umask(0177);
	int failed;

	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	failed = c->fd < 0 || bind(c->fd, (struct sockaddr *)&c->address, sizeof(c->address)) ||
		 listen(c->fd, CLIENTS);
	umask(old);
	return failed ? fault_set(fault, err_from_errno(errno), "%s cannot be listened at: %s",
				  c->address.sun_path, strerror(errno))
		      : ERR_OK;
}

/* Bound by root; stays open as long as the process. */
static struct {
	int fd;
	pid_t owner;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
} prepared = {.fd = -1};

/* May fail for lack of permission: the next agent then replaces the stale socket. */
static void forget_prepared(void)
{
	if (getpid() == prepared.owner && unlink(prepared.path))
		errno = 0;
}

enum err control_prepare(const char *path, struct fault *fault)
{
	struct control c = {.fd = -1};
	enum err e;

	if (prepared.fd >= 0)
		return ERR_OK;
	TRY(address_of(path, &c.address, fault));
	make_folder(path);
	e = clear_place(&c.address, fault);
	if (!e)
		e = listen_at(&c, fault);
	if (e && c.fd >= 0)
		close(c.fd);
	if (e)
		return e;
	prepared.fd = c.fd;
	prepared.owner = getpid();
	/* Without it the socket stays, which is no harm. */
	(void)!atexit(forget_prepared);
	memcpy(prepared.path, c.address.sun_path, sizeof(prepared.path));
	return ERR_OK;
}

static enum err begin(struct control *c, const char *path, struct fault *fault)
{
	TRY(address_of(path, &c->address, fault));
	if (prepared.fd >= 0 && !strcmp(prepared.path, path)) {
		c->fd = prepared.fd;
		return ERR_OK;
	}
	make_folder(path);
	TRY(clear_place(&c->address, fault));
	return listen_at(c, fault);
}

enum err control_open(const char *path, const struct control_hooks *hooks, struct control **ret,
		      struct fault *fault)
{
	struct control *c = mem_zalloc(1, sizeof(*c));
	enum err e;

	if (!c)
		return ERR_NO_MEMORY;
	c->fd = -1;
	c->hooks = *hooks;
	e = begin(c, path, fault);
	if (e) {
		if (c->fd >= 0)
			close(c->fd);
		mem_free(c);
		return e;
	}
	*ret = c;
	return ERR_OK;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	if (c->fd != prepared.fd) {
		close(c->fd);
		unlink(c->address.sun_path);
	}
	mem_free(c);
}

static bool wait_for(int fd, short what, int ms)
{
	struct pollfd p = {.fd = fd, .events = what};

	return poll(&p, 1, ms) > 0;
}

/* Up to the new line. */
static bool read_line(int fd, struct buf *line)
{
	while (line->n < LINE_CEILING && wait_for(fd, POLLIN, PATIENCE_MS)) {
		char room[4096];
		ssize_t n = recv(fd, room, sizeof(room), 0);

		if (n <= 0)
			return false;
		buf_append(line, room, (size_t)n);
		if (buf_error(line))
			return false;
		if (memchr(room, '\n', (size_t)n)) {
			line->data[str_find(buf_view(line), '\n')] = 0;
			return true;
		}
	}
	return false;
}

bool control_split(char *line, struct control_words *ret)
{
	const char *between = strchr(line, '\t') ? "\t" : " ";
	char *rest = line, *word;

	ret->n = 0;
	while ((word = strsep(&rest, between))) {
		if (!*word)
			continue;
		if (ret->n == sizeof(ret->v) / sizeof(ret->v[0]))
			return false;
		ret->v[ret->n++] = word;
	}
	return ret->n > 0;
}

static bool is_allowed(int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) &&
	       (who.uid == 0 || who.uid == geteuid());
}

static void serve(struct control *c, int fd)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(LINE_CEILING + 4096);
	CLEANUP(buf_release) struct buf answer = BUF_INIT(ANSWER_CEILING);
	struct control_words words;

	if (!read_line(fd, &line))
		return;
	if (!is_allowed(fd))
		buf_text(&answer, "error: this is for the agent's user alone\n");
	else if (!control_split(line.data, &words))
		buf_text(&answer, "error: a line of words is expected\n");
	else
		c->hooks.obey(c->hooks.context, &words, &answer);
	if (buf_error(&answer))
		return;
	for (size_t at = 0; at < answer.n && wait_for(fd, POLLOUT, PATIENCE_MS);) {
		ssize_t n = send(fd, answer.data + at, answer.n - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

void control_turn(struct control *c)
{
	int fd;

	if (!c)
		return;
	for (int i = 0; i < CLIENTS && (fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0; i++) {
		serve(c, fd);
		close(fd);
	}
}

static enum err take_answer(int fd, struct buf *to, struct fault *fault)
{
	while (wait_for(fd, POLLIN, ASK_MS)) {
		char room[4096];
		ssize_t n = recv(fd, room, sizeof(room), 0);

		if (n < 0)
			return fault_set(fault, err_from_errno(errno), "no answer: %s",
					 strerror(errno));
		if (!n)
			return to->n ? ERR_OK : fault_set(fault, ERR_IO, "no answer");
		buf_append(to, room, (size_t)n);
		TRY(buf_error(to));
	}
	return fault_set(fault, ERR_TIMEOUT, "no answer within %d seconds", ASK_MS / 1000);
}

enum err control_ask(const char *path, const char *const *words, size_t n, struct buf *to,
		     struct fault *fault)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(LINE_CEILING);
	struct sockaddr_un address;
	enum err e;
	int fd;

	for (size_t i = 0; i < n; i++)
		buf_printf(&line, "%s%s", words[i], i + 1 < n ? "\t" : "\n");
	TRY(buf_error(&line));
	TRY(address_of(path, &address, fault));
	fd = connect_to(&address);
	if (fd < 0)
		return fault_set(fault, err_from_errno(errno),
				 "no agent listens at %s (%s): start it with --control %s", path,
				 strerror(errno), path);
	e = write_all(fd, line.data, line.n);
	if (!e)
		e = take_answer(fd, to, fault);
	close(fd);
	return e;
}
