#include "pprof_maker.h"
#include "recording_sink.h"

static enum err ingest(struct recorder *rec, const char *name, const char *format,
		       const char *content_type, struct str body)
{
	struct ingest_request q = {.name = str_of(name),
				   .from = STR("1700000000"),
				   .until = STR("1700000010"),
				   .format = str_of(format),
				   .content_type = str_of(content_type),
				   .body = body};

	return receive_ingest(&rec->r, &q, &rec->fault);
}

static void put_part(struct buf *b, const char *name, struct str body)
{
	buf_printf(b,
		   "--frontier\r\nContent-Disposition: form-data; name=\"%s\"; "
		   "filename=\"%s.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n",
		   name, name);
	buf_str(b, body);
	buf_text(b, "\r\n");
}

#define FORM "multipart/form-data; boundary=frontier"

TEST(raw_pprof_is_found_under_its_service_labels_and_types)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	CHECK_OK(ingest(&rec, "shop{region=eu west, commit=abc,__session_id__=0123}", "pprof", "",
			maker_bytes(&m, 1)));
	CHECK_STR(buf_view(&rec.text),
		  "{commit=abc,pyroscope_spy=unknown,region=eu west,service_name=shop} "
		  "1700000000000000000+15000000000\n"
		  "  process_cpu:samples:count:cpu:nanoseconds\n"
		  "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"
		  "    main;work: 3 30000000\n"
		  "    main;idle: 1 10000000\n");
	CHECK_INT(rec.r.result.profiles, 1);
	CHECK_INT(rec.r.result.samples, 2);
}

TEST(pprof_is_decoded_straight_into_the_dictionary_of_its_service)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 0)));
	CHECK_INT(rec.warm_calls, 1);
	CHECK_INT(rec.foreign, 0);
	CHECK_STR(str_of(rec.warm_service), "shop");
	recorder_clear(&rec);
	CHECK_OK(ingest(&rec, "shop{service_name=other}", "pprof", "", maker_bytes(&m, 0)));
	CHECK_STR(str_of(rec.warm_service), "other");
	CHECK(recorded(&rec, "{pyroscope_spy=unknown,service_name=other}"));
}

TEST(a_profile_without_a_time_or_with_one_of_1970_has_that_of_the_request)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	m.p->time_ns = 1700000000000000; /* microseconds, as old clients had it */
	m.p->duration_ns = 0;
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 0)));
	CHECK(recorded(&rec, "} 1700000000000000000+10000000000\n"));
}

TEST(a_request_without_a_time_is_of_what_ended_when_it_came)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct ingest_request q = {.name = STR("shop"), .format = STR("pprof")};

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	m.p->time_ns = 0;
	m.p->duration_ns = 123456789;
	q.body = maker_bytes(&m, 0);
	CHECK_OK(receive_ingest(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, "} 1700000000000000000+123456789\n"));
}

static enum err ingest_form(struct recorder *rec, struct str profile, const char *config)
{
	CLEANUP(buf_release) struct buf form = BUF_INIT(1 << 24);

	put_part(&form, "profile", profile);
	if (config)
		put_part(&form, "sample_type_config", str_of(config));
	buf_text(&form, "--frontier--\r\n");
	return ingest(rec, "shop", "", FORM, buf_view(&form));
}

