/*
 *	header	   magic, quantum, word, counts, offsets of the parts below
 *	names	   NUL-terminated, by offset
 *	units	   u32 by (unit of a function + number of a file): offset in files
 *	files	   NUL-terminated
 *	programs   per table pairs of varints: change of value (zigzag), distance to where it ends
 *	functions  (entry, offset) by entry, then at the offset: entry, name, programs …
 */
#include "symbols/go_table.h"

#include "symbols/byte_cursor.h"

enum {
	MAGIC_116 = 0xfffffffa,
	MAGIC_118 = 0xfffffff0,
	MAGIC_120 = 0xfffffff1,
	PROGRAM_INLINED = 2, /* the function's pc-table of inlined calls */
	DATA_INLINED = 3,    /* which of its data is the tree of inlined calls */
};

static uint64_t word(struct byte_cursor *c, const struct go_table *t)
{
	return cursor_sized(c, t->word);
}

static struct str part(struct str table, uint64_t offset)
{
	return offset < table.n ? str_skip(table, (size_t)offset) : (struct str){"", 0};
}

/* A pointer in the program's data: position-independent programs keep it in a relocation. */
static bool pointer_at(const struct elf_image *e, uint64_t address, uint64_t *ret)
{
	struct byte_cursor c;

	vec_for_each (s, &e->sections) {
		if (s->type != SHT_RELA || !e->is64)
			continue;
		c = cursor_over(elf_section_raw(e, s));
		while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
			uint64_t place = cursor_u64(&c);

			cursor_skip(&c, 8);
			*ret = cursor_u64(&c);
			if (place == address)
				return true;
		}
	}
	c = cursor_over(elf_bytes_at(e, address));
	*ret = cursor_sized(&c, e->is64 ? 8 : 4);
	return !c.bad;
}

#define TRIES_MAX 32 /* places that look like the description but are not */

/* Is this the runtime's description of the module? It begins with pointers into the table. */
static bool is_module(const struct elf_image *e, uint64_t at, uint64_t table, uint64_t names_offset)
{
	uint64_t header, names;

	return pointer_at(e, at, &header) && header == table && pointer_at(e, at + 8, &names) &&
	       names == table + names_offset;
}

static bool find_module(const struct elf_image *e, uint64_t table, uint64_t names_offset,
			uint64_t *ret)
{
	int tries = 0;

	vec_for_each (s, &e->sections) {
		struct byte_cursor c = cursor_over(elf_section_raw(e, s));
		bool data = s->type == SHT_PROGBITS &&
			    (s->flags & (SHF_ALLOC | SHF_WRITE)) == (SHF_ALLOC | SHF_WRITE);

		while (s->type == SHT_RELA && cursor_left(&c) >= sizeof(Elf64_Rela)) {
			*ret = cursor_u64(&c);
			cursor_skip(&c, 8);
			if (cursor_u64(&c) == table && tries++ < TRIES_MAX &&
			    is_module(e, *ret, table, names_offset))
				return true;
		}
		for (uint64_t at = s->address; data && cursor_left(&c) >= 8; at += 8) {
			*ret = at;
			if (cursor_u64(&c) == table && tries++ < TRIES_MAX &&
			    is_module(e, at, table, names_offset))
				return true;
		}
	}
	return false;
}

/* Addresses that are not in the table: start of the code, and of function data. */
static void read_module(struct go_table *t, uint64_t table, uint64_t names_offset)
{
	const struct elf_section *text = elf_section_named(t->image, ".text");
	uint64_t at, value;

	if (!t->text && text)
		t->text = text->address;
	if (t->version < 118 || !t->image->is64 || !find_module(t->image, table, names_offset, &at))
		return;
	if (pointer_at(t->image, at + 176, &value))
		t->text = value;
	if (pointer_at(t->image, at + (t->version >= 120 ? 320 : 304), &value))
		t->function_data = value;
}

void go_table_read(struct go_table *t, const struct elf_image *image, struct str table,
		   uint64_t address)
{
	struct byte_cursor c = cursor_over(table);
	uint32_t magic = cursor_u32(&c);
	uint64_t names;

	*t = (struct go_table){.image = image};
	cursor_skip(&c, 2);
	t->quantum = cursor_u8(&c);
	t->word = cursor_u8(&c);
	if (c.bad || (t->word != 4 && t->word != 8) || !t->quantum || t->quantum > 4)
		return;
	t->count = word(&c, t);
	(void)word(&c, t);
	if (magic != MAGIC_116)
		t->text = word(&c, t);
	names = word(&c, t);
	t->names = part(table, names);
	t->units = part(table, word(&c, t));
	t->files = part(table, word(&c, t));
	t->programs = part(table, word(&c, t));
	t->functions = part(table, word(&c, t));
	if (c.bad || t->count > t->functions.n / 8)
		return;
	t->version = magic == MAGIC_120	  ? 120
		     : magic == MAGIC_118 ? 118
		     : magic == MAGIC_116 ? 116
					  : 0;
	if (t->version)
		read_module(t, address, names);
}

void go_table_init(struct go_table *t, const struct elf_image *image)
{
	const struct elf_section *s = elf_section_named(image, ".gopclntab");

	if (!s)
		s = elf_section_named(image, ".data.rel.ro.gopclntab");
	*t = (struct go_table){.image = image};
	if (s)
		go_table_read(t, image, elf_section_raw(image, s), s->address);
}

struct go_function {
	uint64_t start, end;
	uint32_t name, file_program, line_program, program_count, data_count, unit, start_line;
	struct byte_cursor rest; /* u32 per program, then per data */
};

