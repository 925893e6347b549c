/*
 * The filters of a query, named as in `vestal top`: focus, ignore, hide, show, show_from (regular
 * expressions over functions, files and modules) and tag. Each may be repeated: all of focus and
 * tag must match, one match of the others is enough.
 */
#pragma once

#include "server/parameters.h"

#define FILTERS_EACH 16

struct filters {
	struct filter filter;			   /* except focus */
	const struct pattern *focus[FILTERS_EACH]; /* a stack must match all of them */
	size_t focus_count;
	/* Distinct labels used by the tags: rows must have these. */
	struct str labels[FILTERS_EACH];
	size_t label_count;
	struct pattern *patterns[6 * FILTERS_EACH + 4]; /* owned */
	size_t n;
	bool any;
};

/* Parses and compiles those of a request; release them also after a failure. */
enum err filters_read(struct request *r, struct filters *ret, struct fault *fault) MUST_CHECK;
void filters_release(struct filters *f);
/* Applies the filters to a profile. */
enum err filters_apply(const struct filters *f, struct profile *p, struct fault *fault) MUST_CHECK;
