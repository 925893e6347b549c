#include "cli/table.h"

#include "cli/text_fold.h"
#include "cli/units.h"
#include "test.h"

static void cut(struct buf *out, const char *text, unsigned width)
{
	buf_clear(out);
	text_cut(out, str_of(text), width);
}

TEST(width_counts_columns_not_bytes)
{
	CHECK_INT(text_width(STR("abc")), 3);
	CHECK_INT(text_width(STR("äöü")), 3);
	CHECK_INT(text_width(STR("日本")), 4);
	CHECK_INT(text_width(STR("e\xcc\x81")), 1);
	CHECK_INT(text_width(STR("\xff\xfe")), 2);
	CHECK_INT(text_width(STR("\xf0\x9f\x94\xa5")), 2);
}

TEST(control_characters_never_reach_a_terminal)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

	text_clean(&b, STR("a\033[31mb\nc\xc2\x9b"
			   "d\xe2\x80\xae"
			   "e\xff"));
	CHECK_STR(buf_view(&b), "a\xef\xbf\xbd[31mb\xef\xbf\xbd"
				"c\xef\xbf\xbd"
				"d\xef\xbf\xbd"
				"e\xef\xbf\xbd");
}

TEST(a_long_name_keeps_its_end)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

	cut(&b, "github.com/acme/shop/cart.(*Cart).Checkout", 20);
	CHECK_INT(text_width(buf_view(&b)), 20);
	CHECK(str_ends(buf_view(&b), STR("Checkout")));
	CHECK(str_starts(buf_view(&b), STR("github")));
	cut(&b, "short", 20);
	CHECK_STR(buf_view(&b), "short");
	cut(&b, "日本日本日本日本", 7);
	CHECK(text_width(buf_view(&b)) <= 7);
	cut(&b, "abcdef", 1);
	CHECK_STR(buf_view(&b), "a");
}

static bool folds(const char *name, const char *expected)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

	text_fold(&b, str_of(name));
	if (!str_eq(buf_view(&b), str_of(expected)))
		printf("# %.*s\n", (int)b.n, b.data);
	return str_eq(buf_view(&b), str_of(expected));
}

TEST(arguments_of_a_name_are_folded_and_names_in_brackets_are_not)
{
	CHECK(folds("std::map<int, std::string>::find(int const&) const",
		    "std::map<…>::find(…) const"));
	CHECK(folds("void sort<It, sorter()::{lambda(auto:1&)#1}>(It, It)", "void sort<…>(…)"));
	CHECK(folds("std::ostream& operator<< <char>(std::ostream&, char)",
		    "std::ostream& operator<< <char>(…)"));
	CHECK(folds("Call::operator()(int, int) const", "Call::operator()(…) const"));
	CHECK(folds("P::operator->() const", "P::operator->() const"));
	CHECK(folds("operator_of<int, int>(int)", "operator_of<…>(int)"));
	CHECK(folds("(anonymous namespace)::f(long, long)", "(anonymous namespace)::f(…)"));
	CHECK(folds("github.com/acme/shop.(*Cart).Checkout",
		    "github.com/acme/shop.(*Cart).Checkout"));
	CHECK(folds("main.map[string]int", "main.map[string]int"));
	CHECK(folds("<alloc::vec::Vec<T> as Drop>::drop", "<alloc::vec::Vec<T> as Drop>::drop"));
	CHECK(folds("core::iter::map::<A, B>::next", "core::iter::map::<…>::next"));
	CHECK(folds("core::<impl Fn for F>::call", "core::<impl Fn for F>::call"));
	CHECK(folds("work (inline)", "work (inline)"));
	CHECK(folds("f<unclosed, name(", "f<unclosed, name("));
	CHECK(folds("f(a->b, c)", "f(…)"));
	CHECK(folds("", ""));
}

TEST(columns_are_aligned_and_the_last_one_is_cut_to_the_terminal)
{
	static const struct column columns[] = {{"flat", ALIGN_RIGHT, 0}, {"name", ALIGN_LEFT, 0}};
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	CLEANUP(table_release) struct table t;

	table_init(&t, columns, 2, 20, false);
	table_cell(&t, STR("1"), NULL);
	table_cell(&t, STR("a"), NULL);
	table_cell(&t, STR("12345"), NULL);
	table_cell(&t, STR("abcdefghijklmnopqrst"), NULL);
	table_print(&t, &b);
	CHECK_STR(buf_view(&b), " flat  name\n"
				"    1  a\n"
				"12345  abcd…mnopqrst\n");
}

TEST(colours_are_printed_only_when_asked_for)
{
	static const struct column columns[] = {{"", ALIGN_LEFT, 0}};
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	CLEANUP(table_release) struct table t;

	table_init(&t, columns, 1, 0, false);
	table_cell(&t, STR("x"), "\033[31m");
	table_print(&t, &b);
	CHECK_STR(buf_view(&b), "\nx\n");
	t.color = true;
	buf_clear(&b);
	table_print(&t, &b);
	CHECK_STR(buf_view(&b), "\n\033[31mx\033[0m\n");
}

static enum err print_small(void)
{
	static const struct column columns[] = {{"a", ALIGN_RIGHT, 0}, {"b", ALIGN_LEFT, 0}};
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	CLEANUP(table_release) struct table t;

	table_init(&t, columns, 2, 0, false);
	table_cell(&t, STR("1"), NULL);
	table_cellf(&t, NULL, "%s", "x");
	table_print(&t, &b);
	return buf_error(&b);
}

TEST(a_table_survives_every_failing_allocation)
{
	ALLOC_SWEEP(print_small());
}

static void amount(struct buf *b, struct scale s, double value)
{
	buf_clear(b);
	scale_put(b, &s, value);
}

TEST(one_unit_is_chosen_for_a_column_as_pprof_does)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

	amount(&b, scale_choose(10000000, 580000000, STR("nanoseconds")), 310000000);
	CHECK_STR(buf_view(&b), "310ms");
	amount(&b, scale_choose(10000000, 5800000000, STR("nanoseconds")), 310000000);
	CHECK_STR(buf_view(&b), "0.31s");
	amount(&b, scale_choose(512, 8 << 20, STR("bytes")), 3 << 20);
	CHECK_STR(buf_view(&b), "3072kB");
	amount(&b, scale_choose(1, 100, STR("count")), 17);
	CHECK_STR(buf_view(&b), "17");
	amount(&b, scale_choose(1, 100, STR("furlongs")), 17);
	CHECK_STR(buf_view(&b), "17furlongs");
	amount(&b, scale_choose(1, 100, STR("bytes")), 0);
	CHECK_STR(buf_view(&b), "0");
}

TEST(shares_look_like_those_of_pprof)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

	share_put(&b, 1, 1);
	CHECK_STR(buf_view(&b), "  100%");
	buf_clear(&b);
	share_put(&b, 1, 8);
	CHECK_STR(buf_view(&b), "12.50%");
	buf_clear(&b);
	share_put(&b, 1, 3000);
	CHECK_STR(buf_view(&b), "0.033%");
	buf_clear(&b);
	share_put(&b, 1, 0);
	CHECK_STR(buf_view(&b), "    0%");
}
