#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "server/symbol_sources_parts.h"

struct copying {
	struct symbol_store *from, *to;
	struct fault *fault;
	VEC(struct symbol_item) items;
};

static enum err note_item(void *context, const struct symbol_item *item)
{
	struct copying *c = context;

	return vec_push(&c->items, *item);
}

static enum err copy_bytes(int from, int to, struct fault *fault)
{
	static const size_t step = (size_t)1 << 20;
	CLEANUP(mem_free_ptr) char *bytes = mem_alloc(step);
	ssize_t n;

	if (!bytes)
		return ERR_NO_MEMORY;
	while ((n = read(from, bytes, step)) > 0)
		TRY(write_all(to, bytes, (size_t)n));
	return n ? fault_set(fault, err_from_errno(errno), "a symbol file cannot be read: %s",
			     strerror(errno))
		 : ERR_OK;
}

static enum err copy_item(struct copying *c, const struct symbol_item *item)
{
	struct symbol_item copied;
	char path[4096];
	int from, to;
	enum err error;

	/* It may have gone meanwhile. */
	if (symbol_store_open(c->from, str_of(item->build_id), item->debug, &from) != ERR_OK)
		return ERR_OK;
	error = symbol_store_begin(c->to, &to, path, sizeof(path), c->fault);
	if (!error) {
		error = copy_bytes(from, to, c->fault);
		if (error)
			unlink(path);
		else
			error = symbol_store_take(c->to, to, path, str_of(item->build_id), &copied,
						  c->fault);
		close(to);
	}
	close(from);
	return error;
}

static enum err copy_tenant(struct symbol_store *from, const char *name, const char *destination,
			    struct fault *fault)
{
	char folder[4096];
	struct copying c = {.from = from, .fault = fault};
	enum err error;

	if (symbol_store_is_empty(from))
		return ERR_OK;
	if (snprintf(folder, sizeof(folder), "%s/.symbols/%s", destination, name) >=
	    (int)sizeof(folder))
		return ERR_TOO_LARGE;
	TRY(symbol_store_new(&(struct symbol_store_options){.folder = folder}, &c.to, fault));
	error = symbol_store_list(from, note_item, &c);
	for (size_t i = 0; !error && i < c.items.n; i++)
		error = copy_item(&c, &c.items.v[i]);
	vec_release(&c.items);
	symbol_store_free(c.to);
	return error;
}

/* Fetched files can be fetched again. */
enum err symbol_sources_backup(struct symbol_sources *d, const char *destination,
			       struct fault *fault)
{
	enum err error = ERR_OK;

	for (size_t i = 0; !error; i++) {
		struct symbol_sources_tenant one = {0};

		/* Tenants come, and never go. */
		mutex_lock(&d->lock);
		if (i < d->tenants.n)
			one = d->tenants.v[i];
		mutex_unlock(&d->lock);
		if (!one.store)
			break;
		error = copy_tenant(one.store, one.name, destination, fault);
	}
	return error;
}
