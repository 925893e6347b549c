/*
 * OTLP profiles to protobuf, in the layout of proto 1.10: the tables of otlp_plan, field by field.
 * Keys and values of resources are written in place and not as references, because receivers of
 * 2026 lose the references there. Default values are left out.
 */
#include "format/formats_internal.h"
#include "format/otlp_fields.h"
#include "format/otlp_tables.h"
#include "format/protobuf.h"

static void put_uint(struct buf *b, uint32_t field, uint64_t value)
{
	if (value)
		pb_put_uint(b, field, value);
}

static void put_int(struct buf *b, uint32_t field, int64_t value)
{
	put_uint(b, field, (uint64_t)value);
}

static void put_bytes(struct buf *b, uint32_t field, struct str bytes)
{
	if (bytes.n)
		pb_put_bytes(b, field, bytes);
}

static void put_indices(struct buf *b, uint32_t field, const struct otlp_tables *t,
			struct otlp_range range)
{
	/* Those of a plan are never negative. */
	if (range.n)
		pb_put_packed(b, field, (const uint32_t *)t->indices.v + range.at, range.n);
}

static void put_pair(struct buf *b, uint32_t field, const struct otlp_pair *pair);

static void put_any(struct buf *b, uint32_t field, const struct otlp_any *v)
{
	size_t mark = pb_begin(b, field), inner;
	uint64_t bits;

	switch (v->type) {
	case ANY_EMPTY:
		break;
	case ANY_STRING:
		pb_put_bytes(b, ANY_FIELD_STRING, v->text);
		break;
	case ANY_BOOL:
		pb_put_uint(b, ANY_FIELD_BOOL, v->number != 0);
		break;
	case ANY_INT:
		pb_put_int(b, ANY_FIELD_INT, v->number);
		break;
	case ANY_DOUBLE:
		memcpy(&bits, &v->real, sizeof(bits));
		pb_put_fixed64(b, ANY_FIELD_DOUBLE, bits);
		break;
	case ANY_ARRAY:
		inner = pb_begin(b, ANY_FIELD_ARRAY);
		for (uint32_t i = 0; i < v->n; i++)
			put_any(b, VALUES_VALUES, &v->items[i]);
		pb_end(b, inner);
		break;
	case ANY_LIST:
		inner = pb_begin(b, ANY_FIELD_LIST);
		for (uint32_t i = 0; i < v->n; i++)
			put_pair(b, VALUES_VALUES, &v->pairs[i]);
		pb_end(b, inner);
		break;
	case ANY_BYTES:
		pb_put_bytes(b, ANY_FIELD_BYTES, v->text);
		break;
	}
	pb_end(b, mark);
}

static void put_pair(struct buf *b, uint32_t field, const struct otlp_pair *pair)
{
	size_t mark = pb_begin(b, field);

	put_bytes(b, PAIR_KEY, pair->key);
	put_any(b, PAIR_VALUE, &pair->value);
	pb_end(b, mark);
}

static void put_value_type(struct buf *b, uint32_t field, struct otlp_value_type type)
{
	size_t mark;

	if (!type.type && !type.unit)
		return;
	mark = pb_begin(b, field);
	put_int(b, VALUE_TYPE_TYPE, type.type);
	put_int(b, VALUE_TYPE_UNIT, type.unit);
	pb_end(b, mark);
}

static void put_raw64(struct buf *b, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	buf_append(b, bytes, sizeof(bytes));
}

/* A stack and one value, as nearly all are. */
static void put_usual_sample(struct buf *b, int32_t stack, int64_t value)
{
	char *at = buf_reserve(b, 4 * PB_RAW_ROOM), *length, *start;

	if (!at)
		return;
	*at++ = PROFILE_SAMPLES << 3 | PB_BYTES;
	length = at++;
	at = pb_raw_uint(at, SAMPLE_STACK, (uint32_t)stack);
	*at++ = SAMPLE_VALUES << 3 | PB_BYTES;
	start = at++;
	at = pb_raw_varint(at, (uint64_t)value);
	*start = (char)(at - start - 1);
	*length = (char)(at - length - 1);
	pb_raw_done(b, at);
}

