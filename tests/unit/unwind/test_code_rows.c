/* Code that nothing is said about: against what others say about the code of real libraries, and
 * what was made by hand. */
#include "unwind/code_rows.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "elf_maker.h"
#include "test.h"
#include "unwind/instruction.h"

#define RBP_RULE(cfa, saved) (UNWIND_CFA_RBP | RSP_RULE(cfa, saved))

/* ------------------------------------------------------------------ real libraries */

/* Compilers' code, vectors of all widths, hand-written assembler. */
enum { LIBC, LIBM, LIBSTDCXX, LIBCRYPTO, LIBRARIES };

static const char *const libraries[LIBRARIES] = {
	[LIBC] = "/lib/x86_64-linux-gnu/libc.so.6",
	[LIBM] = "/lib/x86_64-linux-gnu/libm.so.6",
	[LIBSTDCXX] = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	[LIBCRYPTO] = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
};

struct counts {
	size_t all, wrong, ends;
};

static bool same_length(const struct elf_view *view, u64 address, u64 next, const char *text)
{
	struct instruction i;
	struct elf_part part;
	bool read = elf_view_bytes_at(view, address, &part) &&
		    instruction_read(part.bytes, address, &i);

	/* Bytes that are no code are cut in any way; fwait counts as part of what follows it. */
	return strstr(text, "(bad)") || strstr(text, ".byte") || strstr(text, "rex") ||
	       (read && part.bytes.p[0] == '\x9b') || (read && i.length == next - address);
}

/* "    27a2b:	mov    %rsp,%rbp": the address of each line is the end of the one before. */
static void check_lengths(const char *path, const struct elf_view *view, struct counts *c)
{
	char command[512], line[512], before[512] = "";
	u64 address = 0;
	FILE *out;

	snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn %s 2>/dev/null", path);
	out = popen(command, "r");
	CHECK(out);
	while (out && fgets(line, sizeof(line), out)) {
		char *end;
		u64 next = strtoull(line, &end, 16);

		if (line[0] != ' ' || *end != ':') {
			address = 0;
			continue;
		}
		if (address && next - address <= 15) {
			c->all++;
			if (!same_length(view, address, next, before) && c->wrong++ < 20)
				printf("# %s %llx %s", path, (unsigned long long)address, before);
		}
		address = next;
		snprintf(before, sizeof(before), "%s", end + 1);
	}
	if (out)
		pclose(out);
}

TEST(instructions_are_as_long_as_objdump_says)
{
	struct counts c = {0};

	if (system("objdump --version > /dev/null 2>&1")) {
		test_skip("no objdump");
		return;
	}
	for (size_t i = 0; i < LIBRARIES; i++) {
		CLEANUP(buf_release) struct buf file = BUF_INIT(64 << 20);
		struct elf_view view;

		if (access(libraries[i], R_OK) || (i && getenv("VESTAL_VALGRIND")))
			continue;
		CHECK_OK(file_read(libraries[i], &file, NULL));
		CHECK_OK(elf_view_open(buf_view(&file), &view, NULL));
		check_lengths(libraries[i], &view, &c);
	}
	printf("# %zu instructions, %zu of another length\n", c.all, c.wrong);
	/* Tables between the functions of libcrypto are no code. */
	CHECK(c.all > 100000 && c.wrong < c.all / 100000);
}

/* The same file without what it says about its stacks. */
static void forget_frames(struct buf *file)
{
	Elf64_Ehdr h;

	memcpy(&h, file->data, sizeof(h));
	for (u32 i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr *p = (Elf64_Phdr *)(void *)(file->data + h.e_phoff) + i;

		if (p->p_type == PT_GNU_EH_FRAME)
			p->p_type = PT_NULL;
	}
	for (u32 i = 0; i < h.e_shnum; i++) {
		Elf64_Shdr *s = (Elf64_Shdr *)(void *)(file->data + h.e_shoff) + i;

		if (!(s->sh_flags & SHF_EXECINSTR) && s->sh_flags & SHF_ALLOC &&
		    s->sh_type == SHT_PROGBITS)
			s->sh_type = SHT_NOBITS;
	}
}

