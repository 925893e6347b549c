/*
 * What the web UI asks for: filters, cells of the heat map, VFT, files that are not stored.
 */
#include <math.h>

#include "server/cells.h"
#include "server/filters.h"
#include "server/server_peer.h"

#include "base/clock.h"
#include "test.h"

#define SERVER(name_)                            \
	CLEANUP(peer_close) struct server name_; \
	CHECK_OK(peer_open(&(name_)))
#define FULL(name_)    \
	SERVER(name_); \
	CHECK_INT(peer_upload(&(name_), ""), 200)
#define REPLY(name_) CLEANUP(rpc_peer_release) struct rpc_peer name_ = {0}

static bool says(struct server *s, const char *target, int status, const char *part)
{
	REPLY(p);

	if (peer_ask(s, &p, "GET", target, "", STR("")) != ERR_OK || p.x->reply.status != status)
		return false;
	return str_search(rpc_peer_body(&p), str_of(part)) < rpc_peer_body(&p).n;
}

/* ------------------------------------------------------------------ filters */

TEST(filters_are_those_of_the_file_tool)
{
	FULL(s);

	CHECK(says(&s, "/api/v1/top?query=checkout&focus=inner", 200, "\"total\":70"));
	CHECK(says(&s, "/api/v1/top?query=checkout&ignore=inner", 200, "\"total\":30"));
	CHECK(says(&s, "/api/v1/top?query=checkout&hide=inner", 200, "\"flat\":90"));
	CHECK(says(&s, "/api/v1/top?query=checkout&show_from=work", 200, "\"row_count\":2"));
	CHECK(says(&s, "/api/v1/tree?query=checkout&focus=idle", 200,
		   "\"name\":[\"total\",\"main\",\"idle\"]"));
	CHECK(says(&s, "/api/v1/export?query=checkout&format=folded&focus=idle", 200,
		   "main;idle 10\n"));
}

TEST(filters_may_come_several_times)
{
	FULL(s);

	CHECK(says(&s, "/api/v1/top?query=checkout&focus=work&focus=inner", 200, "\"total\":70"));
	CHECK(says(&s, "/api/v1/top?query=checkout&ignore=idle&ignore=inner", 200, "\"total\":20"));
	/* Each focus sees the frames that are hidden later. */
	CHECK(says(&s, "/api/v1/top?query=checkout&hide=inner&hide=idle&focus=work&focus=inner",
		   200, "\"rows\":[{\"name\":\"work\",\"file\":\"\",\"module\":\"\",\"flat\":70"));
}

TEST(tags_look_at_labels_of_series_and_samples)
{
	FULL(s);

	CHECK(says(&s, "/api/v1/top?query=checkout&tag=commit%3Dabc", 200, "\"total\":100"));
	CHECK(says(&s, "/api/v1/top?query=checkout&tag=commit%3D~b&tag=commit", 200,
		   "\"total\":100"));
	CHECK(says(&s, "/api/v1/top?query=checkout&tag=commit!%3Dabc", 200, "\"total\":null"));
	CHECK(says(&s, "/api/v1/top?query=checkout&tag=%3Dabc", 400, "expected K=V"));
}

TEST(hostile_filters_are_refused_with_a_sentence)
{
	CLEANUP(buf_release) struct buf target = BUF_INIT(1 << 16);
	FULL(s);

	CHECK(says(&s, "/api/v1/top?query=checkout&focus=(a", 400, "focus: the pattern"));
	CHECK_INT(peer_status(&s, "POST", "/api/v1/profiles?service=bomb", "",
			      STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\n")),
		  200);
	CHECK(says(&s, "/api/v1/top?query=bomb&focus=(a%2B)%2B%24x%7C(a%3F){50}b", 400,
		   "takes too long"));
	buf_text(&target, "/api/v1/top?query=checkout&hide=");
	for (int i = 0; i < 1001; i++)
		buf_byte(&target, 'x');
	buf_byte(&target, '\0');
	CHECK(says(&s, target.data, 400, "hide has more than 1000 bytes"));
	buf_clear(&target);
	buf_text(&target, "/api/v1/top?query=checkout");
	for (int i = 0; i < 17; i++)
		buf_text(&target, "&focus=a");
	buf_byte(&target, '\0');
	CHECK(says(&s, target.data, 400, "more than 16 times focus"));
}

/* ------------------------------------------------------------------ cells */

static size_t spans_of(const char *text, struct time_span *ret, size_t most)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
	struct time_span *spans;
	struct fault fault = {0};
	size_t n = SIZE_MAX;

	if (rpc_peer_init(&p, "GET", "/", STR(""), STR("")) == ERR_OK) {
		struct request r = {.x = &p.x->http};

		if (cells_read(&r, str_of(text), &spans, &n, &fault) == ERR_OK)
			for (size_t i = 0; i < n && i < most; i++)
				ret[i] = spans[i];
		else
			n = fault.text[0] ? SIZE_MAX : SIZE_MAX - 1;
	}
	return n;
}