static void put_sample(struct buf *b, const struct otlp_tables *t, const struct otlp_sample *s)
{
	size_t mark = pb_begin(b, PROFILE_SAMPLES), packed;

	put_int(b, SAMPLE_STACK, s->stack);
	put_indices(b, SAMPLE_ATTRIBUTES, t, s->attributes);
	put_int(b, SAMPLE_LINK, s->link);
	if (s->values.n) {
		packed = pb_begin(b, SAMPLE_VALUES);
		for (uint32_t i = 0; i < s->values.n; i++)
			pb_put_varint(b, (uint64_t)t->values.v[s->values.at + i]);
		pb_end(b, packed);
	}
	if (s->times.n) {
		pb_put_tag(b, SAMPLE_TIMES, PB_BYTES);
		pb_put_varint(b, (uint64_t)s->times.n * 8);
		for (uint32_t i = 0; i < s->times.n; i++)
			put_raw64(b, t->times.v[s->times.at + i]);
	}
	pb_end(b, mark);
}

/* Bytes of so many samples: a stack and a value each. */
static size_t about(size_t samples)
{
	return samples * 10;
}

static void put_profile(struct buf *b, const struct otlp_tables *t, const struct otlp_profile *p)
{
	size_t guess = about(p->samples.n),
	       mark = pb_begin_about(b, SCOPE_PROFILES_PROFILES, guess);

	put_value_type(b, PROFILE_SAMPLE_TYPE, p->sample_type);
	for (uint32_t i = 0; i < p->samples.n; i++) {
		const struct otlp_sample *s = &t->samples.v[p->samples.at + i];

		if (s->values.n == 1 && !s->attributes.n && !s->link && !s->times.n)
			put_usual_sample(b, s->stack, t->values.v[s->values.at]);
		else
			put_sample(b, t, s);
	}
	if (p->time)
		pb_put_fixed64(b, PROFILE_TIME, p->time);
	put_uint(b, PROFILE_DURATION, p->duration);
	put_value_type(b, PROFILE_PERIOD_TYPE, p->period_type);
	put_int(b, PROFILE_PERIOD, p->period);
	put_bytes(b, PROFILE_ID, p->id);
	put_uint(b, PROFILE_DROPPED, p->dropped_attributes);
	put_bytes(b, PROFILE_PAYLOAD_FORMAT, p->payload_format);
	put_bytes(b, PROFILE_PAYLOAD, p->payload);
	put_indices(b, PROFILE_ATTRIBUTES, t, p->attributes);
	pb_end_about(b, mark, guess);
}

static void put_scope(struct buf *b, const struct otlp_tables *t, const struct otlp_scope *s)
{
	size_t guess = about(t->samples.n),
	       mark = pb_begin_about(b, RESOURCE_PROFILES_SCOPES, guess);
	size_t scope = pb_begin(b, SCOPE_PROFILES_SCOPE);

	put_bytes(b, SCOPE_NAME, s->name);
	put_bytes(b, SCOPE_VERSION, s->version);
	for (uint32_t i = 0; i < s->attribute_count; i++)
		put_pair(b, SCOPE_ATTRIBUTES, &s->attributes[i]);
	put_uint(b, SCOPE_DROPPED, s->dropped_attributes);
	pb_end(b, scope);
	for (uint32_t i = 0; i < s->profiles.n; i++)
		put_profile(b, t, &t->profiles.v[s->profiles.at + i]);
	put_bytes(b, SCOPE_PROFILES_SCHEMA_URL, s->schema_url);
	pb_end_about(b, mark, guess);
}

static void put_resource(struct buf *b, const struct otlp_tables *t, const struct otlp_resource *r)
{
	size_t guess = about(t->samples.n), mark = pb_begin_about(b, DATA_RESOURCE_PROFILES, guess);
	size_t resource = pb_begin(b, RESOURCE_PROFILES_RESOURCE);

	for (uint32_t i = 0; i < r->attribute_count; i++)
		put_pair(b, RESOURCE_ATTRIBUTES, &r->attributes[i]);
	put_uint(b, RESOURCE_DROPPED, r->dropped_attributes);
	pb_end(b, resource);
	for (uint32_t i = 0; i < r->scopes.n; i++)
		put_scope(b, t, &t->scopes.v[r->scopes.at + i]);
	put_bytes(b, RESOURCE_PROFILES_SCHEMA_URL, r->schema_url);
	pb_end_about(b, mark, guess);
}

static void put_mapping(struct buf *b, const struct otlp_tables *t, const struct otlp_mapping *m)
{
	size_t mark = pb_begin(b, DICTIONARY_MAPPINGS);

	put_uint(b, MAPPING_START, m->start);
	put_uint(b, MAPPING_LIMIT, m->limit);
	put_uint(b, MAPPING_OFFSET, m->offset);
	put_int(b, MAPPING_FILE, m->file);
	put_indices(b, MAPPING_ATTRIBUTES, t, m->attributes);
	pb_end(b, mark);
}

