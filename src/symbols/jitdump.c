/*
 * Jitdump, version 1, as the kernel's tools define it:
 *
 *	header	u32 magic "JiTD", version, size of the header, machine, 0, pid; u64 time, flags
 *	record	u32 kind, size of all of it; u64 time; then by kind
 *	load	u32 pid, tid; u64 vma, address, size, index; name\0; the code itself
 *	move	u32 pid, tid; u64 vma, old address, new address, size, index
 *	lines	u64 address, count; count times: u64 address; u32 line, discriminator; file\0
 *		(the lines of code that the next load record brings; "\xff\0" is the file before)
 *
 * The file grows while it is read: a record that is not complete is left for the next time.
 */
#include <errno.h>
#include <unistd.h>

#include "symbols/byte_cursor.h"
#include "symbols/jit_table.h"

#define DUMP_FILE_MAX ((uint64_t)8 << 30)
#define MAGIC	      0x4a695444u
#define PREFIX	      16
#define RECORD_READ   65536 /* limit of bytes parsed per record */

enum { RECORD_LOAD, RECORD_MOVE, RECORD_LINES };

struct dump {
	struct jit_symbols *j;
	int fd;
	char *buffer;
	uint64_t lines_for; /* the address the last lines were for */
	size_t lines_first; /* where they are; SIZE_MAX when they have been used */
};

static enum err read_some(const struct dump *d, uint64_t offset, size_t size, struct str *ret)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = pread(d->fd, d->buffer + have, size - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_from_errno(errno);
		if (!got)
			break;
		have += (size_t)got;
	}
	*ret = str_n(d->buffer, have);
	return ERR_OK;
}

static enum err read_load(struct dump *d, struct byte_cursor c)
{
	uint64_t address, size;
	size_t first = d->j->lines.n;
	struct str name;

	cursor_skip(&c, 16); /* pid, tid, vma */
	address = cursor_u64(&c);
	size = cursor_u64(&c);
	cursor_skip(&c, 8);
	name = cursor_text(&c);
	if (c.bad)
		return ERR_OK;
	if (d->lines_first != SIZE_MAX && d->lines_for == address)
		first = d->lines_first;
	d->lines_first = SIZE_MAX;
	return jit_table_add(d->j, address, size, name, first);
}

static enum err read_move(struct dump *d, struct byte_cursor c)
{
	uint64_t from, to, size;

	cursor_skip(&c, 16);
	from = cursor_u64(&c);
	to = cursor_u64(&c);
	size = cursor_u64(&c);
	return c.bad ? ERR_OK : jit_table_move(d->j, from, to, size);
}

static enum err read_debug_lines(struct dump *d, struct byte_cursor c)
{
	uint64_t start = cursor_u64(&c), count = cursor_u64(&c);
	uint32_t file = 0;

	d->lines_for = start;
	d->lines_first = d->j->lines.n;
	for (uint64_t i = 0; i < count && !c.bad; i++) {
		uint64_t address = cursor_u64(&c);
		uint32_t line = cursor_u32(&c);
		struct str name;

		cursor_skip(&c, 4);
		name = cursor_text(&c);
		if (c.bad || address < start || address - start > UINT32_MAX)
			continue;
		if (!str_eq(name, STR("\xff")))
			TRY(name_pool_add(&d->j->names, name, &file));
		struct jit_line one = {(uint32_t)(address - start), line, file};

		TRY(vec_push(&d->j->lines, one));
	}
	return ERR_OK;
}

/* One record; *ret_size is 0 when it is not complete yet. */
static enum err read_record(struct dump *d, uint64_t offset, uint64_t file_size, uint64_t *ret_size)
{
	struct str bytes;
	struct byte_cursor c;
	uint32_t kind, size;

	*ret_size = 0;
	TRY(read_some(d, offset, PREFIX, &bytes));
	c = cursor_over(bytes);
	kind = cursor_u32(&c);
	size = cursor_u32(&c);
	if (bytes.n < PREFIX || size > file_size - offset)
		return ERR_OK;
	if (size < PREFIX)
		return ERR_CORRUPT;
	*ret_size = size;
	if (kind > RECORD_LINES)
		return ERR_OK;
	TRY(read_some(d, offset + PREFIX, size - PREFIX < RECORD_READ ? size - PREFIX : RECORD_READ,
		      &bytes));
	c = cursor_over(bytes);
	switch (kind) {
	case RECORD_LOAD:
		return read_load(d, c);
	case RECORD_MOVE:
		return read_move(d, c);
	default:
		return read_debug_lines(d, c);
	}
}

static enum err read_header(struct dump *d, uint64_t *ret_size)
{
	struct byte_cursor c;
	struct str bytes;

	*ret_size = 0;
	TRY(read_some(d, 0, 40, &bytes));
	c = cursor_over(bytes);
	if (bytes.n < 40)
		return ERR_OK; /* just begun */
	if (cursor_u32(&c) != MAGIC || cursor_u32(&c) != 1)
		return ERR_UNKNOWN_FORMAT;
	*ret_size = cursor_u32(&c);
	return *ret_size < 40 ? ERR_CORRUPT : ERR_OK;
}

static enum err read_records(struct dump *d)
{
	uint64_t size = 1;
	struct stat st;

	if (fstat(d->fd, &st))
		return err_from_errno(errno);
	if (!d->j->dump.offset)
		TRY(read_header(d, &d->j->dump.offset));
	while (d->j->dump.offset && size && d->j->dump.offset < (uint64_t)st.st_size) {
		TRY(read_record(d, d->j->dump.offset, (uint64_t)st.st_size, &size));
		d->j->dump.offset += size;
	}
	return ERR_OK;
}

enum err jit_symbols_read_dump_fd(struct jit_symbols *j, int fd)
{
	struct dump d = {.j = j, .fd = fd, .lines_first = SIZE_MAX};
	enum err error, order;

	TRY(jit_progress_check(&j->dump, fd, DUMP_FILE_MAX));
	d.buffer = mem_alloc(RECORD_READ);
	if (!d.buffer)
		return ERR_NO_MEMORY;
	error = read_records(&d);
	mem_free(d.buffer);
	order = address_ranges_flatten(&j->ranges);
	return error ? error : order;
}
