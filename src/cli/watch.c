/*
 * push --watch: pushes every file that appears in a folder, once.
 *
 * The folder itself is the queue: files in it are pushed and then removed. inotify only triggers a
 * rescan, so that no file is missed or pushed twice, even if events are lost, or the server or this
 * process is restarted. A file is ready if it is not open for writing, and its sidecar exists or
 * was awaited long enough.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/push.h"

#define MAX_PATH      4096
#define LOOK_AGAIN_NS (60 * NS_PER_S) /* for folders without change notification */
#define FIRST_WAIT_NS NS_PER_S
#define LAST_WAIT_NS  (60 * NS_PER_S)

struct watch {
	const struct push_options *o;
	int inotify;
	int64_t look_at_ns; /* when to look next: monotonic */
	bool away;	    /* the server did not take the last one */
	int64_t wait_ns;    /* before the next attempt; 0 = the last one succeeded */
	uint64_t pushed, refused, left;
	sigset_t open; /* the mask while waiting */
};

static volatile sig_atomic_t stopping;

static void on_signal(int number)
{
	(void)number;
	stopping = 1;
}

/* The signals arrive only while we wait: a file is pushed and moved, or it is not begun. */
static void take_signals(struct watch *w)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t ours;

	sigemptyset(&ours);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaddset(&ours, numbers[i]);
		sigaction(numbers[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &ours, &w->open);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigdelset(&w->open, numbers[i]);
}

static bool is_stopping(const struct watch *w)
{
	struct timespec none = {0};

	/* Lets a signal in that came meanwhile. */
	ppoll(NULL, 0, &none, &w->open);
	return stopping;
}

/* ------------------------------------------------------------------ which files */

static bool has_temporary_name(struct str name)
{
	return name.p[0] == '.' || str_ends(name, STR("~")) || str_ends(name, STR(".tmp")) ||
	       str_ends(name, STR(".part")) || str_ends(name, STR(".partial"));
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A lease is only granted if the file is not open for writing. */
static bool is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool busy;

	if (fd < 0)
		return false;
	busy = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && (errno == EAGAIN || errno == EBUSY);
	if (!busy)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	close(fd);
	return busy;
}

/* Monotonic time at which a file has waited long enough for a sidecar. */
static int64_t settled_at(const struct watch *w, const struct stat *st)
{
	int64_t changed = (int64_t)st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec;
	int64_t age = clock_wall_ns() - changed;
	int64_t settle = (int64_t)(w->o->settle * 1e9);

	if (age < 0 || age >= settle)
		return clock_monotonic_ns();
	return clock_monotonic_ns() + settle - age;
}

static void look_at(struct watch *w, int64_t when)
{
	if (when < w->look_at_ns)
		w->look_at_ns = when;
}

/* Whether the file is to be pushed now; else when to look at it again. */
static bool is_ready(struct watch *w, const char *path)
{
	char sidecar[MAX_PATH];
	struct stat st;
	int64_t when;

	if (!is_file(path) || stat(path, &st) != 0)
		return false;
	if (is_being_written(path)) {
		look_at(w, clock_monotonic_ns() + NS_PER_S);
		return false;
	}
	if (sidecar_is(path))
		return false;
	if (sidecar_find(path, sidecar, sizeof(sidecar)) && !is_being_written(sidecar))
		return true;
	when = settled_at(w, &st);
	if (when > clock_monotonic_ns()) {
		look_at(w, when);
		return false;
	}
	return true;
}

/* ------------------------------------------------------------------ after the push */

