/*
 * Locations of a pprof file: each becomes one frame, or several where functions were inlined, and
 * here only their content hashes. Like the other tables, the usual shape goes a short way.
 */
#include "format/pprof.h"
#include "format/pprof_shape.h"

#define AT(f, span) ((f)->bytes.p + (span).at)

static enum err read_line_general(struct pprof_file *f, const struct pb *location)
{
	struct pb c = pb_sub(location);
	struct pprof_raw_line line = {0};

	if (location->type != PB_BYTES)
		return pprof_fault(f, ERR_CORRUPT, location->field_start,
				   "Location.line has wire type %d, expected a message",
				   (int)location->type);
	while (pb_next(&c)) {
		if (c.field == PPROF_LINE_FUNCTION)
			line.function = c.value;
		else if (c.field == PPROF_LINE_LINE)
			line.line = c.value;
		else if (c.field == PPROF_LINE_COLUMN)
			line.column = c.value;
	}
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, c.field_start,
				   "Line: the field that starts here is cut or malformed");
	return vec_push(&f->raw_lines, line);
}

static enum err read_location_general(struct pprof_file *f, size_t i,
				      struct pprof_raw_location *ret)
{
	struct pb c = pprof_message(f, f->locations.v[i]);

	f->raw_lines.n = 0;
	*ret = (struct pprof_raw_location){0};
	while (pb_next(&c)) {
		switch (c.field) {
		case PPROF_LOCATION_ID:
			ret->id = c.value;
			break;
		case PPROF_LOCATION_MAPPING:
			ret->mapping = c.value;
			break;
		case PPROF_LOCATION_ADDRESS:
			ret->address = c.value;
			break;
		case PPROF_LOCATION_LINE:
			TRY(read_line_general(f, &c));
			break;
		case PPROF_LOCATION_IS_FOLDED:
			ret->folded = c.value;
			break;
		}
	}
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, c.field_start,
				   "location %zu: the field that starts here is cut or malformed",
				   i);
	if (!ret->id)
		return pprof_fault(f, ERR_CORRUPT, AT(f, f->locations.v[i]),
				   "location %zu has id 0, expected a positive id", i);
	return ERR_OK;
}

/* Takes the field with this tag when it is next, else leaves the value at 0. */
static inline bool take(const uint8_t **p, const uint8_t *end, const uint8_t *file_end, uint8_t tag,
			uint64_t *ret)
{
	*ret = 0;
	if (*p >= end || **p != tag)
		return true;
	++*p;
	if (*p < end && **p < 0x80) {
		*ret = *(*p)++;
		return true;
	}
	return pb_varint_fast(p, file_end, ret);
}

/* A Line of at most 127 bytes with its known fields in order; false = not that simple. */
static inline bool read_usual_line(const uint8_t **p, const uint8_t *end, const uint8_t *file_end,
				   struct pprof_raw_line *ret)
{
	const uint8_t *line_end;

	if (*p == end || **p >= 0x80 || **p > end - *p - 1)
		return false;
	line_end = *p + 1 + **p;
	++*p;
	return take(p, line_end, file_end, PPROF_LINE_FUNCTION << 3, &ret->function) &&
	       take(p, line_end, file_end, PPROF_LINE_LINE << 3, &ret->line) &&
	       take(p, line_end, file_end, PPROF_LINE_COLUMN << 3, &ret->column) && *p == line_end;
}

/* The location every writer makes: its fields in order. Failing to allocate counts as unusual. */
static bool read_usual_location(struct pprof_file *f, struct span span,
				struct pprof_raw_location *ret)
{
	const uint8_t *p = (const uint8_t *)f->bytes.p + span.at, *end = p + span.n;
	const uint8_t *file_end = (const uint8_t *)f->bytes.p + f->bytes.n;

	f->raw_lines.n = 0;
	if (!take(&p, end, file_end, PPROF_LOCATION_ID << 3, &ret->id) ||
	    !take(&p, end, file_end, PPROF_LOCATION_MAPPING << 3, &ret->mapping) ||
	    !take(&p, end, file_end, PPROF_LOCATION_ADDRESS << 3, &ret->address))
		return false;
	while (p < end && *p == (PPROF_LOCATION_LINE << 3 | PB_BYTES)) {
		struct pprof_raw_line line;

		p++;
		if (!read_usual_line(&p, end, file_end, &line) || vec_push(&f->raw_lines, line))
			return false;
	}
	return take(&p, end, file_end, PPROF_LOCATION_IS_FOLDED << 3, &ret->folded) && p == end &&
	       ret->id;
}

enum err pprof_read_location(struct pprof_file *f, size_t i, struct pprof_raw_location *ret)
{
	if (read_usual_location(f, f->locations.v[i], ret))
		return ERR_OK;
	return read_location_general(f, i, ret);
}

