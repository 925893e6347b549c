/*
 * Pages for people: the web UI, every view of which is an address that gives the same file, and a
 * plain one that says how data gets in, in HTML without a script. The plain one stands in for the
 * UI in a program without it.
 */
#include "server/routes.h"
#include "server/web_files.h"

static void put_escaped(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		switch (text.p[i]) {
		case '<':
			buf_text(out, "&lt;");
			break;
		case '>':
			buf_text(out, "&gt;");
			break;
		case '&':
			buf_text(out, "&amp;");
			break;
		case '"':
			buf_text(out, "&quot;");
			break;
		default:
			buf_byte(out, (unsigned char)text.p[i]);
		}
	}
}

#define PAGE_HEAD                                                                            \
	"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"                    \
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"         \
	"<title>Vestal</title>\n<style>\n"                                                   \
	":root { color-scheme: light dark; }\n"                                              \
	"body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; " \
	"padding: 0 1rem; }\n"                                                               \
	"pre { background: #8882; padding: .75rem 1rem; overflow-x: auto; }\n"               \
	"</style>\n<h1>Vestal</h1>\n"                                                        \
	"<p>This server stores profiles and answers queries. "                               \
	"Three ways to get data in:</p>\n"

static void put_ways(struct buf *out, struct str base)
{
	buf_text(out, "<h2>1. A file</h2>\n<pre>vestal push cpu.pb.gz --service checkout\n"
		      "curl --data-binary @cpu.pb.gz '");
	put_escaped(out, base);
	buf_text(out, "/api/v1/profiles?service=checkout'</pre>\n"
		      "<h2>2. A Pyroscope client</h2>\n"
		      "<p>Every SDK, agent and Grafana Alloy; the server address is</p>\n<pre>");
	put_escaped(out, base);
	buf_text(out, "</pre>\n<h2>3. OpenTelemetry</h2>\n"
		      "<p>OTLP profiles and traces over gRPC and HTTP; the endpoint is</p>\n<pre>");
	put_escaped(out, base);
	buf_text(out, "</pre>\n<p>Then: <code>vestal query checkout --top</code>, or "
		      "<a href=\"/api/v1/services\">the services</a>, "
		      "<a href=\"/api/v1/status\">the state</a>, "
		      "<a href=\"/metrics\">the metrics</a>. "
		      "docs/api.md describes the API.</p>\n</html>\n");
}

/* Under the name it was asked, which the reader's programs can use too. */
static void handle_plain(struct request *r)
{
	struct buf out = BUF_INIT((size_t)64 << 10), base = BUF_INIT((size_t)16 << 10);
	struct str name = r->x->authority;

	buf_text(&base, r->server->options.http.tls.certificate ? "https://" : "http://");
	buf_str(&base, name.n ? name : server_address(r->server, 0));
	buf_text(&out, PAGE_HEAD);
	put_ways(&out, buf_view(&base));
	if (base.error)
		out.error = base.error;
	buf_release(&base);
	request_reply(r, 200, "text/html; charset=utf-8", &out);
}

static enum err no_ui(struct fault *fault)
{
	return fault_set(fault, ERR_NOT_FOUND,
			 "this vestal was built without npm and has no web UI inside: install npm "
			 "and run make again");
}

/* The URL contains the state, which the page's script reads. */
static void reply_page(struct request *r, int status)
{
	const struct web_asset *page = web_asset_find(STR("/index.html"));
	struct fault fault = {0};

	if (page)
		web_asset_reply(r, status, page, false);
	else
		request_fail(r, no_ui(&fault), &fault);
}

static void handle_view(struct request *r)
{
	reply_page(r, 200);
}

static void handle_nowhere(struct request *r)
{
	reply_page(r, 404);
}

const struct route nowhere_route = {"GET", "", ROUTE_OPEN, "nowhere", handle_nowhere, NULL};

bool route_is_for_nowhere(const struct http_exchange *x)
{
	bool page = str_eq(x->method, STR("GET")) && !str_starts(x->path, STR("/api/"));
	struct str accept = http_find(x, STR("accept"));

	return page && str_search(accept, STR("text/html")) < accept.n &&
	       web_asset_find(STR("/index.html"));
}

static void handle_index(struct request *r)
{
	if (web_asset_find(STR("/index.html")))
		handle_view(r);
	else
		handle_plain(r);
}

static void handle_asset(struct request *r)
{
	struct str path = str_skip(r->x->path, str_search(r->x->path, STR("/assets/")));
	const struct web_asset *asset = web_asset_find(path);
	struct fault fault = {0};

	if (asset)
		web_asset_reply(r, 200, asset, true);
	else
		request_fail(r,
			     fault_set(&fault, ERR_NOT_FOUND,
				       "no such file; the page is of another version: reload it"),
			     &fault);
}

const struct route page_routes[] = {
	{"GET", "/", ROUTE_OPEN, "index", handle_index, NULL},
	{"GET", "/start", ROUTE_OPEN, "start", handle_plain, NULL},
	{"GET", "/services", ROUTE_OPEN, "view", handle_view, NULL},
	{"GET", "/explore", ROUTE_OPEN, "view", handle_view, NULL},
	{"GET", "/diff", ROUTE_OPEN, "view", handle_view, NULL},
	{"GET", "/heatmap", ROUTE_OPEN, "view", handle_view, NULL},
	{"GET", "/function", ROUTE_OPEN, "view", handle_view, NULL},
	{"GET", "/files", ROUTE_OPEN, "view", handle_view, NULL},
	{"GET", "/status", ROUTE_OPEN, "view", handle_view, NULL},
	{"GET", "/assets/*", ROUTE_OPEN, "asset", handle_asset, NULL},
	{0},
};
