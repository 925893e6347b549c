/*
 * One HTTP request from the background thread: plain sockets, nothing but libc; over TLS where that
 * is asked for. It waits in small
 * steps and calls back between them, so that whoever sends can go on with other work; the deadline
 * may be brought forward meanwhile.
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

/* Sends; `*ret_status` is the server's answer (200 …). */
enum err post_send(const struct post *p, int *ret_status) MUST_CHECK;
