/*
 * A POST over plain HTTP/1.1 without libcurl, which would load thirty libraries and 8 MiB into an
 * agent that only talks to its own network. What is not that plain (a proxy, a redirect, a name and
 * a password in the URL, TLS) is ERR_UNSUPPORTED and nothing was delivered: fetch does it.
 */
#pragma once

#include "net/fetch.h"

/* Like fetch(); `tick` and `header` are not called. */
enum err plain_post(const struct fetch *request, struct buf *ret, struct fault *fault) MUST_CHECK;
