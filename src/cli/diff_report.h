/*
 * What cmd_diff.c and diff_json.c share.
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
	struct sink_options html;
	int64_t count;
	bool flat, lines, significant, normalise, json;
};

struct diff_report {
	struct arena names; /* of services, as selectors */
	const struct diff_cli_options *o;
	struct view sides[2]; /* before, after; over one dictionary */
	struct diff diff;
	size_t matching, shown; /* rows */
	struct scale scale;
};

bool diff_is_shown(const struct diff_report *r, const struct diff_row *row);
const char *diff_verdict_name(enum diff_verdict v);
void diff_put_name(const struct diff_report *r, uint32_t frame, struct buf *out);
void diff_json(const struct diff_report *r, struct buf *out);
