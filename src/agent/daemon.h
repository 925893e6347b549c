/*
 * The agent as a service: captures all the time, sends a window of profiles every few seconds.
 */
#pragma once

#include <stdatomic.h>

#include "agent/capture.h"
#include "agent/debug_source.h"
#include "agent/exporter.h"
#include "agent/self_control.h"
#include "model/model.h"

struct daemon_options {
	struct capture_options capture;
	struct exporter_options exporter;
	int64_t interval_ns;
	/* Before anything leaves: names that match, and paths. */
	bool redact_names;
	bool sample_times; /* CPU samples say when they were taken */
	struct redact_options redact;
	size_t max_request; /* bytes before packing; more is sent in several requests */
	struct self_options self;
	const char *control; /* path of a socket; NULL = none */
	struct debug_source_options debuginfod;
};

extern const struct daemon_options daemon_options_default;

/* Runs until `stop` is set; the last window is sent too. */
enum err daemon_run(const struct daemon_options *o, atomic_bool *stop,
		    struct fault *fault) MUST_CHECK;
