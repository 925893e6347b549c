/*
 * Requests of the official clients, as they came over the wire (tests/fixtures/receive): a line
 * with method and path, a few headers, an empty line, the body without chunks.
 */
#include "base/file.h"
#include "recording_sink.h"

static const char *const known_labels[] = {"name",	 "from",    "until", "format",
					   "sampleRate", "spyName", "units", "aggregationType"};

struct request {
	struct buf file, query;
	struct str path, content_type, body;
	bool gzip;
	struct str values[8]; /* of the parameters above */
};

static void request_release(struct request *q)
{
	buf_release(&q->file);
	buf_release(&q->query);
}

static void put_decoded(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		uint64_t byte;

		if (s.p[i] == '%' && i + 2 < s.n && !str_to_u64(str_n(s.p + i + 1, 2), 16, &byte)) {
			buf_byte(out, (unsigned char)byte);
			i += 2;
		} else {
			buf_byte(out, s.p[i] == '+' ? ' ' : (unsigned char)s.p[i]);
		}
	}
}

static void read_query(struct request *q, struct str query)
{
	struct str part, key;
	size_t at;

	buf_reserve(&q->query, query.n + 64); /* values are slices: it must not move */
	while (str_split(&query, '&', &part)) {
		str_split(&part, '=', &key);
		at = q->query.n;
		put_decoded(&q->query, part);
		for (size_t i = 0; i < 8; i++)
			if (str_eq(key, str_of(known_labels[i])))
				q->values[i] = str_n(q->query.data + at, q->query.n - at);
	}
}

static enum err request_read(struct request *q, const char *name)
{
	char path[512];
	struct str rest, line, key;

	*q = (struct request){.file = BUF_INIT(1 << 20), .query = BUF_INIT(1 << 16)};
	snprintf(path, sizeof(path), "%s/%s.http", FIXTURES, name);
	TRY(file_read(path, &q->file, NULL));
	rest = buf_view(&q->file);
	str_split(&rest, '\n', &line);
	str_split(&line, ' ', &key);
	str_split(&line, '?', &q->path);
	read_query(q, line);
	while (str_split(&rest, '\n', &line) && line.n) {
		str_split(&line, ':', &key);
		if (key.n == 12 && strncasecmp(key.p, "content-type", 12) == 0)
			q->content_type = str_trim(line);
		if (key.n == 16 && strncasecmp(key.p, "content-encoding", 16) == 0)
			q->gzip = str_eq(str_trim(line), STR("gzip"));
	}
	q->body = rest;
	return buf_error(&q->query);
}

static enum err replay_read(struct recorder *rec, const struct request *q, struct str body)
{
	const struct ingest_request ingest = {.name = q->values[0],
					      .from = q->values[1],
					      .until = q->values[2],
					      .format = q->values[3],
					      .sample_rate = q->values[4],
					      .spy_name = q->values[5],
					      .units = q->values[6],
					      .aggregation_type = q->values[7],
					      .content_type = q->content_type,
					      .body = body};

	if (str_eq(q->path, STR("/push.v1.PusherService/Push")))
		return receive_push(&rec->r, body, false, &rec->fault);
	return receive_ingest(&rec->r, &ingest, &rec->fault);
}

static enum err replay(struct recorder *rec, const char *name)
{
	CLEANUP(request_release) struct request q;
	CLEANUP(buf_release) struct buf plain = BUF_INIT(0);
	struct limits limits = LIMITS_DEFAULT;
	const char *compression;

	TRY(request_read(&q, name));
	if (!q.gzip)
		return replay_read(rec, &q, q.body);
	TRY(decompress(q.body, &limits, &plain, &compression, &rec->fault));
	return replay_read(rec, &q, buf_view(&plain));
}

#define GO_LABELS(scope, version)                                                           \
	"{commit=abc123,otel.scope.name=com.grafana.pyroscope/" scope                       \
	",otel.scope.version=" version ",process.runtime.name=go,"                          \
	"process.runtime.version=go1.26.8,pyroscope_spy=gospy,region=eu-west,service_name=" \
	"checkout}"

