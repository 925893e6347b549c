#include "agent/endpoint.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "net/net.h"

#define PATH_HTTP	"/v1development/profiles"
#define PATH_GRPC	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define URL_CEILING	4096
#define HEADER_CEILING	8192
#define HEADERS_CEILING 50
#define TIMEOUT_DEFAULT 10.0
#define TIMEOUT_MOST	3600000

/* The variable for profiles, else the one for everything. */
static const char *environment(const char *name, bool *ret_own)
{
	static const char *const prefixes[] = {"OTEL_EXPORTER_OTLP_PROFILES_",
					       "OTEL_EXPORTER_OTLP_"};
	char full[80];

	for (size_t i = 0; i < 2; i++) {
		const char *value;

		snprintf(full, sizeof(full), "%s%s", prefixes[i], name);
		value = getenv(full);
		if (value && *value) {
			if (ret_own)
				*ret_own = i == 0;
			return value;
		}
	}
	return NULL;
}

static enum err refused(struct fault *fault, const char *server)
{
	return fault_set(
		fault, ERR_BAD_ARGUMENT,
		"%.100s is no server: http(s)://host:4318 (OTLP/HTTP), http(s)://host:4317, "
		"grpc://host or grpcs://host (OTLP/gRPC)",
		server);
}

/* The scheme's end, and what it means. */
static bool read_scheme(struct str server, struct str *ret_rest, bool *ret_tls, bool *ret_grpc)
{
	static const struct {
		struct str scheme;
		bool tls, grpc;
	} schemes[] = {{STR("http://"), false, false},
		       {STR("https://"), true, false},
		       {STR("grpc://"), false, true},
		       {STR("grpcs://"), true, true}};

	for (size_t i = 0; i < 4; i++)
		if (str_starts(server, schemes[i].scheme)) {
			*ret_rest = str_skip(server, schemes[i].scheme.n);
			*ret_tls = schemes[i].tls;
			*ret_grpc = schemes[i].grpc;
			return true;
		}
	return false;
}

static bool has_port(struct str authority)
{
	size_t colon = str_rfind(authority, ':');

	/* The colons of an IPv6 address are between brackets. */
	return colon < authority.n &&
	       (str_rfind(authority, ']') == authority.n || str_rfind(authority, ']') < colon);
}

static enum err set_url(struct endpoint *e, const char *server, bool whole, const char *protocol,
			struct fault *fault)
{
	struct str rest, authority, path;
	bool tls;

	if (!read_scheme(str_of(server), &rest, &tls, &e->grpc))
		return refused(fault, server);
	authority = str_n(rest.p, str_find(rest, '/'));
	path = str_skip(rest, authority.n);
	if (!authority.n)
		return refused(fault, server);
	while (path.n && path.p[path.n - 1] == '/' && !whole)
		path.n--;
	if (!e->grpc)
		e->grpc = protocol ? !strcmp(protocol, "grpc")
				   : !path.n && str_ends(authority, STR(":4317"));
	buf_text(&e->url, tls ? "https://" : "http://");
	buf_str(&e->url, authority);
	if (e->grpc && !has_port(authority))
		buf_text(&e->url, ":4317");
	if (!e->grpc)
		buf_str(&e->url, path);
	if (e->grpc || (!whole && !str_ends(path, STR(PATH_HTTP))))
		buf_text(&e->url, e->grpc ? PATH_GRPC : PATH_HTTP);
	return buf_error(&e->url) == ERR_TOO_LARGE ? refused(fault, server) : buf_error(&e->url);
}

static enum err set_address(struct endpoint *e, const struct endpoint_options *o,
			    struct fault *fault)
{
	const char *protocol = environment("PROTOCOL", NULL), *server = o->server;
	bool whole = false;

	/* The environment's protocol goes with the environment's address. */
	if (server)
		protocol = NULL;
	else
		server = environment("ENDPOINT", &whole);
	if (protocol && strcmp(protocol, "grpc") != 0 && strcmp(protocol, "http/protobuf") != 0)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "OTEL_EXPORTER_OTLP_PROTOCOL %.40s is not spoken: grpc or "
				 "http/protobuf",
				 protocol);
	if (!server)
		server = protocol && !strcmp(protocol, "grpc") ? "http://127.0.0.1:4317"
							       : ENDPOINT_DEFAULT;
	return set_url(e, server, whole, protocol, fault);
}

/* Characters that could inject a header. */
static bool breaks_line(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	return false;
}

