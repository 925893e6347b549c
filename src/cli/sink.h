/*
 * Where results go: stdout, or a file that appears whole or not at all. Both return an exit status
 * and have said why when it is not EXIT_OK.
 */
#pragma once

#include "base/buf.h"
#include "cli/options.h"

struct sink_options {
	const char *path; /* NULL: the command's default; "-": stdout */
	bool force;
};
extern const struct option sink_table[];

/* Refuses, before any work is done, what would be refused at the end: an existing file, binary
 * data to a terminal. */
int sink_check(const struct sink_options *o, bool binary, const char *what);
int sink_save(const struct sink_options *o, const struct buf *bytes);
int sink_stdout(const struct buf *bytes);
