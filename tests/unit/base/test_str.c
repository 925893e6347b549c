#include "test.h"

#include "base/str.h"

TEST(comparisons_are_bytewise_and_shorter_comes_first)
{
	CHECK(str_cmp(STR("a"), STR("b")) < 0);
	CHECK(str_cmp(STR("b"), STR("ab")) > 0);
	CHECK(str_cmp(STR("a"), STR("aa")) < 0);
	CHECK(str_cmp(STR("\xff"), STR("a")) > 0);
	CHECK(str_cmp(str_of(NULL), STR("")) == 0);
	CHECK(str_eq(str_of(NULL), STR("")));
	CHECK(!str_eq(STR("a\0b"), STR("a\0c")));
}

TEST(prefixes_and_suffixes_are_found)
{
	CHECK(str_starts(STR("flame"), STR("fl")) && str_starts(STR("flame"), STR("")));
	CHECK(!str_starts(STR("fl"), STR("flame")) && !str_starts(STR("flame"), STR("la")));
	CHECK(str_ends(STR("cpu.pb.gz"), STR(".gz")) && str_ends(STR("x"), str_of(NULL)));
	CHECK(!str_ends(STR("gz"), STR(".gz")));
}

TEST(searches_return_the_length_when_nothing_is_found)
{
	CHECK_INT(str_find(STR("a;b;c"), ';'), 1);
	CHECK_INT(str_rfind(STR("a;b;c"), ';'), 3);
	CHECK_INT(str_find(STR("abc"), ';'), 3);
	CHECK_INT(str_rfind(STR("abc"), ';'), 3);
	CHECK_INT(str_find(str_of(NULL), ';'), 0);
	CHECK_INT(str_search(STR("hello world"), STR("wor")), 6);
	CHECK_INT(str_search(STR("hello"), STR("x")), 5);
	CHECK_INT(str_search(STR("hello"), str_of(NULL)), 0);
	CHECK_INT(str_search(str_of(NULL), STR("x")), 0);
}

TEST(trim_and_skip_stay_inside)
{
	CHECK_STR(str_trim(STR(" \t\r\n a b \v\f")), "a b");
	CHECK_STR(str_trim(STR("   ")), "");
	CHECK_STR(str_skip(STR("abc"), 2), "c");
	CHECK_STR(str_skip(STR("abc"), 9), "");
	CHECK_INT(str_skip(str_of(NULL), 3).n, 0);
	CHECK_INT(str_trim(str_of(NULL)).n, 0);
}

TEST(split_yields_every_part_before_a_separator)
{
	struct str rest = STR("a;;bc"), part;

	CHECK(str_split(&rest, ';', &part));
	CHECK_STR(part, "a");
	CHECK(str_split(&rest, ';', &part));
	CHECK_STR(part, "");
	CHECK(str_split(&rest, ';', &part));
	CHECK_STR(part, "bc");
	CHECK(!str_split(&rest, ';', &part));
	rest = STR("x;");
	CHECK(str_split(&rest, ';', &part) && !str_split(&rest, ';', &part));
}

TEST(integers_at_their_limits_are_read_and_beyond_refused)
{
	int64_t i = 1;
	uint64_t u = 1;

	CHECK_OK(str_to_i64(STR("-9223372036854775808"), &i));
	CHECK(i == INT64_MIN);
	CHECK_OK(str_to_i64(STR("+9223372036854775807"), &i));
	CHECK(i == INT64_MAX);
	CHECK_ERR(str_to_i64(STR("9223372036854775808"), &i), ERR_CORRUPT);
	CHECK_ERR(str_to_i64(STR("-9223372036854775809"), &i), ERR_CORRUPT);
	CHECK(i == INT64_MAX);
	CHECK_OK(str_to_u64(STR("18446744073709551615"), 10, &u));
	CHECK(u == UINT64_MAX);
	CHECK_OK(str_to_u64(STR("fFffFFFFffffffff"), 16, &u));
	CHECK(u == UINT64_MAX);
	CHECK_ERR(str_to_u64(STR("18446744073709551616"), 10, &u), ERR_CORRUPT);
	CHECK_ERR(str_to_u64(STR("10000000000000000"), 16, &u), ERR_CORRUPT);
	CHECK_OK(str_to_u64(STR("777"), 8, &u));
	CHECK_INT(u, 511);
}

