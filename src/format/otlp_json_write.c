/*
 * Writing OTLP JSON from the planned tables. Fields that have their default are left out; keys of
 * resource and scope attributes are written in full, as every reader understands those.
 */
#include <math.h>

#include "base/base64.h"
#include "base/jsonout.h"
#include "format/formats_internal.h"
#include "format/otlp_tables.h"

/* Plain fields, left out when they are 0 or empty. */
static void put_i32(struct jsonout *o, const char *key, int32_t value)
{
	if (value)
		jsonout_put_i64(o, key, value);
}

static void put_i64(struct jsonout *o, const char *key, int64_t value)
{
	if (!value)
		return;
	jsonout_key(o, str_of(key));
	jsonout_i64_text(o, value);
}

static void put_u64(struct jsonout *o, const char *key, uint64_t value)
{
	if (!value)
		return;
	jsonout_key(o, str_of(key));
	jsonout_u64_text(o, value);
}

static void put_str(struct jsonout *o, const char *key, struct str value)
{
	if (value.n)
		jsonout_put_str(o, key, value);
}

static void put_hex(struct jsonout *o, const char *key, struct str bytes)
{
	static const char digits[] = "0123456789abcdef";
	char text[64];

	if (!bytes.n || bytes.n > sizeof(text) / 2)
		return;
	for (size_t i = 0; i < bytes.n; i++) {
		text[2 * i] = digits[(uint8_t)bytes.p[i] >> 4];
		text[2 * i + 1] = digits[(uint8_t)bytes.p[i] & 15];
	}
	jsonout_put_str(o, key, str_n(text, 2 * bytes.n));
}

static void put_base64(struct jsonout *o, const char *key, struct str bytes)
{
	jsonout_key(o, str_of(key));
	jsonout_raw(o, STR("\""));
	base64_put(o->b, bytes, true);
	buf_byte(o->b, '"');
}

static void put_indices(struct jsonout *o, const char *key, const struct otlp_tables *t,
			struct otlp_range range)
{
	if (!range.n)
		return;
	jsonout_key(o, str_of(key));
	jsonout_array(o);
	for (uint32_t i = 0; i < range.n; i++)
		jsonout_i64(o, t->indices.v[range.at + i]);
	jsonout_end_array(o);
}

static void put_double(struct jsonout *o, const char *key, double value)
{
	if (isnan(value))
		jsonout_put_text(o, key, "NaN");
	else if (isinf(value))
		jsonout_put_text(o, key, value < 0 ? "-Infinity" : "Infinity");
	else
		jsonout_put_double(o, key, value);
}

static void put_pairs(struct jsonout *o, const char *key, const struct otlp_pair *pairs,
		      uint32_t n);

/* Planned values come out of bounded readers: the recursion is as deep as they were. */
static void put_any(struct jsonout *o, const struct otlp_any *value)
{
	jsonout_object(o);
	switch (value->type) {
	case ANY_EMPTY:
		break;
	case ANY_STRING:
		jsonout_put_str(o, "stringValue", value->text);
		break;
	case ANY_BOOL:
		jsonout_put_bool(o, "boolValue", value->number != 0);
		break;
	case ANY_INT:
		jsonout_key(o, STR("intValue"));
		jsonout_i64_text(o, value->number);
		break;
	case ANY_DOUBLE:
		put_double(o, "doubleValue", value->real);
		break;
	case ANY_BYTES:
		put_base64(o, "bytesValue", value->text);
		break;
	case ANY_ARRAY:
		jsonout_put_object(o, "arrayValue");
		jsonout_put_array(o, "values");
		for (uint32_t i = 0; i < value->n; i++)
			put_any(o, &value->items[i]);
		jsonout_end_array(o);
		jsonout_end_object(o);
		break;
	case ANY_LIST:
		jsonout_put_object(o, "kvlistValue");
		put_pairs(o, "values", value->pairs, value->n);
		jsonout_end_object(o);
		break;
	}
	jsonout_end_object(o);
}

