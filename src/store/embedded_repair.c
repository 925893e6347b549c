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
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/jsonout.h"
#include "store/spans.h"
#include "store/tenant_walk.h"
#include "store/varint.h"

struct loss_line {
	char *reason, *service;
	int64_t from_ns, until_ns, profiles;
};

struct new_service {
	int64_t old_id, id;
	uint32_t series;
	struct tally tallies[SERVICE_TALLIES];
	char *name;
};

struct repair {
	const char *directory;
	struct str tenant;
	char *folder;
	uint64_t seed;
	void (*each)(void *context, const struct store_lost *);
	void *context;
	struct store_repaired result;
	struct fault *fault;
	enum err error; /* from callbacks that cannot return one */
	/* Of the file under repair. */
	VEC(struct loss_line) losses;
	struct db *to;
	uint64_t key;
	struct ledger ledger;
	VEC(struct new_service) services;
	VEC(struct undo_row) undone; /* rows of interrupted batches */
};

/* ------------------------------------------------------------------ what is missing */

static void note_loss(void *context, const char *text, const struct walk_loss *loss)
{
	struct repair *r = context;
	struct loss_line line = {.profiles = -1};

	if (r->error != ERR_OK)
		return;
	line.reason = mem_strdup(text);
	if (loss) {
		line.service = loss->service ? mem_strdup(loss->service) : NULL;
		line.from_ns = loss->from_ns;
		line.until_ns = loss->until_ns;
		line.profiles = loss->derived ? 0 : loss->profiles;
	} else {
		line.profiles = 0;
	}
	if (!line.reason || (loss && loss->service && !line.service))
		r->error = ERR_NO_MEMORY;
	else
		r->error = vec_push(&r->losses, line);
	if (r->error != ERR_OK) {
		mem_free(line.reason);
		mem_free(line.service);
	}
}

static void forget_losses(struct repair *r)
{
	vec_for_each (line, &r->losses) {
		mem_free(line->reason);
		mem_free(line->service);
	}
	vec_release(&r->losses);
}

static void put_line(struct buf *out, const struct store_lost *lost)
{
	struct jsonout o = jsonout_of(out, false);

	jsonout_object(&o);
	jsonout_put_str(&o, "tenant", lost->tenant);
	jsonout_put_text(&o, "file", lost->file);
	jsonout_put_text(&o, "detached", lost->detached);
	jsonout_put_text(&o, "service", lost->service);
	jsonout_put_i64(&o, "from_ns", lost->from_ns);
	jsonout_put_i64(&o, "until_ns", lost->until_ns);
	if (lost->profiles >= 0)
		jsonout_put_i64(&o, "profiles", lost->profiles);
	jsonout_put_text(&o, "reason", lost->reason);
	jsonout_put_i64(&o, "repaired_ns", clock_wall_ns());
	jsonout_end_object(&o);
	buf_byte(out, '\n');
}

static enum err append(const char *path, struct str bytes, struct fault *fault)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool good = fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n && fsync(fd) == 0;
	int os = errno;

	if (fd >= 0)
		close(fd);
	return good ? ERR_OK
		    : fault_set(fault, err_from_errno(os), "%s cannot be written: %s", path,
				strerror(os));
}

/* Writes losses to the manifest, and reports them to the caller. */
static enum err tell_losses(struct repair *r, const char *file, const char *detached)
{
	CLEANUP(buf_release) struct buf lines = BUF_INIT(SIZE_MAX);
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	vec_for_each (line, &r->losses) {
		struct store_lost lost = {r->tenant,	  file,		 detached,
					  line->service,  line->from_ns, line->until_ns,
					  line->profiles, line->reason};

		put_line(&lines, &lost);
		r->each(r->context, &lost);
		r->result.losses++;
	}
	buf_printf(&path, "%s/detached/manifest.jsonl", r->folder);
	TRY(buf_error(&lines));
	TRY(buf_error(&path));
	return append(path.data, buf_view(&lines), r->fault);
}

/* ------------------------------------------------------------------ names of files */

static enum err name_of(const struct repair *r, struct buf *out, const char *format, ...)
	PRINTF_LIKE(3, 4);
static enum err name_of(const struct repair *r, struct buf *out, const char *format, ...)
{
	va_list args;

	buf_clear(out);
	buf_printf(out, "%s/", r->folder);
	va_start(args, format);
	buf_vprintf(out, format, args);
	va_end(args);
	return buf_error(out);
}

