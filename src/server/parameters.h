/* Parses parameters of a query string, with faults that name them. */
#pragma once

#include "server/request.h"

/* `fallback` if missing or empty. */
enum err parameter_int(struct request *r, const char *name, int64_t fallback, int64_t *ret,
		       struct fault *fault) MUST_CHECK;
/* A count: ERR_BAD_ARGUMENT below `least` or above `most`. */
enum err parameter_count(struct request *r, const char *name, uint32_t fallback, uint32_t least,
			 uint32_t most, uint32_t *ret, struct fault *fault) MUST_CHECK;
/* `from` and `until`, parsed by when.h; default: the last hour. */
enum err parameter_range(struct request *r, const char *from, const char *until, int64_t *ret_from,
			 int64_t *ret_until, struct fault *fault) MUST_CHECK;
enum err parameter_duration(struct request *r, const char *name, int64_t fallback, int64_t *ret,
			    struct fault *fault) MUST_CHECK;
bool parameter_flag(struct request *r, const char *name);
struct str parameter(struct request *r, const char *name);
/* All values of a parameter that may be repeated, or contain a comma-separated list; at most 64. */
enum err parameter_list(struct request *r, const char *name, struct str **ret, size_t *ret_n,
			struct fault *fault) MUST_CHECK;
