#include "server/symbol_sources_parts.h"

#include <stdio.h>
#include <unistd.h>

static void close_reader(struct symbol_reader *b)
{
	symbol_file_free(b->file);
	mem_free(b->tenant);
	*b = (struct symbol_reader){0};
}

void symbol_readers_release(struct symbol_sources *d)
{
	for (size_t i = 0; i < BOOKS_MAX; i++)
		close_reader(&d->readers[i]);
}

static uint64_t changes_of(struct symbol_sources *d, struct symbol_store *store)
{
	return (store ? symbol_store_changes(store) : 0) +
	       (d->fetched ? symbol_store_changes(d->fetched) : 0);
}

/* A debug file for what is open: the tenant's own, one that was fetched, or one that is sent for.
 */
static enum err fetch_debug(void *context, const char *build_id, int *ret_fd)
{
	struct symbol_reader *b = context;
	struct symbol_sources *d = b->sources;
	struct symbol_store *store = symbol_sources_find(d, str_of(b->tenant));
	enum err error = ERR_NOT_FOUND;

	if (store)
		error = symbol_store_open(store, str_of(build_id), true, ret_fd);
	if (error && d->fetcher && debug_fetcher_ask(d->fetcher, str_of(build_id)) == FETCH_HERE)
		error = symbol_store_open(d->fetched, str_of(build_id), true, ret_fd);
	return error;
}

/* The program where it is there, else the debug file alone. */
static enum err open_best(struct symbol_sources *d, struct symbol_store *store, struct str build_id,
			  int *ret_fd, struct symbol_store **ret_from)
{
	struct symbol_store *const stores[] = {store, d->fetched};

	for (int debug = 0; debug < 2; debug++)
		for (size_t i = 0; i < 2; i++)
			if (stores[i] && !symbol_store_open(stores[i], build_id, debug, ret_fd)) {
				*ret_from = stores[i];
				return ERR_OK;
			}
	return ERR_NOT_FOUND;
}

/*
 * Cached results are stored next to their file. A tenant's program that needs a fetched, shared
 * file has none on disk, because they would belong neither to the tenant nor to all.
 */
static const char *cache_folder(const struct symbol_reader *b, struct symbol_store *from)
{
	bool complete = from == b->sources->fetched || !b->sources->fetcher ||
			symbol_store_has_debug(from, str_of(b->build_id));

	return complete ? symbol_store_folder(from) : NULL;
}

static enum err read_file(struct symbol_reader *b, struct symbol_store *store)
{
	struct symbol_store *from;
	struct symbol_options o = {.names = SYMBOL_NAMES_FULL,
				   .alone = true,
				   .fetch_debug = fetch_debug,
				   .fetch_context = b,
				   .memory = BOOK_MEMORY};
	enum err error;
	int fd;

	TRY(open_best(b->sources, store, str_of(b->build_id), &fd, &from));
	o.cache_directory = cache_folder(b, from);
	error = symbol_file_new(fd, b->build_id, &o, &b->file, NULL);
	close(fd);
	return error;
}

/* With the lock held. The one that is open on it, else the one to be used; NULL = all are taken. */
static struct symbol_reader *choose(struct symbol_sources *d, struct str tenant,
				    struct str build_id, bool *ret_open)
{
	struct symbol_reader *oldest = NULL;

	*ret_open = false;
	for (size_t i = 0; i < BOOKS_MAX; i++) {
		struct symbol_reader *b = &d->readers[i];

		if (b->tenant && str_eq(str_of(b->tenant), tenant) &&
		    str_eq(str_of(b->build_id), build_id)) {
			*ret_open = true;
			return b->taken ? NULL : b;
		}
		if (!b->taken && (!oldest || b->used < oldest->used))
			oldest = b;
	}
	return oldest;
}

static enum err take_reader(struct symbol_sources *d, struct str tenant, struct str build_id,
			    struct symbol_reader **ret)
{
	struct symbol_reader *b;
	enum err error = ERR_OK;
	bool open;

	mutex_lock(&d->lock);
	while (!(b = choose(d, tenant, build_id, &open)))
		cond_wait(&d->given_back, &d->lock);
	if (!open) {
		close_reader(b);
		b->tenant = mem_strndup(tenant.p, tenant.n);
		memcpy(b->build_id, build_id.p, build_id.n);
		b->build_id[build_id.n] = 0;
		b->sources = d;
		error = b->tenant ? ERR_OK : ERR_NO_MEMORY;
	}
	b->taken = !error;
	b->used = ++d->uses;
	mutex_unlock(&d->lock);
	*ret = b;
	return error;
}

enum err symbol_sources_open(struct symbol_sources *d, struct str tenant, struct str build_id,
			     struct symbol_reader **ret)
{
	struct symbol_store *store = symbol_sources_find(d, tenant);
	uint64_t changes = changes_of(d, store);
	struct symbol_reader *b;
	enum err error = ERR_OK;

	if (!build_id_valid(build_id))
		return ERR_NOT_FOUND;
	TRY(take_reader(d, tenant, build_id, &b));
	/* Something came or went: it may be for this one. */
	if (b->file && b->changes != changes) {
		symbol_file_free(b->file);
		b->file = NULL;
	}
	b->changes = changes;
	if (!b->file)
		error = read_file(b, store);
	if (error) {
		b->file = NULL;
		symbol_sources_close(d, b, false);
		return error;
	}
	*ret = b;
	return ERR_OK;
}

struct symbol_file *symbol_reader_file(struct symbol_reader *b)
{
	return b->file;
}

void symbol_sources_close(struct symbol_sources *d, struct symbol_reader *b, bool learnt)
{
	if (b->file && learnt) {
		/* Results that are not cached are computed again. */
		(void)!symbol_file_save(b->file, NULL);
		symbol_file_drop_pages(b->file);
	}
	mutex_lock(&d->lock);
	b->taken = false;
	cond_broadcast(&d->given_back);
	mutex_unlock(&d->lock);
}
