#include "server/server_peer.h"

#include "test.h"

#define SERVER(name_)                            \
	CLEANUP(peer_close) struct server name_; \
	CHECK_OK(peer_open(&(name_)))
#define FULL(name_)    \
	SERVER(name_); \
	CHECK_INT(peer_upload(&(name_), ""), 200)
#define REPLY(name_) CLEANUP(rpc_peer_release) struct rpc_peer name_ = {0}

/* ------------------------------------------------------------------ routes */

TEST(head_is_served_by_whoever_serves_get)
{
	SERVER(s);

	for (size_t i = 0; route_at(i); i++) {
		const struct route *route = route_at(i), *found;
		struct http_exchange x = {.method = STR("HEAD"), .path = str_of(route->path)};
		const char *allow = NULL;

		if (!strcmp(route->methods, "GET")) {
			CHECK_OK(route_find(&x, &found, &allow, NULL));
		} else {
			CHECK_ERR(route_find(&x, &found, &allow, NULL), ERR_BAD_METHOD);
			CHECK(allow && !strcmp(allow, "POST"));
		}
	}
}

TEST(a_wrong_method_is_told_the_right_ones)
{
	SERVER(s);
	REPLY(p);
	REPLY(call);

	CHECK_OK(peer_ask(&s, &p, "PUT", "/api/v1/tree", "", STR("")));
	CHECK_INT(p.x->reply.status, 405);
	CHECK_STR(rpc_peer_header(&p, "allow"), "GET, HEAD");
	CHECK_OK(peer_ask(&s, &call, "GET", "/querier.v1.QuerierService/Series", "", STR("")));
	CHECK_INT(call.x->reply.status, 405);
	CHECK_STR(rpc_peer_header(&call, "allow"), "POST");
}

TEST(the_prefix_of_grafanas_proxies_is_nothing)
{
	SERVER(s);

	CHECK_INT(peer_get(&s, "/pyroscope/ready"), 200);
	CHECK_INT(peer_get(&s, "/pyroscopeready"), 404);
	CHECK_INT(peer_get(&s, "/nothing"), 404);
	CHECK_INT(peer_get(&s, ""), 404);
}

TEST(an_unknown_grpc_method_is_unimplemented)
{
	SERVER(s);
	REPLY(p);

	CHECK_OK(
		peer_ask(&s, &p, "POST", "/a.v1.B/C", "content-type: application/grpc\n", STR("")));
	CHECK_INT(p.x->reply.status, 200);
	CHECK_STR(rpc_peer_header(&p, "grpc-status"), "12");
}

TEST(a_call_that_cannot_be_read_is_not_looked_at_again)
{
	SERVER(s);

	for (size_t i = 0; route_at(i); i++) {
		const struct route *route = route_at(i);

		if (!(route->flags & ROUTE_RPC))
			continue;
		CHECK_INT(peer_status(&s, "POST", route->path, "content-type: text/plain\n",
				      STR("{}")),
			  415);
		CHECK_INT(peer_status(&s, "POST", route->path, "content-type: application/json\n",
				      STR("{")),
			  400);
		CHECK_INT(peer_status(&s, "POST", route->path,
				      "content-type: application/json\ncontent-encoding: br\n",
				      STR("{}")),
			  501);
		CHECK_INT(peer_status(&s, "POST", route->path,
				      "content-type: application/json\nconnect-timeout-ms: 0\n",
				      STR("{}")),
			  504);
	}
}

/* ------------------------------------------------------------------ admission */

TEST(what_an_upload_says_about_its_length_takes_nothing_from_others)
{
	SERVER(s);

	s.options.max_in_flight = 100;
	CHECK_INT(peer_upload(&s, "content-length: 60000000\n"), 200);
	CHECK_INT(peer_upload(&s, "content-length: 99999999999\n"), 413);
	CHECK_INT(peer_upload(&s, ""), 200);
}

TEST(a_rate_that_is_used_up_refuses_the_next_upload)
{
	SERVER(s);

	rates_free(s.rates);
	CHECK_OK(rates_new(10, &s.rates));
	CHECK_INT(peer_upload(&s, "content-length: 60\n"), 200);
	CHECK_INT(peer_upload(&s, "content-length: 60\n"), 429);
}