static enum err resolve(struct pprof_file *f, const struct id_table *ids, uint64_t id,
			const char *what, size_t table_size, uint32_t *ret)
{
	uint32_t position;

	*ret = 0;
	if (!id)
		return ERR_OK;
	position = id_table_get(ids, id);
	if (position == UINT32_MAX)
		return pprof_fault(f, ERR_BAD_INDEX, NULL,
				   "%s %llu is not among the %zu of the file", what,
				   (unsigned long long)id, table_size);
	*ret = position + 1;
	return ERR_OK;
}

enum err pprof_location_frame(struct pprof_file *f, const struct pprof_raw_location *l, size_t line,
			      struct frame *ret)
{
	const struct pprof_raw_line *raw;

	*ret = (struct frame){
		.address = l->address,
		.flags = (l->folded ? FRAME_FOLDED : 0),
	};
	TRY(resolve(f, &f->mapping_ids, l->mapping, "Location.mapping_id", f->mappings.n,
		    &ret->mapping));
	if (line >= f->raw_lines.n)
		return ERR_OK;
	raw = &f->raw_lines.v[line];
	ret->flags |= FRAME_HAS_LINE | (line + 1 < f->raw_lines.n ? FRAME_INLINED : 0);
	ret->line = (int64_t)raw->line;
	ret->column = raw->column <= UINT32_MAX ? (uint32_t)raw->column : 0;
	if (!raw->function)
		notes_add(&f->out->notes, "a line has no function");
	return resolve(f, &f->function_ids, raw->function, "Line.function_id", f->functions.n,
		       &ret->function);
}

static bool find_mapping_hash(const struct pprof_file *f, uint64_t id, uint64_t *ret)
{
	uint32_t position = id ? id_table_get(&f->mapping_ids, id) : 0;

	if (position == UINT32_MAX)
		return false;
	*ret = id ? f->mapping_hash[position] : f->keys->no_mapping;
	return true;
}

static enum err hash_frame(struct pprof_file *f, const struct pprof_raw_location *l, size_t line,
			   uint64_t *ret)
{
	struct frame frame;

	TRY(pprof_location_frame(f, l, line, &frame));
	*ret = content_frame(
		&frame,
		frame.function ? f->function_hash[frame.function - 1] : f->keys->no_function,
		frame.mapping ? f->mapping_hash[frame.mapping - 1] : f->keys->no_mapping,
		f->string_hash[0]);
	return ERR_OK;
}

/* A location with its lines as hashes; `ret_hash` is that of its only line, else 0. */
static enum err hash_location(struct pprof_file *f, size_t i, struct pprof_location *ret,
			      uint64_t *ret_hash, uint64_t *ret_id)
{
	struct pprof_raw_location l;
	struct pprof_inlined inlined = {(uint32_t)i, (uint32_t)f->line_hash.n};
	uint64_t hash;

	TRY(pprof_read_location(f, i, &l));
	*ret_id = l.id;
	*ret_hash = 0;
	if (f->raw_lines.n <= 1) {
		*ret = (struct pprof_location){.at = (uint32_t)i, .lines = 1};
		return hash_frame(f, &l, 0, ret_hash);
	}
	*ret = (struct pprof_location){.at = (uint32_t)f->inlined.n,
				       .lines = (uint32_t)f->raw_lines.n};
	TRY(vec_push(&f->inlined, inlined));
	for (size_t line = 0; line < f->raw_lines.n; line++) {
		TRY(hash_frame(f, &l, line, &hash));
		TRY(vec_push(&f->line_hash, hash));
	}
	return ERR_OK;
}

static uint32_t position_of(const struct pprof_file *f, const struct pprof_location *l)
{
	return l->lines == 1 ? l->at : f->inlined.v[l->at].position;
}

/* An id beyond the array: from now on locations stand by position, and a map knows their ids. */
static enum err leave_order(struct pprof_file *f)
{
	size_t n = f->locations.n;
	struct pprof_location *location = arena_alloc(&f->arena, n * sizeof(*location));
	uint64_t *hash = arena_alloc(&f->arena, n * sizeof(*hash));

	if (!location || !hash)
		return ERR_NO_MEMORY;
	f->sparse_locations.seed = f->keys->seed;
	for (uint64_t id = 0; id < f->location_limit; id++) {
		const struct pprof_location *l = &f->location[id];

		if (!l->lines)
			continue;
		location[position_of(f, l)] = *l;
		hash[position_of(f, l)] = f->location_hash[id];
		TRY(id_table_add_slow(&f->sparse_locations, id, position_of(f, l)));
	}
	f->location = location;
	f->location_hash = hash;
	f->location_limit = 0;
	return ERR_OK;
}

