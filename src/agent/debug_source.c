#include "agent/debug_source.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/confine.h"
#include "base/alloc.h"
#include "net/net.h"
#include "symbols/symbols.h"

#define DEFAULT_MAX_FILE ((u64)512 << 20)
#define DEFAULT_MAX_SIZE ((u64)2 << 30)
#define ROOTS_FOLDER	 "/var/cache/vestal/debuginfod"

static const char *const directories[] = {"usr/lib/debug", "usr/local/lib/debug"};

struct debug_source {
	struct symbol_store *store;
	struct debuginfod *client;
	struct debug_fetcher *fetcher;
	atomic_bool stop;
};

/* ---- debuginfod ---- */

static enum err get(void *context, const char *build_id, int fd, struct fault *fault)
{
	struct debug_source *s = context;

	return debuginfod_debug_file(s->client, build_id, fd, fault);
}

static enum err start(struct debug_source *s, const struct debug_source_options *o,
		      struct fault *fault)
{
	struct debuginfod_options client = {.urls = o->urls,
					    .max_file =
						    o->max_file ? o->max_file : DEFAULT_MAX_FILE,
					    .timeout = o->timeout,
					    .stop = &s->stop};
	char folder[4096];
	struct symbol_store_options store = {.folder = o->directory,
					     .max_file = client.max_file,
					     .max_size =
						     o->max_size ? o->max_size : DEFAULT_MAX_SIZE,
					     .drops = true};

	TRY(debuginfod_new(&client, &s->client, fault));
	if (!s->client)
		return ERR_OK;
	if (!store.folder && !debug_source_folder(folder, sizeof(folder)))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "no folder for files of debuginfod: configure one");
	if (!store.folder)
		store.folder = folder;
	TRY(symbol_store_new(&store, &s->store, fault));
	return debug_fetcher_new(
		&(struct fetcher_options){.store = s->store, .get = get, .context = s},
		&s->fetcher);
}

enum err debug_source_new(const struct debug_source_options *o, struct debug_source **ret,
			  struct fault *fault)
{
	struct debug_source *s = mem_zalloc(1, sizeof(*s));
	enum err e;

	if (!s)
		return ERR_NO_MEMORY;
	e = start(s, o, fault);
	if (e || !s->fetcher) {
		debug_source_free(s);
		s = NULL;
	}
	if (!e)
		*ret = s;
	return e;
}

void debug_source_free(struct debug_source *s)
{
	if (!s)
		return;
	atomic_store(&s->stop, true);
	debug_fetcher_free(s->fetcher);
	debuginfod_free(s->client);
	symbol_store_free(s->store);
	mem_free(s);
}

bool debug_source_folder(char *path, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (confine_first_uid() == 0)
		n = snprintf(path, size, ROOTS_FOLDER);
	else if (cache && cache[0] == '/')
		n = snprintf(path, size, "%s/vestal/debuginfod", cache);
	else if (home && home[0] == '/')
		n = snprintf(path, size, "%s/.cache/vestal/debuginfod", home);
	else
		return false;
	return n > 0 && (size_t)n < size;
}

/* ---- this machine ---- */

static int open_at(int folder, const char *path, u64 flags, u64 resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
			       .resolve = resolve | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

/* Check the type before opening: opening a device or pipe can have side effects. */
static int open_regular(int folder, const char *path)
{
	int place = open_at(folder, path, O_PATH, RESOLVE_BENEATH), fd = -1;
	struct stat info;
	char again[64];

	if (place < 0)
		return -1;
	if (!fstat(place, &info) && S_ISREG(info.st_mode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	close(place);
	return fd;
}

/* Links may lead about inside the debug directory, not out of it. */
static int open_below(const char *root, const char *build_id)
{
	int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char path[BUILD_ID_TEXT_MAX + 32];

	snprintf(path, sizeof(path), ".build-id/%.2s/%s.debug", build_id, build_id + 2);
	for (size_t i = 0; top >= 0 && fd < 0 && i < sizeof(directories) / sizeof(*directories);
	     i++) {
		int folder = open_at(top, directories[i], O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT);

		if (folder < 0)
			continue;
		fd = open_regular(folder, path);
		close(folder);
	}
	if (top >= 0)
		close(top);
	return fd;
}

static void id_of(const struct unwind_image *image, char text[BUILD_ID_TEXT_MAX + 1])
{
	build_id_text(str_n(image->build_id, image->build_id_size), text);
}

int debug_source_open(u32 pid, struct str build_id)
{
	char root[64];
	int fd;

	if (!build_id_valid(build_id))
		return -1;
	/* In the root directory of the process that mapped it first. The pid may have been reused,
	 * but the build id is checked. */
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	fd = open_below(root, build_id.p);
	return fd >= 0 ? fd : open_below("/", build_id.p);
}

int debug_source_fetched(struct debug_source *s, const struct unwind_image *image,
			 bool *ret_pending)
{
	char id[BUILD_ID_TEXT_MAX + 1];
	int fd;

	*ret_pending = false;
	id_of(image, id);
	if (!s || !build_id_valid(str_of(id)))
		return -1;
	switch (debug_fetcher_ask(s->fetcher, str_of(id))) {
	case FETCH_HERE:
		return symbol_store_open(s->store, str_of(id), true, &fd) == ERR_OK ? fd : -1;
	case FETCH_PENDING:
		*ret_pending = true;
		return -1;
	case FETCH_REFUSED:
		break;
	}
	return -1;
}

bool debug_source_pending(struct debug_source *s, const struct unwind_image *image)
{
	char id[BUILD_ID_TEXT_MAX + 1];

	id_of(image, id);
	return debug_fetcher_ask(s->fetcher, str_of(id)) == FETCH_PENDING;
}

void debug_source_wait(struct debug_source *s, int64_t deadline_ns)
{
	/* If it is late, the next request gets it. */
	(void)debug_fetcher_wait(s->fetcher, deadline_ns);
}
