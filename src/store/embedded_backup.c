/*
 * A copy of the whole store while it runs. All files are looked at in one moment between two
 * commits: a batch is in the copy whole or not at all. Then each is copied as it was at that
 * moment, however long it takes, while writers go on.
 */
#include "base/file.h"
#include "store/embedded.h"

struct snapshot {
	struct day *day; /* NULL: a catalog */
	struct tenant *tenant;
	struct db *reader;
};

struct snapshots {
	VEC(struct snapshot) v;
};

static void snapshots_release(struct snapshots *s)
{
	vec_for_each (one, &s->v) {
		if (one->reader)
			db_rollback(one->reader);
		db_close(one->reader);
		day_put(one->day);
	}
	vec_release(&s->v);
}

static const struct db_schema *schema_of(const struct snapshot *s)
{
	if (!s->day)
		return &catalog_schema;
	return s->day->name.kind == DAY_SPANS ? &spans_schema : &day_schema;
}

/* Opens what there is; nothing is read yet. */
static enum err list_files(struct embedded *e, struct snapshots *list, struct fault *fault)
{
	struct day_list days = {0};
	enum err error = days_all(e, &days, fault);

	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++) {
		struct snapshot s = {days.v.v[i], days.v.v[i]->tenant, NULL};

		error = day_look_into(s.day, fault);
		if (error != ERR_OK || !atomic_load(&s.day->exists))
			continue;
		error = vec_push(&list->v, s);
		if (error == ERR_OK)
			days.v.v[i] = NULL;
	}
	day_list_put(&days);
	for (size_t i = 0; error == ERR_OK && i < e->tenants.n; i++) {
		struct snapshot s = {NULL, e->tenants.v[i], NULL};

		error = vec_push(&list->v, s);
	}
	return error;
}

static char *path_in(const char *folder, const struct snapshot *s)
{
	struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	if (s->day)
		return day_path(folder, s->day->name);
	buf_printf(&path, "%s/catalog.db", folder);
	if (path.error != ERR_OK)
		buf_release(&path);
	return path.data;
}

static enum err open_snapshot(struct snapshot *s, struct fault *fault)
{
	char *path = path_in(s->tenant->folder, s);
	struct db *catalog;
	enum err error = path ? ERR_OK : ERR_NO_MEMORY;

	/* A tenant may have no catalog yet. */
	if (error == ERR_OK && !s->day &&
	    (error = tenant_catalog(s->tenant, &catalog, fault)) == ERR_OK)
		mutex_unlock(&s->tenant->catalog_lock);
	if (error == ERR_OK)
		error = db_open(path, schema_of(s), DB_READ, &s->reader, fault);
	mem_free(path);
	return error;
}

/* The journal of the copy knows what the copy has. */
static enum err note_commits(struct snapshot *s, const char *folder, struct fault *fault)
{
	uint64_t place = s->day ? s->day->place : s->tenant->place;
	int kind = s->day ? (int)s->day->name.kind : LEDGER_CATALOG;
	struct commit_journal journal = {0};
	struct ledger l;
	enum err error = ERR_OK;

	if (s->reader->version >= s->reader->schema->older_below)
		error = ledger_read(s->reader, place, &l, fault);
	else
		return ERR_OK;
	if (error == ERR_OK)
		error = journal_open(&journal, folder, s->tenant->place, true, fault);
	if (error == ERR_OK)
		error = journal_note(&journal, kind, s->day ? s->day->name.day : 0, l.file,
				     l.commits, fault);
	journal_close(&journal);
	return error;
}

static enum err copy_one(struct snapshot *s, const char *destination, struct fault *fault)
{
	char *folder = NULL, *path = NULL;
	enum err error = tenant_folder(destination, str_of(s->tenant->name), true, &folder, fault);

	if (error == ERR_OK)
		error = (path = path_in(folder, s)) ? db_copy(s->reader, path, fault)
						    : ERR_NO_MEMORY;
	if (error == ERR_OK)
		error = note_commits(s, folder, fault);
	if (error == ERR_OK)
		error = folder_sync(folder, fault);
	mem_free(folder);
	mem_free(path);
	return error;
}

enum err embedded_backup(struct store *store, const char *destination, struct fault *fault)
{
	struct embedded *e = embedded_of(store);
	struct snapshots list = {0};
	enum err error = store_dir_begin(destination, fault);

	if (error == ERR_OK)
		error = list_files(e, &list, fault);
	for (size_t i = 0; error == ERR_OK && i < list.v.n; i++)
		error = open_snapshot(&list.v.v[i], fault);
	if (error == ERR_OK) {
		commits_hold(e);
		for (size_t i = 0; error == ERR_OK && i < list.v.n; i++)
			error = db_begin_snapshot(list.v.v[i].reader, fault);
		commits_go_on(e);
	}
	for (size_t i = 0; error == ERR_OK && i < list.v.n; i++)
		error = copy_one(&list.v.v[i], destination, fault);
	/* Last: what is there before is no store. */
	if (error == ERR_OK)
		error = store_dir_finish(destination, e->dir.seed, fault);
	snapshots_release(&list);
	return error;
}
