/*
 * First load of a day: its services, its fresh chunks, and a check that no committed row is
 * missing. Damage is recorded in `damage`, so that uploads continue and queries report it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "store/catalog.h"
#include "store/reach.h"

const struct db_schema *day_schema_of(const struct day *d)
{
	return d->name.kind == DAY_SPANS ? &spans_schema : &day_schema;
}

bool is_damage(enum err error)
{
	return error == ERR_DAMAGED || error == ERR_CORRUPT || error == ERR_TRUNCATED ||
	       error == ERR_BAD_INDEX || error == ERR_UNSUPPORTED;
}

enum err day_damaged(const struct day *d, enum err error, const char *what, const char *service,
		     struct fault *fault)
{
	if (error == ERR_DAMAGED && fault && fault->code == ERR_DAMAGED)
		return error;
	if (!is_damage(error))
		return error;
	return fault_set(fault, ERR_DAMAGED, "%s is damaged: %s%s%s: run vestal check", d->path,
			 what, service ? " of " : "", service ? service : "");
}

bool day_seal_good(const struct day *d, const struct db *reader, int64_t found, uint64_t expected)
{
	if ((uint64_t)found == expected)
		return true;
	return !found &&
	       (reader->version < reader->schema->older_below || atomic_load(&d->unsealed));
}

enum err chunk_row_open(const struct day *d, const struct db *reader, sqlite3_stmt *q,
			struct arena *arena, struct chunk_view *ret)
{
	uint64_t seal = seal_chunk_row(atomic_load(&d->key), q);

	if (!day_seal_good(d, reader, sqlite3_column_int64(q, 4), seal))
		return ERR_DAMAGED;
	return chunk_open(db_column(q, 3), arena, ret);
}

bool block_row_good(const struct day *d, const struct db *reader, sqlite3_stmt *q)
{
	return day_seal_good(d, reader, sqlite3_column_int64(q, 7),
			     seal_block_row(atomic_load(&d->key), q));
}

/* ------------------------------------------------------------------ damage */

static void note(struct day *d, const char *format, ...) PRINTF_LIKE(2, 3);
static void note(struct day *d, const char *format, ...)
{
	char text[300];
	va_list args;

	if (d->damage.code)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)fault_set(&d->damage, ERR_DAMAGED, "%s is damaged: %s: run vestal check --repair",
			d->path, text);
}

enum err ask_forgive(struct ask *ask, enum err error, const struct fault *fault)
{
	struct damage_notes *notes = ask ? ask->damage : NULL;

	if (error != ERR_DAMAGED || !notes)
		return error;
	if (notes->n < DAMAGE_NOTES) {
		if (fault && fault->code)
			notes->v[notes->n] = *fault;
		else
			(void)fault_set(&notes->v[notes->n], error, "%s", err_text(error));
	}
	notes->n++;
	return ERR_OK;
}

enum err day_sound(struct day *d, struct ask *ask)
{
	if (!d->damage.code)
		return ERR_OK;
	if (ask && ask->damage)
		return ask_forgive(ask, ERR_DAMAGED, &d->damage);
	if (ask && ask->fault)
		*ask->fault = d->damage;
	return ERR_DAMAGED;
}

enum err day_ask(struct day *d, struct ask *ask)
{
	struct fault own = {0};
	enum err error = day_look_into(d, &own);

	if (error == ERR_OK)
		return day_sound(d, ask);
	if (ask && ask->fault)
		*ask->fault = own;
	return error;
}

/* ------------------------------------------------------------------ looking */

static enum err read_service(struct day *d, struct db *reader, sqlite3_stmt *q,
			     struct tally *services)
{
	struct str name = db_column(q, 1);
	int64_t id = sqlite3_column_int64(q, 0), series = sqlite3_column_int64(q, 2);
	struct day_service *ds;

