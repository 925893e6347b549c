/* Whole files: from ELF to a table; Go's own table of functions. */
#include "base/file.h"
#include "elf_maker.h"
#include "test.h"
#include "unwind/go_rows.h"

#define GO_TEXT 0x401000u

struct go_maker {
	struct str pcsp; /* bytes of the second function's table */
	u8 flags;
	u32 magic;
};

/* Three functions of 0x100 bytes; the second is as described, the others have no frame. */
static void go_make(struct buf *b, const struct go_maker *m)
{
	bool wide = m->magic == 0xfffffffa;
	size_t head = wide ? 64 : 72, functab = head + 64, func = functab + (wide ? 56 : 28);
	u32 flag_at = wide ? 40 : m->magic == 0xfffffff0 ? 37 : 41;

	buf_clear(b);
	put(b, m->magic, 4);
	put(b, 0x08010000, 4);
	put(b, 3, 8);
	put(b, 0, 8);
	if (!wide)
		put(b, GO_TEXT, 8);
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, head, 8);
	put(b, functab, 8);
	/* pctab: nothing, no frame, then what was asked for. */
	put(b, 0, 1);
	buf_append(b, "\x02\xff\x7f\x00", 4);
	buf_append(b, m->pcsp.p, m->pcsp.n);
	while (b->n < functab)
		put(b, 0, 1);
	for (u32 i = 0; i < 4; i++) {
		put(b, wide ? GO_TEXT + 0x100 * i : 0x100 * i, wide ? 8 : 4);
		if (i < 3)
			put(b, func - functab + i * 64, wide ? 8 : 4);
	}
	while (b->n < func)
		put(b, 0, 1);
	for (u32 i = 0; i < 3; i++) {
		char record[64] = {0};
		u32 pcsp = i == 1 ? 5 : 1;

		memcpy(record + (wide ? 20 : 16), &pcsp, 4);
		record[flag_at] = (char)(i == 1 ? m->flags : 0);
		buf_append(b, record, sizeof(record));
	}
}

static struct seen_rows seen;

static void go_rows(const struct go_maker *m)
{
	struct buf table = BUF_INIT(1 << 16), file = BUF_INIT(1 << 16);
	struct elf_view view;
	struct go_table t;

	seen.n = 0;
	go_make(&table, m);
	elf_make(&file, &(struct made_section){".gopclntab", buf_view(&table), 0x500000}, 1);
	if (!elf_view_open(buf_view(&file), &view, NULL) && go_table_open(&view, &t))
		go_function_rows(&t, 1, &seen, seen_row);
	buf_release(&table);
	buf_release(&file);
}

/* sub rsp,24 after 16 bytes (and back 8 before the end): 0, then 24, then 0. */
#define FRAME_24 "\x02\x10\x30\xe8\x01\x2f\x08\x00"

TEST(gos_stack_sizes_become_rules_in_every_layout)
{
	static const u32 magics[] = {0xfffffffa, 0xfffffff0, 0xfffffff1};

	for (size_t i = 0; i < 3; i++) {
		go_rows(&(struct go_maker){STR(FRAME_24), 0, magics[i]});
		CHECK_INT(seen.n, 3);
		CHECK_INT(seen.address[0], GO_TEXT + 0x100);
		CHECK_INT(seen.rule[0], UNWIND_RULE_ENTRY);
		CHECK_INT(seen.address[1], GO_TEXT + 0x110);
		CHECK_INT(seen.rule[1], RSP_RULE(32, 16));
		CHECK_INT(seen.address[2], GO_TEXT + 0x1f8);
		CHECK_INT(seen.rule[2], UNWIND_RULE_ENTRY);
	}
}

