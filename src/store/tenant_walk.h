/*
 * Private to src/store: walks all files of a tenant while no server is running, for `vestal check`
 * and `vestal check --repair`: which files exist, which are missing, and what each lacks.
 */
#pragma once

#include "store/file_walk.h"

/* A file, with its number and commits according to journal and catalog. */
struct known_file {
	struct day_name name;
	uint64_t file, commits;
	bool there;
};

struct tenant_walk {
	const char *name, *folder;
	uint64_t seed, place;
	/* Called per problem; `text` begins with the path of the file. */
	void (*bad)(void *context, const char *text, const struct walk_loss *loss);
	void *context;
	struct commit_journal journal;
	VEC(struct known_file) files;
	struct ledger catalog;
	uint64_t checked, unsealed; /* rows and files checked; files without seals */
	bool catalog_damaged, journal_damaged;
	struct fault fault;
};

/* Reads journal and catalog, and lists the files. */
enum err tenant_walk_begin(struct tenant_walk *t) MUST_CHECK;
void tenant_walk_end(struct tenant_walk *t);
/* Walks one file. */
enum err tenant_walk_file(struct tenant_walk *t, const struct known_file *f,
			  uint64_t *ret_problems) MUST_CHECK;
/* Parts of a walk that a repair uses, too. */
typedef enum err span_fn(void *context, int64_t key, const struct trace_span *span,
			 struct str attributes);
enum err walk_spans(struct walk *w, span_fn *good, void *context) MUST_CHECK;
struct catalog_rows {
	enum err (*setting)(void *context, struct str name, struct str value, int64_t modified);
	enum err (*audit)(void *context, int64_t time, struct str event, struct str detail);
	enum err (*file)(void *context, const struct known_file *f);
	enum err (*undo)(void *context, struct str note, bool sealed);
	void *context;
};
enum err walk_catalog(struct walk *w, const struct catalog_rows *rows) MUST_CHECK;
