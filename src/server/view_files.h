/*
 * Files of a request that are shown without being stored: the body is one file, or a form with
 * several, of any formats. Their profiles are merged in order of time into one, with a column for
 * every type of any of them.
 */
#pragma once

#include "base/jsonout.h"
#include "format/format.h"
#include "server/request.h"

#define VIEW_FILES_MAX 64

struct view_file {
	struct str name; /* empty: not given */
	const struct format *format;
	size_t first, n; /* its profiles, before merging */
	int64_t time_ns; /* the earliest time of them, 0 = unknown */
	int64_t duration_ns;
};

/* All zero is valid to release. */
struct view_files {
	struct buf plain; /* the body, if it was compressed */
	struct dict dict;
	struct reading reading;
	struct profile_list list;
	struct profile profile; /* all of them */
	struct view_file files[VIEW_FILES_MAX];
	size_t n;
	/* Of the displayed column. */
	struct completeness completeness;
	struct stack_quality quality;
	bool compared; /* for comparison with stored data */
	bool ready;
};

enum err view_files_read(struct view_files *f, struct request *r, struct fault *fault) MUST_CHECK;
void view_files_release(struct view_files *f);
/* The name of the format, or "several". */
const char *view_files_format(const struct view_files *f);
/* Writes an array of the files in order of time, if they came in a form. */
void view_files_describe(const struct view_files *f, struct jsonout *o);
