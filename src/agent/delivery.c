#include "agent/delivery.h"

#include <stdio.h>

#include "agent/otlp_answer.h"
#include "base/clock.h"
#include "format/format.h"
#include "net/net.h"

#define ANSWER_CEILING ((size_t)4 << 20)
#define USER_AGENT     "vestal/" VESTAL_VERSION

static bool is_gzip(struct str request)
{
	return request.n > 2 && !memcmp(request.p, "\x1f\x8b", 2);
}

/* Retryable statuses as defined by OTLP; also retry without any response. */
static bool http_may_retry(long status)
{
	return !status || status == 408 || status == 429 || status == 502 || status == 503 ||
	       status == 504;
}

static bool grpc_may_retry(int status, int64_t retry_ns)
{
	switch (status) {
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ABORTED:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS:
		return true;
	case GRPC_RESOURCE_EXHAUSTED:
		return retry_ns >= 0; /* else the request itself is too large */
	default:
		return false;
	}
}

static void read_answer(struct str answer, struct delivery *ret)
{
	struct otlp_answer a;

	ret->end = DELIVERED;
	if (!otlp_answer_read(answer, &a))
		return;
	ret->rejected = (uint64_t)a.rejected;
	if (a.message.n || a.rejected)
		snprintf(ret->reason, sizeof(ret->reason), "%.*s", (int)a.message.n, a.message.p);
}

/* Servers may compress the response like the request. Ignore unreadable details. */
static void read_packed_answer(struct str answer, bool packed, struct delivery *ret)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(ANSWER_CEILING);
	struct limits limits = LIMITS_DEFAULT;
	const char *name;

	limits.max_bytes = ANSWER_CEILING;
	ret->end = DELIVERED;
	if (!packed)
		read_answer(answer, ret);
	else if (decompress(answer, &limits, &plain, &name, NULL) == ERR_OK)
		read_answer(buf_view(&plain), ret);
}

static void deliver_http(const struct endpoint *e, const char *about, struct str request,
			 struct delivery *ret)
{
	bool packed = is_gzip(request);
	const char *headers[64] = {"Content-Type: application/x-protobuf",
				   packed ? "Content-Encoding: gzip" : NULL};
	size_t n = packed ? 2 : 1;
	CLEANUP(buf_release) struct buf answer = BUF_INIT(ANSWER_CEILING);
	struct fetch_failure failure = {0};
	struct fault fault = {0};
	struct fetch f = {.url = e->url.data,
			  .user_agent = USER_AGENT,
			  .timeout = e->timeout,
			  .insecure = e->insecure,
			  .ca_file = e->ca_file,
			  .certificate = e->certificate,
			  .key = e->key,
			  .unattended = true,
			  .headers = headers,
			  .post = true,
			  .body = request,
			  .failure = &failure};
	struct str message;
	enum err error;

	if (about[0])
		headers[n++] = about;
	for (size_t i = 0; i < e->headers.n && n < 63; i++)
		headers[n++] = e->headers.v[i];
	error = plain_post(&f, &answer, &fault);
	if (error == ERR_UNSUPPORTED)
		error = fetch(&f, &answer, &fault);
	if (!error) {
		read_answer(buf_view(&answer), ret);
		return;
	}
	ret->end = http_may_retry(failure.status) ? DELIVERY_LATER : DELIVERY_REFUSED;
	ret->retry_ns = failure.retry_after * NS_PER_S;
	message = rpc_status_message(str_n(failure.body, failure.body_size));
	if (message.n)
		snprintf(ret->reason, sizeof(ret->reason), "HTTP status %ld: %.*s", failure.status,
			 (int)message.n, message.p);
	else
		snprintf(ret->reason, sizeof(ret->reason), "%s",
			 fault.text[0] ? fault.text : err_text(error));
}

static void deliver_grpc(const struct endpoint *e, const char *about, struct str request,
			 struct delivery *ret)
{
	const char *headers[64] = {about[0] ? about : NULL};
	size_t n = about[0] ? 1 : 0;
	CLEANUP(buf_release) struct buf message = BUF_INIT(ANSWER_CEILING);
	struct grpc_call call = {.url = e->url.data,
				 .user_agent = USER_AGENT,
				 .timeout = e->timeout,
				 .insecure = e->insecure,
				 .ca_file = e->ca_file,
				 .certificate = e->certificate,
				 .key = e->key,
				 .headers = headers,
				 .message = request,
				 .gzip = is_gzip(request)};
	struct grpc_answer answer;
	struct fault fault = {0};
	enum err error;
	int64_t retry_ns;

	for (size_t i = 0; i < e->headers.n && e->headers.v[i] && n < 63; i++)
		headers[n++] = e->headers.v[i];
	error = grpc_call(&call, &message, &answer, &fault);
	if (!error) {
		read_packed_answer(buf_view(&message), answer.packed, ret);
		return;
	}
	retry_ns = rpc_status_retry_ns(str_n(answer.details, answer.details_size));
	ret->end = error == ERR_NO_MEMORY || grpc_may_retry(answer.status, retry_ns)
			   ? DELIVERY_LATER
			   : DELIVERY_REFUSED;
	ret->retry_ns = retry_ns > 0 ? retry_ns : 0;
	snprintf(ret->reason, sizeof(ret->reason), "%s",
		 fault.text[0] ? fault.text : err_text(error));
}

void deliver(const struct endpoint *e, const char *about, struct str request, struct delivery *ret)
{
	*ret = (struct delivery){0};
	if (e->grpc)
		deliver_grpc(e, about, request, ret);
	else
		deliver_http(e, about, request, ret);
}
