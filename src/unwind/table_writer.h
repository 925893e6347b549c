/* Rows in order of address, written as blocks of pages (unwind_format.h). */
#pragma once

#include "base/vec.h"
#include "unwind/unwind.h"

struct table_writer {
	VEC(u32) pages, rows; /* rows of the page being written */
	VEC(u16) rules;	      /* distinct rules of that page */
	u16 *numbers;	      /* by rule: its index in `rules`, plus 1 */
	struct buf blocks;
	u64 page;
	u32 rule;     /* in force now */
	bool started; /* a page is being written */
	size_t row_count;
	u64 offered; /* calls of table_writer_row */
	enum err error;
};

void table_writer_init(struct table_writer *w);
void table_writer_release(struct table_writer *w);
/* From `address` on `rule` holds. Addresses do not fall. The signature is that of a callback. */
void table_writer_row(void *writer, u64 address, u32 rule);
/* The first failure of all that came before, or the table. */
enum err table_writer_finish(struct table_writer *w, struct unwind_table *ret) MUST_CHECK;
