/*
 * Scrape status, for /metrics and /api/v1/status.
 */
#include "server/scrape_task.h"

/* A label's value as Prometheus reads it. */
static void put_value(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			buf_byte(out, '\\');
		if (*text == '\n')
			buf_text(out, "\\n");
		else
			buf_byte(out, (unsigned char)*text);
	}
}

static void put_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP vestal_%s %s\n# TYPE vestal_%s %s\n", name, help, name, type);
}

static uint64_t scrapes_of(const struct scrape_seen *seen)
{
	return seen->scrapes;
}

static uint64_t failures_of(const struct scrape_seen *seen)
{
	return seen->failures;
}

static uint64_t resets_of(const struct scrape_seen *seen)
{
	return seen->resets;
}

static bool is_of(const struct scrape_job *job, struct str tenant)
{
	return !tenant.n || str_eq(str_of(job->tenant), tenant);
}

/* One line for each job, which is the sum over its targets. */
static void put_sums(const struct scraper *s, struct str tenant, struct buf *out, const char *name,
		     const char *help, uint64_t (*of)(const struct scrape_seen *seen))
{
	put_head(out, name, "counter", help);
	for (size_t i = 0; i < s->task_count;) {
		const struct scrape_job *job = s->tasks[i].job;
		uint64_t sum = 0;

		for (; i < s->task_count && s->tasks[i].job == job; i++)
			sum += of(&s->tasks[i].seen);
		if (!is_of(job, tenant))
			continue;
		buf_printf(out, "vestal_%s{job=\"", name);
		put_value(out, job->name);
		buf_printf(out, "\"} %llu\n", (unsigned long long)sum);
	}
}

static void put_up(const struct scraper *s, struct str tenant, struct buf *out)
{
	put_head(out, "scrape_up", "gauge", "1 when the last scrape of a target's profile worked.");
	for (size_t i = 0; i < s->task_count; i++) {
		const struct scrape_task *t = &s->tasks[i];

		if (t->seen.state == SCRAPE_UNKNOWN || !is_of(t->job, tenant))
			continue;
		buf_text(out, "vestal_scrape_up{job=\"");
		put_value(out, t->job->name);
		buf_text(out, "\",instance=\"");
		put_value(out, t->target);
		buf_printf(out, "\",profile=\"%s\"} %d\n", scrape_kind_name(t->kind),
			   t->seen.state == SCRAPE_UP);
	}
}

void scraper_print_metrics(struct scraper *s, struct str tenant, struct buf *out)
{
	if (!s)
		return;
	mutex_lock(&s->lock);
	put_sums(s, tenant, out, "scrapes_total", "Scrapes, by job.", scrapes_of);
	put_sums(s, tenant, out, "scrape_failures_total", "Scrapes that failed, by job.",
		 failures_of);
	put_sums(s, tenant, out, "scrape_resets_total", "Resets of a target's counters.",
		 resets_of);
	put_up(s, tenant, out);
	mutex_unlock(&s->lock);
}

static void put_task(const struct scrape_task *t, struct jsonout *o)
{
	static const char *const states[] = {"unknown", "up", "down"};

	jsonout_object(o);
	jsonout_put_text(o, "job", t->job->name);
	jsonout_put_text(o, "target", t->target);
	jsonout_put_text(o, "profile", scrape_kind_name(t->kind));
	jsonout_put_text(o, "state", states[t->seen.state]);
	jsonout_put_u64(o, "scrapes", t->seen.scrapes);
	jsonout_put_u64(o, "failures", t->seen.failures);
	jsonout_put_u64(o, "resets", t->seen.resets);
	jsonout_put_i64(o, "last_ns", t->seen.last_ns);
	jsonout_put_i64(o, "took_ns", t->seen.took_ns);
	if (t->seen.state == SCRAPE_DOWN)
		jsonout_put_text(o, "reason", t->seen.reason);
	jsonout_end_object(o);
}

void scraper_put_status(struct scraper *s, struct str tenant, struct jsonout *o)
{
	if (!s)
		return;
	jsonout_key(o, STR("scrape"));
	jsonout_array(o);
	mutex_lock(&s->lock);
	for (size_t i = 0; i < s->task_count; i++)
		if (is_of(s->tasks[i].job, tenant))
			put_task(&s->tasks[i], o);
	mutex_unlock(&s->lock);
	jsonout_end_array(o);
}
