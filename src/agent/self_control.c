#include "agent/self_control.h"

#include <stdio.h>

#include "agent/prober.h"
#include "agent/worker_host.h"
#include "agent/worker_pace.h"
#include "base/clock.h"
#include "base/log.h"

static int64_t interval(const struct self_control *s)
{
	return (int64_t)(budget_interval(&s->state) * (double)NS_PER_S);
}

/* Of what readers may take, while tables are missing; stacks wait for those, and are large. */
#define TABLES_PART 0.7
#define NAMES_PART  0.8

/* Of a CPU: what reading /proc may take. Samples wait for it, so it does not depend on the credit
 * of the readers of files. */
#define PROBES_MOST 0.01
#define OWN_EVERY   (NS_PER_S / 4)

/* CPUs used by the agent's own threads recently. */
static double own_share(struct self_control *s)
{
	int64_t now = clock_monotonic_ns(), since = now - s->own.time, ns;

	if (since >= OWN_EVERY) {
		ns = clock_process_cpu_ns();
		s->own.before = s->own.share;
		s->own.share = (double)(ns - s->own.ns) / (double)since;
		s->own.ns = ns;
		s->own.time = now;
	}
	return s->own.share > s->own.before ? s->own.share : s->own.before;
}

static void set_pace(struct self_control *s)
{
	double pace = budget_reader_pace(&s->state, &s->options.limits, s->meter.processors,
					 own_share(s)) *
		      (double)NS_PER_S;
	bool tables = modules_pending(capture_modules(s->capture));

	prober_set_pace(capture_prober(s->capture),
			s->options.limits.cpu_share > 0 ? (u64)(PROBES_MOST * NS_PER_S) : 0);

	worker_pace_set(WORKER_TABLES, (u64)(TABLES_PART * pace));
	worker_pace_set(WORKER_NAMES, (u64)((tables ? 1 - TABLES_PART : NAMES_PART) * pace));
}

void self_control_hurry(struct self_control *s)
{
	prober_set_pace(capture_prober(s->capture), 0);
	worker_pace_set(WORKER_TABLES, 0);
	worker_pace_set(WORKER_NAMES, 0);
}

enum err self_control_open(struct self_control *s, const struct self_options *o, struct capture *c,
			   u32 rate_hz, struct fault *fault)
{
	*s = (struct self_control){.options = *o,
				   .capture = c,
				   .state = budget_begin(rate_hz),
				   .next = clock_monotonic_ns() + NS_PER_S};
	self_meter_open(&s->meter, c);
	set_pace(s);
	if (!o->metrics)
		return ERR_OK;
	TRY(self_metrics_new(o->metrics, &s->metrics, fault));
	log_info("metrics", log_text("address", self_metrics_address(s->metrics)));
	return ERR_OK;
}

void self_control_close(struct self_control *s)
{
	self_metrics_free(s->metrics);
}

bool self_control_due(struct self_control *s, struct exporter *x)
{
	int64_t now = clock_monotonic_ns();
	struct exporter_stats sent;

	set_pace(s);
	if (now < s->next)
		return false;
	s->next = now + interval(s);
	self_meter_read(&s->meter, &s->measure);
	s->used += s->measure.cpu_share * s->measure.seconds;
	s->length += s->measure.seconds;
	exporter_stats(x, &sent);
	self_control_tell(s, &sent, 0);
	s->decided = budget_step(s->state, &s->options.limits, &s->measure);
	if (s->decided.paused == s->state.paused && s->decided.level == s->state.level &&
	    s->decided.wait_level == s->state.wait_level && !s->decided.trim) {
		s->state = s->decided;
		return false;
	}
	return true;
}

static void say_waits(const struct self_control *s)
{
	unsigned now = s->decided.wait_level, before = s->state.wait_level;

	/* On a busy machine levels come and go every few seconds; each profile has its own. */
	LOG_AT(before ? LEVEL_DEBUG : LEVEL_WARN,
	       now > before ? "off-CPU time costs too much" : "off-CPU time may cost more again",
	       log_u64("level", now), log_text("reason", budget_reason_text(BUDGET_CPU)),
	       log_f64("cpu_share", s->measure.cpu_share),
	       log_f64("wait_part", s->measure.wait_part));
}

