#include "agent/processes_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "unwind/unwinders.h"

#define FIRST_PAUSE_NS (200 * NS_PER_MS)
/* What a process is called fits into one or two; there are hundreds of processes. */
#define TEXT_BLOCK     240

enum err processes_new(struct kernel_side *k, struct modules *m, struct table_space *space,
		       struct processes **ret)
{
	struct processes *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return ERR_NO_MEMORY;
	p->kernel = k;
	p->modules = m;
	p->space = space;
	*ret = p;
	return ERR_OK;
}

/* The kernel side forgets it; its memory there is used again later. */
static void withdraw(struct processes *p, struct process *process)
{
	if (!process->range.units)
		return;
	kernel_forget_process(p->kernel, &process->told);
	table_space_give(p->space, process->range);
	process->range = (struct space_range){0};
}

static void process_free(struct processes *p, struct process *process)
{
	withdraw(p, process);
	process_drop_mappings(p, process);
	process_set_program(p, process, MODULE_NONE);
	vec_release(&process->mappings);
	arena_release(&process->texts);
	mem_free(process);
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	vec_for_each (process, &p->list)
		if (*process)
			process_free(p, *process);
	vec_release(&p->list);
	vec_release(&p->unused);
	map_release(&p->by_pid);
	mem_free(p);
}

static struct process *find(const struct processes *p, u32 pid)
{
	MAP_PROBE(&p->by_pid, hash_mix(pid, 1), id)
	{
		struct process *process = p->list.v[id];

		if (process && process->pid == pid && !process->ended)
			return process;
	}
	return NULL;
}

/* The last one to have the number: also one that ended, until it is dropped. */
static struct process *find_last(const struct processes *p, u32 pid)
{
	struct process *last = NULL;

	MAP_PROBE(&p->by_pid, hash_mix(pid, 1), id)
	{
		struct process *process = p->list.v[id];

		if (!process || process->pid != pid)
			continue;
		if (!process->ended)
			return process;
		if (!last || process->ended >= last->ended)
			last = process;
	}
	return last;
}

/* The map never forgets single entries: it is made anew when most of it is dead. */
static enum err tidy_map(struct processes *p)
{
	if (p->by_pid.n < 2 * p->live + 1024)
		return ERR_OK;
	map_clear(&p->by_pid);
	for (u32 i = 0; i < p->list.n; i++)
		if (p->list.v[i])
			TRY(map_put(&p->by_pid, hash_mix(p->list.v[i]->pid, 1), i));
	return ERR_OK;
}

static enum err add(struct processes *p, u32 pid, struct process **ret)
{
	struct process *process;
	u32 at;

	TRY(tidy_map(p));
	process = mem_zalloc(1, sizeof(*process));
	if (!process)
		return ERR_NO_MEMORY;
	process->pid = pid;
	process->reread_pause = FIRST_PAUSE_NS;
	process->program = MODULE_NONE;
	process->texts.block = TEXT_BLOCK;
	if (p->unused.n) {
		at = p->unused.v[--p->unused.n];
	} else if (vec_push(&p->list, NULL) == ERR_OK) {
		at = (u32)p->list.n - 1;
	} else {
		mem_free(process);
		return ERR_NO_MEMORY;
	}
	p->list.v[at] = process;
	p->live++;
	*ret = process;
	return map_put(&p->by_pid, hash_mix(pid, 1), at);
}

static enum err begin_child(struct processes *p, const struct sideband_event *e)
{
	struct process *parent = find(p, e->parent), *child = find(p, e->pid);

	if (child)
		child->ended = e->time;
	/* Who began before the agent is asked now: the child may not live long enough. */
	if (!parent)
		TRY(processes_get(p, e->parent, &parent));
	TRY(add(p, e->pid, &child));
	child->parent = e->parent;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	child->maps_read = parent->maps_read;
	child->copied = true;
	process_set_program(p, child, parent->program);
	TRY(vec_append(&child->mappings, parent->mappings.v, parent->mappings.n));
	vec_for_each (m, &child->mappings)
		if (m->module != MODULE_NONE)
			modules_add_user(p->modules, m->module);
	return ERR_OK;
}

