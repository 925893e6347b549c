/*
 * The filters a question may have, in the words of `vestal top`: focus, ignore, hide, show,
 * show_from (regular expressions over names of functions, files and modules) and tag. Each may come
 * several times: all of focus and tag must hold, of the others one that matches is enough.
 */
#pragma once

#include "server/parameters.h"

#define FILTERS_EACH 16

struct filters {
	struct filter filter;			   /* but for focus */
	const struct pattern *focus[FILTERS_EACH]; /* a stack has a match of each */
	size_t focus_count;
	/* What the tags look at, each once: rows must carry these labels. */
	struct str labels[FILTERS_EACH];
	size_t label_count;
	struct pattern *patterns[6 * FILTERS_EACH + 4]; /* owned */
	size_t n;
	bool any;
};

/* Reads and compiles those of a request; release also after a failure. */
enum err filters_read(struct request *r, struct filters *ret, struct fault *fault) MUST_CHECK;
void filters_release(struct filters *f);
/* Replaces a profile by what the filters leave of it. */
enum err filters_apply(const struct filters *f, struct profile *p, struct fault *fault) MUST_CHECK;
