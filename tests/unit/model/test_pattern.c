#include "../test.h"

#include "model/model.h"

static void free_pattern(struct pattern **p)
{
	pattern_free(*p);
}

#define PATTERN(name) CLEANUP(free_pattern) struct pattern *name = NULL

static bool matches(const char *source, unsigned flags, const char *text)
{
	PATTERN(p);
	bool match = false;

	if (pattern_new(str_of(source), flags, &p, NULL) != ERR_OK ||
	    pattern_match(p, str_of(text), &match) != ERR_OK)
		test_fail(__FILE__, __LINE__, "%s on %s failed", source, text);
	return match;
}

TEST(patterns_match_anywhere_unless_anchored)
{
	CHECK(matches("alloc", 0, "malloc_consolidate"));
	CHECK(!matches("alloc", PATTERN_ANCHORED, "malloc"));
	CHECK(matches("m?alloc", PATTERN_ANCHORED, "malloc"));
	CHECK(matches("a|ab", PATTERN_ANCHORED, "ab"));
	CHECK(!matches("ALLOC", 0, "malloc"));
	CHECK(matches("ALLOC", PATTERN_IGNORE_CASE, "malloc"));
	CHECK(matches("^runtime\\.", 0, "runtime.mallocgc"));
	CHECK(!matches("^mallocgc", 0, "runtime.mallocgc"));
}

TEST(literal_patterns_have_no_special_characters)
{
	CHECK(matches("operator()", PATTERN_LITERAL, "foo::operator()(int)"));
	CHECK(!matches("a.c", PATTERN_LITERAL, "abc"));
	CHECK(matches("A.C", PATTERN_LITERAL | PATTERN_IGNORE_CASE | PATTERN_ANCHORED, "a.c"));
	CHECK(!matches("a.c", PATTERN_LITERAL | PATTERN_ANCHORED, "a.cc"));
}

TEST(empty_pattern_matches_all_but_anchored_only_the_empty_text)
{
	CHECK(matches("", 0, ""));
	CHECK(matches("", 0, "anything"));
	CHECK(matches("", PATTERN_ANCHORED, ""));
	CHECK(!matches("", PATTERN_ANCHORED, "anything"));
}

TEST(bytes_that_are_not_utf8_are_matched_around)
{
	CHECK(matches("^.µ$", 0, "éµ"));
	CHECK(matches("main", 0, "\xff\xfemain"));
	CHECK(matches("\xff", 0, "a\xff"));
	CHECK(matches("ÉTÉ", PATTERN_IGNORE_CASE, "été"));
}

TEST(bad_pattern_says_where_and_why)
{
	struct pattern *p = NULL;
	struct fault fault = {0};

	CHECK_ERR(pattern_new(STR("ab(c"), 0, &p, &fault), ERR_BAD_ARGUMENT);
	CHECK(p == NULL);
	CHECK(strstr(fault.text, "ab(c") && strstr(fault.text, "character 5"));
	CHECK(strstr(fault.text, "parenthes"));
	CHECK_ERR(pattern_new(STR("*"), 0, &p, NULL), ERR_BAD_ARGUMENT);
	CHECK_ERR(pattern_new(STR("a\\C"), 0, &p, NULL), ERR_BAD_ARGUMENT);
}

TEST(oversized_pattern_is_refused)
{
	CLEANUP(mem_free_ptr) char *text = mem_alloc(70000);
	struct pattern *p = NULL;
	struct fault fault = {0};

	CHECK(text);
	memset(text, 'a', 70000);
	CHECK_ERR(pattern_new(str_n(text, 70000), 0, &p, &fault), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "70000"));
}

TEST(pattern_that_explodes_ends_with_an_error)
{
	PATTERN(p);
	char text[61];
	bool match;

	memset(text, 'a', 60);
	text[60] = '\0';
	CHECK_OK(pattern_new(STR("^(a+)+$|^(a|aa)+b$"), 0, &p, NULL));
	text[59] = '!';
	CHECK_ERR(pattern_match(p, str_of(text), &match), ERR_TOO_LARGE);
}

TEST(long_text_exhausts_no_stack)
{
	PATTERN(p);
	CLEANUP(mem_free_ptr) char *text = mem_alloc(1 << 20);
	bool match;
	enum err e;

	CHECK(text);
	memset(text, 'x', 1 << 20);
	CHECK_OK(pattern_new(STR("(?:x|y(?:z))*q"), 0, &p, NULL));
	e = pattern_match(p, str_n(text, 1 << 20), &match);
	CHECK(e == ERR_TOO_LARGE || (e == ERR_OK && !match));
}

static enum err compile_and_match(void)
{
	PATTERN(p);
	bool match;

	TRY(pattern_new(STR("(foo|ba+r)[a-z]{2,5}"), PATTERN_IGNORE_CASE, &p, NULL));
	return pattern_match(p, STR("a text with baaarxyz inside"), &match);
}

TEST(pattern_survives_any_allocation_failing)
{
	ALLOC_SWEEP(compile_and_match());
}