TEST(questions_have_small_bodies)
{
	SERVER(s);
	REPLY(p);

	CHECK_OK(peer_ask(&s, &p, "POST", "/querier.v1.QuerierService/ProfileTypes",
			  "content-type: application/json\n", STR("{}")));
	CHECK_INT(p.x->reply.status, 200);
	CHECK_INT(p.x->http.max_body, REQUEST_MAX_QUESTION);
}

TEST(pages_of_strangers_change_nothing)
{
	SERVER(s);

	CHECK_INT(peer_upload(&s, "origin: http://evil.example\n"), 403);
	CHECK_INT(peer_upload(&s, "origin: null\n"), 403);
	CHECK_INT(peer_upload(&s, "origin: http://localhost:4040\n"), 200);
	CHECK_INT(peer_status(&s, "GET", "/api/v1/services", "origin: http://evil.example\n",
			      STR("")),
		  403);
	CHECK_INT(peer_status(&s, "GET", "/api/v1/services", "origin: http://localhost:4040\n",
			      STR("")),
		  200);
	s.options.cors_origin = "http://friend.example";
	CHECK_INT(peer_upload(&s, "origin: http://friend.example\n"), 200);
	CHECK_INT(peer_upload(&s, "origin: http://evil.example\n"), 403);
}

static int asked_as(struct server *s, const char *method, const char *path, const char *authority)
{
	REPLY(p);

	if (rpc_peer_init(&p, method, path, STR(""), STR("")) != ERR_OK)
		return -1;
	p.x->http.authority = str_of(authority);
	if (request_admit(s, &p.x->http)) {
		struct request *r = p.x->http.user;

		r->route->handle(r);
	}
	return rpc_peer_replied(&p) ? p.x->reply.status : -1;
}

TEST(without_tokens_only_names_of_this_host_are_answered)
{
	static const char *const good[] = {"localhost",	     "LOCALHOST:4040",
					   "127.0.0.1:4040", "[::1]:4040",
					   "[::1]",	     "a.localhost:80",
					   "10.0.0.1",	     ""};
	static const char *const bad[] = {"evil.example", "evil.example:4040", "notlocalhost",
					  "127.0.0.1.evil.example", "localhost.evil.example:4040"};
	SERVER(s);

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		CHECK_INT(asked_as(&s, "GET", "/ready", good[i]), 200);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_INT(asked_as(&s, "GET", "/ready", bad[i]), 403);
	CHECK_INT(asked_as(&s, "POST", "/ingest", "evil.example"), 403);
	CHECK_INT(asked_as(&s, "POST", "/ingest", "127.0.0.1"), 400);
	CHECK_INT(asked_as(&s, "GET", "/ready", "profiles"), 403);
	s.options.insecure = true;
	CHECK_INT(asked_as(&s, "GET", "/ready", "profiles"), 200);
	CHECK_INT(asked_as(&s, "GET", "/ready", "profiles.example"), 403);
	s.options.allowed_hosts = (const char *const[]){"Profiles.example"};
	s.options.allowed_host_count = 1;
	CHECK_INT(asked_as(&s, "GET", "/ready", "profiles.example:80"), 200);
	CHECK_INT(asked_as(&s, "GET", "/ready", "other.example:80"), 403);
	s.options.allowed_hosts = (const char *const[]){"*"};
	CHECK_INT(asked_as(&s, "GET", "/ready", "other.example:80"), 200);
}

/* A path that the route matches. */
static void path_of(const struct route *route, char *ret, size_t size)
{
	snprintf(ret, size, "%s", route->path);
	if (ret[strlen(ret) - 1] == '*')
		ret[strlen(ret) - 1] = 'x';
}

/* 200: admitted; what the handler would say is another matter. Of a call that is refused the status
 * is that of its protocol. */
static int status_of_route(struct server *s, const struct route *route, const char *authority,
			   const char *head)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
	char path[200], method[8];

	snprintf(method, sizeof(method), "%.*s", (int)str_find(str_of(route->methods), ' '),
		 route->methods);
	path_of(route, path, sizeof(path));
	if (rpc_peer_init(&p, method, path, str_of(head), STR("")) != ERR_OK)
		return -1;
	p.x->http.path = str_of(path);
	p.x->http.authority = str_of(authority);
	if (request_admit(s, &p.x->http)) {
		request_finished(s, &p.x->http);
		return 200;
	}
	if (!rpc_peer_replied(&p))
		return -1;
	return route->flags & ROUTE_RPC ? 403 : p.x->reply.status;
}

