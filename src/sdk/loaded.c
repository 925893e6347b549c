#include "sdk/loaded.h"

#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"

#define MODULES_MAX 4096u
#define PATH_SIZE   4096
#define FILE_MAX    ((size_t)2 << 30)
/* The kernel's own module has no file; it lies on two pages at least. */
#define VDSO_SIZE   8192
#define VDSO_NAME   "[vdso]"

/* Held while the loader's lock is: a fork() in between would leave that locked in the child. */
static struct mutex gate = MUTEX_INIT;

/* A module as the loader shows it. */
struct found {
	char path[PATH_SIZE];
	u64 bias, low, high;
	u64 start[LOADED_RANGES_MAX], end[LOADED_RANGES_MAX];
	u32 range_count;
	u32 module; /* its number, once it is known */
	bool program, own;
};

struct look {
	VEC(struct found) list;
	unsigned long long adds, subs;
	enum err error;
};

const struct loaded_range *loaded_place(const struct loaded *l, u64 address)
{
	const struct loaded_view *view = loaded_current();
	const struct loaded_range *now = view ? loaded_find(view, address) : NULL;

	/* The last that was closed is the likeliest. */
	for (size_t i = l->modules.n; !now && i-- > 0;) {
		const struct loaded_module *m = l->modules.v[i];

		for (u32 k = 0; !m->present && k < m->range_count; k++)
			if (address >= m->ranges[k].start && address < m->ranges[k].end)
				return &m->ranges[k];
	}
	return now;
}

const struct loaded_module *loaded_holds(const struct loaded *l, u64 address, u32 *ret_number)
{
	for (size_t i = 0; i < l->modules.n; i++) {
		const struct loaded_module *m = l->modules.v[i];

		if (!m->present || address < m->low || address >= m->high)
			continue;
		*ret_number = (u32)i;
		return m;
	}
	return NULL;
}

/* ------------------------------------------------------------------ what the loader shows */

static int on_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *l = context;
	struct found *f;
	u64 here = (u64)(uintptr_t)on_object;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		l->adds = info->dlpi_adds;
		l->subs = info->dlpi_subs;
	}
	if (l->list.n == MODULES_MAX)
		return 1;
	l->error = vec_reserve(&l->list, 1);
	if (l->error)
		return 1;
	f = &l->list.v[l->list.n];
	f->bias = info->dlpi_addr;
	f->range_count = 0;
	f->low = UINT64_MAX;
	f->high = 0;
	f->program = l->list.n == 0;
	f->own = false; /* the program never is, though we may be linked into it */
	f->path[0] = 0;
	if (info->dlpi_name)
		memccpy(f->path, info->dlpi_name, 0, sizeof(f->path) - 1);
	f->path[sizeof(f->path) - 1] = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		f->low = start < f->low ? start : f->low;
		f->high = start + p->p_memsz > f->high ? start + p->p_memsz : f->high;
		if (!(p->p_flags & PF_X) || f->range_count == LOADED_RANGES_MAX)
			continue;
		f->start[f->range_count] = start;
		f->end[f->range_count++] = start + p->p_memsz;
		f->own = f->own || (!f->program && here >= start && here < start + p->p_memsz);
	}
	if (f->range_count)
		l->list.n++;
	return 0;
}

static int on_first(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *l = context;

	(void)size;
	l->adds = info->dlpi_adds;
	l->subs = info->dlpi_subs;
	return 1;
}

/* ------------------------------------------------------------------ tables */

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

static enum err read_vdso(struct loaded *l, struct loaded_module *m, u64 bias)
{
	u64 at = getauxval(AT_SYSINFO_EHDR);
	struct str bytes = str_n((const void *)(uintptr_t)at, VDSO_SIZE);

	if (!at || at < bias)
		return ERR_NOT_FOUND;
	TRY(read_image(l, m, bytes));
	return build_table(l, m, bytes);
}

/* Maps the file for as long as it is read. */
static enum err read_file(struct loaded *l, struct loaded_module *m, const char *path,
			  enum err (*with)(struct loaded *, struct loaded_module *, struct str))
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat facts;
	enum err e = ERR_NOT_FOUND;
	void *bytes;

	if (fd < 0)
		return ERR_NOT_FOUND;
	if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
	    (u64)facts.st_size < FILE_MAX) {
		bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			e = with(l, m, str_n(bytes, (size_t)facts.st_size));
			munmap(bytes, (size_t)facts.st_size);
		}
	}
	close(fd);
	return e;
}

static void own_path(char path[PATH_SIZE])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_SIZE - 1);

	path[n > 0 ? n : 0] = 0;
}

static void module_free(struct loaded_module *m)
{
	if (!m)
		return;
	unwind_table_release(&m->table);
	mem_free(m->path);
	mem_free(m);
}

