/* Programs of CIEs and FDEs written by hand, instruction by instruction. */
#include "elf_maker.h"
#include "test.h"
#include "unwind/arch_x86_64.h"

#define START 0x1000u
#define SIZE  0x100u

static struct unwind_rules *rules;
static struct seen_rows seen;

/* Runs a program in a function of its own. */
static void run_with(struct made_cie cie, struct str program)
{
	struct buf b = BUF_INIT(1 << 16);
	u64 cie_at = cie_make(&b, cie), at = fde_make(&b, cie, cie_at, START, SIZE, program), next;
	struct frame_section s = {.part = {buf_view(&b), 0x8000}, .debug = cie.debug};
	struct frame_fde fde;
	bool is_fde;

	seen.n = 0;
	if (!rules && unwind_rules_new(&rules) != ERR_OK)
		return;
	frame_entry(&s, at, &fde, &is_fde, &next);
	if (is_fde)
		frame_rows(&fde, rules, &seen, seen_row);
	buf_release(&b);
}

static u32 last_rule(void)
{
	return seen.n ? seen.rule[seen.n - 1] : 0;
}

static const struct unwind_rule *long_rule(u32 number)
{
	static const struct unwind_rule none = {0};
	size_t count;
	const struct unwind_rule *all = unwind_rules_all(rules, &count);

	return number & UNWIND_ESCAPE && (number & ~UNWIND_ESCAPE) < count
		       ? &all[number & ~UNWIND_ESCAPE]
		       : &none;
}

static u32 rule_of(struct str program)
{
	run_with(CIE_PLAIN, program);
	return last_rule();
}

TEST(a_function_without_a_program_has_the_rule_of_its_cie)
{
	CHECK_INT(rule_of(STR("")), UNWIND_RULE_ENTRY);
	CHECK_INT(seen.n, 1);
	CHECK_INT(seen.address[0], START);
}

