/*
 * Firefox Profiler: columns, and the tables that lead from a stack to names.
 */
#include <math.h>

#include "format/firefox.h"

void fox_table_init(struct fox_table *t, const char *const *names)
{
	*t = (struct fox_table){0};
	for (; names[t->column_count]; t->column_count++)
		t->columns[t->column_count] =
			(struct fox_column){.name = names[t->column_count], .position = UINT32_MAX};
}

void fox_table_release(struct fox_table *t)
{
	for (unsigned i = 0; i < t->column_count; i++)
		vec_release(&t->columns[i].values);
}

/* A number, or NaN for anything else. */
static double take_cell(struct json *j)
{
	double value = NAN;

	if (json_peek(j) == JSON_NUMBER)
		json_double(j, &value);
	else
		json_skip(j);
	return value;
}

static void push_cell(struct fox_column *c, struct json *j, double value, struct reading *out)
{
	enum err e;

	if (c->values.n >= out->limits.max_entries) {
		json_fail(j, ERR_TOO_LARGE, "more than %llu rows",
			  (unsigned long long)out->limits.max_entries);
		return;
	}
	e = vec_push(&c->values, value);
	if (e)
		json_fail(j, e, "%s", err_text(e));
}

static void take_column(struct fox_column *c, struct json *j, struct reading *out)
{
	c->values.n = 0;
	if (json_array(j))
		while (json_item(j))
			push_cell(c, j, take_cell(j), out);
}

static struct fox_column *find_column(struct fox_table *t, struct str name)
{
	for (unsigned i = 0; i < t->column_count; i++)
		if (str_eq(name, str_of(t->columns[i].name)))
			return &t->columns[i];
	return NULL;
}

static void take_schema(struct fox_table *t, struct json *j)
{
	struct str key;

	if (json_object(j))
		while (json_key(j, &key)) {
			struct fox_column *column = find_column(t, key);

			if (column)
				json_u32(j, &column->position);
			else
				json_skip(j);
		}
}

static void take_row(struct fox_table *t, struct json *j, struct reading *out)
{
	double cells[FOX_COLUMNS];
	uint32_t position = 0;

	for (unsigned i = 0; i < t->column_count; i++)
		cells[i] = NAN;
	if (json_array(j))
		for (; json_item(j); position++) {
			double value = take_cell(j);

			for (unsigned i = 0; i < t->column_count; i++)
				if (t->columns[i].position == position)
					cells[i] = value;
		}
	for (unsigned i = 0; i < t->column_count; i++)
		push_cell(&t->columns[i], j, cells[i], out);
}

void fox_table_read(struct fox_table *t, struct json *j, struct reading *out)
{
	struct json_mark data = {0};
	struct str key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		struct fox_column *column = find_column(t, key);

		if (column && json_peek(j) == JSON_ARRAY)
			take_column(column, j, out);
		else if (str_eq(key, STR("schema")) && json_peek(j) == JSON_OBJECT)
			take_schema(t, j);
		else if (str_eq(key, STR("data")))
			json_mark_skip(j, &data);
		else
			json_skip(j);
	}
	if (data.p) {
		json_seek(j, &data);
		if (json_array(j))
			while (json_item(j))
				take_row(t, j, out);
	}
	for (unsigned i = 0; i < t->column_count; i++)
		if (t->columns[i].values.n > t->rows)
			t->rows = t->columns[i].values.n;
}

double fox_cell(const struct fox_table *t, unsigned column, size_t row)
{
	return row < t->columns[column].values.n ? t->columns[column].values.v[row] : NAN;
}

uint32_t fox_index(struct json *j, const struct fox_table *t, unsigned column, size_t row,
		   size_t count, const char *what)
{
	double value = fox_cell(t, column, row);

	if (isnan(value) || value == -1)
		return UINT32_MAX;
	if (value >= 0 && value < (double)count && value < UINT32_MAX && floor(value) == value)
		return (uint32_t)value;
	json_fail(j, ERR_BAD_INDEX, "%s of row %zu is %g, but there are %zu %s",
		  t->columns[column].name, row, value, count, what);
	return UINT32_MAX;
}

bool fox_marks_take(struct fox_marks *m, struct json *j, struct str key)
{
	struct json_mark *mark = str_eq(key, STR("stringArray"))     ? &m->strings
				 : str_eq(key, STR("stringTable"))   ? &m->strings
				 : str_eq(key, STR("stackTable"))    ? &m->stacks
				 : str_eq(key, STR("frameTable"))    ? &m->frames
				 : str_eq(key, STR("funcTable"))     ? &m->funcs
				 : str_eq(key, STR("resourceTable")) ? &m->resources
				 : str_eq(key, STR("sources"))	     ? &m->sources
								     : NULL;

	if (mark)
		json_mark_skip(j, mark);
	return mark != NULL;
}

