#include "net/fetch.h"

#include "net/transfer.h"

#define SLACK_SECONDS 30
#define GO_DEFAULT    30

bool fetch_is_url(struct str text)
{
	return str_starts(text, STR("http://")) || str_starts(text, STR("https://"));
}

void fetch_display_url(struct buf *out, struct str url)
{
	size_t host = str_search(url, STR("://"));
	struct str rest, authority;
	size_t at;

	if (host == url.n) {
		buf_str(out, url);
		return;
	}
	buf_append(out, url.p, host + 3);
	rest = str_skip(url, host + 3);
	authority = str_n(rest.p, str_find(rest, '/'));
	at = str_rfind(authority, '@');
	buf_str(out, at < authority.n ? str_skip(rest, at + 1) : rest);
}

double fetch_server_seconds(struct str url)
{
	size_t question = str_find(url, '?');
	struct str path = str_n(url.p, question), query = str_skip(url, question + 1), part;
	double seconds;

	query.n = str_find(query, '#');
	while (str_split(&query, '&', &part))
		if (str_starts(part, STR("seconds=")) &&
		    !str_to_double(str_skip(part, 8), &seconds) && seconds > 0 && seconds < 86400)
			return seconds;
	return str_ends(path, STR("/debug/pprof/profile")) ? GO_DEFAULT : 0;
}

double fetch_patience(struct str url)
{
	return fetch_server_seconds(url) + SLACK_SECONDS;
}

enum err fetch(const struct fetch *request, struct buf *ret, struct fault *fault)
{
	struct transfer t = {0};
	enum err e = transfer_begin(&t, request, ret, fault);

	if (!e)
		e = transfer_end(&t, t.curl->perform(t.handle), fault);
	transfer_release(&t);
	return e;
}
