#include "net/net.h"

#include "test.h"

TEST(only_http_and_https_are_urls)
{
	CHECK(fetch_is_url(STR("http://x/")) && fetch_is_url(STR("https://x/")));
	CHECK(!fetch_is_url(STR("file:///etc/passwd")) && !fetch_is_url(STR("cpu.pb.gz")));
	CHECK(!fetch_is_url(STR("ftp://x")) && !fetch_is_url(STR("")));
}

TEST(passwords_are_not_shown)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

	fetch_display_url(&b, STR("http://ann:secret@host:6060/debug?x=a@b"));
	CHECK_STR(buf_view(&b), "http://host:6060/debug?x=a@b");
	buf_clear(&b);
	fetch_display_url(&b, STR("https://host/path"));
	CHECK_STR(buf_view(&b), "https://host/path");
}

TEST(the_seconds_of_the_query_are_waited_for)
{
	CHECK(fetch_server_seconds(STR("http://h/debug/pprof/profile?seconds=5")) == 5);
	CHECK(fetch_server_seconds(STR("http://h/x?debug=0&seconds=12#y")) == 12);
	CHECK(fetch_server_seconds(STR("http://h/debug/pprof/profile")) == 30);
	CHECK(fetch_server_seconds(STR("http://h/debug/pprof/heap")) == 0);
	CHECK(fetch_server_seconds(STR("http://h/p?seconds=-3")) == 0);
	CHECK(fetch_server_seconds(STR("http://h/p?seconds=1e300")) == 0);
	CHECK(fetch_patience(STR("http://h/p?seconds=5")) == 35);
}

TEST(a_port_nobody_listens_on_is_an_error_with_a_reason)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	struct fetch r = {.url = "http://127.0.0.1:1/", .user_agent = "test"};
	struct fault fault = {0};

	CHECK_ERR(fetch(&r, &b, &fault), ERR_NETWORK);
	CHECK(fault.text[0]);
	CHECK_INT(b.n, 0);
}
