/* Shared by symbol_sources.c (symbol stores) and symbol_readers.c (open readers). */
#pragma once

#include "base/vec.h"
#include "server/symbol_sources.h"

/* Maximum number of open readers, and memory of each for indexes and for names. */
#define BOOKS_MAX   8u
#define BOOK_MEMORY ((size_t)16 << 20)

struct symbol_reader {
	struct symbol_sources *sources;
	char *tenant;
	char build_id[BUILD_ID_TEXT_MAX + 1];
	struct symbol_file *file;
	uint64_t changes; /* change counters of the stores when it was opened */
	uint64_t used;	  /* last use, as a counter of uses */
	bool taken;
};

struct symbol_sources_tenant {
	char *name;
	struct symbol_store *store;
};

struct symbol_sources {
	struct symbol_sources_options options;
	struct mutex lock; /* of tenants and readers */
	struct cond given_back;
	VEC(struct symbol_sources_tenant) tenants;
	struct symbol_reader readers[BOOKS_MAX];
	uint64_t uses;
	/* Fetched files; NULL = not configured. Set once. */
	struct symbol_store *fetched;
	struct debuginfod *debuginfod;
	struct debug_fetcher *fetcher;
	atomic_bool stop;
};

/* NULL if the tenant has uploaded nothing. Takes the lock. */
struct symbol_store *symbol_sources_find(struct symbol_sources *d, struct str tenant);
void symbol_readers_release(struct symbol_sources *d);
