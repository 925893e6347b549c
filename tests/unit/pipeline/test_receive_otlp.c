#include "../format/otlp_message.h"
#include "recording_sink.h"

static void put_sample(struct buf *b, int stack, int attribute, int link, int64_t value)
{
	size_t m = pb_begin(b, PROFILE_SAMPLES);

	pb_put_uint(b, SAMPLE_STACK, (uint64_t)stack);
	if (attribute)
		PACKED(b, SAMPLE_ATTRIBUTES, attribute);
	if (link)
		pb_put_uint(b, SAMPLE_LINK, (uint64_t)link);
	PACKED(b, SAMPLE_VALUES, value);
	pb_end(b, m);
}

static void put_cpu(struct message *m)
{
	put_value_type(&m->b, PROFILE_PERIOD_TYPE, S_CPU, S_NANOSECONDS);
	pb_put_uint(&m->b, PROFILE_PERIOD, 50000000);
	pb_put_fixed64(&m->b, PROFILE_TIME, 1700000000000000000);
	pb_put_uint(&m->b, PROFILE_DURATION, 5000000000);
}

TEST(counted_samples_with_a_period_of_cpu_time_are_process_cpu)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_cpu(&m);
	put_sample(&m.b, 1, A_THREAD, 1, 2);
	message_end(&m, true);
	CHECK_OK(recorder_init(&rec));
	CHECK_OK(receive_otlp_profiles(&rec.r, buf_view(&m.b), false, &rec.fault));
	CHECK_STR(buf_view(&rec.text),
		  "{service.name=shop,service_name=shop} 1700000000000000000+5000000000\n"
		  "  process_cpu:samples:count:cpu:nanoseconds\n"
		  "  process_cpu:cpu:nanoseconds:cpu:nanoseconds" TYPE_DERIVED "\n"
		  "    main;main;work {thread.name=worker} "
		  "7370616e2d696421/30313233343536373839616263646566: 2 100000000\n");
}

TEST(a_profile_without_samples_is_kept_with_its_time)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_cpu(&m);
	message_end(&m, true);
	CHECK_OK(recorder_init(&rec));
	CHECK_OK(receive_otlp_profiles(&rec.r, buf_view(&m.b), false, &rec.fault));
	CHECK_STR(buf_view(&rec.text),
		  "{service.name=shop,service_name=shop} 1700000000000000000+5000000000\n"
		  "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n");
	CHECK_INT(rec.r.result.profiles, 1);
	CHECK_INT(rec.r.result.samples, 0);
}

TEST(what_has_neither_time_nor_duration_is_of_this_moment)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_sample(&m.b, 1, 0, 0, 2);
	message_end(&m, true);
	CHECK_OK(recorder_init(&rec));
	CHECK_OK(receive_otlp_profiles(&rec.r, buf_view(&m.b), false, &rec.fault));
	CHECK(recorded(&rec, "} 1700000000123456789+0\n  process_cpu:samples:count::\n"));
}

TEST(broken_profiles_are_rejected_and_the_others_taken)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(message_release) struct message m, all_bad;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_sample(&m.b, 99, 0, 0, 2);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_SAMPLES, S_COUNT);
	put_cpu(&m);
	put_sample(&m.b, 1, 0, 0, 3);
	message_end(&m, true);
	message_begin(&all_bad, S_SAMPLES, S_COUNT);
	put_sample(&all_bad.b, 1, 77, 0, 2);
	message_end(&all_bad, true);
	CHECK_OK(recorder_init(&rec));
	CHECK_OK(receive_otlp_profiles(&rec.r, buf_view(&m.b), false, &rec.fault));
	CHECK_INT(rec.r.result.profiles, 1);
	CHECK_INT(rec.r.result.rejected, 1);
	CHECK(strstr(rec.r.result.reason.text, "Sample.stack_index is 99"));
	recorder_clear(&rec);
	CHECK_ERR(receive_otlp_profiles(&rec.r, buf_view(&all_bad.b), false, &rec.fault),
		  ERR_BAD_INDEX);
	CHECK(strstr(rec.fault.text, "attribute_indices"));
	recorder_clear(&rec);
	CHECK_ERR(receive_otlp_profiles(&rec.r, STR("\x0a\x7f"), false, &rec.fault), ERR_CORRUPT);
	CHECK_OK(receive_otlp_profiles(&rec.r, STR(""), false, &rec.fault));
	/* The sink's refusal of a profile (too old …) is a rejection, a full disk is not. */
	rec.fail = ERR_BAD_ARGUMENT;
	CHECK_ERR(receive_otlp_profiles(&rec.r, buf_view(&m.b), false, &rec.fault), ERR_BAD_INDEX);
	CHECK_INT(rec.r.result.rejected, 2);
	recorder_clear(&rec);
	rec.fail = ERR_NO_SPACE;
	CHECK_ERR(receive_otlp_profiles(&rec.r, buf_view(&m.b), false, &rec.fault), ERR_NO_SPACE);
}

#define DICTIONARY                                                                             \
	"\"dictionary\":{\"mappingTable\":[{}],\"locationTable\":[{},{\"lines\":[{"            \
	"\"functionIndex\":1}]}],\"functionTable\":[{},{\"nameStrindex\":5}],\"linkTable\":[{" \
	"}],\"stackTable\":[{},{\"locationIndices\":[1]}],\"stringTable\":[\"\",\"itimer\","   \
	"\"ns\",\"service.name\",\"pod\",\"main\",\"off_cpu\",\"nanoseconds\"],"               \
	"\"attributeTable\":[{},{\"keyStrindex\":3,\"value\":{\"stringValue\":\"other\"}},{"   \
	"\"keyStrindex\":4,\"value\":{\"stringValue\":\"p1\"}}]}"

