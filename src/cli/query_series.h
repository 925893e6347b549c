/*
 * Values over time, as a table with bars or, by label, one line of blocks per group.
 */
#pragma once

#include "cli/view.h"

struct series_request {
	const struct common_options *common;
	const struct input_options *input;
	const char *selector, *type, *function;
	const struct text_list *by;
	bool self, json;
	int64_t limit;
};

/* Sends the request and prints the result; returns an exit status. */
int query_series(const struct series_request *q);