static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
#define BESIDE (sizeof(beside) / sizeof(*beside))

static enum err rename_all(struct repair *r, const char *from, const char *to)
{
	CLEANUP(buf_release) struct buf a = BUF_INIT(OUTPUT_PATH_MAX);
	CLEANUP(buf_release) struct buf b = BUF_INIT(OUTPUT_PATH_MAX);

	for (size_t i = BESIDE; i-- > 0;) {
		TRY(name_of(r, &a, "%s%s", from, beside[i]));
		TRY(name_of(r, &b, "%s%s", to, beside[i]));
		if (rename(a.data, b.data) < 0 && errno != ENOENT)
			return fault_set(r->fault, err_from_errno(errno), "%s cannot be moved: %s",
					 a.data, strerror(errno));
	}
	return ERR_OK;
}

static bool exists(struct repair *r, const char *name)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	return name_of(r, &path, "%s", name) == ERR_OK && access(path.data, F_OK) == 0;
}

/* "detached/NAME.1", or the next free number. */
static enum err free_name(struct repair *r, const char *file, char *out, size_t size)
{
	for (int n = 1; n < 100000; n++) {
		snprintf(out, size, "detached/%s.%d", file, n);
		if (!exists(r, out))
			return ERR_OK;
	}
	return fault_set(r->fault, ERR_EXISTS, "%s/detached is full of files named %s", r->folder,
			 file);
}

static enum err sync_folders(struct repair *r)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	TRY(name_of(r, &path, "detached"));
	TRY(folder_sync(path.data, r->fault));
	return folder_sync(r->folder, r->fault);
}

static enum err make_detached(struct repair *r)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	TRY(name_of(r, &path, "detached"));
	if (mkdir(path.data, 0700) < 0 && errno != EEXIST)
		return fault_set(r->fault, err_from_errno(errno), "%s cannot be created: %s",
				 path.data, strerror(errno));
	return ERR_OK;
}

/* ------------------------------------------------------------------ a new day */

static struct new_service *service_of(struct repair *r, int64_t old_id)
{
	vec_for_each (s, &r->services)
		if (s->old_id == old_id)
			return s;
	return NULL;
}

static enum err copy_service(struct repair *r, const struct walk_row *row)
{
	struct new_service s = {.old_id = row->service->id};
	sqlite3_stmt *q;

	TRY(db_statement(r->to, SERVICE_ADD, &q, r->fault));
	db_bind(q, 1, row->data);
	TRY(db_run(r->to, q, r->fault));
	s.id = sqlite3_last_insert_rowid(r->to->handle);
	s.name = mem_strdup(row->service->name);
	TRY(s.name ? vec_push(&r->services, s) : ERR_NO_MEMORY);
	return ERR_OK;
}

static enum err copy_dictionary(struct repair *r, struct new_service *s, const struct walk_row *row)
{
	int64_t key = dictionary_key((uint32_t)s->id, (uint32_t)row->id);
	uint64_t seal = seal_dictionary(r->key, key, row->data);
	sqlite3_stmt *q;

	TRY(db_query_with(r->to, DICTIONARY_ADD, &q, r->fault, key, (int64_t)seal));
	db_bind(q, 3, row->data);
	TRY(db_run(r->to, q, r->fault));
	s->series = (uint32_t)row->service->partition->series.n;
	tally_add(&s->tallies[TALLY_DICTIONARY], seal);
	return ERR_OK;
}

/* Skip rows of interrupted batches, which must not come back. */
static bool is_undone(const struct repair *r, enum day_kind kind, int64_t day, int64_t key)
{
	vec_for_each (row, &r->undone)
		if (row->file.kind == kind && row->file.day == day && row->key == key)
			return true;
	return false;
}

static enum err copy_chunk(struct repair *r, struct new_service *s, const struct walk_row *row)
{
	uint64_t seal = seal_chunk(r->key, row->id, s->id, row->columns[0], row->data);
	sqlite3_stmt *q;

	if (is_undone(r, DAY_PROFILES, row_time_ns(row->id) / NS_PER_DAY, row->id))
		return ERR_OK;
	TRY(db_query_with(r->to, CHUNK_ADD, &q, r->fault, row->id, s->id, row->columns[0],
			  (int64_t)seal));
	db_bind(q, 5, row->data);
	TRY(db_run(r->to, q, r->fault));
	tally_add(&r->ledger.tallies[TALLY_CHUNKS], seal);
	return ERR_OK;
}

