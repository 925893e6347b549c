#include "server/metrics.h"

#include "base/clock.h"
#include "server/scraper.h"
#include "server/self_profile.h"
#include "server/server_internal.h"

#define FIRST_BUCKET_NS (NS_PER_MS / 4)

void histogram_add(struct histogram *h, int64_t ns)
{
	size_t bucket = 0;

	while (bucket < HISTOGRAM_BUCKETS && ns > FIRST_BUCKET_NS << bucket)
		bucket++;
	atomic_fetch_add_explicit(&h->buckets[bucket], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_ns, (uint64_t)(ns > 0 ? ns : 0), memory_order_relaxed);
}

void metrics_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP vestal_%s %s\n# TYPE vestal_%s %s\n", name, help, name, type);
}

void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 uint64_t value)
{
	metrics_head(out, name, type, help);
	buf_printf(out, "vestal_%s %llu\n", name, (unsigned long long)value);
}

void metrics_seconds(struct buf *out, const char *name, const char *type, const char *help,
		     double value)
{
	metrics_head(out, name, type, help);
	buf_printf(out, "vestal_%s %.9g\n", name, value);
}

static void print_histogram(struct buf *out, const char *name, const char *help,
			    struct histogram *h)
{
	uint64_t sum = 0;

	metrics_head(out, name, "histogram", help);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		sum += atomic_load(&h->buckets[i]);
		buf_printf(out, "vestal_%s_bucket{le=\"%g\"} %llu\n", name,
			   (double)(FIRST_BUCKET_NS << i) / NS_PER_S, (unsigned long long)sum);
	}
	sum += atomic_load(&h->buckets[HISTOGRAM_BUCKETS]);
	buf_printf(out, "vestal_%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)sum);
	buf_printf(out, "vestal_%s_sum %.9g\nvestal_%s_count %llu\n", name,
		   (double)atomic_load(&h->sum_ns) / NS_PER_S, name, (unsigned long long)sum);
}

static void print_failures(const uint64_t failures[ERR_COUNT_], struct buf *out)
{
	metrics_head(out, "requests_failed_total", "counter", "Requests that failed, by reason.");
	for (int e = 1; e < ERR_COUNT_; e++)
		if (failures[e])
			buf_printf(out, "vestal_requests_failed_total{reason=\"%s\"} %llu\n",
				   err_label((enum err)e), (unsigned long long)failures[e]);
}

/* Under the same names for a tenant, whose own these are, and for the server. */
static void print_stored(const struct tenant_numbers *n, struct buf *out)
{
	metrics_one(out, "uploads_total", "counter", "Requests whose profiles or spans are stored.",
		    n->uploads);
	metrics_one(out, "profiles_total", "counter", "Profiles stored.", n->profiles);
	metrics_one(out, "samples_total", "counter", "Samples stored.", n->samples);
	metrics_one(out, "spans_total", "counter", "Spans of traces stored.", n->spans);
	metrics_one(out, "rejected_parts_total", "counter",
		    "Profiles or spans rejected out of requests that were taken.",
		    n->rejected_parts);
	metrics_one(out, "received_bytes_total", "counter", "Bytes of bodies as sent.",
		    n->received_bytes);
	print_failures(n->failures, out);
}

static void print_ingest(struct metrics *m, struct buf *out)
{
	struct tenant_numbers all = {.uploads = atomic_load(&m->uploads),
				     .profiles = atomic_load(&m->profiles),
				     .samples = atomic_load(&m->samples),
				     .spans = atomic_load(&m->spans),
				     .rejected_parts = atomic_load(&m->rejected_parts),
				     .received_bytes = atomic_load(&m->bytes_received)};

	for (int e = 1; e < ERR_COUNT_; e++)
		all.failures[e] = atomic_load(&m->failures[e]);
	print_stored(&all, out);
	metrics_one(out, "derived_profiles_total", "counter",
		    "Profiles whose CPU time was computed from counts and their period.",
		    atomic_load(&m->derived_profiles));
	metrics_one(out, "dropped_rows_total", "counter",
		    "Rows of stored profiles left out because a value is negative.",
		    atomic_load(&m->dropped_rows));
	metrics_one(out, "dropped_columns_total", "counter",
		    "Columns of stored profiles left out because another has their type.",
		    atomic_load(&m->dropped_columns));
	metrics_one(out, "clamped_values_total", "counter",
		    "Values that did not fit the unit they are stored in.",
		    atomic_load(&m->clamped_values));
	metrics_one(out, "inflated_bytes_total", "counter", "Bytes of bodies after decompression.",
		    atomic_load(&m->bytes_inflated));
	print_histogram(out, "ack_seconds", "From the whole request to durable.", &m->ack);
	print_histogram(out, "commit_wait_seconds",
			"Time from decoded to durable: queue, wait for compaction, disk.",
			&m->commit_wait);
}

static void by_tenant(struct buf *out, const char *name, struct str tenant, uint64_t value)
{
	buf_printf(out, "vestal_%s{tenant=\"%.*s\"} %llu\n", name, (int)tenant.n, tenant.p,
		   (unsigned long long)value);
}

