/*
 * The metadata event: a table of strings and a tree of elements, each with a name, attributes and
 * children, all of them indices into the table:
 *
 *	root
 *	  metadata
 *	    class id name [superType] [simpleType]
 *	      field name class [constantPool] [dimension]
 *	        annotation class [value]
 *	      setting, annotation …
 *	  region
 *
 * Only classes and fields are kept. A class has no inherited fields: it lists all of its own.
 */
#include "format/jfr.h"

#define MAX_FIELDS  (1u << 18)
#define MAX_NESTING 16

struct metadata {
	struct jfr_chunk *chunk;
	struct jfr_cursor c;
	const struct limits *limits;
	VEC(struct str) strings;
};

struct attributes {
	struct str name, id, class, value;
	bool pooled, array;
};

static enum err read_strings(struct metadata *m)
{
	CLEANUP(buf_release) struct buf scratch = BUF_INIT(2 * m->limits->max_string + 8);
	uint64_t n = (uint32_t)jfr_int(&m->c);

	if (m->c.failed || n > m->c.end - m->c.at)
		return ERR_CORRUPT;
	TRY(vec_reserve(&m->strings, n));
	for (uint64_t i = 0; i < n; i++) {
		struct str s;

		TRY(jfr_string(m->chunk, &m->c, m->limits->max_string, &scratch, &s));
		if (s.n && s.p == scratch.data) {
			s.p = arena_copy(&m->chunk->arena, s);
			if (!s.p)
				return ERR_NO_MEMORY;
		}
		m->strings.v[m->strings.n++] = s;
	}
	return ERR_OK;
}

static struct str string_at(struct metadata *m)
{
	uint64_t i = (uint32_t)jfr_int(&m->c);

	if (m->c.failed || i >= m->strings.n) {
		m->c.failed = true;
		return STR("");
	}
	return m->strings.v[i];
}

static struct attributes read_attributes(struct metadata *m)
{
	struct attributes a = {0};
	uint64_t n = (uint32_t)jfr_int(&m->c);

	for (uint64_t i = 0; i < n && !m->c.failed; i++) {
		struct str key = string_at(m), value = string_at(m);

		if (str_eq(key, STR("name")))
			a.name = value;
		else if (str_eq(key, STR("id")))
			a.id = value;
		else if (str_eq(key, STR("class")))
			a.class = value;
		else if (str_eq(key, STR("value")))
			a.value = value;
		else if (str_eq(key, STR("constantPool")))
			a.pooled = str_eq(value, STR("true"));
		else if (str_eq(key, STR("dimension")))
			a.array = !str_eq(value, STR("0"));
	}
	return a;
}

static enum jfr_unit unit_of(struct str text)
{
	static const struct {
		const char *text;
		enum jfr_unit unit;
	} units[] = {
		{"TICKS", JFR_UNIT_TICKS},
		{"NANOSECONDS", JFR_UNIT_NANOSECONDS},
		{"MICROSECONDS", JFR_UNIT_MICROSECONDS},
		{"MILLISECONDS", JFR_UNIT_MILLISECONDS},
		{"SECONDS", JFR_UNIT_SECONDS},
		{"NANOSECONDS_SINCE_EPOCH", JFR_UNIT_NANOSECONDS},
		{"MILLISECONDS_SINCE_EPOCH", JFR_UNIT_MILLISECONDS},
		{"SECONDS_SINCE_EPOCH", JFR_UNIT_SECONDS},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_eq(str_of(units[i].text), text))
			return units[i].unit;
	return JFR_UNIT_NONE;
}

static enum jfr_primitive primitive_of(struct str name)
{
	static const char *const names[] = {
		[JFR_BOOLEAN] = "boolean",
		[JFR_BYTE] = "byte",
		[JFR_CHAR] = "char",
		[JFR_SHORT] = "short",
		[JFR_INT] = "int",
		[JFR_LONG] = "long",
		[JFR_FLOAT] = "float",
		[JFR_DOUBLE] = "double",
		[JFR_STRING] = "java.lang.String",
	};

	for (unsigned i = JFR_BOOLEAN; i <= JFR_STRING; i++)
		if (str_eq(str_of(names[i]), name))
			return i;
	return JFR_STRUCT;
}

static enum err number_of(struct str text, uint64_t *ret)
{
	int64_t v;

	/* A long in decimal, so that great ids come out negative. */
	if (str_to_u64(text, 10, ret) == ERR_OK)
		return ERR_OK;
	TRY(str_to_i64(text, &v));
	*ret = (uint64_t)v;
	return ERR_OK;
}

/* The parent of an element determines its possible kinds. */
enum place { IN_TREE, IN_CLASS, IN_FIELD, IN_OTHER };

