#include "sdk/host_names.h"

#include <netdb.h>
#include <string.h>

/* Numbers first: a name makes libc open modules and read files. */
static struct addrinfo *ask(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *list;

	if (getaddrinfo(host, port, &hints, &list) == 0)
		return list;
	hints.ai_flags = AI_NUMERICSERV;
	return getaddrinfo(host, port, &hints, &list) == 0 ? list : NULL;
}

u32 host_addresses(const char *host, const char *port, struct host_address ret[HOST_ADDRESSES_MOST])
{
	struct addrinfo *list = ask(host, port);
	u32 n = 0;

	for (const struct addrinfo *a = list; a && n < HOST_ADDRESSES_MOST; a = a->ai_next) {
		memcpy(&ret[n].at, a->ai_addr, a->ai_addrlen);
		ret[n++].size = a->ai_addrlen;
	}
	if (list)
		freeaddrinfo(list);
	return n;
}
