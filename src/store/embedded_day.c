/* Days: lookup, creation, references, removal. */
#include "base/clock.h"
#include "store/embedded_index.h"

/* For a day that is not shared yet, or any more: takes no lock. */
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
	vec_release(&d->span_services);
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
	d->place = place_key(t->engine->base.seed, str_of(t->name), name.kind, name.day);
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
		resident_take(&(*ds)->unused);
		partition_charge(*ds, 0);
		engine_unlock(d->engine);
	}
	index_forget(d);
	connections_close(d);
	release(d);
}

/* The index of a day, or where to insert it. */
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

	(void)fault;
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

static void take_out(struct day *d)
{
	struct tenant *t = d->tenant;
	size_t at;

	engine_lock(d->engine);
	at = day_position(t, d->name);
	if (at < t->days.n && t->days.v[at] == d) {
		t->days.n--;
		memmove(t->days.v + at, t->days.v + at + 1, (t->days.n - at) * sizeof(*t->days.v));
	}
	engine_unlock(d->engine);
}

/* The day stays registered until its file is removed; otherwise a new day of the same name could be
 * written to the file that is about to be removed. Until then writers are refused. */
enum err day_drop(struct day *d, struct fault *fault)
{
	enum err error;

	mutex_lock(&d->write);
	atomic_store(&d->gone, true);
	connection_give_back(d->engine, d->writer);
	d->writer = NULL;
	error = day_remove_file(d->tenant, d->name, fault);
	if (error != ERR_OK)
		atomic_store(&d->gone, false);
	mutex_unlock(&d->write);
	if (error == ERR_OK)
		take_out(d);
	return error;
}
