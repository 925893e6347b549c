/*
 * Traces as JSON: names in lowerCamelCase or snake_case, ids in hex, 64-bit numbers as text or
 * numbers, kinds as numbers or by name.
 */
#include <stdio.h>

#include "format/otlp_json.h"
#include "format/otlp_traces.h"

struct traces_json {
	struct otlp_json o;
	struct reading out;
	struct otlp_tables tables;
	struct traces_reading *r;
	struct str service;
	struct otlp_span_attributes attributes;
};

/* An id as it stands there: one that is not hex keeps its text, and is refused by its length. */
static void take_hex(struct traces_json *t, struct str *ret)
{
	struct str text = {NULL, 0};
	char *bytes;

	if (!json_string_keep(&t->o.j, &t->tables.arena, &text) || !text.n)
		return;
	bytes = arena_alloc(&t->tables.arena, text.n / 2 + 1);
	if (!bytes) {
		otlp_json_ok(&t->o, ERR_NO_MEMORY);
		return;
	}
	*ret = text;
	for (size_t i = 0; i + 1 < text.n; i += 2) {
		uint64_t byte;

		if (str_to_u64(str_n(text.p + i, 2), 16, &byte) != ERR_OK)
			return;
		bytes[i / 2] = (char)byte;
	}
	if (text.n % 2 == 0)
		*ret = str_n(bytes, text.n / 2);
}

static void take_value(struct traces_json *t, struct str key)
{
	struct otlp_span_attributes *a = &t->attributes;
	struct otlp_any value = {0};
	char *text;

	otlp_take_any(&t->o, &value);
	if (t->o.j.error || value.type == ANY_EMPTY || value.type > ANY_DOUBLE)
		return;
	text = otlp_span_attribute(a, key, value.type == ANY_STRING ? value.text : STR(""));
	if (!text || value.type == ANY_STRING)
		return;
	if (value.type == ANY_BOOL)
		(void)snprintf(text, sizeof(a->numbers[0]), "%s", value.number ? "true" : "false");
	else if (value.type == ANY_INT)
		(void)snprintf(text, sizeof(a->numbers[0]), "%lld", (long long)value.number);
	else
		(void)snprintf(text, sizeof(a->numbers[0]), "%.17g", value.real);
	a->v[a->n - 1].value = str_of(text);
}

static void take_attribute(struct traces_json *t, bool resource)
{
	struct str name, key = {NULL, 0};
	struct json_mark value = {0}, behind;
	size_t before = t->attributes.n;
	bool service;

	if (!json_object(&t->o.j))
		return;
	while (json_key(&t->o.j, &name)) {
		if (str_eq(name, STR("key")))
			json_string_keep(&t->o.j, &t->tables.arena, &key);
		else if (str_eq(name, STR("value")))
			json_mark_skip(&t->o.j, &value);
		else
			json_skip(&t->o.j);
	}
	service = resource && str_eq(key, STR("service.name"));
	if (t->o.j.error || !value.p || !key.n || (!service && !t->r->wanted(key, resource)))
		return;
	behind = json_mark(&t->o.j);
	json_seek(&t->o.j, &value);
	take_value(t, key);
	json_seek(&t->o.j, &behind);
	if (service)
		otlp_span_service(&t->attributes, before, &t->service);
}

static void take_attributes(struct traces_json *t, bool resource)
{
	if (json_array(&t->o.j))
		while (json_item(&t->o.j))
			take_attribute(t, resource);
}

/* A number, or the end of a name like SPAN_KIND_SERVER. */
static void take_enum(struct traces_json *t, const char *const *names, uint32_t *ret)
{
	struct str text = {NULL, 0};

	if (json_peek(&t->o.j) != JSON_STRING) {
		otlp_take_u32(&t->o, ret);
		return;
	}
	if (!json_string(&t->o.j, &text))
		return;
	for (uint32_t i = 0; names[i]; i++)
		if (str_ends(text, str_of(names[i])))
			*ret = i;
}

static void take_status(struct traces_json *t, uint32_t *ret)
{
	static const char *const names[] = {"_UNSET", "_OK", "_ERROR", NULL};
	struct str key;

	if (json_object(&t->o.j))
		while (json_key(&t->o.j, &key)) {
			if (str_eq(key, STR("code")))
				take_enum(t, names, ret);
			else
				json_skip(&t->o.j);
		}
}

