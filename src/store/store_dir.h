/*
 * The directory of a store.
 *
 *	DIR/STORE			format version and seed, as text
 *	DIR/LOCK			locked while a process has the store open; contains its pid
 *	DIR/<tenant>/catalog.db		settings, audit log, interrupted batches (catalog_schema)
 *	DIR/<tenant>/commits		commit numbers of the files (commit_journal.h)
 *	DIR/<tenant>/2026-01-31.db	one day of profiles, by their own time in UTC (day_schema)
 *	DIR/<tenant>/2026-01-31.spans.db	one day of trace spans (spans_schema)
 *
 * The lock is flock(2), so the kernel releases it however the process ends.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#define STORE_FORMAT	1
#define TENANT_NAME_MAX 150

struct store_dir {
	char *path;
	int lock_fd; /* -1 = not locked */
	uint64_t seed;
};

#define STORE_DIR_CLOSED                    \
	{                                   \
		.path = NULL, .lock_fd = -1 \
	}

/* Takes the lock. With `create`, initializes a missing or empty directory as a store. */
enum err store_dir_open(struct store_dir *d, const char *path, bool create,
			struct fault *fault) MUST_CHECK;
void store_dir_close(struct store_dir *d);
/* For backups: store_dir_begin creates the directory, which must be missing or empty;
 * store_dir_finish makes it a store once everything is in it. An unfinished backup cannot be opened
 * as a store. */
enum err store_dir_begin(const char *path, struct fault *fault) MUST_CHECK;
enum err store_dir_finish(const char *path, uint64_t seed, struct fault *fault) MUST_CHECK;

/* Letters, digits and !-_.*'() as in Grafana's products; neither "." nor "..". */
enum err tenant_check(struct str name, struct fault *fault) MUST_CHECK;
/* The names of the tenants that have a directory. */
enum err store_dir_tenants(const char *path, void (*each)(void *context, struct str tenant),
			   void *context, struct fault *fault) MUST_CHECK;
/* "DIR/<tenant>"; creates the directory if `make`. The caller frees the path. */
enum err tenant_folder(const char *path, struct str tenant, bool make, char **ret,
		       struct fault *fault) MUST_CHECK;

enum day_kind { DAY_PROFILES, DAY_SPANS, DAY_KINDS_ };

struct day_name {
	int64_t day; /* since 1970-01-01 */
	enum day_kind kind;
};
struct day_names {
	VEC(struct day_name) names;
};

/* The days that have a file, oldest first. */
enum err day_list(const char *tenant_path, struct day_names *ret, struct fault *fault) MUST_CHECK;
/* "FOLDER/2026-01-31.db"; the caller frees it; NULL without memory. */
char *day_path(const char *tenant_path, struct day_name name);
/* Removes the file and its WAL and shared memory file. */
enum err day_unlink(const char *tenant_path, struct day_name name, struct fault *fault) MUST_CHECK;
/* Bytes of the file and its WAL on disk; 0 if there is no file. */
uint64_t db_disk_bytes(const char *path);
/* Syncs the directory, after a file was created in it. */
enum err folder_sync(const char *path, struct fault *fault) MUST_CHECK;
