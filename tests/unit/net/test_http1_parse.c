#include "net/http1_parse.h"

#include "test.h"

struct parsed {
	struct buf bytes;
	struct http_header headers[HTTP1_MAX_HEADERS];
	struct http1_head head;
	struct http1_refusal refusal;
};

static void parsed_release(struct parsed *p)
{
	buf_release(&p->bytes);
}

/* The status it is refused with, 0 when it is taken, -1 when it is not complete. */
static int parse(struct parsed *p, const char *text)
{
	struct str bytes = str_of(text);
	size_t scanned = 0;
	enum http1_progress progress;

	buf_init(&p->bytes, 1 << 20);
	progress = http1_find_end(bytes, &scanned, &p->refusal);
	if (progress == HTTP1_DONE) {
		buf_append(&p->bytes, bytes.p, scanned);
		progress = http1_parse_head(p->bytes.data, p->bytes.n, p->headers, &p->head,
					    &p->refusal);
	}
	return progress == HTTP1_MORE ? -1 : progress == HTTP1_DONE ? 0 : p->refusal.status;
}

TEST(head_of_a_request_is_taken_apart)
{
	CLEANUP(parsed_release) struct parsed p = {0};

	CHECK_INT(parse(&p, "POST /a/b?x=1&y=%20 HTTP/1.1\r\nHost: example.org:4040\r\n"
			    "Content-LENGTH:  12 \r\nX-Empty:\r\nX-Tab: \ta\tb\t\r\n"
			    "Expect: 100-Continue\r\n\r\n"),
		  0);
	CHECK_INT(p.head.version, HTTP_1_1);
	CHECK_STR(p.head.method, "POST");
	CHECK_STR(p.head.path, "/a/b");
	CHECK_STR(p.head.query, "x=1&y=%20");
	CHECK_STR(p.head.authority, "example.org:4040");
	CHECK_INT(p.head.header_count, 5);
	CHECK_STR(p.head.headers[1].name, "content-length");
	CHECK_STR(p.head.headers[1].value, "12");
	CHECK_STR(p.head.headers[2].value, "");
	CHECK_STR(p.head.headers[3].value, "a\tb");
	CHECK(p.head.has_length && p.head.length == 12 && !p.head.chunked);
	CHECK(p.head.keep_alive && p.head.expects_continue);
}

