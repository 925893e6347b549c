/*
 * The writing half of file.h.
 *
 * Temporary names live in a fixed table and not in the outputs themselves, so that a signal handler
 * can remove them without a lock. A slot goes FREE -> TAKEN -> LIVE -> FREE; only a LIVE slot has a
 * name that a handler may read, and it becomes LIVE before the file is created, so that every
 * existing file is listed.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define MAX_UNFINISHED 16
#define NAME_ATTEMPTS  100

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_LIVE };

struct slot {
	atomic_int state;
	char temporary[OUTPUT_PATH_MAX + 32];
};

static struct slot slots[MAX_UNFINISHED];

static int slot_take(void)
{
	for (int i = 0; i < MAX_UNFINISHED; i++) {
		int expected = SLOT_FREE;

		if (atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_TAKEN))
			return i;
	}
	return -1;
}

static enum err write_fault(struct fault *fault, const char *path, int os_error)
{
	enum err code = err_from_errno(os_error);

	switch (code) {
	case ERR_EXISTS:
		return fault_set(fault, code, "%s exists already; -f replaces it", path);
	case ERR_NO_SPACE:
		return fault_set(fault, code, "%s was not written: no space left on the device",
				 path);
	case ERR_NO_PERMISSION:
		return fault_set(fault, code, "%s may not be written by this user: %s", path,
				 strerror(os_error));
	case ERR_NOT_FOUND:
		return fault_set(fault, code, "%s cannot be created: its directory does not exist",
				 path);
	default:
		return fault_set(fault, code, "%s cannot be written: %s", path, strerror(os_error));
	}
}

/* /dev/stdout and the like name a descriptor, which may be connected to any kind of file. */
static bool names_a_descriptor(struct str path)
{
	static const struct str folders[] = {STR("/dev/fd/"), STR("/proc/self/fd/")};
	uint64_t number;

	for (size_t i = 0; i < 2; i++)
		if (str_starts(path, folders[i]))
			return str_to_u64(str_skip(path, folders[i].n), 10, &number) == ERR_OK;
	return str_eq(path, STR("/dev/stdout")) || str_eq(path, STR("/dev/stderr"));
}

/* Follows symbolic links to the file that will be replaced; a new file keeps the name given. */
static enum err resolve(struct output *o, const char *path, bool exists, struct fault *fault)
{
	char resolved[PATH_MAX];

	if (exists && realpath(path, resolved))
		path = resolved;
	if (strlen(path) >= sizeof(o->path))
		return write_fault(fault, path, ENAMETOOLONG);
	memcpy(o->path, path, strlen(path) + 1);
	return ERR_OK;
}

static enum err open_direct(struct output *o, const char *path, struct fault *fault)
{
	o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (o->fd < 0)
		return write_fault(fault, path, errno);
	o->slot = -1;
	o->open = true;
	return ERR_OK;
}