TEST(cells_become_times_in_order)
{
	struct time_span spans[4];

	CHECK_INT(spans_of("", spans, 4), 0);
	CHECK_INT(spans_of("5000:40:20,1000:0:20,1000:20:20", spans, 4), 2);
	CHECK_INT(spans[0].from_ns, NS_PER_S);
	CHECK_INT(spans[0].until_ns, NS_PER_S + 40 * NS_PER_MS);
	CHECK_INT(spans[1].from_ns, 5 * NS_PER_S + 40 * NS_PER_MS);
	/* A column that begins within a second takes what lies in it. */
	CHECK_INT(spans_of("1300:200:200", spans, 4), 2);
	CHECK_INT(spans[0].from_ns, 1300 * NS_PER_MS);
	CHECK_INT(spans[0].until_ns, 1400 * NS_PER_MS);
	CHECK_INT(spans[1].from_ns, 2200 * NS_PER_MS);
	CHECK_INT(spans[1].until_ns, 2300 * NS_PER_MS);
	CHECK_INT(spans_of("60000:100:50:60000", spans, 4), 60);
	CHECK_INT(spans[3].from_ns, 63100 * NS_PER_MS);
}

TEST(cells_that_are_none_are_refused)
{
	static const char *const wrong[] = {
		"x",	    "1:2",	   "1:2:3:4:5",	       "-1:0:20",
		"1:990:20", "1:0:0",	   "1:-5:20",	       "1:0:1001",
		"1:0:5:0",  "1:0:5:-1000", "1:0:5:9999999999", "9223372036854775807:0:20"};
	struct time_span spans[1];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_INT(spans_of(wrong[i], spans, 1), SIZE_MAX);
}

TEST(cells_choose_samples)
{
	char target[300];
	FULL(s);
	int64_t now_ms = clock_wall_ns() / NS_PER_MS;

	snprintf(target, sizeof(target),
		 "/api/v1/top?query=checkout&from=now-1h&until=now%%2B1m&cells=%lld:0:1000:120000",
		 (long long)(now_ms - 60000));
	CHECK(says(&s, target, 200, "\"total\":100"));
	snprintf(target, sizeof(target),
		 "/api/v1/top?query=checkout&from=now-1h&until=now%%2B1m&cells=%lld:0:1000",
		 (long long)(now_ms - 600000));
	CHECK(says(&s, target, 200, "\"total\":0"));
}

/* ------------------------------------------------------------------ VFT */

TEST(vft_is_answered_to_those_who_ask)
{
	FULL(s);
	REPLY(tree);
	REPLY(diff);

	CHECK_OK(peer_ask(&s, &tree, "GET", "/api/v1/tree?query=checkout&format=vft", "", STR("")));
	CHECK_INT(tree.x->reply.status, 200);
	CHECK_STR(rpc_peer_header(&tree, "content-type"), "application/vnd.vestal.vft");
	CHECK(str_starts(rpc_peer_body(&tree), STR("VFT1")));
	CHECK_OK(peer_ask(&s, &diff, "GET",
			  "/api/v1/diff?baseline=checkout&comparison=checkout&format=vft", "",
			  STR("")));
	CHECK(str_starts(rpc_peer_body(&diff), STR("VFT1")));
	CHECK(says(&s, "/api/v1/tree?query=checkout&format=xml", 400, "format is json or vft"));
	CHECK(says(&s, "/api/v1/diff?format=vft&baseline=nobody&comparison=checkout", 404,
		   "no profile of that kind"));
	CHECK(says(&s, "/api/v1/tree?query=checkout&format=vft&max_nodes=9999999", 400, "nodes"));
}

TEST(stacks_that_were_cut_are_told)
{
	SERVER(s);

	CHECK_INT(peer_status(&s, "POST", "/api/v1/profiles?service=deep", "",
			      STR("[truncated];a;b 25\nmain;a 75\n")),
		  200);
	CHECK(says(&s, "/api/v1/tree?query=deep&format=vft", 200,
		   "25.0% are in stacks that were cut or could not be walked"));
}

/* ------------------------------------------------------------------ files */

