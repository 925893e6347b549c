/*
 * A bounds-checked view of an ELF file in memory. The caller owns the bytes.
 */
#pragma once

#include <elf.h>

#include "unwind/unwind.h"

struct elf_view {
	struct str file;
	Elf64_Ehdr header;
};

/* Bytes of the file and the address they are loaded at. */
struct elf_part {
	struct str bytes;
	u64 address;
};

enum err elf_view_open(struct str file, struct elf_view *ret, struct fault *fault) MUST_CHECK;
/* The n-th program header; false if there is none. */
bool elf_view_program_header(const struct elf_view *e, u32 n, Elf64_Phdr *ret);
/* A section by name, inside the file and not compressed; false if there is none. */
bool elf_view_section(const struct elf_view *e, const char *name, struct elf_part *ret);
/* The n-th range of code: an executable section, or a segment if there are no sections. */
bool elf_view_code(const struct elf_view *e, u32 n, struct elf_part *ret);
/* The file's bytes from `address` to the end of its segment. */
bool elf_view_bytes_at(const struct elf_view *e, u64 address, struct elf_part *ret);
