/*
 * Sending profiles to a server: one input with its labels (push.c), and all that appear in a folder
 * (watch.c).
 */
#pragma once

#include "cli/input.h"
#include "cli/sidecar.h"

struct push_options {
	struct common_options common;
	struct input_options input;
	const char *service, *from, *until, *format;
	struct text_list labels;
	const char *watch;
	bool remove;   /* what was pushed, with --watch */
	double settle; /* seconds a file waits for its sidecar */
};

/* The result of pushing one input. */
struct pushed {
	int64_t profiles, samples;
	bool again; /* it failed, and a retry may succeed */
	int status; /* exit status */
	struct fault fault;
};

/*
 * Sends one input. `sidecar` may be NULL. False: it failed, for the reason in `ret`. Prints
 * nothing.
 */
bool push_bytes(const struct push_options *o, const char *name, struct buf *bytes,
		const struct sidecar *sidecar, struct pushed *ret);
/* The service and labels as a selector: checkout{commit="abc123"}. */
void push_address(const struct push_options *o, const struct sidecar *sidecar, struct buf *out);
/* A file with its sidecar; `sidecar_path` is empty if there was none. */
bool push_file(const struct push_options *o, const char *path, char *sidecar_path, size_t size,
	       struct buf *address, struct pushed *ret);

/* --watch: until a signal ends it. Returns an exit status. */
int watch_run(const struct push_options *o);