static void take_field(struct traces_json *t, struct str key, struct otlp_span *s)
{
	static const char *const kinds[] = {"_UNSPECIFIED", "_INTERNAL", "_SERVER", "_CLIENT",
					    "_PRODUCER",    "_CONSUMER", NULL};

	if (otlp_key_is(key, "trace_id"))
		take_hex(t, &s->trace_id);
	else if (otlp_key_is(key, "span_id"))
		take_hex(t, &s->span_id);
	else if (otlp_key_is(key, "parent_span_id"))
		take_hex(t, &s->parent_id);
	else if (otlp_key_is(key, "name"))
		json_string_keep(&t->o.j, &t->tables.arena, &s->operation);
	else if (otlp_key_is(key, "kind"))
		take_enum(t, kinds, &s->kind);
	else if (otlp_key_is(key, "start_time_unix_nano"))
		otlp_take_u64(&t->o, &s->start_ns);
	else if (otlp_key_is(key, "end_time_unix_nano"))
		otlp_take_u64(&t->o, &s->end_ns);
	else if (otlp_key_is(key, "attributes"))
		take_attributes(t, false);
	else if (otlp_key_is(key, "status"))
		take_status(t, &s->status);
	else
		json_skip(&t->o.j);
}

static enum err take_span(struct traces_json *t)
{
	struct otlp_span span = {.service = t->service};
	struct str key;

	if (!json_object(&t->o.j))
		return t->o.j.error;
	while (json_key(&t->o.j, &key))
		take_field(t, key, &span);
	TRY(t->o.j.error);
	return otlp_span_finish(t->r, &t->attributes, &span);
}

static enum err take_scopes(struct traces_json *t)
{
	struct str key;

	if (!json_array(&t->o.j))
		return t->o.j.error;
	while (json_item(&t->o.j)) {
		if (!json_object(&t->o.j))
			continue;
		while (json_key(&t->o.j, &key)) {
			if (!otlp_key_is(key, "spans"))
				json_skip(&t->o.j);
			else if (json_array(&t->o.j))
				while (json_item(&t->o.j))
					TRY(take_span(t));
		}
	}
	return t->o.j.error;
}

static void take_resource(struct traces_json *t)
{
	struct str key;

	if (json_object(&t->o.j))
		while (json_key(&t->o.j, &key)) {
			if (otlp_key_is(key, "attributes"))
				take_attributes(t, true);
			else
				json_skip(&t->o.j);
		}
}

/* The resource may come after its spans. */
static enum err take_resource_spans(struct traces_json *t)
{
	struct json_mark scopes = {0}, behind;
	struct str key;

	t->service = (struct str){NULL, 0};
	t->attributes.n = t->attributes.resource_n = 0;
	if (!json_object(&t->o.j))
		return t->o.j.error;
	while (json_key(&t->o.j, &key)) {
		if (otlp_key_is(key, "resource"))
			take_resource(t);
		else if (otlp_key_is(key, "scope_spans"))
			json_mark_skip(&t->o.j, &scopes);
		else
			json_skip(&t->o.j);
	}
	t->attributes.resource_n = t->attributes.n;
	if (t->o.j.error || !scopes.p)
		return t->o.j.error;
	behind = json_mark(&t->o.j);
	json_seek(&t->o.j, &scopes);
	TRY(take_scopes(t));
	json_seek(&t->o.j, &behind);
	return ERR_OK;
}

static enum err take_request(struct traces_json *t)
{
	struct str key;

	if (json_object(&t->o.j))
		while (json_key(&t->o.j, &key)) {
			if (!otlp_key_is(key, "resource_spans"))
				json_skip(&t->o.j);
			else if (json_array(&t->o.j))
				while (json_item(&t->o.j))
					TRY(take_resource_spans(t));
		}
	return json_finish(&t->o.j);
}

enum err otlp_traces_read_json(struct str bytes, struct traces_reading *r)
{
	struct traces_json *t = mem_zalloc(1, sizeof(*t));
	enum err e;

	if (!t)
		return ERR_NO_MEMORY;
	t->r = r;
	t->out.limits = r->limits;
	otlp_tables_init(&t->tables, &r->limits);
	t->o.t = &t->tables;
	t->o.out = &t->out;
	json_init(&t->o.j, bytes, "traces", r->limits.max_nesting, &t->out);
	e = take_request(t);
	if (t->o.j.error)
		r->fault = t->out.fault;
	json_release(&t->o.j);
	vec_release(&t->o.items);
	vec_release(&t->o.pairs);
	otlp_tables_release(&t->tables);
	mem_free(t);
	return e;
}
