#include "sdk/loaded.h"

#include <link.h>
#include <unistd.h>

#include "base/thread.h"

#define MODULES_MAX 4096u
#define PATH_SIZE   4096

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

/* ------------------------------------------------------------------ modules */

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
	m->version = loaded_version(f->path);
	m->program = f->program;
	m->path = mem_strdup(f->path);
	e = m->path ? loaded_read(l, m) : ERR_NO_MEMORY;
	for (u32 i = 0; i < f->range_count; i++)
		m->ranges[m->range_count++] =
			(struct loaded_range){.start = f->start[i],
					      .end = f->end[i],
					      .bias = f->bias,
					      .table = m->has_table ? &m->table : NULL,
					      .module = f->module,
					      .own = f->own,
					      .pending = !e && !m->has_table};
	/* Without a file there is no table; it is a module all the same. */
	if (e != ERR_NO_MEMORY)
		e = vec_push(&l->modules, m);
	if (e)
		module_free(m);
	return e;
}

/* A module that was unloaded and loaded again may be another file. */
static bool is_same(const struct loaded_module *m, const struct found *f)
{
	struct loaded_version now;

	if (!m->range_count || m->ranges[0].bias != f->bias || strcmp(m->path, f->path) != 0)
		return false;
	if (m->present)
		return true;
	now = loaded_version(f->path);
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
			memcpy(f->path, LOADED_VDSO, sizeof(LOADED_VDSO));
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
