#include "symbols/dwarf_reader.h"
#include "symbols/packed_section.h"

#define RANGES_PER_QUESTION ((uint64_t)1 << 24)
#define TOUCHED_BY_QUESTION 32768 /* entries and names here and there: some pages */

enum err dwarf_new(const struct dwarf_sections *sections, struct dwarf *alternate, size_t memory,
		   struct dwarf **ret)
{
	struct dwarf *d = mem_zalloc(1, sizeof(*d));

	if (!d)
		return ERR_NO_MEMORY;
	d->s = *sections;
	d->alternate = alternate;
	d->memory_limit = memory;
	*ret = d;
	return ERR_OK;
}

void dwarf_trim(struct dwarf *d)
{
	if (!d)
		return;
	vec_for_each (u, &d->units) {
		address_ranges_release(&u->functions);
		line_index_free(u->lines);
		u->lines = NULL;
		u->functions_known = false;
	}
	for (size_t i = 0; i < ABBREVS_KEPT; i++) {
		dwarf_abbrevs_release(&d->kept[i]);
		d->kept[i].used = 0;
	}
	d->memory = 0;
}

void dwarf_drop_pieces(struct dwarf *d)
{
	if (!d)
		return;
	packed_section_drop(d->s.packed_info);
	packed_section_drop(d->s.packed_abbrev);
	packed_section_drop(d->s.packed_line);
}

/* Between lookups nothing refers to decompressed bytes. */
static void trim_pieces(struct dwarf *d)
{
	packed_section_trim(d->s.packed_info, DWARF_PIECES_KEPT);
	packed_section_trim(d->s.packed_line, DWARF_PIECES_KEPT);
}

uint64_t dwarf_touched(struct dwarf *d)
{
	uint64_t touched = d->touched;

	d->touched = 0;
	return touched;
}

void dwarf_free(struct dwarf *d)
{
	if (!d)
		return;
	dwarf_trim(d);
	vec_release(&d->units);
	address_ranges_release(&d->ranges);
	mem_free(d);
}

static enum err lookup_in_unit(struct dwarf *d, struct dwarf_unit *u, uint64_t address,
			       struct raw_frames *ret)
{
	struct line_row row;

	TRY(dwarf_unit_unpack(d, u));
	TRY(dwarf_line_unpack(d, u));
	TRY(dwarf_line_index(d, u));
	TRY(dwarf_function_frames(d, u, address, ret));
	if (!dwarf_line_find(d, u, address, &row, ret))
		return ERR_OK;
	if (!ret->n) { /* assembler: lines without functions */
		ret->v[0] = (struct raw_frame){0};
		ret->n = 1;
	}
	ret->v[0].line = row.line;
	ret->v[0].column = row.column;
	dwarf_line_path(d, u, row.file, &ret->v[0]);
	return ERR_OK;
}

enum err dwarf_lookup(struct dwarf *d, uint64_t address, struct raw_frames *ret)
{
	const struct address_range *range;

	ret->n = 0;
	ret->start = 0;
	ret->end = UINT64_MAX;
	d->budget = RANGES_PER_QUESTION;
	d->touched += TOUCHED_BY_QUESTION;
	if (d->memory > d->memory_limit)
		dwarf_trim(d);
	trim_pieces(d);
	if (d->alternate)
		trim_pieces(d->alternate);
	TRY(dwarf_units_read(d, true));
	range = address_ranges_find(&d->ranges, address);
	if (!range)
		return ERR_OK;
	raw_frames_narrow(ret, address, range->start, range->end);
	return lookup_in_unit(d, &d->units.v[range->value], address, ret);
}