TEST(the_display_names_of_a_form_choose_the_name_of_the_profile)
{
	static const struct {
		const char *type, *config, *id;
	} cases[] = {
		{"contentions count", NULL, "mutex:contentions:count:contentions:count"},
		{"contentions count",
		 "{\"contentions\":{\"units\":\"lock_samples\",\"display-name\":\"block_count\"}}",
		 "block:contentions:count:contentions:count"},
		{"goroutine count", NULL, "goroutines:goroutine:count:contentions:count"},
		{"goroutine count", "{\"goroutine\":{\"display-name\":\"goroutines\"}}",
		 "goroutines:goroutine:count:contentions:count"},
		{"goroutine count", "{}", "goroutine:goroutine:count:contentions:count"},
		{"alloc_space bytes", NULL, "memory:alloc_space:bytes:contentions:count"},
		{"objects count", NULL, "memory:objects:count:contentions:count"},
		{"exotic count", NULL, "exotic:exotic:count:contentions:count"},
		{"inuse-space bytes", NULL, "inuse-space:inuse_space:bytes:contentions:count"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(recorder_release) struct recorder rec;
		CLEANUP(maker_release) struct maker m;

		CHECK_OK(recorder_init(&rec));
		CHECK_OK(maker_init(&m));
		maker_type(&m, cases[i].type);
		maker_period(&m, "contentions", "count", 1);
		ROW(&m, "main", "", 1);
		CHECK_OK(ingest_form(&rec, maker_bytes(&m, 1), cases[i].config));
		CHECK(recorded(&rec, cases[i].id));
	}
}

TEST(cpu_time_beside_wall_time_is_process_cpu)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "samples count");
	maker_type(&m, "wall nanoseconds");
	maker_type(&m, "cpu nanoseconds");
	maker_period(&m, "wall", "nanoseconds", 10);
	ROW(&m, "main", "", 1, 10, 5);
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK(recorded(&rec, "  wall:samples:count:wall:nanoseconds\n"
			     "  wall:wall:nanoseconds:wall:nanoseconds\n"
			     "  process_cpu:cpu:nanoseconds:wall:nanoseconds\n"));
}

TEST(a_form_is_refused_when_it_is_broken_or_of_a_client_too_old)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf form = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	CHECK_ERR(ingest_form(&rec, maker_bytes(&m, 1), "{\"cpu\":"), ERR_UNPROCESSABLE);
	CHECK(strstr(rec.fault.text, "sample_type_config"));
	put_part(&form, "profile", maker_bytes(&m, 1));
	put_part(&form, "prev_profile", maker_bytes(&m, 1));
	buf_text(&form, "--frontier--\r\n");
	CHECK_ERR(ingest(&rec, "shop", "", FORM, buf_view(&form)), ERR_UNPROCESSABLE);
	CHECK(strstr(rec.fault.text, "prev_profile"));
	CHECK_ERR(ingest(&rec, "shop", "", FORM, str_n(form.data, form.n / 2)), ERR_UNPROCESSABLE);
	CHECK_ERR(ingest(&rec, "shop", "", "multipart/form-data", buf_view(&form)),
		  ERR_UNPROCESSABLE);
	/* The format pprof means a raw body, whatever its type says. */
	CHECK_ERR(ingest(&rec, "shop", "pprof", FORM, buf_view(&form)), ERR_UNPROCESSABLE);
	CHECK_INT(rec.text.n, 0);
}

TEST(bad_parameters_are_400_and_bad_bodies_422)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_ERR(ingest(&rec, "", "pprof", "", STR("x")), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest(&rec, "sh op", "pprof", "", STR("x")), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest(&rec, "shop{k~=v}", "pprof", "", STR("x")), ERR_BAD_ARGUMENT);
	CHECK_ERR(ingest(&rec, "shop", "pprof", "", STR("x")), ERR_UNPROCESSABLE);
	CHECK_INT(rec.fault.code, ERR_UNPROCESSABLE);
	CHECK_INT(err_http(ERR_UNPROCESSABLE), 422);
	CHECK_ERR(ingest(&rec, "shop", "jfr", "", STR("x")), ERR_UNPROCESSABLE);
	CHECK_ERR(ingest(&rec, "shop", "tree", "", STR("\x05")), ERR_UNPROCESSABLE);
	CHECK_ERR(ingest(&rec, "shop.exotic", "lines", "", STR("a;b")), ERR_UNPROCESSABLE);
}

TEST(empty_profiles_are_kept_as_time_that_was_measured)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "samples count");
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK(strstr(rec.text.data, "service_name=shop} "));
	CHECK_INT(rec.r.result.profiles, 1);
	CHECK_INT(rec.r.result.samples, 0);
	ROW(&m, "main", "", 0);
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK_INT(rec.r.result.profiles, 2);
	CHECK_INT(rec.r.result.samples, 0);
	/* Series that only the rows tell. */
	ROW(&m, "main;a", "region=eu", 0);
	ROW(&m, "main;a", "region=us", 0);
	buf_clear(&rec.text);
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK_INT(rec.r.result.profiles, 5);
	CHECK_INT(rec.r.result.samples, 0);
	CHECK(strstr(rec.text.data, "region=eu") && strstr(rec.text.data, "region=us"));
}

