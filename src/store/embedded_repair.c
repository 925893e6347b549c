/*
 * `vestal check --repair`. A damaged file is moved to DIR/<tenant>/detached/, and replaced by a new
 * one with all intact rows: those with valid seals that can be decoded with the dictionary up to
 * its first bad row. Roll-ups are not copied: the server makes new ones.
 *
 *	detached/2026-01-31.db.1	the file as it was; also its -wal and -shm
 *	detached/manifest.jsonl		a line for each loss
 *
 * The new file is built in detached/ and renamed when complete. An interrupted repair can be run
 * again: the old file is moved away first, and a missing file counts as damage, too.
 */
#include "store/repair.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "store/varint.h"

/* If this is interrupted, the next repair completes it. */
static enum err put_in_place(struct repair *r, const char *file, const char *ready)
{
	char detached[300];

	TRY(repair_free_name(r, file, detached, sizeof(detached)));
	if (repair_exists(r, file))
		TRY(repair_rename(r, file, detached));
	TRY(repair_sync_folders(r));
	TRY(repair_rename(r, ready, file));
	return repair_sync_folders(r);
}

static enum err repair_file(struct repair *r, const struct target *t,
			    struct commit_journal *journal)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);
	char fresh[300], ready[300], detached[300];
	bool any = false;

	snprintf(fresh, sizeof(fresh), "detached/%s.new", t->name);
	snprintf(ready, sizeof(ready), "detached/%s.ready", t->name);
	TRY(repair_make_detached(r));
	TRY(repair_path(r, &path, "%s", fresh));
	TRY(repair_copy(r, t, path.data, &any));
	TRY(repair_free_name(r, t->name, detached, sizeof(detached)));
	TRY(repair_tell_losses(r, t->name, repair_exists(r, t->name) ? detached : ""));
	r->result.files++;
	if (any) {
		TRY(repair_rename(r, fresh, ready));
		TRY(repair_sync_folders(r));
		TRY(put_in_place(r, t->name, ready));
		return journal_note(journal, t->kind, t->day, r->ledger.file, r->ledger.commits,
				    r->fault);
	}
	if (repair_exists(r, t->name))
		TRY(repair_rename(r, t->name, detached));
	if (unlink(path.data) < 0 && errno != ENOENT)
		return fault_set(r->fault, err_from_errno(errno), "%s cannot be removed: %s",
				 path.data, strerror(errno));
	TRY(repair_sync_folders(r));
	return journal_removed(journal, t->kind, t->day, r->fault);
}

/* ------------------------------------------------------------------ a tenant */

static enum err remember_undo(void *context, struct str note, bool sealed)
{
	struct repair *r = context;
	struct cursor c = cursor_of(note);

	while (c.p < c.end) {
		struct undo_row row = {0};

		row.file.kind = (enum day_kind)get_bounded(&c, DAY_KINDS_ - 1);
		row.file.day = (int64_t)get_varint(&c);
		row.key = (int64_t)get_varint(&c);
		row.seal = sealed ? get_varint(&c) : 0;
		if (c.bad)
			break;
		TRY(vec_push(&r->undone, row));
	}
	return ERR_OK;
}

/* Completes an interrupted repair. If the original file exists, either it was not moved yet or a
 * server created a new one since: keep that. */
static enum err resume(struct repair *r, const char *file)
{
	char ready[300], aside[300];

	snprintf(ready, sizeof(ready), "detached/%s.ready", file);
	if (!repair_exists(r, ready))
		return ERR_OK;
	if (!repair_exists(r, file))
		return put_in_place(r, file, ready);
	TRY(repair_free_name(r, file, aside, sizeof(aside)));
	return repair_rename(r, ready, aside);
}

static enum err repair_days(struct repair *r, struct tenant_walk *t, bool *ret_any)
{
	for (size_t i = 0; i < t->files.n; i++) {
		const struct known_file *f = &t->files.v[i];
		char *path = day_path("", f->name);
		struct target target = {
			.schema = f->name.kind == DAY_SPANS ? &spans_schema : &day_schema,
			.place = place_key(r->seed, r->tenant, f->name.kind, f->name.day),
			.kind = f->name.kind,
			.day = f->name.day,
		};
		uint64_t problems = 0;
		enum err error = path ? resume(r, path + 1) : ERR_NO_MEMORY;

		repair_forget_losses(r);
		if (error == ERR_OK)
			error = tenant_walk_file(t, f, &problems);
		if (error == ERR_OK)
			error = r->error;
		target.name = path ? path + 1 : "";
		if (error == ERR_OK && problems) {
			*ret_any = true;
			error = repair_file(r, &target, &t->journal);
		}
		mem_free(path);
		TRY(error);
	}
	return ERR_OK;
}

/* Creates a journal with the current commit number of every file. */
static enum err make_journal(struct repair *r, struct tenant_walk *t)
{
	char detached[300];
	struct day_names names = {0};
	enum err error;

