/*
 * The HTTP server: one event loop per processor, HTTP/1.1 and HTTP/2 on the same port.
 *
 * A request is a `struct http_exchange`. Its loop calls `admit` when the head is there and `handle`
 * when the body is complete; both run on the loop's thread and must not block on disk or on a long
 * computation. The reply may be given there, or later from any thread: http_reply() is the one
 * function of an exchange that is thread safe, and is called exactly once for every exchange that
 * `handle` got. After it the exchange is no longer the caller's.
 *
 * The reply to a request with the header "vestal-timing" has "server-timing": how long the request
 * waited for a thread ("queue"), and how long it took from the last byte of its body ("total"), in
 * ms.
 *
 * Strings of a request live as long as the exchange. Header names are in lower case, whatever the
 * protocol. A body comes as it was sent, Content-Encoding not undone, chunked framing undone.
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
	bool peer_is_local;	/* it came by a unix socket */
	uint32_t peer_uid;	/* of a program at a unix socket; HTTP_NO_UID */
	struct str certificate; /* subject of a verified client certificate, or empty */
	uint16_t port;		/* the listener's tag: which of the server's addresses was asked */
	int64_t started_ns;	/* monotonic, when its first byte came */
	int64_t begun_ns;	/* when processing began, for Server-Timing; 0 = immediately */

	size_t max_body; /* `admit` may change it; starts as the server's */
	/* Whose memory it takes: what arrives of the body is charged to it, and the reply until the
	 * client has it. `admit` sets it, and hands its reference over. NULL = nobody's. */
	struct memory_account *account;
	struct arena arena; /* for what the handler needs until the reply */
	void *user;	    /* the handler's own */
	atomic_bool gone;   /* the client went away: whoever works for it may stop */
};

/* The first value of a header (lower case), or an empty slice with p == NULL. */
struct str http_find(const struct http_exchange *x, struct str name);
/* The first value of a key of a query or form, percent-decoded into the arena; p == NULL:
 * absent. */
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
	struct str static_body; /* lives as long as the server */
	bool head_only;		/* say the length, send no body (HEAD does this by itself) */
	bool close;		/* end the connection after it */
};

/* Thread safe; copies headers and trailers, takes the body's memory (leaves `r->body` empty). */
void http_reply(struct http_exchange *x, struct http_response *r);
/* A short text or JSON body. */
void http_reply_text(struct http_exchange *x, int status, const char *content_type,
		     struct str text);
/*
 * `static_body`, or `body`, with the validator `tag` ("\"abc\"", empty = none): 304 when the client
 * has it, one range of bytes (206, 416) when it asks for one. At most HTTP_ASSET_HEADERS headers of
 * the caller.
 */
#define HTTP_ASSET_HEADERS 16
void http_reply_asset(struct http_exchange *x, struct http_response *r, struct str tag);

struct http_handlers {
	void *context;
	/* The head is complete, the body is not read yet. False: it has replied (401, 413, 429 …),
	 * the body is thrown away or the connection closed. NULL = take everything. */
	bool (*admit)(void *context, struct http_exchange *x);
	void (*handle)(void *context, struct http_exchange *x);
	/* Every admitted exchange ends here, replied or not, on its loop: give back what admit
	 * took. */
	void (*finished)(void *context, struct http_exchange *x);
	/* The body cannot be taken (ERR_BUSY: there is no memory for it in the account's budget):
	 * called instead of `handle`, and owes the reply. NULL = the session says so itself. */
	void (*refuse)(void *context, struct http_exchange *x, enum err error);
};

struct tls_options {
	const char *certificate, *key; /* PEM files; NULL = plain */
	const char *client_ca;	       /* PEM: client certificates are asked for and verified */
	bool require_client;
};

struct http_options {
	unsigned loops; /* 0 = one per processor */
	size_t max_body;
	size_t max_head; /* all headers of a request */
	/* Beyond it, the connection that has been without a request for the longest time is closed
	 * for a new one; when all have requests the new one is refused with 503. Three quarters of
	 * them may come from one address. */
	unsigned max_connections;
	/* Maximum number of open connections, and of running requests, per client (http_count_for).
	 * The upper limit, and the default for 0, is three quarters of max_connections. */
	unsigned max_per_client;
	unsigned max_streams;	 /* of an HTTP/2 connection */
	int64_t head_timeout_ns; /* from the first byte to the end of the head */
	int64_t idle_timeout_ns; /* between requests */
	/* Bytes a second that a client must send of a body and take of a reply, averaged over all
	 * of it from the third second on. */
	size_t min_body_rate, min_reply_rate;
	int64_t write_timeout_ns; /* how long a client may take nothing of its reply */
	/* Whose memory connections are; NULL = nobody's. Stays the caller's. */
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
	uint64_t evicted_total;	     /* closed for others, at the limit */
	uint64_t slow_bodies_total;  /* of timeouts: bodies that came too slowly */
	uint64_t slow_readers_total; /* of timeouts: replies that were not taken */
	uint64_t longest_turn_ns;    /* longest event-loop iteration */
};

struct http_server;

enum err http_server_new(const struct http_options *options, const struct http_handlers *handlers,
			 struct http_server **ret, struct fault *fault) MUST_CHECK;
/*
 * Before the start. "127.0.0.1:4040", "[::1]:4040", "0.0.0.0:0", "unix:/path", or "fd:N" for a
 * socket that systemd opened. A `tag` that is not 0 appears as the exchange's port; else the
 * address's own does.
 * `*ret_address` (NULL = not wanted) is what it listens on, with the port the kernel chose.
 */
enum err http_server_listen(struct http_server *s, struct str address, uint16_t tag,
			    struct buf *ret_address, struct fault *fault) MUST_CHECK;
/* Starts the loops. */
enum err http_server_start(struct http_server *s, struct fault *fault) MUST_CHECK;
/* New certificates from the same files; the old ones stay when these do not load. */
enum err http_server_reload(struct http_server *s, struct fault *fault) MUST_CHECK;
struct http_counters http_server_counters(const struct http_server *s);
/*
 * No new connections; requests under way are finished and answered, at most until the deadline
 * (monotonic); then every connection ends. Returns when the loops have ended.
 */
void http_server_stop(struct http_server *s, int64_t deadline_ns);
void http_server_free(struct http_server *s);
