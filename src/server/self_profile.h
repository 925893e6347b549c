/*
 * --self-profile: a CPU profile of the server, taken in its own process (sampler/sampler.h) and
 * stored every ten seconds as service "vestal" of the default tenant, and at the end.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define SELF_PROFILE_SERVICE "vestal"

struct server;
struct self_profile;

enum err self_profile_new(struct server *s, struct self_profile **ret,
			  struct fault *fault) MUST_CHECK;
/* For /metrics; thread safe; NULL prints nothing. */
void self_profile_print_metrics(struct self_profile *p, struct buf *out);
/* Stops it. The store must still be open. NULL is allowed. */
void self_profile_free(struct self_profile *p);