TEST(of_no_bytes_and_of_wrong_values_nothing_is_kept)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "samples count");
	ROW(&m, "main", "", -1);
	ROW(&m, "main;a", "", 0);
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK_OK(ingest(&rec, "shop", "pprof", "", STR("")));
	CHECK_OK(ingest(&rec, "shop", "", "", STR("")));
	CHECK_OK(ingest(&rec, "shop", "jfr", "", STR("")));
	CHECK_INT(rec.text.n, 0);
	CHECK_INT(rec.r.result.profiles, 0);
}

TEST(sample_labels_become_links_series_or_stay_with_the_row)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "samples count");
	ROW(&m, "main;a",
	    "span_id=00f067aa0ba902b7,trace_id=4bf92f3577b34da6a3ce929d0e0e4736,endpoint=/pay", 1);
	ROW(&m, "main;b", "profile_id=00f067aa0ba902b8", 2);
	ROW(&m, "main;c", "region=eu,endpoint=/pay", 3);
	ROW(&m, "main;d", "region=eu,commit=mine", 4);
	ROW(&m, "main;e", "span_id=nothex", 5);
	ROW(&m, "main;f", "region=us", 6);
	CHECK_OK(ingest(&rec, "shop{commit=abc}", "pprof", "", maker_bytes(&m, 1)));
	CHECK_STR(buf_view(&rec.text),
		  "{commit=abc,pyroscope_spy=unknown,service_name=shop} "
		  "1700000000000000000+15000000000\n"
		  "  process_cpu:samples:count::\n"
		  "    main;a {endpoint=/pay} "
		  "00f067aa0ba902b7/4bf92f3577b34da6a3ce929d0e0e4736: 1\n"
		  "    main;b 00f067aa0ba902b8/00000000000000000000000000000000: 2\n"
		  "    main;e {span_id=nothex}: 5\n"
		  "{commit=abc,pyroscope_spy=unknown,region=eu,service_name=shop} "
		  "1700000000000000000+15000000000\n"
		  "  process_cpu:samples:count::\n"
		  "    main;c {endpoint=/pay}: 3\n"
		  "    main;d: 4\n"
		  "{commit=abc,pyroscope_spy=unknown,region=us,service_name=shop} "
		  "1700000000000000000+15000000000\n"
		  "  process_cpu:samples:count::\n"
		  "    main;f: 6\n");
}

TEST(the_size_of_objects_does_not_tear_heap_stacks_apart)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "inuse_space bytes");
	ROW(&m, "main;alloc", "bytes=#64", 640);
	ROW(&m, "main;alloc", "bytes=#32", 320);
	ROW(&m, "main;alloc", "line=#7", 1);
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK(recorded(&rec, "    main;alloc: 960\n    main;alloc {line=7}: 1\n"));
}

TEST(rows_that_are_zero_or_negative_are_left_out)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "alloc_objects count");
	maker_type(&m, "alloc_space bytes");
	ROW(&m, "a", "", 0, 0);
	ROW(&m, "b", "", 1, 64);
	ROW(&m, "c", "", -1, 64);
	ROW(&m, "d", "", 0, 64);
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK(recorded(&rec, "    b: 1 64\n    d: 0 64\n"));
	CHECK_INT(rec.r.result.samples, 2);
	CHECK_INT(rec.r.result.notes.list.n, 1);
}

TEST(a_label_of_many_values_makes_no_more_series_than_allowed)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	char labels[64], stack[64];

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "samples count");
	for (int i = 0; i < 400; i++) {
		snprintf(labels, sizeof(labels), "pod=p%d", i);
		snprintf(stack, sizeof(stack), "main;f%d", i);
		ROW(&m, stack, labels, 1);
	}
	CHECK_OK(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)));
	CHECK_INT(rec.r.result.profiles, 256);
	CHECK_INT(rec.r.result.samples, 400);
	CHECK(recorded(&rec, "main;f399 {pod=p399}: 1"));
}