TEST(the_go_client)
{
	static const struct {
		const char *name, *labels, *expected;
	} cases[] = {
		{"go-cpu", GO_LABELS("go", "v1.4.3"),
		 "  process_cpu:samples:count:cpu:nanoseconds\n"
		 "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"},
		{"go-heap", GO_LABELS("godeltaprof", "v0.1.11"),
		 "  memory:alloc_objects:count:space:bytes\n"
		 "  memory:alloc_space:bytes:space:bytes\n"
		 "  memory:inuse_objects:count:space:bytes\n"
		 "  memory:inuse_space:bytes:space:bytes\n"},
		{"go-goroutines", GO_LABELS("go", "v1.4.3"),
		 "  goroutines:goroutine:count:goroutine:count\n"},
		{"go-mutex", GO_LABELS("godeltaprof", "v0.1.11"),
		 "  mutex:contentions:count:contentions:count\n"
		 "  mutex:delay:nanoseconds:contentions:count\n"},
		{"go-block", GO_LABELS("godeltaprof", "v0.1.11"),
		 "  block:contentions:count:contentions:count\n"
		 "  block:delay:nanoseconds:contentions:count\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(recorder_release) struct recorder rec;

		CHECK_OK(recorder_init(&rec));
		CHECK_OK(replay(&rec, cases[i].name));
		CHECK(recorded(&rec, cases[i].labels));
		CHECK(recorded(&rec, cases[i].expected));
		CHECK_INT(rec.r.result.profiles, 1);
		CHECK_INT(rec.foreign, 0);
	}
}

TEST(the_go_client_links_samples_to_spans)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(replay(&rec, "go-cpu"));
	CHECK(recorded(&rec, "main.work {endpoint=/pay} "
			     "00f067aa0ba902b7/4bf92f3577b34da6a3ce929d0e0e4736: "));
}

TEST(the_node_client)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(replay(&rec, "node-wall"));
	CHECK(recorded(&rec, "{otel.scope.name=com.grafana.pyroscope/nodejs,"
			     "otel.scope.version=0.6.4,process.runtime.name=nodejs,"
			     "process.runtime.version=20.20.2,pyroscope_spy=nodespy,"
			     "region=eu-west,service_name=checkout}"));
	CHECK(recorded(&rec, "  wall:samples:count:wall:nanoseconds\n"
			     "  wall:wall:nanoseconds:wall:nanoseconds\n"
			     "  process_cpu:cpu:nanoseconds:wall:nanoseconds\n"));
	recorder_clear(&rec);
	CHECK_OK(replay(&rec, "node-heap"));
	CHECK(recorded(&rec, "memory:inuse_objects:count:inuse_space:bytes"));
	CHECK(recorded(&rec, "memory:inuse_space:bytes:inuse_space:bytes"));
}

TEST(the_python_client)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(replay(&rec, "python"));
	CHECK(recorded(&rec, "region=eu-west"));
	CHECK(recorded(&rec, "service_name=checkout"));
	CHECK(recorded(&rec, "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"));
	CHECK(recorded(&rec, "work {endpoint=/pay"));
}

/* Its tags travel as labels of samples: some make the series, others stay. */
TEST(the_old_rust_client)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(replay(&rec, "rust-0.5"));
	CHECK(recorded(&rec, "{pyroscope_spy=pyroscope-rs,region=eu-west,service_name=checkout}"));
	CHECK(recorded(&rec, "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"));
	CHECK(recorded(&rec, "endpoint=/pay"));
}

TEST(the_java_client)
{
	CLEANUP(recorder_release) struct recorder rec;

	CHECK_OK(recorder_init(&rec));
	CHECK_OK(replay(&rec, "java"));
	CHECK(recorded(&rec, "{jfr_event=itimer,otel.scope.name=com.grafana.pyroscope/java,"
			     "otel.scope.version=2.9.2,"
			     "process.runtime.name=OpenJDK Runtime Environment,"
			     "process.runtime.version=17.0.15+6-Debian-1deb12u1,"
			     "pyroscope_spy=javaspy,region=eu west,service_name=checkout}"));
	CHECK(recorded(&rec, "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"));
	CHECK(recorded(&rec, "  memory:alloc_in_new_tlab_objects:count:space:bytes\n"
			     "  memory:alloc_in_new_tlab_bytes:bytes:space:bytes\n"));
	CHECK(recorded(&rec, "Main.work"));
	/* The labels of the program stand beside the recording. */
	CHECK(recorded(&rec, "endpoint=/pay"));
	CHECK(!strstr(rec.text.data, "contextId"));
	CHECK(recorded(&rec, "Main$$Lambda_.run;"));
	CHECK(recorded(&rec, ": 10000000\n"));
}

static enum err sweep(const char *name)
{
	struct recorder rec;
	enum err e = recorder_init(&rec);

	if (!e)
		e = replay(&rec, name);
	recorder_release(&rec);
	return e;
}

TEST(every_allocation_may_fail)
{
	ALLOC_SWEEP(sweep("python"));
	ALLOC_SWEEP(sweep("go-block"));
	ALLOC_SWEEP(sweep("java"));
}
