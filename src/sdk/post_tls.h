/*
 * TLS for requests (post.h), by the system's OpenSSL, loaded on first use; docs/decisions/0013
 * explains why, and when not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct post_tls;

struct post_tls_settings {
	const char *host;
	const char *ca;		       /* CA certificates; empty = the system's */
	const char *certificate, *key; /* client certificate and key; empty = none */
};

/* Whether it is available. */
bool post_tls_possible(void);
/* On a connected non-blocking socket. */
enum err post_tls_new(const struct post_tls_settings *s, int fd, struct post_tls **ret) MUST_CHECK;
void post_tls_free(struct post_tls *t);
/*
 * One step of the handshake, of sending, of receiving: > 0 if done, or the number of bytes; 0 if
 * the peer closed; -1 on failure; POST_TLS_WAIT if the socket must first be ready for
 * `*ret_events`.
 */
#define POST_TLS_WAIT (-2)
ssize_t post_tls_shake(struct post_tls *t, short *ret_events);
ssize_t post_tls_send(struct post_tls *t, const void *data, size_t n, short *ret_events);
ssize_t post_tls_receive(struct post_tls *t, void *data, size_t n, short *ret_events);

/* Called once OpenSSL is loaded, to register an exit handler that must run before OpenSSL's. */
void post_tls_on_load(void (*loaded)(void));
/* Around fork(): ensures that we hold none of its locks. */
void post_tls_before_fork(void);
void post_tls_after_fork(void);
