/*
 * The HTTP server: one event loop per CPU, HTTP/1.1 and HTTP/2 on the same port.
 *
 * A request is a `struct http_exchange`. Its loop calls `admit` when the headers are complete and
 * `handle` when the body is complete; both run on the loop's thread and must not block on disk or
 * compute for long. http_reply() is thread safe, so the reply may be given there or later from any
 * thread. It must be called exactly once for every exchange passed to `handle`; after it the
 * exchange must not be used.
 *
 * The reply to a request with the header "vestal-timing" has "server-timing": how long the request
 * waited for a thread ("queue"), and how long it took from the last byte of its body ("total"), in
 * ms.
 *
 * Strings of a request are valid as long as the exchange. Header names are in lower case in both
 * protocols. Chunked framing is removed from the body, Content-Encoding is not.
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory_budget.h"

struct http_header {
	struct str name, value;
};

#define HTTP_NO_UID UINT32_MAX

enum http_version { HTTP_1_0 = 10, HTTP_1_1 = 11, HTTP_2 = 20 };

struct http_exchange {
	enum http_version version;
	struct str method;    /* "GET" … */
	struct str path;      /* as sent, before '?' */
	struct str query;     /* as sent, after '?' */
	struct str authority; /* Host or :authority */
	const struct http_header *headers;
	size_t header_count;
	struct str body;
	struct str peer;	/* "127.0.0.1:5123" or "unix" */
	bool peer_is_local;	/* received on a unix socket */
	uint32_t peer_uid;	/* of the peer at a unix socket; HTTP_NO_UID */
	struct str certificate; /* subject of a verified client certificate, or empty */
	uint16_t port;		/* tag of the listener that received it */
	int64_t started_ns;	/* monotonic, time of its first byte */
	int64_t begun_ns;	/* when processing began, for Server-Timing; 0 = immediately */

	size_t max_body; /* `admit` may change it; starts as the server's */
	/* The account charged for the body as it arrives, and for the reply until the client has
	 * it. `admit` sets it and passes its reference. NULL = none. */
	struct memory_account *account;
	struct arena arena; /* memory for the handler until the reply */
	void *user;	    /* for the handler */
	atomic_bool gone;   /* the client disconnected: work for it may stop */
};

/* The first value of a header (lower case), or an empty slice with p == NULL. */
struct str http_find(const struct http_exchange *x, struct str name);
/* The first value of a query or form parameter, percent-decoded into the arena; p == NULL:
 * missing. */
struct str http_param(struct http_exchange *x, struct str name);
/* Calls `each` for all pairs of a query string, in order, decoded. */
enum err http_params(struct http_exchange *x, struct str query,
		     enum err (*each)(void *context, struct str name, struct str value),
		     void *context) MUST_CHECK;

/*
 * For `admit`: counts connection and request for a client. ERR_BUSY, with a message, if it has
 * max_per_client of either; a connection above the limit is closed after the reply.
 */
enum err http_count_for(struct http_exchange *x, struct str client, struct fault *fault) MUST_CHECK;

struct http_response {
	int status;
	const struct http_header *headers; /* content-length, date and server are added */
	size_t header_count;
	/* After the body (HTTP/2, or chunked in 1.1): gRPC's status. */
	const struct http_header *trailers;
	size_t trailer_count;
	struct buf body;	/* taken over and released, unless static_body is used */
	struct str static_body; /* valid as long as the server */
	bool head_only;		/* send the length, but no body (implied for HEAD) */
	bool close;		/* close the connection after it */
};

/* Thread safe; copies headers and trailers, takes over the body (leaves `r->body` empty). */
void http_reply(struct http_exchange *x, struct http_response *r);
/* A short text or JSON body. */
void http_reply_text(struct http_exchange *x, int status, const char *content_type,
		     struct str text);
/*
 * `static_body`, or `body`, with the validator `tag` ("\"abc\"", empty = none): 304 if the client
 * has it, one range of bytes (206, 416) if it requests one. At most HTTP_ASSET_HEADERS headers of
 * the caller.
 */
#define HTTP_ASSET_HEADERS 16
void http_reply_asset(struct http_exchange *x, struct http_response *r, struct str tag);

