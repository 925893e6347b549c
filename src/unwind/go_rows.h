/*
 * Go's table of functions (pclntab, Go 1.16 and later): for every function, how far the stack
 * pointer is below its value at the entry, address by address.
 */
#pragma once

#include "unwind/elf_view.h"

struct go_table {
	struct str bytes; /* the whole table */
	u64 text;	  /* functions' addresses are relative to this */
	u64 functions, pctab, functab;
	u32 count;
	bool wide; /* 1.16: addresses of 8 bytes, absolute */
	u32 flag_at;
};

/* False if the file has none, or one with an unknown layout. */
bool go_table_open(const struct elf_view *e, struct go_table *ret);
/* Start and end of function n; false if the table is broken there. */
bool go_function(const struct go_table *t, u32 n, u64 *ret_start, u64 *ret_end);
void go_function_rows(const struct go_table *t, u32 n, void *context,
		      void (*row)(void *context, u64 address, u32 rule));
