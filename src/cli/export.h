/*
 * Writes profiles in a format to a file or stdout, and prints what the format could not represent.
 * Returns an exit status.
 */
#pragma once

#include "cli/command.h"
#include "cli/sink.h"
#include "format/format.h"

/* The notes and the fault of `w` are used and released here. */
int export_write(const struct common_options *common, const struct sink_options *to,
		 const struct format *format, struct writing *w, size_t *ret_bytes);
/* The format for a file name, which may end with .gz or .zst; NULL if unknown. */
const struct format *export_format_of(const char *path);
/* The compression for a file name, as in `struct writing`. */
int export_compression(const char *path);
/* The output format for a format name or a path; prints errors. */
int export_format(const struct invocation *in, const char *name, const char *path,
		  const struct format **ret);