	/* An impossible row was altered; the tally reports it. */
	if (!name.n || memchr(name.p, 0, name.n) || id < 1 || id > UINT32_MAX >> 4)
		return ERR_OK;
	TRY(day_service_get(d, name, &ds));
	TRY(day_service_expect_id(ds, (uint32_t)id));
	ds->row.seal = (uint64_t)sqlite3_column_int64(q, 4);
	ds->row.series = (uint32_t)series;
	ds->row.altered = 0;
	tally_add(services, ds->row.seal);
	if (reader->version >= DAY_SEALED_VERSION &&
	    (!tally_read(db_column(q, 3), ds->row.tallies, SERVICE_TALLIES) ||
	     ds->row.seal !=
		     seal_service(atomic_load(&d->key), id, name, series, ds->row.tallies))) {
		ds->row.altered = 1;
		note(d, "the row of a service was altered");
	}
	atomic_store(&ds->id, (uint32_t)id);
	atomic_store(&ds->series, (uint32_t)series);
	atomic_fetch_add(&d->quota.series, (uint32_t)series);
	return ERR_OK;
}

static enum err read_fresh(struct day_service *ds, struct fresh_chunk chunk)
{
	enum err error;

	mutex_lock(&ds->day->lists);
	error = vec_reserve(&ds->fresh, 1);
	if (error == ERR_OK)
		day_service_add_fresh(ds, chunk);
	mutex_unlock(&ds->day->lists);
	return error;
}

/* Fresh chunks while they are read. */
struct chunks_read {
	struct tally found;
	int64_t last_key;
	unsigned altered, unsure;
	/* Difference between the seals that the rows of `unsure` should have and those they have. */
	uint64_t unsure_sum;
};

/* For more altered chunks nobody searches for the service of each. */
#define ALTERED_MOST 64

/* The service of a chunk with a wrong seal. If it is not certain, and only the seal was altered, the
 * tally shows that. */
static struct day_service *find_owner(struct day *d, sqlite3_stmt *q, struct chunks_read *r)
{
	struct day_service *ds = r->altered++ < ALTERED_MOST ? chunk_owner(d, q) : NULL;

	if (!ds) {
		r->unsure++;
		r->unsure_sum += seal_chunk_row(atomic_load(&d->key), q) -
				 (uint64_t)sqlite3_column_int64(q, 4);
		ds = day_service_by_id(d, (uint32_t)sqlite3_column_int64(q, 1));
	}
	return ds;
}

/* Checks key and service here: a query that searches by them would not find an altered chunk. */
static enum err read_chunk(struct day *d, const struct db *reader, sqlite3_stmt *q,
			   struct chunks_read *r)
{
	struct day_service *ds;
	struct fresh_chunk chunk = {sqlite3_column_int64(q, 0),
				    (uint32_t)sqlite3_column_int64(q, 2)};

	tally_add(&r->found, (uint64_t)sqlite3_column_int64(q, 4));
	if (day_seal_good(d, reader, sqlite3_column_int64(q, 4),
			  seal_chunk_row(atomic_load(&d->key), q)))
		ds = day_service_by_id(d, (uint32_t)sqlite3_column_int64(q, 1));
	else
		ds = find_owner(d, q, r);
	if (chunk.key <= r->last_key)
		note(d, "keys of chunks are not in order");
	r->last_key = chunk.key;
	if (ds)
		return read_fresh(ds, chunk);
	note(d, "a chunk belongs to a service that is missing");
	return ERR_OK;
}

/* Reads the services and the fresh chunks. */
static enum err read_services(struct day *d, struct db *reader, struct fault *fault)
{
	struct chunks_read chunks = {.last_key = INT64_MIN};
	struct tally services = {0};
	sqlite3_stmt *q;
	enum err error;
	bool row, good;

