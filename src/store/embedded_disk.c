/*
 * Checks, records and reports the state of disk and clock. DIR/.clock is the record of the trusted
 * clock.
 */
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/upkeep.h"

#define RECORD_MAX    8192
#define RECORD_NS     (60 * NS_PER_S)
#define FILES_OF_A_DB 3 /* itself, its log, the index of that */

/* ------------------------------------------------------------------ the record of the clock */

static char *record_path(const struct embedded *e)
{
	struct buf path = BUF_INIT(OUTPUT_PATH_MAX);

	buf_printf(&path, "%s/.clock", e->dir.path);
	if (path.error != ERR_OK)
		buf_release(&path);
	return path.data;
}

/* On failure, it is retried after a minute; the previous record is still valid. */
static void record_clock(struct embedded *e)
{
	struct buf text = BUF_INIT(RECORD_MAX);
	char *path = record_path(e);

	mutex_lock(&e->record_lock);
	if (path && trusted_clock_write(&e->base.clock, &text) == ERR_OK)
		(void)!file_write(path, buf_view(&text), OUTPUT_FORCE, NULL);
	e->recorded_ns = clock_monotonic_ns();
	mutex_unlock(&e->record_lock);
	buf_release(&text);
	mem_free(path);
}

struct newest_day {
	struct embedded *engine;
	int64_t end_ns;
};

static void look_at_tenant(void *context, struct str name)
{
	struct newest_day *n = context;
	struct day_names names = {0};
	char *folder = NULL;

	if (tenant_folder(n->engine->dir.path, name, false, &folder, NULL) == ERR_OK &&
	    day_list(folder, &names, NULL) == ERR_OK)
		vec_for_each (one, &names.names)
			if ((one->day + 1) * NS_PER_DAY > n->end_ns)
				n->end_ns = (one->day + 1) * NS_PER_DAY;
	vec_release(&names.names);
	mem_free(folder);
}

/*
 * A store of an older version, a backup, or a damaged record: use the time of the newest data.
 */
static void resume_from_data(struct embedded *e)
{
	struct newest_day newest = {e, 0};

	if (store_dir_tenants(e->dir.path, look_at_tenant, &newest, NULL) == ERR_OK &&
	    newest.end_ns)
		trusted_clock_resume_from(&e->base.clock, newest.end_ns);
}

static void resume_clock(struct embedded *e)
{
	struct buf text = BUF_INIT(RECORD_MAX);
	char *path = record_path(e);
	enum err error = path ? file_read(path, &text, NULL) : ERR_NO_MEMORY;

	if (error == ERR_OK)
		error = trusted_clock_read(&e->base.clock, buf_view(&text));
	if (error != ERR_OK)
		resume_from_data(e);
	buf_release(&text);
	mem_free(path);
}

/* ------------------------------------------------------------------ looking */

static void tell_disk(struct embedded *e)
{
	struct store_disk disk;

	disk_guard_tell(&e->disk, &disk);
	store_tell(&e->base, &(struct store_event){STORE_DISK_CHANGED, .disk = &disk});
}

static void tell_clock(struct embedded *e, const struct store_clock_state *clock)
{
	store_tell(&e->base, &(struct store_event){STORE_CLOCK_CHANGED, .clock = clock});
	record_clock(e);
}

/* Test by writing the file of the failed batch, because another file might succeed. */
static bool takes_again(struct embedded *e)
{
	struct tenant *t;
	struct db *catalog;
	int64_t left;
	bool room = false;

	mutex_lock(&e->queue_lock);
	t = e->failed_tenant;
	mutex_unlock(&e->queue_lock);
	if (!t)
		return true;
	if (tenant_catalog(t, &catalog, NULL) != ERR_OK)
		return false;
	if (db_run_numbers(catalog, PROBE_ADD, NULL, 0, NULL) == ERR_OK)
		room = db_run_numbers(catalog, PROBE_DELETE, NULL, 0, NULL) == ERR_OK &&
		       db_vacuum(catalog, 1000, &left, NULL) == ERR_OK;
	mutex_unlock(&t->catalog_lock);
	return room;
}

