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

struct outcome {
	enum err error;
	int calls;
	struct fault fault;
};

static void take_outcome(void *context, enum err error, const struct fault *fault)
{
	struct outcome *o = context;

	o->error = error;
	o->calls++;
	o->fault = *fault;
}

static void free_group(struct fetch_group **g)
{
	fetch_group_free(*g);
}

TEST(a_group_tells_the_end_of_each_once)
{
	CLEANUP(free_group) struct fetch_group *g = NULL;
	CLEANUP(buf_release) struct buf a = BUF_INIT(1000);
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	struct fetch bad = {.url = "http://127.0.0.1:1/", .user_agent = "test", .unattended = true};
	struct outcome first = {0}, second = {0};
	struct fault fault = {0};

	CHECK_OK(fetch_group_new(1000, &g, &fault));
	CHECK_OK(fetch_group_start(g, &bad, &a, take_outcome, &first, &fault));
	CHECK_OK(fetch_group_start(g, &bad, &b, take_outcome, &second, &fault));
	CHECK_INT(fetch_group_running(g), 2);
	while (fetch_group_running(g))
		CHECK_OK(fetch_group_run(g, 1000000000, &fault));
	CHECK(first.calls == 1 && second.calls == 1);
	CHECK(first.error == ERR_NETWORK && second.fault.text[0]);
	CHECK_OK(fetch_group_start(g, &bad, &a, take_outcome, &first, &fault));
}

TEST(a_group_can_be_woken)
{
	CLEANUP(free_group) struct fetch_group *g = NULL;
	struct fault fault = {0};

	CHECK_OK(fetch_group_new(1000, &g, &fault));
	fetch_group_wake(g);
	CHECK_OK(fetch_group_run(g, 600 * 1000000000LL, &fault));
}

static enum err sweep_group(void)
{
	struct fetch bad = {.url = "http://127.0.0.1:1/", .user_agent = "test"};
	struct buf body = BUF_INIT(1000);
	struct fetch_group *g = NULL;
	struct outcome o = {0};
	enum err e = fetch_group_new(1000, &g, NULL);

	if (!e)
		e = fetch_group_start(g, &bad, &body, take_outcome, &o, NULL);
	fetch_group_free(g);
	buf_release(&body);
	return e;
}

TEST(every_allocation_of_a_group_may_fail)
{
	ALLOC_SWEEP(sweep_group());
}