/* Files do not say that rbp is back in its place: where it lay it still lies. */
static bool same_rule(u32 said, u32 read)
{
	return said == read ||
	       (!(read & UNWIND_ESCAPE) && !(read & 0x1f) && (said & ~0x1fu) == read);
}

/* Of the instructions that the file says something about, how many the code says otherwise. */
static struct counts compare(const struct elf_view *view, const struct unwind_table *said,
			     const struct unwind_table *read)
{
	struct counts c = {0};
	struct elf_part part;

	for (u32 n = 0; elf_view_code(view, n, &part); n++) {
		struct instruction i;

		for (u64 at = 0; at < part.bytes.n; at += i.length) {
			u64 address = part.address + at;
			u32 rule = unwind_table_rule(said, address);

			if (!instruction_read(str_skip(part.bytes, at), address, &i))
				i.length = 1;
			if (i.kind == INSTRUCTION_PADDING || rule & UNWIND_ESCAPE)
				continue;
			c.all++;
			c.wrong += !same_rule(rule, unwind_table_rule(read, address));
			c.ends += unwind_table_rule(read, address) == UNWIND_RULE_END;
		}
	}
	return c;
}

static void code_against_file(const char *path, struct counts *ret)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(64 << 20);
	struct unwind_table said, read;
	struct unwind_rules *rules;
	struct elf_view view;

	CHECK_OK(file_read(path, &file, NULL));
	CHECK_OK(unwind_rules_new(&rules));
	CHECK_OK(unwind_table_build(buf_view(&file), rules, &said, NULL));
	forget_frames(&file);
	CHECK_OK(unwind_table_build(buf_view(&file), rules, &read, NULL));
	CHECK_OK(elf_view_open(buf_view(&file), &view, NULL));
	*ret = compare(&view, &said, &read);
	unwind_table_release(&said);
	unwind_table_release(&read);
	unwind_rules_free(rules);
}

/* C++ is left out: to what catches exceptions nothing leads but what is forgotten here. */
TEST(what_code_tells_is_what_the_file_says)
{
	static const size_t of_libraries[] = {LIBC, LIBM, LIBCRYPTO};

	for (size_t i = 0; i < sizeof(of_libraries) / sizeof(of_libraries[0]); i++) {
		const char *path = libraries[of_libraries[i]];
		struct counts c = {0};

		if (access(path, R_OK))
			continue;
		code_against_file(path, &c);
		printf("# %s: %zu instructions, %zu with another rule, %zu called a root\n", path,
		       c.all, c.wrong, c.ends);
		CHECK(c.all > 10000);
		/* What only others lead to, and data between functions. */
		CHECK(c.wrong < c.all / 50);
		CHECK(c.ends < c.all / 10000);
	}
}

/* ------------------------------------------------------------------ made by hand */

#define CODE_AT 0x10000u

static struct unwind_rules *made_rules;

static void make(struct buf *file, struct str code)
{
	struct made_section text = {".text", code, CODE_AT};

	elf_make(file, &text, 1);
	elf_mark_code(file);
}

static void table_of(struct str code, struct unwind_table *ret)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 20);

	make(&file, code);
	if (!made_rules)
		CHECK_OK(unwind_rules_new(&made_rules));
	CHECK_OK(unwind_table_build(buf_view(&file), made_rules, ret, NULL));
}

#define CHECK_RULE(t, at, rule) CHECK_INT(unwind_table_rule(t, CODE_AT + (at)), rule)

