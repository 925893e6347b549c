/*
 * The dictionary of OTLP JSON: seven tables, an array each.
 */
#include "format/otlp_json.h"

static void take_mapping(struct otlp_json *r)
{
	struct otlp_mapping m = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "memory_start"))
				otlp_take_u64(r, &m.start);
			else if (otlp_key_is(key, "memory_limit"))
				otlp_take_u64(r, &m.limit);
			else if (otlp_key_is(key, "file_offset"))
				otlp_take_u64(r, &m.offset);
			else if (otlp_key_is(key, "filename_strindex"))
				otlp_take_i32(r, &m.file);
			else if (otlp_key_is(key, "attribute_indices"))
				otlp_take_indices(r, &m.attributes);
			else
				json_skip(&r->j);
		}
	OTLP_PUSH(r, &r->t->mappings, m);
}

static void take_line(struct otlp_json *r, struct otlp_range *range)
{
	struct otlp_line line = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "function_index"))
				otlp_take_i32(r, &line.function);
			else if (otlp_key_is(key, "line"))
				otlp_take_i64(r, &line.line);
			else if (otlp_key_is(key, "column"))
				otlp_take_i64(r, &line.column);
			else
				json_skip(&r->j);
		}
	if (OTLP_PUSH(r, &r->t->lines, line))
		range->n++;
}

static void take_location(struct otlp_json *r)
{
	struct otlp_location l = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "mapping_index")) {
				otlp_take_i32(r, &l.mapping);
			} else if (otlp_key_is(key, "address")) {
				otlp_take_u64(r, &l.address);
			} else if (otlp_key_is(key, "lines") || otlp_key_is(key, "line")) {
				l.lines = (struct otlp_range){.at = (uint32_t)r->t->lines.n};
				if (json_array(&r->j))
					while (json_item(&r->j))
						take_line(r, &l.lines);
			} else if (otlp_key_is(key, "attribute_indices")) {
				otlp_take_indices(r, &l.attributes);
			} else {
				json_skip(&r->j);
			}
		}
	OTLP_PUSH(r, &r->t->locations, l);
}

static void take_function(struct otlp_json *r)
{
	struct otlp_function f = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "name_strindex"))
				otlp_take_i32(r, &f.name);
			else if (otlp_key_is(key, "system_name_strindex"))
				otlp_take_i32(r, &f.system_name);
			else if (otlp_key_is(key, "filename_strindex"))
				otlp_take_i32(r, &f.file);
			else if (otlp_key_is(key, "start_line"))
				otlp_take_i64(r, &f.start_line);
			else
				json_skip(&r->j);
		}
	OTLP_PUSH(r, &r->t->functions, f);
}

static void take_link(struct otlp_json *r)
{
	struct link link = {0};
	struct str key, trace = {NULL, 0}, span = {NULL, 0};

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "trace_id"))
				otlp_take_id(r, sizeof(link.trace_id), &trace);
			else if (otlp_key_is(key, "span_id"))
				otlp_take_id(r, sizeof(link.span_id), &span);
			else
				json_skip(&r->j);
		}
	if (trace.n)
		memcpy(link.trace_id, trace.p, sizeof(link.trace_id));
	if (span.n)
		memcpy(link.span_id, span.p, sizeof(link.span_id));
	OTLP_PUSH(r, &r->t->links, link);
}

static void take_attribute(struct otlp_json *r)
{
	struct otlp_attribute a = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "key_strindex"))
				otlp_take_i32(r, &a.key);
			else if (otlp_key_is(key, "value"))
				otlp_take_any(r, &a.value);
			else if (otlp_key_is(key, "unit_strindex"))
				otlp_take_i32(r, &a.unit);
			else
				json_skip(&r->j);
		}
	OTLP_PUSH(r, &r->t->attributes, a);
}

static void take_stack(struct otlp_json *r)
{
	struct otlp_range frames = {0};
	struct str key;

	if (json_object(&r->j))
		while (json_key(&r->j, &key)) {
			if (otlp_key_is(key, "location_indices"))
				otlp_take_indices(r, &frames);
			else
				json_skip(&r->j);
		}
	OTLP_PUSH(r, &r->t->stacks, frames);
}

static void take_table_string(struct otlp_json *r)
{
	struct str s = {NULL, 0};

	otlp_take_string(r, &s);
	OTLP_PUSH(r, &r->t->strings, s);
}

static const struct dictionary_table {
	const char *key;
	void (*take)(struct otlp_json *r);
} tables[] = {
	{"string_table", take_table_string}, {"mapping_table", take_mapping},
	{"location_table", take_location},   {"function_table", take_function},
	{"link_table", take_link},	     {"attribute_table", take_attribute},
	{"stack_table", take_stack},
};

static const struct dictionary_table *find_table(struct str key, bool strings)
{
	/* Values may refer to strings: those are read first, wherever they stand. */
	size_t i = strings ? 0 : 1, end = strings ? 1 : sizeof(tables) / sizeof(tables[0]);

	for (; i < end; i++)
		if (otlp_key_is(key, tables[i].key))
			return &tables[i];
	return NULL;
}

void otlp_take_dictionary(struct otlp_json *r, bool strings)
{
	struct str key;

	if (!json_object(&r->j))
		return;
	r->t->has_dictionary = true;
	while (json_key(&r->j, &key)) {
		const struct dictionary_table *table = find_table(key, strings);

		if (!table)
			json_skip(&r->j);
		else if (json_array(&r->j))
			while (json_item(&r->j))
				table->take(r);
	}
}
