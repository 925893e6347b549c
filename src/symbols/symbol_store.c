/*
 * The folder: BUILDID.exec, BUILDID.debug, BUILDID.vsym (answers, symbol_cache.h), and files that
 * are on their way, N.incoming, which the next start deletes.
 */
#include "symbols/symbol_store_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* More would make every look slower than it should be. */
#define ITEMS_MAX 100000u

static enum err os_failed(struct fault *fault, const char *path)
{
	int os = errno;

	return fault_set(fault, err_from_errno(os), "%s: %s", path, strerror(os));
}

enum err symbol_store_path(const struct symbol_store *s, const char *build_id, bool debug,
			   char path[SHELF_PATH_MAX])
{
	int n = snprintf(path, SHELF_PATH_MAX, "%s/%s.%s", s->folder, build_id,
			 debug ? "debug" : "exec");

	return n < SHELF_PATH_MAX ? ERR_OK : ERR_TOO_LARGE;
}

static int compare(const struct symbol_item *item, const char *build_id, bool debug)
{
	int order = strcmp(item->build_id, build_id);

	return order ? order : (int)item->debug - (int)debug;
}

size_t symbol_store_find(const struct symbol_store *s, const char *build_id, bool debug,
			 bool *ret_there)
{
	size_t low = 0, high = s->items.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&s->items.v[middle].item, build_id, debug) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_there = low < s->items.n && !compare(&s->items.v[low].item, build_id, debug);
	return low;
}

static enum err add(struct symbol_store *s, const struct symbol_item *item)
{
	bool there;
	size_t at = symbol_store_find(s, item->build_id, item->debug, &there);

	if (there || s->items.n >= ITEMS_MAX)
		return ERR_OK;
	TRY(vec_push(&s->items, ((struct shelved){0})));
	memmove(s->items.v + at + 1, s->items.v + at, (s->items.n - 1 - at) * sizeof(*s->items.v));
	s->items.v[at] = (struct shelved){.item = *item};
	s->bytes += item->size;
	return ERR_OK;
}

static enum err look_at(struct symbol_store *s, int folder, const char *name)
{
	struct str text = str_of(name), id = str_n(name, str_find(text, '.'));
	struct str kind = str_skip(text, id.n);
	struct symbol_item item = {.debug = str_eq(kind, STR(".debug"))};
	struct stat info;

	if (str_eq(kind, STR(".incoming")))
		unlinkat(folder, name, 0);
	if (!build_id_valid(id) || (!item.debug && !str_eq(kind, STR(".exec"))) ||
	    fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
		return ERR_OK;
	memcpy(item.build_id, id.p, id.n);
	item.size = (uint64_t)info.st_size;
	item.kept_s = info.st_mtime;
	return add(s, &item);
}

static enum err read_folder(struct symbol_store *s, struct fault *fault)
{
	DIR *folder = opendir(s->folder);
	enum err error = ERR_OK;
	struct dirent *entry;

	if (!folder)
		return os_failed(fault, s->folder);
	while (!error && (entry = readdir(folder)))
		error = look_at(s, dirfd(folder), entry->d_name);
	closedir(folder);
	return error;
}

static enum err make_folders(char *path, struct fault *fault)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return os_failed(fault, path);
		if (!slash)
			return ERR_OK;
		*slash = '/';
	}
}

enum err symbol_store_new(const struct symbol_store_options *o, struct symbol_store **ret,
			  struct fault *fault)
{
	struct symbol_store *s = mem_zalloc(1, sizeof(*s));
	enum err error = ERR_NO_MEMORY;

	if (!s)
		return error;
	mutex_init(&s->lock);
	s->options = *o;
	s->folder = mem_strdup(o->folder);
	if (s->folder)
		error = make_folders(s->folder, fault);
	if (!error)
		error = read_folder(s, fault);
	if (error) {
		symbol_store_free(s);
		return error;
	}
	*ret = s;
	return ERR_OK;
}

void symbol_store_free(struct symbol_store *s)
{
	if (!s)
		return;
	vec_release(&s->items);
	mutex_release(&s->lock);
	mem_free(s->folder);
	mem_free(s);
}

