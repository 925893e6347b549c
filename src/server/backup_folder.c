#include "server/backup_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"

#define DEPTH_MAX 8
#define FILES_MAX 1000000u

static enum err os_failed(struct fault *fault, const char *name)
{
	return fault_set(fault, err_from_errno(errno), "the backup %s: %s", name, strerror(errno));
}

static int open_folder(int place, const char *name)
{
	return openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Check that the opened folder is the created one: another user with write access to the parent
 * could have replaced it. */
static bool is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

enum err backup_folder_make(struct backup_folder *f, int place, const char *name,
			    struct fault *fault)
{
	*f = (struct backup_folder){.place = place, .fd = -1};
	snprintf(f->name, sizeof(f->name), "%s", name);
	if (mkdirat(place, name, 0700))
		return errno == EEXIST
			       ? fault_set(fault, ERR_EXISTS,
					   "the backup %s already exists; choose another name",
					   name)
			       : os_failed(fault, name);
	f->fd = open_folder(place, name);
	if (f->fd >= 0 && is_ours(f->fd))
		return ERR_OK;
	backup_folder_close(f);
	return fault_set(fault, ERR_NO_PERMISSION,
			 "the backup %s was replaced while it was written: others can write to its "
			 "parent folder",
			 name);
}

/* ------------------------------------------------------------------ filling */

/* As much as there is of all tenants must fit, and a tenth more. */
static enum err check_room(const struct backup_folder *f, struct store *s, struct fault *fault)
{
	struct text_answer tenants = {0};
	struct store_stats stats;
	struct statvfs room;
	uint64_t bytes = 0;

	TRY(store_tenants(s, &tenants));
	for (size_t i = 0; i < tenants.n; i++)
		if (store_stats(s, tenants.v[i], &stats) == ERR_OK)
			bytes += stats.disk_bytes;
	arena_release(&tenants.arena);
	if (fstatvfs(f->fd, &room) || bytes + bytes / 10 <= (uint64_t)room.f_bavail * room.f_frsize)
		return ERR_OK;
	return fault_set(fault, ERR_NO_SPACE,
			 "a backup needs %llu bytes, and the disk has %llu free",
			 (unsigned long long)bytes,
			 (unsigned long long)room.f_bavail * room.f_frsize);
}

enum err backup_folder_fill(const struct backup_folder *f, struct store *s,
			    struct symbol_sources *symbols, struct damage_notes *damage,
			    struct fault *fault)
{
	char path[40];

	/* By the descriptor, which refers to the created folder even if the name was changed. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	TRY(check_room(f, s, fault));
	TRY(store_backup(s, path, damage, fault));
	TRY(symbol_sources_backup(symbols, path, fault));
	return fsync(f->fd) && errno != EINVAL ? os_failed(fault, f->name) : ERR_OK;
}

/* ------------------------------------------------------------------ looking through */

struct walk {
	struct backup_list *list;
	struct fault *fault;
};

static enum err add(struct walk *w, const char *above, const char *name, const struct stat *st)
{
	struct backup_file file = {.bytes = (uint64_t)st->st_size};
	size_t size = strlen(above) + strlen(name) + 2;
	enum err e;

	if (w->list->v.n >= FILES_MAX)
		return fault_set(w->fault, ERR_TOO_LARGE, "the backup has too many files");
	file.path = mem_alloc(size);
	if (!file.path)
		return ERR_NO_MEMORY;
	snprintf(file.path, size, "%s%s%s", above, above[0] ? "/" : "", name);
	e = vec_push(&w->list->v, file);
	if (e)
		mem_free(file.path);
	else
		w->list->bytes += file.bytes;
	return e;
}

static enum err list_folder(struct walk *w, int fd, const char *above, unsigned depth);

static enum err list_entry(struct walk *w, int folder, const char *above, const char *name,
			   unsigned depth)
{
	char below[1024];
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return os_failed(w->fault, name);
	if (S_ISREG(st.st_mode))
		return add(w, above, name, &st);
	if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX ||
	    snprintf(below, sizeof(below), "%s%s%s", above, above[0] ? "/" : "", name) >=
		    (int)sizeof(below))
		return fault_set(w->fault, ERR_INTERNAL, "the backup has something else in it: %s",
				 name);
	int fd = open_folder(folder, name);

	return fd < 0 ? os_failed(w->fault, name) : list_folder(w, fd, below, depth + 1);
}

/* Takes the descriptor over. */
static enum err list_folder(struct walk *w, int fd, const char *above, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	enum err e = ERR_OK;

	if (!dir) {
		close(fd);
		return os_failed(w->fault, above);
	}
	while (!e && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			e = list_entry(w, dirfd(dir), above, entry->d_name, depth);
	closedir(dir);
	return e;
}

enum err backup_folder_list(const struct backup_folder *f, struct backup_list *ret,
			    struct fault *fault)
{
	struct walk w = {ret, fault};
	int fd = open_folder(f->fd, ".");
	enum err e = fd < 0 ? os_failed(fault, f->name) : list_folder(&w, fd, "", 0);

	if (e)
		backup_list_release(ret);
	return e;
}

void backup_list_release(struct backup_list *l)
{
	vec_for_each (file, &l->v)
		mem_free(file->path);
	vec_release(&l->v);
	l->bytes = 0;
}

/* ------------------------------------------------------------------ removing */

static void remove_inside(int fd, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		int below;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!unlinkat(dirfd(dir), entry->d_name, 0) || depth == DEPTH_MAX)
			continue;
		below = open_folder(dirfd(dir), entry->d_name);
		if (below >= 0)
			remove_inside(below, depth + 1);
		unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

void backup_remove_tree(int place, const char *name)
{
	int fd = open_folder(place, name);

	if (fd >= 0)
		remove_inside(fd, 0);
	unlinkat(place, name, AT_REMOVEDIR);
}

void backup_folder_remove(struct backup_folder *f)
{
	int inside = f->fd < 0 ? -1 : open_folder(f->fd, ".");

	if (inside >= 0)
		remove_inside(inside, 0);
	if (f->fd >= 0)
		unlinkat(f->place, f->name, AT_REMOVEDIR);
	backup_folder_close(f);
}

void backup_folder_close(struct backup_folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