TEST(functions_of_scripts_are_shown_with_their_file)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	struct ingest_request q = {.name = STR("shop"), .format = STR("pprof")};
	struct function f = {0};
	struct frame frame = {.flags = FRAME_HAS_LINE, .line = 3};
	uint32_t id, stack;
	int64_t one = 1;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "cpu nanoseconds");
	for (int i = 0; i < 2; i++) {
		struct row row = {0};

		CHECK_OK(dict_text(&m.d, "work", &f.name));
		CHECK_OK(dict_text(&m.d, i ? "/usr/lib/x.py" : "app.py", &f.file));
		CHECK_OK(dict_function(&m.d, &f, &frame.function));
		CHECK_OK(dict_frame(&m.d, &frame, &id));
		CHECK_OK(dict_stack(&m.d, &id, 1, &stack));
		row.stack = stack;
		CHECK_OK(profile_add(m.p, &row, &one));
	}
	q.body = maker_bytes(&m, 1);
	q.spy_name = STR("pyspy");
	CHECK_OK(receive_ingest(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, "    app.py work: 1\n    work: 1\n"));
	recorder_clear(&rec);
	q.spy_name = STR("rbspy");
	CHECK_OK(receive_ingest(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, "    app.py work: 1\n    /usr/lib/x.py work: 1\n"));
	recorder_clear(&rec);
	q.spy_name = STR("gospy");
	CHECK_OK(receive_ingest(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec, "    work: 1\n    work: 1\n"));
}

TEST(the_format_is_chosen_in_the_order_of_pyroscope)
{
	static const char tree[] = "\x00\x00\x01\x01"
				   "a\x02\x00";
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(ingest(&rec, "shop", "", "binary/octet-stream+tree", str_n(tree, 7)));
	CHECK(recorded(&rec, "    a: 20000000\n"));
	recorder_clear(&rec);
	/* format=trie wins over what the Content-Type says */
	CHECK_OK(ingest(&rec, "shop", "trie", "binary/octet-stream+tree", str_n(tree, 7)));
	CHECK(recorded(&rec, "    a: 20000000\n"));
	recorder_clear(&rec);
	CHECK_OK(ingest(&rec, "shop", "lines", FORM, STR("a;b 3\na;b 3\n")));
	CHECK(recorded(&rec, "    a;b 3: 20000000\n"));
	recorder_clear(&rec);
	CHECK_OK(ingest(&rec, "shop", "whatever", "text/plain", STR("a;b 3\nnothing\na;b 4\n")));
	CHECK(recorded(&rec, "    a;b: 70000000\n"));
}

TEST(the_name_of_the_service_says_what_a_text_measures)
{
	static const struct {
		const char *name, *rate, *expected;
	} cases[] = {
		{"shop", "", "process_cpu:cpu:nanoseconds:cpu:nanoseconds\n    a: 20000000\n"},
		{"shop.cpu", "1000",
		 "process_cpu:cpu:nanoseconds:cpu:nanoseconds\n    a: 2000000\n"},
		{"shop.cpu", "-5",
		 "process_cpu:cpu:nanoseconds:cpu:nanoseconds\n    a: 20000000\n"},
		{"shop.cpu", "0", "process_cpu:samples:count::\n    a: 2\n"},
		{"shop.wall", "", "wall:wall:nanoseconds:cpu:nanoseconds\n    a: 20000000\n"},
		{"shop.alloc_space", "", "memory:alloc_space:bytes::\n    a: 2\n"},
		{"shop.goroutines", "", "goroutine:goroutines:count::\n    a: 2\n"},
		{"shop.mutex_duration", "", "mutex:delay:nanoseconds::\n    a: 2\n"},
		{"shop.lock_count", "", "block:contentions:count::\n    a: 2\n"},
		{"my.shop.inuse_objects", "", "service_name=my.shop}"},
		/* A unit is no rate: what is time already is not multiplied by one. */
		{"shop.seconds", "", "wall:wall:nanoseconds:cpu:nanoseconds\n    a: 2000000000\n"},
		{"shop.microseconds", "1000",
		 "wall:wall:nanoseconds:cpu:nanoseconds\n    a: 2000\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(recorder_release) struct recorder rec;
		struct ingest_request q = {.name = str_of(cases[i].name),
					   .sample_rate = str_of(cases[i].rate),
					   .body = STR("a 2\n")};

		CHECK_OK(recorder_init(&rec));
		CHECK_OK(receive_ingest(&rec.r, &q, &rec.fault));
		CHECK(recorded(&rec, cases[i].expected));
		CHECK(recorded(&rec, "} 1700000000123456789+0\n"));
	}
}

TEST(texts_name_their_app_when_the_service_is_another)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(ingest(&rec, "app.cpu{service_name=shop}", "", "", STR("a 2\n")));
	CHECK(recorded(&rec, "{app_name=app,pyroscope_spy=unknown,service_name=shop} "
			     "1700000000000000000+10000000000\n"));
	recorder_clear(&rec);
	CHECK_OK(ingest(&rec, "app.cpu{profile_id=12}", "", "", STR("a 2\n")));
	CHECK_INT(rec.text.n, 0);
}

