#include "agent/sideband_records.h"

#include <sys/mman.h>

/* Appended to every event by sample_id_all: pid, tid, time. */
struct id_trailer {
	u32 pid, tid;
	u64 time;
};

struct str sideband_plain_name(struct str name)
{
	if (str_ends(name, STR(" (deleted)")))
		name.n -= 10;
	return name;
}

/* A name that ends with a NUL, somewhere before `end`. */
static struct str name_of(const char *p, const char *end)
{
	return str_n(p, p < end ? strnlen(p, (size_t)(end - p)) : 0);
}

struct mmap2_body {
	u32 pid, tid;
	u64 address, length, offset;
	u32 major, minor;
	u64 inode, generation;
	u32 protection, flags;
};

static bool parse_map(const char *body, const char *end, struct sideband_event *e)
{
	struct mmap2_body m;

	if ((size_t)(end - body) < sizeof(m))
		return false;
	memcpy(&m, body, sizeof(m));
	if (!(m.protection & PROT_EXEC))
		return false;
	e->kind = SIDEBAND_MAP;
	e->pid = m.pid;
	e->tid = m.tid;
	e->start = m.address;
	e->end = m.address + m.length;
	e->file_offset = m.offset;
	e->device_major = m.major;
	e->device_minor = m.minor;
	e->inode = m.inode;
	e->name = sideband_plain_name(name_of(body + sizeof(m), end));
	return e->end > e->start;
}

/* FORK and EXIT: pid, parent, tid, parent's tid, time. */
static bool parse_task(const char *body, const char *end, struct sideband_event *e)
{
	u32 ids[4];

	if ((size_t)(end - body) < sizeof(ids))
		return false;
	memcpy(ids, body, sizeof(ids));
	e->pid = ids[0];
	e->parent = ids[1];
	e->tid = ids[2];
	/* A thread's beginning and end change nothing about where code lies. */
	return e->pid == e->tid;
}

static bool parse_comm(const char *body, const char *end, struct sideband_event *e)
{
	u32 ids[2];

	if ((size_t)(end - body) < sizeof(ids))
		return false;
	memcpy(ids, body, sizeof(ids));
	e->pid = ids[0];
	e->tid = ids[1];
	e->name = name_of(body + sizeof(ids), end);
	return true;
}

bool sideband_record_parse(const struct perf_event_header *h, struct sideband_event *e, u64 *lost)
{
	const char *body = (const char *)(h + 1), *end = (const char *)h + h->size;
	struct id_trailer trailer;

	if (h->type == PERF_RECORD_LOST) {
		u64 count = 0;

		if (end - body >= 16)
			memcpy(&count, body + 8, sizeof(count));
		*lost += count;
		return false;
	}
	if (end - body < (ptrdiff_t)sizeof(trailer))
		return false;
	end -= sizeof(trailer);
	memcpy(&trailer, end, sizeof(trailer));
	*e = (struct sideband_event){.time = trailer.time};
	switch (h->type) {
	case PERF_RECORD_MMAP2:
		return parse_map(body, end, e);
	case PERF_RECORD_FORK:
		e->kind = SIDEBAND_FORK;
		return parse_task(body, end, e);
	case PERF_RECORD_EXIT:
		e->kind = SIDEBAND_EXIT;
		return parse_task(body, end, e);
	case PERF_RECORD_COMM:
		e->kind = h->misc & PERF_RECORD_MISC_COMM_EXEC ? SIDEBAND_EXEC : SIDEBAND_COMM;
		/* The name of a thread is in its samples. */
		return parse_comm(body, end, e) && (e->kind == SIDEBAND_EXEC || e->pid == e->tid);
	default:
		return false;
	}
}

const struct perf_event_header *sideband_record_at(const char *data, size_t data_size, u64 at,
						   u64 head, struct buf *scratch)
{
	struct perf_event_header h;
	size_t offset = at % data_size, first;

	/* Records are multiples of 8 bytes, so a header never wraps. */
	memcpy(&h, data + offset, sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > head - at)
		return NULL;
	if (offset + h.size <= data_size)
		return (const void *)(data + offset);
	first = data_size - offset;
	buf_clear(scratch);
	buf_append(scratch, data + offset, first);
	buf_append(scratch, data, h.size - first);
	return buf_error(scratch) ? NULL : (const void *)scratch->data;
}
