/*
 * Checks that no row of a service is missing: its row in `services` has the numbers of dictionary
 * rows, blocks and roll-ups, and the sums of their seals (seal.h). Reads indexes only.
 */
#include "store/embedded.h"

/* The tallies in a row of SERVICE_ALL or SERVICE_GET; false if its seal is wrong. */
static bool read_row(const struct day *d, sqlite3_stmt *q, struct tally *ret)
{
	return tally_read(db_column(q, 3), ret, SERVICE_TALLIES) &&
	       (uint64_t)sqlite3_column_int64(q, 4) ==
		       seal_service(atomic_load(&d->key), sqlite3_column_int64(q, 0),
				    db_column(q, 1), sqlite3_column_int64(q, 2), ret);
}

enum err service_tallies(struct day_service *ds, struct db *reader, struct tally *ret,
			 struct fault *fault)
{
	struct day *d = ds->day;
	bool row, good = false;
	sqlite3_stmt *q;
	enum err error;

	TRY(db_query_with(reader, SERVICE_GET, &q, fault, atomic_load(&ds->id)));
	error = db_step(reader, q, &row, fault);
	if (error == ERR_OK && row)
		good = read_row(d, q, ret) && str_eq(db_column(q, 1), str_of(ds->name));
	db_reset(q);
	return error == ERR_OK && !good ? day_damaged(d, ERR_DAMAGED, "the row", ds->name, fault)
					: error;
}

/* ------------------------------------------------------------------ rows by service */

/* A cursor over the seals of all rows of a table, sorted by service. */
struct seals {
	sqlite3_stmt *q;
	bool row;
};

static enum err seals_begin(struct seals *s, struct db *reader, unsigned which, int64_t first,
			    int64_t last, struct fault *fault)
{
	TRY(db_query_with(reader, which, &s->q, fault, first, last));
	return db_step(reader, s->q, &s->row, fault);
}

static void seals_end(struct seals *s)
{
	if (s->q)
		db_reset(s->q);
}

/* Adds up the seals of one service; skips rows of unknown services before it. */
static enum err seals_add(struct seals *s, struct db *reader, int64_t service, struct tally *ret,
			  struct fault *fault)
{
	while (s->row && sqlite3_column_int64(s->q, 0) <= service) {
		if (sqlite3_column_int64(s->q, 0) == service)
			tally_add(ret, (uint64_t)sqlite3_column_int64(s->q, 1));
		TRY(db_step(reader, s->q, &s->row, fault));
	}
	return ERR_OK;
}

struct verifying {
	struct day *day;
	struct db *reader;
	struct seals blocks, rollups;
	struct fault *fault;
};

static enum err begin(struct verifying *v, int64_t first, int64_t last)
{
	TRY(seals_begin(&v->blocks, v->reader, BLOCK_SEALS, first, last, v->fault));
	return seals_begin(&v->rollups, v->reader, ROLLUP_SEALS, first, last, v->fault);
}

static void end(struct verifying *v)
{
	seals_end(&v->blocks);
	seals_end(&v->rollups);
}

static enum err compare(struct verifying *v, struct day_service *ds, int64_t id,
			const struct tally *tallies, bool *ret_whole)
{
	struct tally blocks = {0}, rollups = {0};

	TRY(seals_add(&v->blocks, v->reader, id, &blocks, v->fault));
	TRY(seals_add(&v->rollups, v->reader, id, &rollups, v->fault));
	if (!ds)
		return ERR_OK;
	/* Blocks have the same data. */
	atomic_store(&ds->rollups_differ, !tally_equal(&rollups, &tallies[TALLY_ROLLUPS]));
	*ret_whole = tally_equal(&blocks, &tallies[TALLY_BLOCKS]);
	return ERR_OK;
}

/* ------------------------------------------------------------------ one, all */

static enum err verify_one(struct verifying *v, struct day_service *ds)
{
	struct tally tallies[SERVICE_TALLIES];
	int64_t id = atomic_load(&ds->id);
	bool whole = false;
	enum err error;

	TRY(service_tallies(ds, v->reader, tallies, v->fault));
	error = begin(v, id, id);
	if (error == ERR_OK)
		error = compare(v, ds, id, tallies, &whole);
	end(v);
	return error == ERR_OK && !whole ? ERR_DAMAGED : error;
}

enum err service_verify(struct day_service *ds, struct fault *fault)
{
	struct verifying v = {.day = ds->day, .fault = fault};
	enum err error;

	if (atomic_load(&ds->verified) || !atomic_load(&ds->id))
		return ERR_OK;
	TRY(day_reader(v.day, &v.reader, fault));
	error = db_begin(v.reader, false, fault);
	if (error == ERR_OK && v.reader->version >= DAY_SEALED_VERSION)
		error = verify_one(&v, ds);
	if (error == ERR_OK)
		atomic_store(&ds->verified, true);
	day_reader_back(v.day, v.reader, error);
	return day_damaged(v.day, error, "blocks", ds->name, fault);
}

/* The seals of the entries are those that must be there (service_verify), but an id may be altered.
 * Where an entry leads to no row SQLite reports it. */
enum err service_find_blocks(struct day_service *ds, struct db *reader, struct fault *fault)
{
	int64_t last = INT64_MIN;
	bool row, good = true;
	sqlite3_stmt *q;
	enum err error = ERR_OK;

	if (atomic_load(&ds->placed))
		return ERR_OK;
	TRY(db_query_with(reader, BLOCK_ENTRIES, &q, fault, atomic_load(&ds->id)));
	while (good && (error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		int64_t id = sqlite3_column_int64(q, 0);

		good = id > last && sqlite3_column_int64(q, 1) == id;
		last = id;
	}
	db_reset(q);
	if (!good)
		return ERR_DAMAGED;
	if (error == ERR_OK)
		atomic_store(&ds->placed, true);
	return error;
}

static enum err verify_row(struct verifying *v, sqlite3_stmt *q)
{
	int64_t id = sqlite3_column_int64(q, 0);
	struct day_service *ds = day_service_by_id(v->day, (uint32_t)id);
	struct tally tallies[SERVICE_TALLIES];
	bool whole = false;

	if (ds && (!read_row(v->day, q, tallies) || !str_eq(db_column(q, 1), str_of(ds->name))))
		ds = NULL;
	TRY(compare(v, ds, id, tallies, &whole));
	if (whole)
		atomic_store(&ds->verified, true);
	return ERR_OK;
}

static enum err verify_all(struct verifying *v)
{
	sqlite3_stmt *q;
	bool row;
	enum err error = begin(v, 0, INT64_MAX);

	if (error == ERR_OK &&
	    (error = db_statement(v->reader, SERVICE_ALL, &q, v->fault)) == ERR_OK) {
		while ((error = db_step(v->reader, q, &row, v->fault)) == ERR_OK && row)
			if ((error = verify_row(v, q)) != ERR_OK)
				break;
		db_reset(q);
	}
	end(v);
	return error;
}

enum err day_verify(struct day *d, struct fault *fault)
{
	struct verifying v = {.day = d, .fault = fault};
	enum err error;

	if (atomic_load(&d->verified) || !atomic_load(&d->exists))
		return ERR_OK;
	TRY(day_reader(d, &v.reader, fault));
	error = db_begin(v.reader, false, fault);
	if (error == ERR_OK && v.reader->version >= DAY_SEALED_VERSION)
		error = verify_all(&v);
	if (error == ERR_OK)
		atomic_store(&d->verified, true);
	day_reader_back(d, v.reader, error);
	return is_damage(error) ? ERR_OK : error;
}
