#include "cli/options.h"

#include "test.h"

struct inner {
	struct text_list tags;
	const char *color;
};

struct sample {
	bool flag, normalise;
	const char *text;
	int64_t count;
	double share, wait;
	size_t size;
	struct inner inner;
};

static const struct option outer_table[] = {
	{"flag", 'f', OPT_FLAG, NULL, "a flag", AT(struct sample, flag), NULL},
	{"focus", 0, OPT_TEXT, "RE", "a text", AT(struct sample, text), NULL},
	{"count", 'n', OPT_NUMBER, "N", "a number", AT(struct sample, count), NULL},
	{"min-share", 0, OPT_REAL, "SHARE", "a share", AT(struct sample, share), NULL},
	{"wait", 'w', OPT_SECONDS, "SECONDS", "a time", AT(struct sample, wait), NULL},
	{"max-bytes", 0, OPT_SIZE, "SIZE", "a size", AT(struct sample, size), NULL},
	{"no-normalise", 0, OPT_OFF, NULL, "off", AT(struct sample, normalise), NULL},
	{0},
};
static const struct option inner_table[] = {
	{"tag", 't', OPT_LIST, "K=V", "repeated", AT(struct inner, tags), NULL},
	{"color", 0, OPT_CHOICE, "WHEN", "a choice", AT(struct inner, color), "auto always never"},
	{0},
};
static const struct option_group groups[] = {
	{"Options", outer_table, 0},
	{"More", inner_table, AT(struct sample, inner)},
	{0},
};

struct parsed {
	struct sample values;
	struct text_list arguments;
	struct fault fault;
	enum err e;
};

static struct parsed parse(int argc, const char **argv)
{
	struct parsed p = {.values.normalise = true};

	p.e = options_parse(groups, &p.values, argc, (char **)argv, &p.arguments, &p.fault);
	return p;
}

static void parsed_release(struct parsed *p)
{
	options_release(groups, &p->values);
	vec_release(&p->arguments);
}

