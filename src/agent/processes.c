#include "agent/processes_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agent/prober.h"
#include "base/clock.h"
#include "base/hash.h"
#include "unwind/unwinders.h"

#define FIRST_PAUSE_NS (200 * NS_PER_MS)
/* Small blocks, because the strings of a process are short, and there are hundreds of processes. */
#define TEXT_BLOCK     240
/* More are not followed from their begin: each is known by its first sample. */
#define PROCESSES_MAX  32768u
/* Minimum interval for publishing a process with many, frequently changing mappings. */
#define MANY_MAPPINGS  256u
#define TOLD_PAUSE_NS  ((u64)NS_PER_S)

enum err processes_new(struct kernel_side *k, struct modules *m, struct table_space *space,
		       struct prober *prober, struct processes **ret)
{
	struct processes *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return ERR_NO_MEMORY;
	p->kernel = k;
	p->modules = m;
	p->space = space;
	p->prober = prober;
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
	process_report_free(process->report);
	process_forget_parent(p, process);
	p->rereads -= process->reread_due;
	p->facts_due -= process->facts_due;
	mem_free(process);
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->list.n; i++)
		if (p->list.v[i]) {
			process_free(p, p->list.v[i]);
			p->list.v[i] = NULL;
		}
	vec_release(&p->list);
	vec_release(&p->unused);
	map_release(&p->by_pid);
	mem_free(p);
}