/* A new file beside the target; `mode` as the target has it, or as the umask wants it. */
static int create_temporary(struct slot *slot, const char *path, mode_t mode)
{
	int fd = -1, name_end = (int)str_rfind(str_of(path), '/');
	bool has_directory = path[name_end] == '/';

	for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
		atomic_store(&slot->state, SLOT_TAKEN);
		snprintf(slot->temporary, sizeof(slot->temporary), "%.*s.vestal-%016llx",
			 has_directory ? name_end + 1 : 0, path,
			 (unsigned long long)hash_random_seed());
		atomic_store(&slot->state, SLOT_LIVE);
		fd = open(slot->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

static enum err open_temporary(struct output *o, const struct stat *existing, struct fault *fault)
{
	int os_error;

	o->slot = slot_take();
	if (o->slot < 0)
		return fault_set(fault, ERR_TABLE_FULL, "%s: more than %d files are being written",
				 o->path, MAX_UNFINISHED);
	o->fd = create_temporary(&slots[o->slot], o->path, o->flags & OUTPUT_PRIVATE ? 0600 : 0666);
	if (o->fd < 0) {
		os_error = errno;
		atomic_store(&slots[o->slot].state, SLOT_FREE);
		return write_fault(fault, o->path, os_error);
	}
	/* Best effort: a file system without modes keeps what it has. */
	if (existing && !(o->flags & OUTPUT_PRIVATE) && fchmod(o->fd, existing->st_mode & 0777) < 0)
		errno = 0;
	/* A file that root replaces keeps its owner. */
	if (existing && existing->st_uid && o->flags & OUTPUT_PRIVATE && !geteuid() &&
	    fchown(o->fd, existing->st_uid, existing->st_gid) < 0)
		errno = 0;
	o->open = true;
	return ERR_OK;
}

enum err output_open(struct output *o, const char *path, unsigned flags, struct fault *fault)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;

	*o = (struct output){.flags = flags};
	if (exists && S_ISDIR(st.st_mode))
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is a directory; name a file in it",
				 path);
	TRY(resolve(o, path, exists && S_ISREG(st.st_mode), fault));
	if (names_a_descriptor(str_of(path)) || (exists && !S_ISREG(st.st_mode)))
		return open_direct(o, path, fault);
	if (exists && !(flags & OUTPUT_FORCE))
		return write_fault(fault, path, EEXIST);
	return open_temporary(o, exists ? &st : NULL, fault);
}

enum err output_write(struct output *o, struct str bytes, struct fault *fault)
{
	enum err e;

	if (!o->open)
		return fault_set(fault, ERR_INTERNAL, "the output is not open");
	e = write_all(o->fd, bytes.p, bytes.n);
	if (e)
		return write_fault(fault, o->path, errno);
	return ERR_OK;
}

/* Gives the file its name only if nothing has it. 0 or an errno value. */
static int rename_to_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* The file system cannot do that; a second name for the file cannot overwrite either. */
	if (link(from, to) == 0) {
		unlink(from);
		return 0;
	}
	if (errno == EEXIST)
		return EEXIST;
	/* Hard links are not supported either (FAT): check, then rename. */
	if (access(to, F_OK) == 0)
		return EEXIST;
	return rename(from, to) == 0 ? 0 : errno;
}

/* Everything after the last write. 0 or an errno value. */
static int finish(struct output *o)
{
	int failed = 0;

	if (o->slot >= 0 && !(o->flags & OUTPUT_NO_SYNC) && fsync(o->fd) < 0)
		failed = errno;
	/* Network file systems report a full disk here. */
	if (close(o->fd) < 0 && errno != EINTR && !failed)
		failed = errno;
	if (failed || o->slot < 0)
		return failed;
	if (!(o->flags & OUTPUT_FORCE))
		return rename_to_new(slots[o->slot].temporary, o->path);
	return rename(slots[o->slot].temporary, o->path) == 0 ? 0 : errno;
}

enum err output_commit(struct output *o, struct fault *fault)
{
	int os_error;

	if (!o->open)
		return fault_set(fault, ERR_INTERNAL, "the output is not open");
	os_error = finish(o);
	if (os_error && o->slot >= 0)
		unlink(slots[o->slot].temporary);
	if (o->slot >= 0)
		atomic_store(&slots[o->slot].state, SLOT_FREE);
	o->open = false;
	return os_error ? write_fault(fault, o->path, os_error) : ERR_OK;
}

void output_release(struct output *o)
{
	if (!o || !o->open)
		return;
	o->open = false;
	close(o->fd);
	if (o->slot < 0)
		return;
	unlink(slots[o->slot].temporary);
	atomic_store(&slots[o->slot].state, SLOT_FREE);
}

void output_abort_all(void)
{
	int saved = errno;

	for (int i = 0; i < MAX_UNFINISHED; i++)
		if (atomic_load(&slots[i].state) == SLOT_LIVE)
			unlink(slots[i].temporary);
	errno = saved;
}

enum err file_write(const char *path, struct str bytes, unsigned flags, struct fault *fault)
{
	CLEANUP(output_release) struct output o = {0};

	TRY(output_open(&o, path, flags, fault));
	TRY(output_write(&o, bytes, fault));
	return output_commit(&o, fault);
}
