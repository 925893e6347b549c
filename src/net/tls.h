/*
 * TLS for the server: certificates that can be reloaded at run time, and the transport of a
 * connection. TLS 1.2 or newer, ALPN "h2" and "http/1.1".
 *
 * A connection keeps its certificates. tls_accept() and tls_reload() may be called from different
 * threads.
 */
#pragma once

#include "net/http.h"
#include "net/transport.h"

struct tls;

/* Reads the files; `fault` names the one that is wrong. */
enum err tls_new(const struct tls_options *options, struct tls **ret,
		 struct fault *fault) MUST_CHECK;
/* Reads the same files again; if that fails, nothing changes. */
enum err tls_reload(struct tls *t, struct fault *fault) MUST_CHECK;
void tls_free(struct tls *t);

/* The server side of a new connection over `fd`, which must be non-blocking. */
enum err tls_accept(struct tls *t, int fd, struct transport *ret) MUST_CHECK;
