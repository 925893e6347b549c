/*
 * What a backup copies is read once more: each row of a snapshot has its seal and its content the
 * checksum that it begins with, and none is missing. Nothing is decoded; `vestal check` on the copy
 * does that, too.
 */
#include "store/copy_verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "store/spans.h"

struct copy_check {
	struct day *day;
	struct db *reader;
	struct fault *fault;
	uint64_t bad;
	char first[200]; /* what is bad */
};

static void bad(struct copy_check *c, const char *format, ...) PRINTF_LIKE(2, 3);
static void bad(struct copy_check *c, const char *format, ...)
{
	va_list args;

	if (c->bad++)
		return;
	va_start(args, format);
	vsnprintf(c->first, sizeof(c->first), format, args);
	va_end(args);
}

static const char *name_of(struct copy_check *c, int64_t service)
{
	struct day_service *ds = day_service_by_id(c->day, (uint32_t)service);

	return ds ? ds->name : "a missing service";
}

static bool seal_good(const struct copy_check *c, int64_t found, uint64_t expected)
{
	return day_seal_good(c->day, c->reader, found, expected);
}

static bool content_good(struct str blob)
{
	struct str rest;

	return blob.n && blob_verify(blob, (uint8_t)blob.p[0], &rest) == ERR_OK;
}

/* ------------------------------------------------------------------ rows */

static void check_dictionary(struct copy_check *c, sqlite3_stmt *q)
{
	int64_t id = sqlite3_column_int64(q, 0);
	struct str data = db_column(q, 1);

	if (!seal_good(c, sqlite3_column_int64(q, 2),
		       seal_dictionary(atomic_load(&c->day->key), id, data)) ||
	    !content_good(data))
		bad(c, "the dictionary of %s", name_of(c, id >> 32));
}

static void check_chunk(struct copy_check *c, sqlite3_stmt *q)
{
	if (!seal_good(c, sqlite3_column_int64(q, 4),
		       seal_chunk_row(atomic_load(&c->day->key), q)) ||
	    !content_good(db_column(q, 3)))
		bad(c, "a chunk of %s", name_of(c, sqlite3_column_int64(q, 1)));
}

static void check_block(struct copy_check *c, sqlite3_stmt *q)
{
	if (!block_row_good(c->day, c->reader, q) || !content_good(db_column(q, 6)))
		bad(c, "a block of %s", name_of(c, sqlite3_column_int64(q, 1)));
}

static void check_rollup(struct copy_check *c, sqlite3_stmt *q)
{
	struct str data = db_column(q, 4);

	if (!seal_good(c, sqlite3_column_int64(q, 5),
		       seal_rollup(atomic_load(&c->day->key), sqlite3_column_int64(q, 1),
				   sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3), data)) ||
	    !content_good(data))
		bad(c, "a roll-up of %s", name_of(c, sqlite3_column_int64(q, 1)));
}

static void check_span(struct copy_check *c, sqlite3_stmt *q)
{
	if (!span_row_good(c->day, c->reader, q))
		bad(c, "a span");
}

static enum err check_rows(struct copy_check *c, unsigned which, int64_t from, int64_t until,
			   void (*each)(struct copy_check *c, sqlite3_stmt *q), uint64_t *ret_n)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	*ret_n = 0;
	TRY(db_query_with(c->reader, which, &q, c->fault, from, until));
	while ((error = db_step(c->reader, q, &row, c->fault)) == ERR_OK && row) {
		if (work_stopped()) {
			error = ERR_CANCELLED;
			break;
		}
		++*ret_n;
		each(c, q);
	}
	db_reset(q);
	return error;
}

/* Blocks and roll-ups that a service must have. */
static enum err check_services(struct copy_check *c)
{
	struct fault ignored = {0};
	struct day_service *ds;

	TRY(day_verify(c->day, c->fault));
	for (size_t i = 0; (ds = day_service_at(c->day, i)); i++)
		if (is_damage(service_verify(ds, &ignored)))
			bad(c, "the blocks of %s", ds->name);
	return ERR_OK;
}

static enum err check_profiles(struct copy_check *c)
{
	uint64_t n;

	TRY(check_rows(c, DICTIONARY_OF, 0, INT64_MAX, check_dictionary, &n));
	TRY(check_rows(c, CHUNK_ALL, INT64_MIN, INT64_MAX, check_chunk, &n));
	TRY(check_rows(c, BLOCK_ALL, INT64_MIN, INT64_MAX, check_block, &n));
	TRY(check_rows(c, ROLLUP_ALL, INT64_MIN, INT64_MAX, check_rollup, &n));
	return check_services(c);
}

static enum err check_spans(struct copy_check *c, const struct ledger *l)
{
	uint64_t n;

	TRY(check_rows(c, SPAN_ALL, INT64_MIN, INT64_MAX, check_span, &n));
	if (c->reader->version >= c->reader->schema->older_below && n != l->tallies[TALLY_SPANS].n)
		bad(c, "%llu spans are there instead of the %llu that were written",
		    (unsigned long long)n, (unsigned long long)l->tallies[TALLY_SPANS].n);
	return ERR_OK;
}

enum err copy_verify(struct day *d, struct db *reader, const struct ledger *ledger,
		     struct fault *ret_damage, struct fault *fault)
{
	struct copy_check c = {.day = d, .reader = reader, .fault = fault};
	enum err error = d->name.kind == DAY_SPANS ? check_spans(&c, ledger) : check_profiles(&c);

	/* Pages that cannot be read. */
	if (is_damage(error) || error == ERR_INTERNAL) {
		bad(&c, "not all rows can be read");
		*fault = (struct fault){0};
		error = ERR_OK;
	}
	if (error == ERR_OK && c.bad)
		(void)fault_set(ret_damage, ERR_DAMAGED,
				"%s is damaged: %s%s: run vestal check on the copy", d->path,
				c.first, c.bad > 1 ? " and other rows" : "");
	return error;
}
