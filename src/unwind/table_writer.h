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
	u32 rule;     /* current rule */
	bool started; /* a page has been started */
	size_t row_count;
	u64 offered; /* calls of table_writer_row */
	enum err error;
};

void table_writer_init(struct table_writer *w);
void table_writer_release(struct table_writer *w);
/* `rule` is valid from `address` on. Addresses must not decrease. The signature is that of a
 * callback. */
void table_writer_row(void *writer, u64 address, u32 rule);
/* Returns the first earlier failure, or the table. */
enum err table_writer_finish(struct table_writer *w, struct unwind_table *ret) MUST_CHECK;
