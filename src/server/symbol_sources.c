#include "server/symbol_sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "server/symbol_sources_parts.h"
#include "server/tokens.h"

#define TENANTS_MAX 10000u

static enum err add_tenant(struct symbol_sources *d, struct str name, struct symbol_store **ret,
			   struct fault *fault)
{
	struct symbol_sources_tenant fresh = {.name = mem_strndup(name.p, name.n)};
	char folder[4096];
	struct symbol_store_options o = {
		.folder = folder, .max_file = d->options.max_file, .max_size = d->options.max_size};
	enum err error;

	if (!fresh.name)
		return ERR_NO_MEMORY;
	error = snprintf(folder, sizeof(folder), "%s/.symbols/%s", d->options.directory,
			 fresh.name) < (int)sizeof(folder)
			? symbol_store_new(&o, &fresh.store, fault)
			: ERR_TOO_LARGE;
	if (!error)
		error = vec_push(&d->tenants, fresh);
	if (error) {
		symbol_store_free(fresh.store);
		mem_free(fresh.name);
		return error;
	}
	*ret = fresh.store;
	return ERR_OK;
}

static struct symbol_store *find_locked(struct symbol_sources *d, struct str tenant)
{
	vec_for_each (t, &d->tenants)
		if (str_eq(str_of(t->name), tenant))
			return t->store;
	return NULL;
}

struct symbol_store *symbol_sources_find(struct symbol_sources *d, struct str tenant)
{
	struct symbol_store *store;

	mutex_lock(&d->lock);
	store = find_locked(d, tenant);
	mutex_unlock(&d->lock);
	return store;
}

/* Those who have sent something before. */
static enum err find_tenants(struct symbol_sources *d, struct fault *fault)
{
	char path[4096];
	struct dirent *entry;
	struct symbol_store *unused;
	enum err error = ERR_OK;
	DIR *folder;

	if (snprintf(path, sizeof(path), "%s/.symbols", d->options.directory) >= (int)sizeof(path))
		return ERR_TOO_LARGE;
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT ? ERR_OK
				       : fault_set(fault, err_from_errno(errno), "%.200s: %s", path,
						   strerror(errno));
	while (!error && (entry = readdir(folder)))
		if (tenant_valid(str_of(entry->d_name)) && d->tenants.n < TENANTS_MAX)
			error = add_tenant(d, str_of(entry->d_name), &unused, fault);
	closedir(folder);
	return error;
}

/* ------------------------------------------------------------------ debuginfod */

static enum err check_room(const struct symbol_sources *d, struct fault *fault)
{
	if (!d->options.has_room || d->options.has_room(d->options.context))
		return ERR_OK;
	return fault_set(fault, ERR_NO_SPACE, "the disk accepts no writes; try again later");
}

static enum err get_debug_file(void *context, const char *build_id, int fd, struct fault *fault)
{
	struct symbol_sources *d = context;

	TRY(check_room(d, fault));
	return debuginfod_debug_file(d->debuginfod, build_id, fd, fault);
}

static void tell_fetched(void *context, const char *build_id, enum err error,
			 const struct fault *fault)
{
	(void)context;
	if (!error)
		log_info("debug file fetched", log_str("build_id", str_of(build_id)));
	else if (error != ERR_NOT_FOUND && error != ERR_CANCELLED)
		log_warn("debug file not fetched", log_str("build_id", str_of(build_id)),
			 log_str("error", str_of(fault->text[0] ? fault->text : err_text(error))));
}

static enum err start_fetching(struct symbol_sources *d, struct fault *fault)
{
	struct debuginfod_options client = {.urls = d->options.debuginfod,
					    .max_file = d->options.debuginfod_max_file,
					    .timeout = d->options.debuginfod_timeout,
					    .stop = &d->stop};
	char folder[4096];
	struct symbol_store_options store = {.folder = folder,
					     .max_file = d->options.debuginfod_max_file,
					     .max_size = d->options.debuginfod_max_size,
					     .drops = true};

	TRY(debuginfod_new(&client, &d->debuginfod, fault));
	if (!d->debuginfod || !d->options.directory)
		return ERR_OK;
	if (snprintf(folder, sizeof(folder), "%s/.debuginfod", d->options.directory) >=
	    (int)sizeof(folder))
		return ERR_TOO_LARGE;
	TRY(symbol_store_new(&store, &d->fetched, fault));
	return debug_fetcher_new(&(struct fetcher_options){.store = d->fetched,
							   .get = get_debug_file,
							   .tell = tell_fetched,
							   .context = d},
				 &d->fetcher);
}

/* ------------------------------------------------------------------ all of it */

enum err symbol_sources_new(const struct symbol_sources_options *o, struct symbol_sources **ret,
			    struct fault *fault)
{
	struct symbol_sources *d = mem_zalloc(1, sizeof(*d));
	enum err error;

	if (!d)
		return ERR_NO_MEMORY;
	d->options = *o;
	mutex_init(&d->lock);
	cond_init(&d->given_back);
	error = symbols_guard();
	if (!error && o->directory)
		error = find_tenants(d, fault);
	if (!error)
		error = start_fetching(d, fault);
	if (error) {
		symbol_sources_free(d);
		return error;
	}
	*ret = d;
	return ERR_OK;
}

void symbol_sources_free(struct symbol_sources *d)
{
	if (!d)
		return;
	atomic_store(&d->stop, true);
	debug_fetcher_free(d->fetcher);
	debuginfod_free(d->debuginfod);
	symbol_readers_release(d);
	symbol_store_free(d->fetched);
	vec_for_each (t, &d->tenants) {
		symbol_store_free(t->store);
		mem_free(t->name);
	}
	vec_release(&d->tenants);
	cond_release(&d->given_back);
	mutex_release(&d->lock);
	mem_free(d);
}

enum err symbol_sources_store(struct symbol_sources *d, struct str tenant, bool make,
			      struct symbol_store **ret, struct fault *fault)
{
	enum err error = ERR_OK;

	if (!d->options.directory)
		return fault_set(
			fault, ERR_UNSUPPORTED,
			"this server keeps everything in memory and stores no symbol files");
	if (make)
		TRY(check_room(d, fault));
	mutex_lock(&d->lock);
	*ret = find_locked(d, tenant);
	if (!*ret && !make)
		error = ERR_NOT_FOUND;
	else if (!*ret)
		error = d->tenants.n < TENANTS_MAX ? add_tenant(d, tenant, ret, fault)
						   : ERR_TABLE_FULL;
	mutex_unlock(&d->lock);
	return error;
}

struct debuginfod *symbol_sources_debuginfod(struct symbol_sources *d)
{
	return d ? d->debuginfod : NULL;
}

bool symbol_sources_serves(struct symbol_sources *d, struct str tenant)
{
	struct symbol_store *store;

	if (!d)
		return false;
	if (d->fetcher)
		return true;
	store = symbol_sources_find(d, tenant);
	return store && !symbol_store_is_empty(store);
}

bool symbol_sources_has(struct symbol_sources *d, struct str tenant, struct str build_id)
{
	struct symbol_store *store = symbol_sources_find(d, tenant);

	if (!build_id_valid(build_id))
		return false;
	if (store && symbol_store_has(store, build_id))
		return true;
	return d->fetcher && debug_fetcher_ask(d->fetcher, build_id) == FETCH_HERE;
}
