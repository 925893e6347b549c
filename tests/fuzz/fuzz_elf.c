/*
 * A whole ELF file: sections, symbols, stubs, Go's table, DWARF. What the symbol table names at a
 * function's first byte must begin at or before it, and an answer's range must hold its address.
 */
#include <stdlib.h>

#include "symbols/elf_functions.h"
#include "symbols/elf_source.h"
#include "symbols/go_table.h"
#include "symbols/section_unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOKUPS 64

static struct raw_frames raw;

static void check(uint64_t address)
{
	if (raw.n > SYMBOL_FRAMES_MAX || (raw.n && (address < raw.start || address >= raw.end)))
		abort();
}

static void look_up(struct elf_source *s, const struct elf_functions *f, const struct go_table *go,
		    uint64_t address)
{
	struct elf_function_range range;
	uint64_t there, back;

	if (elf_functions_find(f, address, &range) &&
	    (address < range.start || address >= range.end || !range.name.n))
		abort();
	(void)elf_stub_find(&s->image, address, &range);
	go_table_lookup(go, address, &raw);
	check(address);
	if (s->dwarf && !dwarf_lookup(s->dwarf, address, &raw))
		check(address);
	if (elf_vaddr_to_offset(&s->image, address, &there))
		(void)elf_offset_to_vaddr(&s->image, there, &back);
}

static void use(struct elf_source *s, uint32_t table)
{
	struct elf_functions f;
	struct go_table go;

	if (elf_functions_init(&f, &s->image, elf_section_of_type(&s->image, table)))
		return;
	go_table_init(&go, &s->image);
	for (size_t i = 0; i < f.v.n && i < LOOKUPS; i++) {
		look_up(s, &f, &go, f.v.v[i].start);
		look_up(s, &f, &go, f.v.v[i].start + f.v.v[i].size);
	}
	vec_for_each (section, &s->image.sections)
		look_up(s, &f, &go, section->address + 16);
	elf_functions_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = mem_alloc(size + !size);
	struct elf_source s;
	void *unpacked;
	size_t unpacked_size;

	if (size)
		memcpy(copy, data, size);
	if (elf_source_open_memory(&s, copy, size))
		return 0;
	const struct elf_section *mini = elf_section_named(&s.image, ".gnu_debugdata");

	if (mini && !unpack_xz(elf_section_raw(&s.image, mini), 1 << 20, &unpacked, &unpacked_size))
		mem_free(unpacked);
	if (!elf_source_read_dwarf(&s, NULL, 1 << 16)) {
		use(&s, SHT_SYMTAB);
		use(&s, SHT_DYNSYM);
	}
	elf_source_close(&s);
	return 0;
}
