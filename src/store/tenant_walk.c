#include "store/tenant_walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/file.h"

static void tell(struct tenant_walk *t, const char *what, const char *name)
{
	char text[600];

	snprintf(text, sizeof(text), "%s/%s %s", t->folder, name, what);
	t->bad(t->context, text, NULL);
}

/* ------------------------------------------------------------------ which files there are */

static struct known_file *find(struct tenant_walk *t, struct day_name name)
{
	vec_for_each (f, &t->files)
		if (f->name.day == name.day && f->name.kind == name.kind)
			return f;
	return NULL;
}

/* Keeps the larger commit number of the same file. The journal decides which file it is. */
static enum err know(struct tenant_walk *t, const struct known_file *f)
{
	struct known_file *have = find(t, f->name);

	if (!have)
		return vec_push(&t->files, *f);
	if (f->there)
		have->there = true;
	if (!have->file)
		have->file = f->file;
	if (f->file == have->file && f->commits > have->commits)
		have->commits = f->commits;
	return ERR_OK;
}

struct catalog_context {
	struct tenant_walk *walk;
	enum err error;
};

/* The journal is written with every commit, so it is never older. */
static enum err catalog_file(void *context, const struct known_file *f)
{
	struct tenant_walk *t = context;
	struct commit_slot slot;
	bool known = journal_find(&t->journal, f->name.kind, f->name.day, &slot);

	/* A removal deletes the catalog's entry first. */
	if (known && slot.state == SLOT_REMOVED)
		return ERR_OK;
	if (!t->journal_damaged && !known) {
		t->journal_damaged = true;
		tell(t, "does not know a file that the catalog knows", "commits");
	} else if (known && slot.file == f->file && slot.commits < f->commits) {
		t->journal_damaged = true;
		tell(t, "is older than the catalog", "commits");
	}
	return know(t, f);
}

static void bad_of_catalog(void *context, const char *text, const struct walk_loss *loss)
{
	struct tenant_walk *t = context;

	(void)loss;
	t->catalog_damaged = true;
	t->bad(t->context, text, NULL);
}

static enum err read_catalog(struct tenant_walk *t)
{
	struct buf path = BUF_INIT(OUTPUT_PATH_MAX);
	struct catalog_rows rows = {.file = catalog_file, .context = t};
	struct walk w = {.place = t->place, .seed = t->seed, .bad = bad_of_catalog, .context = t};
	struct commit_slot slot;
	enum err error;

	buf_printf(&path, "%s/catalog.db", t->folder);
	TRY(buf_error(&path));
	w.path = path.data;
	if (journal_find(&t->journal, LEDGER_CATALOG, 0, &slot) && slot.state == SLOT_THERE) {
		w.known_file = slot.file;
		w.least_commits = slot.commits;
	}
	error = walk_catalog(&w, &rows);
	t->checked += w.checked;
	t->catalog = w.ledger;
	t->unsealed += w.db && !w.sealed;
	if (error != ERR_OK)
		t->fault = w.fault;
	walk_release(&w);
	buf_release(&path);
	return error;
}

static int by_day(const void *a, const void *b)
{
	const struct known_file *x = a, *y = b;

	if (x->name.day != y->name.day)
		return x->name.day < y->name.day ? -1 : 1;
	return (int)x->name.kind - (int)y->name.kind;
}

static enum err list_files(struct tenant_walk *t)
{
	struct day_names names = {0};
	enum err error = ERR_OK;

	vec_for_each (slot, &t->journal.slots) {
		struct known_file f = {
			{slot->day, (enum day_kind)slot->kind}, slot->file, slot->commits, false};

		if (error == ERR_OK && slot->state == SLOT_THERE && slot->kind < DAY_KINDS_)
			error = know(t, &f);
	}
	if (error == ERR_OK)
		error = read_catalog(t);
	if (error == ERR_OK)
		error = day_list(t->folder, &names, &t->fault);
	for (size_t i = 0; error == ERR_OK && i < names.names.n; i++) {
		struct known_file f = {names.names.v[i], 0, 0, true};
		struct commit_slot slot;

		/* Being removed; the next start completes that. */
		if (!journal_find(&t->journal, f.name.kind, f.name.day, &slot) ||
		    slot.state != SLOT_REMOVED)
			error = know(t, &f);
	}
	vec_release(&names.names);
	if (t->files.n > 1)
		qsort(t->files.v, t->files.n, sizeof(*t->files.v), by_day);
	return error;
}

enum err tenant_walk_begin(struct tenant_walk *t)
{
	t->place = place_key(t->seed, str_of(t->name), LEDGER_CATALOG, 0);
	TRY(journal_open(&t->journal, t->folder, t->place, false, &t->fault));
	t->checked++;
	if (t->journal.damaged) {
		t->journal_damaged = true;
		tell(t, "is damaged: some of its slots cannot be read", "commits");
	}
	return list_files(t);
}

void tenant_walk_end(struct tenant_walk *t)
{
	journal_close(&t->journal);
	vec_release(&t->files);
}

/* ------------------------------------------------------------------ one of them */

enum err tenant_walk_file(struct tenant_walk *t, const struct known_file *f, uint64_t *ret_problems)
{
	char *path = day_path(t->folder, f->name);
	struct walk w = {
		.path = path,
		.place = place_key(t->seed, str_of(t->name), f->name.kind, f->name.day),
		.seed = t->seed,
		.day = f->name.day,
		.least_commits = f->commits,
		.known_file = f->commits ? f->file : 0,
		.bad = t->bad,
		.context = t->context,
	};
	enum err error = ERR_NO_MEMORY;

	if (path)
		error = f->name.kind == DAY_SPANS ? walk_spans(&w, NULL, NULL) : walk_day(&w);
	t->checked += w.checked;
	t->unsealed += w.db && (!w.sealed || w.ledger.unsealed);
	*ret_problems = w.problems;
	if (error != ERR_OK)
		t->fault = w.fault;
	walk_release(&w);
	mem_free(path);
	return error;
}