static void print_store(const struct store_stats *s, struct buf *out)
{
	metrics_one(out, "store_commits_total", "counter", "Group commits.", s->commits);
	metrics_one(out, "store_queued_batches", "gauge", "Batches waiting for their commit.",
		    s->queued_batches);
	metrics_one(out, "store_fresh_chunks", "gauge", "Chunks not yet compacted.",
		    s->fresh_chunks);
	metrics_one(out, "store_blocks", "gauge", "Blocks.", s->blocks);
	metrics_one(out, "store_rollups", "gauge", "Roll-ups.", s->rollups);
	metrics_seconds(out, "store_compaction_lag_seconds", "gauge",
			"Age of the oldest chunk due for compaction.",
			(double)s->compaction_lag_ns / NS_PER_S);
	metrics_one(out, "store_connections", "gauge", "Connections to files, open.",
		    s->connections);
	metrics_one(out, "store_lock_steps", "gauge",
		    "The longest loop since the start that held up everybody's requests.",
		    s->lock_steps);
	metrics_one(out, "store_full", "gauge",
		    "1 while the disk accepts no writes and uploads are refused.", s->full);
	metrics_one(out, "store_upkeep_fails", "gauge",
		    "1 while compaction or retention fails; status has the reason.",
		    s->upkeep.error != ERR_OK);
	metrics_one(out, "store_upkeep_failures_total", "counter",
		    "Rounds of compaction and retention that failed.", s->upkeep.failures);
	metrics_head(out, "store_refused_total", "counter",
		     "Profiles the store refused, by reason.");
	for (int e = 1; e < ERR_COUNT_; e++)
		if (s->refused[e])
			buf_printf(out, "vestal_store_refused_total{reason=\"%s\"} %llu\n",
				   err_label((enum err)e), (unsigned long long)s->refused[e]);
}

static void print_tenants(struct server *s, struct buf *out)
{
	struct store_stats stats = {0};

	metrics_print_kept(s, (struct str){0}, out);
	/* The statistics of any tenant include those of the whole store. */
	if (store_stats(s->store, STR("anonymous"), &stats) == ERR_OK)
		print_store(&stats, out);
}

static void print_http(struct server *s, struct buf *out)
{
	struct http_counters c = http_server_counters(s->http);

	metrics_one(out, "http_connections_total", "counter", "Connections accepted.",
		    c.connections_total);
	metrics_one(out, "http_connections", "gauge", "Connections open.", c.connections_open);
	metrics_one(out, "http_requests_total", "counter", "Requests.", c.requests_total);
	metrics_one(out, "http_refused_total", "counter", "Connections refused at the limit.",
		    c.refused_total);
	metrics_one(out, "http_timeouts_total", "counter", "Connections ended because too slow.",
		    c.timeouts_total);
	metrics_one(out, "http_protocol_errors_total", "counter", "Requests that were no HTTP.",
		    c.protocol_errors_total);
	metrics_one(out, "http_evicted_total", "counter",
		    "Connections without a request closed for new ones, at the limit.",
		    c.evicted_total);
	metrics_one(out, "http_connections_limit", "gauge", "Connections there may be.",
		    s->options.http.max_connections);
	metrics_one(out, "http_slow_bodies_total", "counter",
		    "Bodies refused (408) because they came too slowly.", c.slow_bodies_total);
	metrics_one(out, "http_slow_readers_total", "counter",
		    "Clients disconnected because they did not read their reply.",
		    c.slow_readers_total);
	metrics_seconds(out, "http_longest_turn_seconds", "gauge",
			"Longest event-loop iteration since the start.",
			(double)c.longest_turn_ns / NS_PER_S);
}

/* ------------------------------------------------------------------ memory */

static void print_memory(struct server *s, struct buf *out)
{
	struct memory_budget_figures f = {0};

	if (s->memory)
		f = memory_budget_look(s->memory);
	metrics_one(out, "in_flight_bytes", "gauge",
		    "Bytes of bodies that have arrived and are not stored yet.",
		    f.all.by_use[MEMORY_RECEIVED]);
	metrics_one(out, "memory_limit_bytes", "gauge", "The memory budget (--memory-limit).",
		    f.limit);
	metrics_one(out, "memory_used_bytes", "gauge",
		    "Memory charged to requests, caches and connections.", f.all.used);
	metrics_one(out, "memory_peak_bytes", "gauge", "The most they held so far.", f.all.peak);
	metrics_one(out, "memory_other_bytes", "gauge",
		    "Memory of the process beyond that, which counts against the budget as well.",
		    f.measured);
	metrics_one(out, "memory_refused_total", "counter",
		    "Times that the budget had no room for a request.", f.all.refused);
	metrics_one(out, "memory_waited_total", "counter",
		    "Times that a request waited for memory.", f.waited);
	metrics_one(out, "memory_shrunk_bytes_total", "counter", "Memory freed by caches.",
		    f.shrunk);
	metrics_head(out, "memory_charged_bytes", "gauge", "Of the budget, by use.");
	for (int use = 0; use < MEMORY_USES_; use++)
		buf_printf(out, "vestal_memory_charged_bytes{use=\"%s\"} %zu\n",
			   memory_use_name((enum memory_use)use), f.all.by_use[use]);
}