static void say_change(const struct self_control *s)
{
	const struct budget_state *d = &s->decided;

	if (d->paused != s->state.paused)
		log_warn(d->paused ? "sampling pauses" : "sampling resumed",
			 log_f64("host_cpu_share", s->measure.host_share));
	if (d->level != s->state.level)
		log_warn(d->level > s->state.level ? "rate lowered" : "rate raised",
			 log_u64("rate_hz", budget_rate(d)), log_u64("wanted_hz", d->wanted_hz),
			 log_text("reason", budget_reason_text(d->reason)),
			 log_f64("cpu_share", s->measure.cpu_share),
			 log_u64("memory_bytes", s->measure.memory_bytes));
	if (d->wait_level != s->state.wait_level)
		say_waits(s);
	if (d->trim)
		log_info("memory is given back", log_u64("memory_bytes", s->measure.memory_bytes));
}

enum err self_control_apply(struct self_control *s, struct window *w)
{
	struct kernel_side *k = capture_kernel(s->capture);
	u64 period = (u64)NS_PER_S / budget_rate(&s->decided);

	say_change(s);
	if (s->decided.paused && !s->state.paused)
		kernel_pause(k);
	if (!s->decided.paused && s->state.paused)
		TRY(kernel_resume(k, NULL));
	if (s->decided.level != s->state.level)
		TRY(kernel_set_period(k, period));
	if (s->decided.wait_level != s->state.wait_level)
		capture_want_wait_level(s->capture, s->decided.wait_level);
	w->period_ns = period;
	w->wanted_hz = s->decided.level ? s->decided.wanted_hz : 0;
	w->limited_by = budget_reason_text(s->decided.reason);
	s->state = s->decided;
	return ERR_OK;
}

enum err self_control_set_rate(struct self_control *s, u32 rate_hz, struct window *w)
{
	bool paused = s->state.paused;
	unsigned wait_level = s->state.wait_level;

	s->state = budget_begin(rate_hz);
	s->state.paused = paused;
	s->state.wait_level = wait_level;
	w->period_ns = (u64)NS_PER_S / rate_hz;
	w->wanted_hz = 0;
	return kernel_set_period(capture_kernel(s->capture), w->period_ns);
}

void self_control_end_window(struct self_control *s, struct window *w)
{
	w->cpu_share = s->length > 0 ? s->used / s->length : s->measure.cpu_share;
	w->cpu_budget = s->options.limits.cpu_share;
	s->used = s->length = 0;
	s->pss_bytes = self_meter_pss(&s->meter);
}

void self_control_tell(struct self_control *s, const struct exporter_stats *x, u64 samples)
{
	struct self_facts f = {.exporter = *x,
			       .measure = s->measure,
			       .limits = s->options.limits,
			       .pss_bytes = s->pss_bytes,
			       .user_ns = self_meter_user_ns(),
			       .kernel_ns = kernel_run_time_ns(capture_kernel(s->capture)),
			       .interrupt_ns = s->meter.interrupt_ns,
			       .rate_hz = budget_rate(&s->state),
			       .wanted_hz = s->state.wanted_hz,
			       .wait_level = capture_wait_levels(s->capture)->level,
			       .paused = s->state.paused,
			       .reason = s->state.reason};

	worker_usage(&f.workers);
	s->collected += samples;
	f.collected = s->collected;
	if (!s->metrics)
		return;
	capture_stats(s->capture, &f.capture);
	memcpy(f.lost, capture_lost(s->capture), sizeof(f.lost));
	self_metrics_set(s->metrics, &f);
}

void self_control_describe(const struct self_control *s, const struct window *w, u64 samples,
			   char *ret)
{
	struct capture_stats stats;
	double seconds = (double)w->duration_ns / NS_PER_S;
	char host[256];

	capture_stats(s->capture, &stats);
	snprintf(host, sizeof(host), "%s", w->host ? w->host : "");
	/* Characters with a special meaning in the header. */
	for (char *c = host; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == ';' || *c == '=')
			*c = '_';
	snprintf(ret, EXPORTER_ABOUT,
		 "Vestal-Agent: host=%s;version=" VESTAL_VERSION ";rate=%u;cpu=%.6f;memory=%llu;"
		 "samples=%.1f;dropped=%llu",
		 host, s->state.paused ? 0 : budget_rate(&s->state), w->cpu_share,
		 (unsigned long long)s->measure.memory_bytes,
		 seconds > 0 ? (double)samples / seconds : 0,
		 (unsigned long long)stats.kernel.dropped);
}
