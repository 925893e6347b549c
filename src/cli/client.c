#include "cli/client.h"

#include <stdlib.h>

#include "base/file.h"
#include "format/format.h"
#include "net/net.h"

#define DEFAULT_SERVER "http://127.0.0.1:4040"
#define MAX_URL	       ((size_t)1 << 18)
#define MAX_TOKEN      4096

const struct option client_table[] = {
	{"server", 0, OPT_TEXT, "URL", "the server (VESTAL_SERVER, else " DEFAULT_SERVER ")",
	 AT(struct client_options, server), NULL},
	{"token", 0, OPT_TEXT, "TOKEN", "token printed by vestal token create (VESTAL_TOKEN)",
	 AT(struct client_options, token), NULL},
	{"token-file", 0, OPT_TEXT, "FILE", "file with the token, so that ps does not show it",
	 AT(struct client_options, token_file), NULL},
	{"tenant", 0, OPT_TEXT, "NAME", "whose data, where the server lets us choose",
	 AT(struct client_options, tenant), NULL},
	{0},
};

const struct option connection_table[] = {
	{"timeout", 0, OPT_SECONDS, "SECONDS", "time out after SECONDS (30)",
	 AT(struct client_options, timeout), NULL},
	{"insecure", 'k', OPT_FLAG, NULL, "accept any TLS certificate of the server",
	 AT(struct client_options, insecure), NULL},
	{0},
};

/* An environment variable that is set to nothing is not set. */
static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static const char *server_of(const struct client_options *o)
{
	const char *url = o->server && o->server[0] ? o->server : from_environment("VESTAL_SERVER");

	return url ? url : DEFAULT_SERVER;
}

/* "localhost:4040/" is http://localhost:4040. */
static void put_server(struct buf *out, const struct client_options *o)
{
	struct str url = str_of(server_of(o));

	while (str_ends(url, STR("/")))
		url.n--;
	if (!fetch_is_url(url))
		buf_text(out, "http://");
	buf_str(out, url);
}

void percent_encode(struct buf *out, struct str s)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		    (c && strchr("-._~", c))) {
			buf_byte(out, c);
		} else {
			buf_byte(out, '%');
			buf_byte(out, (unsigned char)digits[c >> 4]);
			buf_byte(out, (unsigned char)digits[c & 15]);
		}
	}
}

void call_init(struct call *c, const struct client_options *o, const char *path)
{
	*c = (struct call){.options = o, .url = BUF_INIT(MAX_URL)};
	put_server(&c->url, o);
	buf_text(&c->url, path);
}

void call_release(struct call *c)
{
	buf_release(&c->url);
}

void call_path(struct call *c, struct str step)
{
	buf_byte(&c->url, '/');
	percent_encode(&c->url, step);
}

void call_param(struct call *c, const char *name, struct str value)
{
	if (!value.n)
		return;
	buf_byte(&c->url, c->asked ? '&' : '?');
	c->asked = true;
	buf_text(&c->url, name);
	buf_byte(&c->url, '=');
	percent_encode(&c->url, value);
}

void call_param_text(struct call *c, const char *name, const char *value)
{
	call_param(c, name, str_of(value));
}

/* ------------------------------------------------------------------ who we are */

static enum err put_header(struct buf *out, const char *name, struct str value, const char *option,
			   struct fault *fault)
{
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "%s contains a character that is invalid in headers",
					 option);
	buf_text(out, name);
	buf_str(out, value);
	return buf_error(out);
}

static enum err put_token(const struct client_options *o, struct buf *out, struct fault *fault)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(MAX_TOKEN);
	const char *token = o->token && o->token[0] ? o->token : NULL;

	if (o->token_file && !token) {
		TRY(file_read(o->token_file, &file, fault));
		return put_header(out, "Authorization: Bearer ", str_trim(buf_view(&file)),
				  o->token_file, fault);
	}
	if (!token)
		token = from_environment("VESTAL_TOKEN");
	return token ? put_header(out, "Authorization: Bearer ", str_of(token), "the token", fault)
		     : ERR_OK;
}

static enum err make_headers(const struct client_options *o, struct buf *token, struct buf *tenant,
			     const char *headers[3], struct fault *fault)
{
	size_t n = 0;

	TRY(put_token(o, token, fault));
	if (o->tenant)
		TRY(put_header(tenant, "X-Scope-OrgID: ", str_of(o->tenant), "--tenant", fault));
	if (token->n)
		headers[n++] = token->data;
	if (tenant->n)
		headers[n++] = tenant->data;
	headers[n] = NULL;
	return ERR_OK;
}

