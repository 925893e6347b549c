/*
 * A transport over an OpenSSL connection, which it owns from then on.
 */
#pragma once

#include "net/tls_library.h"
#include "net/transport.h"

#define TLS_READ_AHEAD (64u << 10)

/* Frees `connection` on failure. */
enum err transport_tls_init(struct transport *t, const struct tls_library *ssl, SSL *connection,
			    int fd) MUST_CHECK;
