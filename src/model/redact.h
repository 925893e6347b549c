/*
 * Redaction: names that match a pattern become [REDACTED], paths are stripped or masked. Applied
 * to every string a profile can carry out of the house: function and system names, files, modules,
 * label values, comments, resource attributes.
 *
 * A name that matches goes as a whole, and so does the value of a label whose key or value does
 * (the key stays, so that a reader sees what is missing). Paths are shortened first: files and
 * modules, and words inside names, values and comments that begin like an absolute path. Build ids
 * and drop_frames that match are removed. The words of the format (types, units, label keys, frame
 * kinds) stay.
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
	bool paths_only;     /* names stay, whatever they match */
	struct str kept_key; /* the value of that label stays, whatever it matches; empty = none */
};

struct redact_result {
	uint32_t names, files, labels, comments; /* distinct texts changed */
};

/* Whether anything of a profile over this dictionary may have to be changed: `false` is certain. */
enum err redact_is_needed(const struct dict *d, const struct redact_options *options, bool *ret,
			  struct fault *fault) MUST_CHECK;
/* Rewrites `src` into `dst`, initialised over a dictionary of its own, so that nothing of the old
 * text is left. Rows that became equal are added up. */
enum err profile_redact(const struct profile *src, const struct redact_options *options,
			struct profile *dst, struct redact_result *ret,
			struct fault *fault) MUST_CHECK;
/* The same for all of a list over one dictionary, into a list over `dict`. Much cheaper than one by
 * one: what they share is looked at once. On failure `dst` may hold some of them. */
enum err profile_list_redact(const struct profile_list *src, const struct redact_options *options,
			     struct dict *dict, struct profile_list *dst, struct redact_result *ret,
			     struct fault *fault) MUST_CHECK;
