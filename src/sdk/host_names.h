/*
 * Resolves host names. host_names.c uses libc, which loads name service modules; a statically
 * linked program has none, so host_names_static.c supports only numeric addresses.
 */
#pragma once

#include <sys/socket.h>

#include "unwind/unwind_format.h"

#define HOST_ADDRESSES_MOST 4

struct host_address {
	struct sockaddr_storage at;
	socklen_t size;
};

/* Returns the number of addresses. */
u32 host_addresses(const char *host, const char *port,
		   struct host_address ret[HOST_ADDRESSES_MOST]);
