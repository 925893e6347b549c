/* The unwinder over stacks and rules made by hand. */
#include "test.h"
#include "unwind/arch_x86_64.h"
#include "unwind/unwind.h"

#define STACK 0x7f0000001000ull

struct made {
	u64 words[256]; /* from STACK on */
	size_t count;
	struct {
		u64 address;
		u32 rule;
		int end;
	} code[16];
	size_t code_count;
	struct unwind_rule rules[16];
	u64 registers[17];
	u64 found[64];
	size_t n;
};

static bool read_word(void *context, u64 address, u64 *ret)
{
	struct made *m = context;

	if (address < STACK || address % 8 || (address - STACK) / 8 >= m->count)
		return false;
	*ret = m->words[(address - STACK) / 8];
	return true;
}

static int find_rule(void *context, u64 address, u32 *ret)
{
	struct made *m = context;

	for (size_t i = 0; i < m->code_count; i++) {
		if (m->code[i].address == address) {
			*ret = m->code[i].rule;
			return m->code[i].end;
		}
	}
	return UNWIND_UNMAPPED;
}

static void code(struct made *m, u64 address, u32 rule)
{
	m->code[m->code_count].address = address;
	m->code[m->code_count].rule = rule;
	m->code[m->code_count++].end = -1;
}

static enum unwind_end walk(struct made *m, size_t max)
{
	struct unwind_process p = {.context = m,
				   .read = read_word,
				   .rule = find_rule,
				   .rules = m->rules,
				   .rule_count = 16};

	m->registers[ARCH_DWARF_RSP] = m->registers[ARCH_DWARF_RSP] ?: STACK;
	return unwind_walk(&p, m->registers, m->found, max, &m->n);
}

#define RSP(cfa)	((u32)(cfa) / 8 << 5)
#define RBP(cfa, saved) (UNWIND_CFA_RBP | RSP(cfa) | (saved) / 8)
#define LONG(n)		(UNWIND_ESCAPE | (n))

TEST(short_rules_lead_to_the_root)
{
	struct made m = {.count = 10};

	/* The leaf is looked up as it is, callers one byte before. */
	m.registers[ARCH_DWARF_RA] = 0x100;
	m.registers[ARCH_DWARF_RBP] = 77;
	code(&m, 0x100, RSP(16) | 2);
	code(&m, 0x1ff, RBP(16, 16));
	m.words[0] = STACK + 4 * 8; /* rbp of the caller */
	m.words[1] = 0x200;
	m.words[4] = 0;
	m.words[5] = 0; /* the end */
	CHECK_INT(walk(&m, 64), UNWIND_ROOT);
	CHECK_INT(m.n, 2);
	CHECK_INT(m.found[0], 0x100);
	CHECK_INT(m.found[1], 0x200);
}

TEST(an_end_is_the_root_and_keeps_its_frame)
{
	struct made m = {.count = 4, .rules = {[1] = {.kind = UNWIND_END}}};

	m.registers[ARCH_DWARF_RA] = 0x100;
	code(&m, 0x100, RSP(8));
	code(&m, 0x1ff, UNWIND_RULE_END);
	m.words[0] = 0x200;
	CHECK_INT(walk(&m, 64), UNWIND_ROOT);
	CHECK_INT(m.n, 2);
}

TEST(walks_end_with_what_was_missing)
{
	struct made m = {.count = 2};

	m.registers[ARCH_DWARF_RA] = 0x100;
	CHECK_INT(walk(&m, 64), UNWIND_UNMAPPED);
	CHECK_INT(m.n, 1);
	code(&m, 0x100, RSP(8));
	m.words[0] = 0x200;
	code(&m, 0x1ff, UNWIND_RULE_NONE);
	CHECK_INT(walk(&m, 64), UNWIND_NO_RULE);
	CHECK_INT(m.n, 2);
	m.code[1].rule = UNWIND_ESCAPE | 0x7fff;
	CHECK_INT(walk(&m, 64), UNWIND_NO_RULE);
	m.code[1].end = UNWIND_NO_TABLE;
	CHECK_INT(walk(&m, 64), UNWIND_NO_TABLE);
	m.code[1].end = -1;
	m.code[1].rule = RSP(64);
	CHECK_INT(walk(&m, 64), UNWIND_BAD_MEMORY);
	CHECK_INT(m.n, 2);
	/* The return address is there, the saved rbp is not. */
	m.code[0].rule = RSP(8) | 4;
	CHECK_INT(walk(&m, 64), UNWIND_BAD_MEMORY);
	CHECK_INT(m.n, 1);
}

