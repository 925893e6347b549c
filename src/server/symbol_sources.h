/*
 * The server's symbol files by build id: uploaded by tenants (DATA/.symbols/TENANT), or fetched
 * from debuginfod servers (DATA/.debuginfod, for all tenants), and the open readers of them.
 *
 * The dots distinguish these folders from those of tenants (store_dir.c). Files of a
 * tenant are used only for that tenant. Thread safe.
 */
#pragma once

#include "base/thread.h"
#include "net/net.h"
#include "symbols/symbols.h"

struct symbol_sources;

struct symbol_sources_options {
	const char *directory;	/* the server's data folder; NULL = nothing can be stored */
	uint64_t max_file;	/* limit of bytes per file */
	uint64_t max_size;	/* limit of all files of a tenant */
	const char *debuginfod; /* URLs; NULL or "" = no servers */
	uint64_t debuginfod_max_file, debuginfod_max_size;
	double debuginfod_timeout;
	/* Whether the disk accepts files now; the reserve is for deletes. */
	bool (*has_room)(void *context);
	void *context;
};

enum err symbol_sources_new(const struct symbol_sources_options *o, struct symbol_sources **ret,
			    struct fault *fault) MUST_CHECK;
void symbol_sources_free(struct symbol_sources *d);

/* The tenant's files. With `make`, for adding one, creates a missing folder; ERR_NO_SPACE if the
 * disk accepts no writes. Without, ERR_NOT_FOUND if there are none. */
enum err symbol_sources_store(struct symbol_sources *d, struct str tenant, bool make,
			      struct symbol_store **ret, struct fault *fault) MUST_CHECK;
/* NULL = none is configured. `d` may be NULL, here and below: no files. */
struct debuginfod *symbol_sources_debuginfod(struct symbol_sources *d);
/* Whether anything can be symbolized for this tenant: cheap, called by every query. */
bool symbol_sources_serves(struct symbol_sources *d, struct str tenant);
/* Whether a file with that build id is available. If not, requests it from debuginfod servers, if
 * configured. */
bool symbol_sources_has(struct symbol_sources *d, struct str tenant, struct str build_id);

/* Borrows a reader for a build id, exclusively. */
struct symbol_reader;

enum err symbol_sources_open(struct symbol_sources *d, struct str tenant, struct str build_id,
			     struct symbol_reader **ret) MUST_CHECK;
struct symbol_file *symbol_reader_file(struct symbol_reader *b);
/* Returns it; `learnt`: there were new lookups, whose results are saved to disk. */
void symbol_sources_close(struct symbol_sources *d, struct symbol_reader *b, bool learnt);

/* Copies all files to DESTINATION/.symbols, which must not exist. */
enum err symbol_sources_backup(struct symbol_sources *d, const char *destination,
			       struct fault *fault) MUST_CHECK;
