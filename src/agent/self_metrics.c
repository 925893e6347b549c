#include "agent/self_metrics.h"

#include "base/clock.h"
#include "base/host_name.h"
#include "base/thread.h"
#include "net/net.h"

struct self_metrics {
	struct http_server *server;
	struct mutex lock;
	struct self_facts facts;
	struct buf address;
};

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP vestal_agent_%s %s\n# TYPE vestal_agent_%s %s\n", name, help, name,
		   type);
}

static void number(struct buf *out, const char *name, const char *type, const char *help,
		   double value)
{
	head(out, name, type, help);
	buf_printf(out, "vestal_agent_%s %.9g\n", name, value);
}

static void count(struct buf *out, const char *name, const char *help, u64 value)
{
	head(out, name, "counter", help);
	buf_printf(out, "vestal_agent_%s %llu\n", name, (unsigned long long)value);
}

static void put_stacks(const struct self_facts *f, struct buf *out)
{
	static const char *const ends[UNWIND_END_COUNT] = {
		[UNWIND_ROOT] = "root",		[UNWIND_CUT] = "cut",
		[UNWIND_UNMAPPED] = "unmapped", [UNWIND_NO_TABLE] = "no_table",
		[UNWIND_NO_RULE] = "no_rule",	[UNWIND_BAD_MEMORY] = "bad_memory",
		[UNWIND_LOOP] = "loop",
	};

	head(out, "unwind_ends_total", "counter", "How walks of user stacks in the kernel ended.");
	for (size_t i = 0; i < UNWIND_END_COUNT; i++)
		if (ends[i])
			buf_printf(out, "vestal_agent_unwind_ends_total{end=\"%s\"} %llu\n",
				   ends[i], (unsigned long long)f->capture.kernel.ends[i]);
}

static void put_lost(struct buf *out, const char *cause, double samples)
{
	buf_printf(out, "vestal_agent_lost_samples_total{cause=\"%s\"} %.0f\n", cause, samples);
}

/* The words of docs/completeness.md. */
static void put_losses(const struct self_facts *f, struct buf *out)
{
	head(out, "lost_samples_total", "counter", "Lost samples by cause.");
	for (unsigned i = 0; i < LOSS_KERNEL_SIDE_CAUSES; i++)
		put_lost(out, loss_cause_text((enum loss_cause)i), f->lost[i]);
	put_lost(out, "queue full", (double)f->exporter.samples_dropped);
	put_lost(out, "refused by the server", (double)f->exporter.samples_refused);
}

static void put_cost(const struct self_facts *f, struct buf *out)
{
	head(out, "cpu_seconds_total", "counter", "CPU time of the agent, by part.");
	buf_printf(out,
		   "vestal_agent_cpu_seconds_total{where=\"user\"} %.9g\n"
		   "vestal_agent_cpu_seconds_total{where=\"bpf\"} %.9g\n"
		   "vestal_agent_cpu_seconds_total{where=\"interrupt_estimate\"} %.9g\n",
		   (double)f->user_ns / 1e9, (double)f->kernel_ns / 1e9,
		   (double)f->interrupt_ns / 1e9);
	number(out, "cpu_share", "gauge", "CPU time of the agent, as a share of all CPUs.",
	       f->measure.cpu_share);
	number(out, "cpu_budget_share", "gauge", "The same, allowed; 0 = no limit.",
	       f->limits.cpu_share);
	number(out, "reader_cpu_share", "gauge",
	       "The part of cpu_share of its readers of files (unwind tables, symbols).",
	       f->measure.reader_share);
	number(out, "pss_bytes", "gauge",
	       "Proportional set size of all its processes and the kernel's maps, when a window "
	       "ended.",
	       (double)f->pss_bytes);
	number(out, "memory_budget_bytes", "gauge", "Memory allowed; 0 = no limit.",
	       (double)f->limits.memory_bytes);
	number(out, "memory_bytes", "gauge", "Memory of the agent, its workers, and BPF maps.",
	       (double)f->measure.memory_bytes);
	number(out, "host_cpu_share", "gauge", "CPU time of all processes, as a share of all CPUs.",
	       f->measure.host_share);
}

