/*
 * Profiles scraped from a program's debug/pprof endpoints.
 */
#pragma once

#include "pipeline/baseline.h"
#include "pipeline/receive.h"

struct scrape_request {
	const struct label_pair *labels; /* service_name and instance among them */
	size_t label_count;
	struct str name; /* of the profile: "process_cpu", "memory", "mutex" … */
	/* The counters of the last scrape; NULL = the profile covers a window, and nothing is
	 * subtracted. Empty at the first scrape. */
	const struct baseline *before;
	int64_t elapsed_ns; /* time of the last scrape */
	struct str body;
};

struct scraped {
	enum baseline_outcome outcome;
	struct baseline next; /* becomes `before` once the profiles are durable */
};

/* Passes the increase of counters since `before` to the sink, and gauges unchanged. */
enum err receive_scrape(struct receive *r, const struct scrape_request *request,
			struct scraped *ret, struct fault *fault) MUST_CHECK;
