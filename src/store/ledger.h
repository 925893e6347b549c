/*
 * Private to src/store: the ledger of a file, one row that every transaction updates.
 *
 * It identifies the file: its seal is keyed by store, tenant, kind and day, and it contains a
 * random number that tells this file from others that were ever at the same path. It also has the
 * number of committed transactions, a hash of the schema, and count and sum of the seals of each
 * table (seal.h). A file that was swapped with another is therefore detected at once, and one that
 * lost its last transactions by comparing its commit number with the journal's (commit_journal.h).
 *
 * Missing transactions are counted in `lost` by the next commit. The file counts as damaged until
 * `vestal check --repair` has recorded what is missing.
 */
#pragma once

#include "store/db.h"
#include "store/seal.h"

#define LEDGER_TALLIES 4

struct ledger {
	uint64_t file;	   /* random number of this file */
	uint64_t commits;  /* committed transactions */
	uint64_t lost;	   /* committed transactions that are missing */
	uint64_t unsealed; /* rows without a seal (older format) */
	uint64_t shape;	   /* hash of the schema */
	struct tally tallies[LEDGER_TALLIES];
};

/* Key of the seals of all files at one path. `kind`: enum day_kind, or LEDGER_CATALOG. */
#define LEDGER_CATALOG 100
uint64_t place_key(uint64_t seed, struct str tenant, int kind, int64_t day);
/* Key of all seals of one file, except the ledger's. */
static inline uint64_t file_key(uint64_t place, uint64_t file)
{
	return seal_number(place, file);
}

/* The hash of the whole schema. */
enum err schema_shape(struct db *db, uint64_t *ret, struct fault *fault) MUST_CHECK;
/* Creates the ledger, in the transaction that creates or upgrades the file. */
enum err ledger_make(struct db *db, struct ledger *ret, struct fault *fault) MUST_CHECK;
/* ERR_DAMAGED if it is missing or belongs to another path, or if the schema was altered. */
enum err ledger_read(struct db *db, uint64_t place, struct ledger *ret,
		     struct fault *fault) MUST_CHECK;
enum err ledger_write(struct db *db, uint64_t place, const struct ledger *l,
		      struct fault *fault) MUST_CHECK;
