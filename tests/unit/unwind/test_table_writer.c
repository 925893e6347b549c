#include "test.h"
#include "unwind/table_writer.h"

struct row {
	u64 address;
	u32 rule;
};

static enum err build(const struct row *rows, size_t n, struct unwind_table *ret)
{
	CLEANUP(table_writer_release) struct table_writer w;

	table_writer_init(&w);
	for (size_t i = 0; i < n; i++)
		table_writer_row(&w, rows[i].address, rows[i].rule);
	return table_writer_finish(&w, ret);
}

/* What the rows say, by looking at all of them. */
static u32 linear(const struct row *rows, size_t n, u64 address)
{
	u32 rule = UNWIND_RULE_NONE;

	for (size_t i = 0; i < n && rows[i].address <= address; i++)
		rule = rows[i].rule;
	return rule;
}

/* The kernel side's search, over one segment: the page table at unit 1, blocks behind it. */
static u8 memory[UNWIND_SEGMENT_SIZE] __attribute__((aligned(8)));

static const void *unwind_segment(u32 index)
{
	return index ? NULL : memory;
}

#define unwind_hide(x) ((void)(x))
#include "unwind/unwind_search.h"

static bool place(const struct unwind_table *t)
{
	u32 unit = 1 + (t->page_count + 1) / 2;

	if ((size_t)unit * UNWIND_UNIT + t->blocks.n > sizeof(memory))
		return false;
	memset(memory, 0, sizeof(memory));
	for (u32 i = 0; i < t->page_count; i++) {
		u32 block = t->pages[i] ? unit + (t->pages[i] - 1) / UNWIND_UNIT : 0;

		memcpy(memory + UNWIND_UNIT + 4 * (size_t)i, &block, 4);
	}
	if (t->blocks.n)
		memcpy(memory + (size_t)unit * UNWIND_UNIT, t->blocks.data, t->blocks.n);
	return true;
}

TEST(no_rows_give_a_table_without_pages)
{
	struct unwind_table t;

	CHECK_OK(build(NULL, 0, &t));
	CHECK_INT(t.page_count, 0);
	CHECK_INT(unwind_table_rule(&t, 0), UNWIND_RULE_NONE);
	unwind_table_release(&t);
}

TEST(a_rule_is_carried_into_the_next_pages)
{
	struct row rows[] = {{0x100, 0x41}, {0x50000, UNWIND_RULE_NONE}};
	struct unwind_table t;

	CHECK_OK(build(rows, 2, &t));
	CHECK_INT(unwind_table_rule(&t, 0xff), UNWIND_RULE_NONE);
	for (u64 address = 0x100; address < 0x50000; address += 0x1ff)
		CHECK_INT(unwind_table_rule(&t, address), 0x41);
	CHECK_INT(unwind_table_rule(&t, 0x4ffff), 0x41);
	CHECK_INT(unwind_table_rule(&t, 0x50000), UNWIND_RULE_NONE);
	CHECK_INT(unwind_table_rule(&t, 0x60000), UNWIND_RULE_NONE);
	unwind_table_release(&t);
}

TEST(pages_that_say_nothing_have_no_block)
{
	struct row rows[] = {{0x10, 0x20},
			     {0x20, UNWIND_RULE_NONE},
			     {0x7fff8, 0x60},
			     {0x7fffc, UNWIND_RULE_NONE}};
	struct unwind_table t;

	CHECK_OK(build(rows, 4, &t));
	CHECK_INT(t.page_count, 8);
	for (u32 page = 1; page < 7; page++)
		CHECK_INT(t.pages[page], 0);
	CHECK(t.pages[0] && t.pages[7]);
	CHECK_INT(unwind_table_rule(&t, 0x7fff8), 0x60);
	unwind_table_release(&t);
}

