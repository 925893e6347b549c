#include "agent/process_report.h"

#include <stdio.h>

#include "agent/proc_maps.h"
#include "base/alloc.h"

#define NAMES_CEILING ((size_t)1 << 20)
/* Small blocks, because the strings of a process are short, and there are hundreds of processes. */
#define TEXT_BLOCK    240

struct process_report *process_report_new(u32 pid, unsigned parts, const char comm[16],
					  struct str program)
{
	struct process_report *r = mem_zalloc(1, sizeof(*r));
	char *copy;

	if (!r)
		return NULL;
	r->pid = pid;
	r->parts = parts;
	r->uid = REPORT_NOBODY;
	r->names = BUF_INIT(NAMES_CEILING);
	r->texts.block = TEXT_BLOCK;
	memcpy(r->comm, comm, sizeof(r->comm));
	copy = program.n ? arena_copy(&r->texts, program) : NULL;
	r->facts.program = str_n(copy, copy ? program.n : 0);
	r->look = process_look_at(pid, (struct str){0}, NULL);
	return r;
}

void process_report_free(struct process_report *r)
{
	if (!r)
		return;
	vec_release(&r->mappings);
	buf_release(&r->names);
	arena_release(&r->texts);
	process_look_release(&r->look);
	mem_free(r);
}

struct str process_report_name(const struct process_report *r, const struct report_mapping *m)
{
	return str_n(r->names.data + m->name_at, m->name_size);
}

/* Code that a file has in pieces, or that was made in pieces, counts once. */
static bool continues(const struct process_report *r, const struct report_mapping *m,
		      struct str name)
{
	struct report_mapping *last = r->mappings.n ? &r->mappings.v[r->mappings.n - 1] : NULL;

	if (!last || last->inode != m->inode || last->device_major != m->device_major ||
	    last->device_minor != m->device_minor || !str_eq(process_report_name(r, last), name) ||
	    (m->inode && last->start - last->file_offset != m->start - m->file_offset) ||
	    (last->end != m->start && r->mappings.n < MAPPINGS_MAX / 2))
		return false;
	last->end = m->end;
	return true;
}

static enum err add_mapping(void *context, const struct sideband_event *e)
{
	struct process_report *r = context;
	struct report_mapping m = {.start = e->start,
				   .end = e->end,
				   .file_offset = e->file_offset,
				   .inode = e->inode,
				   .device_major = e->device_major,
				   .device_minor = e->device_minor,
				   .name_at = (u32)r->names.n,
				   .name_size = (u32)e->name.n};

	if (continues(r, &m, e->name))
		return ERR_OK;
	if (r->mappings.n >= MAPPINGS_MAX) {
		r->unread++;
		return ERR_OK;
	}
	buf_str(&r->names, e->name);
	TRY(buf_error(&r->names));
	return vec_push(&r->mappings, m);
}

static void read_texts(struct process_report *r)
{
	struct str nothing;

	look_command(&r->look);
	look_cgroup(&r->look);
	(void)look_variable(&r->look, STR(""), &nothing);
}

void process_report_read(struct process_report *r)
{
	struct str program = r->facts.program;
	struct str comm = str_n(r->comm, strnlen(r->comm, sizeof(r->comm)));
	struct process_texts texts;

	if (r->parts & REPORT_MAPS)
		r->gone = proc_maps_read(r->pid, r, add_mapping) != ERR_OK && !r->mappings.n;
	if (!comm.n)
		proc_comm_read(r->pid, r->comm);
	comm = str_n(r->comm, strnlen(r->comm, sizeof(r->comm)));
	if (!look_uid(&r->look, &r->uid))
		r->uid = REPORT_NOBODY;
	if (r->parts & REPORT_TEXTS)
		read_texts(r);
	texts = (struct process_texts){buf_view(&r->look.environment), buf_view(&r->look.cgroup)};
	if (r->parts & REPORT_FACTS &&
	    process_facts_read(r->pid, comm, program, r->parts & REPORT_TEXTS ? &texts : NULL,
			       &r->texts, &r->facts) != ERR_OK)
		r->facts = (struct process_facts){0};
}
