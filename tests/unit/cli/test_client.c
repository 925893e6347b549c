#include "cli/client.h"
#include "cli/stored.h"

#include <stdlib.h>

#include "test.h"

TEST(addresses_are_encoded)
{
	struct client_options o = {.server = "http://h:1/"};
	CLEANUP(call_release) struct call c;

	call_init(&c, &o, "/api/v1/labels");
	call_path(&c, STR("a/b c"));
	call_param(&c, "query", STR("x{y=\"\xc3\xa9&\"}"));
	call_param_text(&c, "nothing", NULL);
	call_param_text(&c, "from", "-1h");
	CHECK_STR(buf_view(&c.url),
		  "http://h:1/api/v1/labels/a%2Fb%20c?query=x%7By%3D%22%C3%A9%26%22%7D&from=-1h");
}

TEST(a_server_is_found_by_option_environment_or_habit)
{
	struct client_options o = {0};
	CLEANUP(call_release) struct call c = {0}, d = {0}, e = {0};

	unsetenv("VESTAL_SERVER");
	call_init(&c, &o, "");
	CHECK_STR(buf_view(&c.url), "http://127.0.0.1:4040");
	setenv("VESTAL_SERVER", "https://vestal.example//", 1);
	call_init(&d, &o, "/x");
	CHECK_STR(buf_view(&d.url), "https://vestal.example/x");
	o.server = "localhost:4041";
	call_init(&e, &o, "/x");
	CHECK_STR(buf_view(&e.url), "http://localhost:4041/x");
	unsetenv("VESTAL_SERVER");
}

TEST(a_token_cannot_smuggle_a_header)
{
	struct client_options o = {.server = "http://127.0.0.1:1", .token = "x\r\nHost: y"};
	CLEANUP(call_release) struct call c;
	CLEANUP(buf_release) struct buf answer = BUF_INIT(100);
	struct client_failure failure;

	call_init(&c, &o, "/");
	CHECK_ERR(client_ask(&c, NULL, &answer, &failure), ERR_BAD_ARGUMENT);
	CHECK_INT(failure.status, EXIT_USAGE);
}

TEST(services_become_selectors)
{
	struct arena a = {0};

	CHECK(strcmp(stored_selector("checkout", &a), "checkout{}") == 0);
	CHECK(strcmp(stored_selector("{a=b}", &a), "{a=b}") == 0);
	CHECK(strcmp(stored_selector("my shop", &a), "{service_name=\"my shop\"}") == 0);
	arena_release(&a);
	CHECK(stored_is_selector("checkout{}") && !stored_is_selector("checkout"));
	CHECK(!stored_is_selector("-") && !stored_is_selector("http://x/{}"));
	CHECK(stored_may_be_service("checkout") && !stored_may_be_service("cpu.pb.gz"));
}
