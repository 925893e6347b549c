/*
 * Strings, functions, mappings and locations of a pprof file as content hashes, every index
 * checked. Nothing is interned here: most files repeat what the dictionary already has.
 */
#include "base/hash.h"
#include "format/pprof.h"

#define AT(f, span) ((f)->bytes.p + (span).at)

static struct pb message(const struct pprof_file *f, struct span span)
{
	struct pb c = pb_of(str_n(AT(f, span), span.n));

	c.start = (const uint8_t *)f->bytes.p;
	return c;
}

enum err id_table_init(struct id_table *t, struct arena *a, const uint64_t *ids, size_t n,
		       uint64_t seed, size_t *ret_duplicate)
{
	uint64_t max = 0;

	t->seed = seed;
	*ret_duplicate = SIZE_MAX;
	for (size_t i = 0; i < n; i++)
		max = ids[i] > max ? ids[i] : max;
	if (max < 4 * (uint64_t)n + 1024) {
		t->direct_size = max + 1;
		t->direct = arena_zalloc(a, t->direct_size, sizeof(*t->direct));
		if (!t->direct)
			return ERR_NO_MEMORY;
		for (size_t i = 0; i < n; i++) {
			if (t->direct[ids[i]]) {
				*ret_duplicate = i;
				return ERR_CORRUPT;
			}
			t->direct[ids[i]] = (uint32_t)i + 1;
		}
		return ERR_OK;
	}
	TRY(map_reserve(&t->sparse, (uint32_t)n));
	for (size_t i = 0; i < n; i++) {
		uint64_t key = id_key(t, ids[i]);

		if (map_get(&t->sparse, key) != MAP_NONE) {
			*ret_duplicate = i;
			return ERR_CORRUPT;
		}
		TRY(map_put(&t->sparse, key, (uint32_t)i));
	}
	return ERR_OK;
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
		f->string_hash[i] = content_string(f->out->dict, str_n(AT(f, s), s.n));
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

static enum err cut(struct pprof_file *f, const struct pb *c, const char *what, size_t i)
{
	return pprof_fault(f, ERR_TRUNCATED, c->field_start,
			   "%s %zu: the field that starts here is cut or malformed", what, i);
}

static enum err read_function(struct pprof_file *f, size_t i, uint64_t *ret_id)
{
	struct pprof_function *fn = &f->functions[i];
	struct pb c = message(f, f->function_spans.v[i]);

	*fn = (struct pprof_function){0};
	*ret_id = 0;
	while (pb_next(&c)) {
		switch (c.field) {
		case PPROF_FUNCTION_ID:
			*ret_id = c.value;
			break;
		case PPROF_FUNCTION_NAME:
			TRY(take_string(f, &c, "Function.name", &fn->name));
			break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			TRY(take_string(f, &c, "Function.system_name", &fn->system_name));
			break;
		case PPROF_FUNCTION_FILENAME:
			TRY(take_string(f, &c, "Function.filename", &fn->file));
			break;
		case PPROF_FUNCTION_START_LINE:
			fn->start_line = (int64_t)c.value;
			break;
		}
	}
	if (c.failed)
		return cut(f, &c, "function", i);
	if (!*ret_id)
		return pprof_fault(f, ERR_CORRUPT, AT(f, f->function_spans.v[i]),
				   "function %zu has id 0, expected a positive id", i);
	fn->hash = content_function(f->string_hash[fn->name], f->string_hash[fn->system_name],
				    f->string_hash[fn->file], fn->start_line);
	return ERR_OK;
}

static enum err duplicate(struct pprof_file *f, const struct spans *spans, const char *what,
			  const uint64_t *ids, size_t i)
{
	return pprof_fault(f, ERR_CORRUPT, AT(f, spans->v[i]), "two %ss have id %llu", what,
			   (unsigned long long)ids[i]);
}

static enum err index_ids(struct pprof_file *f, struct id_table *t, const struct spans *spans,
			  const char *what, const uint64_t *ids)
{
	size_t at;
	enum err e = id_table_init(t, &f->arena, ids, spans->n, f->out->dict->seed, &at);

	return at != SIZE_MAX ? duplicate(f, spans, what, ids, at) : e;
}

static enum err read_functions(struct pprof_file *f)
{
	size_t n = f->function_spans.n;
	uint64_t *ids = arena_alloc(&f->arena, n * sizeof(*ids));

	f->functions = arena_alloc(&f->arena, n * sizeof(*f->functions));
	if (!f->functions || !ids)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		TRY(read_function(f, i, &ids[i]));
	return index_ids(f, &f->function_ids, &f->function_spans, "function", ids);
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

static enum err read_mapping(struct pprof_file *f, size_t i, uint64_t *ret_id)
{
	struct pprof_mapping *m = &f->mappings[i];
	struct pb c = message(f, f->mapping_spans.v[i]);

	*m = (struct pprof_mapping){0};
	*ret_id = 0;
	while (pb_next(&c))
		TRY(read_mapping_field(f, &c, &m->m, ret_id));
	if (c.failed)
		return cut(f, &c, "mapping", i);
	if (!*ret_id)
		return pprof_fault(f, ERR_CORRUPT, AT(f, f->mapping_spans.v[i]),
				   "mapping %zu has id 0, expected a positive id", i);
	m->hash = content_mapping(&m->m, f->string_hash[m->m.file], f->string_hash[m->m.build_id],
				  f->string_hash[0], f->string_hash[0]);
	return ERR_OK;
}

static enum err read_mappings(struct pprof_file *f)
{
	size_t n = f->mapping_spans.n;
	uint64_t *ids = arena_alloc(&f->arena, n * sizeof(*ids));

	f->mappings = arena_alloc(&f->arena, n * sizeof(*f->mappings));
	if (!f->mappings || !ids)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		TRY(read_mapping(f, i, &ids[i]));
	return index_ids(f, &f->mapping_ids, &f->mapping_spans, "mapping", ids);
}

static enum err read_line(struct pprof_file *f, const struct pb *location)
{
	struct pb c = pb_sub(location);
	struct pprof_line line = {.frame.flags = FRAME_HAS_LINE};
	uint64_t function = 0, column = 0;

	if (location->type != PB_BYTES)
		return pprof_fault(f, ERR_CORRUPT, location->field_start,
				   "Location.line has wire type %d, expected a message",
				   (int)location->type);
	while (pb_next(&c)) {
		if (c.field == PPROF_LINE_FUNCTION)
			function = c.value;
		else if (c.field == PPROF_LINE_LINE)
			line.frame.line = (int64_t)c.value;
		else if (c.field == PPROF_LINE_COLUMN)
			column = c.value;
	}
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, c.field_start,
				   "Line: the field that starts here is cut or malformed");
	line.frame.column = column <= UINT32_MAX ? (uint32_t)column : 0;
	if (function) {
		uint32_t position = id_table_get(&f->function_ids, function);

		if (position == UINT32_MAX)
			return pprof_fault(f, ERR_BAD_INDEX, location->field_start,
					   "Line.function_id %llu is not among the %zu functions",
					   (unsigned long long)function, f->function_spans.n);
		line.frame.function = position + 1;
	} else {
		notes_add(&f->out->notes, "a line has no function");
	}
	return vec_push(&f->lines, line);
}

/* Fills in what all lines of a location share, and hashes them. */
static void finish_lines(struct pprof_file *f, size_t first, const struct frame *shared)
{
	size_t last = f->lines.n - 1;
	uint64_t nothing = f->string_hash[0];
	uint64_t mapping = shared->mapping ? f->mappings[shared->mapping - 1].hash
					   : f->out->dict->mappings.hash.v[0];

	for (size_t i = first; i <= last; i++) {
		struct pprof_line *l = &f->lines.v[i];

		l->frame.address = shared->address;
		l->frame.mapping = shared->mapping;
		l->frame.flags |= shared->flags | (i < last ? FRAME_INLINED : 0);
		l->hash = content_frame(&l->frame,
					l->frame.function ? f->functions[l->frame.function - 1].hash
							  : f->out->dict->functions.hash.v[0],
					mapping, nothing);
	}
}

static enum err read_location(struct pprof_file *f, size_t i, struct pprof_location *ret,
			      uint64_t *ret_id)
{
	struct pb c = message(f, f->location_spans.v[i]);
	struct frame shared = {0};
	size_t first = f->lines.n;
	uint64_t mapping = 0;

	*ret_id = 0;
	while (pb_next(&c)) {
		switch (c.field) {
		case PPROF_LOCATION_ID:
			*ret_id = c.value;
			break;
		case PPROF_LOCATION_MAPPING:
			mapping = c.value;
			break;
		case PPROF_LOCATION_ADDRESS:
			shared.address = c.value;
			break;
		case PPROF_LOCATION_LINE:
			TRY(read_line(f, &c));
			break;
		case PPROF_LOCATION_IS_FOLDED:
			shared.flags = c.value ? FRAME_FOLDED : 0;
			break;
		}
	}
	if (c.failed)
		return cut(f, &c, "location", i);
	if (mapping) {
		uint32_t position = id_table_get(&f->mapping_ids, mapping);

		if (position == UINT32_MAX)
			return pprof_fault(f, ERR_BAD_INDEX, AT(f, f->location_spans.v[i]),
					   "Location.mapping_id %llu is not among the %zu mappings",
					   (unsigned long long)mapping, f->mapping_spans.n);
		shared.mapping = position + 1;
	}
	if (f->lines.n == first)
		TRY(vec_push(&f->lines, (struct pprof_line){0}));
	finish_lines(f, first, &shared);
	*ret = (struct pprof_location){.hash = f->lines.v[first].hash,
				       .first_line = (uint32_t)first,
				       .lines = (uint32_t)(f->lines.n - first)};
	return ERR_OK;
}

/* With dense ids the array is laid out by id: the stack loop then needs one load a frame. */
static enum err lay_out_by_id(struct pprof_file *f, const uint64_t *ids)
{
	struct pprof_location *by_id;

	if (!f->location_ids.direct)
		return ERR_OK;
	by_id = arena_zalloc(&f->arena, f->location_ids.direct_size, sizeof(*by_id));
	if (!by_id)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < f->location_spans.n; i++)
		by_id[ids[i]] = f->locations[i];
	f->locations = by_id;
	f->locations_by_id = true;
	f->location_limit = f->location_ids.direct_size;
	return ERR_OK;
}

