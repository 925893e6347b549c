/*
 * Pages for people: what this is and how data gets in. The one at / is plain text in HTML, without
 * a script.
 */
#include "server/routes.h"

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
	"<p>This server keeps profiles and answers questions about them. "                   \
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
static void handle_index(struct request *r)
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

const struct route page_routes[] = {
	{"GET", "/", ROUTE_OPEN, "index", handle_index, NULL},
	{0},
};
