/* Days: found, made, referred to, dropped; and the connections to their files. */
#include "base/clock.h"
#include "store/embedded_index.h"

/* One that nobody knows yet, or any more: no lock is taken. */
static void release(struct day *d)
{
	vec_for_each (ds, &d->services) {
		partition_free((*ds)->partition);
		vec_release(&(*ds)->fresh);
		vec_release(&(*ds)->reaches);
		mem_free((*ds)->name);
		mem_free(*ds);
	}
	vec_release(&d->services);
	map_release(&d->service_index);
	map_release(&d->id_index);
	vec_release(&d->readers);
	mutex_release(&d->upkeep);
	mutex_release(&d->write);
	mutex_release(&d->loading);
	mutex_release(&d->lists);
	mem_free(d->path);
	mem_free(d);
}

enum err day_new(struct tenant *t, struct day_name name, struct day **ret)
{
	struct day *d = mem_zalloc(1, sizeof(*d));

	if (!d)
		return ERR_NO_MEMORY;
	d->engine = t->engine;
	d->tenant = t;
	d->name = name;
	d->connections.day = d;
	mutex_init(&d->upkeep);
	mutex_init(&d->write);
	mutex_init(&d->loading);
	mutex_init(&d->lists);
	d->path = day_path(t->folder, name);
	if (!d->path) {
		release(d);
		return ERR_NO_MEMORY;
	}
	*ret = d;
	return ERR_OK;
}

void day_free(struct day *d)
{
	if (!d)
		return;
	atomic_fetch_sub(&d->engine->fresh_chunks, d->fresh_chunks);
	vec_for_each (ds, &d->services) {
		engine_lock(d->engine);
		lru_remove(&(*ds)->unused.node);
		engine_unlock(d->engine);
		atomic_fetch_sub(&d->engine->memory, (*ds)->memory);
	}
	index_forget(d);
	connections_close(d);
	release(d);
}