TEST(short_rules_come_from_where_the_frame_and_rbp_are)
{
	static const struct {
		struct str program;
		u32 rule;
	} cases[] = {
		{STR("\0\0\0"), RSP_RULE(8, 0)},		       /* nop */
		{STR("\x0e\x10"), RSP_RULE(16, 0)},		       /* def_cfa_offset */
		{STR("\x0e\xf8\x1f"), RSP_RULE(4088, 0)},	       /* the largest */
		{STR("\x0c\x06\x10"), RBP_RULE(16, 0)},		       /* def_cfa */
		{STR("\x0d\x06"), RBP_RULE(8, 0)},		       /* def_cfa_register */
		{STR("\x12\x06\x7e"), RBP_RULE(16, 0)},		       /* def_cfa_sf */
		{STR("\x13\x7d"), RSP_RULE(24, 0)},		       /* def_cfa_offset_sf */
		{STR("\x86\x02"), RSP_RULE(8, 16)},		       /* offset */
		{STR("\x86\x1f"), RSP_RULE(8, 248)},		       /* the farthest */
		{STR("\x05\x06\x02"), RSP_RULE(8, 16)},		       /* offset_extended */
		{STR("\x11\x06\x02"), RSP_RULE(8, 16)},		       /* offset_extended_sf */
		{STR("\x86\x02\xc6"), RSP_RULE(8, 0)},		       /* restore */
		{STR("\x86\x02\x06\x06"), RSP_RULE(8, 0)},	       /* restore_extended */
		{STR("\x86\x02\x08\x06"), RSP_RULE(8, 0)},	       /* same_value */
		{STR("\x83\x05\x8c\x04\xc3\x08\x0c"), RSP_RULE(8, 0)}, /* registers nobody wants */
		{STR("\x2e\x20"), RSP_RULE(8, 0)},		       /* GNU_args_size */
		{STR("\x14\x03\x02\x15\x03\x7e"), RSP_RULE(8, 0)},     /* val_offset, _sf */
		{STR("\x16\x03\x02\x77\x08"), RSP_RULE(8, 0)},	       /* val_expression */
		{STR("\x10\x03\x02\x76\x08"), RSP_RULE(8, 0)},	       /* expression of another */
		{STR("\x09\x03\x04"), RSP_RULE(8, 0)},		       /* register of another */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(rule_of(cases[i].program), cases[i].rule);
}

TEST(what_does_not_fit_a_short_rule_becomes_a_long_one)
{
	const struct unwind_rule *r = long_rule(rule_of(STR("\x0e\x80\x20")));

	CHECK(r->kind == UNWIND_REGISTER && r->cfa_register == 7 && r->cfa_offset == 4096);
	CHECK(r->ra_saved == UNWIND_SAME && r->rbp_saved == UNWIND_SAME);
	r = long_rule(rule_of(STR("\x0e\x0c")));
	CHECK(r->kind == UNWIND_REGISTER && r->cfa_offset == 12);
	r = long_rule(rule_of(STR("\x0c\x0a\x00")));
	CHECK(r->kind == UNWIND_REGISTER && r->cfa_register == 10 && r->cfa_offset == 0);
	r = long_rule(rule_of(STR("\x86\x20")));
	CHECK(r->rbp_saved == UNWIND_AT_CFA && r->rbp_offset == -256);
	/* GNU_negative_offset_extended: above the frame. */
	r = long_rule(rule_of(STR("\x2f\x06\x02")));
	CHECK(r->rbp_saved == UNWIND_AT_CFA && r->rbp_offset == 16);
	r = long_rule(rule_of(STR("\x90\x02")));
	CHECK(r->ra_saved == UNWIND_AT_CFA && r->ra_offset == -16);
	/* The return address in rcx, as in some stubs. */
	r = long_rule(rule_of(STR("\x09\x10\x02")));
	CHECK(r->ra_saved == UNWIND_IN_REGISTER && r->ra_offset == 2);
}

TEST(rbp_that_went_nobody_knows_where_leaves_the_rest_of_the_rule)
{
	static const struct str programs[] = {STR("\x07\x06"), STR("\x09\x06\x03"),
					      STR("\x16\x06\x02\x77\x08"),
					      STR("\x10\x06\x02\x73\x08")};

	for (size_t i = 0; i < 4; i++) {
		const struct unwind_rule *r = long_rule(rule_of(programs[i]));

		CHECK(r->kind == UNWIND_REGISTER && r->cfa_offset == 8 &&
		      r->rbp_saved == UNWIND_SAME);
	}
}

TEST(expressions_that_compilers_write_are_understood)
{
	/* CFA = *(rbp - 8) */
	const struct unwind_rule *r = long_rule(rule_of(STR("\x0f\x03\x76\x78\x06")));

	CHECK(r->kind == UNWIND_DEREF && r->cfa_register == 6 && r->cfa_offset == -8 &&
	      !r->cfa_add);
	/* CFA = *(rsp + 160) + 8 */
	r = long_rule(rule_of(STR("\x0f\x06\x77\xa0\x01\x06\x23\x08")));
	CHECK(r->kind == UNWIND_DEREF && r->cfa_register == 7 && r->cfa_offset == 160 &&
	      r->cfa_add == 8);
	/* CFA = rsp + 24, said with an expression. */
	r = long_rule(rule_of(STR("\x0f\x02\x77\x18")));
	CHECK(r->kind == UNWIND_REGISTER && r->cfa_register == 7 && r->cfa_offset == 24);
	/* rbp saved at (rbp + 0), beside a realigned stack. */
	r = long_rule(rule_of(STR("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00")));
	CHECK(r->kind == UNWIND_DEREF && r->rbp_saved == UNWIND_AT_REGISTER && r->rbp_offset == 0);
	/* What linkers write for the PLT. */
	r = long_rule(rule_of(STR("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22")));
	CHECK(r->kind == UNWIND_PLT && r->cfa_offset == 11);
}

TEST(expressions_that_are_not_understood_end_the_walk)
{
	static const struct str programs[] = {
		STR("\x0f\x00\x0f\x01\x96"),			 /* nop */
		STR("\x0f\x01\x77"),				 /* cut */
		STR("\x0f\x02\x80\x00"),			 /* register 16 */
		STR("\x0f\x04\x77\x08\x06\x06"),		 /* two reads */
		STR("\x0f\x05\x77\x08\x06\x23\x80"),		 /* a number without end */
		STR("\x0f\x07\x77\x08\x06\x23\x80\x80\x04"),	 /* too far */
		STR("\x0f\x08\x77\xff\xff\xff\xff\xff\xff\x00"), /* farther */
		STR("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x40\x2a\x33\x24\x22"), /* PLT, beyond 15 */
		STR("\x0c\x11\x08"),					     /* no such register */
		STR("\x12\x07\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), /* an offset that wraps */
		STR("\x86\x80\x80\x04"),				 /* rbp, too far */
		STR("\x90\x80\x80\x04"),     /* the return address too */
		STR("\x08\x10"),	     /* the same return address */
		STR("\x10\x10\x02\x77\x08"), /* an expression for it */
		STR("\x09\x10\x20"),	     /* in a register we have not */
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		CHECK_INT(rule_of(programs[i]), UNWIND_RULE_NONE);
}

TEST(an_undefined_return_address_is_the_root)
{
	CHECK_INT(rule_of(STR("\x07\x10")), UNWIND_RULE_END);
}

TEST(a_signal_frame_is_the_kernels)
{
	struct made_cie cie = CIE_PLAIN;

	cie.augmentation = "zRS";
	run_with(cie, STR("\x0e\x10"));
	CHECK_INT(last_rule(), UNWIND_RULE_SIGNAL);
	CHECK_INT(seen.n, 1);
}

TEST(rows_lie_where_the_program_advances_to)
{
	/* push, mov, body, pop: as a compiler writes it, and all four ways to advance. */
	run_with(CIE_PLAIN, STR("\x41\x0e\x10\x86\x02\x02\x03\x0d\x06\x03\x10\x00\x0c\x07\x08"
				"\x04\x20\x00\x00\x00\x0e\x18"));
	CHECK_INT(seen.n, 5);
	CHECK_INT(seen.address[1], START + 1);
	CHECK_INT(seen.rule[1], RSP_RULE(16, 16));
	CHECK_INT(seen.address[2], START + 4);
	CHECK_INT(seen.rule[2], RBP_RULE(16, 16));
	CHECK_INT(seen.address[3], START + 0x14);
	CHECK_INT(seen.rule[3], RSP_RULE(8, 16));
	CHECK_INT(seen.address[4], START + 0x34);
	CHECK_INT(seen.rule[4], RSP_RULE(24, 16));
}

TEST(code_alignment_multiplies_what_is_advanced)
{
	struct made_cie cie = CIE_PLAIN;

	cie.code_align = 4;
	run_with(cie, STR("\x42\x0e\x10"));
	CHECK_INT(seen.n, 2);
	CHECK_INT(seen.address[1], START + 8);
}

TEST(a_change_that_is_taken_back_at_once_makes_no_row)
{
	run_with(CIE_PLAIN, STR("\x41\x0e\x10\x0e\x08\x41\x0e\x20"));
	CHECK_INT(seen.n, 2);
	CHECK_INT(seen.address[1], START + 2);
}

TEST(states_are_remembered_and_restored)
{
	run_with(CIE_PLAIN,
		 STR("\x41\x0e\x10\x86\x02\x41\x0a\x0e\x20\x41\x0a\x0e\x30\x41\x0b\x41\x0b"
		     "\x41\xc6"));
	CHECK_INT(seen.n, 7);
	CHECK_INT(seen.rule[3], RSP_RULE(48, 16));
	CHECK_INT(seen.rule[4], RSP_RULE(32, 16));
	CHECK_INT(seen.rule[5], RSP_RULE(16, 16));
	CHECK_INT(seen.rule[6], RSP_RULE(16, 0));
}

TEST(from_a_broken_instruction_on_nothing_is_known)
{
	static const struct str programs[] = {
		STR("\x0e\x10\x41\x01\x00\x20\x00\x00\x00\x00\x00\x00"), /* set_loc */
		STR("\x0e\x10\x41\x0b"),				 /* nothing to restore */
		STR("\x0e\x10\x41\x3f"),				 /* not known */
		STR("\x0e\x10\x41\x0f\x7f\x77"),			 /* a block that is cut */
		STR("\x0e\x10\x41\x0e"),				 /* no operand */
		STR("\x0e\x10\x41\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
		STR("\x0e\x10\x41\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"
		    "\x0a"),
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		run_with(CIE_PLAIN, programs[i]);
		CHECK_INT(seen.n, 2);
		CHECK_INT(seen.rule[0], RSP_RULE(16, 0));
		CHECK_INT(seen.address[1], START + 1);
		CHECK_INT(seen.rule[1], UNWIND_RULE_NONE);
	}
}

TEST(a_broken_cie_leaves_its_functions_unknown)
{
	struct made_cie cie = CIE_PLAIN;

	cie.program = STR("\x0c\x07\x08\x90\x01\x3f");
	run_with(cie, STR("\x41\x0e\x10"));
	CHECK_INT(seen.n, 1);
	CHECK_INT(seen.rule[0], UNWIND_RULE_NONE);
}

TEST(no_row_lies_outside_its_function)
{
	/* Beyond the end, then on; and as far as numbers go. */
	run_with(CIE_PLAIN,
		 STR("\x0e\x10\x03\x00\x10\x0e\x18\x41\x0e\x20\x04\xff\xff\xff\xff\x0e\x28"));
	CHECK_INT(seen.n, 1);
	CHECK_INT(seen.rule[0], RSP_RULE(16, 0));
}

TEST(entries_of_every_shape_are_read)
{
	struct made_cie cie = CIE_PLAIN;

	cie.wide = true;
	run_with(cie, STR("\x0e\x10"));
	CHECK_INT(last_rule(), RSP_RULE(16, 0));
	cie = CIE_PLAIN;
	cie.version = 3;
	run_with(cie, STR("\x0e\x10"));
	CHECK_INT(last_rule(), RSP_RULE(16, 0));
	cie.augmentation = "";
	run_with(cie, STR("\x0e\x18"));
	CHECK_INT(last_rule(), RSP_RULE(24, 0));
	for (int wide = 0; wide < 2; wide++) {
		cie.version = 4;
		cie.debug = true;
		cie.wide = wide;
		run_with(cie, STR("\x0e\x20"));
		CHECK_INT(last_rule(), RSP_RULE(32, 0));
	}
}

TEST(all_letters_of_an_augmentation_are_read_in_their_order)
{
	struct made_cie cie = CIE_PLAIN;

	/* Personality (4 bytes), language data (none), then the encoding: absolute. */
	cie.augmentation = "zPLR";
	cie.data = STR("\x03\x44\x33\x22\x11\xff\x00");
	run_with(cie, STR("\x0e\x10"));
	CHECK_INT(last_rule(), RSP_RULE(16, 0));
	cie.augmentation = "zRB";
	cie.data = STR("\x00");
	run_with(cie, STR("\x0e\x10"));
	CHECK_INT(last_rule(), RSP_RULE(16, 0));
}

TEST(what_cannot_be_read_is_no_function)
{
	static const struct made_cie broken[] = {
		{"eh", STR(""), CIE_PROGRAM, 1, 1, false, false},
		{"zR", STR("\xff"), CIE_PROGRAM, 1, 1, false, false}, /* no address at all */
		{"zR", STR("\x30"), CIE_PROGRAM, 1, 1, false, false}, /* relative to data */
		{"zR", STR("\x80"), CIE_PROGRAM, 1, 1, false, false}, /* through memory */
		{"zR", STR("\x0f"), CIE_PROGRAM, 1, 1, false, false}, /* no such form */
		{"zPR", STR("\x00\x00"), CIE_PROGRAM, 1, 1, false, false},
		{"zR", STR("\x00"), CIE_PROGRAM, 1, 2, false, false}, /* no such version */
		{"zR", STR("\x00"), CIE_PROGRAM, 1, 5, false, false},
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		run_with(broken[i], STR("\x0e\x10"));
		CHECK_INT(seen.n, 0);
	}
}

TEST(addresses_relative_to_their_place_are_right)
{
	struct buf b = BUF_INIT(1 << 16);
	struct made_cie cie = CIE_PLAIN;
	struct frame_section s = {0};
	struct frame_fde fde;
	size_t begin;
	bool is_fde;
	u64 next, at;

	cie.data = STR("\x1b");
	cie_make(&b, cie);
	at = b.n;
	begin = entry_begin(&b, false);
	put(&b, begin, 4);
	put(&b, (u32)-0x100, 4);
	put(&b, 0x40, 4);
	put(&b, 0, 1);
	entry_end(&b, begin, false);
	s.part = (struct elf_part){buf_view(&b), 0x8000};
	frame_entry(&s, at, &fde, &is_fde, &next);
	CHECK(is_fde && fde.size == 0x40);
	CHECK_INT(fde.start, 0x8000 + begin + 4 - 0x100);
	CHECK_INT(next, b.n);
	buf_release(&b);
}

/* Every byte of a section set to every value that is likely to hurt. */
TEST(no_byte_leads_out_of_the_section)
{
	static const u8 values[] = {0, 1, 0x10, 0x7f, 0x80, 0xff};
	struct buf b = BUF_INIT(1 << 16);
	u64 cie_at = cie_make(&b, CIE_PLAIN);
	char *copy;

	CHECK_OK(rules ? ERR_OK : unwind_rules_new(&rules));
	fde_make(&b, CIE_PLAIN, cie_at, START, SIZE, STR("\x41\x0e\x10\x0f\x03\x76\x78\x06"));
	fde_make(&b, CIE_PLAIN, cie_at, START + SIZE, SIZE, STR("\x0a\x41\x0e\x10\x0b"));
	put(&b, 0, 4);
	for (size_t i = 0; i < b.n * sizeof(values); i++) {
		struct frame_fde fde;
		bool is_fde;

		/* A copy of its own, so that reading behind it is seen. */
		copy = mem_alloc(b.n);
		CHECK(copy);
		memcpy(copy, b.data, b.n);
		copy[i / sizeof(values)] = (char)values[i % sizeof(values)];
		struct frame_section s = {.part = {str_n(copy, b.n), 0x8000}};

		for (u64 offset = 0, next, steps = 0; offset < b.n; offset = next) {
			frame_entry(&s, offset, &fde, &is_fde, &next);
			if (is_fde) {
				seen.n = 0;
				frame_rows(&fde, rules, &seen, seen_row);
			}
			if (!next)
				break;
			CHECK(next > offset && steps++ < 10);
		}
		mem_free(copy);
	}
	buf_release(&b);
}

TEST(the_last_rule_of_all_is_released)
{
	unwind_rules_free(rules);
	rules = NULL;
}