static void set_comm(struct process *process, struct str name)
{
	size_t n = name.n < sizeof(process->comm) - 1 ? name.n : sizeof(process->comm) - 1;

	memset(process->comm, 0, sizeof(process->comm));
	memcpy(process->comm, name.p, n);
}

static enum err begin_program(struct processes *p, const struct sideband_event *e)
{
	struct process *old = find(p, e->pid), *fresh;
	u32 parent = old ? old->parent : 0;

	if (old)
		old->ended = e->time;
	TRY(add(p, e->pid, &fresh));
	fresh->parent = parent;
	fresh->maps_read = true;
	set_comm(fresh, e->name);
	return ERR_OK;
}

/* More than the first thread, which is listed until the last one has ended. */
static bool other_threads_run(u32 pid)
{
	char path[40];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return !stat(path, &info) && info.st_nlink > 3;
}

enum err processes_event(struct processes *p, const struct sideband_event *e)
{
	struct process *process;

	switch (e->kind) {
	case SIDEBAND_FORK:
		return begin_child(p, e);
	case SIDEBAND_EXEC:
		return begin_program(p, e);
	case SIDEBAND_COMM:
		process = e->pid == e->tid ? find(p, e->pid) : NULL;
		if (process)
			set_comm(process, e->name);
		return ERR_OK;
	case SIDEBAND_MAP:
		process = find(p, e->pid);
		return process ? process_map_file(p, process, e) : ERR_OK;
	case SIDEBAND_EXIT:
		process = find(p, e->pid);
		if (!process)
			return ERR_OK;
		process->leader_gone = other_threads_run(e->pid);
		if (!process->leader_gone)
			process->ended = e->time;
		return ERR_OK;
	}
	return ERR_OK;
}

enum err processes_get(struct processes *p, u32 pid, struct process **ret)
{
	/* A thread still runs a little in the kernel after its end was told. */
	struct process *process = find_last(p, pid);

	if (!process) {
		TRY(add(p, pid, &process));
		/* Of one that is gone before anything was told of it no more will be heard. */
		if (!process_read_maps(p, process))
			process->ended = (u64)clock_monotonic_ns();
	} else if (!process->maps_read) {
		process_read_maps(p, process);
	}
	*ret = process;
	return ERR_OK;
}

struct process *processes_last(const struct processes *p, u32 pid)
{
	return find_last(p, pid);
}

enum err processes_each(const struct processes *p, void *context,
			enum err (*each)(void *context, struct process *process))
{
	vec_for_each (process, &p->list)
		if (*process)
			TRY(each(context, *process));
	return ERR_OK;
}

/* Of those that began one another and are gone. */
#define ANCESTORS_MOST 8

static enum err read_facts(struct processes *p, struct process *process, unsigned ancestors)
{
	struct str program = {0};
	struct process *parent;

	if (process->facts.read)
		return ERR_OK;
	/* All of the kernel's threads are one service: there are hundreds, most do little. */
	if (process->kernel) {
		process->facts = (struct process_facts){.read = true, .service = STR("kernel")};
		return ERR_OK;
	}
	/* The first file a program maps is its own; the loader and libraries come later. */
	if (process->program != MODULE_NONE)
		program = modules_get(p->modules, process->program)->path;
	TRY(process_facts_read(process->pid,
			       str_n(process->comm, strnlen(process->comm, sizeof(process->comm))),
			       program, &process->texts, &process->facts));
	parent = process->facts.gone && process->parent && ancestors ? find_last(p, process->parent)
								     : NULL;
	if (!parent || parent == process)
		return ERR_OK;
	TRY(read_facts(p, parent, ancestors - 1));
	return process_facts_inherit(&parent->facts, process->copied, &process->texts,
				     &process->facts);
}

