#include "symbols/byte_cursor.h"
#include "symbols/symbol_file.h"

/* The smallest variable of a table that holds an address. */
static bool find_in(const struct elf_image *e, uint32_t type, uint64_t vaddr, struct str *ret_name,
		    uint64_t *ret_start)
{
	const struct elf_section *table = elf_section_of_type(e, type);
	size_t count = table ? elf_symbol_count(e, table) : 0;
	uint64_t best = UINT64_MAX;
	struct str strings;

	if (!count)
		return false;
	strings = elf_symbol_strings(e, table);
	for (size_t i = 1; i < count; i++) {
		struct elf_symbol s = elf_symbol_at(e, table, i);
		struct str name;

		if (s.type != STT_OBJECT || s.section == SHN_UNDEF || vaddr < s.value ||
		    vaddr - s.value >= s.size || s.size >= best)
			continue;
		name = text_at(strings, s.name);
		if (!name.n || name.n >= SYMBOL_NAME_MAX)
			continue;
		best = s.size;
		*ret_name = name;
		*ret_start = s.value;
	}
	return best != UINT64_MAX;
}

bool symbol_file_holds(const struct symbol_file *f, uint64_t vaddr)
{
	vec_for_each (s, &f->program.image.segments)
		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->memory_size)
			return true;
	return false;
}

enum err symbol_file_object(struct symbol_file *f, uint64_t vaddr, char *name, size_t size,
			    uint64_t *ret_offset)
{
	char linkage[SYMBOL_NAME_MAX];
	struct symbol_facts facts;
	struct str found;
	uint64_t start;

	TRY(symbol_file_facts(f, &facts));
	if (!find_in(&f->program.image, SHT_SYMTAB, vaddr, &found, &start) &&
	    !(f->debug.open && find_in(&f->debug.image, SHT_SYMTAB, vaddr, &found, &start)) &&
	    !find_in(&f->program.image, SHT_DYNSYM, vaddr, &found, &start))
		return ERR_NOT_FOUND;
	memcpy(linkage, found.p, found.n);
	linkage[found.n] = 0;
	symbol_demangle(linkage, f->options.names, name, size);
	*ret_offset = vaddr - start;
	return ERR_OK;
}