static enum err add_header(struct endpoint *e, struct str line, struct fault *fault)
{
	char *copy;
	enum err error;

	if (e->headers.n >= HEADERS_CEILING || line.n > HEADER_CEILING || breaks_line(line))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "a header is no line of text, or there are more than %d",
				 HEADERS_CEILING);
	copy = mem_strndup(line.p, line.n);
	if (!copy)
		return ERR_NO_MEMORY;
	error = vec_push(&e->headers, copy);
	if (error)
		mem_free(copy);
	return error;
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "name=value,name=value" with %-escapes in the values. */
static enum err add_listed_headers(struct endpoint *e, struct str list, struct fault *fault)
{
	struct str one;

	while (str_split(&list, ',', &one)) {
		CLEANUP(buf_release) struct buf line = BUF_INIT(HEADER_CEILING);
		size_t at = str_find(one, '=');
		struct str name = str_trim(str_n(one.p, at)), value;

		if (!str_trim(one).n)
			continue;
		if (at == one.n || !name.n)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "OTEL_EXPORTER_OTLP_HEADERS is a list like name=value,"
					 "name=value");
		value = str_trim(str_skip(one, at + 1));
		buf_str(&line, name);
		buf_text(&line, ": ");
		for (size_t i = 0; i < value.n; i++) {
			bool escape = value.p[i] == '%' && i + 2 < value.n &&
				      hex(value.p[i + 1]) >= 0 && hex(value.p[i + 2]) >= 0;

			buf_byte(&line, (unsigned char)(escape ? hex(value.p[i + 1]) << 4 |
									 hex(value.p[i + 2])
							       : value.p[i]));
			i += escape ? 2 : 0;
		}
		TRY(buf_error(&line));
		TRY(add_header(e, buf_view(&line), fault));
	}
	return ERR_OK;
}

static enum err set_headers(struct endpoint *e, const struct endpoint_options *o,
			    struct fault *fault)
{
	CLEANUP(buf_release) struct buf token = BUF_INIT(HEADER_CEILING);
	const char *listed = environment("HEADERS", NULL);

	if (o->token) {
		buf_printf(&token, "Authorization: Bearer %s", o->token);
		TRY(buf_error(&token));
		TRY(add_header(e, buf_view(&token), fault));
	}
	for (size_t i = 0; i < o->header_count; i++)
		TRY(add_header(e, str_of(o->headers[i]), fault));
	/* The environment's headers may contain credentials for its own endpoint only. */
	if (listed && !o->server)
		TRY(add_listed_headers(e, str_of(listed), fault));
	return vec_push(&e->headers, NULL);
}

static enum err set_rest(struct endpoint *e, const struct endpoint_options *o, struct fault *fault)
{
	const char *packing = environment("COMPRESSION", NULL),
		   *text = environment("TIMEOUT", NULL);
	int64_t milliseconds;

	e->insecure = o->insecure;
	e->ca_file = o->ca_file ? o->ca_file : environment("CERTIFICATE", NULL);
	e->certificate = o->certificate ? o->certificate : environment("CLIENT_CERTIFICATE", NULL);
	e->key = o->key ? o->key : environment("CLIENT_KEY", NULL);
	e->gzip = !packing || strcmp(packing, "none") != 0;
	if (packing && e->gzip && strcmp(packing, "gzip") != 0)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "OTEL_EXPORTER_OTLP_COMPRESSION is gzip or none, not %.40s",
				 packing);
	e->timeout = TIMEOUT_DEFAULT;
	if (!text)
		return ERR_OK;
	if (str_to_i64(str_of(text), &milliseconds) || milliseconds < 1 ||
	    milliseconds > TIMEOUT_MOST)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "OTEL_EXPORTER_OTLP_TIMEOUT is a number of milliseconds, 1 to %d",
				 TIMEOUT_MOST);
	e->timeout = (double)milliseconds / 1000;
	return ERR_OK;
}

enum err endpoint_init(struct endpoint *ret, const struct endpoint_options *o, struct fault *fault)
{
	struct endpoint e = {.url = BUF_INIT(URL_CEILING)};
	enum err error = set_address(&e, o, fault);

	if (!error)
		error = set_rest(&e, o, fault);
	if (!error)
		error = set_headers(&e, o, fault);
	if (error) {
		endpoint_release(&e);
		return error;
	}
	*ret = e;
	return ERR_OK;
}

void endpoint_release(struct endpoint *e)
{
	vec_for_each (line, &e->headers)
		mem_free(*line);
	vec_release(&e->headers);
	buf_release(&e->url);
}