TEST(speedscope_files_are_taken)
{
	CLEANUP(recorder_release) struct recorder rec;
	static const char file[] =
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"shared\":{\"frames\":[{\"name\":\"main\"},{\"name\":\"work\"}]},"
		"\"profiles\":[{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"milliseconds\","
		"\"startValue\":0,\"endValue\":10,\"samples\":[[0,1],[0]],\"weights\":[7,3]}]}";

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(ingest(&rec, "shop.wall", "speedscope", "", str_of(file)));
	CHECK(recorded(&rec, "wall:wall:nanoseconds:cpu:nanoseconds\n"
			     "    main;work: 7000000\n    main: 3000000\n"));
}

#define SCOPE(profiles)                                                        \
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"," \
	"\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[" profiles "]}"
#define IN_UNIT(unit, name)                                                                   \
	"{\"type\":\"sampled\",\"name\":\"" name "\",\"unit\":\"" unit "\",\"startValue\":0," \
	"\"endValue\":9,\"samples\":[[0]],\"weights\":[3000]}"

TEST(the_unit_of_a_speedscope_file_decides)
{
	static const struct {
		const char *name, *file, *expected; /* NULL: refused */
	} cases[] = {
		{"shop", SCOPE(IN_UNIT("bytes", "t")), "memory:samples:bytes::\n    a: 3000\n"},
		{"shop", SCOPE(IN_UNIT("microseconds", "t")),
		 "process_cpu:cpu:nanoseconds:cpu:nanoseconds\n    a: 3000000\n"},
		{"shop", SCOPE(IN_UNIT("none", "t")),
		 "process_cpu:cpu:nanoseconds:cpu:nanoseconds\n    a: 30000000000\n"},
		{"shop.alloc_space", SCOPE(IN_UNIT("bytes", "t")),
		 "memory:alloc_space:bytes::\n    a: 3000\n"},
		{"shop.alloc_space", SCOPE(IN_UNIT("none", "t")),
		 "memory:alloc_space:bytes::\n    a: 3000\n"},
		{"shop.alloc_space", SCOPE(IN_UNIT("seconds", "t")), NULL},
		{"shop.cpu", SCOPE(IN_UNIT("bytes", "t")), NULL},
		{"shop.goroutines", SCOPE(IN_UNIT("bytes", "t")), NULL},
		{"shop.seconds", SCOPE(IN_UNIT("milliseconds", "t")),
		 "wall:wall:nanoseconds:cpu:nanoseconds\n    a: 3000000000\n"},
		{"shop.mutex_duration", SCOPE(IN_UNIT("microseconds", "t")),
		 "mutex:delay:nanoseconds::\n    a: 3000000\n"},
		{"shop.mutex_count", SCOPE(IN_UNIT("microseconds", "t")), NULL},
		/* Several units: each is what it is. */
		{"shop", SCOPE(IN_UNIT("bytes", "t") "," IN_UNIT("nanoseconds", "t")),
		 "wall:wall:nanoseconds:cpu:nanoseconds\n    a {thread.name=t}: 3000\n"},
		{"shop.alloc_space", SCOPE(IN_UNIT("bytes", "t") "," IN_UNIT("none", "t")), NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(recorder_release) struct recorder rec;

		CHECK_OK(recorder_init(&rec));
		if (cases[i].expected) {
			CHECK_OK(ingest(&rec, cases[i].name, "speedscope", "",
					str_of(cases[i].file)));
			CHECK(recorded(&rec, cases[i].expected));
			continue;
		}
		CHECK_ERR(ingest(&rec, cases[i].name, "speedscope", "", str_of(cases[i].file)),
			  ERR_UNPROCESSABLE);
		CHECK(strstr(rec.fault.text, "but the name of the service ends in ."));
		CHECK_INT(rec.text.n, 0);
	}
}

TEST(speedscope_time_without_a_rate_is_time)
{
	CLEANUP(recorder_release) struct recorder rec;
	struct ingest_request q = {.name = STR("shop"),
				   .format = STR("speedscope"),
				   .sample_rate = STR("0"),
				   .body = STR(SCOPE(IN_UNIT("seconds", "t")))};

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(receive_ingest(&rec.r, &q, &rec.fault));
	CHECK(recorded(&rec,
		       "process_cpu:cpu:nanoseconds:cpu:nanoseconds\n    a: 3000000000000\n"));
}

TEST(labels_beyond_the_limits_are_refused_with_the_reason)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 20);

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	buf_text(&name, "shop{");
	for (int i = 0; i < 31; i++)
		buf_printf(&name, "k%d=v,", i);
	buf_text(&name, "}");
	CHECK_ERR(ingest(&rec, name.data, "pprof", "", maker_bytes(&m, 1)), ERR_UNPROCESSABLE);
	CHECK(strstr(rec.fault.text, "more than 30 labels"));
	buf_clear(&name);
	buf_text(&name, "shop{k=");
	for (int i = 0; i < 2049; i++)
		buf_byte(&name, 'v');
	buf_text(&name, "}");
	CHECK_ERR(ingest(&rec, name.data, "pprof", "", maker_bytes(&m, 1)), ERR_UNPROCESSABLE);
	CHECK(strstr(rec.fault.text, "2049 bytes"));
	CHECK_ERR(ingest(&rec, "shop{k=\xff}", "pprof", "", maker_bytes(&m, 1)), ERR_UNPROCESSABLE);
}

