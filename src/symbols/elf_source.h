/*
 * An ELF file with symbols: the program itself, its separate debug file, its .gnu_debugdata, or the
 * file shared by several programs. All zero is a closed source.
 */
#pragma once

#include "symbols/dwarf.h"
#include "symbols/elf_image.h"
#include "symbols/mapped_file.h"

#define ELF_FILE_MAX   ((uint64_t)16 << 30)
#define DWARF_SECTIONS 9

struct elf_source {
	bool open;
	struct mapped_file file;
	void *memory; /* instead of a file */
	struct elf_image image;
	struct dwarf *dwarf;
	void *sections[DWARF_SECTIONS];		       /* decompressed */
	struct packed_section *packed[DWARF_SECTIONS]; /* instead, decompressed on demand */
};

enum err elf_source_open(struct elf_source *s, int fd, const char *path,
			 struct fault *fault) MUST_CHECK;
/* Takes over the memory, also on failure. */
enum err elf_source_open_memory(struct elf_source *s, void *memory, size_t size) MUST_CHECK;
void elf_source_close(struct elf_source *s);
bool elf_source_has_dwarf(const struct elf_source *s);
/* Creates s->dwarf, whose indexes may take `memory`. Sections that cannot be read, or that would
 * grow by more than UNPACKED_FACTOR when decompressed, are left out. */
#define UNPACKED_FACTOR 4
enum err elf_source_read_dwarf(struct elf_source *s, struct dwarf *alternate,
			       size_t memory) MUST_CHECK;
void elf_source_trim(struct elf_source *s);
bool elf_source_torn(const struct elf_source *s);
