/*
 * The flame graph as SVG: no script, so that it can be shown anywhere a picture can; every box
 * has its numbers in a title, which viewers show as a tooltip. Boxes narrower than a tenth of a
 * pixel are left out.
 */
#include <math.h>

#include "base/hash.h"
#include "format/formats_internal.h"
#include "format/vft.h"

#define WIDTH	   1200.0
#define ROW	   17
#define HEAD	   44
#define FOOT	   24
#define CHAR_WIDTH 6.6
#define MIN_WIDTH  0.1
#define MAX_ROWS   4000

struct svg {
	struct writing *in;
	const struct picture *picture;
	const struct dict *d;
	struct buf *out;
	struct str unit;
	uint32_t column;   /* in a diff that of the comparison */
	uint32_t rows;	   /* of boxes */
	double *x, *width; /* per node, in pixels */
	struct buf name, number;
};

static double total(const struct svg *s, uint32_t column, size_t node)
{
	return (double)s->picture->tree.total[(size_t)column * s->picture->tree.nodes.n + node];
}

/* The value shown by the width: in a diff the sum of both sides. */
static double weight(const struct svg *s, size_t node)
{
	double v = total(s, s->column, node);

	if (s->in->baseline)
		v += total(s, s->column - 1, node);
	return v > 0 ? v : 0;
}

/* Children follow their parents, so one pass lays out everything from left to right. */
static void lay_out(struct svg *s, double *next)
{
	const struct tree *t = &s->picture->tree;
	double all = weight(s, 0);

	s->rows = 1;
	s->x[0] = next[0] = 0;
	s->width[0] = WIDTH;
	for (size_t i = 1; i < t->nodes.n; i++) {
		uint32_t parent = t->nodes.v[i].parent;

		s->width[i] = all > 0 ? WIDTH * weight(s, i) / all : 0;
		s->x[i] = next[parent];
		next[i] = s->x[i];
		next[parent] += s->width[i];
		if (s->width[i] >= MIN_WIDTH && t->nodes.v[i].depth + 1 > s->rows)
			s->rows = t->nodes.v[i].depth + 1;
	}
	if (s->rows > MAX_ROWS) {
		notes_add(&s->in->notes, "SVG shows %u rows of %u: HTML shows all", MAX_ROWS,
			  s->rows);
		s->rows = MAX_ROWS;
	}
}

/* Orange for more, blue for less, by the change of share: safe for colour-blind people. */
static void put_diff_colour(const struct svg *s, size_t i)
{
	double before = total(s, s->column - 1, 0), after = total(s, s->column, 0);
	double change = (after > 0 ? total(s, s->column, i) / after : 0) -
			(before > 0 ? total(s, s->column - 1, i) / before : 0);
	double strength = fmin(1, fabs(change) * 10);
	int fade = (int)(235 - 110 * strength);

	if (fabs(change) < 0.0005)
		buf_text(s->out, "#ddd8d0");
	else if (change > 0)
		buf_printf(s->out, "#f0%02x%02x", fade - 30, fade - 90 > 0 ? fade - 90 : 0);
	else
		buf_printf(s->out, "#%02x%02xe8", fade - 60 > 0 ? fade - 60 : 0, fade);
}

/* Hue by module, lightness by name, as in the interactive page. */
static void put_colour(const struct svg *s, size_t i)
{
	uint32_t frame = s->picture->tree.nodes.v[i].frame;
	struct str module;
	uint64_t hue, tone;

	if (s->in->baseline && i) {
		put_diff_colour(s, i);
		return;
	}
	if (!i || frame == TREE_PRUNED) {
		buf_text(s->out, i ? "#cfc7bb" : "#e8dfd2");
		return;
	}
	module = frame_module(s->d, frame);
	hue = module.n ? hash_str(module, 0) % 60 + (hash_str(module, 1) % 5 == 0 ? 150 : 5) : 24;
	tone = hash_str(buf_view(&s->name), 0) % 12;
	buf_printf(s->out, "hsl(%d,%d%%,%d%%)", (int)hue, 66, (int)(66 + tone));
}

static void put_amount(struct svg *s, uint32_t column, size_t i)
{
	double all = total(s, column, 0), v = total(s, column, i);

	buf_clear(&s->number);
	unit_format(&s->number, v, s->unit);
	buf_str(s->out, buf_view(&s->number));
	buf_printf(s->out, ", %.2f%%", all > 0 ? 100 * v / all : 0);
}

static void put_tooltip(struct svg *s, size_t i)
{
	buf_text(s->out, "<title>");
	put_xml_text(s->out, buf_view(&s->name));
	buf_text(s->out, " (");
	if (s->in->baseline) {
		put_amount(s, s->column - 1, i);
		buf_text(s->out, " before, ");
	}
	put_amount(s, s->column, i);
	buf_text(s->out, ")</title>");
}

