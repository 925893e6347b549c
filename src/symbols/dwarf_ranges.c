/*
 * Range lists, of both kinds: .debug_ranges (up to version 4, pairs of addresses) and
 * .debug_rnglists (version 5, a byte that says what follows). A list may be referenced by any
 * number of entries, so its length is charged to the budget of the lookup.
 */
#include "symbols/dwarf_reader.h"

struct visit {
	struct dwarf *d;
	const struct dwarf_unit *u;
	dwarf_range_fn *fn;
	void *context;
};

static enum err call(const struct visit *v, uint64_t start, uint64_t end)
{
	/* Code the linker dropped stands at 0, 1 or at the very end. */
	if (start <= 1 || start >= UINT64_MAX - 1 || start >= end)
		return ERR_OK;
	return v->fn(v->context, start, end);
}

static enum err old_list(const struct visit *v, uint64_t offset)
{
	struct byte_cursor c = cursor_at(v->d->s.ranges, offset);
	unsigned size = v->u->address_size;
	uint64_t base = v->u->low_pc, largest = size < 8 ? UINT32_MAX : UINT64_MAX;

	while (v->d->budget) {
		uint64_t start = cursor_sized(&c, size), end = cursor_sized(&c, size);

		v->d->budget--;
		if (c.bad || (!start && !end))
			break;
		if (start == largest)
			base = end;
		else
			TRY(call(v, base + start, base + end));
	}
	return ERR_OK;
}

static uint64_t indexed(const struct visit *v, struct byte_cursor *c)
{
	struct dwarf_value value = {.form = DW_FORM_addrx, .number = cursor_uleb(c)};
	uint64_t address = 0;

	if (!dwarf_address(v->d, v->u, &value, &address))
		cursor_fail(c);
	return address;
}

static enum err new_list(const struct visit *v, uint64_t offset)
{
	struct byte_cursor c = cursor_at(v->d->s.rnglists, offset);
	unsigned size = v->u->address_size;
	uint64_t base = v->u->low_pc, start, end;

	while (v->d->budget) {
		v->d->budget--;
		switch (cursor_u8(&c)) {
		case DW_RLE_base_addressx:
			base = indexed(v, &c);
			continue;
		case DW_RLE_base_address:
			base = cursor_sized(&c, size);
			continue;
		case DW_RLE_startx_endx:
			start = indexed(v, &c);
			end = indexed(v, &c);
			break;
		case DW_RLE_startx_length:
			start = indexed(v, &c);
			end = start + cursor_uleb(&c);
			break;
		case DW_RLE_offset_pair:
			start = base + cursor_uleb(&c);
			end = base + cursor_uleb(&c);
			break;
		case DW_RLE_start_end:
			start = cursor_sized(&c, size);
			end = cursor_sized(&c, size);
			break;
		case DW_RLE_start_length:
			start = cursor_sized(&c, size);
			end = start + cursor_uleb(&c);
			break;
		default: /* the end of the list, or nothing that can be read */
			return ERR_OK;
		}
		if (c.bad)
			break;
		TRY(call(v, start, end));
	}
	return ERR_OK;
}

static enum err list(const struct visit *v, const struct dwarf_value *ranges)
{
	uint64_t offset = ranges->number;
	struct byte_cursor c;

	if (v->u->version < 5)
		return old_list(v, offset);
	if (ranges->form != DW_FORM_rnglistx)
		return new_list(v, offset);
	if (__builtin_mul_overflow(offset, (uint64_t)v->u->offset_size, &offset) ||
	    __builtin_add_overflow(offset, v->u->rnglists_base, &offset))
		return ERR_OK;
	c = cursor_at(v->d->s.rnglists, offset);
	offset = cursor_sized(&c, v->u->offset_size);
	if (c.bad || __builtin_add_overflow(offset, v->u->rnglists_base, &offset))
		return ERR_OK;
	return new_list(v, offset);
}

enum err dwarf_entry_ranges(struct dwarf *d, const struct dwarf_unit *u,
			    const struct dwarf_entry *e, dwarf_range_fn *fn, void *context)
{
	struct visit v = {d, u, fn, context};
	uint64_t low, high;

	if (e->ranges.form)
		return list(&v, &e->ranges);
	if (!e->low_pc.form || !e->high_pc.form || !dwarf_address(d, u, &e->low_pc, &low))
		return ERR_OK;
	if (!dwarf_address(d, u, &e->high_pc, &high)) /* a number is the length */
		high = low + e->high_pc.number;
	return call(&v, low, high);
}
