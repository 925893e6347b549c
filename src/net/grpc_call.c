#include "net/grpc_call.h"

#include <strings.h>

#include "base/base64.h"
#include "net/fetch.h"

#define FRAME_HEAD	5
#define MAX_ANSWER	((size_t)4 << 20)
#define MAX_HEADERS	64
#define MESSAGE_CEILING ((size_t)256 << 20)

struct reply {
	struct grpc_answer *answer;
	bool status_came;
};

static bool header_is(struct str line, const char *name, struct str *ret_value)
{
	size_t n = strlen(name);

	if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0)
		return false;
	*ret_value = str_trim(str_skip(line, n + 1));
	return true;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* %-escapes; what would break a line becomes a blank. */
static void keep_message(struct grpc_answer *a, struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n && n + 1 < sizeof(a->message); i++) {
		char c = text.p[i];

		if (c == '%' && i + 2 < text.n && hex_digit(text.p[i + 1]) >= 0 &&
		    hex_digit(text.p[i + 2]) >= 0) {
			c = (char)(hex_digit(text.p[i + 1]) << 4 | hex_digit(text.p[i + 2]));
			i += 2;
		}
		a->message[n++] = (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c;
	}
	a->message[n] = 0;
	/* Handles text that was cut inside a character, or is no text. */
	for (size_t i = 0; !utf8_valid(str_n(a->message, n)) && i < n; i++)
		if ((unsigned char)a->message[i] >= 0x80)
			a->message[i] = '?';
}

static void on_header(void *context, struct str line)
{
	struct reply *r = context;
	struct str value;
	int64_t number;
	size_t n;

	if (header_is(line, "grpc-status", &value)) {
		r->status_came = str_to_i64(value, &number) == ERR_OK && number >= 0 && number < 17;
		r->answer->status = r->status_came ? (int)number : GRPC_UNKNOWN;
	} else if (header_is(line, "grpc-message", &value)) {
		keep_message(r->answer, value);
	} else if (header_is(line, "grpc-status-details-bin", &value)) {
		if (value.n / 4 * 3 + 3 <= sizeof(r->answer->details) &&
		    base64_decode(value, r->answer->details, &n))
			r->answer->details_size = n;
	}
}

/* The protocol's mapping of HTTP statuses from proxies without gRPC. */
static int status_of_http(long http)
{
	switch (http) {
	case 400:
		return 13;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 404:
		return GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_UNKNOWN;
	}
}

static enum err take_message(const struct reply *r, struct str body, struct buf *ret,
			     struct fault *fault)
{
	const uint8_t *p = (const uint8_t *)body.p;
	size_t n;

	if (!body.n)
		return ERR_OK;
	if (body.n < FRAME_HEAD || p[0] > 1)
		return fault_set(fault, ERR_NETWORK, "the answer is no message of gRPC");
	n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	if (n > body.n - FRAME_HEAD)
		return fault_set(fault, ERR_NETWORK, "the answer's message is cut");
	r->answer->packed = p[0];
	buf_append(ret, p + FRAME_HEAD, n);
	return buf_error(ret);
}

static enum err frame(const struct grpc_call *c, struct buf *ret)
{
	size_t n = c->message.n;
	const char head[FRAME_HEAD] = {c->gzip, (char)(n >> 24), (char)(n >> 16), (char)(n >> 8),
				       (char)n};

	if (n > MESSAGE_CEILING)
		return ERR_TOO_LARGE;
	buf_expect(ret, n + FRAME_HEAD);
	buf_append(ret, head, sizeof(head));
	buf_str(ret, c->message);
	return buf_error(ret);
}

static enum err judge(const struct reply *r, enum err e, const struct fetch_failure *failure,
		      const struct buf *body, struct buf *ret, struct fault *fault)
{
	struct grpc_answer *a = r->answer;

	if (e && !r->status_came)
		a->status = failure->status ? status_of_http(failure->status) : GRPC_UNAVAILABLE;
	if (e)
		return e;
	if (!r->status_came)
		return fault_set(fault, ERR_NETWORK, "the answer has no status of gRPC");
	if (a->status != GRPC_OK)
		return fault_set(fault, ERR_NETWORK, "gRPC status %d%s%s", a->status,
				 a->message[0] ? ": " : "", a->message);
	return take_message(r, buf_view(body), ret, fault);
}

enum err grpc_call(const struct grpc_call *c, struct buf *ret, struct grpc_answer *ret_answer,
		   struct fault *fault)
{
	const char *headers[MAX_HEADERS + 1] = {"Content-Type: application/grpc", "TE: trailers",
						c->gzip ? "grpc-encoding: gzip" : NULL};
	size_t n = c->gzip ? 3 : 2;
	CLEANUP(buf_release) struct buf body = BUF_INIT(MAX_ANSWER);
	CLEANUP(buf_release) struct buf message = BUF_INIT(MESSAGE_CEILING + FRAME_HEAD);
	struct reply r = {.answer = ret_answer};
	struct fetch_failure failure = {0};
	struct fetch f = {.url = c->url,
			  .user_agent = c->user_agent,
			  .timeout = c->timeout,
			  .insecure = c->insecure,
			  .ca_file = c->ca_file,
			  .certificate = c->certificate,
			  .key = c->key,
			  .http2 = true,
			  .unattended = true,
			  .headers = headers,
			  .post = true,
			  .failure = &failure,
			  .header = on_header,
			  .context = &r};
	enum err e;

	*ret_answer = (struct grpc_answer){.status = GRPC_UNKNOWN};
	for (const char *const *h = c->headers; h && *h && n < MAX_HEADERS; h++)
		headers[n++] = *h;
	TRY(frame(c, &message));
	f.body = buf_view(&message);
	e = fetch(&f, &body, fault);
	return judge(&r, e, &failure, &body, ret, fault);
}