TEST(no_route_answers_a_page_of_another_origin_or_a_name_of_a_stranger)
{
	static const char *const pages[] = {
		"origin: http://evil.example\n",
		"origin: null\n",
		"sec-fetch-site: cross-site\n",
		"sec-fetch-site: same-site\n",
		"origin: http://localhost:3000\n",
		"origin: http://127.0.0.1:4040\nsec-fetch-site: cross-site\n"};
	SERVER(s);
	size_t n = 0;

	for (const struct route *r; (r = route_at(n)); n++) {
		CHECK_INT(status_of_route(&s, r, "localhost:4040", ""), 200);
		CHECK_INT(status_of_route(&s, r, "localhost:4040",
					  "origin: http://localhost:4040\n"
					  "sec-fetch-site: same-origin\n"),
			  200);
		CHECK_INT(status_of_route(&s, r, "evil.example:4040", ""), 403);
		CHECK_INT(status_of_route(&s, r, "localhost", "host: evil.example\n"), 403);
		for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
			CHECK_INT(status_of_route(&s, r, "localhost:4040", pages[i]), 403);
	}
	CHECK(n > 60);
}

TEST(a_link_on_another_page_may_be_followed_but_sends_nothing)
{
	static const char head[] = "sec-fetch-site: cross-site\nsec-fetch-mode: navigate\n"
				   "sec-fetch-dest: document\n";
	SERVER(s);

	CHECK_INT(peer_status(&s, "GET", "/api/v1/services", head, STR("")), 200);
	CHECK_INT(peer_upload(&s, head), 403);
	CHECK_INT(peer_status(&s, "GET", "/api/v1/services",
			      "sec-fetch-site: cross-site\nsec-fetch-mode: navigate\n"
			      "sec-fetch-dest: iframe\n",
			      STR("")),
		  403);
}

TEST(preflights_are_answered_only_where_an_origin_is_allowed)
{
	static const char head[] = "origin: http://friend.example\n"
				   "access-control-request-method: POST\n";
	SERVER(s);
	REPLY(p);

	CHECK_INT(peer_status(&s, "OPTIONS", "/api/v1/tree", head, STR("")), 403);
	s.options.cors_origin = "http://friend.example";
	CHECK_OK(peer_ask(&s, &p, "OPTIONS", "/api/v1/tree", head, STR("")));
	CHECK_INT(p.x->reply.status, 204);
	CHECK_STR(rpc_peer_header(&p, "access-control-allow-origin"), "http://friend.example");
}

/* ------------------------------------------------------------------ tenants */

TEST(tenants_do_not_see_each_other)
{
	SERVER(s);
	REPLY(p);

	s.options.trust_tenant_header = true;
	CHECK_INT(peer_upload(&s, "x-scope-orgid: one\n"), 200);
	CHECK_OK(peer_ask(&s, &p, "GET", "/api/v1/services", "x-scope-orgid: two\n", STR("")));
	CHECK(str_search(rpc_peer_body(&p), STR("checkout")) == rpc_peer_body(&p).n);
	CHECK_INT(peer_status(&s, "GET", "/api/v1/top?query=checkout", "x-scope-orgid: one\n",
			      STR("")),
		  200);
	CHECK_INT(peer_status(&s, "GET", "/api/v1/top?query=checkout", "x-scope-orgid: two\n",
			      STR("")),
		  404);
	CHECK_INT(peer_status(&s, "GET", "/api/v1/services", "x-scope-orgid: ../x\n", STR("")),
		  400);
	CHECK_INT(peer_status(&s, "GET", "/api/v1/services", "x-scope-orgid: ..\n", STR("")), 400);
}

/* ------------------------------------------------------------------ parameters */

