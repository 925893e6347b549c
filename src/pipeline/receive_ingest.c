/*
 * POST /ingest: parameters, and which reader gets the body. What goes wrong with the parameters is
 * ERR_BAD_ARGUMENT (400), what goes wrong with the body ERR_UNPROCESSABLE (422).
 */
#include "base/clock.h"
#include "pipeline/ingest.h"
#include "pipeline/multipart.h"

#define DEFAULT_RATE 100
#define YEAR_NS	     (365LL * 86400 * 1000000000)

enum err ingest_labels(struct ingest *in, struct str service, bool app, struct fault *fault)
{
	struct series_labels *labels = &in->labels;

	series_labels_init(labels, &in->r->limits);
	for (size_t i = 0; i < in->name.n; i++)
		TRY(series_labels_add(labels, in->name.v[i].name, in->name.v[i].value, fault));
	if (!series_labels_get(labels, STR("service_name")).p)
		TRY(series_labels_add(labels, STR("service_name"), service, fault));
	else if (app)
		TRY(series_labels_add(labels, STR("app_name"), service, fault));
	return series_labels_add(labels, STR("pyroscope_spy"), in->spy, fault);
}

void ingest_window(const struct ingest *in, const struct profile *p, bool own, struct address *to)
{
	int64_t length = in->until_ns - in->from_ns;
	int64_t from = in->request->from.n ? in->from_ns : 0;

	/* Some clients wrote microseconds or nothing there. */
	if (own && p->time_ns >= YEAR_NS)
		from = p->time_ns;
	if (p->duration_ns > 0 && (own || length <= 0))
		length = p->duration_ns;
	address_when(to, from, length, in->until_ns);
}

enum err ingest_form(struct ingest *in, const char *const *names, struct str *ret, size_t n,
		     struct fault *fault)
{
	struct multipart_part part;
	struct multipart m;

	memset(ret, 0, n * sizeof(*ret));
	TRY(multipart_init(&m, in->request->content_type, in->request->body, fault));
	while (multipart_next(&m, &part))
		for (size_t i = 0; i < n; i++)
			if (!ret[i].p && str_eq(part.name, str_of(names[i])))
				ret[i] = part.body;
	if (m.failed)
		return fault_set(fault, ERR_CORRUPT,
				 "the form ends inside a part, or has more than %d",
				 MULTIPART_MAX_PARTS);
	return ERR_OK;
}

static enum err read_parameters(struct ingest *in, struct fault *fault)
{
	const struct ingest_request *q = in->request;
	int64_t now = in->r->now_ns, rate;

	TRY(ingest_name_parse(q->name, &in->name, fault));
	in->from_ns = q->from.n ? ingest_time_parse(q->from, now) : now;
	in->until_ns = q->until.n ? ingest_time_parse(q->until, now) : now;
	in->sample_rate = DEFAULT_RATE;
	if (str_to_i64(q->sample_rate, &rate) == ERR_OK && rate >= 0) {
		if (rate > NS_PER_S)
			return fault_set(
				fault, ERR_BAD_ARGUMENT,
				"sampleRate: expected at most 1000000000 samples a second");
		in->sample_rate = (uint32_t)rate;
	}
	in->spy = q->spy_name.n ? q->spy_name : STR("unknown");
	return ERR_OK;
}

static enum err read_body(struct ingest *in, struct fault *fault)
{
	struct str format = in->request->format, type = in->request->content_type;

	if (str_eq(format, STR("trie")) || str_eq(type, STR("binary/octet-stream+trie")))
		return ingest_text(in, INGEST_TRIE, fault);
	if (str_eq(format, STR("tree")) || str_eq(type, STR("binary/octet-stream+tree")))
		return ingest_text(in, INGEST_TREE, fault);
	if (str_eq(format, STR("lines")))
		return ingest_text(in, INGEST_LINES, fault);
	if (str_eq(format, STR("jfr")))
		return ingest_jfr(in, fault);
	/* Even when the body is a form: clients that send one leave the format out. */
	if (str_eq(format, STR("pprof")))
		return ingest_pprof(in, false, fault);
	if (str_eq(format, STR("speedscope")))
		return ingest_text(in, INGEST_SPEEDSCOPE, fault);
	if (multipart_is(type))
		return ingest_pprof(in, true, fault);
	return ingest_text(in, INGEST_GROUPS, fault);
}

static enum err as_unprocessable(enum err e, struct fault *fault)
{
	if (!is_rejection(e) || e == ERR_TOO_LARGE || err_http(e) == 429)
		return e;
	if (fault)
		fault->code = ERR_UNPROCESSABLE;
	return ERR_UNPROCESSABLE;
}

enum err receive_ingest(struct receive *r, const struct ingest_request *request,
			struct fault *fault)
{
	struct ingest in;
	enum err e;

	in.r = r;
	in.request = request;
	TRY(read_parameters(&in, fault));
	arena_init(&in.arena, (size_t)64 << 20);
	e = read_body(&in, fault);
	arena_release(&in.arena);
	return as_unprocessable(e, fault);
}
