/*
 * An online backup of the whole store, tenant by tenant. The copy of a tenant is a snapshot between
 * two commits: each batch is in it completely or not at all.
 *
 * A store may have more days than a process may have open files. So past days are copied one after
 * the other, each open only while it is copied. Then, with commits paused, read transactions are
 * begun on the days that changed since and those of today (normally few); these snapshots are
 * copied while writers continue. If too many changed, because of late data, they are copied again
 * one after the other; after ROUNDS rounds a snapshot is taken of all of them.
 *
 * A file too damaged to be copied is left out if the caller accepts that. The catalog of the copy
 * still lists it, so that a check of the copy reports it as missing.
 *
 * The catalog's snapshot is taken before it is known which days changed: it must not contain
 * commits that the copied files do not have.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/copy_verify.h"
#include "store/upkeep.h"

#define TOGETHER 8
#define ROUNDS	 4

/* A file of a tenant, and the state of its copy. */
struct copied {
	struct day *day;	    /* NULL = the catalog */
	struct db *reader;	    /* holds the snapshot */
	unsigned long long changes; /* day->changes before its snapshot */
	bool done;		    /* copied, as of `changes` */
	bool left_out;		    /* damaged, and not in the copy */
	bool noted;		    /* its damage was reported */
	struct ledger ledger;	    /* file 0 = older format without one */
};

struct tenant_copy {
	struct tenant *tenant;
	char *folder; /* directory of the copy */
	VEC(struct copied) files;
	struct damage_notes *damage; /* NULL: no file may be left out */
	struct fault *fault;
};

static void copied_close(struct tenant_copy *c, struct copied *f)
{
	if (f->reader)
		db_rollback(f->reader);
	connection_give_back(c->tenant->engine, f->reader);
	f->reader = NULL;
}

static void tenant_copy_release(struct tenant_copy *c)
{
	vec_for_each (f, &c->files) {
		copied_close(c, f);
		day_put(f->day);
	}
	vec_release(&c->files);
	mem_free(c->folder);
}

static char *path_in(const char *folder, const struct copied *f)
{
	struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	if (f->day)
		return day_path(folder, f->day->name);
	buf_printf(&path, "%s/catalog.db", folder);
	if (path.error != ERR_OK)
		buf_release(&path);
	return path.data;
}

/* ------------------------------------------------------------------ one file */

/* Begins a read transaction: a snapshot of the current file. */
static enum err look_at(struct tenant_copy *c, struct copied *f)
{
	const struct db_schema *schema = f->day ? day_schema_of(f->day) : &catalog_schema;
	struct tenant *t = c->tenant;
	char *path = path_in(t->folder, f);
	struct db *catalog;
	enum err error = path ? ERR_OK : ERR_NO_MEMORY;

	if (f->day)
		f->changes = atomic_load(&f->day->changes);
	/* A tenant may have no catalog yet. */
	else if (error == ERR_OK && (error = tenant_catalog(t, &catalog, c->fault)) == ERR_OK)
		mutex_unlock(&t->catalog_lock);
	if (error == ERR_OK)
		error = connection_open(t->engine, path, schema, DB_READ, NULL, &f->reader,
					c->fault);
	if (error == ERR_OK)
		error = db_begin_snapshot(f->reader, c->fault);
	mem_free(path);
	return error;
}

static enum err remove_copy(struct tenant_copy *c, const struct copied *f)
{
	char *path = path_in(c->folder, f);
	enum err error = path ? ERR_OK : ERR_NO_MEMORY;

	if (error == ERR_OK && unlink(path) < 0 && errno != ENOENT)
		error = fault_set(c->fault, err_from_errno(errno), "%s cannot be removed: %s", path,
				  strerror(errno));
	mem_free(path);
	return error;
}

static enum err read_ledger(struct tenant_copy *c, struct copied *f)
{
	struct ledger l = {0};

	if (f->reader->version >= f->reader->schema->older_below)
		TRY(ledger_read(f->reader, f->day ? f->day->place : c->tenant->place, &l,
				c->fault));
	f->ledger = l;
	return ERR_OK;
}

static void note_damage(struct tenant_copy *c, const char *what, const struct fault *damage)
{
	struct fault note;

	(void)fault_set(&note, ERR_DAMAGED, "%s: %s", what, damage->text);
	(void)!ask_forgive(&(struct ask){.damage = c->damage}, ERR_DAMAGED, &note);
}