static enum err place_location(struct pprof_file *f, size_t i, uint64_t id, struct pprof_location l,
			       uint64_t hash)
{
	bool twice = false;
	uint64_t at = id;
	enum err e;

	if (__builtin_expect(id >= f->location_limit, 0)) {
		if (f->location_limit)
			TRY(leave_order(f));
		e = id_table_add_slow(&f->sparse_locations, id, (uint32_t)i);
		if (e && e != ERR_EXISTS)
			return e;
		twice = e;
		at = i;
	} else {
		twice = f->location[id].lines;
	}
	if (__builtin_expect(twice, 0))
		return pprof_fault(f, ERR_CORRUPT, AT(f, f->locations.v[i]),
				   "two locations have id %llu", (unsigned long long)id);
	f->location[at] = l;
	f->location_hash[at] = hash;
	return ERR_OK;
}

enum { LOCATION_ID, LOCATION_MAPPING, LOCATION_FUNCTION, LOCATION_LINE };
static const struct shape_field location_fields[] = {
	{PPROF_LOCATION_ID << 3, LOCATION_ID},
	{PPROF_LOCATION_MAPPING << 3, LOCATION_MAPPING},
	{PPROF_LOCATION_ADDRESS << 3, SHAPE_LARGE},
	{PPROF_LOCATION_LINE << 3 | PB_BYTES, SHAPE_REST},
	{PPROF_LINE_FUNCTION << 3, LOCATION_FUNCTION},
	{PPROF_LINE_LINE << 3, LOCATION_LINE},
	{0},
};

/* From the i-th on, up to one that has not exactly one line in a function, or else is not as every
 * writer makes it: returns which. */
#ifdef __x86_64__
SHAPED static size_t hash_usual_locations(struct pprof_file *f, struct shapes *shapes, size_t i)
{
	const uint8_t *bytes = (const uint8_t *)f->bytes.p;
	const struct span *spans = f->locations.v;
	const uint64_t *function_hash = f->function_hash;
	struct pprof_location *location = f->location;
	uint64_t *location_hash = f->location_hash;
	const struct id_table functions = f->function_ids;
	size_t n = shapes->usable ? f->locations.n : 0, readable = f->bytes.n,
	       limit = f->location_limit;
	uint64_t kind = f->string_hash[0], mapping_hash = f->keys->no_mapping;
	uint32_t mapping_id = 0;

	for (; i < n; i++) {
		struct frame frame = {.flags = FRAME_HAS_LINE};
		struct shape_numbers v;
		uint32_t id, function;

		if (readable - spans[i].at < SHAPE_BYTES ||
		    !shape_decode(shapes, bytes + spans[i].at, spans[i].n, &v))
			break;
		id = v.small[LOCATION_ID];
		function = id_table_get(&functions, v.small[LOCATION_FUNCTION]);
		if (!id || id >= limit || location[id].lines || function == UINT32_MAX ||
		    !v.small[LOCATION_FUNCTION])
			break;
		/* Nearly always that of the one before. */
		if (__builtin_expect(v.small[LOCATION_MAPPING] != mapping_id, 0)) {
			mapping_id = v.small[LOCATION_MAPPING];
			if (!find_mapping_hash(f, mapping_id, &mapping_hash))
				break;
		}
		frame.address = v.large;
		frame.line = v.small[LOCATION_LINE];
		location[id] = (struct pprof_location){.at = (uint32_t)i, .lines = 1};
		location_hash[id] =
			content_frame(&frame, function_hash[function], mapping_hash, kind);
	}
	return i;
}
#else
static size_t hash_usual_locations(struct pprof_file *f, struct shapes *shapes, size_t i)
{
	(void)f;
	(void)shapes;
	return i;
}
#endif

static void count_plain(struct pprof_file *f)
{
	uint64_t id = 1, limit = f->location_limit < INT32_MAX ? f->location_limit : 0;

	while (id < limit && f->location_hash[id])
		id++;
	f->plain_locations = (uint32_t)id - 1;
}

enum err pprof_locations(struct pprof_file *f)
{
	size_t n = f->locations.n;
	struct shapes shapes;

	shapes_init(&shapes, location_fields);

	f->location_limit = n + 2;
	f->location = arena_zalloc(&f->arena, n + 2, sizeof(*f->location));
	f->location_hash = arena_zalloc(&f->arena, n + 2, sizeof(*f->location_hash));
	if (!f->location || !f->location_hash)
		return ERR_NO_MEMORY;
	for (size_t i = 0; (i = hash_usual_locations(f, &shapes, i)) < n; i++) {
		struct pprof_location l;
		uint64_t id, hash;

		TRY(hash_location(f, i, &l, &hash, &id));
		TRY(place_location(f, i, id, l, hash));
	}
	count_plain(f);
	return ERR_OK;
}
