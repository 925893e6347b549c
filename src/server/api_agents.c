/*
 * /api/v1/agents: who sends here, and what it costs there.
 */
#include "base/clock.h"
#include "server/agents.h"
#include "server/api.h"

static void put_agent(void *context, const struct agent_facts *f)
{
	struct jsonout *o = context;

	jsonout_object(o);
	jsonout_put_text(o, "host", f->host);
	jsonout_put_text(o, "version", f->version);
	jsonout_put_i64(o, "last_seen_ms", f->last_seen_ns / NS_PER_MS);
	jsonout_put_double(o, "rate_hz", f->rate_hz);
	jsonout_put_double(o, "cpu_share", f->cpu_share);
	jsonout_put_double(o, "rss_bytes", f->memory_bytes);
	jsonout_put_double(o, "samples_per_s", f->samples_per_s);
	jsonout_put_double(o, "dropped", f->dropped);
	jsonout_end_object(o);
}

static enum err answer_agents(struct inquiry *q, struct jsonout *o)
{
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.agents/1");
	jsonout_put_array(o, "agents");
	agents_list(q->request->server->agents, q->request->tenant, clock_wall_ns(),
		    clock_monotonic_ns(), put_agent, o);
	jsonout_end_array(o);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_agents(struct request *r)
{
	api_answer(r, answer_agents);
}
