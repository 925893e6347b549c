/*
 * Procedure linkage stubs have no symbols: a stub jumps through a slot of the global offset table,
 * and a relocation says which function the slot is for. So the stub's own instructions are read.
 */
#include "symbols/byte_cursor.h"
#include "symbols/elf_functions.h"

#define STUB_SIZE 16

/* jmp *slot(%rip), perhaps after endbr64 and with a prefix. */
static bool slot_x86_64(struct str code, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i + 6 <= code.n && i + 6 <= STUB_SIZE; i++) {
		int32_t distance;

		if ((uint8_t)code.p[i] != 0xff || (uint8_t)code.p[i + 1] != 0x25)
			continue;
		memcpy(&distance, code.p + i + 2, sizeof(distance));
		*ret = address + i + 6 + (uint64_t)(int64_t)distance;
		return true;
	}
	return false;
}

/* adrp x16, page; ldr x17, [x16, offset] */
static bool slot_arm64(struct str code, uint64_t address, uint64_t *ret)
{
	struct byte_cursor c = cursor_over(code);

	for (unsigned i = 0; i < 2; i++) {
		uint32_t adrp = cursor_u32(&c), ldr;
		struct byte_cursor next = c;
		int64_t pages;

		ldr = cursor_u32(&next);
		if (next.bad || (adrp & 0x9f00001f) != 0x90000010 ||
		    (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		pages = (int64_t)((adrp >> 29 & 3) | (adrp >> 3 & 0x1ffffc));
		if (pages & 1 << 20)
			pages -= 1 << 21;
		*ret = ((address + 4 * i) & ~(uint64_t)0xfff) + (uint64_t)pages * 4096 +
		       (ldr >> 10 & 0xfff) * 8;
		return true;
	}
	return false;
}

static bool slot_of(const struct elf_image *e, struct str code, uint64_t address, uint64_t *ret)
{
	if (e->machine == EM_X86_64)
		return slot_x86_64(code, address, ret);
	return e->machine == EM_AARCH64 && slot_arm64(code, address, ret);
}

static bool name_of_slot(const struct elf_image *e, const struct elf_section *relocations,
			 uint64_t slot, struct str *ret)
{
	struct byte_cursor c = cursor_over(elf_section_raw(e, relocations));
	const struct elf_section *symbols;

	if (relocations->link >= e->sections.n)
		return false;
	symbols = &e->sections.v[relocations->link];
	if (symbols->type != SHT_DYNSYM && symbols->type != SHT_SYMTAB)
		return false;
	while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t offset = cursor_u64(&c), info = cursor_u64(&c);
		uint32_t symbol = ELF64_R_SYM(info);

		cursor_skip(&c, 8);
		if (offset != slot || !symbol || symbol >= elf_symbol_count(e, symbols))
			continue;
		*ret = text_at(elf_symbol_strings(e, symbols),
			       elf_symbol_at(e, symbols, symbol).name);
		return ret->n > 0;
	}
	return false;
}

bool elf_stub_find(const struct elf_image *e, uint64_t address, struct elf_function_range *ret)
{
	const struct elf_section *s = elf_section_at(e, address, SHF_EXECINSTR);
	uint64_t slot;

	if (!s || !e->is64 || !str_starts(s->name, STR(".plt")))
		return false;
	ret->start = s->address + ((address - s->address) & ~(uint64_t)(STUB_SIZE - 1));
	ret->end = ret->start + STUB_SIZE;
	if (!slot_of(e, elf_bytes_at(e, ret->start), ret->start, &slot))
		return false;
	vec_for_each (r, &e->sections)
		if (r->type == SHT_RELA && name_of_slot(e, r, slot, &ret->name))
			return true;
	return false;
}
