#include "cli/table.h"

#include <stdarg.h>

#include "cli/term.h"
#include "cli/text_fold.h"
#include "cli/text_width.h"

#define TABLE_CEILING ((size_t)1 << 30)
#define REPLACEMENT   "\xef\xbf\xbd"
#define ELLIPSIS      "\xe2\x80\xa6"

unsigned text_width(struct str s)
{
	unsigned width = 0;

	while (s.n) {
		size_t n = utf8_length(s);

		width += n ? code_point_width(code_point(s, n)) : 1;
		s = str_skip(s, n ? n : 1);
	}
	return width;
}

void text_clean(struct buf *out, struct str s)
{
	while (s.n) {
		size_t n = utf8_length(s);

		if (!n || code_point_is_control(code_point(s, n)))
			buf_text(out, REPLACEMENT);
		else
			buf_append(out, s.p, n);
		s = str_skip(s, n ? n : 1);
	}
}

/* The longest beginning that needs at most `width` columns. */
static struct str head_of(struct str s, unsigned width)
{
	struct str rest = s;

	while (rest.n) {
		size_t n = utf8_length(rest);
		unsigned w = n ? code_point_width(code_point(rest, n)) : 1;

		if (w > width)
			break;
		width -= w;
		rest = str_skip(rest, n ? n : 1);
	}
	return str_n(s.p, s.n - rest.n);
}

void text_cut(struct buf *out, struct str s, unsigned width)
{
	unsigned have = text_width(s), keep_head, drop;
	struct str head, tail;

	if (have <= width) {
		buf_str(out, s);
		return;
	}
	if (width < 2) {
		buf_str(out, head_of(s, width));
		return;
	}
	keep_head = (width - 1) / 3;
	head = head_of(s, keep_head);
	drop = have - (width - 1 - keep_head);
	tail = str_skip(s, head_of(s, drop).n);
	/* A wide character across the cut would make it one column too long. */
	while (text_width(tail) > width - 1 - keep_head)
		tail = str_skip(tail, utf8_length(tail) ? utf8_length(tail) : 1);
	buf_str(out, head);
	buf_text(out, ELLIPSIS);
	buf_str(out, tail);
}

void table_init(struct table *t, const struct column *columns, unsigned count, unsigned width,
		bool color)
{
	*t = (struct table){.column_count = count, .width = width, .color = color};
	memcpy(t->columns, columns, count * sizeof(*columns));
	buf_init(&t->text, TABLE_CEILING);
}

void table_release(struct table *t)
{
	buf_release(&t->text);
	vec_release(&t->cells);
}

void table_cell(struct table *t, struct str text, const char *color)
{
	struct cell c = {.at = t->text.n, .color = color};

	text_clean(&t->text, text);
	c.n = t->text.n - c.at;
	if (vec_push(&t->cells, c) && !t->text.error)
		t->text.error = ERR_NO_MEMORY;
}

void table_cellf(struct table *t, const char *color, const char *format, ...)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
	va_list args;

	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	table_cell(t, buf_view(&text), color);
}

static struct str cell_text(const struct table *t, const struct cell *c)
{
	return str_n(t->text.data + c->at, c->n);
}

static void put_padded(struct buf *out, struct str text, const struct column *c, unsigned width,
		       bool last)
{
	unsigned have = text_width(text), pad = have < width ? width - have : 0;

	if (c->align == ALIGN_RIGHT)
		buf_printf(out, "%*s", (int)pad, "");
	buf_str(out, text);
	if (c->align == ALIGN_LEFT && !last)
		buf_printf(out, "%*s", (int)pad, "");
}

struct layout {
	unsigned widths[TABLE_MAX_COLUMNS];
	unsigned last; /* columns left for the last one, 0 = any */
};

static struct layout measure(const struct table *t)
{
	struct layout l = {0};
	unsigned used = 0;

	for (unsigned i = 0; i < t->column_count; i++) {
		unsigned title = text_width(str_of(t->columns[i].title));

		l.widths[i] = title > t->columns[i].min_width ? title : t->columns[i].min_width;
	}
	for (size_t i = 0; i < t->cells.n; i++) {
		unsigned w = text_width(cell_text(t, &t->cells.v[i]));

		if (w > l.widths[i % t->column_count])
			l.widths[i % t->column_count] = w;
	}
	for (unsigned i = 0; i + 1 < t->column_count; i++)
		used += l.widths[i] + (i + 2 == t->column_count ? 2 : 1);
	if (t->width)
		l.last = t->width > used + 8 ? t->width - used : 8;
	return l;
}

/* Arguments first, then what is in the middle. */
static void put_short(struct buf *out, struct str text, unsigned width)
{
	CLEANUP(buf_release) struct buf folded = BUF_INIT(TABLE_CEILING);

	text_fold(&folded, text);
	if (folded.error && !out->error)
		out->error = folded.error;
	text_cut(out, buf_view(&folded), width);
}

static void put_cell(const struct table *t, struct buf *out, const struct layout *l, unsigned i,
		     struct str text, const char *color)
{
	bool last = i + 1 == t->column_count;

	if (last && !text.n)
		return; /* no blanks at the end of a line */
	/* Two spaces before the last column, which is the name. */
	if (i)
		buf_text(out, last ? "  " : " ");
	if (t->color && color)
		buf_text(out, color);
	if (last && l->last && text_width(text) > l->last)
		put_short(out, text, l->last);
	else
		put_padded(out, text, &t->columns[i], l->widths[i], last);
	if (t->color && color)
		buf_text(out, COLOR_RESET);
}

void table_print(const struct table *t, struct buf *out)
{
	struct layout l = measure(t);

	if (t->text.error && !out->error)
		out->error = t->text.error;
	for (unsigned i = 0; i < t->column_count; i++)
		put_cell(t, out, &l, i, str_of(t->columns[i].title), COLOR_DIM);
	buf_byte(out, '\n');
	for (size_t at = 0; at + t->column_count <= t->cells.n; at += t->column_count) {
		for (unsigned i = 0; i < t->column_count; i++) {
			const struct cell *c = &t->cells.v[at + i];

			put_cell(t, out, &l, i, cell_text(t, c), c->color);
		}
		buf_byte(out, '\n');
	}
}
