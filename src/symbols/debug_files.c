#include "symbols/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbols/byte_cursor.h"

static const char *const default_directories[] = {"/usr/lib/debug", NULL};

static const char *const *directories_of(const struct debug_search *s)
{
	return s->directories ? s->directories : default_directories;
}

/*
 * Opens a path in the root directory `root` of a process, without following symbolic links out of
 * it. Does not block on pipes.
 */
static int open_below(const char *root, const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			       .resolve = RESOLVE_IN_ROOT};
	int top, fd;

	if (!root || !*root)
		return open(path, (int)how.flags);
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
	close(top);
	return fd;
}

/* The required identity of a file: its build id, or without one its checksum. */
struct wanted_file {
	struct str build_id;
	const uint32_t *checksum;
	uint64_t *budget; /* bytes that may still be read for checksums */
};

#define CHECKSUM_MAX  ((uint64_t)256 << 20)
#define CHECKSUM_STEP ((size_t)1 << 20)

/*
 * All of a file has to be read: only of one of a sensible size, and what was read of it does not
 * push what others need out of the page cache.
 */
static bool checksum_is(int fd, const struct wanted_file *wanted)
{
	uint32_t sum = 0;
	uint64_t done = 0;
	struct stat info;
	ssize_t got = 1;
	char *buffer;

	if (fstat(fd, &info) || !S_ISREG(info.st_mode) || (uint64_t)info.st_size > *wanted->budget)
		return false;
	buffer = mem_alloc(CHECKSUM_STEP);
	while (buffer && got > 0 && done < *wanted->budget) {
		got = pread(fd, buffer, CHECKSUM_STEP, (off_t)done);
		if (got <= 0)
			break;
		sum = libdeflate_crc32(sum, buffer, (size_t)got);
		(void)posix_fadvise(fd, (off_t)done, got, POSIX_FADV_DONTNEED);
		done += (uint64_t)got;
	}
	mem_free(buffer);
	*wanted->budget -= done < *wanted->budget ? done : *wanted->budget;
	return buffer && !got && sum == *wanted->checksum;
}

/* Opens a path if it is the right file. */
static enum err try_path(const struct debug_search *s, const char *path,
			 const struct wanted_file *wanted, struct elf_source *ret)
{
	int fd = open_below(s->root, path);
	enum err error;
	bool right;

	if (fd < 0)
		return ERR_NOT_FOUND;
	error = elf_source_open(ret, fd, path, NULL);
	right = !error && (wanted->build_id.n ? str_eq(ret->image.build_id, wanted->build_id)
					      : wanted->checksum && checksum_is(fd, wanted));
	close(fd);
	if (error)
		return error == ERR_NO_MEMORY ? error : ERR_NOT_FOUND;
	if (right)
		return ERR_OK;
	elf_source_close(ret);
	return ERR_NOT_FOUND;
}

static enum err find_by_build_id(const struct debug_search *s, struct str id,
				 struct elf_source *ret, char path[DEBUG_PATH_MAX])
{
	char hex[2 * 64 + 1];

	if (id.n < 2 || id.n > 64)
		return ERR_NOT_FOUND;
	for (size_t i = 0; i < id.n; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)id.p[i]);
	for (const char *const *d = directories_of(s); *d; d++) {
		int n = snprintf(path, DEBUG_PATH_MAX, "%s/.build-id/%.2s/%s.debug", *d, hex,
				 hex + 2);
		enum err error =
			n < DEBUG_PATH_MAX
				? try_path(s, path, &(struct wanted_file){id, NULL, NULL}, ret)
				: ERR_NOT_FOUND;

		if (error != ERR_NOT_FOUND)
			return error;
	}
	return ERR_NOT_FOUND;
}

