#include "server/backups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "server/backup_folder.h"

/* In DATA, as no tenant's folder is called. */
#define STAGED	    ".backup-"
#define PATIENCE_NS (600 * NS_PER_S)
#define NAME_MAX_   64

struct backups {
	int data, folder; /* -1 = none */
	struct mutex lock;
	bool making;		 /* one at a time */
	char id[BACKUP_ID_SIZE]; /* of the one that is being sent; empty = none */
	struct backup_folder staged;
	struct backup_list files;
	int64_t asked_ns;
};

/* ------------------------------------------------------------------ beginning and end */

/* Of a server that was killed while it sent one. */
static void remove_left(int data)
{
	int again = openat(data, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (str_starts(str_of(entry->d_name), STR(STAGED)))
			backup_remove_tree(data, entry->d_name);
	if (dir)
		closedir(dir);
	else if (again >= 0)
		close(again);
}

static enum err open_place(const char *path, int *ret, struct fault *fault)
{
	if (!path)
		return ERR_OK;
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? fault_set(fault, err_from_errno(errno), "%s: cannot be opened: %s", path,
				    strerror(errno))
			: ERR_OK;
}

enum err backups_new(const char *data, const char *folder, struct backups **ret,
		     struct fault *fault)
{
	struct backups *b = mem_zalloc(1, sizeof(*b));
	enum err e;

	if (!b)
		return ERR_NO_MEMORY;
	mutex_init(&b->lock);
	b->data = b->folder = b->staged.fd = -1;
	e = open_place(data, &b->data, fault);
	if (!e)
		e = open_place(folder, &b->folder, fault);
	if (e) {
		backups_free(b);
		return e;
	}
	if (b->data >= 0)
		remove_left(b->data);
	*ret = b;
	return ERR_OK;
}

/* Called with the lock. */
static void drop_staged(struct backups *b)
{
	backup_folder_remove(&b->staged);
	backup_list_release(&b->files);
	b->id[0] = 0;
}

void backups_free(struct backups *b)
{
	if (!b)
		return;
	drop_staged(b);
	if (b->data >= 0)
		close(b->data);
	if (b->folder >= 0)
		close(b->folder);
	mutex_release(&b->lock);
	mem_free(b);
}

/* ------------------------------------------------------------------ making */

static enum err begin_making(struct backups *b, struct fault *fault)
{
	bool busy;

	mutex_lock(&b->lock);
	busy = b->making;
	b->making = true;
	mutex_unlock(&b->lock);
	return busy ? fault_set(fault, ERR_BUSY, "another backup is being made; try again later")
		    : ERR_OK;
}

static void end_making(struct backups *b)
{
	mutex_lock(&b->lock);
	b->making = false;
	mutex_unlock(&b->lock);
}

static enum err make(int place, const char *name, struct store *s, struct symbol_sources *symbols,
		     struct damage_notes *damage, struct backup_folder *ret_folder,
		     struct backup_list *ret_files, struct fault *fault)
{
	struct backup_folder f;
	enum err e;

	TRY(backup_folder_make(&f, place, name, fault));
	e = backup_folder_fill(&f, s, symbols, damage, fault);
	if (!e)
		e = backup_folder_list(&f, ret_files, fault);
	if (e)
		backup_folder_remove(&f);
	else
		*ret_folder = f;
	return e;
}

/* One plain name: no path leads anywhere. */
static bool is_plain(struct str name)
{
	if (!name.n || name.n > NAME_MAX_ || name.p[0] == '.')
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      c == '-' || c == '_' || c == '.'))
			return false;
	}
	return true;
}

enum err backups_write(struct backups *b, struct store *s, struct symbol_sources *symbols,
		       struct str name, struct damage_notes *damage, uint64_t *ret_bytes,
		       struct fault *fault)
{
	struct backup_folder folder;
	struct backup_list files = {0};
	char text[NAME_MAX_ + 1];
	enum err e;

	if (b->folder < 0)
		return fault_set(
			fault, ERR_UNSUPPORTED,
			"this server writes no backups itself: start it with --backup-dir, "
			"or fetch one with vestal backup DIR");
	if (!is_plain(name))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "name is that of a new folder in --backup-dir: up to %d letters, "
				 "digits, \"-\", \"_\" and \".\", and no \".\" first",
				 NAME_MAX_);
	snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
	TRY(begin_making(b, fault));
	e = make(b->folder, text, s, symbols, damage, &folder, &files, fault);
	end_making(b);
	if (e)
		return e;
	*ret_bytes = files.bytes;
	backup_list_release(&files);
	backup_folder_close(&folder);
	return ERR_OK;
}

