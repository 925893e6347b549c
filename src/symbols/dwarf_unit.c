#include "symbols/dwarf_reader.h"
#include "symbols/packed_section.h"

/* In bytes, of a 64-bit skeleton unit. */
#define HEADER_MAX 32

/* Reads a header; the cursor stands on the unit's first byte. False when nothing more can
 * follow. */
static bool read_header(struct byte_cursor *c, struct dwarf_unit *u, uint8_t *ret_type)
{
	uint64_t length = cursor_u32(c);
	const uint8_t *start;

	u->offset_size = 4;
	if (length == UINT32_MAX) {
		length = cursor_u64(c);
		u->offset_size = 8;
	}
	if (c->bad || length > cursor_left(c) || length < 7)
		return false;
	start = c->p;
	u->version = cursor_u16(c);
	*ret_type = DW_UT_compile;
	if (u->version >= 5) {
		*ret_type = cursor_u8(c);
		u->address_size = cursor_u8(c);
		u->abbrevs = cursor_sized(c, u->offset_size);
		if (*ret_type == DW_UT_skeleton)
			cursor_skip(c, 8);
	} else {
		u->abbrevs = cursor_sized(c, u->offset_size);
		u->address_size = cursor_u8(c);
	}
	u->end = u->offset + (u->offset_size == 8 ? 12 : 4) + length;
	u->root = u->end - (length - (uint64_t)(c->p - start));
	return !c->bad && u->root <= u->end;
}

static bool readable(const struct dwarf_unit *u, uint8_t type)
{
	return u->version >= 2 && u->version <= 5 &&
	       (u->address_size == 4 || u->address_size == 8) &&
	       (type == DW_UT_compile || type == DW_UT_partial || type == DW_UT_skeleton);
}

enum err dwarf_unit_unpack(struct dwarf *d, const struct dwarf_unit *u)
{
	return packed_section_need(d->s.packed_info, u->offset, u->end);
}

struct str dwarf_unit_bytes(const struct dwarf *d, const struct dwarf_unit *u)
{
	return str_n(d->s.info.p, (size_t)u->end);
}

struct add_range {
	struct dwarf *d;
	uint32_t unit;
};

static enum err add_range(void *context, uint64_t start, uint64_t end)
{
	struct add_range *a = context;

	if (!dwarf_has_room(a->d, a->d->ranges.n, sizeof(struct address_range)))
		return ERR_OK;
	return address_ranges_add(&a->d->ranges, (struct address_range){start, end, a->unit, 0});
}

static void root_facts(struct dwarf *d, struct dwarf_unit *u, const struct dwarf_entry *root)
{
	u->has_line = root->line.form;
	u->line = root->line.number;
	/* Version 5 without a base: the only contribution begins after its header. */
	u->str_offsets_base = root->str_offsets_base.form ? root->str_offsets_base.number
			      : u->version >= 5		  ? (u->offset_size == 8 ? 16 : 8)
							  : 0;
	u->addr_base = root->addr_base.number;
	u->rnglists_base = root->rnglists_base.number;
	if (!dwarf_address(d, u, &root->low_pc, &u->low_pc))
		u->low_pc = 0;
	u->directory = dwarf_string(d, u, &root->directory);
}

/* The root entry has the positions of the unit's code, lines and strings. `t` is scratch. */
static enum err read_root(struct dwarf *d, struct dwarf_unit *u, struct dwarf_abbrevs *t,
			  struct add_range *ranges)
{
	struct byte_cursor c = cursor_at(dwarf_unit_bytes(d, u), u->root);
	uint64_t code = cursor_uleb(&c);
	const struct dwarf_abbrev *a;
	struct dwarf_entry root;

	if (!code)
		return ERR_OK;
	TRY(dwarf_abbrevs_read(t, d->s.abbrev, u, code));
	a = dwarf_abbrev_find(t, code);
	if (!a)
		return ERR_OK;
	dwarf_read_attrs(&c, t, a, u, &root);
	root_facts(d, u, &root);
	return ranges ? dwarf_entry_ranges(d, u, &root, add_range, ranges) : ERR_OK;
}

static enum err read_units(struct dwarf *d, bool with_ranges, struct dwarf_abbrevs *scratch)
{
	struct byte_cursor c = cursor_over(d->s.info);

	TRY(packed_section_need(d->s.packed_abbrev, 0, UINT64_MAX));
	while (cursor_left(&c) && dwarf_has_room(d, d->units.n, sizeof(struct dwarf_unit))) {
		struct dwarf_unit u = {.offset = (uint64_t)(c.p - (const uint8_t *)d->s.info.p)};
		struct add_range ranges = {d, (uint32_t)d->units.n};
		uint8_t type;

		packed_section_trim(d->s.packed_info, DWARF_PIECES_KEPT);
		TRY(packed_section_need(d->s.packed_info, u.offset, u.offset + HEADER_MAX));
		if (!read_header(&c, &u, &type))
			break;
		if (readable(&u, type)) {
			TRY(dwarf_unit_unpack(d, &u));
			TRY(read_root(d, &u, scratch, with_ranges ? &ranges : NULL));
			TRY(vec_push(&d->units, u));
		}
		c = cursor_at(d->s.info, u.end);
	}
	/* All of one priority: of two that overlap the one that begins later wins. */
	return address_ranges_flatten(&d->ranges);
}

enum err dwarf_units_read(struct dwarf *d, bool with_ranges)
{
	struct dwarf_abbrevs scratch = {0};
	enum err error;

	if (d->units_known)
		return ERR_OK;
	error = read_units(d, with_ranges, &scratch);
	dwarf_abbrevs_release(&scratch);
	d->units_known = !error;
	if (error) {
		vec_release(&d->units);
		address_ranges_release(&d->ranges);
	}
	return error;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf *d, uint64_t offset)
{
	size_t low = 0, high = d->units.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->units.v[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->units.n && d->units.v[low].root <= offset ? &d->units.v[low] : NULL;
}