TEST(what_the_sink_refuses_comes_back_with_its_reason)
{
	CLEANUP(recorder_release) struct recorder rec;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(maker_cpu(&m));
	rec.fail = ERR_BAD_ARGUMENT;
	CHECK_ERR(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)), ERR_UNPROCESSABLE);
	CHECK_STR(str_of(rec.fault.text), "the sink says no");
	rec.fail = ERR_BUSY;
	CHECK_ERR(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)), ERR_BUSY);
	rec.fail = ERR_NO_SPACE;
	CHECK_ERR(ingest(&rec, "shop", "pprof", "", maker_bytes(&m, 1)), ERR_NO_SPACE);
}

static enum err sweep(struct str body, const char *format, const char *type)
{
	struct recorder rec;
	enum err e = recorder_init(&rec);

	if (!e)
		e = ingest(&rec, "shop{region=eu}", format, type, body);
	recorder_release(&rec);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(maker_release) struct maker m;
	CLEANUP(buf_release) struct buf form = BUF_INIT(1 << 20);
	static const char tree[] = "\x00\x00\x01\x01"
				   "a\x02\x00";

	CHECK_OK(maker_init(&m));
	maker_type(&m, "inuse_space bytes");
	ROW(&m, "main;a", "span_id=00f067aa0ba902b7,pod=p1,bytes=#32", 1);
	ROW(&m, "main;b", "pod=p2,endpoint=/x", 2);
	put_part(&form, "profile", maker_bytes(&m, 1));
	put_part(&form, "sample_type_config",
		 STR("{\"inuse_space\":{\"display-name\":\"inuse_space\"}}"));
	buf_text(&form, "--frontier--\r\n");
	ALLOC_SWEEP(sweep(buf_view(&form), "", FORM));
	ALLOC_SWEEP(sweep(STR("a;b 3\na;c 4\n"), "", ""));
	ALLOC_SWEEP(sweep(STR("a;b\na;c\n"), "lines", ""));
	ALLOC_SWEEP(sweep(str_n(tree, 7), "tree", ""));
	ALLOC_SWEEP(sweep(str_n(tree, 7), "trie", ""));
}
