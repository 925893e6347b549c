/* One attempt to deliver a request to a server. */
#pragma once

#include "agent/endpoint.h"
#include "base/err.h"

enum delivery_end {
	DELIVERED,
	DELIVERY_LATER,	  /* a retry may succeed */
	DELIVERY_REFUSED, /* permanent failure */
};

struct delivery {
	enum delivery_end end;
	int64_t retry_ns;  /* time after which the server wants a retry; 0 = not given */
	uint64_t rejected; /* profiles of a delivered request that the server rejected */
	char reason[400];  /* why it was refused or rejected in part; else empty */
};

/* `request` is an ExportProfilesServiceRequest, with or without gzip; `about` is an additional
 * header ("Name: value"), or empty. */
void deliver(const struct endpoint *e, const char *about, struct str request, struct delivery *ret);