TEST(of_several_rules_for_an_address_the_last_one_holds)
{
	struct row rows[] = {{0, 0x20}, {0, 0x40}, {0x200, 0x60}, {0x200, 0x80}, {0x300, 0x20}};
	struct unwind_table t;

	CHECK_OK(build(rows, 5, &t));
	CHECK_INT(unwind_table_rule(&t, 0), 0x40);
	CHECK_INT(unwind_table_rule(&t, 0x1ff), 0x40);
	CHECK_INT(unwind_table_rule(&t, 0x200), 0x80);
	CHECK_INT(unwind_table_rule(&t, 0x300), 0x20);
	CHECK_INT(t.rows, 3);
	unwind_table_release(&t);
}

TEST(blocks_begin_at_multiples_of_eight)
{
	struct unwind_table t;
	struct row rows[64];

	for (u32 i = 0; i < 64; i++)
		rows[i] = (struct row){(u64)i * 0x8001, 0x20 + i};
	CHECK_OK(build(rows, 64, &t));
	for (u32 i = 0; i < t.page_count; i++)
		CHECK(!t.pages[i] || (t.pages[i] - 1) % 8 == 0);
	unwind_table_release(&t);
}

/* C++ programs have a few dozen rules per page, so this determines the size of tables. */
TEST(a_row_takes_two_bytes)
{
	CLEANUP(table_writer_release) struct table_writer w;
	struct unwind_table t;

	table_writer_init(&w);
	for (u32 i = 0; i < 4000; i++)
		table_writer_row(&w, i * 16, 0x20 + i % 100);
	CHECK_OK(table_writer_finish(&w, &t));
	CHECK_INT(t.rows, 4000);
	CHECK(t.blocks.n <= UNWIND_BLOCK_HEAD + 2 * t.rows + 2 * 100 + 8);
	unwind_table_release(&t);
}

/* As many rules as fit into a row's bits, one more, and one per row. */
TEST(a_page_may_have_any_number_of_rules)
{
	static const u32 counts[] = {1,
				     UNWIND_NUMBERS - 1,
				     UNWIND_NUMBERS,
				     UNWIND_NUMBERS + 1,
				     2 * UNWIND_NUMBERS,
				     UNWIND_BLOCK_ROWS - 1};

	for (size_t n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
		CLEANUP(table_writer_release) struct table_writer w;
		struct unwind_table t;

		table_writer_init(&w);
		for (u32 i = 0; i < counts[n]; i++)
			table_writer_row(&w, i * 4, 0x20 + i);
		CHECK_OK(table_writer_finish(&w, &t));
		CHECK(place(&t));
		for (u32 i = 0; i < counts[n]; i++) {
			CHECK_INT(unwind_table_rule(&t, i * 4 + 3), 0x20 + i);
			CHECK_INT(unwind_find_rule(1, t.page_count, i * 4 + 3), 0x20 + i);
		}
		unwind_table_release(&t);
	}
}

/* A row for every byte of a page is more than a block holds. */
TEST(a_page_with_too_many_rows_says_nothing_rather_than_something_wrong)
{
	CLEANUP(table_writer_release) struct table_writer w;
	struct unwind_table t;

	table_writer_init(&w);
	for (u32 i = 0; i < UNWIND_PAGE_SIZE; i++)
		table_writer_row(&w, i, 0x20 + i % 2);
	table_writer_row(&w, UNWIND_PAGE_SIZE + 0x10, 0x60);
	CHECK_OK(table_writer_finish(&w, &t));
	CHECK_INT(unwind_table_rule(&t, 5), 0x21);
	CHECK_INT(unwind_table_rule(&t, UNWIND_BLOCK_ROWS - 2), 0x20);
	for (u32 i = UNWIND_BLOCK_ROWS - 1; i < UNWIND_PAGE_SIZE; i++)
		CHECK_INT(unwind_table_rule(&t, i), UNWIND_RULE_NONE);
	/* The next page knows again. */
	CHECK_INT(unwind_table_rule(&t, UNWIND_PAGE_SIZE + 1), 0x21);
	CHECK_INT(unwind_table_rule(&t, UNWIND_PAGE_SIZE + 0x10), 0x60);
	unwind_table_release(&t);
}