TEST(gos_roots_and_stack_changers_are_known)
{
	go_rows(&(struct go_maker){STR(FRAME_24), 1, 0xfffffff1});
	CHECK(seen.n == 1 && seen.rule[0] == UNWIND_RULE_END);
	go_rows(&(struct go_maker){STR(FRAME_24), 2, 0xfffffff1});
	CHECK(seen.n == 1 && seen.rule[0] == UNWIND_RULE_SWITCH);
	go_rows(&(struct go_maker){STR(FRAME_24), 0, 0xfffffffb});
	CHECK_INT(seen.n, 0);
}

TEST(a_broken_table_of_go_says_nothing_outside_its_function)
{
	static const struct str tables[] = {
		STR("\x00\x00\x00"),		 /* no step at all */
		STR("\x02\x10\x10\x00\x10\x00"), /* a step of nothing */
		STR("\x02\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"),
		STR("\x02\x10\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x10"), /* wraps */
		STR("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10"
		    "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10"), /* a sum that overflows */
		STR("\x08\x10\x10\x10"), /* 3 and more: not whole words */
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		u64 last = 0;

		go_rows(&(struct go_maker){tables[i], 0, 0xfffffff1});
		/* Whatever it is, the function before must not go on. */
		CHECK(seen.n >= 1 && seen.address[0] == GO_TEXT + 0x100);
		for (size_t j = 0; j < seen.n; j++) {
			CHECK(seen.address[j] >= last && seen.address[j] < GO_TEXT + 0x200);
			last = seen.address[j];
		}
	}
}

TEST(real_go_programs_begin_their_functions_with_the_return_address)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(64 << 20);
	struct unwind_image image;
	struct unwind_rules *rules;
	struct unwind_table table;
	struct elf_view view;
	struct go_table t;
	u32 good = 0, known = 0;

	if (file_read("/usr/local/go/bin/go", &file, NULL) != ERR_OK) {
		test_skip("no Go program at /usr/local/go/bin/go");
		return;
	}
	CHECK_OK(unwind_image_read(buf_view(&file), &image, NULL));
	CHECK(image.go && image.load_count >= 1);
	CHECK_OK(elf_view_open(buf_view(&file), &view, NULL));
	CHECK(go_table_open(&view, &t) && t.count > 1000);
	CHECK_OK(unwind_rules_new(&rules));
	CHECK_OK(unwind_table_build(buf_view(&file), rules, &table, NULL));
	for (u32 i = 0; i < t.count; i++) {
		u64 start, end;

		if (!go_function(&t, i, &start, &end))
			continue;
		known++;
		good += unwind_table_rule(&table, start) == UNWIND_RULE_ENTRY;
	}
	CHECK(known > 1000 && good > known * 0.98);
	unwind_table_release(&table);
	unwind_rules_free(rules);
}

/* ---- .eh_frame in whole files ---- */

static void eh_make(struct buf *b)
{
	u64 cie_at = cie_make(b, CIE_PLAIN);

	fde_make(b, CIE_PLAIN, cie_at, 0x20000, 0x100, STR("\x41\x0e\x10\x86\x02"));
	fde_make(b, CIE_PLAIN, cie_at, 0x1000, 0x100, STR("\x0e\x20"));
	/* Twice: the first one in the file counts. */
	fde_make(b, CIE_PLAIN, cie_at, 0x1000, 0x80, STR("\x0e\x30"));
	fde_make(b, CIE_PLAIN, cie_at, 0x1108, 0x100, STR("\x0e\x18"));
	/* The program begins here. */
	fde_make(b, CIE_PLAIN, cie_at, MADE_ENTRY - 0x10, 0x100, STR("\x0e\x18"));
	fde_make(b, CIE_PLAIN, cie_at, 0, 0x100, STR("\x0e\x28"));
	fde_make(b, CIE_PLAIN, cie_at, UINT64_MAX - 0x10, 0x100, STR("\x0e\x28"));
	fde_make(b, CIE_PLAIN, cie_at, 0x2000, 0, STR("\x0e\x28"));
	put(b, 0, 4);
}

