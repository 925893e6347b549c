/*
 * Listeners, event loops and connections of the server. A connection belongs to one loop for its
 * whole life, and only that loop's thread touches it.
 */
#pragma once

#include "base/thread.h"
#include "net/buf_pool.h"
#include "net/session.h"
#include "net/timer_heap.h"
#include "net/tls.h"
#include "net/transport.h"

#define LOOP_SCRATCH (64u << 10)
#define ORIGINS	     4096

/* epoll_event.data.ptr points to one of these, the first member of each watched struct. */
enum watch { WATCH_MAILBOX, WATCH_LISTENER, WATCH_CONNECTION };

struct listener {
	enum watch watch;
	int fd;
	bool local;	   /* a unix socket */
	uint16_t port;	   /* reported in exchanges */
	char *unlink_path; /* unix socket to remove on close; NULL = none */
};

struct connection {
	enum watch watch;
	bool readable, writable; /* the last call did not return IO_AGAIN */
	bool listed;		 /* in a list of connections to run */
	bool handshaken;
	bool hung_up;	  /* the peer closed its direction; unread bytes may remain */
	bool input_ended; /* and all of them were read */
	bool lingering;	  /* all output is sent; discards input until the peer closes */
	bool dead;	  /* closed; freed at the end of the iteration */
	struct loop *loop;
	struct session *session; /* NULL until the first bytes identify the protocol */
	struct transport transport;
	struct timer timer;
	int64_t deadline_ns; /* for the handshake, the first byte, or lingering */
	int64_t accepted_ns;
	int64_t out_since_ns; /* since when output waits for the peer; 0 = it does not */
	uint64_t out_sent;    /* since then */
	struct connection *previous, *next; /* list of the loop's connections, those that sent a
					       request before the others */
	struct connection *next_run;	    /* in loop->ready or loop->answered */
	struct mail mail;		    /* to hand it to its loop */
	struct memory_hold hold;	    /* of everything but requests and replies */
	struct session_peer peer;
	char peer_text[56];
	uint16_t origin; /* index in server->origins, a hash of its address */
	bool asked;	 /* it sent a request */
	bool at_limit;	 /* accepted above the limit: another one must be closed for it */
	uint8_t early_n; /* number of bytes in `early` */
	char early[3];
};

struct run_list {
	struct connection *first, **last;
};

struct loop {
	struct http_server *server;
	struct session_shared shared;
	struct buf_pool pool;
	struct thread thread;
	int epoll;
	enum watch mailbox_watch;
	atomic_uint open; /* connections, including those being handed over */
	struct connection *connections, *idlest;
	struct run_list ready;	  /* have more to do: run once per iteration */
	struct run_list answered; /* got replies: run immediately */
	struct connection *dead;
	struct timer_heap timers;
	int64_t accept_again_ns; /* accept again at this time (out of descriptors); 0 = accepting */
	struct mail stop;
	atomic_bool stop_posted;
	bool stop_asked, stopping;
	bool listening; /* epoll watches the listeners */
	bool was_long;	/* its last iteration took long */
	char *scratch;
};

struct http_server {
	struct http_options options;
	struct http_handlers handlers;
	struct loop *loops;
	unsigned loop_count;
	struct tls *tls; /* NULL: plain */
	struct clients *clients;
	uint64_t seed;		      /* of the hash, so that a client cannot pick its slot */
	atomic_uint origins[ORIGINS]; /* connections by address */
	VEC(struct listener *) listeners;
	atomic_uint accepting; /* loops that still accept; the last one closes the listeners */
	_Atomic int64_t deadline_ns; /* of a graceful stop */
};

/* listener.c */
enum err listener_open(struct str address, uint16_t tag, struct listener **ret,
		       struct buf *ret_address, struct fault *fault) MUST_CHECK;
void listener_close(struct listener *l);
void listener_free(struct listener *l);

/* accept.c */
enum err loop_watch_listeners(struct loop *l) MUST_CHECK;
void loop_unwatch_listeners(struct loop *l);
void loop_accept(struct loop *l, struct listener *listener, unsigned at_most);

/* connection.c */
/* Takes ownership of the descriptor. NULL = no memory; the descriptor is closed. */
struct connection *connection_new(struct loop *l, const struct listener *listener, int fd);
/* Registers it with epoll, on the thread of its loop. */
void connection_begin(struct connection *c);
void connection_event(struct connection *c, uint32_t events);
/* Reads, processes and writes as far as possible without blocking. */
void connection_run(struct connection *c);
void connection_expired(struct connection *c);
void connection_drain(struct connection *c);
void connection_close(struct connection *c);
void connection_free(struct connection *c);

/* connection_limit.c */
/* Counts it at accept; false: the limit is reached, and no other one can be closed for it. */
bool connection_count(struct connection *c, unsigned total);
void connection_uncount(struct connection *c);
/* Add it to the loop's list, remove it, move it to the front. */
void connection_list(struct connection *c);
void connection_unlist(struct connection *c);
void connection_touch(struct connection *c);
/* Closes the connection that was idle longest, if there is one. */
bool connection_make_room(struct connection *c);
/* Charges its current memory; false: over budget, and it is closed. */
bool connection_charge(struct connection *c);
/* Replies that there are too many connections, and closes. */
void connection_refuse(struct loop *l, int fd);

/* connection_write.c */
/* Sends as much as possible. False: the connection is closed or about to be. */
bool connection_flush(struct connection *c);
/* When a peer that does not read its replies is disconnected; SESSION_NEVER = not now. */
int64_t connection_write_deadline(const struct connection *c);
/* Discards further input, so that a reset does not destroy the last reply. */
void connection_linger(struct connection *c);

/* loop.c */
enum err loop_init(struct loop *l, struct http_server *s) MUST_CHECK;
void loop_release(struct loop *l);
void loop_run(void *loop);
void loop_ready(struct loop *l, struct connection *c);