void processes_read_ahead(struct processes *p)
{
	p->ahead = true;
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

struct process *process_at(const struct processes *p, struct process_place at)
{
	struct process *process = at.number < p->list.n ? p->list.v[at.number] : NULL;

	return process && process->serial == at.serial ? process : NULL;
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

/* Entries of the map cannot be removed: rebuild it when most of them are dead. */
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
	process->serial = ++p->serial;
	process->number = at;
	p->live++;
	*ret = process;
	return map_put(&p->by_pid, hash_mix(pid, 1), at);
}

enum err process_inherit(struct processes *p, struct process *child, const struct process *parent)
{
	process_set_program(p, child, parent->program);
	TRY(vec_append(&child->mappings, parent->mappings.v, parent->mappings.n));
	vec_for_each (m, &child->mappings)
		if (m->module != MODULE_NONE)
			modules_add_user(p->modules, m->module);
	child->heir = false;
	child->changed = true;
	return ERR_OK;
}

static enum err begin_child(struct processes *p, const struct sideband_event *e)
{
	struct process *parent = find(p, e->parent), *child = find(p, e->pid);

	if (child)
		child->ended = e->time;
	if (p->live >= PROCESSES_MAX) {
		p->refused++;
		return ERR_OK;
	}
	/* Read a parent that is older than the agent now: the child may not live long enough. */
	if (!parent)
		TRY(processes_get(p, e->parent, &parent));
	TRY(add(p, e->pid, &child));
	child->parent = e->parent;
	child->parent_at = (struct process_place){parent->number, parent->serial};
	child->copied = true;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	child->maps_read = parent->maps_read;
	child->heir = !parent->mappings.n && parent->asked & REPORT_MAPS;
	return child->heir ? ERR_OK : process_inherit(p, child, parent);
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

	if (old)
		old->ended = e->time;
	if (p->live >= PROCESSES_MAX) {
		p->refused++;
		return ERR_OK;
	}
	TRY(add(p, e->pid, &fresh));
	if (old) {
		fresh->parent = old->parent;
		fresh->parent_at = old->parent_at;
	}
	fresh->maps_read = true;
	fresh->fresh = p->ahead;
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

/* ---- what /proc says ---- */

static bool may_answer(const struct processes *p, u64 asked_at)
{
	u64 since = (u64)clock_monotonic_ns() - asked_at;

	return since < ASKED_NS || (since < QUEUED_NS && asked_at >= p->queued);
}

bool processes_pending(const struct processes *p, const struct process *process, unsigned parts)
{
	const struct process *asked = process;

	if (parts & REPORT_FACTS && process->facts_due &&
	    (u64)clock_monotonic_ns() - process->facts_due_at < ASKED_NS)
		return true;
	if (process->heir) {
		asked = find(p, process->parent);
		parts = REPORT_MAPS;
	}
	return asked && asked->asked & parts && may_answer(p, asked->asked_at);
}

struct str process_program_path(const struct processes *p, const struct process *process)
{
	/* The first file a program maps is its own; the loader and libraries come later. */
	return process->program == MODULE_NONE ? (struct str){0}
					       : modules_get(p->modules, process->program)->path;
}

bool processes_ask(struct processes *p, struct process *process, unsigned parts)
{
	return process_ask(p, process, parts,
			   parts & (REPORT_MAPS | REPORT_TEXTS) ? PROBE_SAMPLES_WAIT : PROBE_SOON);
}

bool process_ask(struct processes *p, struct process *process, unsigned parts, enum probe_rank rank)
{
	struct process_report *r;
	struct probe *probe;

	parts &= ~process->asked;
	if (!parts)
		return processes_pending(p, process, process->asked);
	r = process_report_new(process->pid, parts, process->comm,
			       process_program_path(p, process));
	probe = r && p->prober ? probe_new(PROBE_PROCESS, process->pid) : NULL;
	if (parts & REPORT_MAPS)
		process->changed_since = false;
	if (parts & REPORT_FACTS && !process->facts.read)
		process_keep_parents(p, process);
	if (r && !p->prober) {
		process_report_read(r);
		process_take_report(p, process, r);
		return true;
	}
	if (!probe) {
		process_report_free(r);
		return false;
	}
	probe->report = r;
	probe->rank = rank;
	probe->number = process->number;
	probe->ticket = process->serial;
	if (prober_post(p->prober, probe) != ERR_OK)
		return false;
	process->asked |= parts;
	process->asked_at = (u64)clock_monotonic_ns();
	return true;
}

bool processes_take(struct processes *p)
{
	struct probe *probe;
	bool any = false;

	while (p->prober && (probe = prober_take(p->prober, PROBE_PROCESS))) {
		struct process *process =
			process_at(p, (struct process_place){probe->number, probe->ticket});

		if (process) {
			process_take_report(p, process, probe->report);
			probe->report = NULL;
			any = true;
		}
		probe_free(probe);
	}
	p->queued = p->prober ? (u64)prober_oldest(p->prober, PROBE_PROCESS) : UINT64_MAX;
	processes_settle_facts(p);
	return any;
}

enum err processes_get(struct processes *p, u32 pid, struct process **ret)
{
	/* A thread still runs in the kernel for a short time after its exit event. */
	struct process *process = find_last(p, pid);

	if (!process) {
		TRY(add(p, pid, &process));
		/* There will be no exit event for a process that has already ended. */
		process->ends_if_gone = true;
		process->maps_read = true;
		(void)processes_ask(p, process, REPORT_MAPS | REPORT_FACTS);
	} else if (!process->maps_read && !process->heir) {
		process->maps_read = true;
		(void)processes_ask(p, process, REPORT_MAPS);
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

/* So many that change all the time: not now. */
static bool may_tell(const struct process *process, u64 now)
{
	return process->mappings.n < MANY_MAPPINGS || now - process->told_at >= TOLD_PAUSE_NS;
}

static enum err tell_kernel(struct processes *p, struct process *process)
{
	struct space_range old = process->range, fresh;
	struct unwind_mapping *list;
	struct process_entry entry;
	enum err e;

	process->changed = false;
	process->told_at = (u64)clock_monotonic_ns();
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

/* Whether its published mappings are outdated. */
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
	u64 now = (u64)clock_monotonic_ns();

	processes_continue_rereads(p);
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
			   (process->changed || (modules_changed && modules_settled(p, process))) &&
			   may_tell(process, now)) {
			TRY(tell_kernel(p, process));
		}
	}
	return ERR_OK;
}

u32 processes_count(const struct processes *p)
{
	return p->live;
}

void processes_limits(const struct processes *p, struct processes_limits *ret)
{
	*ret = (struct processes_limits){.refused = p->refused};
	vec_for_each (one, &p->list) {
		const struct process *process = *one;
		struct limited_process *named;

		if (!process || process->ended ||
		    (!process->joined && !process->left_out && !process->shut_out))
			continue;
		ret->limited++;
		if (ret->named_count == LIMITED_NAMED)
			continue;
		named = &ret->named[ret->named_count++];
		*named = (struct limited_process){.pid = process->pid,
						  .joined = process->joined,
						  .left_out = process->left_out,
						  .shut_out = process->shut_out};
		memcpy(named->comm, process->comm, sizeof(named->comm));
	}
}
