#include "symbols/elf_source.h"

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
	for (size_t i = 0; i < DWARF_SECTIONS; i++)
		mem_free(s->sections[i]);
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
		const struct elf_section *section = debug_section(&s->image, names[i]);
		enum err error = ERR_OK;

		*place[i] = (struct str){"", 0};
		mem_free(s->sections[i]);
		s->sections[i] = NULL;
		if (section)
			error = elf_section_load(&s->image, section, room, place[i],
						 &s->sections[i]);
		if (error == ERR_NO_MEMORY)
			return error;
		if (error)
			*place[i] = (struct str){"", 0};
		if (s->sections[i])
			room -= place[i]->n;
	}
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
