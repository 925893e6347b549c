/*
 * The moving parts of the server: listeners, loops, connections. A connection belongs to one loop
 * for life and is touched by its thread only.
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

/* What epoll gives back: the first member of what is watched. */
enum watch { WATCH_MAILBOX, WATCH_LISTENER, WATCH_CONNECTION };

struct listener {
	enum watch watch;
	int fd;
	bool local;	   /* a unix socket */
	uint16_t port;	   /* exchanges say this */
	char *unlink_path; /* the unix socket is removed at the end; NULL = not ours */
};

struct connection {
	enum watch watch;
	bool readable, writable; /* as far as we know: the last call did not say IO_AGAIN */
	bool listed;		 /* waits in a list to be run */
	bool handshaken;
	bool hung_up;	  /* the peer has closed its direction; bytes may still be there */
	bool input_ended; /* and they were read */
	bool lingering;	  /* everything is sent; reads and forgets until the peer ends */
	bool dead;	  /* closed; freed at the end of the turn */
	struct loop *loop;
	struct session *session; /* NULL until its first bytes say which */
	struct transport transport;
	struct timer timer;
	int64_t deadline_ns;  /* of the handshake, the first byte, or lingering */
	int64_t out_since_ns; /* when output began to wait for the peer; 0 = it does not */
	uint64_t out_sent;    /* since then */
	struct connection *previous, *next; /* all of the loop, those that sent something first */
	struct connection *next_run;	    /* in one of the lists to be run */
	struct mail mail;		    /* for its way to the loop */
	struct memory_hold hold;	    /* of all but its requests and replies */
	struct session_peer peer;
	char peer_text[56];
	uint16_t origin; /* where it is counted: one number per address, about */
	bool asked;	 /* it has brought a request */
	bool at_limit;	 /* it is there only if another one goes */
	uint8_t early_n; /* the first bytes, as long as they do not say which protocol it is */
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
	atomic_uint open; /* connections, those on their way here included */
	struct connection *connections, *idlest;
	struct run_list ready;	  /* have more to do: run once a turn */
	struct run_list answered; /* got replies: run at once */
	struct connection *dead;
	struct timer_heap timers;
	int64_t accept_again_ns; /* out of descriptors until then; 0 = accepting */
	struct mail stop;
	atomic_bool stop_posted;
	bool stop_asked, stopping;
	bool listening; /* the listeners are watched */
	bool was_long;	/* its last turn */
	char *scratch;
};

struct http_server {
	struct http_options options;
	struct http_handlers handlers;
	struct loop *loops;
	unsigned loop_count;
	struct tls *tls; /* NULL: plain */
	struct clients *clients;
	uint64_t seed;		      /* so that nobody can choose whom to be counted with */
	atomic_uint origins[ORIGINS]; /* connections by address */
	VEC(struct listener *) listeners;
	atomic_uint accepting; /* loops that still accept; the last one closes the listeners */
	_Atomic int64_t deadline_ns; /* of the stop */
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
/* Takes the descriptor over. NULL: no memory, it is closed. */
struct connection *connection_new(struct loop *l, const struct listener *listener, int fd);
/* Begins to be watched by the loop it was given to. */
void connection_begin(struct connection *c);
void connection_event(struct connection *c, uint32_t events);
/* Reads, works and writes as far as possible without waiting. */
void connection_run(struct connection *c);
void connection_expired(struct connection *c);
void connection_drain(struct connection *c);
void connection_close(struct connection *c);
void connection_free(struct connection *c);

/* connection_limit.c */
/* Counts it, at accept; false: neither it nor another one in its place can be taken. */
bool connection_count(struct connection *c, unsigned total);
void connection_uncount(struct connection *c);
/* Into the loop's list, and out of it; to its front. */
void connection_list(struct connection *c);
void connection_unlist(struct connection *c);
void connection_touch(struct connection *c);
/* Closes the one that has been without a request for the longest time, if there is one. */
bool connection_make_room(struct connection *c);
/* Charges what it takes by now; false: there is no memory, and it is closed. */
bool connection_charge(struct connection *c);
/* Says that there are too many. */
void connection_refuse(struct loop *l, int fd);

/* connection_write.c */
/* Sends what can be sent. False: the connection is closed or about to be. */
bool connection_flush(struct connection *c);
/* When a peer that does not take its replies is given up; SESSION_NEVER. */
int64_t connection_write_deadline(const struct connection *c);
/* Forgets what still comes, so that the last reply is not lost to a reset. */
void connection_linger(struct connection *c);

/* loop.c */
enum err loop_init(struct loop *l, struct http_server *s) MUST_CHECK;
void loop_release(struct loop *l);
void loop_run(void *loop);
void loop_ready(struct loop *l, struct connection *c);