/* Leaves out a file that cannot be copied because it is damaged; passes on other errors. */
static enum err leave_out(struct tenant_copy *c, struct copied *f, enum err error)
{
	struct fault damage = {0};

	/* SQLite's error for a schema that it does not understand. */
	if (!c->damage || !(is_damage(error) || error == ERR_INTERNAL))
		return error;
	copied_close(c, f);
	if (c->fault) {
		damage = *c->fault;
		*c->fault = (struct fault){0};
	}
	if (!f->left_out)
		note_damage(c, "not in the backup", &damage);
	f->left_out = true;
	f->ledger = (struct ledger){0};
	return remove_copy(c, f);
}

static void note_copied(struct tenant_copy *c, struct copied *f, const struct fault *damage)
{
	if (!f->noted)
		note_damage(c, "copied with its damage", damage);
	f->noted = true;
}

/* Names damage that nobody has met yet, if the caller accepts it. */
static enum err verify_seen(struct tenant_copy *c, struct copied *f)
{
	struct fault damage = {0};

	if (!f->day || !c->damage || f->noted)
		return ERR_OK;
	TRY(copy_verify(f->day, f->reader, &f->ledger, &damage, c->fault));
	if (damage.code)
		note_copied(c, f, &damage);
	return ERR_OK;
}

/* Copies the snapshot taken by look_at, replacing an older copy. */
static enum err copy_seen(struct tenant_copy *c, struct copied *f)
{
	enum err error = remove_copy(c, f);
	char *path = NULL;

	if (error == ERR_OK)
		error = read_ledger(c, f);
	if (error == ERR_OK)
		error = verify_seen(c, f);
	if (error == ERR_OK)
		error = (path = path_in(c->folder, f)) ? db_copy(f->reader, path, c->fault)
						       : ERR_NO_MEMORY;
	mem_free(path);
	copied_close(c, f);
	f->done = error == ERR_OK;
	return leave_out(c, f, error);
}

/* ------------------------------------------------------------------ the files of a tenant */

static bool holds(const struct day_list *days, const struct day *d)
{
	vec_for_each (one, &days->v)
		if (*one == d)
			return true;
	return false;
}

/* Removes deleted days from the copy, and from its catalog. */
static enum err drop_gone(struct tenant_copy *c, const struct day_list *days)
{
	size_t kept = 0;
	enum err error = ERR_OK;

	vec_for_each (f, &c->files) {
		if (error == ERR_OK && f->day && !holds(days, f->day)) {
			error = remove_copy(c, f);
			if (error == ERR_OK) {
				day_put(f->day);
				continue;
			}
		}
		c->files.v[kept++] = *f;
	}
	c->files.n = kept;
	return error;
}

static bool has_day(const struct tenant_copy *c, const struct day *d)
{
	vec_for_each (f, &c->files)
		if (f->day == d)
			return true;
	return false;
}

/* Takes ownership of the references that it adds. */
static enum err add_new(struct tenant_copy *c, struct day_list *days)
{
	vec_for_each (d, &days->v) {
		struct copied *f;
		struct day *day = *d;
		enum err error;

		if (has_day(c, day))
			continue;
		error = day_look_into(day, c->fault);
		if (error == ERR_OK && !atomic_load(&day->exists))
			continue;
		TRY(vec_push(&c->files, ((struct copied){.day = day})));
		*d = NULL;
		f = &c->files.v[c->files.n - 1];
		TRY(leave_out(c, f, error));
		if (c->damage && !f->left_out && day->damage.code)
			note_copied(c, f, &day->damage);
	}
	return ERR_OK;
}

static enum err list_files(struct tenant_copy *c)
{
	struct day_list days = {0};
	enum err error = days_of_tenant(c->tenant, &days);

	if (error == ERR_OK)
		error = drop_gone(c, &days);
	if (error == ERR_OK)
		error = add_new(c, &days);
	day_list_put(&days);
	return error;
}

/* ------------------------------------------------------------------ a tenant */

static enum err copy_apart(struct tenant_copy *c, struct copied *f)
{
	enum err error = look_at(c, f);

	/* Removed meanwhile: it is not in the next list. */
	if (error != ERR_OK && f->day && atomic_load(&f->day->gone)) {
		copied_close(c, f);
		return ERR_OK;
	}
	return error == ERR_OK ? copy_seen(c, f) : leave_out(c, f, error);
}

