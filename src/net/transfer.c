#include "net/transfer.h"

#include "base/file.h"

#define CONNECT_SECONDS 10
#define MAX_REDIRECTS	10
#define MAX_SECONDS	(30L * 86400) /* libcurl refuses what 32 bits of milliseconds do not hold */

static size_t to_file(struct transfer *t, const char *data, size_t n)
{
	struct fetch_file *f = t->request->file;

	t->too_large = n > f->most - f->written;
	if (t->too_large)
		return 0;
	t->file_error = write_all(f->fd, data, n);
	if (t->file_error)
		return 0;
	f->written += n;
	return n;
}

static size_t on_data(char *data, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t n = size * count;
	long status = 0;

	t->curl->getinfo(t->handle, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 400) {
		size_t room = t->problem.ceiling - t->problem.n;

		buf_append(&t->problem, data, n < room ? n : room);
		return n;
	}
	if (t->request->file)
		return to_file(t, data, n);
	if (t->shared && n > t->shared_most - *t->shared) {
		t->too_large = true;
		return 0;
	}
	buf_append(t->body, data, n);
	t->too_large = t->body->error == ERR_TOO_LARGE;
	if (t->shared && !t->body->error)
		*t->shared += n;
	return t->body->error ? 0 : n;
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
		       curl_off_t up_now)
{
	struct transfer *t = context;
	double elapsed = 0;

	(void)up_total;
	(void)up_now;
	if (t->request->file && t->request->file->stop && atomic_load(t->request->file->stop))
		return 1;
	if (!t->request->tick)
		return 0;
	t->curl->getinfo(t->handle, CURLINFO_TOTAL_TIME, &elapsed);
	t->request->tick(t->request->context, now > 0 ? (uint64_t)now : 0,
			 total > 0 ? (uint64_t)total : 0, elapsed);
	return 0;
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct transfer *t = context;

	t->request->header(t->request->context, str_trim(str_n(line, size * count)));
	return size * count;
}

static bool add_header(struct transfer *t, const char *line)
{
	struct curl_slist *more = t->curl->append(t->headers, line);

	if (more)
		t->headers = more;
	return more;
}

/* The caller's headers; without libcurl's guess at the content type. */
static bool add_headers(struct transfer *t)
{
	struct str type = STR("Content-Type:");
	bool typed = false;

	for (const char *const *h = t->request->headers; h && *h; h++) {
		typed |= str_starts(str_of(*h), type);
		if (!add_header(t, *h))
			return false;
	}
	if (!t->request->post)
		return true;
	return add_header(t, "Expect:") &&
	       (typed || add_header(t, "Content-Type: application/octet-stream"));
}

static bool configure_body(struct transfer *t)
{
	const struct curl_library *c = t->curl;
	struct str body = t->request->body;

	if (!add_headers(t) || (t->headers && c->setopt(t->handle, CURLOPT_HTTPHEADER, t->headers)))
		return false;
	return !t->request->post ||
	       !(c->setopt(t->handle, CURLOPT_POST, 1L) ||
		 c->setopt(t->handle, CURLOPT_POSTFIELDS, body.n ? body.p : "") ||
		 c->setopt(t->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n));
}

static bool configure(struct transfer *t)
{
	const struct curl_library *c = t->curl;
	const struct fetch *r = t->request;
	double timeout = r->timeout > 0 ? r->timeout : fetch_patience(str_of(r->url));
	long milliseconds = timeout < MAX_SECONDS ? (long)(timeout * 1000) : MAX_SECONDS * 1000;
	CURL *h = t->handle;

	return !(c->setopt(h, CURLOPT_URL, r->url) ||
		 c->setopt(h, CURLOPT_PROTOCOLS_STR, "http,https") ||
		 c->setopt(h, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") ||
		 c->setopt(h, CURLOPT_FOLLOWLOCATION, 1L) ||
		 c->setopt(h, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS) ||
		 c->setopt(h, CURLOPT_NOSIGNAL, 1L) ||
		 c->setopt(h, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS) ||
		 c->setopt(h, CURLOPT_TIMEOUT_MS, milliseconds) ||
		 c->setopt(h, CURLOPT_SSL_VERIFYPEER, r->insecure ? 0L : 1L) ||
		 c->setopt(h, CURLOPT_SSL_VERIFYHOST, r->insecure ? 0L : 2L) ||
		 (r->ca_file && c->setopt(h, CURLOPT_CAINFO, r->ca_file)) ||
		 c->setopt(h, CURLOPT_USERAGENT, r->user_agent) ||
		 c->setopt(h, CURLOPT_ERRORBUFFER, t->error) ||
		 c->setopt(h, CURLOPT_WRITEFUNCTION, on_data) ||
		 c->setopt(h, CURLOPT_WRITEDATA, t) || c->setopt(h, CURLOPT_NOPROGRESS, 0L) ||
		 c->setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress) ||
		 c->setopt(h, CURLOPT_XFERINFODATA, t));
}

