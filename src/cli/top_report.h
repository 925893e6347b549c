/*
 * The exact table of functions, as text or JSON: what top and query print.
 */
#pragma once

#include "cli/view.h"

struct top_style {
	bool cum, lines, json;
	int64_t count; /* rows, 0 = all */
};
#define TOP_STYLE_DEFAULT ((struct top_style){.count = 30})
extern const struct option top_style_table[];

/* Prints to stdout; returns an exit status. */
int top_report(const struct common_options *common, const struct view *v,
	       const struct top_style *style);
