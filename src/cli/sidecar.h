/*
 * Metadata of a profile, in a small JSON file next to it: cpu-1.pb.gz.json or cpu-1.json for
 * cpu-1.pb.gz.
 *
 *	{"service.name": "checkout", "git": {"commit": "abc123", "branch": "main"},
 *	 "deployment.environment": "prod", "window_start": 1763200000000, "window_end":
 *1763200015000}
 *
 * Strings, numbers and booleans become labels with their names. Names of nested objects are joined
 * by a dot; "labels", "metadata", "attributes" and "tags" only wrap. Known names have a special
 * meaning: service, service.name, app the service commit, git.commit, … the label commit;
 * git.branch the label branch window_start, timestamp, start, … when the profile begins;
 * window_end, end, … when it ends durationMillis, duration how long it took, when no end is said
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "model/model.h"

#define SIDECAR_MAX_BYTES ((size_t)1 << 20)

struct sidecar {
	struct arena arena; /* holds all texts */
	VEC(struct label_pair) labels;
	int64_t from_ns, until_ns; /* 0 = not given */
	int64_t duration_ns;
};

/* On failure there is nothing to release. */
enum err sidecar_parse(struct str json, struct sidecar *ret, struct fault *fault) MUST_CHECK;
void sidecar_release(struct sidecar *s);
/* The path of the sidecar of a file; false if there is none. */
bool sidecar_find(const char *path, char *ret, size_t size);
/* Whether a file is a sidecar, not a profile in JSON. */
bool sidecar_is(const char *path);