static bool configure_more(struct transfer *t)
{
	const struct curl_library *c = t->curl;
	const struct fetch *r = t->request;
	bool tls = str_starts(str_of(r->url), STR("https://"));
	long version = tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	CURL *h = t->handle;

	return !((r->certificate && c->setopt(h, CURLOPT_SSLCERT, r->certificate)) ||
		 (r->key && c->setopt(h, CURLOPT_SSLKEY, r->key)) ||
		 (r->http2 && c->setopt(h, CURLOPT_HTTP_VERSION, version)) ||
		 (r->header && (c->setopt(h, CURLOPT_HEADERFUNCTION, on_header) ||
				c->setopt(h, CURLOPT_HEADERDATA, t))));
}

enum err transfer_status_fault(long status, struct str body, struct fault *fault)
{
	enum err code = status == 401 || status == 403 ? ERR_NO_PERMISSION : ERR_NETWORK;

	body = str_trim(body);
	body.n = str_find(body, '\n');
	if (body.n && (body.p[0] == '<' || !utf8_valid(body)))
		body.n = 0; /* a page for browsers says nothing in its first line */
	if (body.n > 160)
		body.n = 160;
	return fault_set(fault, code, "HTTP status %ld%s%.*s", status, body.n ? ": " : "",
			 (int)body.n, body.n ? body.p : "");
}

static enum err curl_error(const struct transfer *t, CURLcode code, struct fault *fault)
{
	const char *text = t->error[0] ? t->error : t->curl->strerror(code);
	bool hints = !t->request->unattended;

	if (t->too_large)
		return fault_set(fault, ERR_TOO_LARGE, "the answer is larger than %zu bytes%s",
				 t->request->file ? (size_t)t->request->file->most
						  : t->body->ceiling,
				 hints ? " (raise --max-bytes)" : "");
	if (t->file_error)
		return fault_set(fault, t->file_error, "the answer cannot be written: %s",
				 err_text(t->file_error));
	if (t->body->error)
		return fault_set(fault, t->body->error, "%s", err_text(t->body->error));
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return fault_set(fault, ERR_NETWORK, "%s%s", text,
				 hints ? " (--insecure accepts it)" : "");
	if (code == CURLE_OPERATION_TIMEDOUT)
		return fault_set(fault, ERR_TIMEOUT, "%s%s", text,
				 hints ? " (--timeout waits longer)" : "");
	return fault_set(fault, ERR_NETWORK, "%s", text);
}

static void tell_failure(const struct transfer *t, CURLcode code, long status)
{
	struct fetch_failure *f = t->request->failure;
	curl_off_t pause = 0;

	if (!f)
		return;
	t->curl->getinfo(t->handle, CURLINFO_RETRY_AFTER, &pause);
	*f = (struct fetch_failure){.status = status,
				    .unreachable = code == CURLE_COULDNT_CONNECT ||
						   code == CURLE_COULDNT_RESOLVE_HOST,
				    .retry_after = pause > 0 ? (int64_t)pause : 0,
				    .body_size = t->problem.n};
	if (t->problem.n)
		memcpy(f->body, t->problem.data, t->problem.n);
}

enum err transfer_begin(struct transfer *t, const struct fetch *request, struct buf *body,
			struct fault *fault)
{
	TRY(curl_library_load(&t->curl, fault));
	t->request = request;
	t->body = body;
	t->before = body->n;
	buf_init(&t->problem, sizeof(((struct fetch_failure *)0)->body));
	t->handle = t->curl->init();
	if (!t->handle)
		return ERR_NO_MEMORY;
	if (!configure(t) || !configure_more(t) || !configure_body(t))
		return fault_set(fault, ERR_NETWORK, "libcurl refuses the request: %s",
				 t->error[0] ? t->error : "not a URL it knows");
	return ERR_OK;
}

enum err transfer_end(struct transfer *t, CURLcode code, struct fault *fault)
{
	long status = 0;
	enum err e = ERR_OK;

	t->curl->getinfo(t->handle, CURLINFO_RESPONSE_CODE, &status);
	if (code != CURLE_OK || status >= 400)
		tell_failure(t, code, status);
	if (code != CURLE_OK)
		e = curl_error(t, code, fault);
	else if (status >= 400)
		e = transfer_status_fault(status, buf_view(&t->problem), fault);
	if (e) {
		t->body->n = t->before;
		t->body->error = ERR_OK;
	}
	return e;
}

void transfer_release(struct transfer *t)
{
	if (t->handle)
		t->curl->cleanup(t->handle);
	if (t->headers)
		t->curl->free_list(t->headers);
	buf_release(&t->problem);
}