static void put_pairs(struct jsonout *o, const char *key, const struct otlp_pair *pairs, uint32_t n)
{
	jsonout_put_array(o, key);
	for (uint32_t i = 0; i < n; i++) {
		jsonout_object(o);
		jsonout_put_str(o, "key", pairs[i].key);
		jsonout_key(o, STR("value"));
		put_any(o, &pairs[i].value);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
}

static void put_value_type(struct jsonout *o, const char *key, struct otlp_value_type type)
{
	jsonout_put_object(o, key);
	put_i32(o, "typeStrindex", type.type);
	put_i32(o, "unitStrindex", type.unit);
	jsonout_end_object(o);
}

static void put_sample(struct jsonout *o, const struct otlp_tables *t, const struct otlp_sample *s)
{
	jsonout_object(o);
	put_i32(o, "stackIndex", s->stack);
	put_indices(o, "attributeIndices", t, s->attributes);
	put_i32(o, "linkIndex", s->link);
	if (s->values.n) {
		jsonout_put_array(o, "values");
		for (uint32_t i = 0; i < s->values.n; i++)
			jsonout_i64_text(o, t->values.v[s->values.at + i]);
		jsonout_end_array(o);
	}
	if (s->times.n) {
		jsonout_put_array(o, "timestampsUnixNano");
		for (uint32_t i = 0; i < s->times.n; i++)
			jsonout_u64_text(o, t->times.v[s->times.at + i]);
		jsonout_end_array(o);
	}
	jsonout_end_object(o);
}

static void put_profile(struct jsonout *o, const struct otlp_tables *t,
			const struct otlp_profile *p)
{
	jsonout_object(o);
	put_value_type(o, "sampleType", p->sample_type);
	jsonout_put_array(o, "samples");
	for (uint32_t i = 0; i < p->samples.n; i++)
		put_sample(o, t, &t->samples.v[p->samples.at + i]);
	jsonout_end_array(o);
	put_u64(o, "timeUnixNano", p->time);
	put_u64(o, "durationNano", p->duration);
	if (p->period_type.type || p->period_type.unit)
		put_value_type(o, "periodType", p->period_type);
	put_i64(o, "period", p->period);
	put_hex(o, "profileId", p->id);
	put_i32(o, "droppedAttributesCount", (int32_t)(p->dropped_attributes & INT32_MAX));
	put_str(o, "originalPayloadFormat", p->payload_format);
	if (p->payload.n)
		put_base64(o, "originalPayload", p->payload);
	put_indices(o, "attributeIndices", t, p->attributes);
	jsonout_end_object(o);
}

static void put_scope(struct jsonout *o, const struct otlp_tables *t, const struct otlp_scope *s)
{
	jsonout_object(o);
	jsonout_put_object(o, "scope");
	put_str(o, "name", s->name);
	put_str(o, "version", s->version);
	if (s->attribute_count)
		put_pairs(o, "attributes", s->attributes, s->attribute_count);
	jsonout_end_object(o);
	jsonout_put_array(o, "profiles");
	for (uint32_t i = 0; i < s->profiles.n; i++)
		put_profile(o, t, &t->profiles.v[s->profiles.at + i]);
	jsonout_end_array(o);
	put_str(o, "schemaUrl", s->schema_url);
	jsonout_end_object(o);
}

static void put_resources(struct jsonout *o, const struct otlp_tables *t)
{
	jsonout_put_array(o, "resourceProfiles");
	vec_for_each (r, &t->resources) {
		jsonout_object(o);
		jsonout_put_object(o, "resource");
		if (r->attribute_count)
			put_pairs(o, "attributes", r->attributes, r->attribute_count);
		jsonout_end_object(o);
		jsonout_put_array(o, "scopeProfiles");
		for (uint32_t i = 0; i < r->scopes.n; i++)
			put_scope(o, t, &t->scopes.v[r->scopes.at + i]);
		jsonout_end_array(o);
		put_str(o, "schemaUrl", r->schema_url);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
}

static void put_location(struct jsonout *o, const struct otlp_tables *t,
			 const struct otlp_location *l)
{
	jsonout_object(o);
	put_i32(o, "mappingIndex", l->mapping);
	put_u64(o, "address", l->address);
	if (l->lines.n) {
		jsonout_put_array(o, "lines");
		for (uint32_t i = 0; i < l->lines.n; i++) {
			const struct otlp_line *line = &t->lines.v[l->lines.at + i];

			jsonout_object(o);
			put_i32(o, "functionIndex", line->function);
			put_i64(o, "line", line->line);
			put_i64(o, "column", line->column);
			jsonout_end_object(o);
		}
		jsonout_end_array(o);
	}
	put_indices(o, "attributeIndices", t, l->attributes);
	jsonout_end_object(o);
}

static void put_code_tables(struct jsonout *o, const struct otlp_tables *t)
{
	jsonout_put_array(o, "mappingTable");
	vec_for_each (m, &t->mappings) {
		jsonout_object(o);
		put_u64(o, "memoryStart", m->start);
		put_u64(o, "memoryLimit", m->limit);
		put_u64(o, "fileOffset", m->offset);
		put_i32(o, "filenameStrindex", m->file);
		put_indices(o, "attributeIndices", t, m->attributes);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	jsonout_put_array(o, "locationTable");
	vec_for_each (l, &t->locations)
		put_location(o, t, l);
	jsonout_end_array(o);
	jsonout_put_array(o, "functionTable");
	vec_for_each (f, &t->functions) {
		jsonout_object(o);
		put_i32(o, "nameStrindex", f->name);
		put_i32(o, "systemNameStrindex", f->system_name);
		put_i32(o, "filenameStrindex", f->file);
		put_i64(o, "startLine", f->start_line);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
}

static bool link_is_empty(const struct link *l)
{
	static const struct link none;

	return memcmp(l, &none, sizeof(none)) == 0;
}

static void put_dictionary(struct jsonout *o, const struct otlp_tables *t)
{
	jsonout_put_object(o, "dictionary");
	put_code_tables(o, t);
	jsonout_put_array(o, "linkTable");
	vec_for_each (l, &t->links) {
		jsonout_object(o);
		if (!link_is_empty(l)) {
			put_hex(o, "traceId", str_n(l->trace_id, sizeof(l->trace_id)));
			put_hex(o, "spanId", str_n(l->span_id, sizeof(l->span_id)));
		}
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	jsonout_put_array(o, "stringTable");
	vec_for_each (s, &t->strings)
		jsonout_str(o, *s);
	jsonout_end_array(o);
	jsonout_put_array(o, "attributeTable");
	vec_for_each (a, &t->attributes) {
		jsonout_object(o);
		put_i32(o, "keyStrindex", a->key);
		if (a->value.type != ANY_EMPTY) {
			jsonout_key(o, STR("value"));
			put_any(o, &a->value);
		}
		put_i32(o, "unitStrindex", a->unit);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	jsonout_put_array(o, "stackTable");
	vec_for_each (s, &t->stacks) {
		jsonout_object(o);
		put_indices(o, "locationIndices", t, *s);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	jsonout_end_object(o);
}

enum err otlp_json_write(struct writing *in, struct buf *out)
{
	CLEANUP(otlp_tables_release) struct otlp_tables tables;
	CLEANUP(buf_release) struct buf plain = BUF_INIT(out->ceiling);
	struct jsonout o = jsonout_of(&plain, false);

	otlp_tables_init(&tables, &LIMITS_DEFAULT);
	TRY(otlp_plan(in, false, &tables));
	jsonout_object(&o);
	put_resources(&o, &tables);
	put_dictionary(&o, &tables);
	jsonout_end_object(&o);
	buf_byte(&plain, '\n');
	TRY(buf_error(&plain));
	if (o.replaced)
		notes_add(&in->notes, "%llu bytes that are not UTF-8 became U+FFFD",
			  (unsigned long long)o.replaced);
	return otlp_finish(in, &plain, out);
}
