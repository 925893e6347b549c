/* Tenants: their folders, their catalogs, and which days they have. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/embedded.h"

static void tenant_free(struct tenant *t)
{
	if (!t)
		return;
	vec_for_each (d, &t->days)
		day_free(*d);
	catalog_close(t);
	mutex_release(&t->catalog_lock);
	vec_release(&t->days);
	mem_free(t->name);
	mem_free(t->folder);
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

static enum err open_catalog(struct tenant *t, enum db_mode mode, struct fault *fault)
{
	struct buf path = BUF_INIT(OUTPUT_PATH_MAX);
	enum err error;

	buf_printf(&path, "%s/catalog.db", t->folder);
	error = buf_error(&path);
	if (error == ERR_OK && mode == DB_WRITE && access(path.data, F_OK) < 0)
		error = ERR_NOT_FOUND;
	if (error == ERR_OK)
		error = catalog_open(t, path.data, mode, fault);
	if (error == ERR_OK && mode == DB_CREATE)
		error = folder_sync(t->folder, fault);
	buf_release(&path);
	return error;
}

/* Before anybody can look at its days. */
static enum err recover_tenant(struct tenant *t, struct fault *fault)
{
	enum err error = open_catalog(t, DB_WRITE, fault);

	if (error == ERR_NOT_FOUND)
		return ERR_OK;
	return error == ERR_OK ? undo_recover(t->folder, t->catalog, fault) : error;
}

enum err tenant_catalog(struct tenant *t, struct db **ret, struct fault *fault)
{
	enum err error = ERR_OK;

	mutex_lock(&t->catalog_lock);
	if (!t->catalog)
		error = open_catalog(t, DB_CREATE, fault);
	if (error != ERR_OK) {
		catalog_close(t);
		mutex_unlock(&t->catalog_lock);
		return error;
	}
	engine_lock(t->engine);
	lru_touch(&t->engine->idle, &t->connections.node);
	engine_unlock(t->engine);
	*ret = t->catalog;
	return ERR_OK;
}

/* The files a tenant has become days; nothing is opened. */
static enum err list_days(struct tenant *t, struct fault *fault)
{
	struct day_names names = {0};
	enum err error = day_list(t->folder, &names, fault);

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
	t->name = mem_strndup(name.p, name.n);
	error = t->name ? tenant_folder(e->dir.path, name, make, &t->folder, fault) : ERR_NO_MEMORY;
	if (error == ERR_OK && !make && stat(t->folder, &st) < 0)
		error = ERR_NOT_FOUND;
	if (error == ERR_OK)
		error = recover_tenant(t, fault);
	if (error == ERR_OK)
		error = list_days(t, fault);
	if (error != ERR_OK) {
		tenant_free(t);
		return error;
	}
	*ret = t;
	return ERR_OK;
}

static struct tenant *find_locked(struct embedded *e, struct str name)
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
	struct tenant *t = find_locked(e, name);
	enum err error = ERR_OK;

	if (t) {
		*ret = t;
		return ERR_OK;
	}
	TRY(tenant_check(name, fault));
	/* One at a time: what a crash left is taken back once, before anybody writes. */
	mutex_lock(&e->making);
	t = find_locked(e, name);
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
