/*
 * The server's symbol files by build id: uploaded by tenants (DATA/.symbols/TENANT), or fetched
 * from debuginfod servers (DATA/.debuginfod, for all tenants), and the open readers of them.
 *
 * The dots keep them apart from the folders of tenants that are called so (store_dir.c). Files of a
 * tenant are used only for that tenant. Thread safe.
 */
#pragma once

#include "base/thread.h"
#include "net/net.h"
#include "symbols/symbols.h"

struct symbol_desk;

struct desk_options {
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

enum err symbol_desk_new(const struct desk_options *o, struct symbol_desk **ret,
			 struct fault *fault) MUST_CHECK;
void symbol_desk_free(struct symbol_desk *d);

/* The tenant's files. With `make`, for adding one, creates a missing folder; ERR_NO_SPACE if the
 * disk accepts no writes. Without, ERR_NOT_FOUND if there are none. */
enum err symbol_desk_shelf(struct symbol_desk *d, struct str tenant, bool make,
			   struct symbol_shelf **ret, struct fault *fault) MUST_CHECK;
/* NULL = none is configured. A NULL desk, here and below, is empty. */
struct debuginfod *symbol_desk_debuginfod(struct symbol_desk *d);
/* Whether anything can be symbolized for this tenant: cheap, called by every query. */
bool symbol_desk_serves(struct symbol_desk *d, struct str tenant);
/* Whether a file with that build id is available. If not, requests it from debuginfod servers, if
 * configured. */
bool symbol_desk_has(struct symbol_desk *d, struct str tenant, struct str build_id);

/* Borrows a reader for a build id, exclusively. */
struct symbol_book;

enum err symbol_desk_open(struct symbol_desk *d, struct str tenant, struct str build_id,
			  struct symbol_book **ret) MUST_CHECK;
struct symbol_file *symbol_book_file(struct symbol_book *b);
/* Returns it; `learnt`: there were new lookups, whose results are saved to disk. */
void symbol_desk_close(struct symbol_desk *d, struct symbol_book *b, bool learnt);

/* Copies all files to DESTINATION/.symbols, which must not exist. */
enum err symbol_desk_backup(struct symbol_desk *d, const char *destination,
			    struct fault *fault) MUST_CHECK;