static enum err read_locations(struct pprof_file *f)
{
	size_t n = f->location_spans.n;
	uint64_t *ids = arena_alloc(&f->arena, n * sizeof(*ids));

	f->locations = arena_alloc(&f->arena, n * sizeof(*f->locations));
	if (!f->locations || !ids)
		return ERR_NO_MEMORY;
	TRY(vec_reserve(&f->lines, n));
	for (size_t i = 0; i < n; i++) {
		TRY(read_location(f, i, &f->locations[i], &ids[i]));
		if (!ids[i])
			return pprof_fault(f, ERR_CORRUPT, AT(f, f->location_spans.v[i]),
					   "location %zu has id 0, expected a positive id", i);
	}
	TRY(index_ids(f, &f->location_ids, &f->location_spans, "location", ids));
	return lay_out_by_id(f, ids);
}

enum err pprof_tables(struct pprof_file *f)
{
	TRY(hash_strings(f));
	TRY(read_functions(f));
	TRY(read_mappings(f));
	return read_locations(f);
}

enum err pprof_intern_string(struct pprof_file *f, uint64_t index, uint32_t *ret)
{
	struct str s;

	if (index >= f->strings.n)
		return pprof_fault(f, ERR_BAD_INDEX, NULL,
				   "string index %lld, the string table has %zu entries",
				   (long long)index, f->strings.n);
	if (!f->string_id[index]) {
		uint32_t id;

		s = str_n(AT(f, f->strings.v[index]), f->strings.v[index].n);
		if (!utf8_valid(s))
			notes_add(&f->out->notes, "a string is not valid UTF-8: kept as it is");
		TRY(dict_string(f->out->dict, s, &id));
		f->string_id[index] = id + 1;
	}
	*ret = f->string_id[index] - 1;
	return ERR_OK;
}

