#include "format/otlp_traces.h"

#include <stdio.h>

#include "format/otlp_fields.h"

enum { TRACES_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPES = 2 };
enum { SCOPE_SPANS_SPANS = 2 };
enum {
	SPAN_TRACE_ID = 1,
	SPAN_SPAN_ID = 2,
	SPAN_PARENT_ID = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_START = 7,
	SPAN_END = 8,
	SPAN_ATTRIBUTES = 9,
	SPAN_STATUS = 15,
};
enum { STATUS_CODE = 3 };

struct traces_reader {
	struct traces_reading *r;
	struct str service;
	struct otlp_span_attributes attributes;
};

char *otlp_span_attribute(struct otlp_span_attributes *a, struct str key, struct str value)
{
	if (a->n == OTLP_SPAN_ATTRIBUTES)
		return NULL;
	a->v[a->n] = (struct label_pair){key, value};
	return a->numbers[a->n++];
}

void otlp_span_service(struct otlp_span_attributes *a, size_t before, struct str *ret)
{
	/* A name is a text: numbers lie where the next attribute will, and others left nothing. */
	if (a->n > before && a->v[before].value.p != a->numbers[before])
		*ret = a->v[before].value;
	a->n = before;
}

enum err otlp_span_finish(struct traces_reading *r, struct otlp_span_attributes *a,
			  struct otlp_span *span)
{
	struct label_pair ordered[OTLP_SPAN_ATTRIBUTES];
	size_t own = a->n - a->resource_n;

	if (own)
		memcpy(ordered, a->v + a->resource_n, own * sizeof(*ordered));
	if (a->resource_n)
		memcpy(ordered + own, a->v, a->resource_n * sizeof(*ordered));
	span->attributes = ordered;
	span->attribute_count = a->n;
	a->n = a->resource_n;
	return r->span(r->context, span, &r->fault);
}

static enum err malformed(struct traces_reader *t, const struct pb *c, const char *what)
{
	return fault_set(&t->r->fault, ERR_CORRUPT, "%s is cut or malformed at byte %zu", what,
			 pb_offset(c));
}

static enum err wrong_type(struct traces_reader *t, const struct pb *c, const char *what)
{
	return fault_set(&t->r->fault, ERR_CORRUPT, "%s (field %u) at byte %zu has a wrong type",
			 what, c->field, pb_offset(c));
}

static void add_number(struct otlp_span_attributes *a, struct str key, const char *format, ...)
	PRINTF_LIKE(3, 4);
static void add_number(struct otlp_span_attributes *a, struct str key, const char *format, ...)
{
	char *text = otlp_span_attribute(a, key, STR(""));
	va_list args;

	if (!text)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(a->numbers[0]), format, args);
	va_end(args);
	a->v[a->n - 1].value = str_of(text);
}

static enum err read_value(struct traces_reader *t, struct str key, const struct pb *at)
{
	struct otlp_span_attributes *a = &t->attributes;
	struct pb c = pb_sub(at);
	double real;

	while (pb_next(&c)) {
		if (c.field == ANY_FIELD_STRING && c.type == PB_BYTES)
			(void)otlp_span_attribute(a, key, c.bytes);
		else if (c.field == ANY_FIELD_BOOL && c.type == PB_VARINT)
			add_number(a, key, "%s", c.value ? "true" : "false");
		else if (c.field == ANY_FIELD_INT && c.type == PB_VARINT)
			add_number(a, key, "%lld", (long long)c.value);
		else if (c.field == ANY_FIELD_DOUBLE && c.type == PB_FIXED64) {
			memcpy(&real, &c.value, sizeof(real));
			add_number(a, key, "%.17g", real);
		}
	}
	return c.failed ? malformed(t, &c, "AnyValue") : ERR_OK;
}

/* One KeyValue; the key may come after the value. */
static enum err read_pair(struct traces_reader *t, const struct pb *at, bool resource)
{
	struct pb c = pb_sub(at), value = {0};
	struct str key = {NULL, 0};
	size_t before = t->attributes.n;