TEST(too_many_rows_are_an_error)
{
	CLEANUP(table_writer_release) struct table_writer w;
	struct unwind_table t;

	table_writer_init(&w);
	for (u64 i = 0; i < (u64)65 << 20; i++)
		table_writer_row(&w, 0x1000, 0x20 + (u32)i % 2);
	CHECK_ERR(table_writer_finish(&w, &t), ERR_TOO_LARGE);
}

static u64 random_state = 1;

static u64 draw(u64 below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

/* Steps of all sizes, so that rows lie close, pages apart, and on the edges of slots. */
static size_t random_rows(struct row *rows, size_t max)
{
	size_t n = 1 + draw(max);
	u64 address = draw(3) ? draw(UNWIND_PAGE_SIZE) : 0, step = 1ull << draw(14);

	for (size_t i = 0; i < n; i++) {
		rows[i] = (struct row){address, draw(8) ? (u32)draw(0x8000) : UNWIND_RULE_NONE};
		address += draw(4) ? draw(step) : 512 - address % 512;
	}
	return n;
}

TEST(both_searches_find_what_a_linear_search_finds)
{
	static struct row rows[3000];

	for (int round = 0; round < 60; round++) {
		struct unwind_table t;
		size_t n = random_rows(rows, round % 4 ? 300 : 3000);

		CHECK_OK(build(rows, n, &t));
		CHECK(place(&t));
		for (int i = 0; i < 2000; i++) {
			u64 address = draw(2) ? rows[draw(n)].address + draw(3) - 1
					      : draw(rows[n - 1].address + 100);
			u32 want = linear(rows, n, address);

			/* Behind the last page nothing is known. */
			if (address >> UNWIND_PAGE_SHIFT >= t.page_count)
				want = UNWIND_RULE_NONE;
			CHECK_INT(unwind_table_rule(&t, address), want);
			CHECK_INT(unwind_find_rule(1, t.page_count, address), want);
		}
		unwind_table_release(&t);
	}
}

TEST(a_search_in_garbage_stays_in_its_segment)
{
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (u8)draw(256);
	for (int i = 0; i < 100000; i++)
		CHECK(unwind_find_rule((u32)draw(2 * UNWIND_UNITS), (u32)draw(70000),
				       draw(1ull << 32)) <= 0xffff);
}

static enum err sweep(void)
{
	static struct row rows[3000];
	struct unwind_table t = {0};
	enum err e;

	random_state = 7;
	e = build(rows, random_rows(rows, 3000), &t);
	if (!e)
		unwind_table_release(&t);
	return e;
}

TEST(no_memory_is_said)
{
	ALLOC_SWEEP(sweep());
}

TEST(rules_are_known_once_and_have_a_ceiling)
{
	struct unwind_rules *rules;
	struct unwind_rule rule = {.kind = UNWIND_REGISTER};
	size_t count;
	s32 fixed;

	CHECK_OK(unwind_rules_new(&rules));
	CHECK_INT(unwind_rules_all(rules, &count)[1].kind, UNWIND_END);
	CHECK_INT(unwind_rules_all(rules, &count)[3].kind, UNWIND_SWITCH);
	fixed = (s32)count;
	for (s32 i = 0; i < (s32)UNWIND_RULES_MAX + 100; i++) {
		u32 number;

		rule.cfa_offset = i;
		number = unwind_rules_intern(rules, &rule);
		CHECK_INT(number, i + fixed < (s32)UNWIND_RULES_MAX
					  ? UNWIND_ESCAPE | (u32)(i + fixed)
					  : UNWIND_RULE_NONE);
	}
	rule.cfa_offset = 17;
	CHECK_INT(unwind_rules_intern(rules, &rule), UNWIND_ESCAPE | (u32)(17 + fixed));
	CHECK_INT((unwind_rules_all(rules, &count), count), UNWIND_RULES_MAX);
	unwind_rules_free(rules);
	unwind_rules_free(NULL);
}
