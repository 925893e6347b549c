/*
 * Rate limit in bytes per second and tenant: token buckets that hold two seconds of the rate.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct rate_limits;

/* A rate of 0 = no limit. */
enum err rates_new(uint64_t bytes_per_second, struct rate_limits **ret) MUST_CHECK;
void rates_free(struct rate_limits *r);
/* ERR_BUSY if the tenant's bucket is empty. Thread safe. */
enum err rates_take(struct rate_limits *r, struct str tenant, size_t bytes,
		    struct fault *fault) MUST_CHECK;

/* The password of an HTTP Basic credential, or an empty slice. */
struct str basic_password(struct arena *arena, struct str base64);
