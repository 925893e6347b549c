/*
 * Strings, functions and mappings of a pprof file as content hashes, every index checked. Nothing
 * is interned here: most files repeat what the dictionary already has.
 *
 * An entry is first tried as what every writer makes of it, known fields in any order with small
 * tags; whatever is different goes the general way, which also says what is wrong.
 */
#include "format/pprof.h"
#include "format/pprof_shape.h"

#define AT(f, span) ((f)->bytes.p + (span).at)

enum err id_table_init(struct id_table *t, struct arena *a, size_t n, uint64_t seed)
{
	t->seed = seed;
	t->size = n + 2;
	t->direct = arena_zalloc(a, t->size, sizeof(*t->direct));
	return t->direct ? ERR_OK : ERR_NO_MEMORY;
}

enum err id_table_add_slow(struct id_table *t, uint64_t id, uint32_t position)
{
	uint64_t size = t->size;

	if (id_table_get(t, id) != UINT32_MAX)
		return ERR_EXISTS;
	if (size) {
		for (uint64_t i = 0; i < size; i++)
			if (t->direct[i])
				TRY(map_put(&t->sparse, id_key(t, i), t->direct[i] - 1));
		t->size = 0;
	}
	return map_put(&t->sparse, id_key(t, id), position);
}

static enum err hash_strings(struct pprof_file *f)
{
	size_t n = f->strings.n ? f->strings.n : 1;

	f->string_hash = arena_alloc(&f->arena, n * sizeof(*f->string_hash));
	f->string_id = arena_zalloc(&f->arena, n, sizeof(*f->string_id));
	if (!f->string_hash || !f->string_id)
		return ERR_NO_MEMORY;
	if (!f->strings.n) {
		notes_add(&f->out->notes, "the string table is empty: its first entry is missing");
		TRY(vec_push(&f->strings, (struct span){0}));
	} else if (f->strings.v[0].n) {
		notes_add(&f->out->notes, "string 0 is not empty: index 0 is read as not set");
		f->strings.v[0].n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct span s = f->strings.v[i];

		if (s.n > f->out->limits.max_string)
			return pprof_fault(f, ERR_TOO_LARGE, AT(f, s),
					   "string %zu has %u bytes, more than %u", i, s.n,
					   f->out->limits.max_string);
		f->string_hash[i] = content_string(f->keys, str_n(AT(f, s), s.n));
	}
	return ERR_OK;
}

/* A string index of the file, checked. */
static enum err take_string(struct pprof_file *f, const struct pb *c, const char *what,
			    uint32_t *ret)
{
	if (c->type != PB_VARINT)
		return pprof_fault(f, ERR_CORRUPT, c->field_start,
				   "%s has wire type %d, expected a number", what, (int)c->type);
	if (c->value >= f->strings.n)
		return pprof_fault(f, ERR_BAD_INDEX, c->field_start,
				   "%s is %lld, the string table has %zu entries", what,
				   (long long)c->value, f->strings.n);
	*ret = (uint32_t)c->value;
	return ERR_OK;
}

static enum err read_function_general(struct pprof_file *f, size_t i, struct pprof_function *ret)
{
	struct pb c = pprof_message(f, f->functions.v[i]);

	*ret = (struct pprof_function){0};
	while (pb_next(&c)) {
		switch (c.field) {
		case PPROF_FUNCTION_ID:
			ret->id = c.value;
			break;
		case PPROF_FUNCTION_NAME:
			TRY(take_string(f, &c, "Function.name", &ret->name));
			break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			TRY(take_string(f, &c, "Function.system_name", &ret->system_name));
			break;
		case PPROF_FUNCTION_FILENAME:
			TRY(take_string(f, &c, "Function.filename", &ret->file));
			break;
		case PPROF_FUNCTION_START_LINE:
			ret->start_line = (int64_t)c.value;
			break;
		}
	}
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, c.field_start,
				   "function %zu: the field that starts here is cut or malformed",
				   i);
	if (!ret->id)
		return pprof_fault(f, ERR_CORRUPT, AT(f, f->functions.v[i]),
				   "function %zu has id 0, expected a positive id", i);
	return ERR_OK;
}

