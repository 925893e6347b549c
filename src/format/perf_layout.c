/*
 * What the lines of a file of `perf script` text have in common.
 */
#include "format/perf_script.h"

/* Enough to tell; a file may have hundreds of millions of lines. */
#define MAX_LINES 65536

struct look {
	struct perf_layout *layout;
	size_t numbers, names; /* first words of frames that are surely an address, or surely not */
	bool empty;	       /* an empty line came behind a line that is none */
	bool any;
};

/* `add` may be an address too, `11ef` and `deadbeef` hardly anything else. */
static void look_at_frame(struct look *look, struct str line)
{
	struct str rest = line, word;
	uint64_t address;
	size_t tab = str_rfind(line, '\t');

	if (!text_word(&rest, &word))
		return;
	if (!text_hex(word, &address)) {
		look->names++;
		return;
	}
	/* Behind the tab, or where tabs have become blanks. */
	if (tab < line.n && word.p > line.p + tab)
		line = str_skip(line, tab + 1);
	if ((size_t)(word.p + word.n - line.p) >= 16)
		look->layout->aligned = true;
	for (size_t i = 0; i < word.n; i++)
		if (text_is_digit(word.p[i]) || word.n >= 8) {
			look->numbers++;
			return;
		}
}

/* Whether stacks stand below headers: then there are tabs, or empty lines between samples. */
static void look_at_shape(struct look *look, struct str line)
{
	if (!str_trim(line).n) {
		look->empty = look->any;
		return;
	}
	if (line.p[0] == '#')
		return;
	if (line.p[0] == '\t')
		look->layout->tabs = true;
	if (line.p[0] == '\t' || look->empty)
		look->layout->stacks = true;
	look->any = true;
}

/* The fields before the frame, on a line that has both. */
static void look_at_both(struct look *look, struct str line)
{
	struct perf_header h;
	struct perf_frame f;
	size_t at;

	if (perf_frame_find(line, &f, &at)) {
		look->layout->aligned = true;
		line.n = at;
	}
	perf_header_parse(line, NULL, &h);
	if (!h.record)
		look->layout->fields[h.fields]++;
}

static void look_at_line(struct look *look, struct str line)
{
	const unsigned strong = PERF_HAS_TIME | PERF_HAS_PERIOD | PERF_HAS_EVENT;
	struct perf_header h;

	if (!str_trim(line).n || line.p[0] == '#')
		return;
	if (line.p[0] == '\t') {
		look_at_frame(look, line);
		return;
	}
	perf_header_parse(line, NULL, &h);
	if (h.record || (!(h.fields & strong) && perf_is_source(line)))
		return;
	if (!look->layout->stacks) {
		look_at_both(look, line);
		return;
	}
	if (!text_is_space(line.p[0]) || h.fields & strong)
		look->layout->fields[h.fields]++;
	else
		look_at_frame(look, line);
}

static void look_at_all(struct look *look, struct str bytes,
			void (*at)(struct look *look, struct str line))
{
	struct text_lines lines;
	struct str line;

	text_lines_init(&lines, bytes);
	while (lines.number < MAX_LINES && text_line(&lines, &line))
		at(look, line);
}

void perf_layout_find(struct str bytes, struct perf_layout *ret)
{
	struct look look = {.layout = ret};

	memset(ret, 0, sizeof(*ret));
	look_at_all(&look, bytes, look_at_shape);
	look_at_all(&look, bytes, look_at_line);
	ret->addresses = ret->aligned || look.numbers >= look.names;
}
