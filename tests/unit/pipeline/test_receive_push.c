#include "base/base64.h"
#include "pprof_maker.h"
#include "recording_sink.h"

static void put_label(struct buf *b, const char *name, const char *value)
{
	size_t m = pb_begin(b, 1);

	pb_put_bytes(b, 1, str_of(name));
	pb_put_bytes(b, 2, str_of(value));
	pb_end(b, m);
}

static void put_sample(struct buf *b, struct str profile)
{
	size_t m = pb_begin(b, 2);

	pb_put_bytes(b, 1, profile);
	pb_put_bytes(b, 2, STR("6ba7b810-9dad-11d1-80b4-00c04fd430c8"));
	pb_end(b, m);
}

/* A series with the labels name, value, name, value … NULL. */
static void put_series(struct buf *b, struct str profile, const char *const *labels)
{
	size_t m = pb_begin(b, 1);

	for (; *labels; labels += 2)
		put_label(b, labels[0], labels[1]);
	put_sample(b, profile);
	pb_end(b, m);
}
#define SERIES(b, profile, ...) put_series(b, profile, (const char *const[]){__VA_ARGS__, NULL})

TEST(series_are_named_by_their_label_and_go_to_their_service)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	SERIES(&b, maker_bytes(&m, 0), "__name__", "process_cpu", "service_name", "shop", "pod",
	       "a", "__delta__", "false");
	SERIES(&b, maker_bytes(&m, 1), "__name__", "godeltaprof_memory", "pod", "b");
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK_STR(buf_view(&rec.text),
		  "{pod=a,service_name=shop} 1700000000000000000+15000000000\n"
		  "  process_cpu:samples:count:cpu:nanoseconds\n"
		  "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"
		  "    main;work: 3 30000000\n"
		  "    main;idle: 1 10000000\n"
		  "{pod=b,service_name=unknown_service} 1700000000000000000+15000000000\n"
		  "  memory:samples:count:cpu:nanoseconds\n"
		  "  memory:cpu:nanoseconds:cpu:nanoseconds\n"
		  "    main;work: 3 30000000\n"
		  "    main;idle: 1 10000000\n");
	CHECK_INT(rec.foreign, 0);
	CHECK_INT(rec.r.result.profiles, 2);
}

/* As in Pyroscope, which puts ids of its own in their place. */
TEST(an_id_seen_before_keeps_nothing_out)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	SERIES(&b, maker_bytes(&m, 0), "__name__", "process_cpu", "service_name", "shop");
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK_INT(rec.r.result.profiles, 2);
}

TEST(wall_with_the_type_cpu_and_dashes_in_types_are_normalised)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "cpu nanoseconds");
	maker_type(&m, "inuse-space bytes");
	maker_type(&m, "a:b{c by tes");
	ROW(&m, "main", "", 1, 2, 3);
	SERIES(&b, maker_bytes(&m, 0), "__name__", "wall");
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK(recorded(&rec, "  process_cpu:cpu:nanoseconds::\n"
			     "  wall:inuse_space:bytes::\n"
			     "  wall:a_b_c:by_tes::\n"));
}

TEST(json_is_the_same_request)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	buf_text(&b, "{\"series\":[{\"samples\":[{\"rawProfile\":\"");
	base64_put(&b, maker_bytes(&m, 1), true);
	buf_text(&b, "\",\"ID\":\"x\"}],\"labels\":[{\"name\":\"__name__\",\"value\":"
		     "\"process_cpu\"},{\"value\":\"shop\",\"name\":\"service_name\"}],"
		     "\"annotations\":[{}]}],\"other\":1}");
	CHECK_OK(receive_push(&rec.r, buf_view(&b), true, &rec.fault));
	CHECK(recorded(&rec, "{service_name=shop} 1700000000000000000+15000000000\n"
			     "  process_cpu:samples:count:cpu:nanoseconds\n"));
	CHECK_ERR(receive_push(&rec.r, STR("{\"series\":[{\"samples\":[{\"rawProfile\":\"*\"}]}]}"),
			       true, &rec.fault),
		  ERR_CORRUPT);
	CHECK(strstr(rec.fault.text, "expected base64"));
	CHECK_OK(receive_push(&rec.r, STR("{}"), true, &rec.fault));
}

TEST(a_broken_series_is_rejected_and_the_others_are_taken)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20), all_bad = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	SERIES(&b, STR("\x12\x7f"), "__name__", "process_cpu");
	SERIES(&b, maker_bytes(&m, 0), "service_name", "nameless");
	SERIES(&b, maker_bytes(&m, 0), "__name__", "x", "k", "1", "k", "2");
	SERIES(&b, maker_bytes(&m, 0), "__name__", "process_cpu", "service_name", "good");
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK_INT(rec.r.result.profiles, 1);
	CHECK_INT(rec.r.result.rejected, 3);
	CHECK(rec.r.result.reason.text[0]);
	CHECK(recorded(&rec, "{service_name=good}"));
	recorder_clear(&rec);
	SERIES(&all_bad, maker_bytes(&m, 0), "service_name", "nameless");
	CHECK_ERR(receive_push(&rec.r, buf_view(&all_bad), false, &rec.fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(rec.fault.text, "__name__"));
	recorder_clear(&rec);
	CHECK_ERR(receive_push(&rec.r, STR("\x0a\x7fx"), false, &rec.fault), ERR_CORRUPT);
	CHECK_OK(receive_push(&rec.r, STR(""), false, &rec.fault));
	/* A memory that is full is not the client's fault: nothing is taken half. */
	rec.fail = ERR_NO_SPACE;
	CHECK_ERR(receive_push(&rec.r, buf_view(&b), false, &rec.fault), ERR_NO_SPACE);
}

TEST(a_profile_without_a_time_is_of_now)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	m.p->time_ns = m.p->duration_ns = 0;
	SERIES(&b, maker_bytes(&m, 0), "__name__", "process_cpu");
	SERIES(&b, STR(""), "__name__", "process_cpu");
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK(recorded(&rec, "} 1700000000123456789+0\n"));
	CHECK_INT(rec.r.result.profiles, 1);
	/* It ended when it came: none of it lies ahead. */
	m.p->duration_ns = 123456789;
	buf_clear(&b);
	SERIES(&b, maker_bytes(&m, 0), "__name__", "process_cpu");
	CHECK_OK(receive_push(&rec.r, buf_view(&b), false, &rec.fault));
	CHECK(recorded(&rec, "} 1700000000000000000+123456789\n"));
}

static enum err sweep(struct str body, bool json)
{
	struct recorder rec;
	enum err e = recorder_init(&rec);

	if (!e)
		e = receive_push(&rec.r, body, json, &rec.fault);
	recorder_release(&rec);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20), json = BUF_INIT(1 << 20);

	CHECK_OK(maker_cpu(&m));
	SERIES(&b, maker_bytes(&m, 1), "__name__", "process_cpu", "pod", "a");
	SERIES(&b, maker_bytes(&m, 0), "__name__", "memory", "pod", "a");
	ALLOC_SWEEP(sweep(buf_view(&b), false));
	buf_text(&json, "{\"series\":[{\"samples\":[{\"rawProfile\":\"");
	base64_put(&json, maker_bytes(&m, 1), true);
	buf_text(&json, "\"}],\"labels\":[{\"name\":\"__name__\",\"value\":\"a\\u0062\"}]}]}");
	ALLOC_SWEEP(sweep(buf_view(&json), true));
}
