/* The rows of a day of spans, and of a catalog. */
#include "store/spans.h"
#include "store/tenant_walk.h"
#include "store/catalog.h"

static enum err name_row(struct walk *w, sqlite3_stmt *q, struct tally *found)
{
	int64_t seal = sqlite3_column_int64(q, 2);

	w->checked++;
	tally_add(found, (uint64_t)seal);
	if (!walk_seal_good(w, seal, seal_name(w->key, db_column(q, 1))))
		walk_bad(w, NULL, "name %lld was altered", (long long)sqlite3_column_int64(q, 0));
	return ERR_OK;
}

struct spans_walk {
	span_fn *good;
	void *context;
	struct tally found;
};

static enum err span_row(struct walk *w, sqlite3_stmt *q, struct spans_walk *s)
{
	int64_t seal = sqlite3_column_int64(q, 11), time = sqlite3_column_int64(q, 7);
	struct walk_loss loss = {NULL, time, time + 1, 0, false};
	struct trace_span span = {0};
	struct arena arena = {0};
	enum err error = span_read(q, &arena, &span);

	w->checked++;
	tally_add(&s->found, (uint64_t)seal);
	if (error == ERR_OK &&
	    !walk_seal_good(w, seal,
			    seal_span(w->key, sqlite3_column_int64(q, 10), &span, db_column(q, 9))))
		error = ERR_DAMAGED;
	if (error == ERR_OK && s->good)
		error = s->good(s->context, sqlite3_column_int64(q, 10), &span, db_column(q, 9));
	if (is_damage(error)) {
		walk_bad(w, &loss, "span %lld is damaged", (long long)sqlite3_column_int64(q, 10));
		error = ERR_OK;
	}
	arena_release(&arena);
	return error;
}

static enum err walk_names(struct walk *w)
{
	const struct tally *expected = &w->ledger.tallies[TALLY_NAMES];
	struct tally found = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error = db_statement(w->db, NAME_ALL, &q, &w->fault);

	if (error == ERR_OK) {
		while ((error = db_step(w->db, q, &row, &w->fault)) == ERR_OK && row)
			if ((error = name_row(w, q, &found)) != ERR_OK)
				break;
		db_reset(q);
	}
	if (is_damage(error) || error == ERR_INTERNAL) {
		walk_bad(w, NULL, "names cannot all be read: %s", w->fault.text);
		return ERR_OK;
	}
	if (error == ERR_OK && w->sealed && !tally_equal(&found, expected))
		walk_bad(w, NULL, "has %llu names instead of the %llu that were written",
			 (unsigned long long)found.n, (unsigned long long)expected->n);
	return error;
}

enum err walk_spans(struct walk *w, span_fn *good, void *context)
{
	struct spans_walk s = {good, context, {0}};
	struct walk_loss loss = {NULL, w->day * NS_PER_DAY, (w->day + 1) * NS_PER_DAY, 0, false};
	sqlite3_stmt *q;
	bool open, row;
	enum err error;

	TRY(walk_open(w, &spans_schema, &open));
	if (!open)
		return ERR_OK;
	TRY(walk_names(w));
	error = db_query_with(w->db, SPAN_ALL, &q, &w->fault, INT64_MIN, INT64_MAX);
	if (error == ERR_OK) {
		while ((error = db_step(w->db, q, &row, &w->fault)) == ERR_OK && row)
			if ((error = span_row(w, q, &s)) != ERR_OK)
				break;
		db_reset(q);
	}
	if (is_damage(error) || error == ERR_INTERNAL) {
		walk_bad(w, &loss, "spans cannot all be read: %s", w->fault.text);
		error = ERR_OK;
	}
	if (error == ERR_OK && w->sealed && !tally_equal(&s.found, &w->ledger.tallies[TALLY_SPANS]))
		walk_bad(w, &loss, "has %llu spans instead of the %llu that were written",
			 (unsigned long long)s.found.n,
			 (unsigned long long)w->ledger.tallies[TALLY_SPANS].n);
	return error;
}

/* ------------------------------------------------------------------ catalogs */

static enum err setting_row(struct walk *w, sqlite3_stmt *q, const struct catalog_rows *rows)
{
	struct str name = db_column(q, 0), value = db_column(q, 1);
	int64_t modified = sqlite3_column_int64(q, 2);

