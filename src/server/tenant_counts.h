/*
 * What the server counts for each tenant: /metrics shows a tenant these, and the sums over all of
 * them (metrics.h) only to those who may see the whole server. In memory, since the start.
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
/* These add; what finds no memory is not counted. NULL counts nothing. Thread safe. */
void tenant_counts_add(struct tenant_counts *c, struct str tenant, const struct tenant_numbers *n);
void tenant_counts_failed(struct tenant_counts *c, struct str tenant, enum err reason);
void tenant_counts_get(struct tenant_counts *c, struct str tenant, struct tenant_numbers *ret);