/* Copies the days without an up-to-date copy; without `all` only past days, which rarely change. */
static enum err copy_days(struct tenant_copy *c, bool all)
{
	int64_t today = day_of(upkeep_now(c->tenant->engine));

	vec_for_each (f, &c->files)
		if (!f->done && !f->left_out && f->day && (all || f->day->name.day < today))
			TRY(copy_apart(c, f));
	return ERR_OK;
}

static size_t count_changed(struct tenant_copy *c)
{
	size_t n = 0;

	vec_for_each (f, &c->files) {
		if (f->day && f->changes != atomic_load(&f->day->changes))
			f->done = false;
		n += !f->done && !f->left_out;
	}
	return n;
}

/* Requires commits_hold. *ret: snapshots of all remaining files were taken. */
static enum err look_together(struct tenant_copy *c, bool last, bool *ret_whole)
{
	enum err error = list_files(c);

	*ret_whole = false;
	if (error == ERR_OK && !c->files.v[0].left_out &&
	    (error = look_at(c, &c->files.v[0])) != ERR_OK)
		error = leave_out(c, &c->files.v[0], error);
	if (error != ERR_OK || (count_changed(c) > TOGETHER && !last)) {
		copied_close(c, &c->files.v[0]);
		return error;
	}
	for (size_t i = 1; error == ERR_OK && i < c->files.n; i++) {
		struct copied *f = &c->files.v[i];

		if (!f->done && !f->left_out)
			error = look_at(c, f);
		if (error != ERR_OK && !atomic_load(&f->day->gone))
			error = leave_out(c, f, error);
		if (error != ERR_OK && atomic_load(&f->day->gone) && !last) {
			vec_for_each (seen, &c->files)
				copied_close(c, seen);
			return ERR_OK;
		}
	}
	*ret_whole = error == ERR_OK;
	return error;
}

static enum err copy_files(struct tenant_copy *c)
{
	struct embedded *e = c->tenant->engine;
	bool whole = false;
	enum err error;

	TRY(vec_push(&c->files, (struct copied){0}));
	TRY(list_files(c));
	for (int round = 0; !whole; round++) {
		TRY(copy_days(c, round > 0));
		commits_hold(e);
		error = look_together(c, round == ROUNDS, &whole);
		commits_go_on(e);
		TRY(error);
	}
	vec_for_each (f, &c->files)
		if (f->reader)
			TRY(copy_seen(c, f));
	return ERR_OK;
}

/* Writes the journal of the copy. */
static enum err note_commits(struct tenant_copy *c)
{
	struct commit_journal journal = {0};
	enum err error = journal_open(&journal, c->folder, c->tenant->place, true, c->fault);

	for (size_t i = 0; error == ERR_OK && i < c->files.n; i++) {
		const struct copied *f = &c->files.v[i];

		if (f->ledger.file)
			error = journal_note(&journal,
					     f->day ? (int)f->day->name.kind : LEDGER_CATALOG,
					     f->day ? f->day->name.day : 0, f->ledger.file,
					     f->ledger.commits, c->fault);
	}
	journal_close(&journal);
	return error;
}

static enum err copy_tenant(struct tenant *t, const char *destination, struct damage_notes *damage,
			    struct fault *fault)
{
	/* Parts left out are described by the text of their fault, so there must be one. */
	struct fault own = {0};
	struct tenant_copy c = {.tenant = t, .damage = damage, .fault = fault ? fault : &own};
	enum err error = tenant_folder(destination, str_of(t->name), true, &c.folder, fault);

	if (error == ERR_OK)
		error = copy_files(&c);
	if (error == ERR_OK)
		error = note_commits(&c);
	if (error == ERR_OK)
		error = folder_sync(c.folder, fault);
	tenant_copy_release(&c);
	return error;
}

enum err embedded_backup(struct store *store, const char *destination, struct damage_notes *damage,
			 struct fault *fault)
{
	struct embedded *e = embedded_of(store);
	enum err error = store_dir_begin(destination, fault);
	struct tenant *t;

	if (error == ERR_OK)
		error = tenants_find(e, fault);
	for (size_t i = 0; error == ERR_OK && (t = tenant_at(e, i)); i++)
		error = copy_tenant(t, destination, damage, fault);
	/* Last, because an unfinished backup must not be usable as a store. */
	if (error == ERR_OK)
		error = store_dir_finish(destination, e->dir.seed, fault);
	return error;
}
