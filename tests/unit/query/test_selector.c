#include "../test.h"

#include "query/query.h"

/* The selector printed again, which names every part of it; the fault's text when it is refused. */
static const char *printed(const char *text)
{
	static struct buf out = {.ceiling = 100000};
	struct fault fault = {0};
	struct selector s;

	buf_clear(&out);
	if (selector_parse(str_of(text), &s, &fault) != ERR_OK) {
		buf_text(&out, fault.text);
		return out.data;
	}
	selector_print(&s, &out);
	selector_release(&s);
	return out.data;
}

static struct str parsed(const char *text)
{
	return str_of(printed(text));
}

static bool refused(const char *text, const char *why)
{
	return strstr(printed(text), "is not valid") && strstr(printed(text), why);
}

TEST(a_service_alone_and_with_conditions)
{
	CHECK_STR(parsed("checkout"), "{service_name=\"checkout\"}");
	CHECK_STR(parsed("  my-service "), "{service_name=\"my-service\"}");
	CHECK_STR(parsed("checkout{commit=\"abc\"}"), "{service_name=\"checkout\",commit=\"abc\"}");
	CHECK_STR(parsed("{}"), "{}");
	CHECK_STR(parsed("{service.name=\"x\"}"), "{service_name=\"x\"}");
}

TEST(quotes_may_be_left_out_as_the_command_line_writes_it)
{
	CHECK_STR(parsed("my-service{commit=abc123}"),
		  "{service_name=\"my-service\",commit=\"abc123\"}");
	CHECK_STR(parsed("a{x=1 2, y != z}"), "{service_name=\"a\",x=\"1 2\",y!=\"z\"}");
	CHECK_STR(parsed("a{x=}"), "{service_name=\"a\",x=\"\"}");
}

TEST(a_type_has_four_colons)
{
	CHECK_STR(parsed("process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"a\"}"),
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"a\"}");
	CHECK_STR(parsed("memory:alloc:bytes::"), "memory:alloc:bytes::{}");
	CHECK_STR(parsed("host:80"), "{service_name=\"host:80\"}");
}

TEST(operators_and_escapes)
{
	CHECK_STR(parsed("{a=\"1\",b!=\"2\",c=~\"3.*\",d!~\"4\",}"),
		  "{a=\"1\",b!=\"2\",c=~\"3.*\",d!~\"4\"}");
	CHECK_STR(parsed("{a='x\\'y',b=`\\n`}"), "{a=\"x'y\",b=\"\\\\n\"}");
	CHECK_STR(parsed("{a=\"\\u00e9\\n\"}"), "{a=\"é\\n\"}");
	CHECK_STR(parsed("{\"k8s pod\"=\"x\"}"), "{\"k8s pod\"=\"x\"}");
	CHECK_STR(parsed("{a=~\"x\\.y\"}"), "{a=~\"x\\\\.y\"}");
}

TEST(what_is_printed_parses_to_the_same)
{
	static const char *const texts[] = {"{a=\"1\",b!=\"2\",c=~\"3.*\"}",
					    "{\"k p\"=\"q\\\"\\\\\"}", "a:b:c:d:e{x=\"\\n\"}"};

	for (size_t i = 0; i < 3; i++) {
		char once[200];

		snprintf(once, sizeof(once), "%s", printed(texts[i]));
		CHECK_STR(str_of(once), texts[i]);
		CHECK_STR(parsed(once), once);
	}
}

TEST(refusals_say_where)
{
	CHECK(refused("", "it is empty"));
	CHECK(refused("a b{}", "a service name ends here"));
	CHECK(refused("{a}", "one of = != =~ !~"));
	CHECK(refused("{=\"x\"}", "a label name is expected"));
	CHECK(refused("{a=\"x}", "without its closing quote"));
	CHECK(refused("{a=\"x\" b=\"y\"}", "\",\" or \"}\""));
	CHECK(refused("{a=\"x\"} x", "unexpected text after"));
	CHECK(refused("{a=\"x\\", "ends with a backslash"));
	CHECK(refused("{a=\"\\ud800\"}", "a bad \\u"));
	CHECK(refused("{", "a label name is expected"));
	CHECK(refused("{a=~\"(\"}", "a group without"));
}

TEST(equal_values_are_found)
{
	struct selector s;

	CHECK_OK(selector_parse(STR("a{x!=\"1\",x=\"2\"}"), &s, NULL));
	CHECK(str_eq(selector_equal(&s, STR("x")), STR("2")));
	CHECK(str_eq(selector_equal(&s, STR("service_name")), STR("a")));
	CHECK_INT(selector_equal(&s, STR("y")).n, 0);
	selector_release(&s);
}

static enum err parse_all(void)
{
	struct selector s;

	TRY(selector_parse(STR("a:b:c:d:e{x=~\"y+\",\"z\"=\"q\",w!~'v|u'}"), &s, NULL));
	selector_release(&s);
	return ERR_OK;
}

TEST(every_allocation_may_fail)
{
	ALLOC_SWEEP(parse_all());
}

/* Several selectors as one, printed. */
static struct str joined(const struct str *texts, size_t n)
{
	static struct buf out = {.ceiling = 100000};
	struct fault fault = {0};
	struct selector s;

	buf_clear(&out);
	if (selector_parse_all(texts, n, &s, &fault) != ERR_OK) {
		buf_text(&out, fault.text);
		return buf_view(&out);
	}
	selector_print(&s, &out);
	selector_release(&s);
	return buf_view(&out);
}

TEST(of_several_selectors_every_condition_holds)
{
	const struct str texts[] = {STR("shop{pod=~\"a.*\"}"), STR(" "),
				    STR("a:b:c:d:e{env!=\"x\"}"), STR("k:l:m:n:o{}")};

	CHECK_STR(joined(NULL, 0), "{}");
	CHECK_STR(joined(texts, 1), "{service_name=\"shop\",pod=~\"a.*\"}");
	CHECK_STR(joined(texts, 4), "a:b:c:d:e{service_name=\"shop\",pod=~\"a.*\",env!=\"x\","
				    "__profile_type__=\"k:l:m:n:o\"}");
	CHECK_STR(joined((const struct str[]){STR("{__service_name__=\"s\"}")}, 1),
		  "{service_name=\"s\"}");
	CHECK(strstr(joined((const struct str[]){STR("a"), STR("{b")}, 2).p, "is not valid"));
}

static enum err join_once(void)
{
	const struct str texts[] = {STR("a{b=~\"c\"}"), STR("d:e:f:g:h{i=~\"j\"}")};
	struct fault fault;
	struct selector s;
	enum err e = selector_parse_all(texts, 2, &s, &fault);

	if (!e)
		selector_release(&s);
	return e;
}

TEST(joining_selectors_survives_any_allocation_failing)
{
	ALLOC_SWEEP(join_once());
}
