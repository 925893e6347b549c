/*
 * Private to src/store: all rows of a file of a store that no server has open, each compared with
 * its seal and read to its end; and what is not there although it should be. `vestal check` tells
 * people what is wrong, `vestal check --repair` writes what is good into a new file.
 *
 * Where SQLite itself cannot go on, what lies behind is reached by key: an hour that cannot be read
 * costs that hour.
 */
#pragma once

#include "store/embedded.h"

enum walk_kind {
	WALK_SERVICE,
	WALK_DICTIONARY,
	WALK_CHUNK,
	WALK_BLOCK,
	WALK_ROLLUP,
	WALK_REACH,
	WALK_INDEX
};

struct walk_service {
	int64_t id, series;
	char *name;
	bool good; /* the row has its seal */
	struct tally expected[SERVICE_TALLIES], found[SERVICE_TALLIES];
	struct partition *partition; /* up to the first row that cannot be read */
};

/* A row that is what was written. */
struct walk_row {
	enum walk_kind kind;
	struct walk_service *service;
	int64_t id;	    /* key; start of a roll-up, window of a reach */
	int64_t columns[4]; /* rows of a chunk; profiles, rows, first, last; level; longest */
	struct str data;
};

/* What is missing, as far as it is known. */
struct walk_loss {
	const char *service; /* NULL: of any */
	int64_t from_ns, until_ns;
	int64_t profiles; /* -1 = not known */
	bool derived;	  /* the same is elsewhere: a roll-up */
};

struct walk {
	/* By the caller. */
	const char *path;
	uint64_t place, seed;
	int64_t day;
	uint64_t least_commits; /* that others know of; of the file `known_file` */
	uint64_t known_file;	/* 0: not known */
	enum err (*good)(void *context, const struct walk_row *row); /* or NULL */
	/* `loss` NULL: nothing that somebody could ask for. */
	void (*bad)(void *context, const char *text, const struct walk_loss *loss);
	void *context;
	/* Filled. */
	struct db *db;
	struct ledger ledger;
	bool sealed; /* not of before there were seals */
	bool newer;  /* its format, or the damage reads so */
	uint64_t key, checked, problems;
	VEC(struct walk_service) services; /* by id */
	struct fault fault;
};

/* Errors are those of reading itself (no memory, cancelled), damage goes to `bad`. */
enum err walk_day(struct walk *w) MUST_CHECK;
void walk_release(struct walk *w);

/* For the parts of a walk. */
void walk_bad(struct walk *w, const struct walk_loss *loss, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Opens, compares schema, ledger and commits; false when nothing in it can be believed. */
enum err walk_open(struct walk *w, const struct db_schema *schema, bool *ret_open) MUST_CHECK;
bool walk_seal_good(const struct walk *w, int64_t found, uint64_t expected);
struct walk_service *walk_service_of(struct walk *w, int64_t id);
enum err walk_dictionary(struct walk *w, struct walk_service *s) MUST_CHECK;
enum err walk_chunks(struct walk *w) MUST_CHECK;
enum err walk_blocks(struct walk *w) MUST_CHECK;
enum err walk_rollups(struct walk *w) MUST_CHECK;
enum err walk_index(struct walk *w) MUST_CHECK;