static struct loaded_version version_of(const char *path)
{
	struct stat facts;

	if (stat(path, &facts) != 0)
		return (struct loaded_version){0};
	return (struct loaded_version){(u64)facts.st_dev, (u64)facts.st_ino, (u64)facts.st_size,
				       (u64)facts.st_mtim.tv_sec * 1000000000u +
					       (u64)facts.st_mtim.tv_nsec};
}

static enum err add_module(struct loaded *l, struct found *f)
{
	struct loaded_module *m;
	enum err e;

	if (l->modules.n >= MODULES_MAX)
		return ERR_TOO_LARGE;
	m = mem_zalloc(1, sizeof(*m));
	if (!m)
		return ERR_NO_MEMORY;
	m->own = f->own;
	m->low = f->low;
	m->high = f->high;
	m->version = version_of(f->path);
	m->path = mem_strdup(f->path);
	e = m->path ? ERR_OK : ERR_NO_MEMORY;
	if (!e)
		e = !strcmp(f->path, VDSO_NAME)
			    ? read_vdso(l, m, f->bias)
			    : read_file(l, m, f->program ? "/proc/self/exe" : f->path, read_image);
	m->program = f->program;
	for (u32 i = 0; i < f->range_count; i++)
		m->ranges[m->range_count++] =
			(struct loaded_range){f->start[i], f->end[i],
					      f->bias,	   m->has_table ? &m->table : NULL,
					      f->module,   !e && !m->has_table};
	/* Without a file there is no table; it is a module all the same. */
	if (e != ERR_NO_MEMORY)
		e = vec_push(&l->modules, m);
	if (e)
		module_free(m);
	return e;
}

/* What was closed and comes back may be another file by now. */
static bool is_same(const struct loaded_module *m, const struct found *f)
{
	struct loaded_version now;

	if (!m->range_count || m->ranges[0].bias != f->bias || strcmp(m->path, f->path) != 0)
		return false;
	if (m->present)
		return true;
	now = version_of(f->path);
	return !memcmp(&m->version, &now, sizeof(now));
}

static u32 find_module(const struct loaded *l, const struct found *f)
{
	for (size_t i = l->modules.n; i-- > 0;)
		if (is_same(l->modules.v[i], f))
			return (u32)i;
	return UINT32_MAX;
}

static enum err see(struct loaded *l, struct found *f)
{
	f->module = find_module(l, f);
	if (f->module != UINT32_MAX)
		return ERR_OK;
	f->module = (u32)l->modules.n;
	return add_module(l, f);
}

/* ------------------------------------------------------------------ all of it */

static enum err take_over(struct loaded *l, struct look *look)
{
	TRY(look->error);
	vec_for_each (f, &look->list) {
		if (f->program)
			own_path(f->path);
		else if (!strncmp(f->path, "linux-vdso", 10))
			memcpy(f->path, VDSO_NAME, sizeof(VDSO_NAME));
		TRY(see(l, f));
	}
	vec_for_each (m, &l->modules)
		(*m)->present = false;
	vec_for_each (f, &look->list)
		l->modules.v[f->module]->present = true;
	return loaded_publish(l);
}

static enum err update(struct loaded *l)
{
	struct look look = {0};
	enum err e = l->rules ? ERR_OK : unwind_rules_new(&l->rules);

	TRY(e);
	loaded_free_old();
	mutex_lock(&gate);
	dl_iterate_phdr(on_first, &look);
	if (!l->looked || look.adds != l->adds || look.subs != l->subs)
		dl_iterate_phdr(on_object, &look);
	mutex_unlock(&gate);
	if (look.list.n) {
		e = take_over(l, &look);
		if (!e) {
			l->looked = true;
			l->adds = look.adds;
			l->subs = look.subs;
		}
	}
	vec_release(&look.list);
	return e;
}

enum err loaded_update(struct loaded *l)
{
	enum err e;

	l->busy = true;
	e = update(l);
	l->busy = false;
	return e;
}

/* What has changed since it was loaded tells nothing of what is in memory. */
static enum err make_table(struct loaded *l, struct loaded_module *m)
{
	struct loaded_version now = version_of(m->path);

	if (memcmp(&m->version, &now, sizeof(now)) != 0)
		return ERR_NOT_FOUND;
	return read_file(l, m, m->program ? "/proc/self/exe" : m->path, build_table);
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

void loaded_before_fork(void)
{
	mutex_lock(&gate);
}

void loaded_after_fork(struct loaded *l, bool child)
{
	mutex_unlock(&gate);
	if (!child)
		return;
	loaded_view_in_child(l->busy);
	if (l->busy)
		memset(l, 0, sizeof(*l));
}
