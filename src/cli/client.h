/*
 * A vestal server, as commands talk to it: where it is, who we are, a question and its answer.
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
	double timeout; /* seconds, 0 = thirty */
	bool insecure;	/* https without a look at the certificate */
};
/* Where the server is and who asks; how to connect. */
extern const struct option client_table[], connection_table[];

/* An address under construction. A failure on the way is told when it is used. */
struct call {
	const struct client_options *options;
	struct buf url;
	bool asked; /* has a parameter */
};

void call_init(struct call *c, const struct client_options *o, const char *path);
void call_release(struct call *c);
/* One more step of the path, percent-encoded. */
void call_path(struct call *c, struct str step);
/* name=value, percent-encoded; nothing when the value is empty. */
void call_param(struct call *c, const char *name, struct str value);
void call_param_text(struct call *c, const char *name, const char *value);

/* The bytes that may stand in a URL as they are stay, the others become %XX. */
void percent_encode(struct buf *out, struct str s);

struct client_failure {
	bool again; /* the same may succeed later */
	int status; /* for exit */
	struct fault fault;
};

/* Asks, or sends `body` when it is not NULL. Fills `failure` and says nothing. */
enum err client_ask(const struct call *c, const struct str *body, struct buf *ret,
		    struct client_failure *failure) MUST_CHECK;
/* The same with an exit status; they have said why when it is not EXIT_OK. */
int client_get(const struct call *c, struct buf *ret);
int client_post(const struct call *c, struct str body, struct buf *ret);