static int view(struct server *s, const char *target, struct str body, const char *part)
{
	REPLY(p);
	int status = -1;

	if (peer_ask(s, &p, "POST", target, "", body) == ERR_OK) {
		status = p.x->reply.status;
		if (str_search(rpc_peer_body(&p), str_of(part)) == rpc_peer_body(&p).n)
			status = -status;
	}
	return status;
}

TEST(files_are_drawn_and_not_stored)
{
	SERVER(s);

	CHECK_INT(view(&s, "/api/v1/view?format=vft&name=a.folded&focus=inner", STR(PEER_PROFILE),
		       "\"totals\":[70]"),
		  200);
	CHECK_INT(view(&s, "/api/v1/view?format=vft&name=a.folded", STR(PEER_PROFILE),
		       "\"title\":\"a.folded\""),
		  200);
	CHECK(says(&s, "/api/v1/services", 200, "\"services\":[]"));
}

static void put_file(struct buf *b, const char *name, const char *body)
{
	buf_printf(
		b,
		"--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\n\r\n"
		"%s\r\n",
		name, body);
}

/* A profile of one type at a time (in hours), as OTLP. */
#define VIEW_OTLP(type, unit, hour, value)                                                    \
	"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"timeUnixNano\":\"" hour \
	"0000000000000\",\"durationNano\":\"5\",\"sampleType\":{\"typeStrindex\":1,"          \
	"\"unitStrindex\":2},\"samples\":[{\"stackIndex\":1,\"values\":[" value "]}]}]}]}],"  \
	"\"dictionary\":{\"stringTable\":[\"\",\"" type "\",\"" unit "\",\"main\"],"          \
	"\"functionTable\":[{},{\"nameStrindex\":3}],\"locationTable\":[{},{\"lines\":[{"     \
	"\"functionIndex\":1}]}],\"stackTable\":[{},{\"locationIndices\":[1]}]}}"

static int view_form(struct server *s, struct buf *form, const char *part)
{
	REPLY(p);
	int status = -1;

	buf_text(form, "--edge--\r\n");
	if (peer_ask(s, &p, "POST", "/api/v1/view?format=vft",
		     "content-type: multipart/form-data; boundary=edge\n",
		     buf_view(form)) == ERR_OK) {
		status = p.x->reply.status;
		if (str_search(rpc_peer_body(&p), str_of(part)) == rpc_peer_body(&p).n)
			status = -status;
	}
	return status;
}

TEST(several_files_are_drawn_with_every_type_in_order_of_time)
{
	CLEANUP(buf_release) struct buf form = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf again = BUF_INIT(1 << 20);
	SERVER(s);

	put_file(&form, "later.json", VIEW_OTLP("alloc_space", "bytes", "170003", "7"));
	put_file(&form, "text", "main;work 3\n");
	put_file(&form, "first.json", VIEW_OTLP("cpu", "nanoseconds", "170001", "5"));
	put_file(&form, "middle.json", VIEW_OTLP("cpu", "nanoseconds", "170002", "6"));
	CHECK_INT(view_form(&s, &form,
			    "\"types\":[{\"name\":\"cpu\",\"unit\":\"nanoseconds\"},{\"name\":"
			    "\"alloc_space\",\"unit\":\"bytes\"},{\"name\":\"samples\",\"unit\":"
			    "\"count\"}]"),
		  200);
	form.n -= strlen("--edge--\r\n");
	CHECK_INT(view_form(&s, &form, "\"totals\":[11,7,3]"), 200);
	form.n -= strlen("--edge--\r\n");
	CHECK_INT(
		view_form(
			&s, &form,
			"\"files\":[{\"name\":\"first.json\",\"format\":\"otlp-json\",\"time_ns\":"
			"\"1700010000000000000\"},{\"name\":\"middle.json\""),
		200);
	put_file(&again, "good", "main;work 3\n");
	put_file(&again, "bad", "\x01\x02\x03");
	CHECK_INT(view_form(&s, &again, "bad: "), 415);
}

TEST(files_are_compared_with_what_is_stored)
{
	FULL(s);

	CHECK_INT(view(&s, "/api/v1/view?format=vft&name=b&baseline=checkout",
		       STR("main;work 900\nmain;idle 100\n"), "\"totals\":[100,1000]"),
		  200);
	CHECK_INT(view(&s, "/api/v1/view?format=vft&baseline=nobody", STR("main;work 900\n"),
		       "there is no profile of that kind"),
		  404);
}

