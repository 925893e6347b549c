/*
 * DWARF alone, so that changes hit it: nine lengths of two bytes (info, abbrev, line, str,
 * line_str, ranges, rnglists, addr, str_offsets), then the sections. Asked are the first bytes of
 * everything the reader itself found, twice, the second time with its indexes dropped: the same
 * must be said.
 */
#include <stdlib.h>

#include "symbols/dwarf_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOKUPS 200

static struct raw_frames first, second;

static void ask(struct dwarf *d, uint64_t address)
{
	if (dwarf_lookup(d, address, &first))
		return;
	if (first.n && (address < first.start || address >= first.end))
		abort();
	dwarf_trim(d);
	if (dwarf_lookup(d, address, &second))
		return;
	if (first.n != second.n || first.start != second.start || first.end != second.end)
		abort();
	for (size_t i = 0; i < first.n; i++)
		if (first.v[i].line != second.v[i].line ||
		    !str_eq(first.v[i].name, second.v[i].name) ||
		    !str_eq(first.v[i].file, second.v[i].file))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwarf_sections s = {0};
	struct str *parts[] = {&s.info,	  &s.abbrev,   &s.line, &s.str,	       &s.line_str,
			       &s.ranges, &s.rnglists, &s.addr, &s.str_offsets};
	struct byte_cursor c = cursor_over(str_n(data, size)), heads = c;
	struct dwarf *d;

	cursor_skip(&c, 18);
	for (size_t i = 0; i < 9; i++) {
		size_t n = cursor_u16(&heads), left = cursor_left(&c);

		*parts[i] = cursor_bytes(&c, n < left ? n : left);
	}
	if (dwarf_new(&s, NULL, 1 << 20, &d))
		return 0;
	if (!dwarf_units_read(d, true)) {
		for (size_t i = 0; i < d->ranges.n && i < LOOKUPS; i++) {
			uint64_t start = d->ranges.v[i].start,
				 step = (d->ranges.v[i].end - start) / 8;

			for (uint64_t at = 0; at < 8; at++)
				ask(d, start + at * step);
		}
	}
	dwarf_free(d);
	return 0;
}
