/*
 * Checks that no span of a day is missing, and that searches find each of them. Rows that are
 * searched for are only as complete as the pages that lead to them, so before the first query of a
 * kind its search structure is read once:
 *
 * An index is a tree whose inner pages contain entries, too: if all entries are in order, a search
 * finds each. The inner pages of a table contain only keys, which no row shows, so each key is
 * searched. SQLite reports an entry that leads to no row.
 *
 * The ledger has the sums of the entries of both indexes, except in files written by an older
 * version or from which spans were deleted: for these the table is read as well.
 */
#include "store/spans.h"

struct verifying {
	struct day *day;
	struct db *reader;
	struct ask *ask;
	struct fault *fault;
	struct ledger ledger;
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

void spans_count_entries(struct ledger *l, int64_t id, int64_t service, struct str trace)
{
	tally_add(&l->tallies[TALLY_SPAN_SERVICES], hash_service(service, id));
	tally_add(&l->tallies[TALLY_SPAN_TRACES], hash_trace(trace, id));
}

static bool has_sums(const struct ledger *l)
{
	return l->tallies[TALLY_SPAN_SERVICES].n == l->tallies[TALLY_SPANS].n &&
	       l->tallies[TALLY_SPAN_TRACES].n == l->tallies[TALLY_SPANS].n;
}

/* Computes the sums missing in the ledger. */
static enum err count_entries(struct verifying *v)
{
	const struct tally *spans = &v->ledger.tallies[TALLY_SPANS];
	struct ledger found = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(v->reader, SPAN_ENTRIES, &q, v->fault));
	while ((error = step(v, q, &row)) == ERR_OK && row) {
		tally_add(&found.tallies[TALLY_SPANS], (uint64_t)sqlite3_column_int64(q, 3));
		spans_count_entries(&found, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 2),
				    db_column(q, 1));
	}
	db_reset(q);
	TRY(error);
	v->ledger.tallies[TALLY_SPAN_SERVICES] = found.tallies[TALLY_SPAN_SERVICES];
	v->ledger.tallies[TALLY_SPAN_TRACES] = found.tallies[TALLY_SPAN_TRACES];
	return tally_equal(&found.tallies[TALLY_SPANS], spans) ? ERR_OK : ERR_DAMAGED;
}

static enum err verify_table(struct verifying *v)
{
	struct tally found = {0}, services = {0};
	int64_t above = INT64_MAX;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(v->reader, SPAN_ROWS, &q, v->fault));
	while ((error = step(v, q, &row)) == ERR_OK && row) {
		int64_t id = sqlite3_column_int64(q, 0), seal = sqlite3_column_int64(q, 1);

		if (id >= above) {
			error = ERR_DAMAGED;
			break;
		}
		above = id;
		tally_add(&found, (uint64_t)seal);
		tally_add(&services, hash_service(sqlite3_column_int64(q, 2), id));
	}
	db_reset(q);
	TRY(error);
	/* The key of a row that is not shown may be altered: its seal is not recomputed here. */
	return tally_equal(&found, &v->ledger.tallies[TALLY_SPANS]) &&
			       tally_equal(&services, &v->ledger.tallies[TALLY_SPAN_SERVICES])
		       ? ERR_OK
		       : ERR_DAMAGED;
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

/* Entries of all services, and whether a search finds those of one (0 = none). */
static enum err verify_services(struct verifying *v, int64_t searched)
{
	int64_t last = INT64_MIN, last_id = 0;
	struct tally found = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(v->reader, SPAN_SERVICES, &q, v->fault, searched));
	while ((error = step(v, q, &row)) == ERR_OK && row) {
		int64_t service = sqlite3_column_int64(q, 0), id = sqlite3_column_int64(q, 1);

		if (service < last || (service == last && id <= last_id) ||
		    (service == searched && sqlite3_column_int64(q, 2) != id))
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
	return tally_equal(&found, &v->ledger.tallies[TALLY_SPAN_SERVICES]) ? ERR_OK : ERR_DAMAGED;
}

/* Only entries of the service are searched, so those of others may wait. */
static enum err verify_entries(struct verifying *v, int64_t service)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(v->reader, SPAN_ENTRIES_OF, &q, v->fault, service));
	while ((error = step(v, q, &row)) == ERR_OK && row)
		if (sqlite3_column_type(q, 1) == SQLITE_NULL ||
		    sqlite3_column_int64(q, 1) != sqlite3_column_int64(q, 0)) {
			error = ERR_DAMAGED;
			break;
		}
	db_reset(q);
	return error;
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
	return tally_equal(&found, &v->ledger.tallies[TALLY_SPAN_TRACES]) ? ERR_OK : ERR_DAMAGED;
}

/* A query for a service searches its name. */
static enum err verify_names(struct verifying *v)
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
	return good && tally_equal(&found, &v->ledger.tallies[TALLY_NAMES]) ? ERR_OK : ERR_DAMAGED;
}

/* ------------------------------------------------------------------ once each */

static enum err verify_way(struct verifying *v, enum span_way way, int64_t service)
{
	bool known;

	/* Consistent, because the caller began a transaction. */
	TRY(ledger_read(v->reader, v->day->place, &v->ledger, v->fault));
	known = has_sums(&v->ledger);
	if (!known)
		TRY(count_entries(v));
	if (way == SPANS_BY_TIME)
		TRY(verify_table(v));
	if (way == SPANS_BY_SERVICE)
		TRY(verify_names(v));
	/* Sums of the table itself prove nothing about its keys; those of the index do. */
	if (way == SPANS_BY_SERVICE || (way == SPANS_BY_TIME && !known))
		TRY(verify_services(v, service));
	if (way == SPANS_BY_TRACE)
		TRY(verify_traces(v));
	atomic_fetch_or(&v->day->spans_verified, way);
	return ERR_OK;
}

static bool is_verified(struct day *d, int64_t service)
{
	bool found = false;

	mutex_lock(&d->lists);
	vec_for_each (one, &d->span_services)
		found |= *one == service;
	mutex_unlock(&d->lists);
	return found;
}

static enum err note_service(struct day *d, int64_t service)
{
	enum err error;

	mutex_lock(&d->lists);
	error = vec_push(&d->span_services, service);
	mutex_unlock(&d->lists);
	return error;
}

static enum err verify_service(struct verifying *v, int64_t service)
{
	if (is_verified(v->day, service))
		return ERR_OK;
	TRY(verify_entries(v, service));
	return note_service(v->day, service);
}

enum err spans_verify(struct day *d, struct db *reader, enum span_way way, int64_t service,
		      struct ask *ask)
{
	struct verifying v = {
		.day = d, .reader = reader, .ask = ask, .fault = ask ? ask->fault : NULL};

	if (reader->version < reader->schema->older_below)
		return ERR_OK;
	if (!(atomic_load(&d->spans_verified) & way)) {
		TRY(verify_way(&v, way, service));
		return service ? note_service(d, service) : ERR_OK;
	}
	return service ? verify_service(&v, service) : ERR_OK;
}