void fox_names_release(struct fox_names *n)
{
	vec_release(&n->strings);
	vec_release(&n->sources);
}

void fox_tables_release(struct fox_tables *t)
{
	fox_names_release(&t->own);
	vec_release(&t->frames);
	vec_release(&t->interned);
	stack_nodes_release(&t->stacks);
	*t = (struct fox_tables){0};
}

static void take_table(struct fox_table *t, struct json *j, const struct json_mark *mark,
		       struct reading *out)
{
	if (!mark->p || j->error)
		return;
	json_seek(j, mark);
	fox_table_read(t, j, out);
}

static enum err take_strings(struct fox_names *n, struct json *j, struct dict *d)
{
	if (!json_array(j))
		return j->error;
	while (json_item(j)) {
		struct str text = {NULL, 0};
		uint32_t id = 0;

		if (!json_string(j, &text))
			return j->error;
		TRY(dict_string(d, text, &id));
		TRY(vec_push(&n->strings, id));
	}
	return j->error;
}

static uint32_t string_at(const struct fox_names *n, struct json *j, const struct fox_table *table,
			  unsigned column, size_t row)
{
	uint32_t index = fox_index(j, table, column, row, n->strings.n, "strings");

	return index == UINT32_MAX ? 0 : n->strings.v[index];
}

enum err fox_names_build(struct fox_names *n, struct json *j, const struct fox_marks *marks,
			 struct reading *out)
{
	static const char *const names[] = {"filename", NULL};
	struct fox_table sources;
	enum err e = ERR_OK;

	if (marks->strings.p) {
		json_seek(j, &marks->strings);
		TRY(take_strings(n, j, out->dict));
	}
	fox_table_init(&sources, names);
	take_table(&sources, j, &marks->sources, out);
	for (size_t i = 0; i < sources.rows && !e && !j->error; i++)
		e = vec_push(&n->sources, string_at(n, j, &sources, 0, i));
	fox_table_release(&sources);
	return e ? e : j->error;
}

enum { FUNC_NAME, FUNC_FILE, FUNC_SOURCE, FUNC_RESOURCE, FUNC_LINE };
enum { FRAME_FUNC, FRAME_LINE, FRAME_COLUMN, FRAME_ADDRESS, FRAME_DEPTH, FRAME_LOCATION };
enum { STACK_FRAME, STACK_PREFIX, STACK_OFFSET };

/* The tables for converting frames to the dictionary. */
struct fox_frames {
	struct fox_table funcs, frames, resources;
	const uint32_t *mappings;
	size_t mapping_count;
};

static uint32_t mapping_of(const struct fox_frames *f, struct json *j, size_t func)
{
	uint32_t resource =
		fox_index(j, &f->funcs, FUNC_RESOURCE, func, f->resources.rows, "resources");
	uint32_t lib;

	if (resource == UINT32_MAX)
		return 0;
	lib = fox_index(j, &f->resources, 0, resource, f->mapping_count, "libs");
	return lib == UINT32_MAX ? 0 : f->mappings[lib];
}

/* Lines and columns of hostile files may be anything. */
static int64_t position(double value)
{
	return value > 0 && value < UINT32_MAX ? (int64_t)value : 0;
}

static enum err frame_function(struct fox_tables *t, const struct fox_frames *f, struct json *j,
			       size_t row, struct dict *d, struct frame *frame)
{
	uint32_t func = fox_index(j, &f->frames, FRAME_FUNC, row, f->funcs.rows, "functions");
	struct function function = {0};
	uint32_t source;

	if (func == UINT32_MAX) {
		/* Gecko's own shape: the name, perhaps with its place, is all there is. */
		function.name = string_at(t->names, j, &f->frames, FRAME_LOCATION, row);
	} else {
		function.name = string_at(t->names, j, &f->funcs, FUNC_NAME, func);
		function.file = string_at(t->names, j, &f->funcs, FUNC_FILE, func);
		function.start_line = position(fox_cell(&f->funcs, FUNC_LINE, func));
		source = fox_index(j, &f->funcs, FUNC_SOURCE, func, t->names->sources.n, "sources");
		if (source != UINT32_MAX)
			function.file = t->names->sources.v[source];
		frame->mapping = mapping_of(f, j, func);
	}
	TRY(j->error);
	if (!function.name)
		TRY(dict_string(d, STR("(anonymous)"), &function.name));
	return dict_function(d, &function, &frame->function);
}

