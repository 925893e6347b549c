/*
 * TLS under a request (post.h), by the OpenSSL of the machine, which is opened when the first
 * request needs it: docs/decisions/0013 says why, and when it is not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct post_tls;

struct post_tls_settings {
	const char *host;
	const char *ca;		       /* of the server; empty = those of the machine */
	const char *certificate, *key; /* ours; empty = none */
};

/* Whether it can be had at all. */
bool post_tls_possible(void);
/* On a connected socket that does not block. */
enum err post_tls_new(const struct post_tls_settings *s, int fd, struct post_tls **ret) MUST_CHECK;
void post_tls_free(struct post_tls *t);
/*
 * One step of the handshake, of sending, of receiving: more than 0 when it is done or so many bytes
 * went, 0 when the other side has ended, -1 when it failed, POST_TLS_WAIT when the socket is first
 * to be ready for `*ret_events`.
 */
#define POST_TLS_WAIT (-2)
ssize_t post_tls_shake(struct post_tls *t, short *ret_events);
ssize_t post_tls_send(struct post_tls *t, const void *data, size_t n, short *ret_events);
ssize_t post_tls_receive(struct post_tls *t, void *data, size_t n, short *ret_events);

/* Called once OpenSSL is there: what is to happen before its own end is registered now. */
void post_tls_on_load(void (*loaded)(void));
/* Around fork(): none of its locks is held by us meanwhile. */
void post_tls_before_fork(void);
void post_tls_after_fork(void);
