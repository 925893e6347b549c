#include "symbols/elf_image.h"

#include "symbols/byte_cursor.h"

#define SECTIONS_MAX 65536
#define SEGMENTS_MAX 4096

struct header {
	uint64_t segments_at, sections_at;
	uint16_t segment_size, segment_count, section_size, names;
	uint32_t section_count;
};

static uint64_t word(struct byte_cursor *c, const struct elf_image *e)
{
	return e->is64 ? cursor_u64(c) : cursor_u32(c);
}

static enum err read_header(struct elf_image *e, struct header *h)
{
	struct byte_cursor c = cursor_over(e->bytes);
	struct str ident = cursor_bytes(&c, EI_NIDENT);

	if (c.bad || memcmp(ident.p, ELFMAG, SELFMAG) != 0)
		return ERR_UNKNOWN_FORMAT;
	if ((ident.p[EI_CLASS] != ELFCLASS64 && ident.p[EI_CLASS] != ELFCLASS32) ||
	    ident.p[EI_DATA] != ELFDATA2LSB)
		return ERR_UNSUPPORTED;
	e->is64 = ident.p[EI_CLASS] == ELFCLASS64;
	e->type = cursor_u16(&c);
	e->machine = cursor_u16(&c);
	cursor_skip(&c, 4);
	(void)word(&c, e); /* entry */
	h->segments_at = word(&c, e);
	h->sections_at = word(&c, e);
	cursor_skip(&c, 6);
	h->segment_size = cursor_u16(&c);
	h->segment_count = cursor_u16(&c);
	h->section_size = cursor_u16(&c);
	h->section_count = cursor_u16(&c);
	h->names = cursor_u16(&c);
	return c.bad ? ERR_TRUNCATED : ERR_OK;
}

static struct elf_section read_section(struct elf_image *e, struct byte_cursor c,
				       uint32_t *ret_name)
{
	struct elf_section s = {0};

	*ret_name = cursor_u32(&c);
	s.type = cursor_u32(&c);
	s.flags = word(&c, e);
	s.address = word(&c, e);
	s.offset = word(&c, e);
	s.size = word(&c, e);
	s.link = cursor_u32(&c);
	s.info = cursor_u32(&c);
	return s;
}

static enum err read_sections(struct elf_image *e, const struct header *h)
{
	uint32_t name, count = h->section_count, names = h->names;
	struct str strings = {"", 0};

	if (!h->sections_at || h->section_size < (e->is64 ? 64 : 40))
		return ERR_OK;
	/* Section 0 holds what does not fit into the header. */
	struct elf_section first = read_section(e, cursor_at(e->bytes, h->sections_at), &name);
	if (!count)
		count = first.size > SECTIONS_MAX ? SECTIONS_MAX + 1 : (uint32_t)first.size;
	if (names == SHN_XINDEX)
		names = first.link;
	if (count > SECTIONS_MAX)
		return ERR_TOO_LARGE;
	for (uint32_t i = 0; i < count; i++) {
		struct byte_cursor c =
			cursor_at(e->bytes, h->sections_at + (uint64_t)i * h->section_size);

		if (c.bad || cursor_left(&c) < h->section_size)
			break; /* a file cut short: what is there is used */
		struct elf_section s = read_section(e, c, &name);
		s.name = (struct str){NULL, name};
		TRY(vec_push(&e->sections, s));
	}
	if (names < e->sections.n)
		strings = elf_section_raw(e, &e->sections.v[names]);
	vec_for_each (s, &e->sections)
		s->name = text_at(strings, s->name.n);
	return ERR_OK;
}

static enum err read_segments(struct elf_image *e, const struct header *h)
{
	uint32_t count = h->segment_count;

	if (!h->segments_at || h->segment_size < (e->is64 ? 56 : 32))
		return ERR_OK;
	if (count == PN_XNUM && e->sections.n)
		count = e->sections.v[0].info;
	if (count > SEGMENTS_MAX)
		return ERR_TOO_LARGE;
	for (uint32_t i = 0; i < count; i++) {
		struct byte_cursor c =
			cursor_at(e->bytes, h->segments_at + (uint64_t)i * h->segment_size);
		struct elf_segment s = {.type = cursor_u32(&c)};

		if (e->is64)
			s.flags = cursor_u32(&c);
		s.offset = word(&c, e);
		s.vaddr = word(&c, e);
		(void)word(&c, e);
		s.file_size = word(&c, e);
		s.memory_size = word(&c, e);
		if (!e->is64)
			s.flags = cursor_u32(&c);
		if (c.bad)
			break;
		TRY(vec_push(&e->segments, s));
	}
	return ERR_OK;
}

static void read_notes(struct elf_image *e, struct str notes)
{
	struct byte_cursor c = cursor_over(notes);

	while (cursor_left(&c) >= 12) {
		uint32_t name_size = cursor_u32(&c), size = cursor_u32(&c), type = cursor_u32(&c);
		struct str name = cursor_bytes(&c, name_size), value;

		cursor_skip(&c, -name_size & 3);
		value = cursor_bytes(&c, size);
		if (c.bad)
			return;
		if (type == NT_GNU_BUILD_ID && str_eq(name, str_n("GNU", 4)) && size)
			e->build_id = value;
		else if (type == 4 && str_eq(name, str_n("Go\0", 4)) && size)
			e->go_build_id = value;
		if (cursor_left(&c) >= (-size & 3))
			cursor_skip(&c, -size & 3);
	}
}