	if (!walk_seal_good(w, sqlite3_column_int64(q, 3),
			    seal_setting(w->key, name, value, modified))) {
		walk_bad(w, NULL, "a setting was altered");
		return ERR_OK;
	}
	return rows->setting ? rows->setting(rows->context, name, value, modified) : ERR_OK;
}

static enum err audit_row(struct walk *w, sqlite3_stmt *q, const struct catalog_rows *rows)
{
	int64_t time = sqlite3_column_int64(q, 1);
	struct str event = db_column(q, 2), detail = db_column(q, 3);

	if (!walk_seal_good(w, sqlite3_column_int64(q, 4),
			    seal_audit(w->key, time, event, detail))) {
		walk_bad(w, NULL, "a line of the audit was altered");
		return ERR_OK;
	}
	return rows->audit ? rows->audit(rows->context, time, event, detail) : ERR_OK;
}

static enum err undo_row(struct walk *w, sqlite3_stmt *q, const struct catalog_rows *rows)
{
	uint64_t seal = seal_begin(w->key, SEALED_UNDO);
	struct str note = db_column(q, 1);

	if (!walk_seal_good(w, sqlite3_column_int64(q, 2), seal_end(seal_text(seal, note)))) {
		walk_bad(w, NULL, "a note of an unfinished batch was altered");
		return ERR_OK;
	}
	return rows->undo ? rows->undo(rows->context, note, sqlite3_column_int64(q, 2) != 0)
			  : ERR_OK;
}

static enum err file_row(struct walk *w, sqlite3_stmt *q, const struct catalog_rows *rows)
{
	struct known_file f = {{sqlite3_column_int64(q, 1),
				(enum day_kind)sqlite3_column_int64(q, 0)},
			       (uint64_t)sqlite3_column_int64(q, 2),
			       (uint64_t)sqlite3_column_int64(q, 3),
			       false};

	if (!walk_seal_good(w, sqlite3_column_int64(q, 4),
			    seal_file(w->key, f.name.kind, f.name.day, f.file, f.commits))) {
		walk_bad(w, NULL, "its entry of a file was altered");
		return ERR_OK;
	}
	return rows->file ? rows->file(rows->context, &f) : ERR_OK;
}

enum err walk_catalog(struct walk *w, const struct catalog_rows *rows)
{
	static const struct {
		unsigned which;
		const char *what;
		int seal; /* column */
		enum err (*each)(struct walk *, sqlite3_stmt *, const struct catalog_rows *);
	} tables[] = {
		[TALLY_SETTINGS] = {SETTING_ALL, "settings", 3, setting_row},
		[TALLY_AUDIT] = {AUDIT_ALL, "lines of the audit", 4, audit_row},
		[TALLY_UNDO] = {UNDO_ALL, "notes of unfinished batches", 2, undo_row},
		[TALLY_FILES] = {FILE_ALL, "files", 4, file_row},
	};
	bool open, row;

	TRY(walk_open(w, &catalog_schema, &open));
	for (int t = TALLY_SETTINGS; open && t <= TALLY_FILES; t++) {
		struct tally found = {0};
		sqlite3_stmt *q;
		enum err error;

		if (t == TALLY_FILES && !w->sealed)
			break;
		error = db_statement(w->db, tables[t].which, &q, &w->fault);
		if (error == ERR_OK) {
			while ((error = db_step(w->db, q, &row, &w->fault)) == ERR_OK && row) {
				w->checked++;
				tally_add(&found,
					  (uint64_t)sqlite3_column_int64(q, tables[t].seal));
				if ((error = tables[t].each(w, q, rows)) != ERR_OK)
					break;
			}
			db_reset(q);
		}
		if (is_damage(error) || error == ERR_INTERNAL) {
			walk_bad(w, NULL, "cannot read all %s: %s", tables[t].what, w->fault.text);
			continue;
		}
		TRY(error);
		if (w->sealed && !tally_equal(&found, &w->ledger.tallies[t]))
			walk_bad(w, NULL, "has %llu %s instead of the %llu that were written",
				 (unsigned long long)found.n, tables[t].what,
				 (unsigned long long)w->ledger.tallies[t].n);
	}
	return ERR_OK;
}