static enum err copy_block(struct repair *r, struct new_service *s, const struct walk_row *row)
{
	uint64_t seal = seal_block(r->key, row->id, s->id, row->columns, row->data);
	sqlite3_stmt *q;

	TRY(db_query_with(r->to, BLOCK_ADD, &q, r->fault, row->id, s->id, row->columns[0],
			  row->columns[1], row->columns[2], row->columns[3], (int64_t)seal));
	db_bind(q, 8, row->data);
	TRY(db_run(r->to, q, r->fault));
	tally_add(&s->tallies[TALLY_BLOCKS], seal);
	return ERR_OK;
}

static enum err copy_good_row(struct repair *r, const struct walk_row *row)
{
	struct new_service *s = row->service ? service_of(r, row->service->id) : NULL;

	if (row->kind == WALK_SERVICE)
		return copy_service(r, row);
	if (!s)
		return ERR_OK;
	switch (row->kind) {
	case WALK_DICTIONARY:
		return copy_dictionary(r, s, row);
	case WALK_CHUNK:
		return copy_chunk(r, s, row);
	case WALK_BLOCK:
		return copy_block(r, s, row);
	default:
		/* The keeper rebuilds roll-ups and measured lengths. */
		return ERR_OK;
	}
}

/* A scan of a damaged table may return a row twice. */
static enum err copy_row(void *context, const struct walk_row *row)
{
	enum err error = copy_good_row(context, row);

	return error == ERR_EXISTS ? ERR_OK : error;
}

/* Makes the keeper measure the lengths of profiles again, as in files before version 2. */
static enum err mark_unmeasured(struct repair *r)
{
	uint64_t seal = seal_reach(r->key, 0, 0, 0);

	tally_add(&r->ledger.tallies[TALLY_MARKS], seal);
	return db_run_with(r->to, REACH_PUT, r->fault, 0, 0, 0, (int64_t)seal);
}

static enum err finish_services(struct repair *r)
{
	vec_for_each (s, &r->services) {
		uint8_t tallies[SERVICE_TALLIES * TALLY_BYTES];
		uint64_t seal = seal_service(r->key, s->id, str_of(s->name), s->series, s->tallies);
		sqlite3_stmt *q;

		tally_write(s->tallies, SERVICE_TALLIES, tallies);
		tally_add(&r->ledger.tallies[TALLY_SERVICES], seal);
		TRY(db_query_with(r->to, SERVICE_PUT, &q, r->fault, s->series));
		db_bind(q, 2, str_n((const char *)tallies, sizeof(tallies)));
		sqlite3_bind_int64(q, 3, (int64_t)seal);
		sqlite3_bind_int64(q, 4, s->id);
		TRY(db_run(r->to, q, r->fault));
	}
	TRY(mark_unmeasured(r));
	/* Make the keeper rebuild the series index, too. */
	return db_run_numbers(r->to, INDEX_UNMARK, NULL, 0, r->fault);
}

/* ------------------------------------------------------------------ new spans, a new catalog */

static enum err copy_name(struct repair *r, struct str text, int64_t *ret)
{
	uint64_t seal = seal_name(r->key, text);
	sqlite3_stmt *q;
	bool row;

	TRY(db_statement(r->to, NAME_FIND, &q, r->fault));
	db_bind(q, 1, text);
	TRY(db_step(r->to, q, &row, r->fault));
	*ret = row ? sqlite3_column_int64(q, 0) : 0;
	db_reset(q);
	if (*ret)
		return ERR_OK;
	TRY(db_statement(r->to, NAME_ADD, &q, r->fault));
	db_bind(q, 1, text);
	sqlite3_bind_int64(q, 2, (int64_t)seal);
	TRY(db_run(r->to, q, r->fault));
	tally_add(&r->ledger.tallies[TALLY_NAMES], seal);
	*ret = sqlite3_last_insert_rowid(r->to->handle);
	return ERR_OK;
}

/* Counts added rows; a row that was found before already exists. */
static enum err added(struct repair *r, enum err error, int tally, uint64_t seal)
{
	if (error == ERR_OK)
		tally_add(&r->ledger.tallies[tally], seal);
	return error == ERR_EXISTS ? ERR_OK : error;
}

static enum err copy_span(void *context, int64_t key, const struct trace_span *span,
			  struct str attributes)
{
	struct repair *r = context;
	uint64_t seal = seal_span(r->key, key, span, attributes);
	int64_t service, operation;
	enum err error;

