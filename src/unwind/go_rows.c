#include "unwind/go_rows.h"

#include "unwind/cursor.h"

#define GO_116 0xfffffffau
#define GO_118 0xfffffff0u
#define GO_120 0xfffffff1u

/* Flags of a function. */
#define GO_TOP_FRAME 1u /* the root of a goroutine or thread */
#define GO_SP_WRITE  2u /* continues on another stack */

/* Offset of the first function's address in struct moduledata, since Go 1.18. */
#define MODULE_TEXT 176

static u64 word(const struct go_table *t, u64 at, size_t size)
{
	u64 value = 0;

	if (at > t->bytes.n || t->bytes.n - at < size)
		return 0;
	memcpy(&value, t->bytes.p + at, size);
	return value;
}

/* Since Go 1.26 the table does not say where the code begins. */
static u64 find_text(const struct elf_view *e)
{
	struct elf_part part;
	u64 text = 0;

	if (elf_view_section(e, ".go.module", &part) &&
	    part.bytes.n >= MODULE_TEXT + sizeof(text)) {
		memcpy(&text, part.bytes.p + MODULE_TEXT, sizeof(text));
		if (text)
			return text;
	}
	/* In position-independent programs the loader fills it in; the linker puts Go's code first.
	 */
	return elf_view_section(e, ".text", &part) ? part.address : 0;
}

bool go_table_open(const struct elf_view *e, struct go_table *ret)
{
	struct go_table t = {0};
	struct elf_part part;
	u64 magic, field;

	if (!elf_view_section(e, ".gopclntab", &part) &&
	    !elf_view_section(e, ".data.rel.ro.gopclntab", &part))
		return false;
	t.bytes = part.bytes;
	magic = word(&t, 0, 4);
	if (word(&t, 4, 2) || word(&t, 6, 1) != 1 || word(&t, 7, 1) != 8)
		return false;
	t.wide = magic == GO_116;
	if (!t.wide && magic != GO_118 && magic != GO_120)
		return false;
	/* After the count of functions and of files, and the start of the code where it is said. */
	field = t.wide ? 24 : 32;
	t.count = (u32)word(&t, 8, 8);
	t.text = t.wide ? 0 : word(&t, 24, 8);
	if (!t.wide && !t.text)
		t.text = find_text(e);
	t.pctab = word(&t, field + 24, 8);
	t.functab = word(&t, field + 32, 8);
	t.functions = t.functab;
	t.flag_at = t.wide ? 40 : magic == GO_118 ? 37 : 41;
	if (t.functab >= t.bytes.n || t.pctab >= t.bytes.n ||
	    t.count > (t.bytes.n - t.functab) / (t.wide ? 16 : 8))
		return false;
	*ret = t;
	return true;
}

static u64 entry_address(const struct go_table *t, u32 n)
{
	return t->wide ? word(t, t->functab + (u64)n * 16, 8)
		       : t->text + word(t, t->functab + (u64)n * 8, 4);
}

bool go_function(const struct go_table *t, u32 n, u64 *ret_start, u64 *ret_end)
{
	*ret_start = entry_address(t, n);
	*ret_end = entry_address(t, n + 1);
	return n < t->count && *ret_start < *ret_end;
}

static u32 delta_rule(s64 delta)
{
	if (delta < 0 || delta % 8 || delta > (s64)UNWIND_CFA_MAX - 8)
		return UNWIND_RULE_FRAME_POINTER;
	/* A function with a frame keeps its caller's rbp at the top of it. */
	return (u32)((delta + 8) / 8) << 5 | (delta ? 2u : 0u);
}

void go_function_rows(const struct go_table *t, u32 n, void *context,
		      void (*row)(void *context, u64 address, u32 rule))
{
	u64 start = entry_address(t, n), end = entry_address(t, n + 1), address = start;
	u64 at =
		t->functions + word(t, t->functab + (u64)n * (t->wide ? 16 : 8) + (t->wide ? 8 : 4),
				    t->wide ? 8 : 4);
	u64 flags = word(t, at + t->flag_at, 1), pcsp = word(t, at + (t->wide ? 20 : 16), 4);
	struct cursor c = cursor_of(t->bytes);
	s64 value = -1;

	if (flags & GO_TOP_FRAME) {
		row(context, start, UNWIND_RULE_END);
		return;
	}
	if (flags & GO_SP_WRITE || !pcsp) {
		row(context, start, pcsp ? UNWIND_RULE_SWITCH : UNWIND_RULE_ENTRY);
		return;
	}
	cursor_skip(&c, t->pctab + pcsp);
	for (;;) {
		u64 change = cursor_uleb(&c), size = cursor_uleb(&c);

		/* The end, or a table that cannot be: of a whole function nothing is then known. */
		if (c.bad || !size || (!change && address != start) ||
		    __builtin_add_overflow(value, (s64)(change >> 1) ^ -(s64)(change & 1), &value))
			break;
		row(context, address, delta_rule(value));
		if (size >= end - address)
			return;
		address += size;
	}
	if (address == start)
		row(context, start, UNWIND_RULE_FRAME_POINTER);
}