TEST(counts_out_of_bounds_are_refused)
{
	static const char *const bad[] = {
		"/api/v1/top?query=checkout&limit=0",
		"/api/v1/top?query=checkout&limit=-1",
		"/api/v1/top?query=checkout&limit=9e9",
		"/api/v1/top?query=checkout&limit=100001",
		"/api/v1/tree?query=checkout&max_nodes=-1",
		"/api/v1/tree?query=checkout&max_nodes=99999999999",
		"/api/v1/series?query=checkout&limit=4294967296",
		"/api/v1/series?query=checkout&step=0",
		"/api/v1/series?query=checkout&step=1ns",
		"/api/v1/heatmap?query=checkout&column=0",
		"/api/v1/heatmap?query=checkout&row=0",
		"/api/v1/diff?baseline=checkout&comparison=checkout&limit=-5",
		"/api/v1/spans?limit=1001",
		"/api/v1/labels/x?limit=-1",
		"/api/v1/top?query=checkout&from=now&until=now",
		"/api/v1/top?query=checkout&from=tomorrow",
		"/api/v1/top?query={",
		"/api/v1/export?query=checkout&format=jfr",
	};
	FULL(s);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int status = peer_get(&s, bad[i]);

		if (status != 400)
			test_fail(__FILE__, __LINE__, "%s gave %d", bad[i], status);
	}
}

TEST(times_before_1970_and_after_2262_are_no_overflow)
{
	FULL(s);

	CHECK_INT(peer_get(&s, "/api/v1/series?query=checkout&from=-200y&"
			       "until=9223372036854775807&step=3y"),
		  200);
	CHECK_INT(peer_get(&s, "/render?query=" PEER_TYPE "{}&from=now-200y&"
			       "until=9223372036854775807"),
		  400);
	CHECK_INT(peer_get(&s, "/render?query=" PEER_TYPE "{}&from=1&until=9223372036854775807"),
		  200);
	CHECK_INT(peer_get(&s, "/api/v1/top?query=checkout&time_range=250y"), 200);
}

static void stored(void *context, enum err error, const struct fault *fault)
{
	(void)fault;
	*(enum err *)context = error;
}

/* A profile of a minute, with 60 samples. */
static enum err store_minute(struct server *s, int64_t time_ns)
{
	struct str type = STR(PEER_TYPE);
	struct label_pair label = {STR("service_name"), STR("checkout")};
	struct profile p;
	struct series_profile sp = {.labels = &label,
				    .label_count = 1,
				    .types = &type,
				    .profile = &p,
				    .time_ns = time_ns,
				    .duration_ns = 60 * NS_PER_S};
	struct store_batch *b;
	struct row row = {0};
	uint32_t frame;
	int64_t value = 60;
	struct dict *d;
	enum err e;

	TRY(store_batch_new(s->store, STR("anonymous"), &b, NULL));
	e = store_batch_service(b, label.value, &d, NULL);
	if (!e) {
		profile_init(&p, d);
		e = profile_add_type(&p, STR("samples"), STR("count"));
		if (!e)
			e = dict_named_frame(d, STR("main"), &frame);
		if (!e)
			e = dict_stack(d, &frame, 1, &row.stack);
		if (!e)
			e = profile_add(&p, &row, &value);
		if (!e)
			e = store_batch_add(b, &sp, NULL);
		profile_release(&p);
	}
	if (e) {
		store_batch_abandon(b);
		return e;
	}
	store_batch_commit(b, stored, &e);
	return e;
}

TEST(the_last_time_with_data_ends_where_the_last_profile_does)
{
	int64_t begin = (clock_wall_ns() / NS_PER_S - 7200) * NS_PER_S;
	char until[60];
	REPLY(p);
	SERVER(s);

	CHECK_OK(store_minute(&s, begin));
	CHECK_OK(peer_ask(&s, &p, "GET", "/api/v1/top?query=checkout&time_range=30s", "", STR("")));
	CHECK_INT(p.x->reply.status, 200);
	snprintf(until, sizeof(until), "%lld", (long long)(begin + 60 * NS_PER_S));
	CHECK(str_search(rpc_peer_body(&p), str_of(until)) < rpc_peer_body(&p).n);
}

TEST(lists_have_an_end)
{
	CLEANUP(buf_release) struct buf target = BUF_INIT(1 << 16);
	FULL(s);

	buf_text(&target, "/api/v1/series?query=checkout&by=a");
	for (int i = 0; i < 63; i++)
		buf_text(&target, ",a");
	CHECK_INT(peer_get(&s, target.data), 200);
	buf_text(&target, ",a");
	CHECK_INT(peer_get(&s, target.data), 400);
}

/* ------------------------------------------------------------------ answers */