static void file_make(const char *section, bool debug, struct buf *file)
{
	struct buf frames = BUF_INIT(1 << 16);

	if (debug) {
		struct made_cie cie = CIE_PLAIN;

		cie.debug = true;
		cie.augmentation = "";
		fde_make(&frames, cie, cie_make(&frames, cie), 0x1000, 0x100, STR("\x0e\x20"));
	} else {
		eh_make(&frames);
	}
	elf_make(file, &(struct made_section){section, buf_view(&frames), 0x8000}, 1);
	buf_release(&frames);
}

static enum err build_file(const struct buf *file, struct unwind_table *ret)
{
	struct unwind_rules *rules = NULL;
	enum err e = unwind_rules_new(&rules);

	if (!e)
		e = unwind_table_build(buf_view(file), rules, ret, NULL);
	unwind_rules_free(rules);
	return e;
}

static enum err build_made(const char *section, bool debug, struct unwind_table *ret)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 16);

	file_make(section, debug, &file);
	return build_file(&file, ret);
}

TEST(functions_are_sorted_and_gaps_are_unknown)
{
	struct unwind_table t;

	CHECK_OK(build_made(".eh_frame", false, &t));
	CHECK_INT(unwind_table_rule(&t, 0), UNWIND_RULE_NONE);
	CHECK_INT(unwind_table_rule(&t, 0xfff), UNWIND_RULE_NONE);
	CHECK_INT(unwind_table_rule(&t, 0x1000), RSP_RULE(32, 0));
	CHECK_INT(unwind_table_rule(&t, 0x10ff), RSP_RULE(32, 0));
	/* Padding between two functions is not worth a row. */
	CHECK_INT(unwind_table_rule(&t, 0x1107), RSP_RULE(32, 0));
	CHECK_INT(unwind_table_rule(&t, 0x1108), RSP_RULE(24, 0));
	CHECK_INT(unwind_table_rule(&t, 0x1208), UNWIND_RULE_NONE);
	CHECK_INT(unwind_table_rule(&t, 0x2000), UNWIND_RULE_NONE);
	CHECK_INT(unwind_table_rule(&t, 0x20000), UNWIND_RULE_ENTRY);
	CHECK_INT(unwind_table_rule(&t, 0x20001), RSP_RULE(16, 16));
	CHECK_INT(unwind_table_rule(&t, 0x20100), UNWIND_RULE_NONE);
	CHECK_INT(unwind_table_rule(&t, MADE_ENTRY), UNWIND_RULE_END);
	CHECK_INT(unwind_table_rule(&t, MADE_ENTRY - 0x10), UNWIND_RULE_END);
	CHECK_INT(unwind_table_rule(&t, MADE_ENTRY + 0xf0), UNWIND_RULE_NONE);
	unwind_table_release(&t);
}

TEST(debug_frame_serves_when_there_is_nothing_else)
{
	struct unwind_table t;

	CHECK_OK(build_made(".debug_frame", true, &t));
	CHECK_INT(unwind_table_rule(&t, 0x1000), RSP_RULE(32, 0));
	unwind_table_release(&t);
	CHECK_OK(build_made(".text", false, &t));
	CHECK_INT(unwind_table_rule(&t, 0x1000), UNWIND_RULE_NONE);
	unwind_table_release(&t);
}

static enum err sweep(const struct buf *file)
{
	struct unwind_table t = {0};
	enum err e = build_file(file, &t);

	if (!e)
		unwind_table_release(&t);
	return e;
}

TEST(no_memory_for_a_table_is_said)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 16);

	file_make(".eh_frame", false, &file);
	ALLOC_SWEEP(sweep(&file));
}

