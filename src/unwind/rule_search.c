/*
 * One rule without a table of all, through the index that linkers write for the exceptions of C++:
 *
 *	.eh_frame_hdr	version, three encodings; where .eh_frame is; count;
 *			count * (start of a function, its entry), sorted, relative to here
 */
#include "unwind/frame_info.h"

#define HEAD_SIZE    12
#define ROW_SIZE     8
/* Version 1, and the encodings that all linkers write. */
#define HEAD_USUAL   0x3b031b01u
/* Maximum size of a function: limits the search after the last one. */
#define FUNCTION_MAX (1u << 26)

struct frame_index {
	struct elf_part part; /* .eh_frame_hdr */
	struct frame_section frames;
	u32 count;
};

static s32 word(const struct frame_index *x, u64 offset)
{
	s32 value;

	memcpy(&value, x->part.bytes.p + offset, sizeof(value));
	return value;
}

static bool read_index(const struct elf_view *e, struct frame_index *ret)
{
	struct elf_part *part = &ret->part;

	if (part->bytes.n < HEAD_SIZE || (u32)word(ret, 0) != HEAD_USUAL ||
	    !elf_view_bytes_at(e, part->address + 4 + (u64)(s64)word(ret, 4), &ret->frames.part))
		return false;
	ret->count = (u32)word(ret, 8);
	return ret->count && ret->count <= (part->bytes.n - HEAD_SIZE) / ROW_SIZE;
}

static bool find_index(const struct elf_view *e, struct frame_index *ret)
{
	Elf64_Phdr p;

	for (u32 i = 0; elf_view_program_header(e, i, &p); i++)
		if (p.p_type == PT_GNU_EH_FRAME && elf_view_bytes_at(e, p.p_vaddr, &ret->part))
			return read_index(e, ret);
	return false;
}

static u64 start_of(const struct frame_index *x, u32 n)
{
	return x->part.address + (u64)(s64)word(x, HEAD_SIZE + (u64)n * ROW_SIZE);
}

/* Number of functions that begin at the address or before. */
static u32 count_until(const struct frame_index *x, u64 address)
{
	u32 low = 0, high = x->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (start_of(x, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool read_entry(struct frame_index *x, u32 n, struct frame_fde *ret)
{
	u64 at = x->part.address + (u64)(s64)word(x, HEAD_SIZE + (u64)n * ROW_SIZE + 4) -
		 x->frames.part.address;
	bool is_fde;
	u64 next;

	if (at >= x->frames.part.bytes.n)
		return false;
	frame_entry(&x->frames, at, ret, &is_fde, &next);
	return is_fde && ret->start && ret->size < FUNCTION_MAX;
}

struct wanted {
	u64 address;
	u32 rule;
};

static void on_row(void *context, u64 address, u32 rule)
{
	struct wanted *w = context;

	if (address <= w->address)
		w->rule = rule;
}

/* After a function only the table can tell, except at the entry point. */
static enum err search_gap(const struct frame_index *x, u32 next, u64 end, u64 root, u64 address,
			   u32 *ret)
{
	if (address != root || next == x->count || root < end)
		return ERR_NOT_FOUND;
	*ret = UNWIND_RULE_END;
	return ERR_OK;
}

enum err unwind_rule_search(struct str file, u64 address, struct unwind_rules *rules, u32 *ret)
{
	struct wanted w = {address, UNWIND_RULE_NONE};
	struct frame_index x = {0};
	struct elf_view view;
	struct frame_fde fde;
	u32 n;

	TRY(elf_view_open(file, &view, NULL));
	if (!find_index(&view, &x))
		return ERR_NOT_FOUND;
	n = count_until(&x, address);
	if (!n)
		return search_gap(&x, 0, 0, view.header.e_entry, address, ret);
	if (!read_entry(&x, n - 1, &fde))
		return ERR_NOT_FOUND;
	if (address - fde.start >= fde.size)
		return search_gap(&x, n, fde.start + fde.size, view.header.e_entry, address, ret);
	/* It has no caller, whatever its entry says. */
	if (view.header.e_entry - fde.start < fde.size)
		w.rule = UNWIND_RULE_END;
	else
		frame_rows(&fde, rules, &w, on_row);
	*ret = w.rule;
	return ERR_OK;
}
