#include "store/ledger.h"

#include "store/day_sql.h"

uint64_t place_key(uint64_t seed, struct str tenant, int kind, int64_t day)
{
	uint64_t s = seal_text(seal_begin(seed, SEALED_PLACE), tenant);

	return seal_number(seal_number(s, (uint64_t)kind), (uint64_t)day);
}

static uint64_t seal_of(uint64_t place, const struct ledger *l)
{
	uint64_t s = seal_number(seal_begin(place, SEALED_LEDGER), l->file);

	s = seal_number(seal_number(s, l->commits), l->lost);
	s = seal_number(seal_number(s, l->unsealed), l->shape);
	for (int i = 0; i < LEDGER_TALLIES; i++)
		s = seal_number(seal_number(s, l->tallies[i].n), l->tallies[i].sum);
	return seal_end(s);
}

enum err schema_shape(struct db *db, uint64_t *ret, struct fault *fault)
{
	uint64_t shape = 1;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(db, SCHEMA_TEXT, &q, fault));
	while ((error = db_step(db, q, &row, fault)) == ERR_OK && row)
		for (int i = 0; i < 4; i++)
			shape = seal_text(shape, db_column(q, i));
	db_reset(q);
	if (error == ERR_OK)
		*ret = shape;
	return error;
}

enum err ledger_make(struct db *db, struct ledger *ret, struct fault *fault)
{
	*ret = (struct ledger){.file = hash_random_seed()};
	return schema_shape(db, &ret->shape, fault);
}

static bool read_row(sqlite3_stmt *q, uint64_t place, struct ledger *ret)
{
	ret->file = (uint64_t)sqlite3_column_int64(q, 0);
	ret->commits = (uint64_t)sqlite3_column_int64(q, 1);
	ret->lost = (uint64_t)sqlite3_column_int64(q, 2);
	ret->unsealed = (uint64_t)sqlite3_column_int64(q, 3);
	ret->shape = (uint64_t)sqlite3_column_int64(q, 4);
	return tally_read(db_column(q, 5), ret->tallies, LEDGER_TALLIES) &&
	       (uint64_t)sqlite3_column_int64(q, 6) == seal_of(place, ret);
}

enum err ledger_read(struct db *db, uint64_t place, struct ledger *ret, struct fault *fault)
{
	struct ledger l = {0};
	bool row = false, good = false;
	uint64_t shape = 0;
	sqlite3_stmt *q;
	enum err error = schema_shape(db, &shape, fault);

	if (error == ERR_OK)
		error = db_statement(db, LEDGER_GET, &q, fault);
	/* A missing table is damage, too. */
	if (error == ERR_INTERNAL)
		return fault_set(fault, ERR_DAMAGED, "%s is damaged: its schema was altered",
				 db->path);
	TRY(error);
	error = db_step(db, q, &row, fault);
	if (error == ERR_OK && row)
		good = read_row(q, place, &l);
	db_reset(q);
	TRY(error);
	if (!good)
		return fault_set(fault, ERR_DAMAGED, "%s is damaged: %s", db->path,
				 row ? "its ledger is not of this file, tenant and day"
				     : "it has no ledger");
	if (shape != l.shape)
		return fault_set(fault, ERR_DAMAGED, "%s is damaged: its schema was altered",
				 db->path);
	*ret = l;
	return ERR_OK;
}

enum err ledger_write(struct db *db, uint64_t place, const struct ledger *l, struct fault *fault)
{
	uint8_t tallies[LEDGER_TALLIES * TALLY_BYTES];
	sqlite3_stmt *q;

	tally_write(l->tallies, LEDGER_TALLIES, tallies);
	TRY(db_query_with(db, LEDGER_PUT, &q, fault, (int64_t)l->file, (int64_t)l->commits,
			  (int64_t)l->lost, (int64_t)l->unsealed, (int64_t)l->shape));
	db_bind(q, 6, str_n((const char *)tallies, sizeof(tallies)));
	sqlite3_bind_int64(q, 7, (int64_t)seal_of(place, l));
	return db_run(db, q, fault);
}
