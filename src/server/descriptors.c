#include "server/descriptors.h"

#include <limits.h>
#include <sys/resource.h>

#define FILES_LEAST	  256
#define OTHERS		  48 /* logs, listeners, epoll, what is about to be refused */
#define CONNECTIONS_LEAST 16

unsigned descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return FILES_LEAST;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit more = {limit.rlim_max, limit.rlim_max};

		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			limit = more;
	}
	return limit.rlim_cur < UINT_MAX ? (unsigned)limit.rlim_cur : UINT_MAX;
}

unsigned descriptors_for_connections(unsigned limit, unsigned wanted)
{
	unsigned files = limit / 4, least = limit / 2 < FILES_LEAST ? limit / 2 : FILES_LEAST, left;

	if (files < least)
		files = least;
	left = limit - files > OTHERS + CONNECTIONS_LEAST ? limit - files - OTHERS
							  : CONNECTIONS_LEAST;
	return left < wanted ? left : wanted;
}