static char *raw_line(char *at, const struct otlp_line *line)
{
	char *length;

	*at++ = LOCATION_LINES << 3 | PB_BYTES;
	length = at++;
	at = pb_raw_uint(at, LINE_FUNCTION, (uint32_t)line->function);
	at = pb_raw_uint(at, LINE_LINE, (uint64_t)line->line);
	at = pb_raw_uint(at, LINE_COLUMN, (uint64_t)line->column);
	*length = (char)(at - length - 1);
	return at;
}

static void put_location(struct buf *b, const struct otlp_tables *t, const struct otlp_location *l)
{
	size_t mark = pb_begin(b, DICTIONARY_LOCATIONS);
	char *at = buf_reserve(b, (2 + (size_t)l->lines.n * 4) * PB_RAW_ROOM);

	if (!at)
		return;
	at = pb_raw_uint(at, LOCATION_MAPPING, (uint32_t)l->mapping);
	at = pb_raw_uint(at, LOCATION_ADDRESS, l->address);
	for (uint32_t i = 0; i < l->lines.n; i++)
		at = raw_line(at, &t->lines.v[l->lines.at + i]);
	pb_raw_done(b, at);
	put_indices(b, LOCATION_ATTRIBUTES, t, l->attributes);
	pb_end(b, mark);
}

static void put_function(struct buf *b, const struct otlp_function *f)
{
	char *at = buf_reserve(b, 6 * PB_RAW_ROOM), *length;

	if (!at)
		return;
	*at++ = DICTIONARY_FUNCTIONS << 3 | PB_BYTES;
	length = at++;
	at = pb_raw_uint(at, FUNCTION_NAME, (uint32_t)f->name);
	at = pb_raw_uint(at, FUNCTION_SYSTEM_NAME, (uint32_t)f->system_name);
	at = pb_raw_uint(at, FUNCTION_FILE, (uint32_t)f->file);
	at = pb_raw_uint(at, FUNCTION_START_LINE, (uint64_t)f->start_line);
	*length = (char)(at - length - 1);
	pb_raw_done(b, at);
}

/* The zero entry is an empty message, as required by the profiles group's checker. */
static void put_link(struct buf *b, const struct link *l, bool zero)
{
	size_t mark = pb_begin(b, DICTIONARY_LINKS);

	if (!zero) {
		pb_put_bytes(b, LINK_TRACE_ID, str_n(l->trace_id, sizeof(l->trace_id)));
		pb_put_bytes(b, LINK_SPAN_ID, str_n(l->span_id, sizeof(l->span_id)));
	}
	pb_end(b, mark);
}

static void put_attribute(struct buf *b, const struct otlp_attribute *a, bool zero)
{
	size_t mark = pb_begin(b, DICTIONARY_ATTRIBUTES);

	put_int(b, ATTRIBUTE_KEY, a->key);
	if (!zero)
		put_any(b, ATTRIBUTE_VALUE, &a->value);
	put_int(b, ATTRIBUTE_UNIT, a->unit);
	pb_end(b, mark);
}

static void put_dictionary(struct buf *b, const struct otlp_tables *t)
{
	size_t guess = t->encoded_stacks.n, mark = pb_begin_about(b, DATA_DICTIONARY, guess);

	vec_for_each (m, &t->mappings)
		put_mapping(b, t, m);
	vec_for_each (l, &t->locations)
		put_location(b, t, l);
	vec_for_each (f, &t->functions)
		put_function(b, f);
	vec_for_each (link, &t->links)
		put_link(b, link, link == t->links.v);
	vec_for_each (s, &t->strings)
		pb_put_bytes(b, DICTIONARY_STRINGS, *s);
	vec_for_each (a, &t->attributes)
		put_attribute(b, a, a == t->attributes.v);
	buf_append(b, t->encoded_stacks.data, t->encoded_stacks.n);
	pb_end_about(b, mark, guess);
}

enum err otlp_write(struct writing *in, struct buf *out)
{
	CLEANUP(otlp_tables_release) struct otlp_tables t;
	CLEANUP(buf_release) struct buf plain = BUF_INIT(out->ceiling);
	struct buf *b = in->compress == 1 || in->compress == 2 ? &plain : out;

	otlp_tables_init(&t, &LIMITS_DEFAULT);
	TRY(otlp_plan(in, true, &t));
	TRY(buf_error(&t.encoded_stacks));
	buf_expect(b, about(t.samples.n) + t.encoded_stacks.n + t.locations.n * 32);
	vec_for_each (r, &t.resources)
		put_resource(b, &t, r);
	put_dictionary(b, &t);
	return b == out ? buf_error(out) : otlp_finish(in, &plain, out);
}
