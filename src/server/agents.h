/*
 * Agents that send here, as they describe themselves with each request in the header
 * "vestal-agent":
 * "host=web-1;version=0.1.0;rate=19;cpu=0.004;memory=31457280;samples=118;dropped=0". Kept in
 * memory alone: an agent that is alive tells again within seconds.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define AGENT_HEADER "vestal-agent"

struct agent_facts {
	char host[256], version[64];
	int64_t last_seen_ns;
	double rate_hz, cpu_share, memory_bytes, samples_per_s, dropped;
};

struct agents;

enum err agents_new(struct agents **ret) MUST_CHECK;
void agents_free(struct agents *a);
/* Takes note, at this monotonic time; what cannot be read, or is one agent too many, is not kept.
 */
void agents_saw(struct agents *a, struct str tenant, struct str header, int64_t steady_ns);
/* Calls `each` with the agents of a tenant that were heard of in the last day, by host. When that
 * was is said by the wall clock as it is now. */
void agents_list(struct agents *a, struct str tenant, int64_t wall_ns, int64_t steady_ns,
		 void (*each)(void *context, const struct agent_facts *f), void *context);
