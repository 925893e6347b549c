/*
 * One HTTP request from the background thread, by plain sockets and libc only, optionally over TLS.
 * It waits in small steps and calls `tick` in between, so that the thread can do other work; the
 * deadline may be shortened meanwhile.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "sdk/post_tls.h"

struct post {
	const char *host, *port, *path;
	const char *headers; /* "Name: value\r\n" each */
	struct str body;
	const struct post_tls_settings *tls; /* NULL = plain */
	const int64_t *deadline_ns;	     /* clock_monotonic_ns() */
	void (*idle)(void *context);
	void *context;
};

/* Sends it; `*ret_status` is the HTTP status. */
enum err post_send(const struct post *p, int *ret_status) MUST_CHECK;