/* 80,000 functions that share a CIE of 2 MB would be 160 GB of instructions. */
TEST(a_huge_cie_does_not_make_every_function_huge)
{
	struct buf frames = BUF_INIT(64 << 20), file = BUF_INIT(64 << 20), nops = BUF_INIT(4 << 20);
	struct made_cie cie = CIE_PLAIN;
	struct unwind_rules *rules;
	struct unwind_table t;
	u64 cie_at;

	for (int i = 0; i < 1 << 18; i++)
		put(&nops, 0, 8);
	cie.program = buf_view(&nops);
	cie_at = cie_make(&frames, cie);
	for (u64 i = 1; i < 80000; i++)
		fde_make(&frames, cie, cie_at, i * 0x100, 0x100, STR(""));
	elf_make(&file, &(struct made_section){".eh_frame", buf_view(&frames), 0x8000}, 1);
	CHECK_OK(unwind_rules_new(&rules));
	CHECK_OK(unwind_table_build(buf_view(&file), rules, &t, NULL));
	/* As if there was nothing. */
	CHECK_INT(unwind_table_rule(&t, 0x100), UNWIND_RULE_NONE);
	unwind_table_release(&t);
	unwind_rules_free(rules);
	buf_release(&nops);
	buf_release(&frames);
	buf_release(&file);
}

TEST(files_for_others_are_refused)
{
	struct buf file = BUF_INIT(1 << 16);
	struct unwind_rules *rules;
	struct unwind_image image;
	struct unwind_table t;

	CHECK_OK(unwind_rules_new(&rules));
	CHECK_ERR(unwind_image_read(STR(""), &image, NULL), ERR_CORRUPT);
	CHECK_ERR(unwind_table_build(STR("#!/bin/sh\n"), rules, &t, NULL), ERR_CORRUPT);
	elf_make(&file, NULL, 0);
	CHECK_OK(unwind_image_read(buf_view(&file), &image, NULL));
	CHECK(image.entry == MADE_ENTRY && image.load_count == 1 && !image.go);
	file.data[EI_CLASS] = ELFCLASS32;
	CHECK_ERR(unwind_table_build(buf_view(&file), rules, &t, NULL), ERR_UNSUPPORTED);
	file.data[EI_CLASS] = ELFCLASS64;
	file.data[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
	CHECK_ERR(unwind_image_read(buf_view(&file), &image, NULL), ERR_UNSUPPORTED);
	buf_release(&file);
	unwind_rules_free(rules);
}

/* ---- a table of another process ---- */

static enum err copy_table(const struct unwind_table *from, struct unwind_table *to)
{
	*to = (struct unwind_table){.pages = mem_zalloc(from->page_count + 1, sizeof(*to->pages)),
				    .page_count = from->page_count,
				    .rows = from->rows,
				    .blocks = BUF_INIT(1 << 24)};
	if (!to->pages)
		return ERR_NO_MEMORY;
	memcpy(to->pages, from->pages, from->page_count * sizeof(*to->pages));
	buf_str(&to->blocks, buf_view(&from->blocks));
	return buf_error(&to->blocks);
}

TEST(a_table_of_another_process_is_searched_only_where_it_is_sound)
{
	CLEANUP(buf_release) struct buf program = BUF_INIT(16 << 20);
	struct unwind_table table, copy;
	struct unwind_rules *theirs, *ours;
	const struct unwind_rule *list;
	size_t count, our_count;
	u32 accepted = 0;
	u64 state = 1;

	CHECK_OK(file_read("/bin/true", &program, NULL));
	CHECK_OK(unwind_rules_new(&theirs));
	CHECK_OK(unwind_rules_new(&ours));
	CHECK_OK(unwind_table_build(buf_view(&program), theirs, &table, NULL));
	list = unwind_rules_all(theirs, &count);
	for (u32 round = 0; round < 3000; round++) {
		CHECK_OK(copy_table(&table, &copy));
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		/* The first round unchanged; then with a byte changed in the page table, a block's
		 * header, or anywhere. */
		if (round % 2)
			((u8 *)copy.pages)[(state >> 33) % (copy.page_count * 4)] ^= 1 << state % 8;
		else if (round % 4)
			copy.blocks.data[(state >> 33) % UNWIND_BLOCK_HEAD] ^= 1 << state % 8;
		else if (round)
			copy.blocks.data[(state >> 33) % copy.blocks.n] ^= 1 << state % 8;
		if (unwind_table_adopt(&copy, list, round % 7 ? count : count / 2, ours) ==
		    ERR_OK) {
			accepted++;
			unwind_rules_all(ours, &our_count);
			for (u64 at = 0; at < (u64)copy.page_count << UNWIND_PAGE_SHIFT;
			     at += 997) {
				u32 rule = unwind_table_rule(&copy, at);

				CHECK(!(rule & UNWIND_ESCAPE) || (rule & 0x7fff) < our_count);
			}
		}
		unwind_table_release(&copy);
	}
	CHECK(accepted < 3000);
	/* Whole, it is the same. */
	CHECK_OK(copy_table(&table, &copy));
	CHECK_OK(unwind_table_adopt(&copy, list, count, ours));
	for (u64 at = 0; at < (u64)copy.page_count << UNWIND_PAGE_SHIFT; at += 3)
		CHECK(unwind_table_rule(&copy, at) & UNWIND_ESCAPE ||
		      unwind_table_rule(&copy, at) == unwind_table_rule(&table, at));
	unwind_table_release(&copy);
	unwind_table_release(&table);
	unwind_rules_free(theirs);
	unwind_rules_free(ours);
}

/* Nearly all rules of a file are found without its table, and each is the table's. */
static void search_all(const char *path)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(256 << 20);
	struct unwind_image image;
	struct unwind_rules *rules;
	struct unwind_table table;
	struct unwind_load span;
	u32 asked = 0, found = 0, rule;

	if (file_read(path, &file, NULL) != ERR_OK)
		return;
	CHECK_OK(unwind_image_read(buf_view(&file), &image, NULL));
	CHECK_OK(unwind_rules_new(&rules));
	CHECK_OK(unwind_table_build(buf_view(&file), rules, &table, NULL));
	span = unwind_image_span(&image);
	for (u64 at = span.address - 8; at < span.address + span.size + 1000; at += 61) {
		asked++;
		if (unwind_rule_search(buf_view(&file), at, rules, &rule))
			continue;
		found++;
		CHECK_INT(rule, unwind_table_rule(&table, at));
	}
	CHECK(found > asked * 0.9);
	unwind_table_release(&table);
	unwind_rules_free(rules);
}

