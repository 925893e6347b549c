/*
 * Agents that send to this server. They describe themselves in each request by the header
 * "vestal-agent":
 * "host=web-1;version=0.1.0;rate=19;cpu=0.004;memory=31457280;samples=118;dropped=0". Kept only in
 * memory, because running agents send it again within seconds.
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
/* Records it, at this monotonic time; ignores invalid headers. Above the limit, the tenant with most
 * agents loses its oldest one. */
void agents_saw(struct agents *a, struct str tenant, struct str header, int64_t steady_ns);
/* Calls `each` for the agents of a tenant that sent data in the last day, sorted by host. Times are
 * converted to the current wall clock. */
void agents_list(struct agents *a, struct str tenant, int64_t wall_ns, int64_t steady_ns,
		 void (*each)(void *context, const struct agent_facts *f), void *context);
