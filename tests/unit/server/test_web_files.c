/*
 * The files of the web UI as they are served. The table is this test's own: the linker takes it
 * instead of the one made of web/dist/ui.
 */
#include "server/web_files.h"

#include "server/server_peer.h"
#include "test.h"

#define SERVER(name_)                            \
	CLEANUP(peer_close) struct server name_; \
	CHECK_OK(peer_open(&(name_)))
#define REPLY(name_) CLEANUP(rpc_peer_release) struct rpc_peer name_ = {0}

/* "<!doctype html><title>ui</title>" twenty times, by gzip. */
static const char page[] =
	"\037\213\010\000\000\000\000\000\002\003\263\121\114\311\117\056\251\054\110\125\310\050"
	"\311\315\261\263\051\311\054\311\111\265\053\315\264\321\207\260\154\106\345\107\345\151"
	"\050\017\000\032\264\206\041\200\002\000\000";
#define PAGE_SIZE 640

const struct web_asset web_assets[] = {
	{"/index.html", "text/html; charset=utf-8", "0123", (const unsigned char *)page,
	 sizeof(page) - 1, PAGE_SIZE, true},
	{"/assets/dot-1a2b.png", "image/png", "4567", (const unsigned char *)"dots", 4, 4, false},
	{"/secret.txt", "text/plain", "89ab", (const unsigned char *)"x", 1, 1, false},
};
const size_t web_asset_count = 3;

TEST(every_view_is_the_same_page)
{
	static const char *const views[] = {"/",	"/services", "/explore", "/diff",
					    "/heatmap", "/function", "/files",	 "/status"};
	SERVER(s);

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		REPLY(p);

		CHECK_OK(peer_ask(&s, &p, "GET", views[i], "accept-encoding: br, gzip\n", STR("")));
		CHECK_INT(p.x->reply.status, 200);
		CHECK_STR(rpc_peer_header(&p, "content-encoding"), "gzip");
		CHECK_STR(rpc_peer_header(&p, "cache-control"), "no-cache");
		CHECK_STR(rpc_peer_header(&p, "etag"), "\"0123-gzip\"");
		CHECK_STR(rpc_peer_header(&p, "vary"), "accept-encoding");
		CHECK(str_eq(rpc_peer_body(&p), str_n(page, sizeof(page) - 1)));
	}
}

TEST(an_address_that_a_person_typed_wrong_is_a_page_that_says_so)
{
	SERVER(s);
	REPLY(person);
	REPLY(program);
	REPLY(api);

	CHECK_OK(peer_ask(&s, &person, "GET", "/explroe", "accept: text/html, */*\n", STR("")));
	CHECK_INT(person.x->reply.status, 404);
	CHECK_STR(rpc_peer_header(&person, "content-type"), "text/html; charset=utf-8");
	CHECK_INT(rpc_peer_body(&person).n, PAGE_SIZE);
	CHECK_OK(peer_ask(&s, &program, "GET", "/explroe", "accept: */*\n", STR("")));
	CHECK_INT(program.x->reply.status, 404);
	CHECK_STR(rpc_peer_header(&program, "content-type"), "application/json");
	CHECK_OK(peer_ask(&s, &api, "GET", "/api/v1/nothing", "accept: text/html\n", STR("")));
	CHECK_STR(rpc_peer_header(&api, "content-type"), "application/json");
}

TEST(a_client_without_gzip_gets_plain_bytes)
{
	SERVER(s);
	REPLY(p);
	REPLY(part);

	CHECK_OK(peer_ask(&s, &p, "GET", "/", "", STR("")));
	CHECK(!rpc_peer_header(&p, "content-encoding").n);
	CHECK_STR(rpc_peer_header(&p, "etag"), "\"0123\"");
	CHECK_INT(rpc_peer_body(&p).n, PAGE_SIZE);
	CHECK(str_starts(rpc_peer_body(&p), STR("<!doctype html><title>ui</title><!doctype")));
	CHECK_OK(peer_ask(&s, &part, "GET", "/", "range: bytes=2-8\n", STR("")));
	CHECK_INT(part.x->reply.status, 206);
	CHECK_STR(rpc_peer_body(&part), "doctype");
	CHECK_STR(rpc_peer_header(&part, "content-range"), "bytes 2-8/640");
}

TEST(who_has_it_is_told_so)
{
	SERVER(s);
	REPLY(same);
	REPLY(other);

	CHECK_OK(peer_ask(&s, &same, "GET", "/explore",
			  "accept-encoding: gzip\nif-none-match: \"0123-gzip\"\n", STR("")));
	CHECK_INT(same.x->reply.status, 304);
	CHECK_OK(
		peer_ask(&s, &other, "GET", "/explore", "if-none-match: \"0123-gzip\"\n", STR("")));
	CHECK_INT(other.x->reply.status, 200);
}

TEST(files_with_a_digest_are_kept_for_ever)
{
	SERVER(s);
	REPLY(p);

	CHECK_OK(peer_ask(&s, &p, "GET", "/assets/dot-1a2b.png", "accept-encoding: gzip\n",
			  STR("")));
	CHECK_INT(p.x->reply.status, 200);
	CHECK_STR(rpc_peer_header(&p, "cache-control"), "public, max-age=31536000, immutable");
	CHECK_STR(rpc_peer_header(&p, "content-type"), "image/png");
	CHECK(!rpc_peer_header(&p, "content-encoding").n);
	CHECK_STR(rpc_peer_body(&p), "dots");
}

TEST(nothing_but_those_files_is_served)
{
	static const char *const targets[] = {"/assets/",
					      "/assets/../secret.txt",
					      "/assets//secret.txt",
					      "/assets/%2e%2e/secret.txt",
					      "/assets/dot-1a2b.png/x",
					      "/secret.txt"};
	SERVER(s);

	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		CHECK_INT(peer_get(&s, targets[i]), 404);
}

TEST(the_policy_lets_in_nothing_from_elsewhere)
{
	SERVER(s);
	REPLY(p);
	struct str policy;

	CHECK_OK(peer_ask(&s, &p, "GET", "/", "", STR("")));
	policy = rpc_peer_header(&p, "content-security-policy");
	CHECK(str_starts(policy, STR("default-src 'none'; script-src 'self'; style-src 'self';")));
	CHECK(str_search(policy, STR("unsafe")) == policy.n);
	CHECK(str_search(policy, STR("http")) == policy.n);
	CHECK_STR(rpc_peer_header(&p, "x-content-type-options"), "nosniff");
}

TEST(a_lack_of_memory_is_an_answer)
{
	SERVER(s);

	ALLOC_SWEEP(peer_outcome(peer_get(&s, "/")));
}
