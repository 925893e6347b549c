/*
 * A session is a protocol without a socket: bytes of the peer go in, bytes for the peer come out.
 * http1.c is one, http2.c another. Whoever drives it (connection.c; tests and fuzz targets do it
 * without sockets) reads, writes and keeps time.
 *
 *	connection --input()--> session --exchange_admit(), exchange_handle()--> handlers
 *	connection <--out------ session <--reply()-- loop <--mailbox-- http_reply(), any thread
 *
 * Everything here runs on the loop's thread. Handlers are called from inside input(), reply() and
 * produce(); what they reply at once comes back through the mailbox, never from inside these calls.
 */
#pragma once

#include "net/clients.h"
#include "net/http.h"
#include "net/mailbox.h"
#include "net/outqueue.h"

#define SESSION_NEVER	INT64_MAX
#define SESSION_OUT_LOW (64u << 10)

/* Written by one loop, read by anybody: relaxed, without a locked instruction. */
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

/* What all sessions of a loop share. */
struct session_shared {
	const struct http_options *options;
	const struct http_handlers *handlers;
	struct mailbox mailbox; /* replies come here */
	struct net_counters counters;
	struct buf_pool *pool;	 /* memory of request bodies */
	struct clients *clients; /* NULL: nobody is counted */
	int64_t now_ns;		 /* monotonic, taken once a turn of the loop */
	size_t live_exchanges;
	char date[32]; /* "Sun, 15 Nov 2026 19:21:37 GMT", kept by session_clock() */
	int64_t date_second;
};

/* Who is at the other end; lives as long as the connection. */
struct session_peer {
	struct str text; /* "127.0.0.1:5123" or "unix" */
	struct str certificate;
	uint16_t port;
	bool is_local; /* a unix socket */
	uint32_t uid;  /* of the program at its other end; HTTP_NO_UID */
};

struct session;
struct exchange;

struct session_ops {
	/*
	 * Bytes of the peer, all of which the session takes (what it cannot use yet it keeps; it
	 * sets `paused` so that little comes then). An error ends the connection at once; for one
	 * that the peer is told about, put it into `out`, set `closing` and return ERR_OK.
	 */
	enum err (*input)(struct session *s, struct str bytes);
	/* Where the next bytes are best read to, or NULL: anywhere, and how many at once. input()
	 * then gets this pointer. Optional. */
	char *(*room)(struct session *s, size_t *ret_n);
	/* The peer sends nothing more (what it asked for is still answered). Set `closing` when
	 * nothing is under way. */
	void (*end_of_input)(struct session *s);
	/* x->reply is there. */
	void (*reply)(struct session *s, struct exchange *x);
	/* Called after input(), reply() and whenever bytes were sent, while `out` holds less than
	 * SESSION_OUT_LOW: add to it; go on with input that was kept. Optional. */
	void (*produce)(struct session *s);
	/* The deadline has passed: say so to the peer and set `closing`, or set a new deadline. */
	void (*expired)(struct session *s);
	/* The server stops: take no new requests, set `closing` when those under way are answered.
	 */
	void (*drain)(struct session *s);
	void (*free)(struct session *s);
};

/* The part that all sessions have; first in theirs. */
struct session {
	const struct session_ops *ops;
	struct session_shared *shared;
	const struct session_peer *peer;
	void *owner;		    /* the connection */
	struct client *client;	    /* whose connection it is; NULL = nobody's yet */
	struct exchange *exchanges; /* those not dropped */
	struct outqueue out;
	int64_t deadline_ns; /* of whatever it waits for from the peer; SESSION_NEVER */
	size_t memory;	     /* what it takes beside its exchanges and `out` */
	bool paused;	     /* wants no input for now */
	bool closing;	     /* send `out`, then end the connection */
	bool linger;	     /* with closing: the peer may still be sending; closing at once would
				take the reply from it */
};

/* Both take the first bytes of the connection with input(). NULL: no memory. */
struct session *http1_session_new(struct session_shared *shared, const struct session_peer *peer,
				  void *owner);
struct session *http2_session_new(struct session_shared *shared, const struct session_peer *peer,
				  void *owner);
/* What an HTTP/2 client says first. */
#define HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* Sets now_ns, and date once a second. */
void session_clock(struct session_shared *shared);
/* Drops what is left of its exchanges and frees it; NULL is fine. */
void session_free(struct session *s);

/* A reply on its way from http_reply to the session, which takes body and headers from here. */
struct reply {
	int status; /* 0: there was no memory for it; end the stream or connection */
	const struct http_header *headers;
	size_t header_count;
	const struct http_header *trailers;
	size_t trailer_count;
	struct buf body; /* empty when static_body is used */
	struct str static_body;
	bool head_only, close;
	char timing[64];	 /* of Server-Timing; empty = none */
	void *block;		 /* holds headers and trailers */
	struct memory_hold hold; /* of the body */
};

/*
 * A request inside the server. It ends when the session dropped it *and* no reply is owed any more.
 */
struct exchange {
	struct http_exchange http; /* first: handlers see this */
	struct mail mail;
	struct session_shared *shared;
	struct session *session; /* NULL: dropped */
	struct exchange *previous, *next;
	struct buf body; /* the session appends; http.body is its view from exchange_handle() on */
	struct memory_hold received; /* of the body */
	struct client *client;	     /* whose request it is; NULL = nobody's */
	struct reply reply;
	int64_t received_ns; /* its last byte, when somebody wants to know; 0 */
	bool admitted;	     /* `finished` is owed */
	bool owed;	     /* somebody will call, or has called, http_reply */
	bool replied;	     /* the session was given the reply */
	bool uncounted;	     /* its connection is one too many: it ends with the reply */
	void *stream;	     /* the protocol's own */
};

/*
 * A new exchange with `extra` bytes behind it for what the session keeps with it (head, headers).
 * peer, certificate, port, max_body and started_ns are set. NULL: no memory.
 */
struct exchange *exchange_new(struct session *s, size_t extra, void **ret_extra);
/* The head is complete: asks `admit`. False: a reply will come, the body is not wanted. */
bool exchange_admit(struct exchange *x);
/* Appends to the body; ERR_TOO_LARGE beyond http.max_body, ERR_BUSY beyond what the account gets.
 */
enum err exchange_body(struct exchange *x, struct str bytes) MUST_CHECK;
/* Room for up to `expected` more bytes of body, perhaps fewer (`*ret_n`), to be read into and then
 * given to exchange_body, which knows its own memory. NULL: no memory, or beyond max_body. */
char *exchange_body_room(struct exchange *x, uint64_t expected, size_t *ret_n);
/* The body will not be taken: a reply will come that says so. False: nobody will give one. */
bool exchange_refuse(struct exchange *x, enum err error) MUST_CHECK;
/* The body is complete. A reply will come. */
void exchange_handle(struct exchange *x);
/* The session needs it no more: answered, or the peer went away (then it is told: `gone`). */
void exchange_drop(struct exchange *x);
/* For whoever empties the mailbox: hands the reply to the session, or ends the exchange. */
void exchange_deliver(struct exchange *x);
/* Marks all exchanges of the session that wait for a reply as gone. */
void session_gone(struct session *s);
/* "Not Found" for 404. */
const char *http_reason(int status);