/* Where a day is, or would stand. */
static size_t day_position(const struct tenant *t, struct day_name name)
{
	size_t low = 0, high = t->days.n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct day_name *at = &t->days.v[mid]->name;

		if (at->day < name.day || (at->day == name.day && at->kind < name.kind))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct day *day_find(const struct tenant *t, struct day_name name)
{
	size_t at = day_position(t, name);

	if (at < t->days.n && t->days.v[at]->name.day == name.day &&
	    t->days.v[at]->name.kind == name.kind)
		return t->days.v[at];
	return NULL;
}

static enum err day_insert(struct tenant *t, struct day *d)
{
	size_t at = day_position(t, d->name);

	TRY(vec_reserve(&t->days, 1));
	memmove(t->days.v + at + 1, t->days.v + at, (t->days.n - at) * sizeof(*t->days.v));
	t->days.v[at] = d;
	t->days.n++;
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

/* Reads which services there are and which chunks are in no block yet. */
static enum err read_services(struct day *d, struct db *reader, struct fault *fault)
{
	sqlite3_stmt *q;
	enum err error;
	bool row;

	TRY(db_statement(reader, SERVICE_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		struct day_service *ds;

		error = day_service_get(d, db_column(q, 1), &ds);
		if (error != ERR_OK)
			break;
		error = day_service_expect_id(ds, (uint32_t)sqlite3_column_int64(q, 0));
		if (error != ERR_OK)
			break;
		atomic_store(&ds->id, (uint32_t)sqlite3_column_int64(q, 0));
		atomic_store(&ds->series, (uint32_t)sqlite3_column_int64(q, 2));
		atomic_fetch_add(&d->quota.series, (uint32_t)sqlite3_column_int64(q, 2));
	}
	db_reset(q);
	TRY(error);
	TRY(db_statement(reader, CHUNK_KEYS, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		struct day_service *ds = day_service_by_id(d, (uint32_t)sqlite3_column_int64(q, 1));
		/* One of a service that is not there can only be damage: vestal check tells. */
		struct fresh_chunk chunk = {sqlite3_column_int64(q, 0),
					    (uint32_t)sqlite3_column_int64(q, 2)};

		error = ds ? read_fresh(ds, chunk) : ERR_OK;
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error == ERR_OK ? reach_load(d, reader, fault) : error;
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
}

enum err day_look_into(struct day *d, struct fault *fault)
{
	struct db *reader = NULL;
	enum err error = ERR_OK;

	if (atomic_load_explicit(&d->known, memory_order_acquire))
		return ERR_OK;
	mutex_lock(&d->loading);
	if (!atomic_load(&d->known) && atomic_load(&d->exists)) {
		error = day_reader(d, &reader, fault);
		if (error == ERR_OK) {
			if (d->name.kind == DAY_PROFILES)
				error = read_services(d, reader, fault);
			day_reader_back(d, reader, error);
		} else if (error == ERR_NOT_FOUND) {
			/* Begun and never finished: the next writer does. */
			atomic_store(&d->exists, false);
			error = ERR_OK;
		}
		/* Begun again next time, from the start. */
		if (error != ERR_OK)
			forget_services(d);
	}
	/* A file that is not there yet is made with the table. */
	if (error == ERR_OK && !atomic_load(&d->known) && !atomic_load(&d->exists))
		atomic_store(&d->measured, true);
	if (error == ERR_OK)
		atomic_store(&d->known, true);
	mutex_unlock(&d->loading);
	return error;
}

enum err day_get(struct tenant *t, struct day_name name, bool make, struct day **ret,
		 struct fault *fault)
{
	struct embedded *e = t->engine;
	struct day *d;
	enum err error = ERR_OK;

	engine_lock(e);
	d = day_find(t, name);
	if (!d && make) {
		error = day_new(t, name, &d);
		if (error == ERR_OK && (error = day_insert(t, d)) != ERR_OK) {
			release(d);
			d = NULL;
		}
	} else if (!d || (!make && !atomic_load(&d->exists))) {
		error = ERR_NOT_FOUND;
	}
	if (error == ERR_OK) {
		d->references++;
		d->used_ns = clock_monotonic_ns();
	}
	engine_unlock(e);
	TRY(error);
	error = day_look_into(d, fault);
	if (error != ERR_OK) {
		day_put(d);
		return error;
	}
	*ret = d;
	return ERR_OK;
}

void day_put(struct day *d)
{
	struct embedded *e;
	bool last;

	if (!d)
		return;
	e = d->engine;
	engine_lock(e);
	last = --d->references == 0 && d->gone;
	engine_unlock(e);
	if (last)
		day_free(d);
}

void day_list_put(struct day_list *list)
{
	vec_for_each (d, &list->v)
		day_put(*d);
	vec_release(&list->v);
}

/* Adds days from `first` to `last` without looking into them; `kind` < 0: of every kind. */
static enum err list_tenant(struct tenant *t, int64_t first, int64_t last, int kind,
			    struct day_list *list)
{
	enum err error = ERR_OK;

	engine_lock(t->engine);
	for (size_t i = day_position(t, (struct day_name){first, 0});
	     error == ERR_OK && i < t->days.n && t->days.v[i]->name.day <= last; i++) {
		struct day *d = t->days.v[i];

		engine_step(t->engine);
		if (kind >= 0 && (int)d->name.kind != kind)
			continue;
		error = vec_push(&list->v, d);
		if (error != ERR_OK)
			break;
		d->references++;
		if (kind >= 0)
			d->used_ns = clock_monotonic_ns();
	}
	engine_unlock(t->engine);
	return error;
}

enum err days_of_range(struct tenant *t, enum day_kind kind, int64_t from_ns, int64_t until_ns,
		       struct day_list *ret, struct fault *fault)
{
	struct day_list list = {0};
	enum err error = list_tenant(t, day_of(from_ns), day_of(until_ns - (until_ns > INT64_MIN)),
				     (int)kind, &list);

	for (size_t i = 0; error == ERR_OK && i < list.v.n; i++)
		error = day_look_into(list.v.v[i], fault);
	if (error != ERR_OK)
		day_list_put(&list);
	else
		*ret = list;
	return error;
}

enum err days_of_tenant(struct tenant *t, struct day_list *ret)
{
	struct day_list list = {0};
	enum err error = list_tenant(t, INT64_MIN, INT64_MAX, -1, &list);

	if (error != ERR_OK)
		day_list_put(&list);
	else
		*ret = list;
	return error;
}

enum err days_all(struct embedded *e, struct day_list *ret, struct fault *fault)
{
	struct day_list list = {0};
	enum err error = ERR_OK;
	struct tenant *t;

	(void)fault;
	for (size_t i = 0; error == ERR_OK && (t = tenant_at(e, i)); i++)
		error = list_tenant(t, INT64_MIN, INT64_MAX, -1, &list);
	if (error != ERR_OK)
		day_list_put(&list);
	else
		*ret = list;
	return error;
}

enum err day_drop(struct day *d, struct fault *fault)
{
	struct tenant *t = d->tenant;
	size_t at;

	engine_lock(d->engine);
	at = day_position(t, d->name);
	if (!d->gone && at < t->days.n && t->days.v[at] == d) {
		t->days.n--;
		memmove(t->days.v + at, t->days.v + at + 1, (t->days.n - at) * sizeof(*t->days.v));
		d->gone = true;
	}
	engine_unlock(d->engine);
	TRY(day_unlink(t->folder, d->name, fault));
	return folder_sync(t->folder, fault);
}
