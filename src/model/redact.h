/*
 * Redaction: names that match a pattern become [REDACTED], paths are stripped or masked. Applied
 * to every string a profile can carry out of the house: function and system names, files, modules,
 * label values, comments, resource attributes.
 */
#pragma once

#include "model/profile.h"

#define REDACT_DEFAULT_PATTERN "password|secret|credential|token"
#define REDACTED_TEXT	       "[REDACTED]"

enum redact_paths {
	PATHS_KEEP,
	PATHS_STRIP, /* /home/ann/shop/cart.c -> cart.c */
	PATHS_MASK,  /* /home/ann/shop/cart.c -> 5 hex digits of the directory's hash, /cart.c */
};

struct redact_options {
	struct str pattern; /* unanchored, case is ignored; empty = the default */
	enum redact_paths paths;
};

struct redact_result {
	uint32_t names, files, labels, comments; /* changed entries */
};

/* Rewrites `src` into `dst`, which has a dictionary of its own: nothing of the old text is left. */
enum err profile_redact(const struct profile *src, const struct redact_options *options,
			struct profile *dst, struct redact_result *ret,
			struct fault *fault) MUST_CHECK;
