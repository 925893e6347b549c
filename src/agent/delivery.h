/* One try to hand a request to a server. */
#pragma once

#include "agent/endpoint.h"
#include "base/err.h"

enum delivery_end {
	DELIVERED,
	DELIVERY_LATER,	  /* the server may take it another time */
	DELIVERY_REFUSED, /* it never will */
};

struct delivery {
	enum delivery_end end;
	int64_t retry_ns;  /* the server asks to wait that long; 0 = it does not say */
	uint64_t rejected; /* profiles of a delivered request that were not taken */
	char reason[400];  /* why it was not, or not wholly, taken; empty when it was */
};

/* `request` is an ExportProfilesServiceRequest, packed with gzip or not; `about` one more header
 * ("Name: value"), or empty. */
void deliver(const struct endpoint *e, const char *about, struct str request, struct delivery *ret);
