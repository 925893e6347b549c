#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/str.h"
#include "sdk/host_names.h"

u32 host_addresses(const char *host, const char *port, struct host_address ret[HOST_ADDRESSES_MOST])
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	uint64_t number;

	if (str_to_u64(str_of(port), 10, &number) || number > 65535)
		return 0;
	v4.sin_port = v6.sin6_port = htons((u16)number);
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		memcpy(&ret[0].at, &v4, sizeof(v4));
		ret[0].size = sizeof(v4);
		return 1;
	}
	if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
		return 0;
	memcpy(&ret[0].at, &v6, sizeof(v6));
	ret[0].size = sizeof(v6);
	return 1;
}