const char *symbol_store_folder(const struct symbol_store *s)
{
	return s->folder;
}

bool symbol_store_is_empty(struct symbol_store *s)
{
	bool empty;

	mutex_lock(&s->lock);
	empty = !s->items.n;
	mutex_unlock(&s->lock);
	return empty;
}

uint64_t symbol_store_changes(struct symbol_store *s)
{
	uint64_t changes;

	mutex_lock(&s->lock);
	changes = s->changes;
	mutex_unlock(&s->lock);
	return changes;
}

uint64_t symbol_store_bytes(struct symbol_store *s)
{
	uint64_t bytes;

	mutex_lock(&s->lock);
	bytes = s->bytes;
	mutex_unlock(&s->lock);
	return bytes;
}

/* As a C string; empty when it is none. */
static void id_of(struct str build_id, char ret[BUILD_ID_TEXT_MAX + 1])
{
	size_t n = build_id_valid(build_id) ? build_id.n : 0;

	if (n)
		memcpy(ret, build_id.p, n);
	ret[n] = 0;
}

static bool has(struct symbol_store *s, struct str build_id, bool debug)
{
	char id[BUILD_ID_TEXT_MAX + 1];
	bool there;

	id_of(build_id, id);
	mutex_lock(&s->lock);
	symbol_store_find(s, id, debug, &there);
	mutex_unlock(&s->lock);
	return there;
}

bool symbol_store_has_debug(struct symbol_store *s, struct str build_id)
{
	return has(s, build_id, true);
}

bool symbol_store_has(struct symbol_store *s, struct str build_id)
{
	return has(s, build_id, false) || has(s, build_id, true);
}

enum err symbol_store_open(struct symbol_store *s, struct str build_id, bool debug, int *ret_fd)
{
	char id[BUILD_ID_TEXT_MAX + 1], path[SHELF_PATH_MAX];
	enum err error = ERR_NOT_FOUND;
	bool there;
	size_t at;
	int fd;

	id_of(build_id, id);
	mutex_lock(&s->lock);
	at = symbol_store_find(s, id, debug, &there);
	if (there && !symbol_store_path(s, id, debug, path)) {
		s->items.v[at].used = ++s->uses;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		error = fd < 0 ? err_from_errno(errno) : ERR_OK;
		if (!error)
			*ret_fd = fd;
	}
	mutex_unlock(&s->lock);
	return error;
}

void symbol_store_forget_answers(const struct symbol_store *s, const char *build_id)
{
	char path[SHELF_PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s.vsym", s->folder, build_id) < (int)sizeof(path))
		unlink(path);
}

void symbol_store_drop(struct symbol_store *s, size_t at)
{
	const struct symbol_item *item = &s->items.v[at].item;
	char path[SHELF_PATH_MAX];

	if (!symbol_store_path(s, item->build_id, item->debug, path))
		unlink(path);
	symbol_store_forget_answers(s, item->build_id);
	s->bytes -= item->size;
	s->changes++;
	s->items.n--;
	memmove(s->items.v + at, s->items.v + at + 1, (s->items.n - at) * sizeof(*s->items.v));
}

enum err symbol_store_remove(struct symbol_store *s, struct str build_id)
{
	char id[BUILD_ID_TEXT_MAX + 1];
	enum err error = ERR_NOT_FOUND;

	id_of(build_id, id);
	mutex_lock(&s->lock);
	for (int debug = 0; debug < 2; debug++) {
		bool there;
		size_t at = symbol_store_find(s, id, debug, &there);

		if (!there)
			continue;
		symbol_store_drop(s, at);
		error = ERR_OK;
	}
	mutex_unlock(&s->lock);
	return error;
}

enum err symbol_store_list(struct symbol_store *s,
			   enum err (*each)(void *context, const struct symbol_item *item),
			   void *context)
{
	enum err error = ERR_OK;

	mutex_lock(&s->lock);
	for (size_t i = 0; !error && i < s->items.n; i++)
		error = each(context, &s->items.v[i].item);
	mutex_unlock(&s->lock);
	return error;
}