static bool answers(struct server *s, const char *target, const char *part)
{
	REPLY(p);

	if (peer_ask(s, &p, "GET", target, "", STR("")) != ERR_OK || p.x->reply.status != 200)
		return false;
	return str_search(rpc_peer_body(&p), str_of(part)) < rpc_peer_body(&p).n;
}

TEST(answers_have_their_shape)
{
	FULL(s);

	CHECK(answers(&s, "/api/v1/top?query=checkout",
		      "\"rows\":[{\"name\":\"inner\",\"file\":\"\",\"module\":\"\",\"flat\":70,"
		      "\"flat_share\":0.7,\"cum\":70"));
	CHECK(answers(&s, "/api/v1/tree?query=checkout{commit=\"abc\"}",
		      "\"parent\":[-1,0,1,1,3],\"name\":[\"total\",\"main\",\"idle\","));
	CHECK(answers(&s, "/api/v1/services",
		      "{\"schema\":\"vestal.services/1\",\"services\":"
		      "[\"checkout\"],\"more\":false}"));
	CHECK(answers(&s, "/api/v1/labels/commit", "\"values\":[\"abc\"]"));
	CHECK(answers(&s, "/api/v1/types", "\"id\":\"" PEER_TYPE "\""));
	CHECK(answers(&s, "/api/v1/diff?baseline=checkout&comparison=checkout",
		      "\"totals\":[100,100]"));
	CHECK(answers(&s, "/api/v1/status", "\"profiles\":1,"));
	CHECK(answers(&s, "/api/v1/status/buildinfo", "\"version\":\"" VESTAL_VERSION "\""));
	CHECK(answers(&s, "/start", "Three ways"));
}

TEST(render_has_the_shape_its_clients_read)
{
	FULL(s);

	CHECK(answers(&s, "/render?query=" PEER_TYPE "{}&from=now-1h&until=now%2B1s",
		      "{\"version\":1,\"flamebearer\":{\"names\":[\"total\",\"main\",\"idle\","
		      "\"work\",\"inner\"],\"levels\":[[0,100,0,0],[0,100,0,1],"
		      "[0,10,10,2,0,90,20,3],[30,70,70,4]]"));
	CHECK(answers(&s, "/render?query=" PEER_TYPE "{}&from=now-1h&until=now%2B1s",
		      "\"numTicks\":100,\"maxSelf\":70},\"metadata\":{\"format\":\"single\","
		      "\"spyName\":\"\",\"sampleRate\":100,\"units\":\"objects\","
		      "\"name\":\"samples\"},\"timeline\":{\"startTime\":"));
	CHECK(answers(&s, "/render?query=" PEER_TYPE "{}&from=now-1h&until=now%2B1s&groupBy=commit",
		      "\"groups\":{\"abc\":{\"startTime\":"));
	CHECK(answers(&s, "/render?query=" PEER_TYPE "{}&from=now-1h&until=now%2B1s&format=dot",
		      "digraph"));
	CHECK(answers(&s,
		      "/render-diff?leftQuery=" PEER_TYPE "{}&leftFrom=now-1h&leftUntil=now%2B1s&"
		      "rightQuery=" PEER_TYPE "{}&rightFrom=now-1h&rightUntil=now%2B1s",
		      "\"leftTicks\":100,\"rightTicks\":100"));
}

TEST(pages_come_with_a_policy)
{
	FULL(s);
	REPLY(page);
	REPLY(picture);
	REPLY(json);

	CHECK_OK(peer_ask(&s, &page, "GET", "/start", "", STR("")));
	CHECK(rpc_peer_header(&page, "content-security-policy").n);
	CHECK_OK(peer_ask(&s, &picture, "GET", "/api/v1/export?query=checkout&format=svg", "",
			  STR("")));
	CHECK_INT(picture.x->reply.status, 200);
	CHECK(rpc_peer_header(&picture, "content-security-policy").n);
	CHECK_OK(peer_ask(&s, &json, "GET", "/api/v1/types", "", STR("")));
	CHECK(!rpc_peer_header(&json, "content-security-policy").n);
	CHECK_STR(rpc_peer_header(&json, "x-content-type-options"), "nosniff");
}

