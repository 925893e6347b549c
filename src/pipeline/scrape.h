/*
 * Profiles that were fetched from a program's debug/pprof address.
 */
#pragma once

#include "pipeline/baseline.h"
#include "pipeline/receive.h"

struct scrape_request {
	const struct label_pair *labels; /* service_name and instance among them */
	size_t label_count;
	struct str name; /* of the profile: "process_cpu", "memory", "mutex" … */
	/* What was counted when the target was asked last; NULL = the profile is of a window and
	 * nothing is subtracted. Without a last time it is an empty one. */
	const struct baseline *before;
	int64_t elapsed_ns; /* since then */
	struct str body;
};

struct scraped {
	enum baseline_outcome outcome;
	struct baseline next; /* to be `before` when what was handed over is durable */
};

/* Hands over what was counted since `before`, and levels as they are. */
enum err receive_scrape(struct receive *r, const struct scrape_request *request,
			struct scraped *ret, struct fault *fault) MUST_CHECK;
