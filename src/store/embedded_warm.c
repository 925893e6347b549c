/*
 * After a start the keeper reads once what the overview of the last hour needs of tenants with many
 * services: the index of the day, the order of its labels, its rows of services, and totals
 * (embedded_totals.c). The first query finds them in memory.
 */
#include "base/clock.h"
#include "store/answer_services.h"
#include "store/embedded_index.h"
#include "store/upkeep.h"

/* Fewer services take a few milliseconds. */
#define MANY_SERVICES 500

static enum err ignore_service(void *context, struct str service,
			       const struct series_answer *answers)
{
	(void)context;
	(void)service;
	(void)answers;
	return ERR_OK;
}

static bool has_many(struct day *d)
{
	struct fault ignored = {0};
	size_t n;

	if (day_look_into(d, &ignored) != ERR_OK)
		return false;
	engine_lock(d->engine);
	n = d->services.n;
	engine_unlock(d->engine);
	return n >= MANY_SERVICES;
}

/* Profiles that end in the next minutes are included: other clocks may be ahead. */
static struct services_question last_hour(int64_t now_ns)
{
	return (struct services_question){
		.ranges = {{now_ns - NS_PER_HOUR, now_ns + WINDOW_NS},
			   {now_ns - 2 * NS_PER_HOUR, now_ns - NS_PER_HOUR}},
		.range_count = 2,
		.step_ns = 60 * NS_PER_S,
		.totals_only = true,
	};
}

/* For lists of label values. */
static void order_labels(struct day *d)
{
	struct fault ignored = {0};
	struct day_index *x;

	if (index_get(d, &x, &ignored) != ERR_OK)
		return;
	/* A query that needs the order makes it if this fails. */
	(void)!series_index_order(&x->table);
	index_put(x);
}

static void warm_tenant(struct tenant *t, int64_t now_ns)
{
	struct services_question what = last_hour(now_ns);
	struct selection all = {.from_ns = what.ranges[1].from_ns,
				.until_ns = what.ranges[0].until_ns};
	struct services_answer answer = {0};
	struct fault ignored = {0};
	struct ask ask = {.fault = &ignored, .cancelled = &t->engine->keeper_ends};
	struct day_list days = {0};
	bool many = false;

	if (days_of_range(t, DAY_PROFILES, all.from_ns, all.until_ns, &days, &ignored) != ERR_OK)
		return;
	vec_for_each (d, &days.v)
		many |= has_many(*d);
	/* What cannot be read now is read by the query, which reports it. */
	if (many && answer_services(&t->engine->base.source, str_of(t->name), &all, &what, &ask,
				    ignore_service, NULL, &answer) == ERR_OK)
		arena_release(&answer.arena);
	vec_for_each (d, &days.v)
		if (many && !atomic_load(&t->engine->keeper_ends))
			order_labels(*d);
	day_list_put(&days);
}

void totals_warm(struct embedded *e)
{
	int64_t now = upkeep_now(e);
	struct tenant *t;

	for (size_t i = 0; !atomic_load(&e->keeper_ends) && (t = tenant_at(e, i)); i++)
		warm_tenant(t, now);
}
