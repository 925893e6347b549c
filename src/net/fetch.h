/*
 * Fetches an http(s) URL into a buffer, by libcurl, which is loaded on first use. Thread safe.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"

/* Writes the body to a file instead of memory. */
struct fetch_file {
	int fd;
	uint64_t most;		 /* bytes; more is ERR_TOO_LARGE */
	const atomic_bool *stop; /* aborts the transfer when set; or NULL */
	uint64_t written;	 /* set on return */
};

/* Details of a failure. */
struct fetch_failure {
	long status;	     /* HTTP status; 0 if there was no response */
	bool unreachable;    /* connection refused, or unknown host */
	int64_t retry_after; /* Retry-After in seconds; 0 = none */
	size_t body_size;
	char body[4096]; /* beginning of the response body */
};

struct fetch {
	const char *url;
	const char *user_agent;
	double timeout;		       /* time limit in seconds; 0 = fetch_patience() */
	bool insecure;		       /* accept any certificate */
	const char *ca_file;	       /* file with CA certificates; NULL = the system's */
	const char *certificate, *key; /* client certificate and key, or NULL */
	bool http2;		       /* HTTP/2 only; without TLS by prior knowledge */
	bool unattended;	       /* do not mention command-line options in messages */
	/* Lines like "Authorization: Bearer …", ends with NULL; or NULL. Not sent to other hosts.
	 */
	const char *const *headers;
	bool post; /* POST `body`, which may be empty */
	struct str body;
	struct fetch_failure *failure; /* set on HTTP errors; or NULL */
	struct fetch_file *file;       /* writes the body to a file; or NULL */
	/* Called frequently during the transfer; total is 0 if unknown. */
	void (*tick)(void *context, uint64_t received, uint64_t total, double elapsed);
	/* Called for every header and trailer line; or NULL. */
	void (*header)(void *context, struct str line);
	void *context;
};

/* Whether the text is a supported URL. */
bool fetch_is_url(struct str text);
/* The URL without user name and password, for messages and titles. */
void fetch_display_url(struct buf *out, struct str url);
/*
 * How long the server takes before it responds: `seconds=N` of the query; 30 for
 * …/debug/pprof/profile without it, as Go does; else 0.
 */
double fetch_server_seconds(struct str url);
/* The default time limit: the same plus 30 seconds. */
double fetch_patience(struct str url);
/* Appends the body to `ret`, at most up to its ceiling. Follows at most ten redirects. */
enum err fetch(const struct fetch *request, struct buf *ret, struct fault *fault) MUST_CHECK;