	if (is_undone(r, DAY_SPANS, row_time_ns(key) / NS_PER_DAY, key))
		return ERR_OK;
	TRY(copy_name(r, span->service, &service));
	TRY(copy_name(r, span->operation, &operation));
	error = span_insert(r->to, key, span, service, operation, attributes, seal, r->fault);
	if (error == ERR_OK)
		spans_count_entries(&r->ledger, key, service,
				    str_n(span->trace_id, sizeof(span->trace_id)));
	return added(r, error, TALLY_SPANS, seal);
}

static enum err copy_setting(void *context, struct str name, struct str value, int64_t modified)
{
	struct repair *r = context;
	uint64_t seal = seal_setting(r->key, name, value, modified);
	sqlite3_stmt *q;

	TRY(db_statement(r->to, SETTING_PUT, &q, r->fault));
	db_bind(q, 1, name);
	db_bind(q, 2, value);
	sqlite3_bind_int64(q, 3, modified);
	sqlite3_bind_int64(q, 4, (int64_t)seal);
	return added(r, db_run(r->to, q, r->fault), TALLY_SETTINGS, seal);
}

static enum err copy_audit(void *context, int64_t time, struct str event, struct str detail)
{
	struct repair *r = context;
	uint64_t seal = seal_audit(r->key, time, event, detail);
	sqlite3_stmt *q;

	tally_add(&r->ledger.tallies[TALLY_AUDIT], seal);
	TRY(db_query_with(r->to, AUDIT_ADD, &q, r->fault, time));
	db_bind(q, 2, event);
	db_bind(q, 3, detail);
	sqlite3_bind_int64(q, 4, (int64_t)seal);
	return db_run(r->to, q, r->fault);
}

static enum err copy_undo(void *context, struct str note, bool sealed)
{
	struct repair *r = context;
	uint64_t seal = seal_end(seal_text(seal_begin(r->key, SEALED_UNDO), note));
	sqlite3_stmt *q;

	/* Notes written before seals existed have another form; skip them. */
	if (!sealed)
		return ERR_OK;
	tally_add(&r->ledger.tallies[TALLY_UNDO], seal);
	TRY(db_statement(r->to, UNDO_ADD, &q, r->fault));
	db_bind(q, 1, note);
	sqlite3_bind_int64(q, 2, (int64_t)seal);
	return db_run(r->to, q, r->fault);
}

/* ------------------------------------------------------------------ one file */

static void ignore_bad(void *context, const char *text, const struct walk_loss *loss)
{
	(void)context, (void)text, (void)loss;
}

/* A file to repair: a day of profiles or spans, or the catalog. */
struct target {
	const char *name; /* in the tenant's directory */
	const struct db_schema *schema;
	uint64_t place;
	int kind;
	int64_t day;
};

static enum err copy_all(struct repair *r, const struct target *t, struct walk *w)
{
	struct catalog_rows rows = {copy_setting, copy_audit, NULL, copy_undo, r};
	enum err error;

	if (t->schema == &catalog_schema)
		return walk_catalog(w, &rows);
	if (t->schema == &spans_schema)
		return walk_spans(w, copy_span, r);
	w->good = copy_row;
	error = walk_day(w);
	return error == ERR_OK ? finish_services(r) : error;
}

static enum err begin_copy(struct repair *r, const struct target *t, const char *path)
{
	char name[OUTPUT_PATH_MAX + 16];
	struct day_setup setup = {.place = t->place};
	struct db_setup hook = {day_set_up, &setup};

	for (size_t i = 0; i < BESIDE; i++) {
		snprintf(name, sizeof(name), "%s%s", path, beside[i]);
		if (unlink(name) < 0 && errno != ENOENT)
			return fault_set(r->fault, err_from_errno(errno),
					 "%s cannot be removed: %s", name, strerror(errno));
	}
	TRY(db_open_with(path, t->schema, DB_CREATE, &hook, &r->to, r->fault));
	TRY(ledger_read(r->to, t->place, &r->ledger, r->fault));
	r->key = file_key(t->place, r->ledger.file);
	return db_begin(r->to, true, r->fault);
}

/* Copies the intact rows to a new file. */
static enum err copy_good(struct repair *r, const struct target *t, const char *path, bool *ret_any)
{
	CLEANUP(buf_release) struct buf old = BUF_INIT(OUTPUT_PATH_MAX);
	struct walk w = {
		.place = t->place, .seed = r->seed, .day = t->day, .bad = ignore_bad, .context = r};
	enum err error = name_of(r, &old, "%s", t->name);