/* ------------------------------------------------------------------ tenants' shares */

struct shares {
	struct buf *out;
	struct str only; /* empty: all */
	const char *name;
	enum { SHARE_CPU, SHARE_REFUSED } what;
};

static void print_memory_of(void *context, struct str tenant, struct memory_figures f)
{
	struct shares *s = context;

	/* "(connections)" is not a tenant. */
	if (tenant_valid(tenant) && (!s->only.n || str_eq(s->only, tenant)))
		by_tenant(s->out, s->name, tenant, s->what == SHARE_REFUSED ? f.refused : f.used);
}

static void print_lane_of(void *context, const struct fair_figures *f)
{
	struct shares *s = context;

	if (s->only.n && !str_eq(s->only, f->tenant))
		return;
	if (s->what == SHARE_REFUSED)
		by_tenant(s->out, s->name, f->tenant, f->refused);
	else
		buf_printf(s->out, "vestal_%s{tenant=\"%.*s\"} %.9g\n", s->name, (int)f->tenant.n,
			   f->tenant.p, (double)f->cpu_ns / NS_PER_S);
}

/* For tenants with recent requests. */
static void print_shares(struct server *s, struct str only, struct buf *out)
{
	struct shares shares = {.out = out, .only = only};

	if (s->memory) {
		shares.name = "tenant_memory_bytes";
		metrics_head(out, shares.name, "gauge", "Of the memory budget, by tenant.");
		memory_budget_each(s->memory, print_memory_of, &shares);
		shares.name = "tenant_memory_refused_total";
		shares.what = SHARE_REFUSED;
		metrics_head(out, shares.name, "counter",
			     "Times that the budget had no room for a request, by tenant.");
		memory_budget_each(s->memory, print_memory_of, &shares);
	}
	shares.name = "tenant_query_seconds_total";
	shares.what = SHARE_CPU;
	metrics_head(out, shares.name, "counter", "CPU time of queries, by tenant.");
	workers_each(s->workers, LANE_QUERIES, print_lane_of, &shares);
	shares.name = "tenant_upload_seconds_total";
	metrics_head(out, shares.name, "counter", "CPU time of decoding uploads, by tenant.");
	workers_each(s->workers, LANE_UPLOADS, print_lane_of, &shares);
	shares.name = "tenant_queries_refused_total";
	shares.what = SHARE_REFUSED;
	metrics_head(out, shares.name, "counter",
		     "Queries refused because too many of the tenant were waiting.");
	workers_each(s->workers, LANE_QUERIES, print_lane_of, &shares);
}

static void print_scrapes(struct server *s, struct str tenant, struct buf *out)
{
	mutex_lock(&s->scraper_lock);
	scraper_print_metrics(s->scraper, tenant, out);
	mutex_unlock(&s->scraper_lock);
}

static void print_server(struct server *s, struct buf *out)
{
	print_ingest(&s->metrics, out);
	metrics_one(out, "questions_total", "counter", "Queries.",
		    atomic_load(&s->metrics.questions));
	metrics_one(out, "questions_cancelled_total", "counter",
		    "Queries whose client disconnected.",
		    atomic_load(&s->metrics.questions_cancelled));
	metrics_one(out, "queries_timed_out_total", "counter",
		    "Queries that were not answered within --query-timeout.",
		    atomic_load(&s->metrics.queries_late));
	metrics_one(out, "questions_waiting", "gauge", "Queries in the queue.",
		    workers_waiting(s->workers, LANE_QUERIES));
	metrics_one(out, "uploads_waiting", "gauge", "Uploads that wait to be decoded.",
		    workers_waiting(s->workers, LANE_UPLOADS));
	print_histogram(out, "question_seconds", "Duration of queries.", &s->metrics.question);
	print_http(s, out);
	print_memory(s, out);
	print_shares(s, (struct str){0}, out);
	print_tenants(s, out);
	print_scrapes(s, (struct str){0}, out);
	self_profile_print_metrics(s->self_profile, out);
	metrics_seconds(out, "cpu_seconds_total", "counter", "CPU time of this process.",
			(double)clock_process_cpu_ns() / NS_PER_S);
	metrics_seconds(out, "uptime_seconds", "gauge", "Since the start.",
			(double)(clock_monotonic_ns() - s->started_ns) / NS_PER_S);
}

void metrics_print(struct server *s, struct str tenant, struct buf *out)
{
	struct tenant_numbers own;

	if (!tenant.n) {
		print_server(s, out);
		return;
	}
	tenant_counts_get(s->counts, tenant, &own);
	print_stored(&own, out);
	metrics_print_kept(s, tenant, out);
	print_shares(s, tenant, out);
	print_scrapes(s, tenant, out);
}
