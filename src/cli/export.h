/*
 * Writing profiles in some format to where the user wants them; what the format could not hold is
 * said on the way. Returns an exit status.
 */
#pragma once

#include "cli/command.h"
#include "cli/sink.h"
#include "format/format.h"

/* `w` without its notes and fault, which are used and released here. */
int export_write(const struct common_options *common, const struct sink_options *to,
		 const struct format *format, struct writing *w, size_t *ret_bytes);
/* The format the name of a file says, also with .gz or .zst behind it; NULL when it says none. */
const struct format *export_format_of(const char *path);
/* What the name of a file says about compression, as in `struct writing`. */
int export_compression(const char *path);
/* The format a name or a path means, for writing; says what is wrong with either. */
int export_format(const struct invocation *in, const char *name, const char *path,
		  const struct format **ret);
