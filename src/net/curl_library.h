/*
 * libcurl, loaded when the first URL is fetched: with its dependencies it takes longer to load than
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
	/* Several transfers on one thread. */
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_add)(CURLM *group, CURL *handle);
	CURLMcode (*multi_remove)(CURLM *group, CURL *handle);
	CURLMcode (*multi_perform)(CURLM *group, int *running);
	CURLMcode (*multi_poll)(CURLM *group, struct curl_waitfd *more, unsigned count,
				int timeout_ms, int *ready);
	CURLMcode (*multi_wakeup)(CURLM *group);
	CURLMsg *(*multi_read)(CURLM *group, int *left);
	CURLMcode (*multi_cleanup)(CURLM *group);
};

/* Thread safe. */
enum err curl_library_load(const struct curl_library **ret, struct fault *fault) MUST_CHECK;
