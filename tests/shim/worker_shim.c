/*
 * Readers of files that end with every question, for an agent started with LD_PRELOAD: WORKER_SHIM
 * is the name of the process, "vestal-names" or "vestal-tables" (tests/e2e/test_seeded_losses.py).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int (*prctl_fn)(int, unsigned long, unsigned long, unsigned long, unsigned long);
typedef ssize_t (*recvmsg_fn)(int, struct msghdr *, int);

static bool ends;

int prctl(int option, ...)
{
	const char *name = getenv("WORKER_SHIM");
	unsigned long a[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_NAME && name)
		ends = !strcmp((const char *)a[0], name);
	return ((prctl_fn)dlsym(RTLD_NEXT, "prctl"))(option, a[0], a[1], a[2], a[3]);
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
	static recvmsg_fn next;
	ssize_t n;

	if (!next)
		next = (recvmsg_fn)dlsym(RTLD_NEXT, "recvmsg");
	n = next(socket, message, flags);
	if (ends && n > 0)
		_exit(9);
	return n;
}
