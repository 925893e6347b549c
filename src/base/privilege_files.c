/*
 * Handing over root's files to another user. Every file is accessed through a descriptor of its
 * folder, without following links, so that a user who may write there cannot redirect us.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/str.h"

#define DEPTH_MAX 12

struct walk {
	const struct privilege_user *user;
	struct fault *fault;
	dev_t device;
};

static enum err os_failed(struct walk *w, const char *name)
{
	return fault_set(w->fault, err_from_errno(errno), "%s cannot be handed to the user %s: %s",
			 name, w->user->name, strerror(errno));
}

static enum err refuse(struct walk *w, const char *name, const char *why)
{
	return fault_set(w->fault, ERR_NO_PERMISSION,
			 "%s is not handed over to the user %s: %s; check it, then remove it or "
			 "change its owner",
			 name, w->user->name, why);
}

static enum err give(struct walk *w, int fd, const struct stat *st, const char *name)
{
	if (st->st_uid && st->st_uid != w->user->uid && st->st_uid != PRIVILEGE_SERVER_UID &&
	    st->st_uid != PRIVILEGE_AGENT_UID)
		return fault_set(w->fault, ERR_NO_PERMISSION,
				 "%s belongs to the user with number %u: start as that user, or "
				 "with --user %u",
				 name, st->st_uid, st->st_uid);
	/* Before the owner changes: a container may lack CAP_FOWNER. */
	if (st->st_mode & 07077 && fchmod(fd, st->st_mode & 0700))
		return os_failed(w, name);
	if ((st->st_uid != w->user->uid || st->st_gid != w->user->gid) &&
	    fchown(fd, w->user->uid, w->user->gid))
		return os_failed(w, name);
	return ERR_OK;
}

/* O_NONBLOCK: opening a pipe must not block. */
static enum err give_file(struct walk *w, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	enum err e;

	if (fd < 0)
		return errno == ENOENT ? ERR_OK : os_failed(w, name);
	if (fstat(fd, &st))
		e = os_failed(w, name);
	else if (!S_ISREG(st.st_mode))
		e = refuse(w, name, "it is no plain file");
	else if (st.st_nlink > 1)
		e = refuse(w, name, "the file has a second name");
	else
		e = give(w, fd, &st, name);
	close(fd);
	return e;
}

static enum err give_folder(struct walk *w, int fd, const char *name, unsigned depth);

static enum err give_entry(struct walk *w, int folder, const char *name, unsigned depth)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? ERR_OK : os_failed(w, name);
	/* Sockets and links keep their owner, because they are not reused. */
	if (S_ISREG(st.st_mode))
		return give_file(w, folder, name);
	if (!S_ISDIR(st.st_mode) || !strcmp(name, "lost+found"))
		return ERR_OK;
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? os_failed(w, name) : give_folder(w, fd, name, depth + 1);
}

/* Takes over the descriptor. Contents first: until the folder itself is handed over, only root can
 * change them. */
static enum err give_folder(struct walk *w, int fd, const char *name, unsigned depth)
{
	struct stat st;
	enum err e = fstat(fd, &st) ? os_failed(w, name) : ERR_OK;
	int again = e ? -1 : dup(fd);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!e && !dir)
		e = os_failed(w, name);
	if (!e && st.st_dev != w->device)
		e = refuse(w, name, "it is another file system");
	if (!e && depth > DEPTH_MAX)
		e = refuse(w, name, "there are too many folders in each other");
	while (!e && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			e = give_entry(w, fd, entry->d_name, depth);
	if (!e)
		e = give(w, fd, &st, name);
	if (dir)
		closedir(dir);
	else if (again >= 0)
		close(again);
	close(fd);
	return e;
}

enum err privilege_hand_over(const char *folder, const struct privilege_user *u,
			     struct fault *fault)
{
	struct walk w = {.user = u, .fault = fault};
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return os_failed(&w, folder);
	if (fstat(fd, &st)) {
		close(fd);
		return os_failed(&w, folder);
	}
	w.device = st.st_dev;
	return give_folder(&w, fd, folder, 0);
}

static bool is_named(struct str name, const char *const *names)
{
	for (; *names; names++) {
		struct str one = str_of(*names);

		if (one.p[0] == '*' ? str_ends(name, str_skip(one, 1)) : str_eq(name, one))
			return true;
	}
	return false;
}

bool privilege_folder_has_only(const char *folder, const char *const *names)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool only = dir;

	while (only && (entry = readdir(dir)))
		only = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		       is_named(str_of(entry->d_name), names);
	if (dir)
		closedir(dir);
	return only;
}

enum err privilege_hand_over_file(const char *path, const struct privilege_user *u,
				  struct fault *fault)
{
	struct walk w = {.user = u, .fault = fault};

	return give_file(&w, AT_FDCWD, path);
}
