/*
 * Where a host is. host_names.c asks libc, which opens modules for names; a program that is linked
 * statically has none, so that host_names_static.c knows numbers alone.
 */
#pragma once

#include <sys/socket.h>

#include "unwind/unwind_format.h"

#define HOST_ADDRESSES_MOST 4

struct host_address {
	struct sockaddr_storage at;
	socklen_t size;
};

/* Returns how many were found. */
u32 host_addresses(const char *host, const char *port,
		   struct host_address ret[HOST_ADDRESSES_MOST]);
