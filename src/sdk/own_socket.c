#include "sdk/own_socket.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last numbers that a process may use by default, 1024, without the very last. */
#define NUMBER_HIGH 960
#define NUMBER_LOW  64

int own_descriptor(int fd)
{
	struct rlimit limit;
	int from = NUMBER_HIGH, moved;

	if (fd < 0)
		return fd;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < NUMBER_HIGH + 32)
		from = NUMBER_LOW;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, from);
	if (moved < 0)
		return fd;
	close(fd);
	return moved;
}

bool own_socket_take(struct own_socket *s, int fd)
{
	struct stat now;

	*s = OWN_SOCKET_NONE;
	if (fd < 0)
		return false;
	fd = own_descriptor(fd);
	if (fstat(fd, &now) != 0) {
		close(fd);
		return false;
	}
	*s = (struct own_socket){fd, now.st_dev, now.st_ino};
	return true;
}

bool own_socket_there(const struct own_socket *s)
{
	struct stat now;

	return s->fd >= 0 && fstat(s->fd, &now) == 0 && S_ISSOCK(now.st_mode) &&
	       now.st_dev == s->device && now.st_ino == s->inode;
}

void own_socket_close(struct own_socket *s)
{
	if (own_socket_there(s))
		close(s->fd);
	*s = OWN_SOCKET_NONE;
}
