/*
 * Whether all spans of a day are there and are found: by time, by service and by trace. Rows that
 * are looked up are only as complete as what leads to them, so before the first question everything
 * is gone through once:
 *
 *	the table: its seals are those of the ledger; each row is found by its key
 *	both indexes: in order, with the same entries as the table
 *	names: their seals, and for each service a span whose seal covers the name
 *
 * An index is a tree whose inner pages hold entries, too: when all of them are in order, a search
 * finds each. A table's inner pages hold keys alone, which no row shows; hence the search of each.
 */
#include "store/spans.h"

/* Entries of an index, in any order: number and sum of hashes. */
struct verifying {
	struct day *day;
	struct db *reader;
	struct ask *ask;
	struct fault *fault;
	struct tally seals, services, traces;
};

static enum err step(struct verifying *v, sqlite3_stmt *q, bool *ret_row)
{
	if (ask_cancelled(v->ask))
		return ERR_CANCELLED;
	return db_step(v->reader, q, ret_row, v->fault);
}

static uint64_t hash_service(int64_t service, int64_t id)
{
	return hash_mix((uint64_t)service + HASH_K1, (uint64_t)id);
}

static uint64_t hash_trace(struct str trace, int64_t id)
{
	return hash_str(trace, (uint64_t)id);
}

static enum err verify_table(struct verifying *v)
{
	int64_t above = INT64_MAX;
	sqlite3_stmt *q;
	bool row, good = true;
	enum err error = ERR_OK;

	TRY(db_statement(v->reader, SPAN_ROWS, &q, v->fault));
	while (good && (error = step(v, q, &row)) == ERR_OK && row) {
		int64_t id = sqlite3_column_int64(q, 0), seal = sqlite3_column_int64(q, 3);

		good = id < above && sqlite3_column_type(q, 4) != SQLITE_NULL &&
		       sqlite3_column_int64(q, 4) == seal;
		above = id;
		tally_add(&v->seals, (uint64_t)seal);
		tally_add(&v->services, hash_service(sqlite3_column_int64(q, 2), id));
		tally_add(&v->traces, hash_trace(db_column(q, 1), id));
	}
	db_reset(q);
	return good ? error : ERR_DAMAGED;
}

/* A span of the service, with the name that its seal covers. */
static enum err verify_one(struct verifying *v, int64_t id)
{
	bool row = false, good = false;
	sqlite3_stmt *q;
	enum err error;

	TRY(db_query_with(v->reader, SPAN_ALL, &q, v->fault, id, id + 1));
	error = db_step(v->reader, q, &row, v->fault);
	if (error == ERR_OK && row)
		good = span_row_good(v->day, v->reader, q);
	db_reset(q);
	return error == ERR_OK && !good ? ERR_DAMAGED : error;
}

static enum err verify_services(struct verifying *v)
{
	int64_t last = INT64_MIN, last_id = 0;
	struct tally found = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(v->reader, SPAN_SERVICES, &q, v->fault));
	while ((error = step(v, q, &row)) == ERR_OK && row) {
		int64_t service = sqlite3_column_int64(q, 0), id = sqlite3_column_int64(q, 1);

		if (service < last || (service == last && id <= last_id) ||
		    sqlite3_column_int64(q, 2) != id)
			error = ERR_DAMAGED;
		else if (service != last)
			error = verify_one(v, id);
		if (error != ERR_OK)
			break;
		tally_add(&found, hash_service(service, id));
		last = service;
		last_id = id;
	}
	db_reset(q);
	TRY(error);
	return tally_equal(&found, &v->services) ? ERR_OK : ERR_DAMAGED;
}

static enum err verify_traces(struct verifying *v)
{
	CLEANUP(buf_release) struct buf last = BUF_INIT(SIZE_MAX);
	struct tally found = {0};
	int64_t last_id = INT64_MIN;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(v->reader, SPAN_TRACES, &q, v->fault));
	while ((error = step(v, q, &row)) == ERR_OK && row) {
		struct str trace = db_column(q, 0);
		int64_t id = sqlite3_column_int64(q, 1);
		int order = str_cmp(buf_view(&last), trace);

		error = order > 0 || (!order && id <= last_id) ? ERR_DAMAGED : ERR_OK;
		tally_add(&found, hash_trace(trace, id));
		if (order && error == ERR_OK) {
			buf_clear(&last);
			buf_str(&last, trace);
			error = buf_error(&last);
		}
		if (error != ERR_OK)
			break;
		last_id = id;
	}
	db_reset(q);
	TRY(error);
	return tally_equal(&found, &v->traces) ? ERR_OK : ERR_DAMAGED;
}

/* Who asks for a service looks for its name. */
static enum err verify_names(struct verifying *v, const struct tally *expected)
{
	uint64_t key = atomic_load(&v->day->key);
	struct tally found = {0};
	int64_t last = INT64_MIN;
	bool row, good = true;
	sqlite3_stmt *q;
	enum err error;

	TRY(db_statement(v->reader, NAME_ALL, &q, v->fault));
	while ((error = step(v, q, &row)) == ERR_OK && row) {
		int64_t id = sqlite3_column_int64(q, 0), seal = sqlite3_column_int64(q, 2);

		tally_add(&found, (uint64_t)seal);
		good &= id > last &&
			day_seal_good(v->day, v->reader, seal, seal_name(key, db_column(q, 1)));
		last = id;
	}
	db_reset(q);
	TRY(error);
	return good && tally_equal(&found, expected) ? ERR_OK : ERR_DAMAGED;
}

enum err spans_verify(struct day *d, struct db *reader, struct ask *ask)
{
	struct fault *fault = ask ? ask->fault : NULL;
	struct verifying v = {.day = d, .reader = reader, .ask = ask, .fault = fault};
	struct ledger l;

	if (atomic_load(&d->spans_verified) || reader->version < reader->schema->older_below)
		return ERR_OK;
	/* All of one moment. */
	TRY(ledger_read(reader, d->place, &l, fault));
	TRY(verify_table(&v));
	if (!tally_equal(&v.seals, &l.tallies[TALLY_SPANS]))
		return ERR_DAMAGED;
	TRY(verify_names(&v, &l.tallies[TALLY_NAMES]));
	TRY(verify_services(&v));
	TRY(verify_traces(&v));
	atomic_store(&d->spans_verified, true);
	return ERR_OK;
}
