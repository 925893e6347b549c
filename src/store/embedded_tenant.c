/* Tenants: their folders, their catalogs, and which days they have. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/catalog.h"
#include "store/upkeep.h"

static void tenant_free(struct tenant *t)
{
	if (!t)
		return;
	vec_for_each (d, &t->days)
		day_free(*d);
	if (t->engine->largest == t)
		t->engine->largest = NULL;
	catalog_close(t);
	journal_close(&t->journal);
	mutex_release(&t->catalog_lock);
	vec_release(&t->days);
	mem_free(t->name);
	mem_free(t->folder);
	memory_hold_release(&t->charged);
	memory_account_put(t->account);
	mem_free(t);
}

static struct tenant *tenant_find(struct embedded *e, struct str name)
{
	MAP_PROBE(&e->tenant_index, hash_str(name, e->base.seed), i)
	{
		if (str_eq(str_of(e->tenants.v[i]->name), name))
			return e->tenants.v[i];
	}
	return NULL;
}

/* Completes interrupted removals of files. */
static enum err finish_removals(struct tenant *t, struct fault *fault)
{
	for (size_t i = 0; i < t->journal.slots.n; i++) {
		struct commit_slot slot = t->journal.slots.v[i];

		if (slot.state == SLOT_REMOVED && slot.kind < DAY_KINDS_)
			TRY(day_remove_file(
				t, (struct day_name){slot.day, (enum day_kind)slot.kind}, fault));
	}
	return ERR_OK;
}

static int by_day(const void *a, const void *b)
{
	const struct day_name *x = a, *y = b;

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

/* All day files, including missing ones, so that queries report these. */
static enum err all_names(struct tenant *t, struct day_names *names, struct fault *fault)
{
	size_t there;

	TRY(day_list(t->folder, names, fault));
	there = names->names.n;
	vec_for_each (slot, &t->journal.slots) {
		struct day_name name = {slot->day, (enum day_kind)slot->kind};

		if (slot->state != SLOT_THERE || slot->kind >= DAY_KINDS_ || !slot->commits ||
		    (there && bsearch(&name, names->names.v, there, sizeof(name), by_day)))
			continue;
		TRY(vec_push(&names->names, name));
	}
	if (names->names.n > 1)
		qsort(names->names.v, names->names.n, sizeof(*names->names.v), by_day);
	return ERR_OK;
}

/* The files a tenant has become days; nothing is opened. */
static enum err list_days(struct tenant *t, struct fault *fault)
{
	struct day_names names = {0};
	enum err error = all_names(t, &names, fault);

	for (size_t i = 0; error == ERR_OK && i < names.names.n; i++) {
		struct day *d;

		error = day_new(t, names.names.v[i], &d);
		if (error != ERR_OK)
			break;
		atomic_store(&d->exists, true);
		error = vec_push(&t->days, d);
		if (error != ERR_OK)
			day_free(d);
	}
	vec_release(&names.names);
	return error;
}

/* An older store has no journal, and a full disk no room to create one. */
static enum err open_journal(struct tenant *t, struct fault *fault)
{
	enum err error = journal_open(&t->journal, t->folder, t->place, true, fault);

	if (error == ERR_OK || !embedded_make_room(t->engine, error))
		return error;
	journal_close(&t->journal);
	return journal_open(&t->journal, t->folder, t->place, true, fault);
}

static enum err tenant_new(struct embedded *e, struct str name, bool make, struct tenant **ret,
			   struct fault *fault)
{
	struct tenant *t = mem_zalloc(1, sizeof(*t));
	struct stat st;
	enum err error;

	if (!t)
		return ERR_NO_MEMORY;
	t->engine = e;
	t->connections.tenant = t;
	mutex_init(&t->catalog_lock);
	lru_init(&t->unused);
	t->name = mem_strndup(name.p, name.n);
	error = t->name ? tenant_folder(e->dir.path, name, make, &t->folder, fault) : ERR_NO_MEMORY;
	if (error == ERR_OK && !make && stat(t->folder, &st) < 0)
		error = ERR_NOT_FOUND;
	t->place = place_key(e->base.seed, name, LEDGER_CATALOG, 0);
	if (error == ERR_OK)
		quota_begin(t);
	if (error == ERR_OK && e->base.options.memory)
		error = memory_account_get(e->base.options.memory, name, &t->account);
	if (error == ERR_OK)
		error = open_journal(t, fault);
	if (error == ERR_OK)
		error = finish_removals(t, fault);
	if (error == ERR_OK)
		error = list_days(t, fault);
	/* Before any day is accessible. A damaged catalog does not block the days: leftover rows
	 * were never acknowledged. */
	if (error == ERR_OK && catalog_exists(t)) {
		error = undo_recover(t, fault);
		t->undo_left = error != ERR_OK;
		if (is_damage(error))
			error = ERR_OK;
	}
	if (error != ERR_OK) {
		tenant_free(t);
		return error;
	}
	*ret = t;
	return ERR_OK;
}

struct tenant *tenant_known(struct embedded *e, struct str name)
{
	struct tenant *t;

	engine_lock(e);
	t = tenant_find(e, name);
	engine_unlock(e);
	return t;
}

struct tenant *tenant_at(struct embedded *e, size_t i)
{
	struct tenant *t;

	engine_lock(e);
	t = i < e->tenants.n ? e->tenants.v[i] : NULL;
	engine_unlock(e);
	return t;
}

static enum err tenant_add(struct embedded *e, struct tenant *t)
{
	enum err error;

	engine_lock(e);
	error = vec_reserve(&e->tenants, 1);
	if (error == ERR_OK)
		error = map_put(&e->tenant_index, hash_str(str_of(t->name), e->base.seed),
				(uint32_t)e->tenants.n);
	if (error == ERR_OK)
		e->tenants.v[e->tenants.n++] = t;
	engine_unlock(e);
	return error;
}

enum err tenant_get(struct embedded *e, struct str name, bool make, struct tenant **ret,
		    struct fault *fault)
{
	struct tenant *t = tenant_known(e, name);
	enum err error = ERR_OK;

	if (t) {
		*ret = t;
		return ERR_OK;
	}
	TRY(tenant_check(name, fault));
	/* One at a time: leftovers of a crash are rolled back once, before any write. */
	mutex_lock(&e->making);
	t = tenant_known(e, name);
	if (!t) {
		error = tenant_new(e, name, make, &t, fault);
		if (error == ERR_OK && (error = tenant_add(e, t)) != ERR_OK)
			tenant_free(t);
	}
	mutex_unlock(&e->making);
	if (error == ERR_OK)
		*ret = t;
	return error;
}

void embedded_free_tenants(struct embedded *e)
{
	vec_for_each (t, &e->tenants)
		tenant_free(*t);
	vec_release(&e->tenants);
	map_release(&e->tenant_index);
}
