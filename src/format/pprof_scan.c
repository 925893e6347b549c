/*
 * The first pass over a pprof file: where everything stands. Strings come last on the wire, so
 * nothing can be resolved before this pass has ended.
 */
#include "format/pprof.h"

#include <stdarg.h>
#include <stdio.h>

#define BYTES_PER_ENTRY 64
#define MAX_EXPECTED	65536

enum err pprof_fault(struct pprof_file *f, enum err e, const void *at, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!at)
		return fault_set(&f->out->fault, e, "pprof: %s", text);
	return fault_set(&f->out->fault, e, "pprof: %s (byte %zu)", text,
			 (size_t)((const char *)at - f->bytes.p));
}

static enum err add_span(struct pprof_file *f, struct spans *spans, const struct pb *c,
			 const char *what)
{
	struct span span = {(uint32_t)(c->bytes.p - f->bytes.p), (uint32_t)c->bytes.n};

	if (c->type != PB_BYTES)
		return pprof_fault(f, ERR_CORRUPT, c->field_start,
				   "Profile.%s has wire type %d, expected a message or string",
				   what, (int)c->type);
	if (spans->n >= f->out->limits.max_entries)
		return pprof_fault(f, ERR_TOO_LARGE, c->field_start,
				   "more than %zu entries in Profile.%s", spans->n, what);
	return vec_push(spans, span);
}

static enum err scan_scalar(struct pprof_file *f, const struct pb *c)
{
	if (c->type != PB_VARINT)
		return pprof_fault(f, ERR_CORRUPT, c->field_start,
				   "Profile field %u has wire type %d, expected a number", c->field,
				   (int)c->type);
	switch (c->field) {
	case PPROF_DROP_FRAMES:
		f->drop_frames = c->value;
		break;
	case PPROF_KEEP_FRAMES:
		f->keep_frames = c->value;
		break;
	case PPROF_TIME_NANOS:
		f->time_ns = (int64_t)c->value;
		break;
	case PPROF_DURATION_NANOS:
		f->duration_ns = (int64_t)c->value;
		break;
	case PPROF_PERIOD:
		f->period = (int64_t)c->value;
		break;
	case PPROF_DEFAULT_SAMPLE_TYPE:
		f->default_type = c->value;
		break;
	case PPROF_DOC_URL:
		f->doc_url = c->value;
		break;
	}
	return ERR_OK;
}

static enum err scan_comments(struct pprof_file *f, const struct pb *c)
{
	struct pb_packed run = pb_packed_of(c);
	uint64_t index;

	while (pb_packed_next(&run, &index)) {
		if (f->comments.n >= f->out->limits.max_entries)
			return pprof_fault(f, ERR_TOO_LARGE, c->field_start, "too many comments");
		TRY(vec_push(&f->comments, index));
	}
	if (run.failed)
		return pprof_fault(f, ERR_TRUNCATED, c->field_start,
				   "Profile.comment ends inside a number");
	return ERR_OK;
}

static enum err scan_period_type(struct pprof_file *f, const struct pb *c)
{
	if (c->type != PB_BYTES)
		return pprof_fault(f, ERR_CORRUPT, c->field_start,
				   "Profile.period_type has wire type %d, expected a message",
				   (int)c->type);
	f->period_type = (struct span){(uint32_t)(c->bytes.p - f->bytes.p), (uint32_t)c->bytes.n};
	f->has_period_type = true;
	return ERR_OK;
}

static enum err scan_field(struct pprof_file *f, const struct pb *c)
{
	switch (c->field) {
	case PPROF_SAMPLE_TYPE:
		return add_span(f, &f->sample_types, c, "sample_type");
	case PPROF_SAMPLE:
		return add_span(f, &f->samples, c, "sample");
	case PPROF_MAPPING:
		return add_span(f, &f->mappings, c, "mapping");
	case PPROF_LOCATION:
		return add_span(f, &f->locations, c, "location");
	case PPROF_FUNCTION:
		return add_span(f, &f->functions, c, "function");
	case PPROF_STRING_TABLE:
		return add_span(f, &f->strings, c, "string_table");
	case PPROF_PERIOD_TYPE:
		return scan_period_type(f, c);
	case PPROF_COMMENT:
		return scan_comments(f, c);
	case PPROF_DROP_FRAMES:
	case PPROF_KEEP_FRAMES:
	case PPROF_TIME_NANOS:
	case PPROF_DURATION_NANOS:
	case PPROF_PERIOD:
	case PPROF_DEFAULT_SAMPLE_TYPE:
	case PPROF_DOC_URL:
		return scan_scalar(f, c);
	default:
		return ERR_OK;
	}
}

/* Which array an embedded message or string goes to, by field; the common ones skip the switch. */
static struct spans *spans_of(struct pprof_file *f, unsigned field)
{
	switch (field) {
	case PPROF_SAMPLE:
		return &f->samples;
	case PPROF_LOCATION:
		return &f->locations;
	case PPROF_FUNCTION:
		return &f->functions;
	case PPROF_STRING_TABLE:
		return &f->strings;
	default:
		return NULL;
	}
}

/* Runs of one field, entries below 128 or 16,384 bytes: nearly the whole file. Stops at anything
 * else, which the general loop then takes. */
static enum err scan_run(struct pprof_file *f, struct pb *c)
{
	const uint8_t *p = c->p, *end = c->end;
	size_t ceiling = f->out->limits.max_entries;
	struct spans *spans;
	uint8_t tag;

	if (p == end || (*p & 7) != PB_BYTES)
		return ERR_OK;
	tag = *p;
	spans = spans_of(f, tag >> 3);
	while (spans && end - p >= 3 && *p == tag && spans->n < ceiling) {
		size_t n = p[1], head = 2;

		if (n >= 0x80) {
			if (p[2] >= 0x80)
				break;
			n = (n & 0x7f) | (size_t)p[2] << 7;
			head = 3;
		}
		if (n > (size_t)(end - p) - head)
			break;
		p += head;
		TRY(vec_push(spans, ((struct span){(uint32_t)(p - c->start), (uint32_t)n})));
		p += n;
	}
	c->p = p;
	return ERR_OK;
}

/* Room for what a file of this size usually has, so that nothing has to be moved; more is made when
 * it is needed. */
static enum err expect_entries(struct pprof_file *f)
{
	size_t n = f->bytes.n / BYTES_PER_ENTRY;

	if (n > MAX_EXPECTED)
		n = MAX_EXPECTED;
	TRY(vec_reserve(&f->samples, n));
	TRY(vec_reserve(&f->locations, n));
	TRY(vec_reserve(&f->functions, n));
	return vec_reserve(&f->strings, n);
}

enum err pprof_scan(struct pprof_file *f)
{
	struct pb c = pb_of(f->bytes);

	if (f->bytes.n >= UINT32_MAX)
		return pprof_fault(f, ERR_TOO_LARGE, NULL, "files above 4 GiB are not read");
	TRY(expect_entries(f));
	TRY(scan_run(f, &c));
	while (pb_next(&c)) {
		TRY(scan_field(f, &c));
		TRY(scan_run(f, &c));
	}
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, c.field_start,
				   "Profile: the field that starts here is cut or malformed");
	return ERR_OK;
}