	TRY(db_statement(reader, SERVICE_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row)
		if ((error = read_service(d, reader, q, &services)) != ERR_OK)
			break;
	db_reset(q);
	TRY(error);
	TRY(db_query_with(reader, CHUNK_ALL, &q, fault, INT64_MIN, INT64_MAX));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row)
		if ((error = read_chunk(d, reader, q, &chunks)) != ERR_OK)
			break;
	db_reset(q);
	TRY(error);
	TRY(db_statement(reader, CHUNK_LOST, &q, fault));
	error = db_step(reader, q, &row, fault);
	db_reset(q);
	TRY(error);
	/* It would be taken for a compacted chunk. */
	if (row)
		note(d, "a chunk is not found by its key");
	chunks.found.sum += chunks.unsure_sum;
	if (chunks.unsure && !tally_equal(&chunks.found, &d->ledger.tallies[TALLY_CHUNKS]))
		note(d, "the checksum of a chunk is wrong");
	if (reader->version >= DAY_SEALED_VERSION &&
	    (!tally_equal(&services, &d->ledger.tallies[TALLY_SERVICES]) ||
	     !tally_equal(&chunks.found, &d->ledger.tallies[TALLY_CHUNKS])))
		note(d,
		     "%llu services and %llu chunks do not match the %llu and %llu that were "
		     "written",
		     (unsigned long long)services.n, (unsigned long long)chunks.found.n,
		     (unsigned long long)d->ledger.tallies[TALLY_SERVICES].n,
		     (unsigned long long)d->ledger.tallies[TALLY_CHUNKS].n);
	TRY(reach_load(d, reader, &good, fault));
	if (!good)
		note(d, "its list of long profiles was altered");
	return ERR_OK;
}

static void forget_services(struct day *d)
{
	struct day_service *ds;

	for (size_t i = 0; (ds = day_service_at(d, i)); i++) {
		mutex_lock(&d->lists);
		day_service_clear_fresh(ds);
		mutex_unlock(&d->lists);
		engine_lock(d->engine);
		ds->reaches.n = 0;
		engine_unlock(d->engine);
	}
	atomic_store(&d->quota.series, 0);
	d->damage = (struct fault){0};
}

/* Compares the journal's commit number with the file's ledger. */
static void compare_with_journal(struct day *d, const struct ledger *l)
{
	struct commit_slot slot;

	if (!journal_find(&d->tenant->journal, d->name.kind, d->name.day, &slot) ||
	    slot.state != SLOT_THERE || !slot.commits)
		slot.commits = 0;
	else if (!l)
		note(d, "its %llu transactions are missing", (unsigned long long)slot.commits);
	else if (slot.file != l->file)
		note(d, "it was replaced by another file");
	if (l && slot.commits > l->commits)
		note(d, "its last %llu transactions are missing",
		     (unsigned long long)(slot.commits - l->commits));
	if (l && l->lost)
		note(d, "%llu transactions are missing", (unsigned long long)l->lost);
}

static enum err look_at_file(struct day *d, struct db *reader, struct fault *fault)
{
	bool sealed = reader->version >= reader->schema->older_below;

	TRY(db_begin(reader, false, fault));
	if (sealed) {
		TRY(ledger_read(reader, d->place, &d->ledger, fault));
		atomic_store(&d->key, file_key(d->place, d->ledger.file));
		atomic_store(&d->unsealed, d->ledger.unsealed > 0);
	}
	compare_with_journal(d, sealed ? &d->ledger : NULL);
	/* An old file without a ledger replaced one with a ledger: do not trust it. */
	if (!sealed && d->damage.code) {
		if (fault)
			*fault = d->damage;
		return ERR_DAMAGED;
	}
	return d->name.kind == DAY_PROFILES ? read_services(d, reader, fault) : ERR_OK;
}

static enum err look(struct day *d, struct fault *fault)
{
	struct db *reader = NULL;
	enum err error = ERR_NOT_FOUND;

	if (access(d->path, F_OK) == 0)
		error = day_reader(d, &reader, fault);
	if (error == ERR_NOT_FOUND) {
		/* The file was created without a commit: the next writer completes it. */
		atomic_store(&d->exists, false);
		compare_with_journal(d, NULL);
		return ERR_OK;
	}
	if (error == ERR_OK)
		error = look_at_file(d, reader, fault);
	day_reader_back(d, reader, error);
	/* SQLite reports a missing table this way. */
	if (error == ERR_INTERNAL)
		error = ERR_DAMAGED;
	/* Keep the message: it says which version of vestal is needed. */
	if (error == ERR_UNSUPPORTED && fault && fault->code == error)
		error = fault->code = ERR_DAMAGED;
	return day_damaged(d, error, "it cannot be read", NULL, fault);
}

enum err day_look_into(struct day *d, struct fault *fault)
{
	enum err error = ERR_OK;

