/*
 * A session is a protocol without a socket: it takes bytes from the peer and produces bytes for it.
 * http1.c is one, http2.c another. Its driver (connection.c; tests and fuzz targets without
 * sockets) does I/O and timers.
 *
 *	connection --input()--> session --exchange_admit(), exchange_handle()--> handlers
 *	connection <--out------ session <--reply()-- loop <--mailbox-- http_reply(), any thread
 *
 * Everything here runs on the loop's thread. Handlers are called from input(), reply() and
 * produce(); their replies always come through the mailbox, never from inside these calls.
 */
#pragma once

#include "net/clients.h"
#include "net/http.h"
#include "net/mailbox.h"
#include "net/outqueue.h"

#define SESSION_NEVER	INT64_MAX
#define SESSION_OUT_LOW (64u << 10)

/* Written by one loop, read by any thread: relaxed, without a locked instruction. */
typedef _Atomic uint64_t net_counter;

static inline void counter_add(net_counter *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

struct net_counters {
	net_counter connections, requests, refused, timeouts, protocol_errors, bytes_in, bytes_out;
	net_counter evicted, slow_bodies, slow_readers, longest_turn;
};

/* Shared by all sessions of a loop. */
struct session_shared {
	const struct http_options *options;
	const struct http_handlers *handlers;
	struct mailbox mailbox; /* replies arrive here */
	struct net_counters counters;
	struct buf_pool *pool;	 /* memory of request bodies */
	struct clients *clients; /* NULL = no limit per client */
	int64_t now_ns;		 /* monotonic, updated once per event-loop iteration */
	size_t live_exchanges;
	char date[32]; /* "Sun, 15 Nov 2026 19:21:37 GMT", kept by session_clock() */
	int64_t date_second;
};

/* The peer; lives as long as the connection. */
struct session_peer {
	struct str text; /* "127.0.0.1:5123" or "unix" */
	struct str certificate;
	uint16_t port;
	bool is_local; /* a unix socket */
	uint32_t uid;  /* of the peer process; HTTP_NO_UID = unknown */
};

struct session;
struct exchange;

struct session_ops {
	/*
	 * Takes all bytes of the peer. The session buffers what it cannot process yet, and sets
	 * `paused` to limit that. An error closes the connection immediately; to report one to the
	 * peer, write it to `out`, set `closing` and return ERR_OK.
	 */
	enum err (*input)(struct session *s, struct str bytes);
	/* The buffer to read the next bytes into, and its size; NULL = any buffer. input() then
	 * gets this pointer. Optional. */
	char *(*room)(struct session *s, size_t *ret_n);
	/* The peer will send nothing more; running requests are still answered. Set `closing` once
	 * there are none. */
	void (*end_of_input)(struct session *s);
	/* x->reply is ready. */
	void (*reply)(struct session *s, struct exchange *x);
	/* Called after input(), reply() and whenever bytes were sent, while `out` has less than
	 * SESSION_OUT_LOW bytes: add output, or process buffered input. Optional. */
	void (*produce)(struct session *s);
	/* The deadline has passed: report that to the peer and set `closing`, or set a new one. */
	void (*expired)(struct session *s);
	/* The server stops: accept no new requests, set `closing` when the running ones are
	 * answered. */
	void (*drain)(struct session *s);
	void (*free)(struct session *s);
};

/* Common part of all sessions; must be their first member. */
struct session {
	const struct session_ops *ops;
	struct session_shared *shared;
	const struct session_peer *peer;
	void *owner;		    /* the connection */
	struct client *client;	    /* of the connection; NULL = none yet */
	struct exchange *exchanges; /* those not dropped */
	struct outqueue out;
	int64_t deadline_ns; /* for the peer's next input; SESSION_NEVER = none */
	size_t memory;	     /* memory used besides exchanges and `out` */
	bool paused;	     /* does not want input now */
	bool closing;	     /* send `out`, then end the connection */
	/* With closing: the peer may still be sending, and closing immediately would reset the
	 * connection and lose the reply. */
	bool linger;
};

/* Both get the first bytes of the connection by input(). NULL = no memory. */
struct session *http1_session_new(struct session_shared *shared, const struct session_peer *peer,
				  void *owner);
struct session *http2_session_new(struct session_shared *shared, const struct session_peer *peer,
				  void *owner);
/* The first bytes of an HTTP/2 client. */
#define HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* Updates now_ns, and date once a second. */
void session_clock(struct session_shared *shared);
/* Drops the remaining exchanges and frees the session; NULL is allowed. */
void session_free(struct session *s);

/* A reply on its way from http_reply to the session, which takes over body and headers. */
struct reply {
	int status; /* 0 = out of memory: close the stream or connection */
	const struct http_header *headers;
	size_t header_count;
	const struct http_header *trailers;
	size_t trailer_count;
	struct buf body; /* empty when static_body is used */
	struct str static_body;
	bool head_only, close;
	char timing[64];	 /* value of Server-Timing; empty = none */
	void *block;		 /* memory of headers and trailers */
	struct memory_hold hold; /* of the body */
};

/*
 * A request inside the server. It is freed when the session has dropped it *and* no reply is
 * pending.
 */
struct exchange {
	struct http_exchange http; /* must be first: handlers get this */
	struct mail mail;
	struct session_shared *shared;
	struct session *session; /* NULL: dropped */
	struct exchange *previous, *next;
	struct buf body; /* the session appends; http.body is its view from exchange_handle() on */
	struct memory_hold received; /* of the body */
	struct client *client;	     /* that the request counts for; NULL = none */
	struct reply reply;
	int64_t received_ns; /* when its last byte arrived, if Server-Timing is requested; else 0 */
	bool admitted;	     /* `finished` must still be called */
	bool owed;	     /* http_reply will be, or was, called */
	bool replied;	     /* the session got the reply */
	bool uncounted; /* its connection is above the client's limit: close it after the reply */
	void *stream;	/* for the protocol */
};

/*
 * A new exchange, followed by `extra` bytes for the session (head, headers). Sets peer,
 * certificate, port, max_body and started_ns. NULL = no memory.
 */
struct exchange *exchange_new(struct session *s, size_t extra, void **ret_extra);
/* The head is complete: calls `admit`. False: refused; a reply will come, and the body is not
 * wanted. */
bool exchange_admit(struct exchange *x);
/* Appends to the body; ERR_TOO_LARGE above http.max_body, ERR_BUSY above the account's budget. */
enum err exchange_body(struct exchange *x, struct str bytes) MUST_CHECK;
/* A buffer for up to `expected` more bytes of body, perhaps fewer (`*ret_n`): read into it, then
 * pass it to exchange_body, which does not copy its own memory. NULL: no memory, or above
 * max_body. */
char *exchange_body_room(struct exchange *x, uint64_t expected, size_t *ret_n);
/* Refuses the body; a reply with the error will come. False: no reply will come. */
bool exchange_refuse(struct exchange *x, enum err error) MUST_CHECK;
/* The body is complete: calls the handler. A reply will come. */
void exchange_handle(struct exchange *x);
/* The session is done with it: it was answered, or the peer disconnected (then `gone` is set). */
void exchange_drop(struct exchange *x);
/* For the loop that reads the mailbox: passes the reply to the session, or frees the exchange. */
void exchange_deliver(struct exchange *x);
/* Marks all exchanges of the session that wait for a reply as `gone`. */
void session_gone(struct session *s);
/* The reason phrase of a status: "Not Found" for 404. */
const char *http_reason(int status);