/* ------------------------------------------------------------------ what went wrong */

static enum err error_by_label(struct str label)
{
	for (enum err e = ERR_OK + 1; e < ERR_COUNT_; e++)
		if (str_eq(label, str_of(err_label(e))))
			return e;
	return ERR_NETWORK;
}

/* {"code": "not_found", "message": "there is no type …"} */
static bool read_problem(struct str body, enum err *ret_code, struct fault *ret)
{
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct str key, value;
	struct json j;
	bool good;

	json_init(&j, body, "answer", 8, &r);
	ret->text[0] = 0;
	if (json_object(&j))
		while (json_key(&j, &key)) {
			value = (struct str){0};
			if (str_eq(key, STR("code")) && json_string(&j, &value))
				*ret_code = error_by_label(value);
			else if (str_eq(key, STR("message")) && json_string(&j, &value))
				fault_set(ret, ERR_NETWORK, "%.*s", (int)value.n, value.p);
			else
				json_skip(&j);
		}
	good = !j.error && ret->text[0];
	json_release(&j);
	return good;
}

static int status_for(enum err e)
{
	switch (e) {
	case ERR_NO_PERMISSION:
	case ERR_UNAUTHENTICATED:
		return EXIT_DENIED;
	case ERR_NO_SPACE:
	case ERR_IO:
	case ERR_INTERNAL:
	case ERR_NO_MEMORY:
		return EXIT_UNAVAILABLE; /* the server's trouble, not ours */
	default:
		return status_of(e);
	}
}

static const char *advice(enum err e)
{
	return e == ERR_UNAUTHENTICATED
		       ? " (--token or VESTAL_TOKEN; vestal token create makes one)"
	       : e == ERR_NO_PERMISSION ? " (the token does not allow this)"
					: "";
}

static void describe(const struct client_options *o, enum err e, const struct fault *told,
		     const struct fetch_failure *f, struct client_failure *ret)
{
	CLEANUP(buf_release) struct buf url = BUF_INIT(MAX_URL), server = BUF_INIT(MAX_URL);
	struct fault said = {0};
	enum err code = e;

	put_server(&url, o);
	if (url.n)
		fetch_display_url(&server, buf_view(&url));
	ret->again = f->status == 0 || f->status == 429 || f->status >= 500;
	if (f->unreachable)
		fault_set(&ret->fault, e, "no server answers at %.*s: start one with vestal server",
			  (int)server.n, server.data);
	else if (f->status && read_problem(str_n(f->body, f->body_size), &code, &said))
		fault_set(&ret->fault, code, "%s%s", said.text, advice(code));
	else
		fault_set(&ret->fault, e, "%.*s: %s", (int)server.n, server.data,
			  told->text[0] ? told->text : err_text(e));
	ret->status = status_for(code);
}

enum err client_ask(const struct call *c, const struct str *body, struct buf *ret,
		    struct client_failure *failure)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(2 * MAX_TOKEN), tenant = BUF_INIT(1024);
	struct fetch_failure bad = {0};
	const char *headers[3] = {NULL};
	struct fault fault = {0};
	struct fetch request = {
		.user_agent = "vestal/" VESTAL_VERSION,
		.timeout = c->options->timeout,
		.insecure = c->options->insecure,
		.headers = headers,
		.post = body != NULL,
		.body = body ? *body : (struct str){0},
		.failure = &bad,
	};
	enum err e = buf_error(&c->url);

	*failure = (struct client_failure){0};
	if (e == ERR_OK)
		e = make_headers(c->options, &token, &tenant, headers, &fault);
	if (e != ERR_OK) {
		failure->status = status_of(e);
		fault_set(&failure->fault, e, "%s", fault.text[0] ? fault.text : err_text(e));
		return e;
	}
	request.url = c->url.data;
	e = fetch(&request, ret, &fault);
	if (e != ERR_OK)
		describe(c->options, e, &fault, &bad, failure);
	return e;
}

static int ask(const struct call *c, const struct str *body, struct buf *ret)
{
	struct client_failure failure;

	if (client_ask(c, body, ret, &failure) == ERR_OK)
		return EXIT_OK;
	return complain(failure.status, "%s", failure.fault.text);
}

int client_get(const struct call *c, struct buf *ret)
{
	return ask(c, NULL, ret);
}

int client_post(const struct call *c, struct str body, struct buf *ret)
{
	return ask(c, &body, ret);
}