	w.path = old.data;
	if (error == ERR_OK)
		error = begin_copy(r, t, path);
	if (error == ERR_OK)
		error = copy_all(r, t, &w);
	/* Leave files of a newer vestal alone, which this one cannot read. */
	if (error == ERR_OK && w.newer)
		error = fault_set(r->fault, ERR_UNSUPPORTED, "%s", w.fault.text);
	if (error != ERR_OK && r->fault && !r->fault->code)
		*r->fault = w.fault;
	walk_release(&w);
	*ret_any = t->schema == &catalog_schema;
	for (int i = 0; i < LEDGER_TALLIES; i++)
		*ret_any |= r->ledger.tallies[i].n > (i == TALLY_MARKS);
	r->ledger.commits = 1;
	if (error == ERR_OK)
		error = ledger_write(r->to, t->place, &r->ledger, r->fault);
	if (error == ERR_OK)
		error = db_commit(r->to, r->fault);
	db_close(r->to);
	r->to = NULL;
	vec_for_each (s, &r->services)
		mem_free(s->name);
	vec_release(&r->services);
	return error;
}

/* If this is interrupted, the next repair completes it. */
static enum err put_in_place(struct repair *r, const char *file, const char *ready)
{
	char detached[300];

	TRY(free_name(r, file, detached, sizeof(detached)));
	if (exists(r, file))
		TRY(rename_all(r, file, detached));
	TRY(sync_folders(r));
	TRY(rename_all(r, ready, file));
	return sync_folders(r);
}

static enum err repair_file(struct repair *r, const struct target *t,
			    struct commit_journal *journal)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(OUTPUT_PATH_MAX);
	char fresh[300], ready[300], detached[300];
	bool any = false;

	snprintf(fresh, sizeof(fresh), "detached/%s.new", t->name);
	snprintf(ready, sizeof(ready), "detached/%s.ready", t->name);
	TRY(make_detached(r));
	TRY(name_of(r, &path, "%s", fresh));
	TRY(copy_good(r, t, path.data, &any));
	TRY(free_name(r, t->name, detached, sizeof(detached)));
	TRY(tell_losses(r, t->name, exists(r, t->name) ? detached : ""));
	r->result.files++;
	if (any) {
		TRY(rename_all(r, fresh, ready));
		TRY(sync_folders(r));
		TRY(put_in_place(r, t->name, ready));
		return journal_note(journal, t->kind, t->day, r->ledger.file, r->ledger.commits,
				    r->fault);
	}
	if (exists(r, t->name))
		TRY(rename_all(r, t->name, detached));
	if (unlink(path.data) < 0 && errno != ENOENT)
		return fault_set(r->fault, err_from_errno(errno), "%s cannot be removed: %s",
				 path.data, strerror(errno));
	TRY(sync_folders(r));
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
	if (!exists(r, ready))
		return ERR_OK;
	if (!exists(r, file))
		return put_in_place(r, file, ready);
	TRY(free_name(r, file, aside, sizeof(aside)));
	return rename_all(r, ready, aside);
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

		forget_losses(r);
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

	TRY(make_detached(r));
	TRY(free_name(r, "commits", detached, sizeof(detached)));
	TRY(tell_losses(r, "commits", detached));
	r->result.files++;
	journal_close(&t->journal);
	TRY(rename_all(r, "commits", detached));
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
	struct walk w = {.place = t->place, .seed = r->seed, .bad = ignore_bad, .context = r};
	enum err error = name_of(r, &path, "catalog.db");

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
	forget_losses(r);
	if (t->journal_damaged) {
		note_loss(r, "the journal of commits was damaged, and is made anew", NULL);
		TRY(make_journal(r, t));
		forget_losses(r);
	}
	/* It may list files that no longer exist. */
	if (!any || !exists(r, "catalog.db"))
		return t->catalog_damaged
			       ? journal_removed(&t->journal, LEDGER_CATALOG, 0, r->fault)
			       : ERR_OK;
	note_loss(r,
		  t->catalog_damaged ? "the catalog was damaged: settings or lines of the audit "
				       "may be missing"
				     : "the catalog knew the files that were repaired",
		  NULL);
	return repair_catalog(r, t);
}

static enum err repair_tenant(struct repair *r, struct str name)
{
	char text[TENANT_NAME_MAX + 1];
	struct tenant_walk t = {.name = text, .seed = r->seed, .bad = note_loss, .context = r};
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
	forget_losses(r);
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
