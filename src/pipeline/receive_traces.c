/*
 * Spans of traces, kept to find the profiles of a request: who, what, when, and a few attributes
 * that say which kind of request it was. Bodies, statements and headers of requests stay out.
 */
#include "pipeline/hand_over.h"

#define MAX_ATTRIBUTES 32

/* Attributes of spans by name, or by the beginning of it when it ends in a dot. */
static const char *const span_keys[] = {
	"http.request.method",
	"http.response.status_code",
	"http.route",
	"http.method",
	"http.status_code",
	"http.target",
	"url.path",
	"url.scheme",
	"server.address",
	"server.port",
	"rpc.",
	"db.system",
	"db.system.name",
	"db.operation",
	"db.operation.name",
	"db.name",
	"db.namespace",
	"db.collection.name",
	"db.query.summary",
	"messaging.system",
	"messaging.operation",
	"messaging.operation.name",
	"messaging.operation.type",
	"messaging.destination.name",
	"faas.name",
	"faas.trigger",
	"graphql.operation.",
	"code.",
	"thread.",
	"error.type",
	"exception.type",
	"otel.status_code",
	"peer.service",
	"pyroscope.profile.id",
};

static const char *const resource_keys[] = {
	"service.version",
	"service.namespace",
	"service.instance.id",
	"deployment.environment",
	"deployment.environment.name",
	"host.name",
	"process.pid",
	"container.id",
	"k8s.namespace.name",
	"k8s.pod.name",
	"k8s.container.name",
	"cloud.region",
};

static bool in_list(struct str key, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct str known = str_of(list[i]);

		if (known.p[known.n - 1] == '.' ? str_starts(key, known) : str_eq(key, known))
			return true;
	}
	return false;
}

static bool wanted(struct str key, bool resource)
{
	if (resource)
		return in_list(key, resource_keys,
			       sizeof(resource_keys) / sizeof(resource_keys[0]));
	return in_list(key, span_keys, sizeof(span_keys) / sizeof(span_keys[0]));
}

struct tracing {
	struct receive *r;
	enum err first; /* of what was rejected */
};

/* As much of a text as may be kept, whole code points; empty when it is not UTF-8. */
static struct str cut(struct str s, size_t n)
{
	if (s.n > n) {
		while (n && (s.p[n] & 0xc0) == 0x80)
			n--;
		s.n = n;
	}
	return utf8_valid(s) ? s : STR("");
}

static bool is_zero(struct str id)
{
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i])
			return false;
	return true;
}

static enum err check_ids(const struct otlp_span *s, struct fault *fault)
{
	if (s->trace_id.n != 16 || is_zero(s->trace_id))
		return fault_set(fault, ERR_CORRUPT,
				 "a span has a trace id of %zu bytes, or of zeros: expected 16",
				 s->trace_id.n);
	if (s->span_id.n != 8 || is_zero(s->span_id))
		return fault_set(fault, ERR_CORRUPT,
				 "a span has a span id of %zu bytes, or of zeros: expected 8",
				 s->span_id.n);
	return ERR_OK;
}

static int64_t clamp(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static enum err keep_span(struct tracing *t, const struct otlp_span *s, struct fault *fault)
{
	const struct receive_limits *limits = &t->r->limits;
	struct label_pair attributes[MAX_ATTRIBUTES];
	struct trace_span span = {.kind = s->kind, .status = s->status, .attributes = attributes};

	TRY(check_ids(s, fault));
	memcpy(span.trace_id, s->trace_id.p, sizeof(span.trace_id));
	memcpy(span.span_id, s->span_id.p, sizeof(span.span_id));
	if (s->parent_id.n == sizeof(span.parent_id))
		memcpy(span.parent_id, s->parent_id.p, sizeof(span.parent_id));
	span.service = cut(s->service, limits->max_label_value);
	if (!span.service.n)
		span.service = STR(UNKNOWN_SERVICE);
	span.operation = cut(s->operation, limits->max_label_value);
	span.start_ns = s->start_ns ? clamp(s->start_ns) : t->r->now_ns;
	if (s->end_ns > s->start_ns && s->start_ns)
		span.duration_ns = clamp(s->end_ns - s->start_ns);
	for (size_t i = 0; i < s->attribute_count && span.attribute_count < MAX_ATTRIBUTES; i++) {
		struct label_pair pair = {cut(s->attributes[i].name, limits->max_label_name),
					  cut(s->attributes[i].value, limits->max_label_value)};

		if (pair.name.n && pair.value.n)
			attributes[span.attribute_count++] = pair;
	}
	return t->r->sink.span(t->r->sink.context, &span, fault);
}

static enum err take_span(void *context, const struct otlp_span *s, struct fault *fault)
{
	struct tracing *t = context;
	struct fault reason = {0};
	enum err e = keep_span(t, s, &reason);

	if (!e) {
		t->r->result.spans++;
		return ERR_OK;
	}
	if (is_rejection(e)) {
		if (!t->first)
			t->first = e;
		reject(t->r, 1, e, &reason);
		return ERR_OK;
	}
	*fault = reason;
	return e;
}

enum err receive_otlp_traces(struct receive *r, struct str body, bool json, struct fault *fault)
{
	struct tracing t = {.r = r};
	struct traces_reading reading = {
		.limits = r->limits.format, .context = &t, .wanted = wanted, .span = take_span};
	enum err e = ERR_OK;

	if (body.n)
		e = json ? otlp_traces_read_json(body, &reading) : otlp_traces_read(body, &reading);
	if (e && !reading.fault.text[0])
		(void)fault_set(&reading.fault, e, "%s", err_text(e));
	if (!e && t.first && !r->result.spans) {
		e = t.first;
		reading.fault = r->result.reason;
	}
	if (e && fault)
		*fault = reading.fault;
	return e;
}