TEST(a_stack_that_does_not_rise_is_a_loop)
{
	struct made m = {.count = 8};

	m.registers[ARCH_DWARF_RA] = 0x100;
	m.registers[ARCH_DWARF_RSP] = STACK + 32;
	m.registers[ARCH_DWARF_RBP] = STACK;
	m.words[1] = m.words[4] = 0x200;
	code(&m, 0x100, RSP(8));
	code(&m, 0x1ff, RBP(16, 16));
	CHECK_INT(walk(&m, 64), UNWIND_LOOP);
	CHECK_INT(m.n, 2);
	/* Nor may it stand still, but for a leaf. */
	m.code[1].rule = RSP(0);
	CHECK_INT(walk(&m, 64), UNWIND_LOOP);
}

TEST(a_deep_stack_is_cut)
{
	struct made m = {.count = 200};

	m.registers[ARCH_DWARF_RA] = 0x200;
	code(&m, 0x200, RSP(8));
	code(&m, 0x1ff, RSP(8));
	for (size_t i = 0; i < 200; i++)
		m.words[i] = 0x200;
	CHECK_INT(walk(&m, 50), UNWIND_CUT);
	CHECK_INT(m.n, 50);
	CHECK_INT(walk(&m, 0), UNWIND_CUT);
	CHECK_INT(m.n, 0);
}

TEST(long_rules_find_the_frame_through_other_registers_and_memory)
{
	struct made m = {.count = 20,
			 .rules = {[3] = {.kind = UNWIND_REGISTER,
					  .cfa_register = 10,
					  .cfa_offset = 8,
					  .rbp_saved = UNWIND_AT_CFA,
					  .rbp_offset = -24},
				   [4] = {.kind = UNWIND_DEREF,
					  .cfa_register = ARCH_DWARF_RBP,
					  .cfa_offset = -8,
					  .cfa_add = 8,
					  .rbp_saved = UNWIND_AT_REGISTER,
					  .rbp_offset = 0},
				   [5] = {.kind = UNWIND_REGISTER,
					  .cfa_register = ARCH_DWARF_RSP,
					  .cfa_offset = 16,
					  .ra_saved = UNWIND_AT_CFA,
					  .ra_offset = -16}}};

	m.registers[ARCH_DWARF_RA] = 0x100;
	m.registers[10] = STACK + 3 * 8;
	code(&m, 0x100, LONG(3));
	m.words[3] = 0x200;
	m.words[1] = STACK + 8 * 8; /* rbp */
	code(&m, 0x1ff, LONG(4));
	m.words[7] = STACK + 9 * 8; /* CFA = this + 8 */
	m.words[8] = STACK + 15 * 8;
	m.words[9] = 0x300;
	code(&m, 0x2ff, LONG(5));
	m.words[10] = 0x400;
	code(&m, 0x3ff, RBP(16, 16));
	CHECK_INT(walk(&m, 64), UNWIND_ROOT);
	CHECK_INT(m.n, 4);
	CHECK_INT(m.found[3], 0x400);
}

TEST(other_registers_are_known_in_the_first_frame_only)
{
	struct made m = {.count = 8,
			 .rules = {[3] = {.kind = UNWIND_REGISTER, .cfa_register = 10},
				   [4] = {.kind = UNWIND_REGISTER,
					  .cfa_register = ARCH_DWARF_RSP,
					  .ra_saved = UNWIND_IN_REGISTER,
					  .ra_offset = 2}}};

	m.registers[ARCH_DWARF_RA] = 0x100;
	m.registers[2] = 0x200;
	/* A leaf that pushed nothing: the frame stays where it is. */
	code(&m, 0x100, LONG(4));
	code(&m, 0x1ff, LONG(3));
	CHECK_INT(walk(&m, 64), UNWIND_NO_RULE);
	CHECK_INT(m.n, 2);
	m.code[1].rule = LONG(4);
	CHECK_INT(walk(&m, 64), UNWIND_NO_RULE);
	m.rules[4].ra_offset = 17;
	CHECK_INT(walk(&m, 64), UNWIND_NO_RULE);
	CHECK_INT(m.n, 1);
}