/* ------------------------------------------------------------------ sending */

static bool is_forgotten(const struct backups *b)
{
	return b->id[0] && clock_monotonic_ns() - b->asked_ns > PATIENCE_NS;
}

void backups_tidy(struct backups *b)
{
	if (!b)
		return;
	mutex_lock(&b->lock);
	if (is_forgotten(b))
		drop_staged(b);
	mutex_unlock(&b->lock);
}

/* Of two that begin at the same time the other is being made. */
static bool is_sending(struct backups *b)
{
	bool sending;

	backups_tidy(b);
	mutex_lock(&b->lock);
	sending = b->id[0];
	mutex_unlock(&b->lock);
	return sending;
}

static enum err make_id(char id[BACKUP_ID_SIZE])
{
	unsigned char bytes[(BACKUP_ID_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return ERR_INTERNAL;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	return ERR_OK;
}

static enum err stage(struct backups *b, struct store *s, struct symbol_sources *symbols,
		      struct damage_notes *damage, char id[BACKUP_ID_SIZE], struct fault *fault)
{
	char name[sizeof(STAGED) + BACKUP_ID_SIZE];
	struct backup_folder folder;
	struct backup_list files = {0};

	if (is_sending(b))
		return fault_set(fault, ERR_BUSY,
				 "another backup is being fetched; try again when it is done");
	TRY(make_id(id));
	snprintf(name, sizeof(name), STAGED "%s", id);
	TRY(make(b->data, name, s, symbols, damage, &folder, &files, fault));
	mutex_lock(&b->lock);
	b->staged = folder;
	b->files = files;
	b->asked_ns = clock_monotonic_ns();
	memcpy(b->id, id, BACKUP_ID_SIZE);
	mutex_unlock(&b->lock);
	return ERR_OK;
}

enum err backups_begin(struct backups *b, struct store *s, struct symbol_sources *symbols,
		       struct damage_notes *damage, char ret_id[BACKUP_ID_SIZE],
		       struct fault *fault)
{
	enum err e;

	if (b->data < 0)
		return fault_set(fault, ERR_UNSUPPORTED, "a store in memory has no backup");
	TRY(begin_making(b, fault));
	e = stage(b, s, symbols, damage, ret_id, fault);
	end_making(b);
	return e;
}

/* Takes the lock when it is the one. */
static enum err find(struct backups *b, struct str id, struct fault *fault)
{
	mutex_lock(&b->lock);
	if (id.n && str_eq(str_of(b->id), id)) {
		b->asked_ns = clock_monotonic_ns();
		return ERR_OK;
	}
	mutex_unlock(&b->lock);
	return fault_set(fault, ERR_NOT_FOUND,
			 "there is no such backup: it was completed, or expired after ten minutes "
			 "without a request");
}

enum err backups_files(struct backups *b, struct str id,
		       void (*each)(void *context, const struct backup_file *file), void *context,
		       struct fault *fault)
{
	TRY(find(b, id, fault));
	vec_for_each (file, &b->files.v)
		each(context, file);
	mutex_unlock(&b->lock);
	return ERR_OK;
}

static enum err read_part(struct backups *b, uint64_t file, uint64_t offset, struct buf *ret,
			  struct fault *fault)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	void *room;
	ssize_t n;
	int fd;

	if (file >= b->files.v.n || offset > INT64_MAX)
		return fault_set(fault, ERR_BAD_ARGUMENT, "the backup has %zu files", b->files.v.n);
	room = buf_reserve(ret, BACKUP_PART_MAX);
	if (!room)
		return buf_error(ret);
	fd = (int)syscall(SYS_openat2, b->staged.fd, b->files.v.v[file].path, &how, sizeof(how));
	n = fd < 0 ? -1 : pread(fd, room, BACKUP_PART_MAX, (off_t)offset);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return fault_set(fault, ERR_IO, "a file of the backup cannot be read: %s",
				 strerror(errno));
	ret->n += (size_t)n;
	return ERR_OK;
}

enum err backups_read(struct backups *b, struct str id, uint64_t file, uint64_t offset,
		      struct buf *ret, struct fault *fault)
{
	enum err e;

	TRY(find(b, id, fault));
	e = read_part(b, file, offset, ret, fault);
	mutex_unlock(&b->lock);
	return e;
}

enum err backups_end(struct backups *b, struct str id, struct fault *fault)
{
	TRY(find(b, id, fault));
	drop_staged(b);
	mutex_unlock(&b->lock);
	return ERR_OK;
}
