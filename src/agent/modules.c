#include "agent/modules.h"

#include <sys/auxv.h>
#include <unistd.h>

#include "agent/module_files.h"
#include "agent/modules_internal.h"
#include "agent/prober.h"
#include "base/hash.h"
#include "unwind/unwinders.h"

/* Files of this size are read in a few milliseconds, and have tables of some hundred KiB. */
#define AHEAD_MOST ((u64)4 << 20)

static u64 file_hash(u64 device, u64 inode, struct str path)
{
	return hash_mix(hash_str(path, device), inode);
}

u64 module_file_hash(const struct module *module)
{
	return file_hash(module->device, module->inode, module->path);
}

static enum err add(struct modules *m, struct module *fresh, u32 *ret)
{
	u32 number;

	if (m->unused.n) {
		number = m->unused.v[--m->unused.n];
	} else {
		TRY(vec_push(&m->list, NULL));
		number = (u32)m->list.n - 1;
	}
	fresh->serial = ++m->serial;
	fresh->number = number;
	m->list.v[number] = fresh;
	m->live++;
	*ret = number;
	return ERR_OK;
}

static void module_free(struct modules *m, struct module *module)
{
	if (!module)
		return;
	module_untell(m, module);
	if (module->placed.pages.units)
		table_space_remove(m->space, &module->placed);
	module_drop_heap(m, module);
	if (module->fd >= 0)
		close(module->fd);
	if (module->fd >= 0 || module->opening)
		module_count_open(m, module, false);
	mem_free((char *)module->path.p);
	mem_free(module);
}

void modules_remove(struct modules *m, u32 number)
{
	module_free(m, m->list.v[number]);
	m->list.v[number] = NULL;
	m->live--;
	m->freed++;
	/* Without memory for the list the number is not used again. */
	(void)!vec_push(&m->unused, number);
}

static enum err module_new(struct str path, struct module **ret)
{
	struct module *module = mem_zalloc(1, sizeof(*module));
	char *copy = module ? mem_strndup(path.p ? path.p : "", path.n) : NULL;

	if (!copy) {
		mem_free(module);
		return ERR_NO_MEMORY;
	}
	module->path = str_n(copy, path.n);
	module->fd = -1;
	*ret = module;
	return ERR_OK;
}

static enum err add_fixed(struct modules *m, const char *name, bool kernel)
{
	struct module *module = NULL;
	u32 number;