/* The bytes of the first `chars` characters. */
static size_t first_chars(struct str s, size_t chars)
{
	size_t at = 0;

	for (; at < s.n && chars; chars--) {
		size_t n = utf8_length(str_skip(s, at));

		at += n ? n : 1;
	}
	return at;
}

static void put_label(struct svg *s, size_t i, double y)
{
	size_t room = s->width[i] > 6 ? (size_t)((s->width[i] - 6) / CHAR_WIDTH) : 0;
	struct str name = buf_view(&s->name);
	size_t shown = first_chars(name, room);

	/* The ellipsis is as wide as two letters; fewer than three before it say nothing. */
	if (shown < name.n && room < 3 + 2)
		return;
	if (shown < name.n)
		shown = first_chars(name, room - 2);
	buf_printf(s->out, "<text x=\"%.1f\" y=\"%.1f\">", s->x[i] + 3, y + 12);
	put_xml_text(s->out, str_n(name.p, shown));
	buf_text(s->out, shown < name.n ? "\xe2\x80\xa6</text>" : "</text>");
}

static void name_node(struct svg *s, size_t i)
{
	const struct tree_node *n = &s->picture->tree.nodes.v[i];

	buf_clear(&s->name);
	if (!i)
		buf_text(&s->name, "all");
	else if (n->frame == TREE_PRUNED)
		buf_printf(&s->name, "%u smaller", n->dropped);
	else
		frame_label(s->d, n->frame, &s->name);
}

static void put_box(struct svg *s, size_t i)
{
	const struct tree_node *n = &s->picture->tree.nodes.v[i];
	double y = HEAD + (double)(s->rows - 1 - n->depth) * ROW;

	if (s->width[i] < MIN_WIDTH || n->depth >= s->rows)
		return;
	name_node(s, i);
	buf_text(s->out, "<g>");
	put_tooltip(s, i);
	buf_printf(s->out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"",
		   s->x[i], y, fmax(s->width[i] - 0.3, 0.1), ROW - 1);
	put_colour(s, i);
	buf_text(s->out, "\"/>");
	put_label(s, i, y);
	buf_text(s->out, "</g>\n");
}

static void put_page(struct svg *s)
{
	double height = HEAD + (double)s->rows * ROW + FOOT;

	buf_printf(s->out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		   "viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui, sans-serif\" "
		   "font-size=\"11\">\n<style>text{fill:#26211b;pointer-events:none}"
		   "g:hover rect{stroke:#26211b}</style>\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#f7f4ef\"/>\n<text x=\"8\" "
		   "y=\"20\" font-size=\"14\">",
		   WIDTH, height, WIDTH, height);
	put_xml_text(s->out, str_of(s->in->title ? s->in->title : "profile"));
	buf_text(s->out, "</text>\n<text x=\"8\" y=\"36\">");
	put_xml_text(s->out,
		     dict_str(s->d,
			      s->in->list->v[0]->types[s->picture->columns[s->column].type].type));
	buf_text(s->out, ": ");
	put_amount(s, s->column, 0);
	buf_text(s->out, "</text>\n");
	for (size_t i = 0; i < s->picture->tree.nodes.n; i++)
		put_box(s, i);
	buf_printf(s->out, "<text x=\"8\" y=\"%.0f\">vestal " VESTAL_VERSION "; ", height - 8);
	if (s->picture->tree.pruned_share > 0)
		buf_printf(s->out, "%.3g%% of the value is in boxes too small to show",
			   100 * s->picture->tree.pruned_share);
	else
		buf_text(s->out, "nothing is left out");
	buf_text(s->out, "</text>\n</svg>\n");
}

enum err svg_write(struct writing *in, struct buf *out)
{
	struct picture picture;
	struct svg s = {.in = in, .picture = &picture, .d = in->list->v[0]->dict, .out = out};
	double *next;
	size_t n;
	enum err e = ERR_NO_MEMORY;

	TRY(picture_build(in, 0, &picture));
	n = picture.tree.nodes.n;
	s.column = picture_shown_column(in, &picture);
	s.unit = dict_str(s.d, in->list->v[0]->types[picture.columns[s.column].type].unit);
	s.name = s.number = BUF_INIT((size_t)64 << 20);
	s.x = mem_alloc(n * sizeof(*s.x));
	s.width = mem_alloc(n * sizeof(*s.width));
	next = mem_alloc(n * sizeof(*next));
	if (s.x && s.width && next) {
		lay_out(&s, next);
		put_page(&s);
		e = buf_error(&s.name) ? buf_error(&s.name) : buf_error(out);
	}
	mem_free(s.x);
	mem_free(s.width);
	mem_free(next);
	buf_release(&s.name);
	buf_release(&s.number);
	picture_release(&picture);
	return e;
}