#define PARSE(...)                                                                             \
	CLEANUP(parsed_release)                                                                \
	struct parsed p = parse((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
				(const char *[]){__VA_ARGS__})

TEST(every_kind_of_option_reaches_its_field)
{
	PARSE("a.pb", "-f", "--focus", "x", "--count=5", "--min-share", "0.5%", "--max-bytes", "2M",
	      "--no-normalise", "-t", "a=1", "--tag=b=2", "--color", "never", "-");

	CHECK_ERR(p.e, ERR_OK);
	CHECK(p.values.flag && !p.values.normalise);
	CHECK(strcmp(p.values.text, "x") == 0);
	CHECK_INT(p.values.count, 5);
	CHECK(p.values.share > 0.00499 && p.values.share < 0.00501);
	CHECK_INT(p.values.size, 2 << 20);
	CHECK_INT(p.values.inner.tags.n, 2);
	CHECK(strcmp(p.values.inner.tags.v[1], "b=2") == 0);
	CHECK(strcmp(p.values.inner.color, "never") == 0);
	CHECK_INT(p.arguments.n, 2);
	CHECK(strcmp(p.arguments.v[1], "-") == 0);
}

static double wait_of(const char *text)
{
	PARSE("--wait", text);

	return p.e ? -1 : p.values.wait;
}

TEST(a_time_is_seconds_or_says_what_it_is)
{
	CHECK(wait_of("30") == 30);
	CHECK(wait_of("0.25") == 0.25);
	CHECK(wait_of("500ms") == 0.5);
	CHECK(wait_of("1m30s") == 90);
	CHECK(wait_of("-1") == -1);
	CHECK(wait_of("soon") == -1);
}

TEST(letters_may_be_written_together_with_a_value_at_the_end)
{
	PARSE("-fn12", "x");

	CHECK_ERR(p.e, ERR_OK);
	CHECK(p.values.flag);
	CHECK_INT(p.values.count, 12);
	CHECK_INT(p.arguments.n, 1);
}

TEST(two_dashes_end_the_options)
{
	PARSE("--", "--focus", "-f");

	CHECK_ERR(p.e, ERR_OK);
	CHECK_INT(p.arguments.n, 2);
	CHECK(!p.values.flag);
}

TEST(a_misspelt_option_is_named_and_the_nearest_suggested)
{
	PARSE("--fokus", "x");

	CHECK_ERR(p.e, ERR_BAD_ARGUMENT);
	CHECK_STR(str_of(p.fault.text), "unknown option --fokus (did you mean --focus?)");
}

TEST(a_long_name_after_one_dash_is_refused_with_the_right_spelling)
{
	PARSE("-focus=x");

	CHECK_ERR(p.e, ERR_BAD_ARGUMENT);
	CHECK_STR(str_of(p.fault.text), "-focus: did you mean --focus?");
}

TEST(a_missing_value_is_asked_for)
{
	PARSE("--count");

	CHECK_ERR(p.e, ERR_BAD_ARGUMENT);
	CHECK_STR(str_of(p.fault.text), "--count needs a value: --count N");
}

TEST(a_flag_refuses_a_value)
{
	PARSE("--flag=yes");

	CHECK_ERR(p.e, ERR_BAD_ARGUMENT);
}

TEST(a_number_refuses_words_signs_and_overflow)
{
	static const char *const bad[] = {"x", "-1", "", "1x", "99999999999999999999"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		PARSE("--count", bad[i]);
		CHECK_ERR(p.e, ERR_BAD_ARGUMENT);
	}
}

TEST(a_share_refuses_what_is_no_finite_number)
{
	static const char *const bad[] = {"nan", "inf", "-1", "%", "x%"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		PARSE("--min-share", bad[i]);
		CHECK_ERR(p.e, ERR_BAD_ARGUMENT);
	}
}

TEST(a_choice_lists_what_it_accepts)
{
	PARSE("--color", "pink");

	CHECK_ERR(p.e, ERR_BAD_ARGUMENT);
	CHECK_STR(str_of(p.fault.text), "--color pink: expected auto always never");
}

TEST(sizes_have_suffixes)
{
	size_t n;

	CHECK_ERR(size_parse(STR("4096"), &n), ERR_OK);
	CHECK_INT(n, 4096);
	CHECK_ERR(size_parse(STR("64K"), &n), ERR_OK);
	CHECK_INT(n, 65536);
	CHECK_ERR(size_parse(STR("512MiB"), &n), ERR_OK);
	CHECK_INT(n, 512 << 20);
	CHECK_ERR(size_parse(STR("1gb"), &n), ERR_OK);
	CHECK_INT(n, 1 << 30);
	CHECK_ERR(size_parse(STR("10B"), &n), ERR_OK);
	CHECK_INT(n, 10);
	CHECK_ERR(size_parse(STR(""), &n), ERR_BAD_ARGUMENT);
	CHECK_ERR(size_parse(STR("K"), &n), ERR_BAD_ARGUMENT);
	CHECK_ERR(size_parse(STR("1X"), &n), ERR_BAD_ARGUMENT);
	CHECK_ERR(size_parse(STR("1KiBs"), &n), ERR_BAD_ARGUMENT);
	CHECK_ERR(size_parse(STR("99999999999T"), &n), ERR_BAD_ARGUMENT);
}

TEST(near_words_are_suggested_and_far_ones_are_not)
{
	static const char *const words[] = {"show", "top",     "flame",
					    "diff", "convert", "completion"};

	CHECK(strcmp(nearest_word(STR("tpo"), words, 6), "top") == 0);
	CHECK(strcmp(nearest_word(STR("shwo"), words, 6), "show") == 0);
	CHECK(strcmp(nearest_word(STR("convrt"), words, 6), "convert") == 0);
	CHECK(strcmp(nearest_word(STR("comp"), words, 6), "completion") == 0);
	CHECK(nearest_word(STR("xyz"), words, 6) == NULL);
	CHECK(nearest_word(STR(""), words, 6) == NULL);
}

static enum err parse_and_release(void)
{
	PARSE("a", "-t", "x=1", "--tag", "y=2", "b", "-f");

	return p.e;
}

TEST(parsing_survives_every_failing_allocation)
{
	ALLOC_SWEEP(parse_and_release());
}
