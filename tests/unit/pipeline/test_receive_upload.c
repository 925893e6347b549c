#include "pprof_maker.h"
#include "recording_sink.h"

static enum err upload(struct recorder *rec, struct str format, struct str body,
		       const struct label_pair *labels, size_t n)
{
	struct upload_request q = {
		.labels = labels, .label_count = n, .format = format, .body = body};

	return receive_upload(&rec->r, &q, &rec->fault);
}

static const struct label_pair shop[] = {
	{{"service_name", 12}, {"shop", 4}},
	{{"commit", 6}, {"abc", 3}},
};

TEST(any_format_is_recognised)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	CHECK_OK(upload(&rec, STR(""), maker_bytes(&m, 1), shop, 2));
	CHECK(recorded(&rec, "{commit=abc,service_name=shop} 1700000000000000000+15000000000\n"
			     "  process_cpu:samples:count:cpu:nanoseconds\n"
			     "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"));
	recorder_clear(&rec);
	CHECK_OK(upload(&rec, STR("folded"), STR("a;b 3\n"), shop, 2));
	CHECK(recorded(&rec, "{commit=abc,service_name=shop} 1700000000123456789+0\n"
			     "  process_cpu:samples:count::\n    a;b: 3\n"));
	recorder_clear(&rec);
	CHECK_OK(upload(&rec, STR(""),
			STR("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			    "\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[{\"type\":"
			    "\"sampled\",\"unit\":\"bytes\",\"samples\":[[0]],\"weights\":[3]},"
			    "{\"type\":\"sampled\",\"unit\":\"microseconds\",\"samples\":[[0]],"
			    "\"weights\":[3]}]}"),
			shop, 2));
	CHECK(recorded(&rec, "  memory:space:bytes::\n    a: 3\n"));
	CHECK(recorded(&rec, "  wall:wall:nanoseconds:wall:nanoseconds\n    a: 3000\n"));
	recorder_clear(&rec);
	CHECK_ERR(upload(&rec, STR("svg"), STR("x"), shop, 2), ERR_BAD_ARGUMENT);
	CHECK_ERR(upload(&rec, STR(""), STR("\x01\x02"), shop, 2), ERR_UNKNOWN_FORMAT);
}

TEST(the_files_own_service_is_used_unless_one_is_given)
{
	CLEANUP(recorder_release) struct recorder rec;
	static const char file[] =
		"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
		"\"value\":{\"stringValue\":\"own\"}},{\"key\":\"commit\",\"value\":{\"stringValue"
		"\":\"file\"}}]},\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":{"
		"\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[{\"stackIndex\":0,\"values\":"
		"[7]}]}]}]}],\"dictionary\":{\"stringTable\":[\"\",\"inuse_space\",\"bytes\"],"
		"\"stackTable\":[{}]}}";

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(upload(&rec, STR("otlp-json"), str_of(file), NULL, 0));
	CHECK(recorded(&rec, "{commit=file,service.name=own,service_name=own}"));
	CHECK(recorded(&rec, "  memory:inuse_space:bytes:space:bytes\n"));
	recorder_clear(&rec);
	CHECK_OK(upload(&rec, STR("otlp-json"), str_of(file), shop, 2));
	CHECK(recorded(&rec, "{commit=abc,service.name=own,service_name=shop}"));
}

TEST(a_time_that_is_given_wins)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct upload_request q = {.time_ns = 5, .duration_ns = 6};

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	q.body = maker_bytes(&m, 1);
	CHECK_OK(receive_upload(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, "{service_name=unknown_service} 5+6\n"));
}

TEST(a_file_without_a_time_ended_when_it_came)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct upload_request q = {.duration_ns = 23456789};

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	m.p->time_ns = 0;
	q.body = maker_bytes(&m, 1);
	CHECK_OK(receive_upload(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, "} 1700000000100000000+23456789\n"));
}

static enum err sweep(struct str body)
{
	struct recorder rec;
	enum err e = recorder_init(&rec);

	if (!e)
		e = upload(&rec, STR(""), body, shop, 2);
	recorder_release(&rec);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(maker_release) struct maker m;
	struct str body;

	CHECK_OK(maker_cpu(&m));
	body = maker_bytes(&m, 1);
	ALLOC_SWEEP(sweep(body));
}
