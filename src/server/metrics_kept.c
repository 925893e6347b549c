/* Metrics of stored and deleted data per tenant, and of disk and clock. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "server/metrics.h"
#include "server/server_internal.h"

struct tenant_stats {
	struct str tenant;
	struct store_stats stats;
};

struct all_stats {
	struct text_answer tenants;
	struct tenant_stats *v;
	size_t n;
};

static void by_tenant(struct buf *out, const char *name, struct str tenant, uint64_t value)
{
	buf_printf(out, "vestal_%s{tenant=\"%.*s\"} %llu\n", name, (int)tenant.n, tenant.p,
		   (unsigned long long)value);
}

static void print_deleted(const struct all_stats *all, struct buf *out)
{
	metrics_head(out, "store_deleted_bytes_total", "counter",
		     "Disk space given back by deletions, by tenant and reason.");
	for (size_t i = 0; i < all->n; i++)
		for (unsigned why = 0; why < STORE_DELETED_WHYS_; why++)
			if (all->v[i].stats.deleted[why].times)
				buf_printf(out,
					   "vestal_store_deleted_bytes_total{tenant=\"%.*s\","
					   "reason=\"%s\"} %llu\n",
					   (int)all->v[i].tenant.n, all->v[i].tenant.p,
					   store_deleted_text((enum store_deleted_why)why),
					   (unsigned long long)all->v[i].stats.deleted[why].bytes);
}

static void print_sizes(const struct all_stats *all, struct buf *out)
{
	metrics_head(out, "store_bytes", "gauge", "Disk space, by tenant.");
	for (size_t i = 0; i < all->n; i++)
		by_tenant(out, "store_bytes", all->v[i].tenant, all->v[i].stats.disk_bytes);
	metrics_head(out, "store_max_bytes", "gauge",
		     "Limit of the disk space, by tenant: its own or its fair share.");
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].stats.max_size)
			by_tenant(out, "store_max_bytes", all->v[i].tenant,
				  all->v[i].stats.max_size);
	metrics_head(out, "store_dictionary_bytes", "gauge",
		     "Names and stacks in memory, by tenant.");
	for (size_t i = 0; i < all->n; i++)
		by_tenant(out, "store_dictionary_bytes", all->v[i].tenant,
			  all->v[i].stats.dictionary_bytes);
}

static void print_state(struct server *s, bool operator, struct buf * out)
{
	struct store_state state;

	store_state(s->store, &state);
	metrics_head(out, "store_read_only", "gauge",
		     "1 while writes are refused for this reason.");
	for (unsigned i = 1; i < STORE_DISK_STATES_; i++)
		buf_printf(out, "vestal_store_read_only{reason=\"%s\"} %d\n",
			   store_disk_text((enum store_disk_state)i) + strlen("read-only: "),
			   state.disk.state == i);
	if (operator) {
		metrics_one(out, "store_free_bytes", "gauge",
			    "Free on the file system of the store.", state.disk.free_bytes);
		metrics_one(out, "store_reserve_bytes", "gauge", "Held for deletes on a full disk.",
			    state.disk.reserve_bytes);
	}
	metrics_one(out, "retention_suspended", "gauge",
		    "1 while the clock is not trusted and nothing is deleted for its age.",
		    state.clock.trust != STORE_CLOCK_TRUSTED);
	metrics_seconds(out, "clock_off_by_seconds", "gauge",
			"How far the wall clock is from measured time, while it is not trusted.",
			(double)state.clock.off_by_ns / NS_PER_S);
	metrics_seconds(out, "retention_uncounted_seconds", "gauge",
			"Time in which the machine was off, which does not age data.",
			(double)state.clock.uncounted_ns / NS_PER_S);
}

static void collect(struct server *s, struct str only, struct all_stats *all)
{
	if (store_tenants(s->store, &all->tenants) != ERR_OK)
		return;
	all->v = mem_zalloc(all->tenants.n + 1, sizeof(*all->v));
	for (size_t i = 0; all->v && i < all->tenants.n; i++) {
		all->v[all->n].tenant = all->tenants.v[i];
		if ((!only.n || str_eq(only, all->tenants.v[i])) &&
		    store_stats(s->store, all->tenants.v[i], &all->v[all->n].stats) == ERR_OK)
			all->n++;
	}
}

void metrics_print_kept(struct server *s, struct str only, struct buf *out)
{
	struct all_stats all = {0};

	collect(s, only, &all);
	print_sizes(&all, out);
	print_deleted(&all, out);
	print_state(s, !only.n, out);
	mem_free(all.v);
	arena_release(&all.tenants.arena);
}