TEST(pushes_and_pops_and_a_frame_are_followed_along_branches)
{
	static const char code[] = "\x55"	      /* 0 push rbp */
				   "\x53"	      /* 1 push rbx */
				   "\x48\x83\xec\x18" /* 2 sub rsp, 24 */
				   "\x85\xff"	      /* 6 test edi, edi */
				   "\x74\x07"	      /* 8 je 17 */
				   "\x48\x83\xc4\x18" /* 10 add rsp, 24 */
				   "\x5b"	      /* 14 pop rbx */
				   "\x5d"	      /* 15 pop rbp */
				   "\xc3"	      /* 16 ret */
				   "\xff\xd0"	      /* 17 call rax */
				   "\xeb\xf5";	      /* 19 jmp 10 */
	struct unwind_table t = {0};

	table_of(str_n(code, sizeof(code) - 1), &t);
	CHECK_RULE(&t, 0, RSP_RULE(8, 0));
	CHECK_RULE(&t, 1, RSP_RULE(16, 16));
	CHECK_RULE(&t, 2, RSP_RULE(24, 16));
	CHECK_RULE(&t, 6, RSP_RULE(48, 16));
	CHECK_RULE(&t, 14, RSP_RULE(24, 16));
	CHECK_RULE(&t, 16, RSP_RULE(8, 0));
	CHECK_RULE(&t, 17, RSP_RULE(48, 16));
	CHECK_RULE(&t, 19, RSP_RULE(48, 16));
	CHECK_RULE(&t, 21, UNWIND_RULE_NONE);
	unwind_table_release(&t);
}

TEST(a_stack_that_grows_by_a_register_is_found_by_its_frame)
{
	static const char code[] = "\x55"	      /* 0 push rbp */
				   "\x48\x89\xe5"     /* 1 mov rbp, rsp */
				   "\x41\x54"	      /* 4 push r12 */
				   "\x48\x29\xfc"     /* 6 sub rsp, rdi */
				   "\x90"	      /* 9 nop */
				   "\x48\x8d\x65\xf8" /* 10 lea rsp, [rbp-8] */
				   "\x41\x5c"	      /* 14 pop r12 */
				   "\xc9"	      /* 16 leave */
				   "\xc3";	      /* 17 ret */
	struct unwind_table t = {0};

	table_of(str_n(code, sizeof(code) - 1), &t);
	CHECK_RULE(&t, 1, RSP_RULE(16, 16));
	CHECK_RULE(&t, 4, RBP_RULE(16, 16));
	CHECK_RULE(&t, 9, RBP_RULE(16, 16));
	CHECK_RULE(&t, 16, RBP_RULE(16, 16));
	CHECK_RULE(&t, 17, RSP_RULE(8, 0));
	unwind_table_release(&t);
}

TEST(large_frames_have_a_long_rule_and_rbp_that_is_no_frame_is_not_believed)
{
	static const char code[] = "\x55"		      /* 0 push rbp */
				   "\x48\x81\xec\x00\x20\0\0" /* 1 sub rsp, 8192 */
				   "\x48\x89\xe5"	      /* 8 mov rbp, rsp */
				   "\x48\x83\xc5\x08"	      /* 11 add rbp, 8 */
				   "\x0f\x0b";		      /* 15 ud2 */
	const struct unwind_rule *rule;
	struct unwind_table t = {0};
	size_t count;

	table_of(str_n(code, sizeof(code) - 1), &t);
	rule = unwind_rules_all(made_rules, &count);
	rule += unwind_table_rule(&t, CODE_AT + 15) & ~UNWIND_ESCAPE;
	CHECK_INT(rule->kind, UNWIND_REGISTER);
	CHECK_INT(rule->cfa_register, 7);
	CHECK_INT(rule->cfa_offset, 8192 + 16);
	CHECK_INT(rule->rbp_saved, UNWIND_AT_CFA);
	CHECK_INT(rule->rbp_offset, -16);
	unwind_table_release(&t);
}