static enum err receive_json(struct recorder *rec, const char *resource, const char *profile)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	buf_printf(&b,
		   "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[%s]},"
		   "\"scopeProfiles\":[{\"scope\":{\"name\":\"s\",\"attributes\":[{\"key\":"
		   "\"lib\",\"value\":{\"stringValue\":\"x\"}}]},\"profiles\":[%s]}]}]," DICTIONARY
		   "}",
		   resource, profile);
	return receive_otlp_profiles(&rec->r, buf_view(&b), true, &rec->fault);
}

#define ATTRIBUTE(key, value) "{\"key\":\"" key "\",\"value\":{" value "}}"
#define ITIMER                                                                     \
	"{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"periodType\":{" \
	"\"typeStrindex\":1,\"unitStrindex\":2},\"period\":\"10\",\"samples\":[{"  \
	"\"stackIndex\":1,\"values\":[\"7\"]}]}"

TEST(other_types_are_named_by_what_they_were_sampled_by)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(receive_json(&rec, "", ITIMER));
	CHECK(recorded(&rec, "{lib=x,service_name=unknown_service}"));
	CHECK(recorded(&rec, "  itimer:itimer:nanoseconds:itimer:nanoseconds\n    main: 7\n"));
	recorder_clear(&rec);
	CHECK_OK(receive_json(&rec, "",
			      "{\"sampleType\":{\"typeStrindex\":6,\"unitStrindex\":7},"
			      "\"samples\":[{\"stackIndex\":1,\"values\":[7]}]}"));
	CHECK(recorded(&rec, "  off_cpu:off_cpu:nanoseconds::\n"));
}

TEST(resource_and_scope_attributes_are_labels)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(
		receive_json(
			&rec,
			ATTRIBUTE("process.executable.name", "\"stringValue\":\"java\"") "," ATTRIBUTE("process.pid", "\"intValue\":\"12\"") "," ATTRIBUTE("ok", "\"boolValue\":true") "," ATTRIBUTE("ratio", "\"doubleValue\":1.5") "," ATTRIBUTE(
				"__private__",
				"\"stringValue\":\"x\"") "," ATTRIBUTE("lib",
								       "\"stringValue\":\"resource "
								       "wins\"") "," ATTRIBUTE("on"
											       "e",
											       "\"a"
											       "rra"
											       "yVa"
											       "lue"
											       "\":"
											       "{\""
											       "val"
											       "ues"
											       "\":"
											       "[{"
											       "\"s"
											       "tri"
											       "ngV"
											       "alu"
											       "e\""
											       ":\""
											       "ent"
											       "ry"
											       "\"}"
											       "]}") "," ATTRIBUTE("two",
														   "\"arrayValue\":{\"values\":[{\"intValue\":1},{\"intValue\":2}]}"),
			ITIMER));
	CHECK(recorded(&rec, "{lib=resource wins,ok=true,one=entry,process.executable.name=java,"
			     "process.pid=12,service_name=unknown_service:java} "));
}

TEST(samples_may_belong_to_another_service)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(
		receive_json(&rec, ATTRIBUTE("service.name", "\"stringValue\":\"agent\""),
			     "{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":["
			     "{\"stackIndex\":1,\"values\":[1]},"
			     "{\"stackIndex\":1,\"values\":[2],\"attributeIndices\":[1,2]},"
			     "{\"stackIndex\":1,\"values\":[3],\"attributeIndices\":[1]}]}"));
	CHECK(recorded(&rec, "{lib=x,service.name=agent,service_name=agent} "));
	CHECK(recorded(&rec, "{lib=x,pod=p1,service.name=other,service_name=other} "));
	CHECK(recorded(&rec, "{lib=x,service.name=other,service_name=other} "));
	CHECK_INT(rec.r.result.profiles, 3);
}

TEST(labels_nobody_wrote_as_labels_are_cut_or_left_out)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	rec.r.limits.max_label_value = 5;
	for (int i = 0; i < 40; i++)
		buf_printf(&b, "{\"key\":\"k%02d\",\"value\":{\"stringValue\":\"1234\u00e9\"}},",
			   i);
	buf_text(&b, ATTRIBUTE("service.name", "\"stringValue\":\"shop\""));
	CHECK_OK(receive_json(&rec, b.data, ITIMER));
	CHECK(recorded(&rec, "{k00=1234,k01=1234,"));
	CHECK(recorded(&rec, ",k28=1234,service_name=shop} "));
	CHECK(!strstr(rec.text.data, "k30"));
	CHECK(rec.r.result.notes.list.n >= 2);
}

static enum err sweep(struct str body)
{
	struct recorder rec;
	enum err e = recorder_init(&rec);

	if (!e)
		e = receive_otlp_profiles(&rec.r, body, false, &rec.fault);
	recorder_release(&rec);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(message_release) struct message m;

	message_begin(&m, S_SAMPLES, S_COUNT);
	put_cpu(&m);
	put_sample(&m.b, 1, A_THREAD, 1, 2);
	put_sample(&m.b, 2, A_BYTES, 0, 2);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_BYTES, S_COUNT);
	put_sample(&m.b, 99, 0, 0, 3);
	message_end(&m, true);
	ALLOC_SWEEP(sweep(buf_view(&m.b)));
}
