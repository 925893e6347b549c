/*
 * libcurl, opened when the first URL is fetched: it and what it links take longer to load than
 * most files take to read.
 */
#pragma once

#include <curl/curl.h>

#include "base/err.h"

struct curl_library {
	CURL *(*init)(void);
	CURLcode (*setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*perform)(CURL *handle);
	CURLcode (*getinfo)(CURL *handle, CURLINFO info, ...);
	void (*cleanup)(CURL *handle);
	const char *(*strerror)(CURLcode code);
	struct curl_slist *(*append)(struct curl_slist *list, const char *line);
	void (*free_list)(struct curl_slist *list);
};

enum err curl_library_load(const struct curl_library **ret, struct fault *fault) MUST_CHECK;
