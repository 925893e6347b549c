#include "agent/modules.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/table_reader.h"
#include "base/hash.h"

struct modules {
	struct table_space *space;
	struct table_reader *reader;
	struct unwind_rule *rules;
	VEC(struct module *) list; /* by number; NULL = taken away */
	struct map by_file;
	u32 pending;
};

static uint64_t file_hash(u64 device, u64 inode, struct str path)
{
	return hash_mix(hash_str(path, device), inode);
}

static enum err add(struct modules *m, struct module *fresh, u32 *ret)
{
	TRY(vec_push(&m->list, fresh));
	*ret = (u32)m->list.n - 1;
	return ERR_OK;
}

static void module_free(struct modules *m, struct module *module)
{
	if (!module)
		return;
	if (module->placed.pages.units)
		table_space_remove(m->space, &module->placed);
	unwind_table_release(&module->kept);
	if (module->fd >= 0)
		close(module->fd);
	mem_free((char *)module->path.p);
	mem_free(module);
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

	if (!at ||
	    table_reader_queue(m->reader, MODULE_VDSO, -1, str_n((void *)at, 4096 * 2)) != ERR_OK)
		m->list.v[MODULE_VDSO]->state = MODULE_FAILED;
	else
		m->pending++;
}

enum err modules_new(struct table_space *space, struct unwind_rule *rules, struct modules **ret)
{
	struct modules *m = mem_zalloc(1, sizeof(*m));
	enum err e;

	if (!m)
		return ERR_NO_MEMORY;
	m->space = space;
	m->rules = rules;
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
	map_release(&m->by_file);
	mem_free(m);
}

static int open_regular(const char *name, u64 inode)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &info) && S_ISREG(info.st_mode) && (!inode || info.st_ino == inode))
		return fd;
	close(fd);
	return -1;
}

/*
 * Through the mapping itself, which also finds files that were deleted or replaced; through the
 * process's root, as it may live in a container; by the plain path, when the process is gone. Other
 * than the first two only a file with the same inode will do.
 */
static int open_file(u32 pid, u64 start, u64 end, struct str path, u64 inode)
{
	char name[4200];
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	fd = open_regular(name, 0);
	if (fd < 0) {
		snprintf(name, sizeof(name), "/proc/%u/root%.*s", pid, (int)path.n, path.p);
		fd = open_regular(name, inode);
	}
	if (fd < 0) {
		snprintf(name, sizeof(name), "%.*s", (int)path.n, path.p);
		fd = open_regular(name, inode);
	}
	return fd;
}

static void queue(struct modules *m, u32 number, u32 pid, u64 start, u64 end, u64 inode)
{
	struct module *module = m->list.v[number];

	module->fd = open_file(pid, start, end, module->path, inode);
	if (module->fd < 0 ||
	    table_reader_queue(m->reader, number, module->fd, (struct str){0}) != ERR_OK)
		module->state = MODULE_FAILED;
	else
		m->pending++;
}

enum err modules_use(struct modules *m, u32 pid, u64 start, u64 end, struct str path, u64 device,
		     u64 inode, u32 *ret)
{
	uint64_t hash = file_hash(device, inode, path);
	struct module *module = NULL;
	enum err e;
	u32 number;

	MAP_PROBE(&m->by_file, hash, id)
	{
		module = m->list.v[id];
		if (module && module->device == device && module->inode == inode && inode &&
		    str_eq(module->path, path)) {
			module->users++;
			*ret = id;
			return ERR_OK;
		}
	}
	TRY(module_new(path, &module));
	module->device = device;
	module->inode = inode;
	module->users = 1;
	e = add(m, module, &number);
	if (e) {
		module_free(m, module);
		return e;
	}
	TRY(map_put(&m->by_file, hash, number));
	queue(m, number, pid, start, end, inode);
	*ret = number;
	return ERR_OK;
}

void modules_add_user(struct modules *m, u32 module)
{
	m->list.v[module]->users++;
}

void modules_drop_user(struct modules *m, u32 module)
{
	m->list.v[module]->users--;
}

struct module *modules_get(struct modules *m, u32 module)
{
	return module < m->list.n ? m->list.v[module] : NULL;
}

u32 modules_count(const struct modules *m)
{
	return (u32)m->list.n;
}

/* Files that nobody maps any more make room; who maps one again has it read again. */
static void make_room(struct modules *m)
{
	for (size_t i = MODULE_VDSO + 1; i < m->list.n; i++) {
		struct module *module = m->list.v[i];

		if (module && !module->users && module->placed.pages.units) {
			table_space_remove(m->space, &module->placed);
			module->inode = 0;
			module->no_table = true;
		}
	}
}

static void accept_table(struct modules *m, struct module *module, struct table_result *r)
{
	module->image = r->image;
	module->state = r->error ? MODULE_FAILED : MODULE_READY;
	module->no_table = !r->table.page_count;
	if (r->error || module->no_table)
		return;
	if (table_space_place(m->space, &r->table, &module->placed) == ERR_OK)
		return;
	make_room(m);
	/* Stacks through it are sent raw and walked here. */
	module->in_heap = true;
	module->kept = r->table;
	r->table = (struct unwind_table){0};
}

bool modules_settle(struct modules *m)
{
	struct table_result r;
	bool any = false;

	while (table_reader_take(m->reader, &r)) {
		accept_table(m, m->list.v[r.module], &r);
		unwind_table_release(&r.table);
		m->pending--;
		any = true;
	}
	return any;
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

	if (module->state == MODULE_READING)
		return UNWIND_NO_TABLE;
	if (module->in_heap)
		*ret = unwind_table_rule(&module->kept, address);
	else if (module->placed.pages.units)
		*ret = table_space_rule(m->space, module->placed.pages.unit,
					module->placed.page_count, address);
	else
		*ret = UNWIND_RULE_FRAME_POINTER;
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
