#include "recording_sink.h"

#define TRACE "\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36"
#define SPAN  "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"

static void put_text(struct buf *b, uint32_t field, const char *key, const char *value)
{
	size_t pair = pb_begin(b, field), any;

	pb_put_bytes(b, 1, str_of(key));
	any = pb_begin(b, 2);
	pb_put_bytes(b, 1, str_of(value));
	pb_end(b, any);
	pb_end(b, pair);
}

static void put_number(struct buf *b, uint32_t field, const char *key, int64_t value)
{
	size_t pair = pb_begin(b, field), any;

	pb_put_bytes(b, 1, str_of(key));
	any = pb_begin(b, 2);
	pb_put_int(b, 3, value);
	pb_end(b, any);
	pb_end(b, pair);
}

static void put_span(struct buf *b, struct str trace, struct str span)
{
	size_t m = pb_begin(b, 2), status;

	pb_put_bytes(b, 1, trace);
	pb_put_bytes(b, 2, span);
	pb_put_bytes(b, 4, str_n(SPAN, 8));
	pb_put_bytes(b, 5, STR("GET /pay"));
	pb_put_uint(b, 6, 2);
	pb_put_fixed64(b, 7, 1700000000000000000);
	pb_put_fixed64(b, 8, 1700000000250000000);
	put_text(b, 9, "http.request.method", "GET");
	put_number(b, 9, "http.response.status_code", 500);
	put_text(b, 9, "db.query.text", "secret");
	status = pb_begin(b, 15);
	pb_put_uint(b, 3, 2);
	pb_end(b, status);
	pb_end(b, m);
}

/* The scope before the resource, as some writers have it. */
static void put_request(struct buf *b, struct str trace, struct str span)
{
	size_t all = pb_begin(b, 1), scope = pb_begin(b, 2), resource;

	put_span(b, str_n(TRACE, 16), str_n(SPAN, 8));
	put_span(b, trace, span);
	pb_end(b, scope);
	resource = pb_begin(b, 1);
	put_text(b, 1, "service.name", "shop");
	put_text(b, 1, "k8s.pod.name", "p1");
	put_text(b, 1, "telemetry.sdk.name", "opentelemetry");
	pb_end(b, resource);
	pb_end(b, all);
}

#define EXPECTED                                                                            \
	"4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 00f067aa0ba902b7 shop GET /pay " \
	"kind=2 status=2 1700000000000000000+250000000 http.request.method=GET,"            \
	"http.response.status_code=500,k8s.pod.name=p1\n"

TEST(spans_are_kept_with_chosen_attributes)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	put_request(&b, str_n(TRACE, 16), str_n(SPAN, 8));
	CHECK_OK(receive_otlp_traces(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK_STR(buf_view(&rec.text), EXPECTED EXPECTED);
	CHECK_INT(rec.r.result.spans, 2);
}

TEST(spans_without_valid_ids_are_rejected)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	put_request(&b, str_n(TRACE, 15), str_n(SPAN, 8));
	CHECK_OK(receive_otlp_traces(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK_INT(rec.r.result.spans, 1);
	CHECK_INT(rec.r.result.rejected, 1);
	CHECK(strstr(rec.r.result.reason.text, "trace id of 15 bytes"));
	recorder_clear(&rec);
	rec.fail = ERR_BAD_ARGUMENT;
	CHECK_ERR(receive_otlp_traces(&rec.r, buf_view(&b), false, &rec.fault), ERR_BAD_ARGUMENT);
	rec.fail = ERR_NO_SPACE;
	CHECK_ERR(receive_otlp_traces(&rec.r, buf_view(&b), false, &rec.fault), ERR_NO_SPACE);
	rec.fail = ERR_OK;
	CHECK_ERR(receive_otlp_traces(&rec.r, STR("\x0a\x7f"), false, &rec.fault), ERR_CORRUPT);
	CHECK_OK(receive_otlp_traces(&rec.r, STR(""), false, &rec.fault));
}

static const char json[] =
	"{\"resourceSpans\":[{\"scopeSpans\":[{\"scope\":{},\"spans\":[{"
	"\"traceId\":\"4BF92F3577B34DA6A3CE929D0E0E4736\",\"spanId\":\"00f067aa0ba902b7\","
	"\"parentSpanId\":\"00f067aa0ba902b7\",\"name\":\"GET /pay\",\"kind\":2,"
	"\"startTimeUnixNano\":\"1700000000000000000\",\"endTimeUnixNano\":1700000000250000000,"
	"\"attributes\":[{\"key\":\"http.request.method\",\"value\":{\"stringValue\":\"GET\"}},"
	"{\"value\":{\"intValue\":\"500\"},\"key\":\"http.response.status_code\"},"
	"{\"key\":\"db.query.text\",\"value\":{\"stringValue\":\"secret\"}}],"
	"\"status\":{\"code\":\"STATUS_CODE_ERROR\",\"message\":\"x\"},\"events\":[{}]},"
	"{\"traceId\":\"zz\",\"spanId\":\"00f067aa0ba902b7\"}]}],"
	"\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":"
	"\"shop\"}},{\"key\":\"k8s.pod.name\",\"value\":{\"stringValue\":\"p1\"}}]}}]}";

TEST(json_is_the_same_request)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(receive_otlp_traces(&rec.r, str_of(json), true, &rec.fault));
	CHECK_STR(buf_view(&rec.text), EXPECTED);
	CHECK_INT(rec.r.result.rejected, 1);
	recorder_clear(&rec);
	CHECK_ERR(receive_otlp_traces(&rec.r, STR("{\"resourceSpans\":[}"), true, &rec.fault),
		  ERR_CORRUPT);
	CHECK(strstr(rec.fault.text, "traces"));
}

TEST(attributes_are_bounded)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	size_t all, scope, span;
	char key[32];

	CHECK_OK(recorder_init(&rec));
	rec.r.limits.max_label_value = 4;
	all = pb_begin(&b, 1);
	scope = pb_begin(&b, 2);
	span = pb_begin(&b, 2);
	pb_put_bytes(&b, 1, str_n(TRACE, 16));
	pb_put_bytes(&b, 2, str_n(SPAN, 8));
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "rpc.k%03d", i);
		put_text(&b, 9, key, "abc\xc3\xa9");
	}
	pb_end(&b, span);
	pb_end(&b, scope);
	pb_end(&b, all);
	CHECK_OK(receive_otlp_traces(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK(recorded(&rec, " unknown_service "));
	CHECK(recorded(&rec, "rpc.k000=abc,rpc.k001=abc,"));
	CHECK(recorded(&rec, ",rpc.k031=abc\n"));
}

static enum err sweep(struct str body, bool as_json)
{
	struct recorder rec;
	enum err e = recorder_init(&rec);

	if (!e)
		e = receive_otlp_traces(&rec.r, body, as_json, &rec.fault);
	recorder_release(&rec);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	put_request(&b, str_n(TRACE, 16), str_n(SPAN, 8));
	ALLOC_SWEEP(sweep(buf_view(&b), false));
	ALLOC_SWEEP(sweep(str_of(json), true));
}
