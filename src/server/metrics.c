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

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP vestal_%s %s\n# TYPE vestal_%s %s\n", name, help, name, type);
}

void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 uint64_t value)
{
	head(out, name, type, help);
	buf_printf(out, "vestal_%s %llu\n", name, (unsigned long long)value);
}

static void seconds(struct buf *out, const char *name, const char *type, const char *help,
		    double value)
{
	head(out, name, type, help);
	buf_printf(out, "vestal_%s %.9g\n", name, value);
}

static void print_histogram(struct buf *out, const char *name, const char *help,
			    struct histogram *h)
{
	uint64_t sum = 0;

	head(out, name, "histogram", help);
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

static void print_failures(struct metrics *m, struct buf *out)
{
	head(out, "requests_failed_total", "counter", "Requests that failed, by reason.");
	for (int e = 1; e < ERR_COUNT_; e++) {
		uint64_t n = atomic_load(&m->failures[e]);

		if (n)
			buf_printf(out, "vestal_requests_failed_total{reason=\"%s\"} %llu\n",
				   err_label((enum err)e), (unsigned long long)n);
	}
}

static void print_ingest(struct metrics *m, struct buf *out)
{
	metrics_one(out, "uploads_total", "counter", "Requests whose profiles or spans are stored.",
		    atomic_load(&m->uploads));
	metrics_one(out, "profiles_total", "counter", "Profiles stored.",
		    atomic_load(&m->profiles));
	metrics_one(out, "samples_total", "counter", "Samples stored.", atomic_load(&m->samples));
	metrics_one(out, "spans_total", "counter", "Spans of traces stored.",
		    atomic_load(&m->spans));
	metrics_one(out, "rejected_parts_total", "counter",
		    "Profiles or spans rejected out of requests that were taken.",
		    atomic_load(&m->rejected_parts));
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
	metrics_one(out, "received_bytes_total", "counter", "Bytes of bodies as sent.",
		    atomic_load(&m->bytes_received));
	metrics_one(out, "inflated_bytes_total", "counter", "Bytes of bodies after decompression.",
		    atomic_load(&m->bytes_inflated));
	print_histogram(out, "ack_seconds", "From the whole request to durable.", &m->ack);
	print_histogram(out, "commit_wait_seconds",
			"From decoded to durable: the queue, compaction's turn, and the disk.",
			&m->commit_wait);
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
	seconds(out, "store_compaction_lag_seconds", "gauge",
		"Age of the oldest chunk due for compaction.",
		(double)s->compaction_lag_ns / NS_PER_S);
	metrics_one(out, "store_connections", "gauge", "Connections to files, open.",
		    s->connections);
	metrics_one(out, "store_lock_steps", "gauge",
		    "The longest loop since the start that held up everybody's requests.",
		    s->lock_steps);
	metrics_one(out, "store_full", "gauge", "1 while the disk is full and writes are refused.",
		    s->full);
	metrics_one(out, "store_upkeep_fails", "gauge",
		    "1 while compaction or retention fails; status has the reason.",
		    s->upkeep.error != ERR_OK);
	metrics_one(out, "store_upkeep_failures_total", "counter",
		    "Rounds of compaction and retention that failed.", s->upkeep.failures);
	head(out, "store_refused_total", "counter", "Profiles the store refused, by reason.");
	for (int e = 1; e < ERR_COUNT_; e++)
		if (s->refused[e])
			buf_printf(out, "vestal_store_refused_total{reason=\"%s\"} %llu\n",
				   err_label((enum err)e), (unsigned long long)s->refused[e]);
}

static void by_tenant(struct buf *out, const char *name, struct str tenant, uint64_t value)
{
	buf_printf(out, "vestal_%s{tenant=\"%.*s\"} %llu\n", name, (int)tenant.n, tenant.p,
		   (unsigned long long)value);
}

static void print_tenants(struct server *s, struct str only, struct buf *out)
{
	CLEANUP(buf_release) struct buf dictionaries = BUF_INIT(SIZE_MAX);
	struct text_answer tenants = {0};
	struct store_stats stats = {0};

	if (store_tenants(s->store, &tenants) != ERR_OK)
		return;
	head(out, "store_bytes", "gauge", "Disk space, by tenant.");
	for (size_t i = 0; i < tenants.n; i++) {
		if ((only.n && !str_eq(only, tenants.v[i])) ||
		    store_stats(s->store, tenants.v[i], &stats) != ERR_OK)
			continue;
		by_tenant(out, "store_bytes", tenants.v[i], stats.disk_bytes);
		by_tenant(&dictionaries, "store_dictionary_bytes", tenants.v[i],
			  stats.dictionary_bytes);
	}
	head(out, "store_dictionary_bytes", "gauge", "Names and stacks in memory, by tenant.");
	buf_str(out, buf_view(&dictionaries));
	arena_release(&tenants.arena);
	/* What is of the whole store stands in the answer about any tenant. */
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
	metrics_one(out, "in_flight_bytes", "gauge", "Bytes of bodies being received or decoded.",
		    atomic_load(&s->in_flight));
}

void metrics_print(struct server *s, struct str tenant, struct buf *out)
{
	print_ingest(&s->metrics, out);
	print_failures(&s->metrics, out);
	metrics_one(out, "questions_total", "counter", "Questions asked.",
		    atomic_load(&s->metrics.questions));
	metrics_one(out, "questions_cancelled_total", "counter",
		    "Questions nobody waited for any more.",
		    atomic_load(&s->metrics.questions_cancelled));
	metrics_one(out, "questions_waiting", "gauge", "Questions in the queue.",
		    workers_waiting(s->workers));
	print_histogram(out, "question_seconds", "Time to answer a question.",
			&s->metrics.question);
	print_http(s, out);
	print_tenants(s, tenant, out);
	mutex_lock(&s->scraper_lock);
	scraper_print_metrics(s->scraper, tenant, out);
	mutex_unlock(&s->scraper_lock);
	self_profile_print_metrics(s->self_profile, out);
	seconds(out, "cpu_seconds_total", "counter", "CPU time of this process.",
		(double)clock_process_cpu_ns() / NS_PER_S);
	seconds(out, "uptime_seconds", "gauge", "Since the start.",
		(double)(clock_monotonic_ns() - s->started_ns) / NS_PER_S);
}
