/*
 * Counters per tenant: /metrics shows a tenant its own, and the sums over all (metrics.h) only to
 * requests that may see the whole server. In memory, since the start.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct tenant_numbers {
	uint64_t uploads, profiles, samples, spans, rejected_parts, received_bytes;
	uint64_t failures[ERR_COUNT_];
};

struct tenant_counts;

enum err tenant_counts_new(struct tenant_counts **ret) MUST_CHECK;
void tenant_counts_free(struct tenant_counts *c);
/* These increment counters; without memory, nothing is counted. NULL is allowed. Thread safe. */
void tenant_counts_add(struct tenant_counts *c, struct str tenant, const struct tenant_numbers *n);
void tenant_counts_failed(struct tenant_counts *c, struct str tenant, enum err reason);
void tenant_counts_get(struct tenant_counts *c, struct str tenant, struct tenant_numbers *ret);