	if (atomic_load_explicit(&d->known, memory_order_acquire))
		return ERR_OK;
	mutex_lock(&d->loading);
	if (!atomic_load(&d->known) && atomic_load(&d->exists)) {
		error = look(d, fault);
		/* Forget everything; the next access loads the day again. */
		if (error != ERR_OK)
			forget_services(d);
	}
	if (error == ERR_OK && !atomic_load(&d->known) && !atomic_load(&d->exists))
		atomic_store(&d->measured, true);
	if (error == ERR_OK)
		atomic_store(&d->known, true);
	mutex_unlock(&d->loading);
	return error;
}

/* ------------------------------------------------------------------ writing */

/* Counts transactions that are in the journal and not in the file as lost; the next transaction
 * stores that in the ledger. */
static enum err continue_ledger(struct day *d, struct fault *fault)
{
	struct ledger *l = &d->ledger;
	struct commit_slot slot;

	d->recorded = UINT64_MAX;
	if (!journal_find(&d->tenant->journal, d->name.kind, d->name.day, &slot) ||
	    slot.state != SLOT_THERE)
		slot = (struct commit_slot){.file = l->file};
	if (slot.file == l->file && slot.commits > l->commits) {
		l->lost += slot.commits - l->commits;
		l->commits = slot.commits;
	} else if (slot.file != l->file && !l->commits) {
		/* A new file in place of a deleted one. */
		l->lost += slot.commits;
	} else if (slot.file != l->file && slot.commits) {
		return fault_set(
			fault, ERR_DAMAGED,
			"%s is damaged: it was replaced by another file: run vestal check --repair",
			d->path);
	}
	/* The process may have been killed between the commit and its journal write. */
	if (l->commits && (slot.file != l->file || slot.commits < l->commits))
		return journal_note(&d->tenant->journal, d->name.kind, d->name.day, l->file,
				    l->commits, fault);
	return ERR_OK;
}

/* Reloads the rows of services after an upgrade sealed them. */
static enum err reread_services(struct day *d, struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(d->writer, SERVICE_ALL, &q, fault));
	while ((error = db_step(d->writer, q, &row, fault)) == ERR_OK && row) {
		struct day_service *ds = day_service_by_id(d, (uint32_t)sqlite3_column_int64(q, 0));

		if (!ds)
			continue;
		ds->row.seal = (uint64_t)sqlite3_column_int64(q, 4);
		ds->row.series = (uint32_t)sqlite3_column_int64(q, 2);
		if (!tally_read(db_column(q, 3), ds->row.tallies, SERVICE_TALLIES))
			break;
	}
	db_reset(q);
	return error;
}

enum err day_open_writer(struct day *d, struct fault *fault)
{
	struct day_setup setup = {.place = d->place, .spans = d->name.kind == DAY_SPANS};
	struct db_setup hook = {day_set_up, &setup};

	TRY(connection_open(d->engine, d->path, day_schema_of(d), DB_CREATE, &hook, &d->writer,
			    fault));
	TRY(ledger_read(d->writer, d->place, &d->ledger, fault));
	atomic_store(&d->key, file_key(d->place, d->ledger.file));
	atomic_store(&d->unsealed, d->ledger.unsealed > 0);
	if (setup.upgraded) {
		atomic_store(&d->upgraded, true);
		atomic_fetch_add(&d->changes, 1);
		if (d->name.kind == DAY_PROFILES)
			TRY(reread_services(d, fault));
	}
	return continue_ledger(d, fault);
}

/* ------------------------------------------------------------------ removing */

enum err day_remove_file(struct tenant *t, struct day_name name, struct fault *fault)
{
	enum err forgotten;

	TRY(journal_removing(&t->journal, name.kind, name.day, fault));
	forgotten = catalog_forget(t, name, NULL);
	TRY(day_unlink(t->folder, name, fault));
	TRY(folder_sync(t->folder, fault));
	/* The disk may be too full for the catalog's commit: keep the slot, and let the next start
	 * update the catalog. */
	if (forgotten != ERR_OK)
		return ERR_OK;
	return journal_removed(&t->journal, name.kind, name.day, fault);
}