static struct str inside(const struct elf_image *e, uint64_t offset, uint64_t size)
{
	if (offset > e->bytes.n || size > e->bytes.n - offset)
		return (struct str){"", 0};
	return str_n(e->bytes.p + offset, (size_t)size);
}

enum err elf_image_init(struct elf_image *e, struct str bytes)
{
	struct header h;

	*e = (struct elf_image){.bytes = bytes};
	TRY(read_header(e, &h));
	enum err error = read_sections(e, &h);
	if (!error)
		error = read_segments(e, &h);
	if (error) {
		elf_image_release(e);
		return error;
	}
	vec_for_each (s, &e->sections)
		if (s->type == SHT_NOTE)
			read_notes(e, elf_section_raw(e, s));
	if (!e->build_id.n)
		vec_for_each (s, &e->segments)
			if (s->type == PT_NOTE)
				read_notes(e, inside(e, s->offset, s->file_size));
	return ERR_OK;
}

void elf_image_release(struct elf_image *e)
{
	vec_release(&e->sections);
	vec_release(&e->segments);
}

const struct elf_section *elf_section_named(const struct elf_image *e, const char *name)
{
	vec_for_each (s, &e->sections)
		if (str_eq(s->name, str_of(name)))
			return s;
	return NULL;
}

const struct elf_section *elf_section_of_type(const struct elf_image *e, uint32_t type)
{
	vec_for_each (s, &e->sections)
		if (s->type == type)
			return s;
	return NULL;
}

const struct elf_section *elf_section_at(const struct elf_image *e, uint64_t vaddr, uint64_t flags)
{
	vec_for_each (s, &e->sections) {
		if ((s->flags & flags) == flags && vaddr >= s->address &&
		    vaddr - s->address < s->size)
			return s;
	}
	return NULL;
}

struct str elf_section_raw(const struct elf_image *e, const struct elf_section *s)
{
	if (s->type == SHT_NOBITS)
		return (struct str){"", 0};
	return inside(e, s->offset, s->size);
}

struct str elf_bytes_at(const struct elf_image *e, uint64_t vaddr)
{
	vec_for_each (s, &e->segments) {
		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size) {
			struct str bytes = inside(e, s->offset, s->file_size);

			return str_skip(bytes, (size_t)(vaddr - s->vaddr));
		}
	}
	return (struct str){"", 0};
}

size_t elf_symbol_count(const struct elf_image *e, const struct elf_section *s)
{
	return elf_section_raw(e, s).n / (e->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
}

static struct elf_symbol symbol_32(struct byte_cursor c)
{
	struct elf_symbol symbol = {.name = cursor_u32(&c)};
	uint8_t info;

	symbol.value = cursor_u32(&c);
	symbol.size = cursor_u32(&c);
	info = cursor_u8(&c);
	cursor_skip(&c, 1);
	symbol.section = cursor_u16(&c);
	symbol.type = ELF32_ST_TYPE(info);
	symbol.bind = ELF32_ST_BIND(info);
	return symbol;
}

struct elf_symbol elf_symbol_at(const struct elf_image *e, const struct elf_section *s, size_t i)
{
	struct str table = elf_section_raw(e, s);
	Elf64_Sym raw = {0};

	if (!e->is64)
		return symbol_32(cursor_at(table, i * sizeof(Elf32_Sym)));
	if (i < table.n / sizeof(raw))
		memcpy(&raw, table.p + i * sizeof(raw), sizeof(raw));
	return (struct elf_symbol){.name = raw.st_name,
				   .section = raw.st_shndx,
				   .value = raw.st_value,
				   .size = raw.st_size,
				   .type = ELF64_ST_TYPE(raw.st_info),
				   .bind = ELF64_ST_BIND(raw.st_info)};
}

struct str elf_symbol_strings(const struct elf_image *e, const struct elf_section *s)
{
	if (s->link >= e->sections.n)
		return (struct str){"", 0};
	return elf_section_raw(e, &e->sections.v[s->link]);
}

bool elf_has_code(const struct elf_image *e)
{
	vec_for_each (s, &e->sections)
		if ((s->flags & SHF_EXECINSTR) && s->type != SHT_NOBITS && s->size)
			return true;
	if (e->sections.n > 1)
		return false;
	vec_for_each (s, &e->segments)
		if (s->type == PT_LOAD && (s->flags & PF_X) && s->file_size)
			return true;
	return false;
}

bool elf_is_code(const struct elf_image *e, uint64_t vaddr)
{
	vec_for_each (s, &e->segments) {
		if (s->type == PT_LOAD && (s->flags & PF_X) && vaddr >= s->vaddr &&
		    vaddr - s->vaddr < s->memory_size)
			return true;
	}
	return false;
}

bool elf_offset_to_vaddr(const struct elf_image *e, uint64_t offset, uint64_t *ret)
{
	const struct elf_segment *found = NULL;

	/* Pages at the border of two segments are mapped twice: prefer code. */
	vec_for_each (s, &e->segments) {
		if (s->type == PT_LOAD && offset >= s->offset &&
		    offset - s->offset < s->file_size && (!found || (s->flags & PF_X)))
			found = s;
	}
	if (!found)
		return false;
	*ret = found->vaddr + (offset - found->offset);
	return true;
}

bool elf_vaddr_to_offset(const struct elf_image *e, uint64_t vaddr, uint64_t *ret)
{
	vec_for_each (s, &e->segments) {
		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size) {
			*ret = s->offset + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}
