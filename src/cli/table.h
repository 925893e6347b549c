/*
 * Text tables: columns are aligned by content, and the last one is cut with an ellipsis to the
 * width of the terminal. Control characters in text from files are replaced, so that a name can
 * neither break a line nor control the terminal.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

enum align { ALIGN_LEFT, ALIGN_RIGHT };

struct column {
	const char *title;
	enum align align;
	unsigned min_width;
};

#define TABLE_MAX_COLUMNS 8

struct cell {
	size_t at, n;
	const char *color; /* an escape sequence, or NULL */
};

struct table {
	struct column columns[TABLE_MAX_COLUMNS];
	unsigned column_count;
	unsigned width; /* of the terminal, 0 = as wide as needed */
	bool color;
	struct buf text; /* of all cells */
	VEC(struct cell) cells;
};

void table_init(struct table *t, const struct column *columns, unsigned count, unsigned width,
		bool color);
void table_release(struct table *t);
/* Cells are added row by row. table_print reports the first failure. */
void table_cell(struct table *t, struct str text, const char *color);
void table_cellf(struct table *t, const char *color, const char *format, ...) PRINTF_LIKE(3, 4);
/* Header and rows. */
void table_print(const struct table *t, struct buf *out);

/* Columns a terminal needs for the text: combining marks none, East Asian wide ones two. */
unsigned text_width(struct str s);
/* Control characters, bidirectional overrides and invalid UTF-8 become U+FFFD. */
void text_clean(struct buf *out, struct str s);
/* At most `width` columns: "begin…end", keeping more of the end, where names differ. */
void text_cut(struct buf *out, struct str s, unsigned width);