TEST(a_stub_of_the_linkage_table_depends_on_the_place_in_it)
{
	struct made m = {.count = 4, .rules = {[3] = {.kind = UNWIND_PLT, .cfa_offset = 11}}};

	m.words[0] = 0x200;
	m.words[1] = 0x300;
	code(&m, 0x10a, LONG(3));
	code(&m, 0x10b, LONG(3));
	m.registers[ARCH_DWARF_RA] = 0x10a;
	CHECK_INT(walk(&m, 64), UNWIND_UNMAPPED);
	CHECK_INT(m.found[1], 0x200);
	m.registers[ARCH_DWARF_RA] = 0x10b;
	CHECK_INT(walk(&m, 64), UNWIND_UNMAPPED);
	CHECK_INT(m.found[1], 0x300);
}

TEST(a_function_that_changed_the_stack_goes_back_to_it_or_is_the_root)
{
	struct made m = {.count = 64, .rules = {[3] = {.kind = UNWIND_SWITCH}}};

	m.registers[ARCH_DWARF_RA] = 0x100;
	m.registers[ARCH_DWARF_RSP] = STACK + 20 * 8;
	m.registers[ARCH_DWARF_RBP] = STACK + 4 * 8;
	code(&m, 0x100, RSP(8));
	m.words[20] = 0x200;
	code(&m, 0x1ff, UNWIND_RULE_SWITCH);
	/* The stack it left, below: its own frame, then that of its caller. */
	m.words[4] = STACK + 8 * 8;
	m.words[5] = 0x300;
	code(&m, 0x2ff, RSP(16));
	CHECK_INT(walk(&m, 64), UNWIND_ROOT);
	CHECK_INT(m.n, 3);
	CHECK_INT(m.found[2], 0x300);
	m.registers[ARCH_DWARF_RBP] = STACK - 8;
	CHECK_INT(walk(&m, 64), UNWIND_BAD_MEMORY);
	m.registers[ARCH_DWARF_RBP] = 0;
	CHECK_INT(walk(&m, 64), UNWIND_ROOT);
	CHECK_INT(m.n, 2);
	/* A ring of stacks ends where there is no more room. */
	m.registers[ARCH_DWARF_RBP] = STACK + 4 * 8;
	m.words[4] = STACK + 4 * 8;
	m.words[5] = 0x200;
	CHECK_INT(walk(&m, 64), UNWIND_CUT);
}

TEST(a_signal_frame_goes_on_where_it_interrupted_even_on_a_lower_stack)
{
	struct made m = {.count = 64, .rules = {[2] = {.kind = UNWIND_SIGNAL}}};

	m.registers[ARCH_DWARF_RA] = 0x100;
	m.registers[ARCH_DWARF_RSP] = STACK + 20 * 8;
	code(&m, 0x100, RSP(8));
	m.words[20] = 0x200;
	code(&m, 0x1ff, UNWIND_RULE_SIGNAL);
	m.words[21 + ARCH_SIGNAL_RSP / 8] = STACK;
	m.words[21 + ARCH_SIGNAL_RBP / 8] = STACK + 8;
	m.words[21 + ARCH_SIGNAL_RIP / 8] = 0x300;
	/* An interrupted instruction is looked up as it is. */
	code(&m, 0x300, RBP(16, 16));
	CHECK_INT(walk(&m, 64), UNWIND_ROOT);
	CHECK_INT(m.n, 3);
	CHECK_INT(m.found[2], 0x300);
	m.count = 30;
	CHECK_INT(walk(&m, 64), UNWIND_BAD_MEMORY);
}