static enum err build_frames(struct fox_tables *t, const struct fox_frames *f, struct json *j,
			     struct dict *d)
{
	for (size_t row = 0; row < f->frames.rows; row++) {
		double address = fox_cell(&f->frames, FRAME_ADDRESS, row);
		double depth = fox_cell(&f->frames, FRAME_DEPTH, row);
		struct frame frame = {
			.line = position(fox_cell(&f->frames, FRAME_LINE, row)),
			.column = (uint32_t)position(fox_cell(&f->frames, FRAME_COLUMN, row)),
			.flags = FRAME_HAS_LINE | (depth > 0 ? FRAME_INLINED : 0),
		};
		uint32_t id;

		if (address >= 0 && address < 0x1p63) {
			frame.address = (uint64_t)address;
			frame.kind = KIND_NATIVE;
		}
		TRY(frame_function(t, f, j, row, d, &frame));
		TRY(dict_frame(d, &frame, &id));
		TRY(vec_push(&t->frames, id));
	}
	return ERR_OK;
}

static enum err take_frames(struct fox_tables *t, struct json *j, const struct fox_marks *marks,
			    const uint32_t *mappings, size_t mapping_count, struct reading *out)
{
	static const char *const func_names[] = {"name",     "fileName",   "source",
						 "resource", "lineNumber", NULL};
	static const char *const frame_names[] = {"func",	 "line",     "column", "address",
						  "inlineDepth", "location", NULL};
	static const char *const resource_names[] = {"lib", NULL};
	struct fox_frames f = {.mappings = mappings, .mapping_count = mapping_count};
	enum err e;

	fox_table_init(&f.funcs, func_names);
	fox_table_init(&f.frames, frame_names);
	fox_table_init(&f.resources, resource_names);
	take_table(&f.funcs, j, &marks->funcs, out);
	take_table(&f.frames, j, &marks->frames, out);
	take_table(&f.resources, j, &marks->resources, out);
	e = j->error ? j->error : build_frames(t, &f, j, out->dict);
	fox_table_release(&f.funcs);
	fox_table_release(&f.frames);
	fox_table_release(&f.resources);
	return e;
}

/* The parent of a stack as index + 1, 0 for none. A parent always comes first. */
static enum err stack_parent(struct json *j, const struct fox_table *table, size_t row,
			     uint32_t *ret)
{
	double offset = fox_cell(table, STACK_OFFSET, row);
	uint32_t prefix;

	if (offset > 0) {
		if (offset > (double)row)
			return json_fail(j, ERR_BAD_INDEX, "prefixOffset of row %zu is %g", row,
					 offset);
		*ret = (uint32_t)(row - (size_t)offset) + 1;
		return ERR_OK;
	}
	prefix = fox_index(j, table, STACK_PREFIX, row, row, "stacks before it");
	*ret = prefix == UINT32_MAX ? 0 : prefix + 1;
	return j->error;
}

static enum err build_stacks(struct fox_tables *t, struct json *j, const struct fox_table *table)
{
	for (size_t row = 0; row < table->rows; row++) {
		uint32_t frame = fox_index(j, table, STACK_FRAME, row, t->frames.n, "frames");
		uint32_t parent = 0, node;

		TRY(j->error);
		TRY(stack_parent(j, table, row, &parent));
		TRY(stack_nodes_add(&t->stacks, parent,
				    frame == UINT32_MAX ? 0 : t->frames.v[frame], &node));
		TRY(vec_push(&t->interned, 0));
	}
	return ERR_OK;
}

static enum err take_stacks(struct fox_tables *t, struct json *j, const struct json_mark *mark,
			    struct reading *out)
{
	static const char *const names[] = {"frame", "prefix", "prefixOffset", NULL};
	struct fox_table table;
	enum err e;

	fox_table_init(&table, names);
	take_table(&table, j, mark, out);
	e = j->error ? j->error : build_stacks(t, j, &table);
	fox_table_release(&table);
	return e;
}

enum err fox_tables_build(struct fox_tables *t, struct json *j, const struct fox_marks *marks,
			  const uint32_t *mappings, size_t mapping_count, struct reading *out)
{
	TRY(stack_nodes_init(&t->stacks, out->dict->seed));
	if (marks->strings.p) {
		TRY(fox_names_build(&t->own, j, marks, out));
		t->names = &t->own;
	}
	TRY(take_frames(t, j, marks, mappings, mapping_count, out));
	return take_stacks(t, j, &marks->stacks, out);
}

enum err fox_stack(struct fox_tables *t, uint32_t stack, struct reading *out, uint32_t *ret)
{
	uint32_t id;

	if (!t->interned.v[stack]) {
		TRY(stack_nodes_stack(&t->stacks, stack + 1, out, &id));
		t->interned.v[stack] = id + 1;
	}
	*ret = t->interned.v[stack] - 1;
	return ERR_OK;
}