static enum err intern_function(struct pprof_file *f, uint32_t position, uint32_t *ret)
{
	struct pprof_function *fn = &f->functions[position];
	struct function plain = {.start_line = fn->start_line};
	uint32_t id;

	if (!fn->interned) {
		TRY(pprof_intern_string(f, fn->name, &plain.name));
		TRY(pprof_intern_string(f, fn->system_name, &plain.system_name));
		TRY(pprof_intern_string(f, fn->file, &plain.file));
		TRY(dict_function(f->out->dict, &plain, &id));
		fn->interned = id + 1;
	}
	*ret = fn->interned - 1;
	return ERR_OK;
}

enum err pprof_intern_mapping(struct pprof_file *f, uint32_t position, uint32_t *ret)
{
	struct pprof_mapping *m = &f->mappings[position];
	struct mapping plain = m->m;
	uint32_t id;

	if (!m->interned) {
		TRY(pprof_intern_string(f, m->m.file, &plain.file));
		TRY(pprof_intern_string(f, m->m.build_id, &plain.build_id));
		TRY(dict_mapping(f->out->dict, &plain, &id));
		m->interned = id + 1;
	}
	*ret = m->interned - 1;
	return ERR_OK;
}

enum err pprof_intern_line(struct pprof_file *f, uint32_t line, uint32_t *ret)
{
	struct pprof_line *l = &f->lines.v[line];
	struct frame plain = l->frame;
	uint32_t id;

	if (!l->interned) {
		if (l->frame.function)
			TRY(intern_function(f, l->frame.function - 1, &plain.function));
		if (l->frame.mapping)
			TRY(pprof_intern_mapping(f, l->frame.mapping - 1, &plain.mapping));
		TRY(dict_frame(f->out->dict, &plain, &id));
		l->interned = id + 1;
	}
	*ret = l->interned - 1;
	return ERR_OK;
}
