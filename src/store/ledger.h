/*
 * Private to src/store: the ledger of a file, one row that every transaction writes with its own.
 *
 * It says whose file this is (its seal is keyed by store, tenant, kind and day), which of the files
 * that ever stood at this place (a random number), how many transactions were committed, how the
 * schema reads, and number and sum of seals of the tables (seal.h). So a file that was exchanged
 * with another's is known at once, and one that lost its last transactions by the commit number
 * that the journal remembers (commit_journal.h).
 *
 * A transaction that is found to be missing is noted in `lost` with the next one: the file says so
 * until `vestal check --repair` made a list of what is missing.
 */
#pragma once

#include "store/db.h"
#include "store/seal.h"

#define LEDGER_TALLIES 4

struct ledger {
	uint64_t file;	   /* the number of this file */
	uint64_t commits;  /* transactions since it was made */
	uint64_t lost;	   /* of these are missing */
	uint64_t unsealed; /* rows of before there were seals */
	uint64_t shape;	   /* of the schema */
	struct tally tallies[LEDGER_TALLIES];
};

/* What all seals of the files at one place depend on. `kind`: enum day_kind, or LEDGER_CATALOG. */
#define LEDGER_CATALOG 100
uint64_t place_key(uint64_t seed, struct str tenant, int kind, int64_t day);
/* … and all seals of one file, except the ledger's. */
static inline uint64_t file_key(uint64_t place, uint64_t file)
{
	return seal_number(place, file);
}

/* The hash of everything in the schema. */
enum err schema_shape(struct db *db, uint64_t *ret, struct fault *fault) MUST_CHECK;
/* A ledger for a file that has none, in the transaction that makes or upgrades it. */
enum err ledger_make(struct db *db, struct ledger *ret, struct fault *fault) MUST_CHECK;
/* ERR_DAMAGED when it is missing or not of this place, or when the schema is not what it was. */
enum err ledger_read(struct db *db, uint64_t place, struct ledger *ret,
		     struct fault *fault) MUST_CHECK;
enum err ledger_write(struct db *db, uint64_t place, const struct ledger *l,
		      struct fault *fault) MUST_CHECK;
