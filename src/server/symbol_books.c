#include "server/symbol_desk_parts.h"

#include <stdio.h>
#include <unistd.h>

static void close_book(struct symbol_book *b)
{
	symbol_file_free(b->file);
	mem_free(b->tenant);
	*b = (struct symbol_book){0};
}

void symbol_books_release(struct symbol_desk *d)
{
	for (size_t i = 0; i < BOOKS_MAX; i++)
		close_book(&d->books[i]);
}

static uint64_t changes_of(struct symbol_desk *d, struct symbol_shelf *shelf)
{
	return (shelf ? symbol_shelf_changes(shelf) : 0) +
	       (d->fetched ? symbol_shelf_changes(d->fetched) : 0);
}

/* A debug file for what is open: the tenant's own, one that was fetched, or one that is sent for.
 */
static enum err fetch_debug(void *context, const char *build_id, int *ret_fd)
{
	struct symbol_book *b = context;
	struct symbol_desk *d = b->desk;
	struct symbol_shelf *shelf = desk_find_shelf(d, str_of(b->tenant));
	enum err error = ERR_NOT_FOUND;

	if (shelf)
		error = symbol_shelf_open(shelf, str_of(build_id), true, ret_fd);
	if (error && d->fetcher && debug_fetcher_ask(d->fetcher, str_of(build_id)) == FETCH_HERE)
		error = symbol_shelf_open(d->fetched, str_of(build_id), true, ret_fd);
	return error;
}

/* The program where it is there, else the debug file alone. */
static enum err open_best(struct symbol_desk *d, struct symbol_shelf *shelf, struct str build_id,
			  int *ret_fd, struct symbol_shelf **ret_from)
{
	struct symbol_shelf *const shelves[] = {shelf, d->fetched};

	for (int debug = 0; debug < 2; debug++)
		for (size_t i = 0; i < 2; i++)
			if (shelves[i] && !symbol_shelf_open(shelves[i], build_id, debug, ret_fd)) {
				*ret_from = shelves[i];
				return ERR_OK;
			}
	return ERR_NOT_FOUND;
}

/*
 * Cached results are stored next to their file. A tenant's program that needs a fetched, shared
 * file has none on disk, because they would belong neither to the tenant nor to all.
 */
static const char *cache_folder(const struct symbol_book *b, struct symbol_shelf *from)
{
	bool complete = from == b->desk->fetched || !b->desk->fetcher ||
			symbol_shelf_has_debug(from, str_of(b->build_id));

	return complete ? symbol_shelf_folder(from) : NULL;
}

static enum err read_file(struct symbol_book *b, struct symbol_shelf *shelf)
{
	struct symbol_shelf *from;
	struct symbol_options o = {.names = SYMBOL_NAMES_FULL,
				   .alone = true,
				   .fetch_debug = fetch_debug,
				   .fetch_context = b,
				   .memory = BOOK_MEMORY};
	enum err error;
	int fd;

	TRY(open_best(b->desk, shelf, str_of(b->build_id), &fd, &from));
	o.cache_directory = cache_folder(b, from);
	error = symbol_file_new(fd, b->build_id, &o, &b->file, NULL);
	close(fd);
	return error;
}

/* With the lock held. The one that is open on it, else the one to be used; NULL = all are taken. */
static struct symbol_book *choose(struct symbol_desk *d, struct str tenant, struct str build_id,
				  bool *ret_open)
{
	struct symbol_book *oldest = NULL;

	*ret_open = false;
	for (size_t i = 0; i < BOOKS_MAX; i++) {
		struct symbol_book *b = &d->books[i];

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

static enum err take_book(struct symbol_desk *d, struct str tenant, struct str build_id,
			  struct symbol_book **ret)
{
	struct symbol_book *b;
	enum err error = ERR_OK;
	bool open;

	mutex_lock(&d->lock);
	while (!(b = choose(d, tenant, build_id, &open)))
		cond_wait(&d->given_back, &d->lock);
	if (!open) {
		close_book(b);
		b->tenant = mem_strndup(tenant.p, tenant.n);
		memcpy(b->build_id, build_id.p, build_id.n);
		b->build_id[build_id.n] = 0;
		b->desk = d;
		error = b->tenant ? ERR_OK : ERR_NO_MEMORY;
	}
	b->taken = !error;
	b->used = ++d->uses;
	mutex_unlock(&d->lock);
	*ret = b;
	return error;
}

enum err symbol_desk_open(struct symbol_desk *d, struct str tenant, struct str build_id,
			  struct symbol_book **ret)
{
	struct symbol_shelf *shelf = desk_find_shelf(d, tenant);
	uint64_t changes = changes_of(d, shelf);
	struct symbol_book *b;
	enum err error = ERR_OK;

	if (!build_id_valid(build_id))
		return ERR_NOT_FOUND;
	TRY(take_book(d, tenant, build_id, &b));
	/* Something came or went: it may be for this one. */
	if (b->file && b->changes != changes) {
		symbol_file_free(b->file);
		b->file = NULL;
	}
	b->changes = changes;
	if (!b->file)
		error = read_file(b, shelf);
	if (error) {
		b->file = NULL;
		symbol_desk_close(d, b, false);
		return error;
	}
	*ret = b;
	return ERR_OK;
}

struct symbol_file *symbol_book_file(struct symbol_book *b)
{
	return b->file;
}

void symbol_desk_close(struct symbol_desk *d, struct symbol_book *b, bool learnt)
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
