/*
 * The agent as a service: captures continuously and sends the profiles of a window every few
 * seconds.
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
	/* Redaction of names and paths before anything is sent. */
	bool redact_names;
	bool sample_times; /* CPU samples have timestamps */
	struct redact_options redact;
	size_t max_request; /* bytes before compression; larger windows are sent in several requests */
	struct self_options self;
	const char *control; /* path of a socket; NULL = none */
	struct debug_source_options debuginfod;
};

extern const struct daemon_options daemon_options_default;

/* Runs until `stop` is set; the last window is sent, too. */
enum err daemon_run(const struct daemon_options *o, atomic_bool *stop,
		    struct fault *fault) MUST_CHECK;
