/*
 * Shared by cmd_diff.c and diff_json.c.
 */
#pragma once

#include "cli/sink.h"
#include "cli/units.h"
#include "cli/view.h"

struct diff_cli_options {
	struct common_options common;
	struct input_options input;
	struct view_options view;
	struct text_list before, after, baseline, comparison;
	const char *since[2], *until[2]; /* of each side, if they differ */
	struct sink_options html;
	int64_t count;
	bool flat, lines, significant, normalise, json;
};

struct diff_report {
	struct arena names; /* of services, as selectors */
	const struct diff_cli_options *o;
	struct input_options input[2]; /* with the times of each side */
	struct view sides[2];	       /* before, after; over one dictionary */
	struct diff diff;
	struct rate_change change;
	size_t matching, shown; /* rows */
	struct scale scale;
};

bool diff_is_shown(const struct diff_report *r, const struct diff_row *row);
const char *diff_verdict_name(enum diff_verdict v);
void diff_put_name(const struct diff_report *r, uint32_t frame, struct buf *out);
/* diff_change.c: fills r->change. Returns an exit status. */
int diff_find_change(struct diff_report *r);
void diff_put_change(const struct diff_report *r, struct buf *out);
void diff_json(const struct diff_report *r, struct buf *out);