TEST(files_that_are_none_are_refused)
{
	FULL(s);

	CHECK_INT(view(&s, "/api/v1/view?format=vft", STR("\x01\x02\x03 no profile"), "message"),
		  415);
	CHECK_INT(view(&s, "/api/v1/view?format=vft", STR(""), "message"), 415);
	CHECK_INT(view(&s, "/api/v1/view?format=json", STR(PEER_PROFILE), "format is vft"), 400);
	CHECK_INT(view(&s, "/api/v1/view?format=vft&type=heap", STR(PEER_PROFILE),
		       "the file has no type"),
		  404);
	CHECK_INT(view(&s, "/api/v1/view?format=vft&type=samples&baseline=checkout&focus=(",
		       STR(PEER_PROFILE), "focus: "),
		  400);
	CHECK_INT(peer_status(&s, "POST", "/api/v1/view?format=vft",
			      "origin: http://elsewhere.example\n", STR(PEER_PROFILE)),
		  403);
}

/* ------------------------------------------------------------------ agents */

static void count_agent(void *context, const struct agent_facts *f)
{
	*(double *)context += f->host[0] ? f->rate_hz : 0;
}

TEST(agents_are_kept_by_tenant_and_forgotten_after_a_day)
{
	struct agents *a;
	double rates = 0;
	char header[64];

	CHECK_OK(agents_new(&a));
	for (int i = 0; i < 10050; i++) {
		snprintf(header, sizeof(header), "host=h%d;rate=1", i * 7919 % 10050);
		agents_saw(a, STR("acme"), str_of(header), NS_PER_S);
	}
	agents_list(a, STR("acme"), NS_PER_S, NS_PER_S, count_agent, &rates);
	CHECK_INT(rates, 10000);
	/* The same again is one; when all are old there is room for others. */
	agents_saw(a, STR("acme"), STR("host=h1;rate=5"), NS_PER_S);
	agents_saw(a, STR("b"), STR("host=h1;rate=2"), 86402 * NS_PER_S);
	rates = 0;
	agents_list(a, STR("acme"), 86402 * NS_PER_S, 86402 * NS_PER_S, count_agent, &rates);
	CHECK_INT(rates, 0);
	agents_list(a, STR("b"), 86402 * NS_PER_S, 86402 * NS_PER_S, count_agent, &rates);
	CHECK_INT(rates, 2);
	agents_list(a, STR(""), 86402 * NS_PER_S, 86402 * NS_PER_S, count_agent, &rates);
	CHECK_INT(rates, 2);
	agents_free(a);
	agents_free(NULL);
}

TEST(a_tenant_with_ever_new_agents_displaces_its_own)
{
	struct agents *a;
	double rates = 0;
	char header[64];

	CHECK_OK(agents_new(&a));
	agents_saw(a, STR("small"), STR("host=web;rate=3"), NS_PER_S);
	agents_saw(a, STR("zebra"), STR("host=web;rate=4"), NS_PER_S);
	agents_saw(a, STR("large"), STR("host=kept;rate=1000"), 100 * NS_PER_S);
	for (int i = 0; i < 10500; i++) {
		snprintf(header, sizeof(header), "host=h%d;rate=1", i);
		agents_saw(a, STR("large"), str_of(header), 2 * NS_PER_S);
	}
	agents_saw(a, STR("late"), STR("host=web;rate=5"), 3 * NS_PER_S);
	agents_list(a, STR("small"), NS_PER_S, 3 * NS_PER_S, count_agent, &rates);
	agents_list(a, STR("zebra"), NS_PER_S, 3 * NS_PER_S, count_agent, &rates);
	agents_list(a, STR("late"), NS_PER_S, 3 * NS_PER_S, count_agent, &rates);
	CHECK_INT(rates, 3 + 4 + 5);
	/* Not the one that was heard of last. */
	agents_list(a, STR("large"), NS_PER_S, 3 * NS_PER_S, count_agent, &rates);
	CHECK_INT(rates, 3 + 4 + 5 + 1000 + 10000 - 4);
	agents_free(a);
}

TEST(answers_survive_a_lack_of_memory)
{
	static const char *const targets[] = {
		"/api/v1/tree?query=checkout&format=vft&focus=work&focus=inner&tag=commit",
		"/api/v1/diff?baseline=checkout&comparison=checkout&format=vft",
		"/api/v1/overview?points=5",
		"/api/v1/changes",
		"/api/v1/function?name=work&query=checkout&step=10m",
		"/api/v1/agents",
	};
	FULL(s);

	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		ALLOC_SWEEP(peer_outcome(peer_get(&s, targets[i])));
	ALLOC_SWEEP(peer_outcome(peer_status(&s, "POST",
					     "/api/v1/view?format=vft&baseline=checkout&hide=a", "",
					     STR(PEER_PROFILE))));
}
