/*
 * Responses in VFT (docs/formats/vft.md), from which the web UI draws flame graphs and tables.
 */
#pragma once

#include "format/format.h"
#include "server/api.h"

#define VFT_TYPE "application/vnd.vestal.vft"

/* The contents of a VFT response. */
struct vft_answer {
	const struct profile *profile,
		*baseline;	 /* over one dictionary; the baseline may be missing */
	const struct diff *diff; /* verdicts on it, or NULL */
	struct str title, baseline_title;
	int type; /* column shown first, -1 = the profile's own */
	/* Writes further members of the description's "answer"; NULL = none. */
	void (*describe)(const void *context, struct jsonout *o);
	const void *context;
	struct notes notes; /* taken over */
};

/* Whether the request wants VFT; ERR_BAD_ARGUMENT if it wants neither VFT nor JSON. */
enum err vft_wanted(struct request *r, bool *ret, struct fault *fault) MUST_CHECK;
/* Runs `answer` with an initialized inquiry, and replies with the bytes it wrote, or with its
 * fault. */
void vft_reply(struct request *r, enum err (*answer)(struct inquiry *q, struct buf *out));
/* With max_nodes of the request. */
enum err vft_write(struct inquiry *q, struct vft_answer *a, struct buf *out) MUST_CHECK;
/* api_diff.c: the same with verdicts, for the comparison in `a`: of two selections, or of a file if
 * `after` is NULL. */
enum err diff_write(struct inquiry *before, struct inquiry *after, struct vft_answer *a,
		    struct buf *out) MUST_CHECK;