	TRY(repair_make_detached(r));
	TRY(repair_free_name(r, "commits", detached, sizeof(detached)));
	TRY(repair_tell_losses(r, "commits", detached));
	r->result.files++;
	journal_close(&t->journal);
	TRY(repair_rename(r, "commits", detached));
	t->journal = (struct commit_journal){0};
	TRY(journal_open(&t->journal, r->folder, t->place, true, r->fault));
	error = day_list(r->folder, &names, r->fault);
	for (size_t i = 0; error == ERR_OK && i < names.names.n; i++) {
		struct day_name name = names.names.v[i];
		const struct db_schema *schema =
			name.kind == DAY_SPANS ? &spans_schema : &day_schema;
		char *path = day_path(r->folder, name);
		struct db *db = NULL;
		struct ledger l;

		error = path ? db_open(path, schema, DB_READ, &db, r->fault) : ERR_NO_MEMORY;
		if (error == ERR_OK && db->version >= schema->older_below) {
			error = ledger_read(db, place_key(r->seed, r->tenant, name.kind, name.day),
					    &l, r->fault);
			if (error == ERR_OK)
				error = journal_note(&t->journal, name.kind, name.day, l.file,
						     l.commits, r->fault);
		}
		if (error == ERR_NOT_FOUND)
			error = ERR_OK;
		db_close(db);
		mem_free(path);
	}
	vec_release(&names.names);
	return error;
}

static enum err repair_catalog(struct repair *r, struct tenant_walk *t)
{
	struct target target = {"catalog.db", &catalog_schema, t->place, LEDGER_CATALOG, 0};

	return repair_file(r, &target, &t->journal);
}

static enum err read_undo(struct repair *r, struct tenant_walk *t)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);
	struct catalog_rows rows = {.undo = remember_undo, .context = r};
	struct walk w = {
		.place = t->place, .seed = r->seed, .bad = repair_ignore_bad, .context = r};
	enum err error = repair_path(r, &path, "catalog.db");

	w.path = path.data;
	if (error == ERR_OK)
		error = walk_catalog(&w, &rows);
	walk_release(&w);
	return error;
}

static enum err repair_all(struct repair *r, struct tenant_walk *t)
{
	bool any = t->catalog_damaged || t->journal_damaged;

	TRY(read_undo(r, t));
	/* Reopen it, created this time. */
	journal_close(&t->journal);
	t->journal = (struct commit_journal){0};
	TRY(journal_open(&t->journal, r->folder, t->place, true, r->fault));
	TRY(repair_days(r, t, &any));
	repair_forget_losses(r);
	if (t->journal_damaged) {
		repair_note_loss(r, "the journal of commits was damaged and is rebuilt", NULL);
		TRY(make_journal(r, t));
		repair_forget_losses(r);
	}
	/* It may list files that no longer exist. */
	if (!any || !repair_exists(r, "catalog.db"))
		return t->catalog_damaged
			       ? journal_removed(&t->journal, LEDGER_CATALOG, 0, r->fault)
			       : ERR_OK;
	repair_note_loss(r,
			 t->catalog_damaged
				 ? "the catalog was damaged: settings or lines of the audit "
				   "may be missing"
				 : "the catalog knew the files that were repaired",
			 NULL);
	return repair_catalog(r, t);
}

static enum err repair_tenant(struct repair *r, struct str name)
{
	char text[TENANT_NAME_MAX + 1];
	struct tenant_walk t = {
		.name = text, .seed = r->seed, .bad = repair_note_loss, .context = r};
	enum err error;

	snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
	r->tenant = str_of(text);
	TRY(tenant_folder(r->directory, name, false, &r->folder, r->fault));
	t.folder = r->folder;
	error = resume(r, "catalog.db");
	if (error == ERR_OK)
		error = tenant_walk_begin(&t);
	if (error == ERR_OK)
		error = repair_all(r, &t);
	if (error != ERR_OK && r->fault && !r->fault->code)
		*r->fault = t.fault;
	tenant_walk_end(&t);
	repair_forget_losses(r);
	vec_release(&r->undone);
	mem_free(r->folder);
	r->folder = NULL;
	return error;
}

static void each_tenant(void *context, struct str name)
{
	struct repair *r = context;

	if (r->error == ERR_OK)
		r->error = repair_tenant(r, name);
}

enum err store_embedded_repair(const char *directory,
			       void (*each)(void *context, const struct store_lost *),
			       void *context, struct store_repaired *ret, struct fault *fault)
{
	struct store_dir dir = STORE_DIR_CLOSED;
	struct fault own = {0};
	struct repair r = {.directory = directory, .each = each, .context = context, .fault = &own};
	enum err error = store_dir_open(&dir, directory, false, fault);

	if (error != ERR_OK)
		return error;
	r.seed = dir.seed;
	error = store_dir_tenants(directory, each_tenant, &r, &own);
	if (error == ERR_OK)
		error = r.error;
	store_dir_close(&dir);
	if (error == ERR_OK)
		*ret = r.result;
	else if (fault)
		*fault = own;
	return error;
}