TEST(targets_may_be_absolute_or_an_asterisk)
{
	static const struct {
		const char *line, *path, *query, *authority;
	} rows[] = {
		{"GET http://other:80/p?q HTTP/1.1", "/p", "q", "other:80"},
		{"GET HTTPS://other HTTP/1.1", "/", "", "other"},
		{"GET http://[::1]:4040?q=/ HTTP/1.1", "/", "q=/", "[::1]:4040"},
		{"OPTIONS * HTTP/1.1", "*", "", "h"},
		{"GET /?? HTTP/1.1", "/", "?", "h"},
		{"GET /%C3%A9\xc3\xa9 HTTP/1.1", "/%C3%A9\xc3\xa9", "", "h"},
		{"GET //x HTTP/1.1", "//x", "", "h"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(parsed_release) struct parsed p = {0};
		char text[256];

		snprintf(text, sizeof(text), "%s\r\nHost: h\r\n\r\n", rows[i].line);
		CHECK_INT(parse(&p, text), 0);
		CHECK_STR(p.head.path, rows[i].path);
		CHECK_STR(p.head.query, rows[i].query);
		CHECK_STR(p.head.authority, rows[i].authority);
	}
}

TEST(connections_live_on_as_version_and_header_say)
{
	static const struct {
		const char *version, *header;
		bool keep;
	} rows[] = {
		{"1.1", "", true},
		{"1.1", "Connection: close\r\n", false},
		{"1.1", "Connection: TE, Close\r\n", false},
		{"1.1", "Connection: keep-alive\r\n", true},
		{"1.1", "Connection: closed\r\n", true},
		{"1.0", "", false},
		{"1.0", "Connection: Keep-Alive\r\n", true},
		{"1.0", "Connection: keep-alive, close\r\n", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(parsed_release) struct parsed p = {0};
		char text[256];

		snprintf(text, sizeof(text), "GET / HTTP/%s\r\nHost: h\r\n%s\r\n", rows[i].version,
			 rows[i].header);
		CHECK_INT(parse(&p, text), 0);
		CHECK(p.head.keep_alive == rows[i].keep);
	}
}

/* What comes behind "POST / HTTP/1.1\r\nHost: h\r\n", with its status. */
static const struct {
	int status;
	const char *headers;
} header_rows[] = {
	{0, "Content-Length: 0\r\n"},
	{0, "Content-Length: 9223372036854775807\r\n"},
	{0, "Transfer-Encoding: Chunked\r\n"},
	{0, "X-A: 1\r\nX-A: 2\r\n"},
	{0, "X-Latin: \xe9\r\n"},
	/* Two readings of where the body ends. */
	{400, "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"},
	{400, "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"},
	{400, "Content-Length: 3\r\nContent-Length: 4\r\n"},
	{400, "Content-Length: 3\r\nContent-Length: 3\r\n"},
	{400, "Content-Length: 3, 3\r\n"},
	{400, "Content-Length: +3\r\n"},
	{400, "Content-Length: -3\r\n"},
	{400, "Content-Length: 0x3\r\n"},
	{400, "Content-Length: 3 4\r\n"},
	{400, "Content-Length: 3;\r\n"},
	{400, "Content-Length: \r\n"},
	{400, "Content-Length: 9223372036854775808\r\n"},
	{400, "Content-Length: 99999999999999999999999\r\n"},
	{400, "Content-Length : 3\r\n"},
	{400, "Content-Length\t: 3\r\n"},
	{400, " Content-Length: 3\r\n"},
	{400, "X: 1\r\n Content-Length: 3\r\n"},
	{400, "X: 1\r\n\tfolded\r\n"},
	{400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
	{501, "Transfer-Encoding: identity\r\n"},
	{501, "Transfer-Encoding: gzip, chunked\r\n"},
	{501, "Transfer-Encoding: chunked, identity\r\n"},
	{400, "Transfer-Encoding: \vchunked\r\n"},
	{501, "Transfer-Encoding: xchunked\r\n"},
	{501, "Transfer-Encoding: \"chunked\"\r\n"},
	{501, "Transfer-Encoding:\r\n"},
	{400, "Transfer-Encoding : chunked\r\n"},
	{400, "Transfer_Encoding\x01: chunked\r\n"},
	/* Line ends and control characters. */
	{400, "X: a\nContent-Length: 3\r\n"},
	{400, "X: a\rContent-Length: 3\r\n"},
	{400, "X: a\r\r\n"},
	{400, "X: a\x7f\r\n"},
	{400, "X: a\x1b[31m\r\n"},
	/* Names. */
	{400, ": empty\r\n"},
	{400, "no colon\r\n"},
	{400, "NoColon\r\n"},
	{400, "X@Y: 1\r\n"},
	{400, "X(Y): 1\r\n"},
	{400, "\"X\": 1\r\n"},
	{400, "X\xe9: 1\r\n"},
	/* Hosts. */
	{400, "Host: again\r\n"},
	{417, "Expect: miracles\r\n"},
};

TEST(headers_that_could_be_read_in_two_ways_are_refused)
{
	for (size_t i = 0; i < sizeof(header_rows) / sizeof(header_rows[0]); i++) {
		CLEANUP(parsed_release) struct parsed p = {0};
		char text[512];
		int status;

		snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: h\r\n%s\r\n",
			 header_rows[i].headers);
		status = parse(&p, text);
		if (status != header_rows[i].status)
			test_fail(__FILE__, __LINE__, "row %zu gave %d (%s), expected %d", i,
				  status, p.refusal.why ? p.refusal.why : "",
				  header_rows[i].status);
	}
}

TEST(request_lines_are_taken_strictly)
{
	static const struct {
		int status;
		const char *head;
	} rows[] = {
		{0, "G!#$%&'*+-.^_`|~Z / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{0, "GET / HTTP/1.0\r\n\r\n"},
		{0, "GET / HTTP/1.7\r\nHost:\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\n\r\n"},
		{400, "GET /\r\nHost: h\r\n\r\n"},
		{400, "GET\r\nHost: h\r\n\r\n"},
		{400, "/ HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, " GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET / HTTP/1.1 \r\nHost: h\r\n\r\n"},
		{400, "GET / x HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET /#part HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET path HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET * HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET http:///p HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET http://user@h/ HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET / http/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET / HTTP/1\r\nHost: h\r\n\r\n"},
		{400, "GET / HTTP/1.10\r\nHost: h\r\n\r\n"},
		{400, "GET / HTTP/11\r\nHost: h\r\n\r\n"},
		{400, "G\xc3\x89T / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET / HTTP/1.1\nHost: h\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: h\n\r\n"},
		{400, "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
		{501, "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{505, "GET / HTTP/2.0\r\nHost: h\r\n\r\n"},
		{505, "GET / HTTP/0.9\r\n\r\n"},
		{-1, "GET / HTTP/1.1\r\nHost: h\r\n\r"},
		{-1, "GET / HTTP/1.1\r"},
		{-1, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(parsed_release) struct parsed p = {0};
		int status = parse(&p, rows[i].head);

		if (status != rows[i].status)
			test_fail(__FILE__, __LINE__, "row %zu gave %d (%s), expected %d", i,
				  status, p.refusal.why ? p.refusal.why : "", rows[i].status);
	}
}

TEST(http_1_0_knows_no_chunks)
{
	CLEANUP(parsed_release) struct parsed p = {0};

	CHECK_INT(parse(&p, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(a_nul_is_refused_wherever_it_is)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: h\r\nX: a.b\r\n\r\n";
	struct str end = STR("\r\n\r\n");

	for (size_t i = 0; i < sizeof(text) - 1 - end.n; i++) {
		char copy[sizeof(text)];
		struct http_header headers[HTTP1_MAX_HEADERS];
		struct http1_refusal refusal;
		struct http1_head head;
		size_t scanned = 0;

		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		if (http1_find_end(str_n(copy, sizeof(text) - 1), &scanned, &refusal) ==
		    HTTP1_REFUSED)
			continue;
		CHECK(http1_parse_head(copy, scanned, headers, &head, &refusal) == HTTP1_REFUSED);
	}
}

TEST(more_headers_than_the_limit_are_refused)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	struct parsed p = {0};

	buf_text(&b, "GET / HTTP/1.1\r\nHost: h\r\n");
	for (int i = 1; i < HTTP1_MAX_HEADERS; i++)
		buf_printf(&b, "X-%d: 1\r\n", i);
	buf_text(&b, "\r\n");
	CHECK_INT(parse(&p, b.data), 0);
	CHECK_INT(p.head.header_count, HTTP1_MAX_HEADERS);
	parsed_release(&p);
	b.n -= 2;
	buf_text(&b, "One-More: 1\r\n\r\n");
	CHECK_INT(parse(&p, b.data), 431);
	parsed_release(&p);
}

/* The decoded body, "more" or "refused: …"; input is fed in pieces of `step` bytes. */
static void decode(struct buf *out, struct str text, size_t step, size_t *ret_left)
{
	struct http1_chunks c = {0};
	struct http1_refusal refusal;
	enum http1_progress p = HTTP1_MORE;
	struct str data;

	for (size_t at = 0; at < text.n && p == HTTP1_MORE; at += step) {
		struct str piece = str_n(text.p + at, step < text.n - at ? step : text.n - at);

		do {
			p = http1_chunks_next(&c, &piece, &data, &refusal);
			buf_str(out, data);
		} while (p == HTTP1_MORE && data.n);
		*ret_left = text.n - at - (step < text.n - at ? step : text.n - at) + piece.n;
	}
	if (p != HTTP1_DONE) {
		buf_clear(out);
		buf_text(out, p == HTTP1_MORE ? "(more)" : "(refused)");
	}
}

TEST(chunks_are_decoded_however_they_are_split)
{
	static const struct {
		const char *wire, *body;
		size_t left;
	} rows[] = {
		{"0\r\n\r\n", "", 0},
		{"3\r\nabc\r\n0\r\n\r\nGET", "abc", 3},
		{"3\r\nabc\r\n00A\r\n0123456789\r\n000\r\n\r\n", "abc0123456789", 0},
		{"3;name=value;x=\"y\"\r\nabc\r\n0;last\r\n\r\n", "abc", 0},
		{"1\r\n\r\r\n1\r\n\n\r\n0\r\nX-Sum: 12\r\nY:\r\n\r\n", "\r\n", 0},
		{"0000000000000003\r\nabc\r\n0\r\n\r\n", "abc", 0},
		{"00000000000000003\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"3\r\nabc\r\n", "(more)", 0},
		{"3\r\nabc\r\n0\r\n\r", "(more)", 0},
		{"3\r\nabcd\r\n0\r\n\r\n", "(refused)", 0},
		{"3\r\nab\r\n0\r\n\r\n", "(refused)", 0},
		{"3\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"3\r\nabc\n0\r\n\r\n", "(refused)", 0},
		{"3 \r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{" 3\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"0x3\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"-3\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"+3\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{";a\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"3;a\x01\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"3;a\rb\r\nabc\r\n0\r\n\r\n", "(refused)", 0},
		{"ffffffffffffffff\r\nabc", "(refused)", 0},
		{"8000000000000000\r\nabc", "(refused)", 0},
		{"0\r\nX: a\n\r\n", "(refused)", 0},
		{"0\r\n folded: x\r\n\r\n", "(refused)", 0},
		{"0\r\n: x\r\n\r\n", "(refused)", 0},
		{"0\r\nname\r\n\r\n", "(refused)", 0},
		{"0\r\n\n", "(refused)", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str wire = str_of(rows[i].wire);

		for (size_t step = 1; step <= wire.n; step++) {
			CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
			size_t left = 0;

			decode(&out, wire, step, &left);
			if (!str_eq(buf_view(&out), str_of(rows[i].body)))
				test_fail(__FILE__, __LINE__, "row %zu by %zu is %.*s", i, step,
					  (int)out.n, out.data ? out.data : "");
			if (rows[i].body[0] != '(' && left != rows[i].left)
				test_fail(__FILE__, __LINE__, "row %zu by %zu leaves %zu", i, step,
					  left);
		}
	}
}

TEST(extensions_and_trailers_have_a_ceiling)
{
	CLEANUP(buf_release) struct buf wire = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	size_t left;

	buf_text(&wire, "1;");
	for (int i = 0; i < 300; i++)
		buf_byte(&wire, 'x');
	buf_text(&wire, "\r\na\r\n0\r\n\r\n");
	decode(&out, buf_view(&wire), wire.n, &left);
	CHECK_STR(buf_view(&out), "(refused)");
	buf_clear(&wire);
	buf_clear(&out);
	for (int i = 0; i < 400; i++)
		buf_text(&wire, "1;xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\na\r\n");
	buf_text(&wire, "0\r\n\r\n");
	decode(&out, buf_view(&wire), wire.n, &left);
	CHECK_STR(buf_view(&out), "(refused)");
	buf_clear(&wire);
	buf_clear(&out);
	buf_text(&wire, "0\r\n");
	for (int i = 0; i < 2000; i++)
		buf_text(&wire, "X-Trailer: 1\r\n");
	buf_text(&wire, "\r\n");
	decode(&out, buf_view(&wire), wire.n, &left);
	CHECK_STR(buf_view(&out), "(refused)");
}