	TRY(module_new(str_of(name), &module));
	module->kernel = kernel;
	module->vdso = !kernel;
	module->state = kernel ? MODULE_READY : MODULE_READING;
	module->users = 1;
	if (add(m, module, &number) != ERR_OK) {
		module_free(m, module);
		return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

/* The image the kernel gives to every process; ours is the same. */
static void read_vdso(struct modules *m)
{
	unsigned long at = getauxval(AT_SYSINFO_EHDR);

	if (!at || table_reader_queue(m->reader, MODULE_VDSO, -1, 0, 0,
				      str_n((void *)at, 4096 * 2)) != ERR_OK)
		m->list.v[MODULE_VDSO]->state = MODULE_FAILED;
	else
		m->pending++;
}

enum err modules_new(struct table_space *space, struct unwind_rule *rules, struct prober *prober,
		     struct modules **ret)
{
	struct modules *m = mem_zalloc(1, sizeof(*m));
	enum err e;

	if (!m)
		return ERR_NO_MEMORY;
	m->space = space;
	m->rules = rules;
	m->prober = prober;
	m->files_max = module_files_ceiling();
	e = table_reader_new(rules, &m->reader);
	if (!e)
		e = add_fixed(m, "[kernel]", true);
	if (!e)
		e = add_fixed(m, "[vdso]", false);
	if (e) {
		modules_free(m);
		return e;
	}
	read_vdso(m);
	*ret = m;
	return ERR_OK;
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	table_reader_free(m->reader);
	vec_for_each (module, &m->list)
		module_free(m, *module);
	vec_release(&m->list);
	vec_release(&m->unused);
	vec_release(&m->users);
	map_release(&m->by_file);
	mem_free(m);
}

static void queue_module(struct modules *m, struct module *module)
{
	if (module->fd >= 0 &&
	    table_reader_queue(m->reader, module->number, module->fd, module->owner, module->size,
			       (struct str){0}) == ERR_OK)
		return;
	module->state = MODULE_FAILED;
	module->settled = m->turn;
	m->pending--;
}

/* A file that was opened, or not; true when that is all that will come of it. */
static bool take_file(struct modules *m, struct probe *probe)
{
	struct module *module = modules_get(m, probe->number);

	/* It is not needed any more. */
	if (!module || module->serial != probe->ticket)
		return false;
	module->opening = false;
	module->fd = probe->fd;
	probe->fd = -1;
	module->owner = probe->owner;
	module->size = probe->size;
	module->seconds = probe->seconds;
	module->nanoseconds = probe->nanoseconds;
	if (module->fd < 0)
		module_count_open(m, module, false);
	if (module->state == MODULE_READING) {
		queue_module(m, module);
	} else if (module->fd < 0) {
		module->state = MODULE_FAILED;
		module->settled = m->turn;
	} else if (module->ahead) {
		modules_read_ahead(m, module->number);
	}
	return module->state == MODULE_FAILED;
}

/* Requests that it is opened; modules_settle processes the result. */
static void open_module(struct modules *m, struct module *module, u32 pid, u64 start, u64 end)
{
	struct probe *probe;
	char *path;

	module->state = MODULE_FAILED;
	module->user = probe_user(pid);
	if (m->open >= m->files_max)
		modules_drop_unread(m);
	if (m->open >= m->files_max)
		modules_close_one(m, module->user);
	if (m->open >= m->files_max) {
		m->refused++;
		return;
	}
	probe = probe_new(PROBE_MODULE, pid);
	path = probe ? mem_strndup(module->path.p, module->path.n) : NULL;
	if (!path) {
		probe_free(probe);
		return;
	}
	probe->path = str_n(path, module->path.n);
	probe->start = start;
	probe->end = end;
	probe->inode = module->inode;
	probe->ticket = module->serial;
	probe->number = module->number;
	module->state = MODULE_UNREAD;
	module->opening = true;
	module_count_open(m, module, true);
	if (!m->prober) {
		probe_work(probe);
		take_file(m, probe);
		probe_free(probe);
		return;
	}
	if (prober_post(m->prober, probe) == ERR_OK)
		return;
	m->refused++;
	module->state = MODULE_FAILED;
	module->opening = false;
	module_count_open(m, module, false);
}

static struct module *find(struct modules *m, u64 device, u64 inode, struct str path, u32 *ret)
{
	MAP_PROBE(&m->by_file, file_hash(device, inode, path), id)
	{
		struct module *module = m->list.v[id];

		if (module && module->device == device && module->inode == inode && inode &&
		    !module->forgotten && str_eq(module->path, path)) {
			*ret = id;
			return module;
		}
	}
	return NULL;
}

enum err modules_use(struct modules *m, u32 pid, u64 start, u64 end, struct str path, u64 device,
		     u64 inode, u32 *ret)
{
	struct module *module = find(m, device, inode, path, ret);
	enum err e;

	if (module) {
		module->users++;
		return ERR_OK;
	}
	TRY(module_new(path, &module));
	module->device = device;
	module->inode = inode;
	module->users = 1;
	module->pid = pid;
	e = add(m, module, ret);
	if (e) {
		module_free(m, module);
		return e;
	}
	open_module(m, module, pid, start, end);
	/* Not found again is not lost: it goes when its user goes. */
	if (map_put(&m->by_file, module_file_hash(module), *ret) != ERR_OK)
		module->forgotten = true;
	return ERR_OK;
}

void modules_add_user(struct modules *m, u32 module)
{
	m->list.v[module]->users++;
}

void modules_drop_user(struct modules *m, u32 module)
{
	m->list.v[module]->users--;
	m->list.v[module]->idle_since = 0;
}

void modules_read(struct modules *m, u32 number)
{
	struct module *module = m->list.v[number];

	if (module->state != MODULE_UNREAD)
		return;
	module->state = MODULE_READING;
	m->pending++;
	if (!module->opening)
		queue_module(m, module);
}

void modules_read_ahead(struct modules *m, u32 number)
{
	struct module *module = m->list.v[number];

	module->ahead = true;
	if (!module->opening && module->fd >= 0 && module->size <= AHEAD_MOST)
		modules_read(m, number);
}

struct module *modules_get(struct modules *m, u32 module)
{
	return module < m->list.n ? m->list.v[module] : NULL;
}

static void accept_table(struct modules *m, struct module *module, struct table_result *r)
{
	module->settled = m->turn;
	module->image = r->image;
	module->state = r->error ? MODULE_FAILED : MODULE_READY;
	module->no_table = !r->table.page_count;
	if (r->error)
		return;
	if (module->no_table || table_space_place(m->space, &r->table, &module->placed) == ERR_OK) {
		module_tell(m, module);
		return;
	}
	modules_make_room(m);
	modules_take_tables(m, module->owner,
			    r->table.blocks.n + (u64)r->table.page_count * sizeof(*r->table.pages));
	/* Stacks through it are sent raw and walked here. */
	module_keep_in_heap(m, module, &r->table);
}

void modules_tell(struct modules *m, struct kernel_side *k)
{
	m->kernel = k;
}

bool modules_settle(struct modules *m)
{
	struct table_result r;
	bool any = m->changed;
	struct probe *probe;

	m->changed = false;
	m->turn++;
	while (m->prober && (probe = prober_take(m->prober, PROBE_MODULE))) {
		any |= take_file(m, probe);
		probe_free(probe);
	}
	while (table_reader_take(m->reader, &r)) {
		accept_table(m, m->list.v[r.module], &r);
		unwind_table_release(&r.table);
		m->pending--;
		any = true;
	}
	return any;
}

u64 modules_turn(const struct modules *m)
{
	return m->turn;
}

int modules_wake_fd(const struct modules *m)
{
	return table_reader_fd(m->reader);
}

u32 modules_pending(const struct modules *m)
{
	return m->pending;
}

const struct unwind_rule *modules_rules(const struct modules *m, size_t *ret_count)
{
	*ret_count = UNWIND_RULES_MAX;
	return m->rules;
}

int module_rule(struct modules *m, u32 number, u64 address, u32 *ret)
{
	const struct module *module = m->list.v[number];

	if (module->state == MODULE_READING || module->state == MODULE_UNREAD)
		return UNWIND_NO_TABLE;
	if (module->in_heap)
		*ret = unwind_table_rule(&module->kept, address);
	else if (module->placed.pages.units)
		*ret = table_space_rule(m->space, module->placed.pages.unit,
					module->placed.page_count, address);
	else
		*ret = UNWIND_RULE_OTHER(UNWINDER_FRAME_POINTERS);
	return -1;
}

bool module_bias(const struct module *m, u64 start, u64 file_offset, u64 *ret)
{
	if (m->vdso) {
		*ret = start;
		return true;
	}
	for (u32 i = 0; i < m->image.load_count; i++) {
		const struct unwind_load *load = &m->image.loads[i];
		u64 page = load->file_offset & ~4095ull;

		if (file_offset >= page && file_offset < load->file_offset + load->size) {
			*ret = start - file_offset + load->file_offset - load->address;
			return true;
		}
	}
	return false;
}
