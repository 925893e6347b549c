/*
 * The directory of a store.
 *
 *	DIR/STORE			format version and seed, as text
 *	DIR/LOCK			held while a process has the store open; names its pid
 *	DIR/<tenant>/catalog.db		settings, audit, what is under way (catalog_schema)
 *	DIR/<tenant>/2026-01-31.db	one day of profiles, by their own time in UTC (day_schema)
 *	DIR/<tenant>/2026-01-31.spans.db	one day of spans of traces (spans_schema)
 *
 * The lock is the kernel's (flock), so it ends with its process, however that ends.
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
	int lock_fd; /* -1: not held */
	uint64_t seed;
};

#define STORE_DIR_CLOSED                    \
	{                                   \
		.path = NULL, .lock_fd = -1 \
	}

/* Takes the lock. A directory that is missing or empty becomes a store when `create`. */
enum err store_dir_open(struct store_dir *d, const char *path, bool create,
			struct fault *fault) MUST_CHECK;
void store_dir_close(struct store_dir *d);
/* For backups: the folder, which must be missing or empty; and, when all is in it, the file that
 * makes it a store. What is there of a backup that did not come to its end is refused as one. */
enum err store_dir_begin(const char *path, struct fault *fault) MUST_CHECK;
enum err store_dir_finish(const char *path, uint64_t seed, struct fault *fault) MUST_CHECK;

/* Letters, digits and !-_.*'() as in Grafana's products; neither "." nor "..". */
enum err tenant_check(struct str name, struct fault *fault) MUST_CHECK;
/* The tenants that have a folder, as they call themselves. */
enum err store_dir_tenants(const char *path, void (*each)(void *context, struct str tenant),
			   void *context, struct fault *fault) MUST_CHECK;
/* "DIR/<tenant>" and the folder itself when `make`. The caller frees it. */
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
/* Removes the file and what SQLite keeps beside it. */
enum err day_unlink(const char *tenant_path, struct day_name name, struct fault *fault) MUST_CHECK;
/* Bytes the file and its log take on the disk; 0 when there is none. */
uint64_t db_disk_bytes(const char *path);
/* After a file appeared in it. */
enum err folder_sync(const char *path, struct fault *fault) MUST_CHECK;