/* As a thread begins in musl: rbp is cleared, and nobody has put it aside. */
TEST(who_clears_rbp_for_good_was_called_by_nobody)
{
	static const char code[] = "\xe8\x02\0\0\0" /* 0 call 7 */
				   "\x0f\x0b"	    /* 5 ud2 */
				   "\x31\xed"	    /* 7 xor ebp, ebp */
				   "\x5f"	    /* 9 pop rdi */
				   "\x41\xff\xd1"   /* 10 call r9 */
				   "\xf4"	    /* 13 hlt */
				   "\x30\xed"	    /* 14 xor ch, ch */
				   "\xc3";	    /* 16 ret */
	struct unwind_table t = {0};

	table_of(str_n(code, sizeof(code) - 1), &t);
	CHECK_RULE(&t, 0, RSP_RULE(8, 0));
	CHECK_RULE(&t, 9, UNWIND_RULE_END);
	CHECK_RULE(&t, 12, UNWIND_RULE_END);
	CHECK_RULE(&t, 16, RSP_RULE(8, 0));
	unwind_table_release(&t);
}

/* What a table of jumps leads to has the stack of the jump; behind a call that never comes back is
 * somebody else's code. */
TEST(tables_of_jumps_and_calls_that_do_not_come_back)
{
	static const char code[] = "\x53"	    /* 0 push rbx */
				   "\xff\xe0"	    /* 1 jmp rax */
				   "\x31\xc0"	    /* 3 xor eax, eax: the first case */
				   "\x5b"	    /* 5 pop rbx */
				   "\xc3"	    /* 6 ret */
				   "\x90"	    /* 7 */
				   "\x50"	    /* 8 push rax: another function */
				   "\x75\x06"	    /* 9 jne 17 */
				   "\x58"	    /* 11 pop rax */
				   "\xe8\x20\0\0\0" /* 12 call abort, outside */
				   "\x0f\x0b";	    /* 17 ud2 */
	struct unwind_table t = {0};

	table_of(str_n(code, sizeof(code) - 1), &t);
	CHECK_RULE(&t, 3, RSP_RULE(16, 0));
	CHECK_RULE(&t, 6, RSP_RULE(8, 0));
	CHECK_RULE(&t, 8, RSP_RULE(8, 0));
	CHECK_RULE(&t, 12, RSP_RULE(8, 0));
	CHECK_RULE(&t, 17, RSP_RULE(16, 0));
	unwind_table_release(&t);
}

/* As V8's own functions in node, which jump from one to the other with a frame. */
TEST(much_code_that_keeps_rbp_is_walked_by_it)
{
	CLEANUP(buf_release) struct buf code = BUF_INIT(1 << 20);
	struct unwind_table t = {0};

	while (code.n < 128 << 10) {
		buf_append(&code, "\x55\x48\x89\xe5\x5d\xc3", 6);
		for (int i = 0; i < 1000; i++)
			buf_append(&code, "\x89\xc0", 2);
	}
	table_of(buf_view(&code), &t);
	CHECK_RULE(&t, 0, UNWIND_RULE_FRAME_POINTER);
	CHECK_RULE(&t, 0x1ffff, UNWIND_RULE_FRAME_POINTER);
	CHECK_RULE(&t, code.n, UNWIND_RULE_NONE);
	unwind_table_release(&t);
}

static enum err sweep(const struct buf *file)
{
	struct unwind_table t = {0};
	struct unwind_rules *rules;
	enum err e;

	TRY(unwind_rules_new(&rules));
	e = unwind_table_build(buf_view(file), rules, &t, NULL);
	unwind_table_release(&t);
	unwind_rules_free(rules);
	return e;
}

TEST(no_memory_for_reading_code_is_said)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 20);

	make(&file, STR("\x55\x75\x02\x5d\xc3\xe8\xf6\xff\xff\xff\x5d\xc3"));
	ALLOC_SWEEP(sweep(&file));
	unwind_rules_free(made_rules);
	made_rules = NULL;
}
