/*
 * Private to src/store: reads all rows of a file that no server has open, checks each against its
 * seal, decodes it, and finds missing rows. `vestal check` reports what is wrong; `vestal check
 * --repair` writes the good rows into a new file.
 *
 * Where a SQLite scan cannot continue, the walk goes on by key, hour by hour: an hour that cannot
 * be read costs that hour only.
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
	bool good; /* the row's seal is valid */
	struct tally expected[SERVICE_TALLIES], found[SERVICE_TALLIES];
	struct partition *partition; /* decoded up to the first unreadable row */
};

/* A row whose seal is valid. */
struct walk_row {
	enum walk_kind kind;
	struct walk_service *service;
	int64_t id;	    /* key; start of a roll-up; window of a reach */
	int64_t columns[4]; /* rows of a chunk; profiles, rows, first, last; level; longest */
	struct str data;
};

/* What is missing, as far as known. */
struct walk_loss {
	const char *service; /* NULL = of any service */
	int64_t from_ns, until_ns;
	int64_t profiles; /* -1 = not known */
	bool derived;	  /* can be computed from other rows, as a roll-up */
};

struct walk {
	/* Set by the caller. */
	const char *path;
	uint64_t place, seed;
	int64_t day;
	uint64_t least_commits; /* according to journal and catalog; of the file `known_file` */
	uint64_t known_file;	/* 0 = unknown */
	enum err (*good)(void *context, const struct walk_row *row); /* or NULL */
	/* `loss` NULL: no data is lost. */
	void (*bad)(void *context, const char *text, const struct walk_loss *loss);
	void *context;
	/* Set by the walk. */
	struct db *db;
	struct ledger ledger;
	bool sealed; /* the format has seals */
	bool newer;  /* has a newer format version (which damage can fake) */
	uint64_t key, checked, problems;
	VEC(struct walk_service) services; /* by id */
	struct fault fault;
};

/* Fails only if the walk itself fails (no memory, cancelled); damage goes to `bad`. */
enum err walk_day(struct walk *w) MUST_CHECK;
void walk_release(struct walk *w);

/* The rest is for the parts of a walk. */
void walk_bad(struct walk *w, const struct walk_loss *loss, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Opens the file and checks schema, ledger and commit number; *ret_open is false if nothing in the
 * file can be trusted. */
enum err walk_open(struct walk *w, const struct db_schema *schema, bool *ret_open) MUST_CHECK;
bool walk_seal_good(const struct walk *w, int64_t found, uint64_t expected);
struct walk_service *walk_service_of(struct walk *w, int64_t id);
enum err walk_dictionary(struct walk *w, struct walk_service *s) MUST_CHECK;
enum err walk_chunks(struct walk *w) MUST_CHECK;
enum err walk_blocks(struct walk *w) MUST_CHECK;
enum err walk_rollups(struct walk *w) MUST_CHECK;
enum err walk_index(struct walk *w) MUST_CHECK;
