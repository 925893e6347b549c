/*
 * Lines. A line program makes rows (address, file, line, column) in order of addresses, sequence by
 * sequence. Rows take much more room than the program, so they are not kept: one pass notes a place
 * to begin at every START_DISTANCE bytes of program and at every sequence, and a look-up runs the
 * machine from the place before its address.
 */
#include <stdlib.h>

#include "symbols/dwarf_reader.h"
#include "symbols/packed_section.h"

#define START_DISTANCE 1024
#define STARTS_MAX     (1u << 22)

struct machine {
	const struct line_index *l;
	struct byte_cursor c;
	uint64_t address;
	uint32_t file, line;
	uint16_t column;
	bool end; /* end of a sequence: its address is the first one after it */
};

static void machine_reset(struct machine *m)
{
	m->address = 0;
	m->file = m->line = 1;
	m->column = 0;
	m->end = false;
}

static void advance(struct machine *m, uint64_t operations)
{
	m->address += operations * m->l->minimum_length;
}

static bool extended(struct machine *m)
{
	uint64_t length = cursor_uleb(&m->c);
	struct byte_cursor arguments = m->c;

	cursor_skip(&m->c, length);
	if (m->c.bad || !length)
		return false;
	arguments.end = m->c.p;
	switch (cursor_u8(&arguments)) {
	case DW_LNE_end_sequence:
		m->end = true;
		return true;
	case DW_LNE_set_address:
		m->address = cursor_sized(&arguments, length - 1 > 8 ? 9 : (unsigned)length - 1);
		return false;
	default:
		return false;
	}
}

/* True when the opcode makes a row. */
static bool standard(struct machine *m, uint8_t opcode)
{
	uint64_t column;

	switch (opcode) {
	case DW_LNS_copy:
		return true;
	case DW_LNS_advance_pc:
		advance(m, cursor_uleb(&m->c));
		return false;
	case DW_LNS_advance_line:
		m->line += (uint32_t)cursor_sleb(&m->c);
		return false;
	case DW_LNS_set_file:
		m->file = (uint32_t)cursor_uleb(&m->c);
		return false;
	case DW_LNS_set_column:
		column = cursor_uleb(&m->c);
		m->column = column > UINT16_MAX ? 0 : (uint16_t)column;
		return false;
	case DW_LNS_const_add_pc:
		advance(m, (255u - m->l->opcode_base) / m->l->line_range);
		return false;
	case DW_LNS_fixed_advance_pc:
		m->address += cursor_u16(&m->c);
		return false;
	default: /* those that say nothing about lines, and those of later versions */
		for (unsigned i = m->l->operand_counts[opcode]; i; i--)
			cursor_skip_leb(&m->c);
		return false;
	}
}

/* Runs until the next row is made; false at the end of the program. */
static bool next_row(struct machine *m)
{
	if (m->end)
		machine_reset(m);
	while (cursor_left(&m->c)) {
		uint8_t opcode = *m->c.p++;
		bool row;

		if (opcode >= m->l->opcode_base) {
			unsigned adjusted = opcode - m->l->opcode_base;

			advance(m, adjusted / m->l->line_range);
			m->line += (uint32_t)(m->l->line_base + (int)(adjusted % m->l->line_range));
			return true;
		}
		row = opcode ? standard(m, opcode) : extended(m);
		if (row && !m->c.bad)
			return true;
	}
	return false;
}

static struct machine machine_at(const struct dwarf *d, const struct line_index *l, uint64_t offset)
{
	struct str program = str_n(d->s.line.p, (size_t)l->end);
	struct machine m = {.l = l, .c = cursor_at(program, l->program + offset)};

	machine_reset(&m);
	return m;
}

static enum err index_rows(const struct dwarf *d, struct line_index *l)
{
	struct machine m = machine_at(d, l, 0);
	const uint8_t *program = m.c.p, *last = m.c.p;
	struct line_start *open = NULL; /* of the sequence being read */
	bool dropped = false, begins = true;

	while (next_row(&m) && l->starts.n < STARTS_MAX) {
		if (begins)
			dropped = m.address <= 1 || m.address >= UINT64_MAX - 1;
		begins = m.end;
		if (dropped)
			continue;
		if (open)
			open->end = m.address;
		if (m.end) {
			open = NULL;
		} else if (!open || m.c.p - last >= START_DISTANCE) {
			struct line_start start = {
				m.address, m.address, (uint32_t)(m.c.p - program),
				m.file,	   m.line,    m.column};

			TRY(vec_push(&l->starts, start));
			open = &l->starts.v[l->starts.n - 1];
			last = m.c.p;
		}
	}
	return ERR_OK;
}

static int by_address(const void *pa, const void *pb)
{
	const struct line_start *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

size_t line_index_size(const struct line_index *l)
{
	return sizeof(*l) + l->starts.cap * sizeof(*l->starts.v) +
	       (l->directories.cap + l->files.cap) * sizeof(uint32_t);
}

void line_index_free(struct line_index *l)
{
	if (!l)
		return;
	vec_release(&l->starts);
	vec_release(&l->directories);
	vec_release(&l->files);
	mem_free(l);
}

/* The program begins with its length: 4 bytes, or 12. */
enum err dwarf_line_unpack(struct dwarf *d, const struct dwarf_unit *u)
{
	struct packed_section *packed = d->s.packed_line;
	struct byte_cursor c;
	uint64_t length;

	if (!packed || !u->has_line || u->line > d->s.line.n)
		return ERR_OK;
	TRY(packed_section_need(packed, u->line, u->line + 12));
	c = cursor_at(d->s.line, u->line);
	length = cursor_u32(&c);
	if (length == UINT32_MAX)
		length = cursor_u64(&c);
	if (length > d->s.line.n - u->line)
		return ERR_OK;
	return packed_section_need(packed, u->line, u->line + 12 + length);
}

enum err dwarf_line_index(struct dwarf *d, struct dwarf_unit *u)
{
	struct line_index *l;
	enum err error;
	bool ok = false;

	if (u->lines || !u->has_line)
		return ERR_OK;
	l = mem_zalloc(1, sizeof(*l));
	if (!l)
		return ERR_NO_MEMORY;
	error = line_header_read(d, u, l, &ok);
	if (!error && ok)
		error = index_rows(d, l);
	if (error) {
		line_index_free(l);
		return error;
	}
	if (l->starts.n)
		qsort(l->starts.v, l->starts.n, sizeof(*l->starts.v), by_address);
	u->has_line = ok;
	u->lines = l;
	d->memory += line_index_size(l);
	d->touched += l->end - l->program;
	return ERR_OK;
}

bool dwarf_line_find(const struct dwarf *d, const struct dwarf_unit *u, uint64_t address,
		     struct line_row *ret, struct raw_frames *validity)
{
	const struct line_index *l = u->lines;
	size_t low = 0, high = l ? l->starts.n : 0;
	const struct line_start *start;
	struct machine m;
	uint64_t from;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->starts.v[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	start = &l->starts.v[low - 1];
	if (address >= start->end)
		return false;
	m = machine_at(d, l, start->offset);
	m.address = from = start->address;
	m.file = start->file;
	m.line = start->line;
	m.column = start->column;
	do {
		*ret = (struct line_row){m.file, m.line, m.column};
		from = m.address;
	} while (next_row(&m) && m.address <= address && m.address >= from && !m.end);
	raw_frames_narrow(validity, address, from, m.address > from ? m.address : start->end);
	return true;
}
