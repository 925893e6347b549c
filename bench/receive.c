/*
 * The cost of receivers beyond decoding: the same pprof uploads through /ingest (as a form, like
 * the Go client), through Push, and decoded only, each with a warm dictionary.
 *
 *	receive FILE...     prints a line of JSON: microseconds per upload, minimum of all rounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "pipeline/pipeline.h"

#define ROUNDS 15
#define NAME                                                                          \
	"checkout{__session_id__=77e425ea48b3919f,commit=abc123,otel.scope.name="     \
	"com.grafana.pyroscope/go,otel.scope.version=v1.4.3,process.runtime.name=go," \
	"process.runtime.version=go1.26.8,region=eu-west}"

struct upload {
	struct buf pprof, form, push;
};

static struct dict warm;
static uint64_t rows;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "receive: %s: %s\n", what, why);
	exit(1);
}

static enum err give_dictionary(void *context, struct str service, struct dict **ret,
				struct fault *fault)
{
	(void)context;
	(void)service;
	(void)fault;
	*ret = &warm;
	return ERR_OK;
}

static enum err take_profile(void *context, const struct series_profile *p, struct fault *fault)
{
	(void)context;
	(void)fault;
	rows += p->profile->row_count;
	return ERR_OK;
}

static struct receive new_request(void)
{
	return (struct receive){
		.sink = {.seed = 1, .dictionary = give_dictionary, .profile = take_profile},
		.limits = receive_limits_default,
		.now_ns = 1700000000000000000};
}

static void decode(const struct upload *u)
{
	struct profile_list list = {0};
	struct reading out = {.dict = &warm, .list = &list, .limits = LIMITS_DEFAULT};

	if (format_read(buf_view(&u->pprof), &formats[FORMAT_PPROF], &out, NULL))
		die("decode", out.fault.text);
	profile_list_release(&list);
	notes_release(&out.notes);
}

static void ingest(const struct upload *u)
{
	const struct ingest_request q = {.name = STR(NAME),
					 .from = STR("1700000000000000000"),
					 .until = STR("1700000015000000000"),
					 .spy_name = STR("gospy"),
					 .sample_rate = STR("100"),
					 .content_type = STR("multipart/form-data; boundary=b0b"),
					 .body = buf_view(&u->form)};
	struct receive r = new_request();
	struct fault fault;

	if (receive_ingest(&r, &q, &fault))
		die("ingest", fault.text);
	received_release(&r.result);
}

static void push(const struct upload *u)
{
	struct receive r = new_request();
	struct fault fault;

	if (receive_push(&r, buf_view(&u->push), false, &fault))
		die("push", fault.text);
	received_release(&r.result);
}

static void put_label(struct buf *b, struct str name, struct str value)
{
	size_t m = pb_begin(b, 1);

	pb_put_bytes(b, 1, name);
	pb_put_bytes(b, 2, value);
	pb_end(b, m);
}

static void prepare(struct upload *u, const char *path)
{
	const size_t ceiling = (size_t)64 << 20;
	struct fault fault;
	size_t series, sample;

	*u = (struct upload){BUF_INIT(ceiling), BUF_INIT(ceiling), BUF_INIT(ceiling)};
	if (file_read(path, &u->pprof, &fault))
		die(path, fault.text);
	buf_text(&u->form, "--b0b\r\nContent-Disposition: form-data; name=\"profile\"; "
			   "filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream"
			   "\r\n\r\n");
	buf_str(&u->form, buf_view(&u->pprof));
	buf_text(&u->form, "\r\n--b0b--\r\n");
	series = pb_begin(&u->push, 1);
	put_label(&u->push, STR("__name__"), STR("process_cpu"));
	put_label(&u->push, STR("service_name"), STR("checkout"));
	put_label(&u->push, STR("region"), STR("eu-west"));
	sample = pb_begin(&u->push, 2);
	pb_put_bytes(&u->push, 1, buf_view(&u->pprof));
	pb_end(&u->push, sample);
	pb_end(&u->push, series);
}

static double measure(void (*run)(const struct upload *), const struct upload *all, size_t n)
{
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		struct timespec a, b;
		double used;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (size_t i = 0; i < n; i++)
			run(&all[i]);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		used = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
		if (used / (double)n < best)
			best = used / (double)n;
	}
	return best;
}

int main(int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	struct upload *all = calloc(n + 1, sizeof(*all));
	double decoded, ingested, pushed;

	if (!n || !all || dict_init(&warm, 1))
		die("usage", "receive FILE...");
	for (size_t i = 0; i < n; i++)
		prepare(&all[i], argv[i + 1]);
	decoded = measure(decode, all, n);
	ingested = measure(ingest, all, n);
	pushed = measure(push, all, n);
	printf("{\"bench\":\"receive\",\"uploads\":%zu,\"rows\":%.0f,\"decode_us\":%.1f,"
	       "\"ingest_us\":%.1f,\"push_us\":%.1f}\n",
	       n, (double)rows / (2.0 * ROUNDS * (double)n), decoded, ingested, pushed);
	return 0;
}