enum err processes_facts(struct processes *p, struct process *process)
{
	return read_facts(p, process, ANCESTORS_MOST);
}

void processes_want(struct processes *p, struct process *process, u32 address_space)
{
	if (process->wanted && process->key.address_space == address_space)
		return;
	process->wanted = process->changed = true;
	process->key = (struct process_key){process->pid, address_space};
	vec_for_each (m, &process->mappings)
		if (m->module != MODULE_NONE)
			modules_read(p->modules, m->module);
}

static struct unwind_mapping kernel_mapping(struct processes *p, struct process_mapping *m)
{
	u64 length = (m->end - m->start) / UNWIND_LENGTH_UNIT;
	struct unwind_mapping out = {.start = m->start,
				     .length = length < UINT32_MAX ? (u32)length : UINT32_MAX};
	const struct module *module =
		m->module == MODULE_NONE ? NULL : modules_get(p->modules, m->module);

	if (!module || module->state == MODULE_FAILED ||
	    (module->state == MODULE_READY && module->no_table)) {
		out.unwinder = UNWINDER_FRAME_POINTERS;
	} else if (!processes_place(p, m) || module->in_heap || !module->placed.pages.units) {
		out.unready = 1;
	} else {
		out.bias = m->bias;
		out.pages = module->placed.pages.unit;
		out.page_count = module->placed.page_count & 0xffffff;
		out.table = module->placed.number;
	}
	return out;
}

static enum err tell_kernel(struct processes *p, struct process *process)
{
	struct space_range old = process->range, fresh;
	struct unwind_mapping *list;
	struct process_entry entry;
	enum err e;

	process->changed = false;
	process->told_turn = modules_turn(p->modules);
	/* Without room its stacks come raw; what the kernel side knows is not true any more. */
	if (!process->mappings.n ||
	    table_space_take(p->space, process->mappings.n * sizeof(*list), &fresh) != ERR_OK) {
		withdraw(p, process);
		return ERR_OK;
	}
	list = table_space_at(p->space, fresh.unit);
	for (size_t i = 0; i < process->mappings.n; i++)
		list[i] = kernel_mapping(p, &process->mappings.v[i]);
	entry = (struct process_entry){fresh.unit, (u32)process->mappings.n};
	e = kernel_set_process(p->kernel, &process->key, &entry);
	if (e) {
		table_space_give(p->space, fresh);
		withdraw(p, process);
		return ERR_OK;
	}
	if (old.units && memcmp(&process->told, &process->key, sizeof(process->key)) != 0)
		kernel_forget_process(p->kernel, &process->told);
	table_space_give(p->space, old);
	process->told = process->key;
	process->range = fresh;
	return ERR_OK;
}

/* Whether what it was told of its files is not true any more. */
static bool modules_settled(struct processes *p, const struct process *process)
{
	/* There was no room for it: there may be now. */
	if (!process->range.units)
		return true;
	vec_for_each (m, &process->mappings)
		if (m->module != MODULE_NONE &&
		    modules_get(p->modules, m->module)->settled > process->told_turn)
			return true;
	return false;
}

enum err processes_settle(struct processes *p, bool modules_changed)
{
	for (u32 i = 0; i < p->list.n; i++) {
		struct process *process = p->list.v[i];

		if (!process)
			continue;
		if (process->leader_gone && !process->ended && !other_threads_run(process->pid))
			process->ended = (u64)clock_monotonic_ns();
		if (process->ended) {
			withdraw(p, process);
			if (process->references)
				continue;
			TRY(vec_push(&p->unused, i));
			process_free(p, process);
			p->list.v[i] = NULL;
			p->live--;
		} else if (process->wanted &&
			   (process->changed || (modules_changed && modules_settled(p, process)))) {
			TRY(tell_kernel(p, process));
		}
	}
	return ERR_OK;
}

u32 processes_count(const struct processes *p)
{
	return p->live;
}