TEST(a_rule_is_found_without_a_table_and_is_the_same)
{
	static const char *const paths[] = {"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib64/ld-linux-x86-64.so.2"};

	for (u32 i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		search_all(paths[i]);
}

TEST(a_rule_is_not_searched_where_there_is_no_index)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 16);
	struct unwind_rules *rules;
	u32 rule;

	file_make(".eh_frame", false, &file);
	CHECK_OK(unwind_rules_new(&rules));
	CHECK_ERR(unwind_rule_search(buf_view(&file), 0x1000, rules, &rule), ERR_NOT_FOUND);
	CHECK_ERR(unwind_rule_search(STR("#!/bin/sh\n"), 0, rules, &rule), ERR_CORRUPT);
	unwind_rules_free(rules);
}

TEST(code_lies_from_its_lowest_address_to_its_highest)
{
	struct unwind_image image = {.loads = {{0x3000, 0x5000, 0x800}, {0x1000, 0x2000, 0x500}},
				     .load_count = 2};
	struct unwind_load span = unwind_image_span(&image);

	CHECK_INT(span.address, 0x2000);
	CHECK_INT(span.file_offset, 0x1000);
	CHECK_INT(span.address + span.size, 0x5800);
	image.load_count = 0;
	span = unwind_image_span(&image);
	CHECK(!span.address && !span.size && !span.file_offset);
}
