#include "../test.h"

#include "model/model.h"

static void free_regex(struct linear_regex **r)
{
	linear_regex_free(*r);
}

#define REGEX(name) CLEANUP(free_regex) struct linear_regex *name = NULL

static bool matches(const char *source, const char *text)
{
	REGEX(r);
	bool match = false;

	if (linear_regex_new(str_of(source), &r, NULL) != ERR_OK ||
	    linear_regex_match(r, str_of(text), &match) != ERR_OK)
		test_fail(__FILE__, __LINE__, "%s on %s failed", source, text);
	return match;
}

static bool refused(const char *source, const char *why)
{
	struct fault fault = {0};
	REGEX(r);

	return linear_regex_new(str_of(source), &r, &fault) != ERR_OK && strstr(fault.text, why);
}

TEST(the_whole_text_must_match)
{
	CHECK(matches("prod", "prod"));
	CHECK(!matches("prod", "prod-eu"));
	CHECK(!matches("rod", "prod"));
	CHECK(matches("prod.*", "prod-eu"));
	CHECK(matches("a|ab", "ab"));
	CHECK(matches("", ""));
	CHECK(!matches("", "a"));
	CHECK(matches("|a", ""));
	CHECK(matches("^prod$", "prod"));
	CHECK(!matches("a$b", "ab"));
	CHECK(matches("\\Aa\\z", "a"));
}

TEST(repeats_count)
{
	CHECK(matches("a*", ""));
	CHECK(matches("a*", "aaaa"));
	CHECK(!matches("a+", ""));
	CHECK(matches("a?b", "b"));
	CHECK(matches("a{3}", "aaa"));
	CHECK(!matches("a{3}", "aa"));
	CHECK(!matches("a{3}", "aaaa"));
	CHECK(matches("a{2,}", "aaaaa"));
	CHECK(!matches("a{2,}", "a"));
	CHECK(matches("(ab){1,3}", "ababab"));
	CHECK(!matches("(ab){1,3}", "abababab"));
	CHECK(matches("(a{0,2}b){2}", "aabb"));
	CHECK(matches("a{0}b", "b"));
	CHECK(matches("a*?b+?", "aab"));
	CHECK(matches("a{,2}", "a{,2}"));
	CHECK(matches("(a*)*", "aaa"));
	CHECK(matches("(a|b*)+c", "abbac"));
}

TEST(sets_and_escapes)
{
	CHECK(matches("[a-c]+", "abcab"));
	CHECK(!matches("[^a-c]", "b"));
	CHECK(matches("[^a-c]", "x"));
	CHECK(matches("[]a]+", "]a"));
	CHECK(matches("[a-]+", "a-"));
	CHECK(matches("[\\d.]+", "10.0"));
	CHECK(matches("\\w+\\s\\W", "ab_1 -"));
	CHECK(matches("[[:alpha:]]+[[:^digit:]]", "abc-"));
	CHECK(matches("\\x41\\x{42}", "AB"));
	CHECK(matches("a\\.b\\*", "a.b*"));
	CHECK(!matches("a\\.b", "axb"));
	CHECK(matches("\\D\\S", "xy"));
	CHECK(!matches("\\D", "5"));
	CHECK(matches("a\\tb", "a\tb"));
	CHECK(matches("\\bab\\b.cd", "ab cd"));
	CHECK(matches("a\\Bb", "ab"));
	CHECK(!matches("a\\bb", "ab"));
}

TEST(groups_and_flags)
{
	CHECK(matches("(?:ab|cd)e", "cde"));
	CHECK(matches("(?P<name>x)y", "xy"));
	CHECK(matches("(?<name>x)y", "xy"));
	CHECK(matches("(?i)PROD", "proD"));
	CHECK(matches("(?i:A)b", "ab"));
	CHECK(!matches("(?i:A)b", "aB"));
	CHECK(matches("(?i)[a-c]x", "BX"));
	CHECK(matches("(?i)a(?-i)B", "AB"));
	CHECK(!matches("(?i)a(?-i)B", "ab"));
}

TEST(characters_are_code_points)
{
	CHECK(matches(".", "é"));
	CHECK(matches("[à-ü]", "é"));
	CHECK(!matches("..", "é"));
	CHECK(matches("..", "\xff\xfe"));
	CHECK(matches("a.c", "a\nc"));
}

TEST(what_is_refused_is_named)
{
	CHECK(refused("(a", "a group without its \")\" at byte 2"));
	CHECK(refused("a)", "a \")\" without its \"(\""));
	CHECK(refused("[a", "a set without its \"]\""));
	CHECK(refused("*a", "nothing to repeat"));
	CHECK(refused("a**", "a repeat of a repeat"));
	CHECK(refused("a{3,2}", "a repeat whose end is below its begin"));
	CHECK(refused("a{2000}", "more than 1000 repeats"));
	CHECK(refused("(a{1000}){1000}", "too large"));
	CHECK(refused("(a)\\1", "back references are not supported"));
	CHECK(refused("(?=a)", "look-around is not supported"));
	CHECK(refused("(?<!a)b", "look-around is not supported"));
	CHECK(refused("\\pL", "Unicode classes are not supported"));
	CHECK(refused("\\y", "an unknown escape"));
	CHECK(refused("a\\", "an unknown escape"));
	CHECK(refused("[b-a]", "a bad range in a set"));
	CHECK(refused("[[:nope:]]", "an unknown [:class:]"));
	CHECK(refused("\xff", "not UTF-8"));
	CHECK(refused("(?z)", "an unknown flag"));
}

TEST(patterns_that_explode_elsewhere_do_not_here)
{
	char text[4097];

	memset(text, 'a', 4096);
	text[4095] = 'b';
	text[4096] = 0;
	CHECK(!matches("(a+)+$", text));
	CHECK(!matches("(a|a)*", text));
	CHECK(!matches("(a*)*c", text));
	CHECK(!matches("(.*.*.*.*.*.*)x", text));
	CHECK(matches("(a|aa)+b", text));
}

TEST(texts_longer_than_any_label_are_refused)
{
	REGEX(r);
	static char text[100000];
	bool match;

	CHECK_OK(linear_regex_new(STR(".*"), &r, NULL));
	CHECK_ERR(linear_regex_match(r, str_n(text, sizeof(text)), &match), ERR_TOO_LARGE);
}

static enum err compile(void)
{
	REGEX(r);

	return linear_regex_new(STR("(?i)(a|[b-d]{2,3})+\\d"), &r, NULL);
}

TEST(every_allocation_may_fail)
{
	ALLOC_SWEEP(compile());
}
