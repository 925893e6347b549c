/*
 * Controls the agent's own cost: measures, decides (budget.h), and reports (self_metrics.h).
 */
#pragma once

#include "agent/self_metrics.h"
#include "agent/window.h"

struct self_options {
	struct budget_limits limits;
	const char *metrics; /* address; NULL = none */
};

struct self_control {
	struct self_options options;
	struct capture *capture;
	struct self_meter meter;
	struct self_metrics *metrics;
	struct budget_state state, decided;
	struct budget_measure measure;
	int64_t next; /* measurement */
	u64 collected;
	double used, length; /* since the window began: sum of share × seconds; seconds */
	u64 pss_bytes;	     /* when a window ended last */
	struct {
		int64_t time, ns;
		double share, before; /* CPUs used in the last interval and the one before */
	} own;			      /* CPU time of the agent's own threads */
};

enum err self_control_open(struct self_control *s, const struct self_options *o, struct capture *c,
			   u32 rate_hz, struct fault *fault) MUST_CHECK;
void self_control_close(struct self_control *s);
/*
 * Measures if that is due, and reports. True: a setting changes, so the window must end, and
 * self_control_apply be called before the next begins.
 */
bool self_control_due(struct self_control *s, struct exporter *x);
enum err self_control_apply(struct self_control *s, struct window *w) MUST_CHECK;
/* Stops throttling workers, because the agent ends. */
void self_control_hurry(struct self_control *s);
/* Changes the configured rate; call it after the window has ended. */
enum err self_control_set_rate(struct self_control *s, u32 rate_hz, struct window *w) MUST_CHECK;
/* Ends a window and returns its cost. */
void self_control_end_window(struct self_control *s, struct window *w);
/* Call after a window was sent. */
void self_control_tell(struct self_control *s, const struct exporter_stats *x, u64 samples);
/* A short form of the metrics for the server, as a header of at most EXPORTER_ABOUT bytes.
 */
void self_control_describe(const struct self_control *s, const struct window *w, u64 samples,
			   char *ret);
