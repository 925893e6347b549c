/*
 * Output to stdout, or to a file that appears complete or not at all. Both functions print errors
 * and return an exit status.
 */
#pragma once

#include "base/buf.h"
#include "cli/options.h"

struct sink_options {
	const char *path; /* NULL: the command's default; "-": stdout */
	bool force;
};
extern const struct option sink_table[];

/* Checks in advance for what would fail at the end: an existing file, binary data to a terminal. */
int sink_check(const struct sink_options *o, bool binary, const char *what);
int sink_save(const struct sink_options *o, const struct buf *bytes);
int sink_stdout(const struct buf *bytes);
