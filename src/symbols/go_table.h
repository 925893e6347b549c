/*
 * The Go runtime's own table of functions, files, lines and inlined calls (.gopclntab, Go 1.16 and
 * later). Every Go program has it, stripped or not, and it needs no index.
 */
#pragma once

#include "symbols/elf_image.h"
#include "symbols/raw_frames.h"

struct go_table {
	const struct elf_image *image;
	unsigned version;	/* 116, 118, 120; 0 = no supported table */
	unsigned quantum, word; /* bytes of an instruction, of a pointer */
	uint64_t count;		/* functions */
	uint64_t text;		/* base address of function entries */
	uint64_t function_data; /* base address of inlined calls; 0 = unknown */
	struct str names, units, files, programs, functions;
};

/* Finds the table; all bytes belong to the image. */
void go_table_init(struct go_table *t, const struct elf_image *image);
/* The same for a table at a given address; for tests. */
void go_table_read(struct go_table *t, const struct elf_image *image, struct str table,
		   uint64_t address);
/* ret->n is 0 if no Go function is at the address. */
void go_table_lookup(const struct go_table *t, uint64_t address, struct raw_frames *ret);
