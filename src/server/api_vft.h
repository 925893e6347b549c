/*
 * Answers as VFT (docs/formats/vft.md): what the web UI draws flame graphs and tables from.
 */
#pragma once

#include "format/format.h"
#include "server/api.h"

#define VFT_TYPE "application/vnd.vestal.vft"

/* What is to be drawn, and what its reader is told about it. */
struct vft_answer {
	const struct profile *profile, *baseline; /* over one dictionary; or no baseline */
	const struct diff *diff;		  /* verdicts on it, or NULL */
	struct str title, baseline_title;
	int type; /* column shown first, -1 = the profile's own */
	/* Members of the description's "answer" beside what was read; NULL = none. */
	void (*describe)(const void *context, struct jsonout *o);
	const void *context;
	struct notes notes; /* taken over */
};

/* Whether the request wants VFT; ERR_BAD_ARGUMENT when it wants neither that nor JSON. */
enum err vft_wanted(struct request *r, bool *ret, struct fault *fault) MUST_CHECK;
/* Runs `answer` with a question ready to be selected and replies with the bytes it wrote, or with
 * its fault. */
void vft_reply(struct request *r, enum err (*answer)(struct inquiry *q, struct buf *out));
/* With max_nodes of the request. */
enum err vft_write(struct inquiry *q, struct vft_answer *a, struct buf *out) MUST_CHECK;
/* api_diff.c: the same with the verdicts on a comparison, which is what `a` holds: of what was
 * selected, or of a file where `after` is NULL. */
enum err diff_write(struct inquiry *before, struct inquiry *after, struct vft_answer *a,
		    struct buf *out) MUST_CHECK;
