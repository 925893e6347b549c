#include "symbols/elf_source.h"

#include "symbols/packed_section.h"

enum err elf_source_open(struct elf_source *s, int fd, const char *path, struct fault *fault)
{
	enum err error;

	*s = (struct elf_source){.file.slot = -1};
	TRY(mapped_file_init(&s->file, fd, path, ELF_FILE_MAX, fault));
	error = elf_image_init(&s->image, s->file.bytes);
	if (error) {
		mapped_file_release(&s->file);
		return fault_set(fault, error, "%s: not an ELF file that can be read: %s", path,
				 err_text(error));
	}
	s->open = true;
	return ERR_OK;
}

enum err elf_source_open_memory(struct elf_source *s, void *memory, size_t size)
{
	enum err error;

	*s = (struct elf_source){.file.slot = -1};
	error = elf_image_init(&s->image, str_n(memory, size));
	if (error) {
		mem_free(memory);
		return error;
	}
	s->memory = memory;
	s->open = true;
	return ERR_OK;
}

void elf_source_close(struct elf_source *s)
{
	if (!s->open)
		return;
	dwarf_free(s->dwarf);
	for (size_t i = 0; i < DWARF_SECTIONS; i++) {
		mem_free(s->sections[i]);
		packed_section_free(s->packed[i]);
	}
	elf_image_release(&s->image);
	mapped_file_release(&s->file);
	mem_free(s->memory);
	*s = (struct elf_source){.file.slot = -1};
}

/* Debug sections are called .debug_x, or .zdebug_x by older tools that compressed them. */
static const struct elf_section *debug_section(const struct elf_image *e, const char *name)
{
	vec_for_each (s, &e->sections) {
		struct str rest = s->name;

		if (s->type == SHT_NOBITS)
			continue;
		if (str_starts(rest, STR(".debug_")))
			rest = str_skip(rest, 7);
		else if (str_starts(rest, STR(".zdebug_")))
			rest = str_skip(rest, 8);
		else
			continue;
		if (str_eq(rest, str_of(name)))
			return s;
	}
	return NULL;
}

bool elf_source_has_dwarf(const struct elf_source *s)
{
	return s->open && debug_section(&s->image, "info");
}

/* Index below: up to here sections are decompressed on demand; not strings, which are referred to
 * from everywhere. */
#define LAST_IN_PIECES 2

/* Loads one section, on demand if possible; leaves it empty if it cannot be read. */
static enum err read_section(struct elf_source *s, const char *name, uint64_t room, struct str *ret,
			     void **ret_owned, struct packed_section **ret_packed)
{
	const struct elf_section *section = debug_section(&s->image, name);
	enum err error = ERR_UNSUPPORTED;

	*ret = (struct str){"", 0};
	*ret_owned = NULL;
	if (!section)
		return ERR_OK;
	if (ret_packed)
		error = elf_section_load_pieces(&s->image, section, room, ret_packed);
	if (!error)
		*ret = packed_section_bytes(*ret_packed);
	else if (error != ERR_NO_MEMORY)
		error = elf_section_load(&s->image, section, room, ret, ret_owned);
	if (error)
		*ret = (struct str){"", 0};
	return error == ERR_NO_MEMORY ? error : ERR_OK;
}

enum err elf_source_read_dwarf(struct elf_source *s, struct dwarf *alternate, size_t memory)
{
	static const char *const names[DWARF_SECTIONS] = {"info",     "abbrev",	  "line",
							  "str",      "line_str", "ranges",
							  "rnglists", "addr",	  "str_offsets"};
	struct dwarf_sections sections = {0};
	struct str *place[DWARF_SECTIONS] = {&sections.info,	   &sections.abbrev,
					     &sections.line,	   &sections.str,
					     &sections.line_str,   &sections.ranges,
					     &sections.rnglists,   &sections.addr,
					     &sections.str_offsets};

	uint64_t room = (uint64_t)memory * UNPACKED_FACTOR;

	for (size_t i = 0; i < DWARF_SECTIONS; i++) {
		mem_free(s->sections[i]);
		packed_section_free(s->packed[i]);
		s->packed[i] = NULL;
		TRY(read_section(s, names[i], room, place[i], &s->sections[i],
				 i <= LAST_IN_PIECES ? &s->packed[i] : NULL));
		if (s->sections[i] || s->packed[i])
			room -= place[i]->n;
	}
	sections.packed_info = s->packed[0];
	sections.packed_abbrev = s->packed[1];
	sections.packed_line = s->packed[2];
	return dwarf_new(&sections, alternate, memory, &s->dwarf);
}

void elf_source_trim(struct elf_source *s)
{
	if (!s->open)
		return;
	dwarf_trim(s->dwarf);
	mapped_file_trim(&s->file);
}

bool elf_source_torn(const struct elf_source *s)
{
	return s->open && mapped_file_torn(&s->file);
}
