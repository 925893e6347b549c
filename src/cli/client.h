/*
 * Requests of commands to a vestal server: address, authentication, request and response.
 *
 *	CLEANUP(call_release) struct call c;
 *
 *	call_init(&c, &o->client, "/api/v1/services");
 *	call_param(&c, "query", str_of(selector));
 *	status = client_get(&c, &answer);
 */
#pragma once

#include "base/buf.h"
#include "cli/command.h"

struct client_options {
	const char *server, *token, *token_file, *tenant;
	double timeout; /* seconds; 0 = 30 */
	bool insecure;	/* do not verify the certificate */
};
/* Address of the server, token, and connection options. */
extern const struct option client_table[], connection_table[];

/* A URL under construction. Errors are reported when it is used. */
struct call {
	const struct client_options *options;
	struct buf url;
	bool asked; /* it has a parameter */
};

void call_init(struct call *c, const struct client_options *o, const char *path);
void call_release(struct call *c);
/* One more step of the path, percent-encoded. */
void call_path(struct call *c, struct str step);
/* name=value, percent-encoded; does nothing if the value is empty. */
void call_param(struct call *c, const char *name, struct str value);
void call_param_text(struct call *c, const char *name, const char *value);

/* Percent-encodes all bytes that are not allowed in a URL. */
void percent_encode(struct buf *out, struct str s);

struct client_failure {
	bool again; /* a retry may succeed */
	int status; /* exit status */
	struct fault fault;
};

/* Sends a GET request, or a POST request if `body` is not NULL. Fills `failure` and prints
 * nothing. */
enum err client_ask(const struct call *c, const struct str *body, struct buf *ret,
		    struct client_failure *failure) MUST_CHECK;
/* The same, but they print errors and return an exit status. */
int client_get(const struct call *c, struct buf *ret);
int client_post(const struct call *c, struct str body, struct buf *ret);