	while (pb_next(&c)) {
		if (c.type != PB_BYTES)
			continue;
		if (c.field == PAIR_KEY)
			key = c.bytes;
		else if (c.field == PAIR_VALUE)
			value = c;
	}
	if (c.failed)
		return malformed(t, &c, "KeyValue");
	if (!value.bytes.p || !key.n)
		return ERR_OK;
	if (resource && str_eq(key, STR("service.name"))) {
		TRY(read_value(t, key, &value));
		otlp_span_service(&t->attributes, before, &t->service);
		return ERR_OK;
	}
	return t->r->wanted(key, resource) ? read_value(t, key, &value) : ERR_OK;
}

static enum err read_resource(struct traces_reader *t, const struct pb *at)
{
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field != RESOURCE_ATTRIBUTES)
			continue;
		if (c.type != PB_BYTES)
			return wrong_type(t, &c, "Resource.attributes");
		TRY(read_pair(t, &c, true));
	}
	return c.failed ? malformed(t, &c, "Resource") : ERR_OK;
}

static uint32_t status_code(const struct pb *at)
{
	struct pb c = pb_sub(at);
	uint32_t code = 0;

	while (pb_next(&c))
		if (c.field == STATUS_CODE && c.type == PB_VARINT)
			code = (uint32_t)c.value;
	return code;
}

static enum err read_field(struct traces_reader *t, const struct pb *c, struct otlp_span *s)
{
	if (c->field == SPAN_KIND ? c->type != PB_VARINT
	    : c->field == SPAN_START || c->field == SPAN_END
		    ? c->type != PB_FIXED64
		    : c->field <= SPAN_ATTRIBUTES && c->type != PB_BYTES)
		return wrong_type(t, c, "Span");
	switch (c->field) {
	case SPAN_TRACE_ID:
		s->trace_id = c->bytes;
		break;
	case SPAN_SPAN_ID:
		s->span_id = c->bytes;
		break;
	case SPAN_PARENT_ID:
		s->parent_id = c->bytes;
		break;
	case SPAN_NAME:
		s->operation = c->bytes;
		break;
	case SPAN_KIND:
		s->kind = (uint32_t)c->value;
		break;
	case SPAN_START:
		s->start_ns = c->value;
		break;
	case SPAN_END:
		s->end_ns = c->value;
		break;
	case SPAN_ATTRIBUTES:
		return read_pair(t, c, false);
	case SPAN_STATUS:
		if (c->type == PB_BYTES)
			s->status = status_code(c);
		break;
	}
	return ERR_OK;
}

static enum err read_span(struct traces_reader *t, const struct pb *at)
{
	struct otlp_span span = {.service = t->service};
	struct pb c = pb_sub(at);

	while (pb_next(&c))
		TRY(read_field(t, &c, &span));
	if (c.failed)
		return malformed(t, &c, "Span");
	return otlp_span_finish(t->r, &t->attributes, &span);
}

static enum err read_scope(struct traces_reader *t, const struct pb *at)
{
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field != SCOPE_SPANS_SPANS)
			continue;
		if (c.type != PB_BYTES)
			return wrong_type(t, &c, "ScopeSpans.spans");
		TRY(read_span(t, &c));
	}
	return c.failed ? malformed(t, &c, "ScopeSpans") : ERR_OK;
}

/* Two passes, because the resource may come after its spans. */
static enum err read_resource_spans(struct traces_reader *t, const struct pb *at)
{
	struct pb c = pb_sub(at);

	t->service = (struct str){NULL, 0};
	t->attributes.n = t->attributes.resource_n = 0;
	while (pb_next(&c))
		if (c.field == RESOURCE_SPANS_RESOURCE && c.type == PB_BYTES)
			TRY(read_resource(t, &c));
	if (c.failed)
		return malformed(t, &c, "ResourceSpans");
	t->attributes.resource_n = t->attributes.n;
	c = pb_sub(at);
	while (pb_next(&c))
		if (c.field == RESOURCE_SPANS_SCOPES && c.type == PB_BYTES)
			TRY(read_scope(t, &c));
	return ERR_OK;
}

enum err otlp_traces_read(struct str bytes, struct traces_reading *r)
{
	struct traces_reader t = {.r = r};
	struct pb c = pb_of(bytes);

	while (pb_next(&c)) {
		if (c.field != TRACES_RESOURCE_SPANS)
			continue;
		if (c.type != PB_BYTES)
			return wrong_type(&t, &c, "resource_spans");
		TRY(read_resource_spans(&t, &c));
	}
	return c.failed ? malformed(&t, &c, "the request") : ERR_OK;
}