/* .gnu_debuglink: a file name, padding to four bytes, a checksum. */
static bool read_link(const struct elf_image *e, struct str *ret_name, uint32_t *ret_checksum)
{
	const struct elf_section *s = elf_section_named(e, ".gnu_debuglink");
	struct byte_cursor c;

	if (!s)
		return false;
	c = cursor_over(elf_section_raw(e, s));
	*ret_name = cursor_text(&c);
	cursor_skip(&c, -(ret_name->n + 1) & 3);
	*ret_checksum = cursor_u32(&c);
	return !c.bad && ret_name->n && str_find(*ret_name, '/') == ret_name->n &&
	       ret_name->p[0] != '.';
}

static enum err find_by_link(const struct debug_search *s, const struct elf_image *e,
			     struct elf_source *ret, char path[DEBUG_PATH_MAX])
{
	static const char *const beside[] = {"", ".debug/", NULL};
	int folder = (int)str_rfind(str_of(s->path), '/');
	uint64_t budget = CHECKSUM_MAX;
	uint32_t checksum;
	struct str name;
	enum err error;
	int n;

	struct wanted_file wanted = {e->build_id, &checksum, &budget};

	if (!read_link(e, &name, &checksum))
		return ERR_NOT_FOUND;
	folder = s->path[folder] ? folder + 1 : 0;
	for (const char *const *b = beside; *b; b++) {
		n = snprintf(path, DEBUG_PATH_MAX, "%.*s%s%.*s", folder, s->path, *b, (int)name.n,
			     name.p);
		error = n < DEBUG_PATH_MAX ? try_path(s, path, &wanted, ret) : ERR_NOT_FOUND;
		if (error != ERR_NOT_FOUND)
			return error;
	}
	for (const char *const *d = directories_of(s); *d && s->path[0] == '/'; d++) {
		n = snprintf(path, DEBUG_PATH_MAX, "%s%.*s%.*s", *d, folder, s->path, (int)name.n,
			     name.p);
		error = n < DEBUG_PATH_MAX ? try_path(s, path, &wanted, ret) : ERR_NOT_FOUND;
		if (error != ERR_NOT_FOUND)
			return error;
	}
	return ERR_NOT_FOUND;
}

enum err debug_file_find(const struct debug_search *search, const struct elf_image *program,
			 struct elf_source *ret, char ret_path[DEBUG_PATH_MAX])
{
	enum err error = find_by_build_id(search, program->build_id, ret, ret_path);

	return error == ERR_NOT_FOUND ? find_by_link(search, program, ret, ret_path) : error;
}

/* .gnu_debugaltlink: a path, absolute or relative to the debug file's folder, and a build id. */
static bool read_alternate(const struct elf_image *e, struct str *ret_name, struct str *ret_id)
{
	const struct elf_section *s = elf_section_named(e, ".gnu_debugaltlink");
	struct byte_cursor c;

	if (!s)
		return false;
	c = cursor_over(elf_section_raw(e, s));
	*ret_name = cursor_text(&c);
	*ret_id = str_n(c.p, cursor_left(&c));
	return !c.bad && ret_name->n && ret_id->n;
}

bool debug_file_alternate_id(const struct elf_image *image, struct str *ret)
{
	struct str name;

	return read_alternate(image, &name, ret);
}

enum err debug_file_find_alternate(const struct debug_search *search, const char *of,
				   const struct elf_image *image, struct elf_source *ret)
{
	int folder = (int)str_rfind(str_of(of), '/');
	char path[DEBUG_PATH_MAX];
	struct str name, id;
	enum err error;

	if (!read_alternate(image, &name, &id))
		return ERR_NOT_FOUND;
	folder = of[folder] && name.p[0] != '/' ? folder + 1 : 0;
	if (snprintf(path, sizeof(path), "%.*s%.*s", folder, of, (int)name.n, name.p) <
	    (int)sizeof(path)) {
		error = try_path(search, path, &(struct wanted_file){id, NULL, NULL}, ret);
		if (error != ERR_NOT_FOUND)
			return error;
	}
	return find_by_build_id(search, id, ret, path);
}
