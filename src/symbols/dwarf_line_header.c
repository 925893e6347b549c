#include "symbols/dwarf_reader.h"

#define NAMES_MAX (1u << 20)

static uint32_t offset_in_table(const struct dwarf *d, const struct dwarf_unit *u,
				const struct byte_cursor *c)
{
	return (uint32_t)((uint64_t)(c->p - (const uint8_t *)d->s.line.p) - u->line);
}

/* Sizes of forms depend on the table's own head, not on the unit's. */
static struct dwarf_unit sizes_of(const struct line_index *l)
{
	return (struct dwarf_unit){.version = l->version,
				   .address_size = l->address_size,
				   .offset_size = l->offset_size};
}

/* Up to version 4: directories from 1, then files from 1, each list ended by an empty name. */
static enum err read_old_names(const struct dwarf *d, const struct dwarf_unit *u,
			       struct byte_cursor *c, struct line_index *l)
{
	TRY(vec_push(&l->directories, 0u));
	TRY(vec_push(&l->files, 0u));
	while (!c->bad && l->directories.n < NAMES_MAX) {
		uint32_t at = offset_in_table(d, u, c);

		if (!cursor_text(c).n)
			break;
		TRY(vec_push(&l->directories, at));
	}
	while (!c->bad && l->files.n < NAMES_MAX) {
		uint32_t at = offset_in_table(d, u, c);

		if (!cursor_text(c).n)
			break;
		for (int i = 0; i < 3; i++)
			cursor_skip_leb(c);
		TRY(vec_push(&l->files, at));
	}
	return ERR_OK;
}

struct name_entry {
	struct str path;
	uint64_t directory;
};

/* One entry of version 5, as its description says. */
static struct name_entry read_entry(const struct dwarf *d, const struct line_index *l,
				    uint64_t formats, struct byte_cursor *c)
{
	struct byte_cursor f = cursor_at(d->s.line, formats);
	unsigned count = cursor_u8(&f);
	struct dwarf_unit sizes = sizes_of(l);
	struct name_entry e = {{"", 0}, 0};

	for (unsigned i = 0; i < count && !f.bad && !c->bad; i++) {
		uint64_t content = cursor_uleb(&f), form = cursor_uleb(&f);
		struct dwarf_attr attr = {.form = form <= DW_FORM_addrx4 ? (uint8_t)form : 0};
		struct dwarf_abbrev one = {.count = 1};
		struct dwarf_abbrevs table = {.attrs = {&attr, 1, 1}};
		struct dwarf_entry value;

		if (!attr.form || form == DW_FORM_implicit_const) {
			cursor_fail(c);
			break;
		}
		attr.name = DW_AT_name;
		attr.size = dwarf_form_size(attr.form, &sizes);
		dwarf_read_attrs(c, &table, &one, &sizes, &value);
		if (content == DW_LNCT_path)
			e.path = dwarf_string(d, &sizes, &value.name);
		else if (content == DW_LNCT_directory_index)
			e.directory = value.name.number;
	}
	return e;
}

static void skip_formats(struct byte_cursor *c)
{
	for (unsigned i = cursor_u8(c) * 2; i && !c->bad; i--)
		cursor_skip_leb(c);
}

/* A list of version 5: how its entries are made, how many there are, the entries. */
static enum err read_list(const struct dwarf *d, const struct dwarf_unit *u, struct byte_cursor *c,
			  const struct line_index *l, uint64_t *ret_formats, struct line_names *ret)
{
	uint64_t count;

	*ret_formats = (uint64_t)(c->p - (const uint8_t *)d->s.line.p);
	skip_formats(c);
	count = cursor_uleb(c);
	for (uint64_t i = 0; i < count && i < NAMES_MAX && cursor_left(c); i++) {
		const uint8_t *before = c->p;

		TRY(vec_push(ret, offset_in_table(d, u, c)));
		(void)read_entry(d, l, *ret_formats, c);
		if (c->p == before)
			break; /* entries of nothing, a billion of them perhaps */
	}
	return ERR_OK;
}

static enum err read_new_names(const struct dwarf *d, const struct dwarf_unit *u,
			       struct byte_cursor *c, struct line_index *l)
{
	TRY(read_list(d, u, c, l, &l->directory_formats, &l->directories));
	return read_list(d, u, c, l, &l->file_formats, &l->files);
}

/* The fixed part, up to the names; false when it cannot be read. */
static bool read_fixed(const struct dwarf *d, const struct dwarf_unit *u, struct byte_cursor *c,
		       struct line_index *l)
{
	uint64_t length = cursor_u32(c), head;

	l->offset_size = 4;
	if (length == UINT32_MAX) {
		length = cursor_u64(c);
		l->offset_size = 8;
	}
	if (c->bad || length > cursor_left(c) || length > UINT32_MAX / 2)
		return false;
	l->end = (uint64_t)(c->p - (const uint8_t *)d->s.line.p) + length;
	c->end = c->p + length;
	l->version = cursor_u16(c);
	l->address_size = u->address_size;
	if (l->version >= 5) {
		l->address_size = cursor_u8(c);
		cursor_skip(c, 1);
	}
	head = cursor_sized(c, l->offset_size);
	if (c->bad || head > cursor_left(c) || l->version < 2 || l->version > 5 ||
	    (l->address_size != 4 && l->address_size != 8))
		return false;
	l->program = (uint64_t)(c->p - (const uint8_t *)d->s.line.p) + head;
	c->end = c->p + head;
	l->minimum_length = cursor_u8(c);
	cursor_skip(c, l->version >= 4 ? 2 : 1); /* operations per instruction, default_is_stmt */
	l->line_base = (int8_t)cursor_u8(c);
	l->line_range = cursor_u8(c);
	l->opcode_base = cursor_u8(c);
	for (unsigned i = 1; i < l->opcode_base; i++)
		l->operand_counts[i] = cursor_u8(c);
	return !c->bad && l->line_range && l->opcode_base;
}

enum err line_header_read(const struct dwarf *d, const struct dwarf_unit *u, struct line_index *ret,
			  bool *ret_ok)
{
	struct byte_cursor c = cursor_at(d->s.line, u->line);

	*ret_ok = read_fixed(d, u, &c, ret);
	if (!*ret_ok)
		return ERR_OK;
	return ret->version >= 5 ? read_new_names(d, u, &c, ret) : read_old_names(d, u, &c, ret);
}

static struct str directory_path(const struct dwarf *d, const struct dwarf_unit *u, uint64_t index)
{
	const struct line_index *l = u->lines;
	struct byte_cursor c;

	if (index >= l->directories.n || (l->version < 5 && !index))
		return (struct str){"", 0};
	c = cursor_at(d->s.line, u->line + l->directories.v[index]);
	return l->version >= 5 ? read_entry(d, l, l->directory_formats, &c).path : cursor_text(&c);
}

void dwarf_line_path(const struct dwarf *d, const struct dwarf_unit *u, uint64_t file,
		     struct raw_frame *ret)
{
	const struct line_index *l = u->lines;
	struct name_entry e = {{"", 0}, 0};
	struct byte_cursor c;

	ret->top_directory = ret->directory = ret->file = (struct str){"", 0};
	if (!l || file >= l->files.n || (l->version < 5 && !file))
		return;
	c = cursor_at(d->s.line, u->line + l->files.v[file]);
	if (l->version >= 5) {
		e = read_entry(d, l, l->file_formats, &c);
	} else {
		e.path = cursor_text(&c);
		e.directory = cursor_uleb(&c);
	}
	ret->file = e.path;
	ret->directory = directory_path(d, u, e.directory);
	ret->top_directory = u->directory;
}