/* Moves it to a subfolder, under an unused name. */
static bool move_into(const struct watch *w, const char *path, const char *folder)
{
	const char *name = strrchr(path, '/') + 1;
	char target[MAX_PATH];

	snprintf(target, sizeof(target), "%s/%s", w->o->watch, folder);
	if (mkdir(target, 0777) != 0 && errno != EEXIST)
		return false;
	for (unsigned i = 0; i < 10000; i++) {
		int n = i ? snprintf(target, sizeof(target), "%s/%s/%s.%u", w->o->watch, folder,
				     name, i)
			  : snprintf(target, sizeof(target), "%s/%s/%s", w->o->watch, folder, name);

		if (n < 0 || (size_t)n >= sizeof(target))
			return false;
		if (renameat2(AT_FDCWD, path, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static bool put_away(const struct watch *w, const char *path, const char *folder, bool remove)
{
	return remove ? unlink(path) == 0 : move_into(w, path, folder);
}

static int put_both_away(struct watch *w, const char *path, const char *sidecar, bool refused)
{
	const char *folder = refused ? "refused" : "pushed";
	bool remove = w->o->remove && !refused;

	if (!put_away(w, path, folder, remove) ||
	    (sidecar[0] && !put_away(w, sidecar, folder, remove)))
		return complain(EXIT_IO,
				"%s was processed but cannot be moved away (%s): exiting, because "
				"it would be pushed again",
				path, strerror(errno));
	return EXIT_OK;
}

static int push_one(struct watch *w, const char *path)
{
	CLEANUP(buf_release) struct buf address = BUF_INIT(1 << 20);
	char sidecar[MAX_PATH] = "";
	struct pushed p;

	if (push_file(w->o, path, sidecar, sizeof(sidecar), &address, &p)) {
		if (w->wait_ns)
			say(&w->o->common, "the server is back");
		w->pushed++;
		w->wait_ns = 0;
		say(&w->o->common, "%s: %lld samples stored as %s", path, (long long)p.samples,
		    address.data ? address.data : "{}");
		return put_both_away(w, path, sidecar, false);
	}
	if (p.status == EXIT_DENIED)
		return complain(p.status, "%s", p.fault.text);
	if (p.again) {
		if (!w->wait_ns)
			complain(p.status, "%s; trying again until it does", p.fault.text);
		w->away = true;
		w->wait_ns = w->wait_ns ? w->wait_ns * 2 : FIRST_WAIT_NS;
		if (w->wait_ns > LAST_WAIT_NS)
			w->wait_ns = LAST_WAIT_NS;
		return EXIT_OK;
	}
	if (access(path, F_OK) != 0)
		return EXIT_OK; /* it was removed */
	w->refused++;
	complain(p.status, "%s", p.fault.text);
	return put_both_away(w, path, sidecar, true);
}

/* ------------------------------------------------------------------ looking */

struct names {
	struct arena arena;
	VEC(const char *) list;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err read_names(const char *folder, struct names *ret)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	enum err e = dir ? ERR_OK : err_from_errno(errno);

	while (!e && (entry = readdir(dir)) != NULL) {
		const char *path;

		if (has_temporary_name(str_of(entry->d_name)))
			continue;
		path = arena_printf(&ret->arena, "%s/%s", folder, entry->d_name);
		e = path ? vec_push(&ret->list, path) : ERR_NO_MEMORY;
	}
	if (dir)
		closedir(dir);
	if (ret->list.n)
		qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), by_name);
	return e;
}

/* Everything that is ready, in the order of names. Stops where the server is away. */
static int look(struct watch *w)
{
	struct names names = {0};
	enum err e = read_names(w->o->watch, &names);
	int status = e ? complain(status_of(e), "%s: %s", w->o->watch, err_text(e)) : EXIT_OK;

	w->look_at_ns = clock_monotonic_ns() + LOOK_AGAIN_NS;
	w->away = false;
	w->left = 0;
	vec_for_each (path, &names.list) {
		if (!status && !w->away && !is_stopping(w) && is_ready(w, *path))
			status = push_one(w, *path);
	}
	vec_for_each (path, &names.list)
		w->left += is_file(*path);
	vec_release(&names.list);
	arena_release(&names.arena);
	return status;
}

static void wait_for_more(struct watch *w)
{
	struct pollfd fd = {.fd = w->inotify, .events = POLLIN};
	int64_t wait = w->away ? w->wait_ns : w->look_at_ns - clock_monotonic_ns();
	struct timespec timeout;
	char events[16384];

	if (wait < 0)
		wait = 0;
	timeout = (struct timespec){wait / NS_PER_S, wait % NS_PER_S};
	/* While the server is away, new files do not bring it back. */
	ppoll(w->away ? NULL : &fd, w->away ? 0 : 1, &timeout, &w->open);
	while (read(w->inotify, events, sizeof(events)) > 0)
		;
}

static int watch_folder(struct watch *w)
{
	int status = EXIT_OK;

	say(&w->o->common, "watching %s; Ctrl-C ends it", w->o->watch);
	while (!status && !is_stopping(w)) {
		status = look(w);
		if (!status && !is_stopping(w))
			wait_for_more(w);
	}
	say(&w->o->common, "%llu pushed, %llu refused, %llu files left for the next time",
	    (unsigned long long)w->pushed, (unsigned long long)w->refused,
	    (unsigned long long)w->left);
	return status;
}

int watch_run(const struct push_options *o)
{
	struct watch w = {.o = o, .inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
	int status;

	if (w.inotify < 0)
		return complain(EXIT_OS, "inotify: %s", strerror(errno));
	take_signals(&w);
	if (inotify_add_watch(w.inotify, o->watch, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR) < 0)
		status = complain(EXIT_NO_INPUT, "%s: %s", o->watch, strerror(errno));
	else
		status = watch_folder(&w);
	close(w.inotify);
	return status;
}
