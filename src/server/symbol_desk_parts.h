/* Shared by symbol_desk.c (symbol shelves) and symbol_books.c (open readers). */
#pragma once

#include "base/vec.h"
#include "server/symbol_desk.h"

/* Maximum number of open readers, and memory of each for indexes and for names. */
#define BOOKS_MAX   8u
#define BOOK_MEMORY ((size_t)16 << 20)

struct symbol_book {
	struct symbol_desk *desk;
	char *tenant;
	char build_id[BUILD_ID_TEXT_MAX + 1];
	struct symbol_file *file;
	uint64_t changes; /* change counters of the shelves when it was opened */
	uint64_t used;	  /* last use, as a counter of uses */
	bool taken;
};

struct desk_tenant {
	char *name;
	struct symbol_shelf *shelf;
};

struct symbol_desk {
	struct desk_options options;
	struct mutex lock; /* of tenants and books */
	struct cond given_back;
	VEC(struct desk_tenant) tenants;
	struct symbol_book books[BOOKS_MAX];
	uint64_t uses;
	/* Fetched files; NULL = not configured. Set once. */
	struct symbol_shelf *fetched;
	struct debuginfod *debuginfod;
	struct debug_fetcher *fetcher;
	atomic_bool stop;
};

/* NULL if the tenant has uploaded nothing. Takes the lock. */
struct symbol_shelf *desk_find_shelf(struct symbol_desk *d, struct str tenant);
void symbol_books_release(struct symbol_desk *d);