/* Metrics of limited processes. */
static void put_limits(const struct self_facts *f, struct buf *out)
{
	static const char *const fates[WORKER_FATES] = {"answered wrongly", "ended", "stopped",
							"hung", "took too long"};
	const struct capture_stats *c = &f->capture;

	head(out, "workers_replaced_total", "counter",
	     "Readers of files that were replaced, by why.");
	for (unsigned i = 0; i < WORKER_FATES; i++)
		buf_printf(out, "vestal_agent_workers_replaced_total{reason=\"%s\"} %llu\n",
			   fates[i], (unsigned long long)f->workers.replaced[i]);
	count(out, "worker_hosts_replaced_total",
	      "Processes that start readers, and were stopped or killed.", f->workers.zygotes);
	number(out, "limited_processes", "gauge",
	       "Processes that map or change more than is followed: they alone are unwound less "
	       "well.",
	       c->limits.limited);
	count(out, "limited_events_total", "Ignored events of such processes.", c->events_shut);
	count(out, "side_band_stops_total",
	      "Times that a ring of process events was stopped for a second because it filled up.",
	      c->ring_stops);
	count(out, "processes_refused_total",
	      "Processes not followed from their begin because there were too many.",
	      c->limits.refused);
	number(out, "probes_hung", "gauge",
	       "Threads that wait for a file or a process that does not answer.", c->probes_hung);
	count(out, "probes_refused_total",
	      "Requests for files and processes refused because earlier ones hang.",
	      c->probes_refused);
}

void self_metrics_put(const struct self_facts *f, struct buf *out)
{
	const struct capture_stats *c = &f->capture;
	const struct exporter_stats *x = &f->exporter;

	count(out, "samples_total", "Samples of the timer.", c->kernel.samples);
	count(out, "switches_total", "Switches of threads seen.", c->kernel.switches);
	count(out, "waits_kept_total", "Waits whose stack was taken.", c->kernel.waits_kept);
	count(out, "collected_total", "Samples in windows that ended.", f->collected);
	count(out, "dropped_total", "Samples lost because the ring buffer was full.",
	      c->kernel.dropped);
	count(out, "raw_total", "Stacks sent raw by the kernel side.", c->kernel.raw);
	count(out, "raw_walked_total", "Raw stacks walked by the agent.", c->raw_walked);
	count(out, "raw_dropped_total",
	      "Raw stacks there was no room for: samples without callers.", c->raw_dropped);
	count(out, "side_band_lost_total", "Events of processes that the kernel dropped.",
	      c->side_band_lost);
	count(out, "processes_reread_total", "Processes read again after such a loss.", c->reread);
	put_losses(f, out);
	put_stacks(f, out);
	put_cost(f, out);
	number(out, "processes", "gauge", "Processes known.", c->processes);
	number(out, "modules", "gauge", "Files known.", c->modules.live);
	number(out, "modules_idle", "gauge", "Known files that no process maps.", c->modules.idle);
	number(out, "open_files", "gauge", "Descriptors of such files.", c->modules.open);
	count(out, "modules_freed_total", "Files forgotten.", c->modules.freed);
	count(out, "modules_refused_total", "Files not opened because too many were.",
	      c->modules.refused);
	count(out, "workers_lost_total", "Readers of files that ended before they had answered.",
	      f->workers.lost);
	put_limits(f, out);
	number(out, "table_bytes", "gauge", "Unwinding tables.", (double)c->table_bytes);
	number(out, "rate_hz", "gauge", "Current sampling rate per CPU.",
	       f->paused ? 0 : f->rate_hz);
	number(out, "wanted_rate_hz", "gauge", "Configured sampling rate per CPU.", f->wanted_hz);
	number(out, "off_cpu_level", "gauge",
	       "Level of off-CPU time of the processes that switch most; 0 = all waits are "
	       "followed.",
	       f->wait_level);
	number(out, "paused", "gauge", "1 while the load of the host stops sampling.", f->paused);
	count(out, "export_requests_total", "Requests delivered.", x->sent);
	count(out, "export_failures_total", "Requests that failed, before they were tried again.",
	      x->failed);
	count(out, "export_dropped_total", "Requests dropped.", x->dropped);
	count(out, "export_bytes_total", "Bytes delivered.", x->bytes);
	number(out, "export_waiting_bytes", "gauge", "Bytes that wait to be delivered.",
	       (double)x->waiting_bytes);
}