/* The function every writer makes: its fields in order. What runs on into the next entry does not
 * end where it should. */
static inline bool read_usual_function(const struct pprof_file *f, struct span span,
				       struct pprof_function *ret)
{
	const uint8_t *p = (const uint8_t *)AT(f, span), *end = p + span.n;
	uint64_t id = 0, name = 0, system_name = 0, file = 0, line = 0, strings = f->strings.n;

	if (f->bytes.n - span.at - span.n < PPROF_SLACK ||
	    !pb_take_open(&p, PPROF_FUNCTION_ID << 3, &id) ||
	    !pb_take_open(&p, PPROF_FUNCTION_NAME << 3, &name) ||
	    !pb_take_open(&p, PPROF_FUNCTION_SYSTEM_NAME << 3, &system_name) ||
	    !pb_take_open(&p, PPROF_FUNCTION_FILENAME << 3, &file) ||
	    !pb_take_open(&p, PPROF_FUNCTION_START_LINE << 3, &line))
		return false;
	*ret = (struct pprof_function){id, (uint32_t)name, (uint32_t)system_name, (uint32_t)file,
				       (int64_t)line};
	return p == end && id && name < strings && system_name < strings && file < strings;
}

enum err pprof_read_function(struct pprof_file *f, size_t i, struct pprof_function *ret)
{
	if (__builtin_expect(read_usual_function(f, f->functions.v[i], ret), 1))
		return ERR_OK;
	return read_function_general(f, i, ret);
}

static enum err duplicate(struct pprof_file *f, enum err e, struct span span, const char *what,
			  uint64_t id)
{
	if (e != ERR_EXISTS)
		return e;
	return pprof_fault(f, ERR_CORRUPT, AT(f, span), "two %ss have id %llu", what,
			   (unsigned long long)id);
}

enum { FUNCTION_ID, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };
static const struct shape_field function_fields[] = {
	{PPROF_FUNCTION_ID << 3, FUNCTION_ID},
	{PPROF_FUNCTION_NAME << 3, FUNCTION_NAME},
	{PPROF_FUNCTION_SYSTEM_NAME << 3, FUNCTION_SYSTEM_NAME},
	{PPROF_FUNCTION_FILENAME << 3, FUNCTION_FILE},
	{PPROF_FUNCTION_START_LINE << 3, SHAPE_LARGE},
	{0},
};

/* From the i-th on, up to one that is not as every writer makes it: returns which. */
#ifdef __x86_64__
SHAPED static size_t hash_usual_functions(struct pprof_file *f, struct shapes *shapes, size_t i)
{
	const uint8_t *bytes = (const uint8_t *)f->bytes.p;
	const struct span *spans = f->functions.v;
	const uint64_t *string = f->string_hash;
	uint64_t *hash = f->function_hash;
	uint32_t *direct = f->function_ids.direct;
	size_t n = shapes->usable ? f->functions.n : 0, readable = f->bytes.n;
	uint64_t strings = f->strings.n, limit = f->function_ids.size;

	for (; i < n; i++) {
		struct shape_numbers v;
		uint32_t id, name, system_name, file;

		if (readable - spans[i].at < SHAPE_BYTES ||
		    !shape_decode(shapes, bytes + spans[i].at, spans[i].n, &v))
			break;
		id = v.small[FUNCTION_ID];
		name = v.small[FUNCTION_NAME];
		system_name = v.small[FUNCTION_SYSTEM_NAME];
		file = v.small[FUNCTION_FILE];
		if (!id || id >= limit || direct[id] || name >= strings || system_name >= strings ||
		    file >= strings)
			break;
		direct[id] = (uint32_t)i + 1;
		hash[i] = content_function(string[name], string[system_name], string[file],
					   (int64_t)v.large);
	}
	return i;
}
#else
static size_t hash_usual_functions(struct pprof_file *f, struct shapes *shapes, size_t i)
{
	(void)f;
	(void)shapes;
	return i;
}
#endif

static enum err hash_functions(struct pprof_file *f)
{
	size_t n = f->functions.n;
	const uint64_t *string = f->string_hash;
	struct shapes shapes;
	enum err e;

