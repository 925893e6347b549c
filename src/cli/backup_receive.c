#include "cli/backup_receive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 8
#define PART_MAX  255

static enum err os_failed(struct fault *fault, const char *what)
{
	return fault_set(fault, err_from_errno(errno), "%s: %s", what, strerror(errno));
}

static int open_folder(int above, const char *name)
{
	return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

enum err backup_receive_begin(struct backup_receive *r, const char *path, struct fault *fault)
{
	*r = (struct backup_receive){.folder = -1, .path = path};
	if (mkdir(path, 0700))
		return errno == EEXIST
			       ? fault_set(fault, ERR_EXISTS,
					   "%s exists already; a backup goes into a new folder",
					   path)
			       : os_failed(fault, path);
	r->folder = open_folder(AT_FDCWD, path);
	return r->folder < 0 ? os_failed(fault, path) : ERR_OK;
}

static bool is_plain(struct str part)
{
	if (!part.n || part.n > PART_MAX || str_eq(part, STR(".")) || str_eq(part, STR("..")))
		return false;
	for (size_t i = 0; i < part.n; i++)
		if ((unsigned char)part.p[i] <= ' ' || part.p[i] == 0x7f)
			return false;
	return true;
}

static enum err wrong_name(struct str name, struct fault *fault)
{
	return fault_set(fault, ERR_CORRUPT, "the server sends a file with the name %.*s",
			 (int)(name.n < 80 ? name.n : 80), name.p);
}

/* Takes `folder` over, returns the one below. */
static int enter(int folder, const char *name)
{
	int below = mkdirat(folder, name, 0700) && errno != EEXIST ? -1 : open_folder(folder, name);

	close(folder);
	return below;
}

enum err backup_receive_file(const struct backup_receive *r, struct str name, int *ret_fd,
			     struct fault *fault)
{
	int folder = open_folder(r->folder, ".");
	char part[PART_MAX + 1];
	struct str rest = name;

	for (unsigned depth = 0; folder >= 0; depth++) {
		size_t slash = str_find(rest, '/');

		if (depth > DEPTH_MAX || !is_plain(str_n(rest.p, slash))) {
			close(folder);
			return wrong_name(name, fault);
		}
		snprintf(part, sizeof(part), "%.*s", (int)slash, rest.p);
		if (slash == rest.n) {
			*ret_fd =
				openat(folder, part,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
			close(folder);
			return *ret_fd < 0 ? os_failed(fault, part) : ERR_OK;
		}
		folder = enter(folder, part);
		rest = str_skip(rest, slash + 1);
	}
	return os_failed(fault, r->path);
}

enum err backup_receive_end(struct backup_receive *r, struct fault *fault)
{
	enum err e = fsync(r->folder) && errno != EINVAL ? os_failed(fault, r->path) : ERR_OK;

	if (e) {
		backup_receive_drop(r);
		return e;
	}
	close(r->folder);
	r->folder = -1;
	return ERR_OK;
}

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

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    !unlinkat(dirfd(dir), entry->d_name, 0) || depth > DEPTH_MAX)
			continue;
		below = open_folder(dirfd(dir), entry->d_name);
		if (below >= 0)
			remove_inside(below, depth + 1);
		unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

void backup_receive_drop(struct backup_receive *r)
{
	int inside;

	if (r->folder < 0)
		return;
	inside = open_folder(r->folder, ".");
	if (inside >= 0)
		remove_inside(inside, 0);
	rmdir(r->path);
	close(r->folder);
	r->folder = -1;
}
