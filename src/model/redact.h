/*
 * Redaction: names that match a pattern become [REDACTED], paths are stripped or masked. Applied to
 * every string that leaves with a profile: function and system names, files, modules, label values,
 * comments, resource attributes.
 *
 * A matching name is replaced as a whole, and so is the value of a label whose key or value matches
 * (the key stays, to show what is missing). Paths are shortened first: files and modules, and words
 * inside names, values and comments that begin like an absolute path. Matching build ids and
 * drop_frames are removed. Keywords of the format (types, units, label keys, frame kinds) stay.
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
	bool paths_only;     /* do not redact names */
	struct str kept_key; /* label whose value is exempt; empty = none */
};

struct redact_result {
	uint32_t names, files, labels, comments; /* distinct texts changed */
};

/* Whether anything in this dictionary may have to be changed; `false` is certain. */
enum err redact_is_needed(const struct dict *d, const struct redact_options *options, bool *ret,
			  struct fault *fault) MUST_CHECK;
/* Rewrites `src` into `dst`, initialized over another dictionary, so that no old text remains. Rows
 * that became equal are merged. */
enum err profile_redact(const struct profile *src, const struct redact_options *options,
			struct profile *dst, struct redact_result *ret,
			struct fault *fault) MUST_CHECK;
/* The same for a list over one dictionary, into a list over `dict`. Much cheaper than one by one,
 * because shared entries are processed once. On failure `dst` may contain some of them. */
enum err profile_list_redact(const struct profile_list *src, const struct redact_options *options,
			     struct dict *dict, struct profile_list *dst, struct redact_result *ret,
			     struct fault *fault) MUST_CHECK;