static enum err read_element(struct metadata *m, enum place place, unsigned nesting);

static enum err read_children(struct metadata *m, enum place place, unsigned nesting)
{
	uint64_t n = (uint32_t)jfr_int(&m->c);

	for (uint64_t i = 0; i < n && !m->c.failed; i++)
		TRY(read_element(m, place, nesting + 1));
	return m->c.failed ? ERR_CORRUPT : ERR_OK;
}

static enum err read_class(struct metadata *m, const struct attributes *a, unsigned nesting)
{
	struct jfr_chunk *k = m->chunk;
	struct jfr_class class = {.name = a->name, .field_at = (uint32_t)k->fields.n};
	uint32_t index = (uint32_t)k->classes.n;

	TRY(number_of(a->id, &class.id));
	if (index >= JFR_MAX_CLASSES)
		return ERR_TOO_LARGE;
	TRY(vec_push(&k->classes, class));
	if (jfr_class_by_id(k, class.id) == JFR_NO_CLASS)
		TRY(map_put(&k->class_index, hash_mix(class.id, k->seed), index));
	TRY(read_children(m, IN_CLASS, nesting));
	k->classes.v[index].field_n = (uint32_t)k->fields.n - class.field_at;
	if (k->fields.n == class.field_at)
		k->classes.v[index].primitive = primitive_of(a->name);
	return ERR_OK;
}

static enum err read_field(struct metadata *m, const struct attributes *a, unsigned nesting)
{
	struct jfr_field field = {.name = a->name, .array = a->array, .pooled = a->pooled};

	TRY(number_of(a->class, &field.type_id));
	if (m->chunk->fields.n >= MAX_FIELDS)
		return ERR_TOO_LARGE;
	TRY(vec_push(&m->chunk->fields, field));
	return read_children(m, IN_FIELD, nesting);
}

/* Timespan("TICKS") and its like: which annotation it is, is known when all classes are. */
static void note_annotation(struct metadata *m, const struct attributes *a)
{
	struct jfr_field *f = &m->chunk->fields.v[m->chunk->fields.n - 1];
	uint64_t type;

	if (unit_of(a->value) == JFR_UNIT_NONE || number_of(a->class, &type) != ERR_OK)
		return;
	f->unit_text = a->value;
	f->unit_type_id = type;
}

static enum err read_element(struct metadata *m, enum place place, unsigned nesting)
{
	struct str name = string_at(m);
	struct attributes a = read_attributes(m);

	if (m->c.failed)
		return ERR_CORRUPT;
	if (nesting > MAX_NESTING)
		return ERR_TOO_DEEP;
	if (place == IN_TREE && str_eq(name, STR("class")))
		return read_class(m, &a, nesting);
	if (place == IN_CLASS && str_eq(name, STR("field")))
		return read_field(m, &a, nesting);
	if (place == IN_FIELD && str_eq(name, STR("annotation")))
		note_annotation(m, &a);
	return read_children(m, place == IN_TREE ? IN_TREE : IN_OTHER, nesting);
}

static void resolve_units(struct jfr_chunk *k)
{
	vec_for_each (f, &k->fields) {
		uint32_t class =
			f->unit_text.n ? jfr_class_by_id(k, f->unit_type_id) : JFR_NO_CLASS;

		if (class == JFR_NO_CLASS)
			continue;
		if (str_eq(k->classes.v[class].name, STR("jdk.jfr.Timespan")) ||
		    str_eq(k->classes.v[class].name, STR("jdk.jfr.Timestamp")))
			f->unit = unit_of(f->unit_text);
	}
}

static enum err read_event(struct metadata *m)
{
	struct jfr_chunk *k = m->chunk;
	uint64_t at = k->header.metadata_offset, type;

	if (!jfr_next_event(k, &at, &m->c, &type) || type != 0)
		return ERR_CORRUPT;
	jfr_long(&m->c); /* time */
	jfr_long(&m->c); /* duration */
	jfr_long(&m->c); /* id of the metadata */
	TRY(read_strings(m));
	TRY(read_element(m, IN_TREE, 0));
	resolve_units(k);
	return ERR_OK;
}

enum err jfr_metadata_read(struct jfr_chunk *k, const struct limits *limits, struct fault *fault)
{
	struct metadata m = {.chunk = k, .limits = limits};
	enum err e = read_event(&m);

	vec_release(&m.strings);
	if (e && e != ERR_NO_MEMORY)
		return fault_set(
			fault, e,
			"the metadata of the JFR chunk at byte %llu is not valid at byte "
			"%llu: %s",
			(unsigned long long)k->file_offset,
			(unsigned long long)(k->file_offset +
					     (m.c.at ? m.c.at : k->header.metadata_offset)),
			err_text(e));
	return e;
}
