/* ELF files and entries of .eh_frame made by hand. */
#pragma once

#include <elf.h>

#include "base/buf.h"
#include "unwind/frame_info.h"

#define MADE_ENTRY 0x90000u

struct made_section {
	const char *name;
	struct str bytes;
	uint64_t address;
};

/* A file with these sections, one program header that loads all of it at address 0. */
static inline void elf_make(struct buf *out, const struct made_section *sections, size_t n)
{
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_entry = MADE_ENTRY,
			.e_phoff = sizeof(h),
			.e_ehsize = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (Elf64_Half)(n + 2),
			.e_shstrndx = (Elf64_Half)(n + 1)};
	Elf64_Phdr load = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x100000};
	Elf64_Shdr headers[16] = {0};
	struct buf names = BUF_INIT(1 << 16);

	buf_clear(out);
	buf_append(out, &h, sizeof(h));
	buf_append(out, &load, sizeof(load));
	buf_append(&names, "", 1);
	for (size_t i = 0; i < n; i++) {
		headers[i + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)names.n,
					      .sh_type = SHT_PROGBITS,
					      .sh_addr = sections[i].address,
					      .sh_offset = out->n,
					      .sh_size = sections[i].bytes.n};
		buf_append(&names, sections[i].name, strlen(sections[i].name) + 1);
		buf_str(out, sections[i].bytes);
	}
	headers[n + 1] = (Elf64_Shdr){
		.sh_name = 0, .sh_type = SHT_STRTAB, .sh_offset = out->n, .sh_size = names.n};
	buf_str(out, buf_view(&names));
	h.e_shoff = out->n;
	buf_append(out, headers, (n + 2) * sizeof(headers[0]));
	memcpy(out->data, &h, sizeof(h));
	buf_release(&names);
}

/* Its first section holds instructions. */
static inline void elf_mark_code(struct buf *file)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	char *at;

	memcpy(&h, file->data, sizeof(h));
	at = (char *)file->data + h.e_shoff + sizeof(s);
	memcpy(&s, at, sizeof(s));
	s.sh_flags |= SHF_EXECINSTR;
	memcpy(at, &s, sizeof(s));
}

/* ---- entries of .eh_frame and .debug_frame ---- */

static inline void put(struct buf *b, uint64_t value, size_t size)
{
	buf_append(b, &value, size);
}

static inline size_t entry_begin(struct buf *b, bool wide)
{
	put(b, wide ? 0xffffffff : 0, 4);
	if (wide)
		put(b, 0, 8);
	return b->n;
}

static inline void entry_end(struct buf *b, size_t begin, bool wide)
{
	uint64_t length = b->n - begin;

	memcpy(b->data + begin - (wide ? 8 : 4), &length, wide ? 8 : 4);
}

struct made_cie {
	const char *augmentation;
	struct str data, program;
	uint8_t code_align, version;
	bool wide, debug;
};

/* At the entry of a function: CFA = rsp + 8, the return address at CFA - 8. */
#define CIE_PROGRAM STR("\x0c\x07\x08\x90\x01")
#define CIE_PLAIN   ((struct made_cie){"zR", STR("\x00"), CIE_PROGRAM, 1, 1, false, false})

/* data_align is always -8, the return address register 16. Returns where it begins. */
static inline uint64_t cie_make(struct buf *b, struct made_cie cie)
{
	uint64_t at = b->n;
	size_t begin = entry_begin(b, cie.wide);

	put(b, cie.debug ? UINT64_MAX : 0, cie.debug && cie.wide ? 8 : 4);
	put(b, cie.version, 1);
	buf_append(b, cie.augmentation, strlen(cie.augmentation) + 1);
	if (cie.version == 4)
		put(b, 8, 2);
	put(b, cie.code_align, 1);
	put(b, 0x78, 1);
	put(b, 16, 1);
	if (cie.augmentation[0] == 'z') {
		put(b, cie.data.n, 1);
		buf_str(b, cie.data);
	}
	buf_str(b, cie.program);
	entry_end(b, begin, cie.wide);
	return at;
}

/* Addresses of 8 bytes. Returns where it begins. */
static inline uint64_t fde_make(struct buf *b, struct made_cie cie, uint64_t cie_at, uint64_t start,
				uint64_t size, struct str program)
{
	uint64_t at = b->n;
	size_t begin = entry_begin(b, cie.wide);

	put(b, cie.debug ? cie_at : begin - cie_at, cie.debug && cie.wide ? 8 : 4);
	put(b, start, 8);
	put(b, size, 8);
	if (cie.augmentation[0] == 'z')
		put(b, 0, 1);
	buf_str(b, program);
	entry_end(b, begin, cie.wide);
	return at;
}

/* ---- rows as they come ---- */

struct seen_rows {
	uint64_t address[64];
	uint32_t rule[64];
	size_t n;
};

static inline void seen_row(void *context, uint64_t address, uint32_t rule)
{
	struct seen_rows *s = context;

	if (s->n < 64) {
		s->address[s->n] = address;
		s->rule[s->n++] = rule;
	}
}

#define RSP_RULE(cfa, saved) ((uint32_t)(cfa) / 8 << 5 | (uint32_t)(saved) / 8)
#define RBP_RULE(cfa, saved) (UNWIND_CFA_RBP | RSP_RULE(cfa, saved))
