/*
 * A service that measures in other units than Vestal does, by every way in: it is found under the
 * usual type, with the usual values.
 */
#include "pprof_maker.h"
#include "recording_sink.h"

#include "pipeline/pipeline.h"

#define CPU_ROWS                                          \
	"  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n" \
	"    main;work: 30000000\n"

static bool noted(const struct recorder *rec, const char *part)
{
	vec_for_each (note, &rec->r.result.notes.list)
		if (strstr(note->text, part))
			return true;
	return false;
}

static enum err micro_cpu(struct maker *m)
{
	TRY(maker_init(m));
	maker_type(m, "cpu microseconds");
	maker_period(m, "cpu", "us", 10000);
	ROW(m, "main;work", "", 30000);
	return ERR_OK;
}

TEST(microseconds_by_ingest_are_the_usual_cpu_time)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct ingest_request q = {.name = STR("shop"), .format = STR("pprof")};

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(micro_cpu(&m));
	q.body = maker_bytes(&m, 1);
	CHECK_OK(receive_ingest(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, CPU_ROWS));
}

TEST(microseconds_by_push_are_the_usual_cpu_time)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	size_t series, part;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(micro_cpu(&m));
	series = pb_begin(&b, 1);
	part = pb_begin(&b, 1);
	pb_put_bytes(&b, 1, STR("__name__"));
	pb_put_bytes(&b, 2, STR("process_cpu"));
	pb_end(&b, part);
	part = pb_begin(&b, 2);
	pb_put_bytes(&b, 1, maker_bytes(&m, 1));
	pb_end(&b, part);
	pb_end(&b, series);
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK(recorded(&rec, CPU_ROWS));
}

TEST(microseconds_in_a_file_are_the_usual_cpu_time)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct upload_request q = {0};

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(micro_cpu(&m));
	q.body = maker_bytes(&m, 1);
	CHECK_OK(receive_upload(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, CPU_ROWS));
}

TEST(microseconds_of_a_target_are_the_usual_cpu_time)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct scrape_request q = {.name = STR("process_cpu")};
	struct scraped got;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(micro_cpu(&m));
	q.body = maker_bytes(&m, 1);
	CHECK_OK(receive_scrape(&rec.r, &q, &got, &rec.fault));
	baseline_release(&got.next);
	CHECK(recorded(&rec, CPU_ROWS));
}

#define OTLP(type, unit, period_unit, period, values)                                         \
	"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":{"         \
	"\"typeStrindex\":1,\"unitStrindex\":2},\"periodType\":{\"typeStrindex\":1,"          \
	"\"unitStrindex\":3},\"period\":" period ",\"samples\":[" values "]}]}]}],"           \
	"\"dictionary\":{\"stringTable\":[\"\",\"" type "\",\"" unit "\",\"" period_unit      \
	"\",\"main\",\"work\"],\"functionTable\":[{},{\"nameStrindex\":4},{\"nameStrindex\":" \
	"5}],\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]},{\"lines\":[{"         \
	"\"functionIndex\":2}]}],\"stackTable\":[{},{\"locationIndices\":[2,1]},{"            \
	"\"locationIndices\":[1]}]}}"

static enum err export_json(struct recorder *rec, const char *json)
{
	return receive_otlp_profiles(&rec->r, str_of(json), true, &rec->fault);
}

TEST(microseconds_by_otlp_are_the_usual_cpu_time)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(export_json(&rec, OTLP("cpu", "us", "milliseconds", "10",
					"{\"stackIndex\":1,\"values\":[30000]}")));
	CHECK(recorded(&rec, CPU_ROWS));
}

TEST(sizes_are_stored_in_bytes)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(export_json(&rec, OTLP("alloc_space", "KiBy", "kb", "512",
					"{\"stackIndex\":1,\"values\":[3]}")));
	CHECK(recorded(&rec,
		       "  memory:alloc_space:bytes:alloc_space:bytes\n    main;work: 3072\n"));
}

TEST(values_that_become_too_large_are_reported)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(export_json(&rec, OTLP("cpu", "s", "s", "1",
					"{\"stackIndex\":1,\"values\":[9223372036854775807]}")));
	CHECK(recorded(&rec, "    main;work: 9223372036854775807\n"));
	CHECK(noted(&rec, "too large"));
}

TEST(the_same_type_in_two_units_counts_once)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct upload_request q = {0};

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "cpu microseconds");
	maker_type(&m, "cpu nanoseconds");
	maker_period(&m, "cpu", "nanoseconds", 10000000);
	ROW(&m, "main;work", "", 30000, 30000000);
	q.body = maker_bytes(&m, 1);
	CHECK_OK(receive_upload(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, CPU_ROWS));
	CHECK(noted(&rec, "second column"));
}