/* Entry i of the list of functions; the search needs only its address. */
static uint64_t entry_address(const struct go_table *t, uint64_t i, uint64_t *ret_offset)
{
	unsigned size = t->version >= 118 ? 4 : t->word;
	struct byte_cursor c = cursor_at(t->functions, i * 2 * size);
	uint64_t address = cursor_sized(&c, size);

	if (ret_offset)
		*ret_offset = cursor_sized(&c, size);
	return t->version >= 118 ? t->text + address : address;
}

static bool find_function(const struct go_table *t, uint64_t address, struct go_function *f)
{
	uint64_t low = 0, high = t->count, offset;
	struct byte_cursor c;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (entry_address(t, middle, NULL) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	f->start = entry_address(t, low - 1, &offset);
	f->end = entry_address(t, low, NULL);
	if (address < f->start || address >= f->end)
		return false;
	c = cursor_at(t->functions, offset);
	cursor_skip(&c, t->version >= 118 ? 4 : t->word);
	f->name = cursor_u32(&c);
	cursor_skip(&c, 12); /* arguments, deferreturn, stack program */
	f->file_program = cursor_u32(&c);
	f->line_program = cursor_u32(&c);
	f->program_count = cursor_u32(&c);
	f->unit = cursor_u32(&c);
	f->start_line = t->version >= 120 ? cursor_u32(&c) : 0;
	cursor_skip(&c, 3);
	f->data_count = cursor_u8(&c);
	f->rest = c;
	return !c.bad;
}

/* The value of a program at an address, -1 when there is none. */
static int32_t program_value(const struct go_table *t, const struct go_function *f, uint32_t offset,
			     uint64_t address, struct raw_frames *validity)
{
	struct byte_cursor c = cursor_at(t->programs, offset);
	uint64_t at = f->start, from;
	uint32_t value = UINT32_MAX;

	if (!offset)
		return -1;
	for (bool first = true; !c.bad; first = false) {
		uint32_t change = (uint32_t)cursor_uleb(&c);

		if (!change && !first)
			break;
		value += -(change & 1) ^ change >> 1;
		from = at;
		at += (uint32_t)cursor_uleb(&c) * (uint64_t)t->quantum;
		if (c.bad || at < from)
			break;
		if (address < at) {
			if (validity)
				raw_frames_narrow(validity, address, from, at);
			return (int32_t)value;
		}
	}
	return -1;
}

static uint32_t rest_u32(const struct go_function *f, uint64_t i)
{
	struct byte_cursor c = f->rest;

	cursor_skip(&c, i * 4);
	return cursor_u32(&c);
}

struct inlined_call {
	uint32_t name, start_line;
	int32_t parent; /* where the call stands, relative to the function */
};

static int32_t inlined_index(const struct go_table *t, const struct go_function *f,
			     uint64_t address, struct raw_frames *validity)
{
	if (!t->function_data || f->program_count <= PROGRAM_INLINED ||
	    f->data_count <= DATA_INLINED)
		return -1;
	return program_value(t, f, rest_u32(f, PROGRAM_INLINED), address, validity);
}

static bool inlined_call(const struct go_table *t, const struct go_function *f, int32_t index,
			 struct inlined_call *ret)
{
	uint32_t data = rest_u32(f, (uint64_t)f->program_count + DATA_INLINED);
	unsigned size = t->version >= 120 ? 16 : 20;
	struct byte_cursor c;

	if (index < 0 || data == UINT32_MAX)
		return false;
	c = cursor_at(elf_bytes_at(t->image, t->function_data + data), (uint64_t)index * size);
	cursor_skip(&c, t->version >= 120 ? 4 : 12);
	ret->name = cursor_u32(&c);
	ret->parent = (int32_t)cursor_u32(&c);
	ret->start_line = t->version >= 120 ? cursor_u32(&c) : 0;
	return !c.bad && ret->parent >= 0;
}

static void place(const struct go_table *t, const struct go_function *f, uint64_t address,
		  struct raw_frames *validity, struct raw_frame *ret)
{
	int32_t file = program_value(t, f, f->file_program, address, validity);
	int32_t line = program_value(t, f, f->line_program, address, validity);
	struct byte_cursor c = cursor_at(t->units, ((uint64_t)f->unit + (uint32_t)file) * 4);
	uint32_t offset = cursor_u32(&c);

	if (file < 0 || line < 0 || c.bad || offset == UINT32_MAX)
		return;
	ret->file = text_at(t->files, offset);
	ret->line = (uint32_t)line;
}

void go_table_lookup(const struct go_table *t, uint64_t address, struct raw_frames *ret)
{
	struct raw_frames *validity = ret;
	struct go_function f;
	struct inlined_call call = {0};

	ret->n = 0;
	ret->start = 0;
	ret->end = UINT64_MAX;
	if (!t->version || !find_function(t, address, &f))
		return;
	raw_frames_narrow(ret, address, f.start, f.end);
	while (ret->n < SYMBOL_FRAMES_MAX) {
		struct raw_frame *frame = &ret->v[ret->n++];
		int32_t index = inlined_index(t, &f, address, validity);

		*frame = (struct raw_frame){.inlined = inlined_call(t, &f, index, &call)};
		place(t, &f, address, validity, frame);
		frame->name = text_at(t->names, frame->inlined ? call.name : f.name);
		frame->start_line = frame->inlined ? call.start_line : f.start_line;
		if (!frame->inlined)
			break;
		/* Outer frames do not narrow: their places are the same for the whole call. */
		validity = NULL;
		address = f.start + (uint32_t)call.parent;
	}
}
