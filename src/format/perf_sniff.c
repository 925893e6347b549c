/*
 * Whether bytes look like `perf script` text.
 */
#include "format/formats_internal.h"
#include "format/perf_script.h"

static bool is_stack_line(struct str line, const struct perf_layout *layout)
{
	struct perf_frame f;

	return line.n && line.p[0] == '\t' && perf_frame_parse(line, layout, &f);
}

/* The first line that is none of perf's description. */
static bool first_line(struct text_lines *lines, struct str *ret)
{
	struct perf_header h;

	while (text_line(lines, ret)) {
		if (!str_trim(*ret).n)
			continue;
		if (ret->p[0] != '#' || (perf_header_parse(*ret, NULL, &h) && h.has_time))
			return true;
	}
	return false;
}

int perf_script_sniff(struct str head)
{
	struct perf_layout layout;
	struct text_lines lines;
	struct perf_header h;
	struct perf_frame f;
	struct str line, next = {0};
	bool strong;
	size_t at;

	if (!text_looks_plain(head))
		return 0;
	if (str_starts(head, STR("# ========\n# captured on")))
		return 95;
	text_lines_init(&lines, head);
	if (!first_line(&lines, &line))
		return 0;
	perf_layout_find(head, &layout);
	if (is_stack_line(line, &layout))
		return 50;
	strong = perf_header_parse(line, &layout, &h);
	if (strong && h.has_time && h.record)
		return 70;
	if (strong && h.has_time && h.rest.n && perf_frame_parse(h.rest, NULL, &f))
		return 80;
	/* No other text has addresses in columns, with names behind them. */
	if (perf_frame_find(line, &f, &at) && (f.symbol.n || f.dso.n) && layout.aligned)
		return 40;
	if (!text_line(&lines, &next) || !is_stack_line(next, &layout))
		return strong && h.has_time && h.event.n ? 70 : 0;
	return strong && h.has_time ? 90 : 60;
}
