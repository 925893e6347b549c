/* Executable mappings of processes, from the side band and /proc. */
#include "agent/processes_internal.h"

#include "base/clock.h"

#define LAST_PAUSE_NS	 (30 * NS_PER_S)
#define LIMITED_PAUSE_NS ((u64)60 * NS_PER_S)
/* Minimum interval for reading a process again after lost events, one after the other. */
#define MEND_PAUSE_NS	 ((u64)30 * NS_PER_S)
#define REREAD_PAUSE_NS	 (50 * NS_PER_MS)
#define REREADS_MAX	 5u

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

/* The first mapping that ends after an address. */
static size_t first_behind(const struct process *process, u64 address)
{
	size_t from = 0, to = process->mappings.n;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (process->mappings.v[middle].end <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Whether both are the same bytes of the same file, or of no file. */
static bool is_alike(const struct process_mapping *a, const struct process_mapping *b)
{
	return a->module == b->module && a->start - a->file_offset == b->start - b->file_offset;
}

static void drop(struct processes *p, const struct process_mapping *m)
{
	if (m->module != MODULE_NONE)
		modules_drop_user(p->modules, m->module);
}

/* Puts `fresh` in the place of `count` mappings. There is room. */
static void put(struct process *process, size_t at, size_t count, struct process_mapping fresh)
{
	struct process_mapping *m = process->mappings.v + at;

	memmove(m + 1, m + count, (process->mappings.n - at - count) * sizeof(*m));
	*m = fresh;
	process->mappings.n += 1 - count;
	process->changed = true;
}

/*
 * Above this number of mappings, similar neighbours are merged, including gaps; if there is no room
 * at all, also those without a file. Only the unwinding of this process gets worse.
 */
static bool may_join(const struct process *process, const struct process_mapping *a,
		     const struct process_mapping *b)
{
	if (process->mappings.n <= MAPPINGS_MAX / 2)
		return false;
	return is_alike(a, b) || (process->mappings.n > MAPPINGS_MAX - 2 &&
				  a->module == MODULE_NONE && b->module == MODULE_NONE);
}

static void join_behind(struct processes *p, struct process *process, size_t at)
{
	struct process_mapping *m = process->mappings.v + at;

	if (at + 1 >= process->mappings.n || !may_join(process, m, m + 1))
		return;
	m->end = m[1].end;
	drop(p, &m[1]);
	memmove(m + 1, m + 2, (process->mappings.n - at - 2) * sizeof(*m));
	process->mappings.n--;
	process->joined++;
}

/* A mapping inside of another one, which continues after it. */
static void split(struct processes *p, struct process *process, size_t at,
		  struct process_mapping fresh)
{
	struct process_mapping *m = process->mappings.v + at, rest = *m;

	m->end = fresh.start;
	rest.file_offset += fresh.end - rest.start;
	rest.start = fresh.end;
	if (rest.module != MODULE_NONE)
		modules_add_user(p->modules, rest.module);
	put(process, at + 1, 0, fresh);
	put(process, at + 2, 0, rest);
}

/* Puts a mapping in its place; what it covers is cut or goes, as mmap over old mappings does. */
static enum err insert(struct processes *p, struct process *process, struct process_mapping fresh)
{
	size_t at = first_behind(process, fresh.start), to = at;
	struct process_mapping *v;

	/* Room for itself and for the second half of one it falls into. */
	TRY(vec_reserve(&process->mappings, 2));
	v = process->mappings.v;
	if (at < process->mappings.n && v[at].start <= fresh.start && v[at].end >= fresh.end) {
		/* Nothing new: a change of rights, most often. */
		if (is_alike(&v[at], &fresh)) {
			drop(p, &fresh);
			return ERR_OK;
		}
		if (process->mappings.n + 2 > MAPPINGS_MAX) {
			process->left_out++;
			drop(p, &fresh);
			return ERR_OK;
		}
		if (v[at].start < fresh.start && v[at].end > fresh.end) {
			split(p, process, at, fresh);
			return ERR_OK;
		}
	}
	while (to < process->mappings.n && v[to].start < fresh.end)
		to++;
	if (to > at && v[to - 1].end > fresh.end) {
		to--;
		v[to].file_offset += fresh.end - v[to].start;
		v[to].start = fresh.end;
	}
	if (to > at && v[at].start < fresh.start)
		v[at++].end = fresh.start;
	if (to == at && process->mappings.n >= MAPPINGS_MAX) {
		process->left_out++;
		drop(p, &fresh);
		return ERR_OK;
	}
	for (size_t i = at; i < to; i++)
		drop(p, &v[i]);
	put(process, at, to - at, fresh);
	join_behind(p, process, at);
	if (at)
		join_behind(p, process, at - 1);
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
		else if (process->fresh)
			modules_read_ahead(p->modules, m.module);
	}
	process->changed_since = true;
	e_insert = insert(p, process, m);
	if (e_insert && m.module != MODULE_NONE)
		modules_drop_user(p->modules, m.module);
	return e_insert;
}

static struct sideband_event event_of(const struct process_report *r,
				      const struct report_mapping *m)
{
	return (struct sideband_event){.kind = SIDEBAND_MAP,
				       .pid = r->pid,
				       .start = m->start,
				       .end = m->end,
				       .file_offset = m->file_offset,
				       .device_major = m->device_major,
				       .device_minor = m->device_minor,
				       .inode = m->inode,
				       .name = process_report_name(r, m)};
}

/* Whether the whole range is already known unchanged. */
static bool says_nothing_new(const struct process *process, const struct process_report *r)
{
	if (r->mappings.n != process->mappings.n)
		return false;
	for (size_t i = 0; i < r->mappings.n; i++) {
		const struct process_mapping *m = &process->mappings.v[i];
		struct str name = process_report_name(r, &r->mappings.v[i]);

		if (m->start != r->mappings.v[i].start || m->end != r->mappings.v[i].end ||
		    m->file_offset != r->mappings.v[i].file_offset ||
		    (m->module != MODULE_NONE) != (is_file(name) || is_vdso(name)))
			return false;
	}
	return true;
}

/* Adds a mapping from /proc where none is known; side-band events that arrived meanwhile are
 * newer. */
static enum err add_unknown(struct processes *p, struct process *process,
			    const struct process_report *r)
{
	vec_for_each (m, &r->mappings) {
		struct sideband_event e = event_of(r, m);
		size_t at = first_behind(process, m->start);

		if (at == process->mappings.n || process->mappings.v[at].start >= m->end)
			TRY(process_map_file(p, process, &e));
	}
	return ERR_OK;
}

/* Replaces all mappings. If out of memory, some are missing. */
static enum err replace_all(struct processes *p, struct process *process,
			    const struct process_report *r)
{
	typeof(process->mappings) old = process->mappings;
	enum err e = ERR_OK;

	memset(&process->mappings, 0, sizeof(process->mappings));
	process->changed = true;
	for (size_t i = 0; !e && i < r->mappings.n; i++) {
		struct sideband_event event = event_of(r, &r->mappings.v[i]);

		e = process_map_file(p, process, &event);
	}
	vec_for_each (m, &old)
		drop(p, m);
	vec_release(&old);
	return e;
}

/* Children that began while their parent was asked. */
static void give_to_heirs(struct processes *p, const struct process *parent)
{
	vec_for_each (one, &p->list) {
		struct process *child = *one;

		if (child && child->heir && child->parent == parent->pid &&
		    process_inherit(p, child, parent) != ERR_OK)
			child->heir = false;
	}
}

static void take_maps(struct processes *p, struct process *process, const struct process_report *r)
{
	enum err e = ERR_OK;

	process->left_out += r->unread;
	if (r->gone) {
		/* Mappings from the side band are kept. */
		if (process->ends_if_gone && !process->kernel && !process->ended)
			process->ended = (u64)clock_monotonic_ns();
	} else if (process->changed_since && process->mappings.n) {
		e = add_unknown(p, process, r);
	} else if (!says_nothing_new(process, r)) {
		/* Events were lost: it may be another program. */
		if (process->ends_if_gone)
			process_set_program(p, process, MODULE_NONE);
		e = replace_all(p, process, r);
	}
	process->ends_if_gone = false;
	/* Without memory its stacks go through what is not known. */
	process->maps_read = e == ERR_OK;
	give_to_heirs(p, process);
}

void process_take_report(struct processes *p, struct process *process, struct process_report *r)
{
	process->asked &= ~r->parts;
	process->uid = r->uid;
	if (!process->comm[0])
		memcpy(process->comm, r->comm, sizeof(process->comm));
	if (r->parts & REPORT_FACTS && !process->kernel)
		process_take_facts(p, process, r);
	if (r->parts & REPORT_MAPS)
		take_maps(p, process, r);
	/* An answer after all. */
	if (process->blind && r->parts & REPORT_TEXTS)
		process->decided = 0;
	if (r->parts & REPORT_TEXTS) {
		process_report_free(process->report);
		process->report = r;
	} else {
		process_report_free(r);
	}
}

void processes_reread(struct processes *p, struct process *process, u64 now)
{
	if (now < process->reread_after || process->ended || process->kernel)
		return;
	/* Its mappings are not as they were by the time they are read. */
	if (process->shut_out)
		process->reread_pause = LIMITED_PAUSE_NS;
	process->reread_after = now + process->reread_pause;
	if (process->reread_pause < (u64)LAST_PAUSE_NS)
		process->reread_pause *= 2;
	(void)processes_ask(p, process, REPORT_MAPS);
}

u32 processes_reread_all(struct processes *p, u64 now)
{
	u32 due = 0;

	vec_for_each (one, &p->list) {
		struct process *process = *one;

		if (!process || process->ended || process->kernel || process->reread_due ||
		    process->shut_out ||
		    (process->mended_at && now < process->mended_at + MEND_PAUSE_NS))
			continue;
		process->reread_due = true;
		process->mended_at = now;
		due++;
	}
	p->rereads += due;
	if (!p->prober)
		processes_continue_rereads(p);
	return due;
}

static void reread_one(struct processes *p, struct process *process)
{
	process->reread_due = false;
	p->rereads--;
	if (process->ended)
		return;
	process->ends_if_gone = true;
	/* It may run another program by now: nothing that was known is kept. */
	(void)process_ask(p, process, REPORT_MAPS | REPORT_FACTS, PROBE_LATER);
}

/* Number of reads in progress. Without a prober they are synchronous. */
static u32 rereads_now(struct processes *p)
{
	u64 now = (u64)clock_monotonic_ns(), since = now - p->reread_time;
	u32 n = since < NS_PER_S ? (u32)(since / REREAD_PAUSE_NS) : REREADS_MAX;

	if (!p->prober)
		return p->rereads;
	if (n)
		p->reread_time = now;
	return n < REREADS_MAX ? n : REREADS_MAX;
}

/* Sampled processes first. */
void processes_continue_rereads(struct processes *p)
{
	u32 most = p->rereads ? rereads_now(p) : 0;

	vec_for_each (one, &p->list)
		if (most && *one && (*one)->reread_due && (*one)->wanted) {
			reread_one(p, *one);
			most--;
		}
	for (size_t i = 0; i < p->list.n && most && p->rereads; i++) {
		struct process *process = p->list.v[p->cursor++ % p->list.n];

		if (process && process->reread_due) {
			reread_one(p, process);
			most--;
		}
	}
}

struct process_mapping *process_find(struct process *process, u64 address)
{
	size_t at = first_behind(process, address);

	if (at == process->mappings.n || process->mappings.v[at].start > address)
		return NULL;
	return &process->mappings.v[at];
}

bool processes_place(struct processes *p, struct process_mapping *m)
{
	if (!m->placed && m->module != MODULE_NONE &&
	    modules_get(p->modules, m->module)->state == MODULE_READY)
		m->placed = module_bias(modules_get(p->modules, m->module), m->start,
					m->file_offset, &m->bias);
	return m->placed;
}

void processes_limit(struct processes *p, u32 pid)
{
	struct process *process = processes_last(p, pid);

	if (!process)
		return;
	process->shut_out++;
	/* Its further mapping events are not published. */
	process->reread_after = (u64)clock_monotonic_ns() + LIMITED_PAUSE_NS;
}
