/*
 * The catalog of a tenant: settings, audit log, interrupted batches, and the list of its day files.
 * It is opened on demand. Every transaction goes through catalog_begin and catalog_end, which
 * update its ledger and its number in the journal.
 */
#include <unistd.h>

#include "base/file.h"
#include "store/catalog.h"

static char *catalog_path(const struct tenant *t)
{
	struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	buf_printf(&path, "%s/catalog.db", t->folder);
	if (path.error != ERR_OK)
		buf_release(&path);
	return path.data;
}

bool catalog_exists(const struct tenant *t)
{
	char *path = catalog_path(t);
	bool exists = path && access(path, F_OK) == 0;

	mem_free(path);
	return exists;
}

/* ------------------------------------------------------------------ opening */

/* Runs in the transaction that creates or upgrades the file; existing rows keep the seal 0. */
static enum err set_up(void *context, struct db *db, int64_t from, struct fault *fault)
{
	struct tenant *t = context;
	struct ledger l;
	sqlite3_stmt *q;
	bool row;
	enum err error = ERR_OK;

	TRY(ledger_make(db, &l, fault));
	if (from) {
		TRY(db_statement(db, CATALOG_ROW_COUNTS, &q, fault));
		error = db_step(db, q, &row, fault);
		for (int i = TALLY_SETTINGS; error == ERR_OK && i <= TALLY_UNDO; i++) {
			l.tallies[i].n = (uint64_t)sqlite3_column_int64(q, i);
			l.unsealed += l.tallies[i].n;
		}
		db_reset(q);
	}
	TRY(error);
	return ledger_write(db, t->place, &l, fault);
}

static enum err compare_with_journal(struct tenant *t, struct fault *fault)
{
	struct ledger *l = &t->ledger;
	struct commit_slot slot;
	bool same;

	if (!journal_find(&t->journal, LEDGER_CATALOG, 0, &slot) || slot.state != SLOT_THERE)
		slot = (struct commit_slot){.file = l->file};
	same = slot.file == l->file && slot.commits <= l->commits;
	/* The process may have been killed between the commit and its journal write. */
	if (same && !l->lost && slot.commits < l->commits)
		return journal_note(&t->journal, LEDGER_CATALOG, 0, l->file, l->commits, fault);
	if (same && !l->lost)
		return ERR_OK;
	return fault_set(fault, ERR_DAMAGED,
			 "%s/catalog.db is damaged: transactions are missing, or the file was "
			 "replaced: run vestal check --repair",
			 t->folder);
}

static enum err open_file(struct tenant *t, const char *path, struct fault *fault)
{
	struct db_setup hook = {set_up, t};
	enum err error = catalog_open(t, path, &hook, fault);

	if (error == ERR_OK)
		error = folder_sync(t->folder, fault);
	if (error == ERR_OK)
		error = ledger_read(t->catalog, t->place, &t->ledger, fault);
	if (error == ERR_OK)
		error = compare_with_journal(t, fault);
	if (error == ERR_OK)
		return ERR_OK;
	catalog_close(t);
	if (!is_damage(error) || error == ERR_DAMAGED)
		return error;
	return fault_set(fault, ERR_DAMAGED, "%s is damaged: run vestal check --repair", path);
}

enum err tenant_catalog(struct tenant *t, struct db **ret, struct fault *fault)
{
	enum err error = ERR_OK;

	mutex_lock(&t->catalog_lock);
	if (!t->catalog) {
		char *path = catalog_path(t);

		error = path ? open_file(t, path, fault) : ERR_NO_MEMORY;
		mem_free(path);
	}
	if (error != ERR_OK) {
		mutex_unlock(&t->catalog_lock);
		return error;
	}
	catalog_touch(t);
	*ret = t->catalog;
	return ERR_OK;
}

/* ------------------------------------------------------------------ transactions */

enum err catalog_begin(struct catalog_change *c, struct tenant *t, struct fault *fault)
{
	enum err error;

	*c = (struct catalog_change){.tenant = t};
	TRY(tenant_catalog(t, &c->db, fault));
	c->before = t->ledger;
	error = db_begin(c->db, true, fault);
	if (error != ERR_OK)
		mutex_unlock(&t->catalog_lock);
	return error;
}

enum err catalog_end(struct catalog_change *c, enum err error, struct fault *fault)
{
	struct tenant *t = c->tenant;

	t->ledger.commits++;
	if (error == ERR_OK)
		error = ledger_write(c->db, t->place, &t->ledger, fault);
	if (error == ERR_OK)
		error = db_commit(c->db, fault);
	if (error == ERR_OK) {
		(void)!journal_note(&t->journal, LEDGER_CATALOG, 0, t->ledger.file,
				    t->ledger.commits, NULL);
	} else {
		db_rollback(c->db);
		t->ledger = c->before;
	}
	mutex_unlock(&t->catalog_lock);
	return error;
}

enum err catalog_take(struct catalog_change *c, int tally, sqlite3_stmt *q, struct fault *fault)
{
	struct ledger *l = &c->tenant->ledger;
	bool row;
	enum err error;

	while ((error = db_step(c->db, q, &row, fault)) == ERR_OK && row) {
		uint64_t seal = (uint64_t)sqlite3_column_int64(q, 0);

		tally_take(&l->tallies[tally], seal);
		l->unsealed -= !seal && l->unsealed;
	}
	db_reset(q);
	return error;
}

/* ------------------------------------------------------------------ files of days */

static enum err forget_file(struct catalog_change *c, struct day_name name, struct fault *fault)
{
	sqlite3_stmt *q;

	TRY(db_query_with(c->db, FILE_DELETE, &q, fault, name.kind, name.day));
	return catalog_take(c, TALLY_FILES, q, fault);
}

uint64_t seal_file(uint64_t key, int kind, int64_t day, uint64_t file, uint64_t commits)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_FILE), (uint64_t)kind);

	s = seal_number(seal_number(s, (uint64_t)day), file);
	return seal_end(seal_number(s, commits));
}

enum err catalog_record(struct day *d, struct fault *fault)
{
	const struct ledger *l = &d->ledger;
	struct tenant *t = d->tenant;
	struct catalog_change c;
	uint64_t seal;
	enum err error;

	if (!d->recorded || d->recorded == l->commits || atomic_load(&d->gone))
		return ERR_OK;
	/* Journal first: it must never be older than the catalog, not even for a commit whose
	 * journal write failed. */
	TRY(journal_note(&t->journal, d->name.kind, d->name.day, l->file, l->commits, fault));
	TRY(journal_sync(&t->journal, fault));
	TRY(catalog_begin(&c, t, fault));
	seal = seal_file(catalog_key(t), d->name.kind, d->name.day, l->file, l->commits);
	error = forget_file(&c, d->name, fault);
	if (error == ERR_OK)
		error = db_run_with(c.db, FILE_PUT, fault, d->name.kind, d->name.day,
				    (int64_t)l->file, (int64_t)l->commits, (int64_t)seal);
	if (error == ERR_OK)
		tally_add(&t->ledger.tallies[TALLY_FILES], seal);
	error = catalog_end(&c, error, fault);
	if (error == ERR_OK)
		d->recorded = l->commits;
	return error;
}

enum err catalog_forget(struct tenant *t, struct day_name name, struct fault *fault)
{
	struct catalog_change c;
	enum err error;

	/* A damaged catalog must not block retention. */
	if (!catalog_exists(t))
		return ERR_OK;
	error = catalog_begin(&c, t, fault);
	if (is_damage(error))
		return ERR_OK;
	TRY(error);
	return catalog_end(&c, forget_file(&c, name, fault), fault);
}
