#include "queue/queue_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

#define NAME_DIGITS   16
#define NAME_SIZE     32
#define SUFFIX	      ".entry"
#define UNFINISHED    ".new"
#define PATH_CEILING  4096
/* More files than any queue holds: a directory that has them is not ours. */
#define FILES_CEILING ((size_t)4 << 20)

/* An entry is not meant for other machines: numbers are in this one's order. */
struct head {
	char magic[8];
	uint64_t size; /* of what follows the head */
	uint64_t checksum;
	uint64_t head_checksum; /* of the fields above */
};

_Static_assert(sizeof(struct head) == QUEUE_HEAD_SIZE, "the head has no holes");

/* The last byte is the version. */
static const char magic[8] = {'v', 'e', 's', 't', 'a', 'l', 'q', 1};

static struct head head_of(struct str bytes)
{
	struct head h = {.size = bytes.n, .checksum = hash_str(bytes, bytes.n)};

	memcpy(h.magic, magic, sizeof(magic));
	h.head_checksum = hash_bytes(&h, offsetof(struct head, head_checksum), HASH_K1);
	return h;
}

static void name_of(uint64_t number, const char *suffix, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "%016llx%s", (unsigned long long)number, suffix);
}

/* ---- the directory ---- */

/* Creates missing folders of the path. */
static enum err make_path(const char *path, struct fault *fault)
{
	char part[PATH_CEILING];
	size_t n = strlen(path);

	if (!n || n >= sizeof(part))
		return fault_set(fault, ERR_BAD_ARGUMENT, "\"%.60s\" is no directory's name", path);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0700) && errno != EEXIST && errno != EISDIR)
			return fault_set(fault, err_from_errno(errno), "%s cannot be created: %s",
					 part, strerror(errno));
	}
	return ERR_OK;
}

/* Others could put entries into it, or read what is in them. */
static enum err check_private(int fd, const char *path, struct fault *fault)
{
	struct stat st;

	if (fstat(fd, &st))
		return fault_set(fault, err_from_errno(errno), "%s: %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return fault_set(fault, ERR_NO_PERMISSION,
				 "%s belongs to another user; the queue needs a directory of its "
				 "own",
				 path);
	if (st.st_mode & 077 && fchmod(fd, 0700))
		return fault_set(fault, err_from_errno(errno),
				 "%s is accessible to other users, which cannot be changed: %s",
				 path, strerror(errno));
	return ERR_OK;
}

static enum err lock(int fd, const char *path, struct fault *fault)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return ERR_OK;
	if (errno == EWOULDBLOCK)
		return fault_set(fault, ERR_BUSY, "%s is in use by another agent", path);
	return fault_set(fault, err_from_errno(errno), "%s cannot be locked: %s", path,
			 strerror(errno));
}

enum err queue_directory_open(const char *path, int *ret_fd, struct fault *fault)
{
	enum err e;
	int fd;

	TRY(make_path(path, fault));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%s is no directory, or a link to one: give the directory itself",
				 path);
	if (fd < 0)
		return fault_set(fault, err_from_errno(errno), "%s cannot be opened: %s", path,
				 strerror(errno));
	e = check_private(fd, path, fault);
	if (!e)
		e = lock(fd, path, fault);
	if (e) {
		close(fd);
		return e;
	}
	*ret_fd = fd;
	return ERR_OK;
}

/* "00000000000000a1.entry" and nothing else. */
static bool number_of(struct str name, struct str suffix, uint64_t *ret)
{
	struct str digits = str_n(name.p, NAME_DIGITS);

	if (name.n != NAME_DIGITS + suffix.n || !str_ends(name, suffix))
		return false;
	for (size_t i = 0; i < digits.n; i++)
		if (!memchr("0123456789abcdef", digits.p[i], 16))
			return false;
	return str_to_u64(digits, 16, ret) == ERR_OK;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct queue_file *)a)->number;
	uint64_t y = ((const struct queue_file *)b)->number;

	return x < y ? -1 : x > y;
}