TEST(the_plain_page_escapes_the_name_it_is_asked_under)
{
	SERVER(s);
	REPLY(p);

	s.options.insecure = true;
	CHECK_OK(rpc_peer_init(&p, "GET", "/start", STR(""), STR("")));
	p.x->http.authority = STR("<script>\"&");
	CHECK(request_admit(&s, &p.x->http));
	((struct request *)p.x->http.user)->route->handle(p.x->http.user);
	CHECK(rpc_peer_replied(&p));
	CHECK(str_search(rpc_peer_body(&p), STR("http://&lt;script&gt;&quot;&amp;")) <
	      rpc_peer_body(&p).n);
}

TEST(large_answers_are_compressed_for_those_who_ask)
{
	FULL(s);
	REPLY(plain);
	REPLY(packed);

	CHECK_OK(peer_ask(&s, &plain, "GET", "/api/v1/series?query=checkout&step=1s", "", STR("")));
	CHECK(!rpc_peer_header(&plain, "content-encoding").n);
	CHECK_OK(peer_ask(&s, &packed, "GET", "/api/v1/series?query=checkout&step=1s",
			  "accept-encoding: gzip\n", STR("")));
	CHECK_STR(rpc_peer_header(&packed, "content-encoding"), "gzip");
	CHECK(rpc_peer_body(&packed).n < rpc_peer_body(&plain).n);
}

/* ------------------------------------------------------------------ without memory */

TEST(questions_survive_a_lack_of_memory)
{
	static const char *const targets[] = {
		"/api/v1/top?query=checkout",
		"/api/v1/tree?query=checkout{commit=\"abc\"}",
		"/api/v1/series?query=checkout&by=commit",
		"/api/v1/heatmap?query=checkout",
		"/api/v1/diff?baseline=checkout&comparison=checkout&time_range=1h",
		"/api/v1/labels/commit",
		"/api/v1/types",
		"/api/v1/export?query=checkout&format=folded",
		"/render?query=" PEER_TYPE "{}&from=now-1h&until=now&groupBy=commit",
		"/render?query=" PEER_TYPE "{}&from=now-1h&until=now&format=dot",
		"/label-values?label=commit",
		"/",
		"/start",
	};
	FULL(s);

	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		ALLOC_SWEEP(peer_outcome(peer_get(&s, targets[i])));
}

TEST(calls_survive_a_lack_of_memory)
{
	static const char stacks[] =
		"{\"profileTypeID\":\"" PEER_TYPE "\",\"labelSelector\":\"{}\",\"start\":1,"
		"\"end\":4000000000000,\"step\":100000000,\"groupBy\":[\"commit\"]";
	static const char *const calls[][2] = {
		{"SelectMergeStacktraces", "}"},
		{"SelectMergeStacktraces", ",\"format\":2}"},
		{"SelectMergeStacktraces", ",\"format\":3}"},
		{"SelectMergeStacktraces", ",\"format\":4}"},
		{"SelectMergeStacktraces",
		 ",\"stackTraceSelector\":{\"callSite\":[{\"name\":\"main\"}]}}"},
		{"SelectMergeProfile", "}"},
		{"SelectSeries", "}"},
		{"SelectHeatmap", "}"},
		{"Series", "}"},
		{"ProfileTypes", "}"},
		{"LabelNames", "}"},
		{"LabelNames", ",\"matchers\":[\"{}\",\"{service_name=~\\\"c.*\\\"}\"]}"},
		{"LabelValues", ",\"name\":\"__unit__\"}"},
	};
	FULL(s);

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		char path[100], body[400];

		snprintf(path, sizeof(path), "/querier.v1.QuerierService/%s", calls[i][0]);
		snprintf(body, sizeof(body), "%s%s", stacks, calls[i][1]);
		CHECK_INT(peer_status(&s, "POST", path, "content-type: application/json\n",
				      str_of(body)),
			  200);
		for (long n = 0; n < 100000; n++) {
			int status;

			alloc_fail_at(n, false);
			status = peer_status(&s, "POST", path, "content-type: application/json\n",
					     str_of(body));
			alloc_fail_off();
			if (!alloc_fail_reached())
				break;
			/* A list that cannot grow counts as too long: 429 in Connect's words. */
			if (status != 200 && status != 503 && status != 429 && status > 0)
				test_fail(__FILE__, __LINE__, "%s without allocation %ld: %d",
					  calls[i][0], n, status);
		}
	}
}

TEST(uploads_survive_a_lack_of_memory)
{
	SERVER(s);

	ALLOC_SWEEP(peer_outcome(peer_upload(&s, "")));
}