/* Allow Prometheus and local users; refuse web pages, under any host name. */
static bool may(const struct http_exchange *x)
{
	struct str host = host_without_port(x->authority);
	struct str site = http_find(x, STR("sec-fetch-site"));

	return (x->peer_is_local || host_is_address(host) || host_is_localhost(host) ||
		host_is_this_machine(host)) &&
	       !http_find(x, STR("origin")).n &&
	       (!site.n || str_eq(site, STR("none")) || str_eq(site, STR("same-origin")));
}

static void handle(void *context, struct http_exchange *x)
{
	static const struct http_header type[] = {
		{STR("content-type"), STR("text/plain; version=0.0.4; charset=utf-8")}};
	struct self_metrics *m = context;
	struct http_response r = {.status = 200, .headers = type, .header_count = 1};
	struct self_facts facts;

	if (!may(x)) {
		http_reply_text(x, 403, "text/plain", STR("not for pages of other sites\n"));
		return;
	}
	if (!str_eq(x->path, STR("/metrics"))) {
		http_reply_text(x, 404, "text/plain", STR("only /metrics is here\n"));
		return;
	}
	mutex_lock(&m->lock);
	facts = m->facts;
	mutex_unlock(&m->lock);
	r.body = BUF_INIT(1 << 20);
	self_metrics_put(&facts, &r.body);
	http_reply(x, &r);
}

static bool on_this_machine(struct str address)
{
	return str_starts(address, STR("127.")) || str_starts(address, STR("[::1]:")) ||
	       str_starts(address, STR("localhost:")) || str_starts(address, STR("unix:"));
}

enum err self_metrics_new(const char *address, struct self_metrics **ret, struct fault *fault)
{
	struct http_options options = HTTP_OPTIONS_DEFAULT;
	struct http_handlers handlers = {.handle = handle};
	struct self_metrics *m;
	enum err e;

	if (!on_this_machine(str_of(address)))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "metrics are for this machine alone: 127.0.0.1:9464, not %s",
				 address);
	m = mem_zalloc(1, sizeof(*m));
	if (!m)
		return ERR_NO_MEMORY;
	options.loops = 1;
	options.max_body = 4096;
	options.max_connections = 16;
	handlers.context = m;
	m->address = BUF_INIT(4096);
	mutex_init(&m->lock);
	e = http_server_new(&options, &handlers, &m->server, fault);
	if (!e)
		e = http_server_listen(m->server, str_of(address), 0, &m->address, fault);
	if (!e)
		e = http_server_start(m->server, fault);
	if (e) {
		self_metrics_free(m);
		return e;
	}
	*ret = m;
	return ERR_OK;
}

void self_metrics_free(struct self_metrics *m)
{
	if (!m)
		return;
	if (m->server)
		http_server_stop(m->server, clock_monotonic_ns() + NS_PER_S);
	http_server_free(m->server);
	buf_release(&m->address);
	mutex_release(&m->lock);
	mem_free(m);
}

const char *self_metrics_address(const struct self_metrics *m)
{
	return m->address.n ? m->address.data : "";
}

void self_metrics_set(struct self_metrics *m, const struct self_facts *f)
{
	if (!m)
		return;
	mutex_lock(&m->lock);
	m->facts = *f;
	mutex_unlock(&m->lock);
}