static enum err list_one(int directory, const char *text, struct queue_file_list *ret)
{
	struct str name = str_of(text);
	struct queue_file file;
	struct stat st;

	if (number_of(name, STR(UNFINISHED), &file.number)) {
		(void)unlinkat(directory, text, 0);
		return ERR_OK;
	}
	/* Numbers that leave no next one are not ours. */
	if (!number_of(name, STR(SUFFIX), &file.number) || file.number >> 63 ||
	    fstatat(directory, text, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return ERR_OK;
	if (ret->v.n == FILES_CEILING)
		return ERR_TOO_LARGE;
	file.size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	return vec_push(&ret->v, file);
}

enum err queue_directory_list(int directory, struct queue_file_list *ret)
{
	/* closedir would close the descriptor that holds the lock. */
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *one;
	enum err e = ERR_OK;

	if (!d) {
		e = err_from_errno(errno);
		if (fd >= 0)
			close(fd);
		return e;
	}
	while (!e && (one = readdir(d)))
		e = list_one(directory, one->d_name, ret);
	closedir(d);
	if (!e && ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), by_number);
	return e;
}

/* ---- an entry ---- */

static enum err write_whole(int fd, struct str bytes)
{
	struct head h = head_of(bytes);

	TRY(write_all(fd, &h, sizeof(h)));
	TRY(write_all(fd, bytes.p, bytes.n));
	/* Sync before renaming, so that after a power cut the name does not refer to an empty
	 * file. */
	return fdatasync(fd) ? err_from_errno(errno) : ERR_OK;
}

enum err queue_file_write(int directory, uint64_t number, struct str bytes)
{
	char name[NAME_SIZE], place[NAME_SIZE];
	enum err e;
	int fd;

	name_of(number, UNFINISHED, name);
	name_of(number, SUFFIX, place);
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_from_errno(errno);
	e = write_whole(fd, bytes);
	if (close(fd) && !e)
		e = err_from_errno(errno);
	if (!e && renameat(directory, name, directory, place))
		e = err_from_errno(errno);
	if (e)
		(void)unlinkat(directory, name, 0);
	return e;
}

static bool head_fits(const struct head *h, struct str bytes)
{
	struct head expected = head_of(bytes);

	return !memcmp(h, &expected, sizeof(expected));
}

static enum err read_whole(int fd, struct buf *ret)
{
	size_t before = ret->n;
	struct head h;
	struct str body;
	enum err e = file_read_fd(fd, "", ret, NULL);

	if (e == ERR_TOO_LARGE)
		return ERR_CORRUPT;
	TRY(e);
	body = str_n(ret->data + before, ret->n - before);
	if (body.n < sizeof(h)) {
		ret->n = before;
		return ERR_CORRUPT;
	}
	memcpy(&h, body.p, sizeof(h));
	body = str_skip(body, sizeof(h));
	if (!head_fits(&h, body)) {
		ret->n = before;
		return ERR_CORRUPT;
	}
	memmove(ret->data + before, body.p, body.n);
	ret->n = before + body.n;
	ret->data[ret->n] = 0;
	return ERR_OK;
}

enum err queue_file_read(int directory, uint64_t number, struct buf *ret)
{
	char name[NAME_SIZE];
	struct stat st;
	enum err e;
	int fd;

	name_of(number, SUFFIX, name);
	/* Do not block on a pipe with that name. */
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ELOOP))
		return ERR_CORRUPT;
	/* No descriptor left, for instance: the entry is as good as it was. */
	if (fd < 0)
		return ERR_UNAVAILABLE;
	e = fstat(fd, &st) || !S_ISREG(st.st_mode) ? ERR_CORRUPT : read_whole(fd, ret);
	close(fd);
	return e;
}

void queue_file_remove(int directory, uint64_t number)
{
	char name[NAME_SIZE];

	name_of(number, SUFFIX, name);
	(void)unlinkat(directory, name, 0);
}
