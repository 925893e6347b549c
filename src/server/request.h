/*
 * A request inside the server: its client, its route, and functions to reply.
 *
 * Exactly one request_reply… or request_fail ends it; it must not be used after that.
 */
#pragma once

#include "server/server_internal.h"

#define DEFAULT_TENANT	     "anonymous"
/* Limit for the body of a query, compressed and decompressed. */
#define REQUEST_MAX_QUESTION ((size_t)4 << 20)

enum route_flags {
	ROUTE_OPEN = 1 << 0,	/* needs no token: health, metrics on loopback, assets */
	ROUTE_READ = 1 << 1,	/* the right to read */
	ROUTE_WRITE = 1 << 2,	/* the right to write; its body counts as bytes in flight */
	ROUTE_ADMIN = 1 << 3,	/* the right to delete and to change settings */
	ROUTE_WORKER = 1 << 4,	/* runs on a thread for queries; those that write have their own */
	ROUTE_RPC = 1 << 5,	/* Connect or gRPC: errors in its format */
	ROUTE_BODY = 1 << 6,	/* a body as large as an upload's, counted like one */
	ROUTE_NUMBERS = 1 << 7, /* the right to read, or the right operator */
	ROUTE_RESERVE = 1 << 8, /* health and metrics: on a thread reserved for them */
};

struct request;

struct route {
	const char *methods; /* "GET": serves HEAD too */
	const char *path;    /* exact; one that ends with '*' is a prefix */
	unsigned flags;
	const char *name; /* in metrics */
	void (*handle)(struct request *r);
	const void *data; /* for the handler: the method of an RPC */
};

struct request {
	struct server *server;
	struct http_exchange *x;
	const struct route *route;
	const char *allow; /* for 405: the allowed methods */
	struct str tenant;
	struct str token_id;	   /* empty = no tokens are used */
	unsigned rights;	   /* of enum token_rights */
	size_t announced;	   /* body bytes that count against the tenant's rate limit */
	struct job job;		   /* its entry in the queue of a thread pool */
	struct memory_hold stored; /* decoded data, until it is durable */
	void *call;		   /* of an RPC, see rpc_route.c */
	/* Records damaged parts of the store if the client accepts a partial answer; else NULL. */
	struct damage_notes *damage;
};

void request_reply(struct request *r, int status, const char *content_type, struct buf *body);
void request_reply_json(struct request *r, struct buf *body);
void request_reply_empty(struct request *r, int status);
void request_reply_text(struct request *r, int status, const char *content_type, struct str text);
bool request_is_preflight(const struct http_exchange *x);
void request_reply_preflight(struct request *r);
/* Replies with a message and a code, in the format of this kind of client. `fault` may be NULL. */
void request_fail(struct request *r, enum err error, const struct fault *fault);
/* The text with paths of the data directory removed, unless the client may see these: clients that
 * see one tenant only must not. The result may be written to `room`. */
const char *request_text(const struct request *r, const char *text, struct fault *room);

/* The decompressed body; `ret_owner` holds the bytes if they had to be decompressed. */
enum err request_body(struct request *r, struct buf *ret_owner, struct str *ret,
		      struct fault *fault) MUST_CHECK;
/* Writes a line to audit.log, with up to REQUEST_AUDIT_PAIRS pairs. Call before the action, so that
 * no action lacks its line. */
#define REQUEST_AUDIT_PAIRS 4
enum err request_audit(struct request *r, const char *action, const struct audit_pair *pairs,
		       size_t n, struct fault *fault) MUST_CHECK;
/* Whether its body may be larger than REQUEST_MAX_QUESTION. */
static inline bool request_brings_data(const struct request *r)
{
	return r->route->flags & (ROUTE_WRITE | ROUTE_BODY);
}
/* Counts received bytes, for the server and for the tenant. */
void request_count_received(struct request *r, size_t bytes);
size_t request_max_inflated(const struct request *r);
/* Whether the client is still connected. */
bool request_wanted(const struct request *r);
/* The reason if a request was stopped or ran out of memory: the deadline, or the budget. Other
 * errors are returned unchanged. */
enum err request_reason(const struct request *r, enum err error, struct fault *fault) MUST_CHECK;
/* Keeps the memory that this thread charged for the request charged until it is finished. */
void request_keeps_memory(struct request *r);