TEST(stray_characters_in_numbers_are_refused)
{
	static const char *const bad[] = {"", " 1", "1 ", "-", "+", "--1", "1x", "0x1", "1.0", "١"};
	int64_t i;
	uint64_t u;

	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		CHECK_ERR(str_to_i64(str_of(bad[n]), &i), ERR_CORRUPT);
		CHECK_ERR(str_to_u64(str_of(bad[n]), 10, &u), ERR_CORRUPT);
	}
	CHECK_ERR(str_to_u64(STR("-1"), 10, &u), ERR_CORRUPT);
	CHECK_ERR(str_to_u64(STR("8"), 8, &u), ERR_CORRUPT);
	CHECK_ERR(str_to_i64(STR("1\0"), &i), ERR_CORRUPT);
}

TEST(doubles_are_read_exactly)
{
	double d = 0;

	CHECK_OK(str_to_double(STR("-1.5e3"), &d));
	CHECK(d == -1500.0);
	CHECK_OK(str_to_double(STR("0.1"), &d));
	CHECK(d == 0.1);
	CHECK_OK(str_to_double(STR("1e-999"), &d));
	CHECK(d == 0);
}

TEST(doubles_that_are_no_numbers_are_refused)
{
	static const char *const bad[] = {"",	   "nan", "inf", "-Infinity", "0x1p3", " 1", "1 ",
					  "1e999", "1e",  "e1",	 ".",	      "1,5",   "--1"};
	char longer[200];
	double d;

	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
		CHECK_ERR(str_to_double(str_of(bad[n]), &d), ERR_CORRUPT);
	memset(longer, '1', sizeof(longer));
	CHECK_ERR(str_to_double(str_n(longer, sizeof(longer)), &d), ERR_CORRUPT);
	CHECK_ERR(str_to_double(STR("1\0"), &d), ERR_CORRUPT);
}

TEST(edit_distance_counts_changes_up_to_a_limit)
{
	char longer[100];

	CHECK_INT(str_distance(STR("flame"), STR("flame"), 3), 0);
	CHECK_INT(str_distance(STR("flam"), STR("flame"), 3), 1);
	CHECK_INT(str_distance(STR("falme"), STR("flame"), 3), 2);
	CHECK_INT(str_distance(STR(""), STR("abc"), 3), 3);
	CHECK_INT(str_distance(STR("xyz"), STR("abcdef"), 3), 4);
	memset(longer, 'a', sizeof(longer));
	CHECK_INT(str_distance(str_n(longer, 100), STR("a"), 3), 4);
}

TEST(utf8_accepts_what_the_standard_accepts)
{
	CHECK(utf8_valid(STR("")));
	CHECK(utf8_valid(STR("plain ascii of more than eight bytes")));
	CHECK(utf8_valid(STR("Grüße, 世界 🌍, \xf4\x8f\xbf\xbf \xed\x9f\xbf")));
	CHECK_INT(utf8_length(STR("é!")), 2);
	CHECK_INT(utf8_length(STR("世")), 3);
	CHECK_INT(utf8_length(STR("🌍")), 4);
	CHECK_INT(utf8_length(STR("")), 0);
}

TEST(utf8_refuses_overlong_surrogate_cut_and_too_large_forms)
{
	static const char *const bad[] = {"\x80",
					  "\xc0\x80",
					  "\xc1\xbf",
					  "\xe0\x9f\xbf",
					  "\xed\xa0\x80",
					  "\xf0\x8f\xbf\xbf",
					  "\xf4\x90\x80\x80",
					  "\xf5\x80\x80\x80",
					  "\xc3",
					  "\xe4\xb8",
					  "\xf0\x9f\x8c",
					  "ascii ascii \xff",
					  "\xe4\xb8z",
					  "\xc3z"};

	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
		CHECK(!utf8_valid(str_of(bad[n])));
}
