#include "server/source_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* The real path of an open file or folder. */
static bool place_of(int fd, char ret[PATH_MAX])
{
	char link[40];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Links may lead to other places below the root, but not to what is hidden there. */
static bool is_shown(int root, int fd)
{
	char real_root[PATH_MAX], real[PATH_MAX];
	size_t n;

	if (!place_of(root, real_root) || !place_of(fd, real))
		return false;
	n = strlen(real_root);
	if (n == 1) /* "/" */
		n = 0;
	return strncmp(real, real_root, n) == 0 && real[n] == '/' &&
	       is_plain_path(str_of(real + n + 1));
}

/* The kernel keeps the resolution below the root (openat2), even if folders are replaced
 * meanwhile. */
static int open_below(const char *root, struct str path)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	char wanted[PATH_MAX];
	int top, fd = -1;

	if (snprintf(wanted, sizeof(wanted), "%.*s", (int)path.n, path.p) >= (int)sizeof(wanted))
		return -1;
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top >= 0)
		fd = (int)syscall(SYS_openat2, top, wanted, &how, sizeof(how));
	if (fd >= 0 && !is_shown(top, fd)) {
		close(fd);
		fd = -1;
	}
	if (top >= 0)
		close(top);
	return fd;
}

/* Takes the descriptor over. */
static enum err read_regular(int fd, const char *name, struct buf *ret, struct fault *fault)
{
	struct stat st;
	enum err error = ERR_NOT_FOUND;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		error = st.st_size > (off_t)SOURCE_MAX_SIZE
				? fault_set(fault, ERR_TOO_LARGE,
					    "the file has more than %zu bytes", SOURCE_MAX_SIZE)
				: file_read_fd(fd, name, ret, NULL);
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

	if (!is_plain_path(tail))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "file is the path of a source file, such as src/app/main.c");
	do {
		for (size_t i = 0; i < root_count; i++) {
			int fd = open_below(roots[i], tail);
			enum err error = fd < 0 ? ERR_NOT_FOUND
						: read_regular(fd, "the source file", ret, fault);

			if (error != ERR_NOT_FOUND)
				return error;
		}
	} while (str_split(&tail, '/', &part) && tail.n);
	return fault_set(fault, ERR_NOT_FOUND,
			 root_count ? "no --source-root of this server has that file"
				    : "this server was given no --source-root");
}
