/*
 * A POST over plain HTTP/1.1 without libcurl, which would load thirty libraries and 8 MiB into an
 * agent that only talks to its own network. For proxies, redirects, credentials in the URL and TLS
 * it returns ERR_UNSUPPORTED without sending anything; use fetch for these.
 */
#pragma once

#include "net/fetch.h"

/* Like fetch(); `tick` and `header` are not called. */
enum err plain_post(const struct fetch *request, struct buf *ret, struct fault *fault) MUST_CHECK;
