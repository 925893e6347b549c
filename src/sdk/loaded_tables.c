/* Reads module files: identity, a single rule, or all rules as a table. */
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/loaded.h"

#define FILE_MAX     ((size_t)2 << 30)
/* As many take about as long as a small table. */
#define SEARCHES_MAX 64u
/* The kernel's own module has no file; it lies on two pages at least. */
#define VDSO_SIZE    8192

static enum err build_table(struct loaded *l, struct loaded_module *m, struct str bytes)
{
	TRY(unwind_table_build(bytes, l->rules, &m->table, NULL));
	m->has_table = m->table.page_count > 0;
	return ERR_OK;
}

static enum err read_image(struct loaded *l, struct loaded_module *m, struct str bytes)
{
	(void)l;
	return unwind_image_read(bytes, &m->image, NULL);
}

static enum err read_vdso(struct loaded *l, struct loaded_module *m)
{
	u64 at = getauxval(AT_SYSINFO_EHDR);
	struct str bytes = str_n((const void *)(uintptr_t)at, VDSO_SIZE);

	if (!at)
		return ERR_NOT_FOUND;
	TRY(read_image(l, m, bytes));
	return build_table(l, m, bytes);
}

static struct str map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat facts;
	void *bytes = MAP_FAILED;

	if (fd < 0)
		return (struct str){0};
	if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
	    (u64)facts.st_size < FILE_MAX)
		bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return bytes == MAP_FAILED ? (struct str){0} : str_n(bytes, (size_t)facts.st_size);
}

static void unmap_file(struct str *file)
{
	if (file->n)
		munmap((void *)(uintptr_t)file->p, file->n);
	*file = (struct str){0};
}

/* Maps the file while it is read. */
static enum err read_file(struct loaded *l, struct loaded_module *m, const char *path,
			  enum err (*with)(struct loaded *, struct loaded_module *, struct str))
{
	struct str file = map_file(path);
	enum err e = file.n ? with(l, m, file) : ERR_NOT_FOUND;

	unmap_file(&file);
	return e;
}

struct loaded_version loaded_version(const char *path)
{
	struct stat facts;

	if (stat(path, &facts) != 0)
		return (struct loaded_version){0};
	return (struct loaded_version){(u64)facts.st_dev, (u64)facts.st_ino, (u64)facts.st_size,
				       (u64)facts.st_mtim.tv_sec * 1000000000u +
					       (u64)facts.st_mtim.tv_nsec};
}

static const char *file_of(const struct loaded_module *m)
{
	return m->program ? "/proc/self/exe" : m->path;
}

enum err loaded_read(struct loaded *l, struct loaded_module *m)
{
	return !strcmp(m->path, LOADED_VDSO) ? read_vdso(l, m)
					     : read_file(l, m, file_of(m), read_image);
}

/* A file that was changed after loading does not match the code in memory. */
static const char *same_file(const struct loaded_module *m)
{
	struct loaded_version now = loaded_version(m->path);

	if (memcmp(&m->version, &now, sizeof(now)) != 0)
		return NULL;
	return file_of(m);
}

static enum err make_table(struct loaded *l, struct loaded_module *m)
{
	const char *path = same_file(m);

	return path ? read_file(l, m, path, build_table) : ERR_NOT_FOUND;
}

bool loaded_search(struct loaded *l, u32 module, u64 address, u32 *ret_rule)
{
	struct loaded_module *m = l->modules.v[module];
	const char *path;
	bool found;

	if (m->searched == SEARCHES_MAX || m->image.go)
		return false;
	l->busy = true;
	m->searched++;
	path = m->searching.n ? NULL : same_file(m);
	if (path)
		m->searching = map_file(path);
	found = m->searching.n &&
		unwind_rule_search(m->searching, address, l->rules, ret_rule) == ERR_OK;
	l->busy = false;
	return found;
}

void loaded_searched(struct loaded *l)
{
	l->busy = true;
	vec_for_each (m, &l->modules)
		unmap_file(&(*m)->searching);
	l->busy = false;
}

bool loaded_need(struct loaded *l, u32 module)
{
	struct loaded_module *m = module < l->modules.n ? l->modules.v[module] : NULL;
	bool changed = false;

	if (!m || !m->range_count || !m->ranges[0].pending)
		return false;
	l->busy = true;
	if (make_table(l, m))
		m->has_table = false;
	for (u32 i = 0; i < m->range_count; i++) {
		m->ranges[i].pending = false;
		m->ranges[i].table = m->has_table ? &m->table : NULL;
	}
	if (m->present)
		changed = loaded_publish(l) == ERR_OK;
	l->busy = false;
	return changed;
}