static void look_at_disk(struct embedded *e, bool first)
{
	if (disk_guard_refuses(&e->disk) && !takes_again(e) && !first)
		return;
	if (disk_guard_look(&e->disk, store_now(&e->base)) ||
	    (first && disk_guard_refuses(&e->disk)))
		tell_disk(e);
	if (disk_guard_refuses(&e->disk))
		return;
	mutex_lock(&e->queue_lock);
	e->failed_tenant = NULL;
	mutex_unlock(&e->queue_lock);
}

void embedded_look(struct embedded *e)
{
	struct store_clock_state clock;
	bool due, first = !e->looked;

	e->looked = true;
	look_at_disk(e, first);
	if (trusted_clock_look(&e->base.clock, &clock) ||
	    (first && (clock.trust != STORE_CLOCK_TRUSTED || clock.uncounted_ns)))
		tell_clock(e, &clock);
	mutex_lock(&e->record_lock);
	due = clock_monotonic_ns() - e->recorded_ns > RECORD_NS;
	mutex_unlock(&e->record_lock);
	if (due && !disk_guard_refuses(&e->disk))
		record_clock(e);
}

enum err embedded_disk_open(struct embedded *e)
{
	struct store_clock_state clock;

	TRY(disk_guard_open(&e->disk, e->dir.path));
	resume_clock(e);
	/* The keeper reports it, because the receiver of events may not be ready yet. */
	(void)trusted_clock_look(&e->base.clock, &clock);
	record_clock(e);
	return ERR_OK;
}

void embedded_disk_close(struct embedded *e)
{
	/* Of an engine that never came so far nothing is known. */
	if (!e->disk.directory)
		return;
	record_clock(e);
	disk_guard_close(&e->disk);
}

void embedded_wrote(struct embedded *e, struct tenant *t, enum err error)
{
	if (error == ERR_OK)
		disk_guard_proved(&e->disk);
	if (error != ERR_NO_SPACE && error != ERR_IO && error != ERR_UNAVAILABLE)
		return;
	if (disk_guard_failed(&e->disk, error, store_now(&e->base)))
		tell_disk(e);
	if (t && disk_guard_refuses(&e->disk)) {
		mutex_lock(&e->queue_lock);
		e->failed_tenant = t;
		mutex_unlock(&e->queue_lock);
	}
}

/* ------------------------------------------------------------------ the reserve */

/* SQLite's errors do not always say why a file could not be created: check the disk. From here on
 * uploads are refused, so that they cannot use the freed reserve. */
static bool give(struct embedded *e, enum err error, unsigned files, unsigned least)
{
	enum store_disk_state state;

	if (error != ERR_NO_SPACE && error != ERR_IO)
		return false;
	embedded_wrote(e, NULL, error);
	state = atomic_load(&e->disk.state);
	if (state != STORE_DISK_FULL && state != STORE_DISK_NO_INODES && state != STORE_DISK_QUOTA)
		return false;
	return disk_guard_give(&e->disk, files, least);
}

bool embedded_make_room(struct embedded *e, enum err error)
{
	return give(e, error, RESERVE_FILES, 0);
}

enum err embedded_db_open(struct embedded *e, const char *path, const struct db_schema *schema,
			  enum db_mode mode, const struct db_setup *setup, struct db **ret,
			  struct fault *fault)
{
	enum err error = db_open_with(path, schema, mode, setup, ret, fault);

	/* Half of it stays for deletes. */
	if (error != ERR_OK && give(e, error, FILES_OF_A_DB, RESERVE_FILES / 2))
		error = db_open_with(path, schema, mode, setup, ret, fault);
	return error;
}

void embedded_disk_state(struct store *s, struct store_disk *ret)
{
	disk_guard_tell(&embedded_of(s)->disk, ret);
}

void embedded_use_reserve(struct store *s)
{
	(void)give(embedded_of(s), ERR_NO_SPACE, RESERVE_FILES, 0);
}

void embedded_confirmed(struct store *s)
{
	struct embedded *e = embedded_of(s);
	struct store_clock_state clock;

	(void)trusted_clock_look(&e->base.clock, &clock);
	tell_clock(e, &clock);
	keeper_hurry(e);
}