	shapes_init(&shapes, function_fields);

	f->function_hash = arena_alloc(&f->arena, n * sizeof(*f->function_hash));
	f->function_id = arena_zalloc(&f->arena, n, sizeof(*f->function_id));
	if (!f->function_hash || !f->function_id)
		return ERR_NO_MEMORY;
	TRY(id_table_init(&f->function_ids, &f->arena, n, f->keys->seed));
	for (size_t i = 0; (i = hash_usual_functions(f, &shapes, i)) < n; i++) {
		struct pprof_function fn;

		TRY(pprof_read_function(f, i, &fn));
		f->function_hash[i] = content_function(string[fn.name], string[fn.system_name],
						       string[fn.file], fn.start_line);
		e = id_table_add(&f->function_ids, fn.id, (uint32_t)i);
		if (e)
			return duplicate(f, e, f->functions.v[i], "function", fn.id);
	}
	return ERR_OK;
}

static enum err read_mapping_field(struct pprof_file *f, const struct pb *c, struct mapping *m,
				   uint64_t *ret_id)
{
	static const uint8_t flag_of[] = {MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILENAMES,
					  MAPPING_HAS_LINES, MAPPING_HAS_INLINES};

	switch (c->field) {
	case PPROF_MAPPING_ID:
		*ret_id = c->value;
		break;
	case PPROF_MAPPING_START:
		m->start = c->value;
		break;
	case PPROF_MAPPING_LIMIT:
		m->limit = c->value;
		break;
	case PPROF_MAPPING_OFFSET:
		m->offset = c->value;
		break;
	case PPROF_MAPPING_FILENAME:
		return take_string(f, c, "Mapping.filename", &m->file);
	case PPROF_MAPPING_BUILD_ID:
		return take_string(f, c, "Mapping.build_id", &m->build_id);
	case PPROF_MAPPING_HAS_FUNCTIONS:
	case PPROF_MAPPING_HAS_FILENAMES:
	case PPROF_MAPPING_HAS_LINES:
	case PPROF_MAPPING_HAS_INLINES:
		if (c->value)
			m->flags |= flag_of[c->field - PPROF_MAPPING_HAS_FUNCTIONS];
		break;
	}
	return ERR_OK;
}

enum err pprof_read_mapping(struct pprof_file *f, size_t i, struct mapping *ret, uint64_t *ret_id)
{
	struct pb c = pprof_message(f, f->mappings.v[i]);

	*ret = (struct mapping){0};
	*ret_id = 0;
	while (pb_next(&c))
		TRY(read_mapping_field(f, &c, ret, ret_id));
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, c.field_start,
				   "mapping %zu: the field that starts here is cut or malformed",
				   i);
	if (!*ret_id)
		return pprof_fault(f, ERR_CORRUPT, AT(f, f->mappings.v[i]),
				   "mapping %zu has id 0, expected a positive id", i);
	return ERR_OK;
}

static enum err hash_mappings(struct pprof_file *f)
{
	size_t n = f->mappings.n;
	const uint64_t *string = f->string_hash;
	enum err e;

	f->mapping_hash = arena_alloc(&f->arena, n * sizeof(*f->mapping_hash));
	f->mapping_id = arena_zalloc(&f->arena, n, sizeof(*f->mapping_id));
	if (!f->mapping_hash || !f->mapping_id)
		return ERR_NO_MEMORY;
	TRY(id_table_init(&f->mapping_ids, &f->arena, n, f->keys->seed));
	for (size_t i = 0; i < n; i++) {
		struct mapping m;
		uint64_t id;

		TRY(pprof_read_mapping(f, i, &m, &id));
		f->mapping_hash[i] = content_mapping(&m, string[m.file], string[m.build_id],
						     string[0], string[0]);
		e = id_table_add(&f->mapping_ids, id, (uint32_t)i);
		if (e)
			return duplicate(f, e, f->mappings.v[i], "mapping", id);
	}
	return ERR_OK;
}

enum err pprof_tables(struct pprof_file *f)
{
	TRY(hash_strings(f));
	TRY(hash_functions(f));
	return hash_mappings(f);
}
