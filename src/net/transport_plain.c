#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/transport.h"

static enum io_status status_of_errno(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK ? IO_AGAIN : IO_FAILED;
}

static enum io_status plain_read(struct transport *t, void *room, size_t n, size_t *ret_n)
{
	ssize_t got;

	do
		got = recv(t->fd, room, n, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return status_of_errno();
	*ret_n = (size_t)got;
	return got ? IO_OK : IO_END;
}

static enum io_status plain_write(struct transport *t, const struct iovec *parts, int count,
				  size_t *ret_n)
{
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
				 .msg_iovlen = (size_t)count};
	ssize_t sent;

	do
		sent = sendmsg(t->fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return status_of_errno();
	*ret_n = (size_t)sent;
	return IO_OK;
}

static void plain_end(struct transport *t)
{
	shutdown(t->fd, SHUT_WR);
}

static void plain_release(struct transport *t)
{
	(void)t;
}

static const struct transport_ops plain_ops = {
	.read = plain_read,
	.write = plain_write,
	.end = plain_end,
	.release = plain_release,
};

void transport_plain_init(struct transport *t, int fd)
{
	*t = (struct transport){.ops = &plain_ops, .fd = fd};
}
