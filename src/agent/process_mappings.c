/* Where the code of processes lies: what the side band tells of it, and what /proc does. */
#include "agent/processes_internal.h"

#include "agent/proc_maps.h"
#include "base/clock.h"

#define LAST_PAUSE_NS (30 * NS_PER_S)

void process_drop_mappings(struct processes *p, struct process *process)
{
	vec_for_each (m, &process->mappings)
		if (m->module != MODULE_NONE)
			modules_drop_user(p->modules, m->module);
	process->mappings.n = 0;
}

void process_set_program(struct processes *p, struct process *process, u32 module)
{
	if (module != MODULE_NONE)
		modules_add_user(p->modules, module);
	if (process->program != MODULE_NONE)
		modules_drop_user(p->modules, process->program);
	process->program = module;
}

/* A mapping in the middle of another one, which goes on behind it. There is room for two. */
static enum err split(struct processes *p, struct process *process, size_t at,
		      struct process_mapping fresh)
{
	struct process_mapping *m = process->mappings.v + at, rest = *m;

	m->end = fresh.start;
	rest.file_offset += fresh.end - rest.start;
	rest.start = fresh.end;
	memmove(m + 3, m + 1, (process->mappings.n - at - 1) * sizeof(*m));
	m[1] = fresh;
	m[2] = rest;
	process->mappings.n += 2;
	process->changed = true;
	if (rest.module != MODULE_NONE)
		modules_add_user(p->modules, rest.module);
	return ERR_OK;
}

/* Puts a mapping in its place; what it covers is cut or goes, as mmap over old mappings does. */
static enum err insert(struct processes *p, struct process *process, struct process_mapping fresh)
{
	size_t at = 0, kept = 0;

	/* Room for itself and for the second half of one it falls into. */
	TRY(vec_reserve(&process->mappings, 2));
	for (size_t i = 0; i < process->mappings.n; i++) {
		struct process_mapping m = process->mappings.v[i];

		if (m.start < fresh.start && m.end > fresh.end)
			return split(p, process, i, fresh);
		if (m.start < fresh.end && m.end > fresh.start) {
			if (m.start < fresh.start) {
				m.end = fresh.start;
			} else if (m.end > fresh.end) {
				m.file_offset += fresh.end - m.start;
				m.start = fresh.end;
			} else {
				if (m.module != MODULE_NONE)
					modules_drop_user(p->modules, m.module);
				continue;
			}
		}
		process->mappings.v[kept++] = m;
	}
	process->mappings.n = kept;
	while (at < kept && process->mappings.v[at].start < fresh.start)
		at++;
	memmove(process->mappings.v + at + 1, process->mappings.v + at,
		(kept - at) * sizeof(fresh));
	process->mappings.v[at] = fresh;
	process->mappings.n++;
	process->changed = true;
	return ERR_OK;
}

static bool is_file(struct str name)
{
	return name.n && name.p[0] == '/' && !str_starts(name, STR("//anon")) &&
	       !str_starts(name, STR("/dev/zero"));
}

static bool is_vdso(struct str name)
{
	return str_eq(name, STR("[vdso]"));
}

enum err process_map_file(struct processes *p, struct process *process,
			  const struct sideband_event *e)
{
	struct process_mapping m = {.start = e->start,
				    .end = e->end,
				    .file_offset = e->file_offset,
				    .module = MODULE_NONE};
	enum err e_insert;

	if (is_vdso(e->name)) {
		m.module = MODULE_VDSO;
		modules_add_user(p->modules, MODULE_VDSO);
	} else if (is_file(e->name)) {
		TRY(modules_use(p->modules, process->pid, e->start, e->end, e->name,
				(u64)e->device_major << 32 | e->device_minor, e->inode, &m.module));
		if (process->program == MODULE_NONE)
			process_set_program(p, process, m.module);
		if (process->wanted)
			modules_read(p->modules, m.module);
	}
	e_insert = insert(p, process, m);
	if (e_insert && m.module != MODULE_NONE)
		modules_drop_user(p->modules, m.module);
	return e_insert;
}

struct reading {
	struct processes *p;
	struct process *process;
};

static enum err add_read(void *context, const struct sideband_event *e)
{
	struct reading *r = context;
	struct process_mapping *same = process_find(r->process, e->start);

	if (same && same->start == e->start && same->end == e->end &&
	    same->file_offset == e->file_offset &&
	    (same->module != MODULE_NONE) == (is_file(e->name) || is_vdso(e->name)))
		return ERR_OK;
	return process_map_file(r->p, r->process, e);
}

/* False when the process is gone: it has no maps; what the side band told stays. */
bool process_read_maps(struct processes *p, struct process *process)
{
	struct reading r = {p, process};

	process->maps_read = true;
	if (proc_maps_read(process->pid, &r, add_read) != ERR_OK)
		return false;
	if (!process->comm[0])
		proc_comm_read(process->pid, process->comm);
	return true;
}

void processes_reread(struct processes *p, struct process *process, u64 now)
{
	if (now < process->reread_after || process->ended)
		return;
	process->reread_after = now + process->reread_pause;
	if (process->reread_pause < (u64)LAST_PAUSE_NS)
		process->reread_pause *= 2;
	process_read_maps(p, process);
}

u32 processes_reread_all(struct processes *p, u64 now)
{
	u32 asked = 0;

	vec_for_each (one, &p->list) {
		struct process *process = *one;

		if (!process || process->ended || process->kernel)
			continue;
		asked++;
		/* It may run another program by now: nothing that was known is kept. */
		process_drop_mappings(p, process);
		process->changed = true;
		if (!process_read_maps(p, process))
			process->ended = now;
	}
	return asked;
}

struct process_mapping *process_find(struct process *process, u64 address)
{
	size_t from = 0, to = process->mappings.n;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (process->mappings.v[middle].end <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == process->mappings.n || process->mappings.v[from].start > address)
		return NULL;
	return &process->mappings.v[from];
}

bool processes_place(struct processes *p, struct process_mapping *m)
{
	if (!m->placed && m->module != MODULE_NONE &&
	    modules_get(p->modules, m->module)->state == MODULE_READY)
		m->placed = module_bias(modules_get(p->modules, m->module), m->start,
					m->file_offset, &m->bias);
	return m->placed;
}
