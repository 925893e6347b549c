/*
 * Names that come later: programs and debug files by build id, those that each tenant has sent
 * (DATA/.symbols/TENANT) and those that were fetched from debuginfod servers (DATA/.debuginfod, for
 * all tenants), and the readers that are open on them.
 *
 * The dots keep them apart from the folders of tenants that are called so (store_dir.c). What a
 * tenant sent is used for that tenant alone. Any thread may ask.
 */
#pragma once

#include "base/thread.h"
#include "net/net.h"
#include "symbols/symbols.h"

struct symbol_desk;

struct desk_options {
	const char *directory;	/* of the server's data; NULL = nothing can be kept */
	uint64_t max_file;	/* bytes of one file */
	uint64_t max_size;	/* of all files of a tenant */
	const char *debuginfod; /* URLs; NULL or "" = nobody is asked */
	uint64_t debuginfod_max_file, debuginfod_max_size;
	double debuginfod_timeout;
	/* Whether the disk takes files now; its last room is for what frees space. */
	bool (*has_room)(void *context);
	void *context;
};

enum err symbol_desk_new(const struct desk_options *o, struct symbol_desk **ret,
			 struct fault *fault) MUST_CHECK;
void symbol_desk_free(struct symbol_desk *d);

/* The tenant's files; with `make`, for those who add one: its folder is made when it is missing,
 * and ERR_NO_SPACE when the disk takes none. Else ERR_NOT_FOUND. */
enum err symbol_desk_shelf(struct symbol_desk *d, struct str tenant, bool make,
			   struct symbol_shelf **ret, struct fault *fault) MUST_CHECK;
/* NULL = none is configured. A desk of NULL, here and below, has nothing. */
struct debuginfod *symbol_desk_debuginfod(struct symbol_desk *d);
/* Whether anything could be named for this tenant at all: cheap, asked by every question. */
bool symbol_desk_serves(struct symbol_desk *d, struct str tenant);
/* Whether there is a file of that build id now. When there is none it is sent for, if there is
 * somebody to be asked. */
bool symbol_desk_has(struct symbol_desk *d, struct str tenant, struct str build_id);

/* A reader that is open on a build id; one at a time has it. */
struct symbol_book;

enum err symbol_desk_open(struct symbol_desk *d, struct str tenant, struct str build_id,
			  struct symbol_book **ret) MUST_CHECK;
struct symbol_file *symbol_book_file(struct symbol_book *b);
/* Gives it back; `learnt` when there was something to look up: answers are kept on disk. */
void symbol_desk_close(struct symbol_desk *d, struct symbol_book *b, bool learnt);

/* Copies all files into DESTINATION/.symbols, which is new. */
enum err symbol_desk_backup(struct symbol_desk *d, const char *destination,
			    struct fault *fault) MUST_CHECK;
