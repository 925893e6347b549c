#include "../test.h"

#include "pipeline/ingest_words.h"

#define NOW 1700000000000000000

static bool parsed(const char *text, const char *expected)
{
	struct ingest_name name;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 16);

	if (ingest_name_parse(str_of(text), &name, NULL))
		return false;
	buf_str(&b, name.service);
	for (size_t i = 0; i < name.n; i++)
		buf_printf(&b, "|%.*s=%.*s", (int)name.v[i].name.n, name.v[i].name.p,
			   (int)name.v[i].value.n, name.v[i].value.p);
	if (!strcmp(b.data, expected))
		return true;
	printf("# %s\n", b.data);
	return false;
}

TEST(names_are_a_service_and_labels)
{
	CHECK(parsed("shop", "shop"));
	CHECK(parsed("my/shop-1.cpu", "my/shop-1.cpu"));
	CHECK(parsed(" shop {}", "shop"));
	CHECK(parsed("shop{a=b}", "shop|a=b"));
	CHECK(parsed("shop{a=b,c=d e=f+g, h.i = j }", "shop|a=b|c=d e=f+g|h.i=j"));
	CHECK(parsed("shop{a=,b=1}", "shop|a=|b=1"));
	CHECK(parsed("shop{a=1,a=2}", "shop|a=2"));
	CHECK(parsed("shop{a=\"b\"}", "shop|a=\"b\""));
	/* What is cut off or superfluous does no harm. */
	CHECK(parsed("shop{a=b", "shop|a=b"));
	CHECK(parsed("shop{a=b,c}", "shop|a=b"));
	CHECK(parsed("shop{a=b}c", "shop|a=b"));
	CHECK(parsed("shop{", "shop"));
}

TEST(names_with_other_characters_are_refused)
{
	struct ingest_name name;
	struct fault fault;

	CHECK_ERR(ingest_name_parse(STR(""), &name, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest_name_parse(STR("{a=b}"), &name, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest_name_parse(STR("sh op"), &name, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest_name_parse(STR("shop\xc3\xa4"), &name, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest_name_parse(str_n("sh\0op", 5), &name, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest_name_parse(STR("shop{a-b=c}"), &name, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest_name_parse(STR("shop{=c}"), &name, &fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "label"));
}

static int64_t time_of(const char *text)
{
	return ingest_time_parse(str_of(text), NOW);
}

TEST(times_are_told_by_their_length)
{
	CHECK_INT(time_of("1615709120"), 1615709120000000000);
	CHECK_INT(time_of("1615709120123"), 1615709120123000000);
	CHECK_INT(time_of("1615709120123456"), 1615709120123456000);
	CHECK_INT(time_of("1615709120123456789"), 1615709120123456789);
	CHECK_INT(time_of("20210314"), 1615680000000000000);
	CHECK_INT(time_of("20211399"), 20211399000000000); /* no day: seconds */
	CHECK_INT(time_of("1_615_709,120 "), 1615709120000000000);
	CHECK_INT(time_of("0"), 0);
	CHECK_INT(time_of("99999999999999999999999"), NOW);
}

TEST(times_may_be_relative_to_now)
{
	CHECK_INT(time_of("now"), NOW);
	CHECK_INT(time_of("now-1h"), NOW - 3600LL * 1000000000);
	CHECK_INT(time_of("now-30min"), NOW - 1800LL * 1000000000);
	CHECK_INT(time_of("now-1h30m"), NOW - 5400LL * 1000000000);
	CHECK_INT(time_of("now+2d"), NOW + 172800LL * 1000000000);
	CHECK_INT(time_of("now-1M"), NOW - 2592000LL * 1000000000);
	CHECK_INT(time_of("now-1mon"), NOW - 2592000LL * 1000000000);
	CHECK_INT(time_of("now-1w1s"), NOW - 604801LL * 1000000000);
	CHECK_INT(time_of("now-1y"), NOW - 31536000LL * 1000000000);
	CHECK_INT(time_of("now-9999999999999999999y"), NOW);
	CHECK_INT(time_of("1615709120.0"), NOW);
	CHECK_INT(time_of("yesterday"), NOW);
	CHECK_INT(time_of(""), NOW);
}
