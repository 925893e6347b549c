/*
 * SQLite connections: readers and writer of a day, and catalogs. Idle ones stay open for reuse
 * while there are enough descriptors; otherwise the least recently used is closed, because a store
 * may have more days and tenants than a process may open files.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/catalog.h"

#define MAX_IDLE_READERS 4
#define REST_AFTER_NS	 INT64_C(60000000000)
/* The file, its log, and the log's index. */
#define FILES_OF_ONE	 3
#define LEAST_OPEN	 4
#define MOST_OPEN	 4096
#define OPEN_TRIES	 16

/* Half of the process's descriptors: the other is for sockets and what else there is. */
void connections_init(struct embedded *e)
{
	struct rlimit limit;
	uint64_t most = MOST_OPEN;

	lru_init(&e->idle);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		most = limit.rlim_cur / 2 / FILES_OF_ONE;
	e->most_connections = most < LEAST_OPEN ? LEAST_OPEN : most > MOST_OPEN ? MOST_OPEN : most;
	for (int i = 0; i < SPARE_FILES; i++)
		e->spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void connections_release(struct embedded *e)
{
	for (int i = 0; i < SPARE_FILES; i++)
		if (e->spare[i] >= 0)
			close(e->spare[i]);
}

void connection_give_back(struct embedded *e, struct db *db)
{
	if (!db)
		return;
	db_close(db);
	atomic_fetch_sub(&e->connections, 1);
}

/* ------------------------------------------------------------------ making room */

static void close_idle_readers(struct day *d)
{
	struct embedded *e = d->engine;
	struct db *reader;

	do {
		engine_lock(e);
		reader = d->readers.n ? d->readers.v[--d->readers.n] : NULL;
		engine_unlock(e);
		connection_give_back(e, reader);
	} while (reader);
}

/* Do not wait for the lock: a writer needs its connection. */
static void close_idle_day(struct day *d)
{
	close_idle_readers(d);
	if (!mutex_try(&d->write))
		return;
	connection_give_back(d->engine, d->writer);
	d->writer = NULL;
	mutex_unlock(&d->write);
}

static void close_idle_catalog(struct tenant *t)
{
	if (!mutex_try(&t->catalog_lock))
		return;
	connection_give_back(t->engine, t->catalog);
	t->catalog = NULL;
	mutex_unlock(&t->catalog_lock);
}

/* False when nothing is idle. */
static bool close_coldest(struct embedded *e)
{
	struct connection_owner *o = NULL;
	struct lru_node *oldest;

	engine_lock(e);
	oldest = lru_oldest(&e->idle);
	if (oldest) {
		o = lru_entry(oldest, struct connection_owner, node);
		lru_remove(oldest);
		if (o->day)
			o->day->references++;
	}
	engine_unlock(e);
	if (!o)
		return false;
	if (o->day) {
		close_idle_day(o->day);
		day_put(o->day);
	} else {
		close_idle_catalog(o->tenant);
	}
	return true;
}

static void touch(struct embedded *e, struct connection_owner *o)
{
	engine_lock(e);
	lru_touch(&e->idle, &o->node);
	engine_unlock(e);
}

/* One thread at a time has what was kept in reserve. */
static enum err open_with_reserve(struct embedded *e, const char *path,
				  const struct db_schema *schema, enum db_mode mode,
				  const struct db_setup *setup, struct db **ret,
				  struct fault *fault)
{
	enum err error;

	mutex_lock(&e->spare_lock);
	for (int i = 0; i < SPARE_FILES; i++)
		if (e->spare[i] >= 0) {
			close(e->spare[i]);
			e->spare[i] = -1;
		}
	error = embedded_db_open(e, path, schema, mode, setup, ret, fault);
	mutex_unlock(&e->spare_lock);
	return error;
}

static void refill_reserve(struct embedded *e)
{
	mutex_lock(&e->spare_lock);
	for (int i = 0; i < SPARE_FILES; i++)
		if (e->spare[i] < 0)
			e->spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	mutex_unlock(&e->spare_lock);
}

/* Whether the files of a connection cannot be opened: the descriptors of the process or of the
 * system are used up, by whomever. */
static bool out_of_files(void)
{
	int files[FILES_OF_ONE], n = 0;

	while (n < FILES_OF_ONE && (files[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(files[i]);
	return n < FILES_OF_ONE;
}

enum err connection_open(struct embedded *e, const char *path, const struct db_schema *schema,
			 enum db_mode mode, const struct db_setup *setup, struct db **ret,
			 struct fault *fault)
{
	enum err error = ERR_OK;
	bool reserve = false;

	while (atomic_load(&e->connections) >= e->most_connections && close_coldest(e))
		;
	for (int i = 0; i < OPEN_TRIES; i++) {
		struct fault own = {0};

		error = embedded_db_open(e, path, schema, mode, setup, ret, &own);
		if (error == ERR_IO && out_of_files() && close_coldest(e))
			continue;
		reserve = error == ERR_IO && out_of_files();
		if (reserve)
			error = open_with_reserve(e, path, schema, mode, setup, ret, &own);
		if (error != ERR_OK && fault)
			*fault = own;
		break;
	}
	if (error == ERR_OK)
		atomic_fetch_add(&e->connections, 1);
	if (reserve)
		refill_reserve(e);
	return error;
}

/* ------------------------------------------------------------------ of a day */

enum err day_reader(struct day *d, struct db **ret, struct fault *fault)
{
	struct db *reader = NULL;

	do {
		/* A connection from before the upgrade has statements without seals. */
		connection_give_back(d->engine, reader);
		engine_lock(d->engine);
		reader = d->readers.n ? d->readers.v[--d->readers.n] : NULL;
		engine_unlock(d->engine);
	} while (reader && atomic_load(&d->upgraded) && reader->version < reader->schema->version);
	if (!reader)
		TRY(connection_open(d->engine, d->path, day_schema_of(d), DB_READ, NULL, &reader,
				    fault));
	*ret = reader;
	return ERR_OK;
}

void day_reader_back(struct day *d, struct db *reader, enum err error)
{
	struct embedded *e = d->engine;

	if (!reader)
		return;
	db_rollback(reader);
	if ((error == ERR_OK || error == ERR_CANCELLED) &&
	    atomic_load(&e->connections) <= e->most_connections) {
		engine_lock(e);
		if (d->readers.n < MAX_IDLE_READERS && vec_push(&d->readers, reader) == ERR_OK) {
			reader = NULL;
			lru_touch(&e->idle, &d->connections.node);
		}
		engine_unlock(e);
	}
	connection_give_back(e, reader);
}

static enum err open_writer(struct day *d, struct fault *fault)
{
	enum err error = day_open_writer(d, fault);

	if (error != ERR_OK)
		return error;
	touch(d->engine, &d->connections);
	if (!atomic_load(&d->exists)) {
		error = folder_sync(d->tenant->folder, fault);
		atomic_store(&d->exists, error == ERR_OK);
	}
	/* After a restart keys begin somewhere else, so that few are taken already. */
	d->sequence = (uint32_t)hash_mix((uint64_t)clock_monotonic_ns(), (uintptr_t)d);
	return error;
}

enum err day_writer(struct day *d, struct db **ret, struct fault *fault)
{
	enum err error = ERR_OK;

	mutex_lock(&d->write);
	if (atomic_load(&d->gone)) {
		/* Its name may belong to another file by now. */
		error = fault_set(fault, ERR_NOT_FOUND, "%s was removed as too old", d->path);
	} else if (!d->writer) {
		error = open_writer(d, fault);
	} else {
		touch(d->engine, &d->connections);
	}
	if (error != ERR_OK) {
		connection_give_back(d->engine, d->writer);
		d->writer = NULL;
		mutex_unlock(&d->write);
		return error;
	}
	atomic_store(&d->counted, false);
	*ret = d->writer;
	return ERR_OK;
}

void day_rest(struct day *d, int64_t now_ns)
{
	if (now_ns - d->used_ns <= REST_AFTER_NS)
		return;
	close_idle_readers(d);
	mutex_lock(&d->write);
	if (now_ns - d->used_ns > REST_AFTER_NS) {
		/* On failure the next close records it. */
		(void)!catalog_record(d, NULL);
		/* The last connection to close also empties the log. */
		connection_give_back(d->engine, d->writer);
		d->writer = NULL;
	}
	mutex_unlock(&d->write);
}

void connections_close(struct day *d)
{
	engine_lock(d->engine);
	lru_remove(&d->connections.node);
	engine_unlock(d->engine);
	close_idle_readers(d);
	connection_give_back(d->engine, d->writer);
	d->writer = NULL;
}

/* ------------------------------------------------------------------ of a tenant */

enum err catalog_open(struct tenant *t, const char *path, const struct db_setup *setup,
		      struct fault *fault)
{
	return connection_open(t->engine, path, &catalog_schema, DB_CREATE, setup, &t->catalog,
			       fault);
}

void catalog_touch(struct tenant *t)
{
	touch(t->engine, &t->connections);
}

void catalog_close(struct tenant *t)
{
	engine_lock(t->engine);
	lru_remove(&t->connections.node);
	engine_unlock(t->engine);
	connection_give_back(t->engine, t->catalog);
	t->catalog = NULL;
}