struct http_handlers {
	void *context;
	/* Called when the headers are complete. False: it has replied (401, 413, 429 …), and the
	 * body is discarded or the connection closed. NULL = accept everything. */
	bool (*admit)(void *context, struct http_exchange *x);
	void (*handle)(void *context, struct http_exchange *x);
	/* Called on the loop at the end of every admitted exchange, replied or not: releases what
	 * admit acquired. */
	void (*finished)(void *context, struct http_exchange *x);
	/* Called instead of `handle` if the body cannot be received (ERR_BUSY: the account has no
	 * memory for it); must reply. NULL = the session replies. */
	void (*refuse)(void *context, struct http_exchange *x, enum err error);
};

struct tls_options {
	const char *certificate, *key; /* PEM files; NULL = plain */
	const char *client_ca;	       /* PEM: client certificates are requested and verified */
	bool require_client;
};

struct http_options {
	unsigned loops; /* 0 = one per CPU */
	size_t max_body;
	size_t max_head; /* limit of all headers of a request */
	/* Above it, the connection that has been idle longest is closed for a new one; if all have
	 * requests, the new one gets 503. At most three quarters of them may come from one
	 * address. */
	unsigned max_connections;
	/* Maximum number of open connections, and of running requests, per client (http_count_for).
	 * The upper limit, and the default for 0, is three quarters of max_connections. */
	unsigned max_per_client;
	unsigned max_streams;	 /* of an HTTP/2 connection */
	int64_t head_timeout_ns; /* from the first byte to the end of the headers */
	int64_t idle_timeout_ns; /* between requests */
	/* Minimum bytes per second for sending a body and receiving a reply, averaged over all of
	 * it, checked from the third second on. */
	size_t min_body_rate, min_reply_rate;
	int64_t write_timeout_ns; /* how long a client may receive nothing of its reply */
	/* The account charged for connections; NULL = none. The caller keeps its reference. */
	struct memory_account *account;
	struct tls_options tls;
};
#define HTTP_OPTIONS_DEFAULT                                    \
	((struct http_options){.max_body = 64 << 20,            \
			       .max_head = 64 << 10,            \
			       .max_connections = 20000,        \
			       .max_streams = 128,              \
			       .head_timeout_ns = 10000000000,  \
			       .idle_timeout_ns = 120000000000, \
			       .min_body_rate = 4096,           \
			       .min_reply_rate = 16384,         \
			       .write_timeout_ns = 10000000000})

struct http_counters {
	uint64_t connections_total, connections_open, requests_total, refused_total, timeouts_total,
		protocol_errors_total, bytes_in, bytes_out;
	uint64_t evicted_total;	     /* closed at the limit, for new ones */
	uint64_t slow_bodies_total;  /* timeouts of slow bodies */
	uint64_t slow_readers_total; /* timeouts of unread replies */
	uint64_t longest_turn_ns;    /* longest event-loop iteration */
};

struct http_server;

enum err http_server_new(const struct http_options *options, const struct http_handlers *handlers,
			 struct http_server **ret, struct fault *fault) MUST_CHECK;
/*
 * Call before the start. "127.0.0.1:4040", "[::1]:4040", "0.0.0.0:0", "unix:/path", or "fd:N" for a
 * socket that systemd opened. A non-zero `tag` is the exchange's port; otherwise the port of the
 * address is. `*ret_address` (may be NULL) is the address, with the port chosen by the kernel.
 */
enum err http_server_listen(struct http_server *s, struct str address, uint16_t tag,
			    struct buf *ret_address, struct fault *fault) MUST_CHECK;
/* Starts the loops. */
enum err http_server_start(struct http_server *s, struct fault *fault) MUST_CHECK;
/* Reloads the certificates; keeps the old ones if that fails. */
enum err http_server_reload(struct http_server *s, struct fault *fault) MUST_CHECK;
struct http_counters http_server_counters(const struct http_server *s);
/*
 * Accepts no new connections; running requests are finished until the deadline (monotonic); then
 * all connections are closed. Returns when the loops have ended.
 */
void http_server_stop(struct http_server *s, int64_t deadline_ns);
void http_server_free(struct http_server *s);
