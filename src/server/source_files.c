#include "server/source_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* "a/b.c": no part is empty, leads up, or is hidden (".git/config", ".env"). */
static bool is_plain_path(struct str path)
{
	struct str part;

	if (!path.n || memchr(path.p, '\0', path.n) || path.p[path.n - 1] == '/')
		return false;
	while (str_split(&path, '/', &part))
		if (!part.n || part.p[0] == '.')
			return false;
	return true;
}

/* The real place of root/path when that is a file below the root; links may not lead out. */
static bool locate(const char *root, struct str path, char *ret)
{
	char wanted[PATH_MAX], real_root[PATH_MAX];
	size_t n;

	if (snprintf(wanted, sizeof(wanted), "%s/%.*s", root, (int)path.n, path.p) >=
		    (int)sizeof(wanted) ||
	    !realpath(root, real_root) || !realpath(wanted, ret))
		return false;
	n = strlen(real_root);
	if (n == 1) /* "/" */
		n = 0;
	return strncmp(ret, real_root, n) == 0 && ret[n] == '/' &&
	       is_plain_path(str_of(ret + n + 1));
}

static enum err read_regular(const char *path, struct buf *ret, struct fault *fault)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	enum err error = ERR_NOT_FOUND;

	if (fd < 0)
		return error;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		error = st.st_size > (off_t)SOURCE_MAX_SIZE
				? fault_set(fault, ERR_TOO_LARGE,
					    "the file has more than %zu bytes", SOURCE_MAX_SIZE)
				: file_read_fd(fd, path, ret, NULL);
	}
	close(fd);
	if (error == ERR_OK && memchr(ret->data, '\0', ret->n)) {
		buf_clear(ret);
		return fault_set(fault, ERR_UNSUPPORTED, "the file is not text");
	}
	return error;
}

/* Compilers write "../src/./a.c" and "C:/x/a.c"; what leads up or nowhere is left out. */
static struct str without_head(struct str path)
{
	struct str rest = path, part;

	for (;;) {
		struct str before = rest;

		if (!str_split(&rest, '/', &part))
			return rest;
		if (part.n && !str_eq(part, STR(".")) && !str_eq(part, STR("..")) &&
		    part.p[part.n - 1] != ':')
			return before;
	}
}

enum err source_file_read(const char *const *roots, size_t root_count, struct str path,
			  struct buf *ret, struct fault *fault)
{
	struct str tail = path.n <= SOURCE_MAX_PATH ? without_head(path) : (struct str){0}, part;
	char place[PATH_MAX];

	if (!is_plain_path(tail))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "file is the path of a source file, such as src/app/main.c");
	do {
		for (size_t i = 0; i < root_count; i++) {
			enum err error = locate(roots[i], tail, place)
						 ? read_regular(place, ret, fault)
						 : ERR_NOT_FOUND;

			if (error != ERR_NOT_FOUND)
				return error;
		}
	} while (str_split(&tail, '/', &part) && tail.n);
	return fault_set(fault, ERR_NOT_FOUND,
			 root_count ? "no --source-root of this server has that file"
				    : "this server was given no --source-root");
}
