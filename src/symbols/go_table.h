/*
 * The table the Go runtime itself uses for names, files, lines and inlined calls (.gopclntab, Go
 * 1.16 and later). It is in every Go program, stripped or not, and needs no index.
 */
#pragma once

#include "symbols/elf_image.h"
#include "symbols/raw_frames.h"

struct go_table {
	const struct elf_image *image;
	unsigned version;	/* 116, 118, 120; 0 = there is no table that can be read */
	unsigned quantum, word; /* bytes of an instruction, of a pointer */
	uint64_t count;		/* functions */
	uint64_t text;		/* the address entries are counted from */
	uint64_t function_data; /* the address inlined calls are counted from; 0 = not known */
	struct str names, units, files, programs, functions;
};

/* Finds the table; all bytes belong to the image. */
void go_table_init(struct go_table *t, const struct elf_image *image);
/* The same for a table that lies at an address; for tests. */
void go_table_read(struct go_table *t, const struct elf_image *image, struct str table,
		   uint64_t address);
/* ret->n is 0 when no Go function is at the address. */
void go_table_lookup(const struct go_table *t, uint64_t address, struct raw_frames *ret);
