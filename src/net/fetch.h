/*
 * One http(s) URL into a buffer, through libcurl. The library is loaded at the first URL, so that
 * a program that only reads files never pays for it. Any thread may fetch.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"

/* A body that goes into a file as it comes, instead of into memory. */
struct fetch_file {
	int fd;
	uint64_t most;		 /* bytes; more is ERR_TOO_LARGE */
	const atomic_bool *stop; /* ends it when it becomes true; or NULL */
	uint64_t written;	 /* filled */
};

/* What went wrong, for those who want to know more than the fault says. */
struct fetch_failure {
	long status;	     /* of HTTP; 0 when there was no answer */
	bool unreachable;    /* nobody listens there, or there is no such host */
	int64_t retry_after; /* seconds the server asks to wait; 0 = it does not say */
	size_t body_size;
	char body[4096]; /* how the answer began */
};

struct fetch {
	const char *url;
	const char *user_agent;
	double timeout;	     /* seconds for all of it, 0 = what fetch_patience() says */
	bool insecure;	     /* take any certificate */
	const char *ca_file; /* certificates of those who may sign others; NULL = the system's */
	const char *certificate, *key; /* of this client, or NULL */
	bool http2;		       /* and nothing else: without TLS by prior knowledge */
	bool unattended; /* nobody is at a command line: faults do not speak of its options */
	/* Lines like "Authorization: Bearer …", ends with NULL; or NULL. Not sent to other hosts.
	 */
	const char *const *headers;
	bool post; /* with `body`, which may be empty */
	struct str body;
	struct fetch_failure *failure; /* filled when there was one; or NULL */
	struct fetch_file *file;       /* gets the body; or NULL */
	/* Called often while it runs; total is 0 when the server does not say. */
	void (*tick)(void *context, uint64_t received, uint64_t total, double elapsed);
	/* Every line of the answer's head, and of what follows its body; or NULL. */
	void (*header)(void *context, struct str line);
	void *context;
};

/* Whether the text is a URL this file can fetch. */
bool fetch_is_url(struct str text);
/* The URL without user name and password, for messages and titles. */
void fetch_display_url(struct buf *out, struct str url);
/*
 * How long the server will be busy before it answers: `seconds=N` of the query; 30 for
 * …/debug/pprof/profile without it, as Go does; else 0.
 */
double fetch_server_seconds(struct str url);
/* What fetch waits for at most: the server's seconds and thirty more. */
double fetch_patience(struct str url);
/* Appends the body to `ret`, at most up to its ceiling. Redirects are followed, ten at most. */
enum err fetch(const struct fetch *request, struct buf *ret, struct fault *fault) MUST_CHECK;
