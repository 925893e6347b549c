/*
 * What libvestal's control reads from outside: a request over HTTP, whole or in two pieces the same
 * one; and a file of settings, of which every word fits.
 */
#include <stdlib.h>

#include "sdk/http_request.h"
#include "sdk/user_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM 1024

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool within(struct str part, struct str all)
{
	return !part.n || (part.p >= all.p && part.p + part.n <= all.p + all.n);
}

static void check_request(struct str all)
{
	struct http_request r;
	enum http_progress whole = http_request_read(all, ROOM, &r), part;

	if (whole == HTTP_COMPLETE) {
		require(within(r.method, all) && within(r.path, all) && within(r.query, all));
		require(within(r.host, all) && within(r.origin, all) && within(r.body, all));
		require(within(http_parameter(r.query, STR("seconds")), all));
	}
	for (size_t n = 0; n < all.n; n += 1 + all.n / 16) {
		part = http_request_read(str_n(all.p, n), ROOM, &r);
		/* What is not over yet may become anything; what was wrong stays so. */
		require(part != HTTP_WRONG || whole == HTTP_WRONG);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str all = str_n(size ? (const char *)data : "", size);
	struct fault fault = {0};
	const char *rate;

	check_request(all);
	if (words_read(all, &fault))
		require(fault.text[0] != 0 && !word("VESTAL_RATE"));
	rate = word("VESTAL_RATE");
	require(!rate || strlen(rate) < 96);
	words_forget();
	return 0;
}
