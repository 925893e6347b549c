/*
 * Handles requests: replies with a page, or creates a request for the background thread.
 */
#pragma once

#include "sdk/asks.h"
#include "sdk/http_request.h"
#include "sdk/sdk_settings.h"

#define PAGE_MAX   65536
#define PAGE_TEXT  "text/plain; charset=utf-8"
#define PAGE_INDEX "/debug/pprof/"

struct page {
	bool asks; /* `ask` is filled and must be sent */
	int status;
	const char *type;
	struct buf body;
};

void page_of(const struct http_request *r, const struct sdk_settings *s, struct ask *ask,
	     struct page *ret);
/* The page for a request that failed. */
void page_of_error(enum err e, struct page *ret);
