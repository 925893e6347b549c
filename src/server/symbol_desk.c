#include "server/symbol_desk.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "server/symbol_desk_parts.h"
#include "server/tokens.h"

#define TENANTS_MAX 10000u

static enum err add_tenant(struct symbol_desk *d, struct str name, struct symbol_shelf **ret,
			   struct fault *fault)
{
	struct desk_tenant fresh = {.name = mem_strndup(name.p, name.n)};
	char folder[4096];
	struct shelf_options o = {
		.folder = folder, .max_file = d->options.max_file, .max_size = d->options.max_size};
	enum err error;

	if (!fresh.name)
		return ERR_NO_MEMORY;
	error = snprintf(folder, sizeof(folder), "%s/.symbols/%s", d->options.directory,
			 fresh.name) < (int)sizeof(folder)
			? symbol_shelf_new(&o, &fresh.shelf, fault)
			: ERR_TOO_LARGE;
	if (!error)
		error = vec_push(&d->tenants, fresh);
	if (error) {
		symbol_shelf_free(fresh.shelf);
		mem_free(fresh.name);
		return error;
	}
	*ret = fresh.shelf;
	return ERR_OK;
}

static struct symbol_shelf *find_locked(struct symbol_desk *d, struct str tenant)
{
	vec_for_each (t, &d->tenants)
		if (str_eq(str_of(t->name), tenant))
			return t->shelf;
	return NULL;
}

struct symbol_shelf *desk_find_shelf(struct symbol_desk *d, struct str tenant)
{
	struct symbol_shelf *shelf;

	mutex_lock(&d->lock);
	shelf = find_locked(d, tenant);
	mutex_unlock(&d->lock);
	return shelf;
}

/* Those who have sent something before. */
static enum err find_tenants(struct symbol_desk *d, struct fault *fault)
{
	char path[4096];
	struct dirent *entry;
	struct symbol_shelf *unused;
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

static enum err check_room(const struct symbol_desk *d, struct fault *fault)
{
	if (!d->options.has_room || d->options.has_room(d->options.context))
		return ERR_OK;
	return fault_set(fault, ERR_NO_SPACE, "the disk accepts no writes; try again later");
}

static enum err get_debug_file(void *context, const char *build_id, int fd, struct fault *fault)
{
	struct symbol_desk *d = context;

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

static enum err start_fetching(struct symbol_desk *d, struct fault *fault)
{
	struct debuginfod_options client = {.urls = d->options.debuginfod,
					    .max_file = d->options.debuginfod_max_file,
					    .timeout = d->options.debuginfod_timeout,
					    .stop = &d->stop};
	char folder[4096];
	struct shelf_options shelf = {.folder = folder,
				      .max_file = d->options.debuginfod_max_file,
				      .max_size = d->options.debuginfod_max_size,
				      .drops = true};

	TRY(debuginfod_new(&client, &d->debuginfod, fault));
	if (!d->debuginfod || !d->options.directory)
		return ERR_OK;
	if (snprintf(folder, sizeof(folder), "%s/.debuginfod", d->options.directory) >=
	    (int)sizeof(folder))
		return ERR_TOO_LARGE;
	TRY(symbol_shelf_new(&shelf, &d->fetched, fault));
	return debug_fetcher_new(&(struct fetcher_options){.shelf = d->fetched,
							   .get = get_debug_file,
							   .tell = tell_fetched,
							   .context = d},
				 &d->fetcher);
}

/* ------------------------------------------------------------------ all of it */

enum err symbol_desk_new(const struct desk_options *o, struct symbol_desk **ret,
			 struct fault *fault)
{
	struct symbol_desk *d = mem_zalloc(1, sizeof(*d));
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
		symbol_desk_free(d);
		return error;
	}
	*ret = d;
	return ERR_OK;
}

void symbol_desk_free(struct symbol_desk *d)
{
	if (!d)
		return;
	atomic_store(&d->stop, true);
	debug_fetcher_free(d->fetcher);
	debuginfod_free(d->debuginfod);
	symbol_books_release(d);
	symbol_shelf_free(d->fetched);
	vec_for_each (t, &d->tenants) {
		symbol_shelf_free(t->shelf);
		mem_free(t->name);
	}
	vec_release(&d->tenants);
	cond_release(&d->given_back);
	mutex_release(&d->lock);
	mem_free(d);
}

enum err symbol_desk_shelf(struct symbol_desk *d, struct str tenant, bool make,
			   struct symbol_shelf **ret, struct fault *fault)
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

struct debuginfod *symbol_desk_debuginfod(struct symbol_desk *d)
{
	return d ? d->debuginfod : NULL;
}

bool symbol_desk_serves(struct symbol_desk *d, struct str tenant)
{
	struct symbol_shelf *shelf;

	if (!d)
		return false;
	if (d->fetcher)
		return true;
	shelf = desk_find_shelf(d, tenant);
	return shelf && !symbol_shelf_is_empty(shelf);
}

bool symbol_desk_has(struct symbol_desk *d, struct str tenant, struct str build_id)
{
	struct symbol_shelf *shelf = desk_find_shelf(d, tenant);

	if (!build_id_valid(build_id))
		return false;
	if (shelf && symbol_shelf_has(shelf, build_id))
		return true;
	return d->fetcher && debug_fetcher_ask(d->fetcher, build_id) == FETCH_HERE;
}
