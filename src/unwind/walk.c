/* The unwinder outside the kernel: the same steps (unwind_step.h) over memory given by a function.
 */
#include "unwind/unwind.h"

struct walk {
	const struct unwind_process *process;
	u64 *words;
	size_t n, max;
};

static bool unwind_read(void *context, u64 address, u64 *ret)
{
	const struct unwind_process *p = ((const struct walk *)context)->process;

	return p->read(p->context, address, ret);
}

static bool unwind_add(void *context, u64 word)
{
	struct walk *w = context;

	if (w->n == w->max)
		return false;
	w->words[w->n++] = word;
	return true;
}

#include "unwind/unwind_step.h"
#include "unwind/unwinders.h"

_Static_assert(ARCH_REGISTERS == 17, "unwind_walk takes as many");

static int step_other(struct walk *w, struct unwind_frame *f, u32 number)
{
	static int (*const steps[UNWINDER_COUNT])(void *, struct unwind_frame *) = {
#define STEP(name, step) [UNWINDER_##name] = step,
		UNWINDERS(STEP)
#undef STEP
	};

	return number < UNWINDER_COUNT && steps[number] ? steps[number](w, f) : UNWIND_NO_RULE;
}

static int step(struct walk *w, struct unwind_frame *f, const u64 *registers, bool first)
{
	const struct unwind_process *p = w->process;
	u32 rule = UNWIND_RULE_NONE;
	int end = p->rule(p->context, unwind_lookup_address(f), &rule);

	if (end >= 0)
		return end;
	if (!(rule & UNWIND_ESCAPE))
		return unwind_step_short(w, f, rule);
	rule &= ~UNWIND_ESCAPE;
	if (rule & UNWIND_OTHER)
		return step_other(w, f, rule & ~UNWIND_OTHER);
	if (rule >= p->rule_count)
		return UNWIND_NO_RULE;
	return unwind_step_long(w, f, &p->rules[rule], registers, first);
}

enum unwind_end unwind_walk(const struct unwind_process *p, const u64 registers[17], u64 *addresses,
			    size_t max, size_t *ret_count)
{
	struct unwind_frame f = {registers[ARCH_DWARF_RA], registers[ARCH_DWARF_RSP],
				 registers[ARCH_DWARF_RBP], 1, 0};
	struct walk w = {.process = p, .words = addresses, .max = max};
	bool first = true;
	int end = -1;

	while (end < 0) {
		if (!unwind_add(&w, f.pc)) {
			end = UNWIND_CUT;
			break;
		}
		end = step(&w, &f, registers, first);
		first = false;
	}
	*ret_count = w.n;
	return (enum unwind_end)end;
}

static u32 half(const char *at, size_t index)
{
	u16 value;

	memcpy(&value, at + 2 * index, sizeof(value));
	return value;
}

/* A table that is not at its place yet lies in one piece; segments do not matter here. */
u32 unwind_table_rule(const struct unwind_table *t, u64 address)
{
	u64 page = address >> UNWIND_PAGE_SHIFT;
	u32 low = address & (UNWIND_PAGE_SIZE - 1), slot = low >> UNWIND_SLOT_SHIFT;
	u32 row, end, count, number;
	const char *block, *rows, *rules;

	if (page >= t->page_count || !t->pages[page])
		return UNWIND_RULE_NONE;
	block = t->blocks.data + t->pages[page] - 1;
	rows = block + UNWIND_BLOCK_HEAD;
	rules = rows + 2 * (size_t)half(block, UNWIND_SLOTS);
	count = half(block, UNWIND_SLOTS + 1);
	end = half(block, slot + 1);
	for (row = half(block, slot); row < end; row++)
		if (half(rows, row) >> UNWIND_NUMBER_BITS > (low & (UNWIND_SLOT_SIZE - 1)))
			break;
	row--;
	number = half(rows, row) & (UNWIND_NUMBERS - 1);
	if (count > UNWIND_NUMBERS)
		number |= (u32)(u8)rules[2 * (size_t)count + row] << UNWIND_NUMBER_BITS;
	return half(rules, number);
}
