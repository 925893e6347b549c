/*
 * The dictionary of an OTLP message: two walks, strings first, because values may refer to them.
 * Entries are decoded as they are; otlp_build checks what they refer to.
 */
#include "format/otlp_usual.h"

enum err otlp_read_indices(struct otlp_decoder *d, const struct pb *c, struct otlp_range *range,
			   const char *what)
{
	struct otlp_tables *t = d->t;
	const uint8_t *p, *end;
	uint64_t value;

	if (!range->n)
		range->at = (uint32_t)t->indices.n;
	else if (range->at + range->n != t->indices.n)
		return fault_set(&d->out->fault, ERR_CORRUPT,
				 "%s at byte %zu comes in pieces with other lists between them",
				 what, pb_offset(c));
	if (c->type == PB_VARINT) {
		range->n++;
		return vec_push(&t->indices, otlp_index(c->value));
	}
	WANT(d, c, PB_BYTES, what);
	/* An index takes at least a byte. */
	TRY(vec_reserve(&t->indices, c->bytes.n));
	p = (const uint8_t *)c->bytes.p;
	end = p + c->bytes.n;
	while (p < end) {
		if (!pb_varint(&p, end, &value))
			return otlp_malformed(d, c, what);
		t->indices.v[t->indices.n++] = otlp_index(value);
	}
	range->n = (uint32_t)t->indices.n - range->at;
	return ERR_OK;
}

static enum err read_mapping(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_mapping m = {0};
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field == MAPPING_ATTRIBUTES) {
			TRY(otlp_read_indices(d, &c, &m.attributes, "Mapping.attribute_indices"));
			continue;
		}
		if (c.field > MAPPING_ATTRIBUTES)
			continue;
		WANT(d, &c, PB_VARINT, "a number of a Mapping");
		switch (c.field) {
		case MAPPING_START:
			m.start = c.value;
			break;
		case MAPPING_LIMIT:
			m.limit = c.value;
			break;
		case MAPPING_OFFSET:
			m.offset = c.value;
			break;
		case MAPPING_FILE:
			m.file = otlp_index(c.value);
			break;
		}
	}
	if (c.failed)
		return otlp_malformed(d, &c, "Mapping");
	PUSH(d, &d->t->mappings, m, "mapping_table");
	return ERR_OK;
}

static enum err read_line(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_line line = {0};
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field > LINE_COLUMN)
			continue;
		WANT(d, &c, PB_VARINT, "a number of a Line");
		if (c.field == LINE_FUNCTION)
			line.function = otlp_index(c.value);
		else if (c.field == LINE_LINE)
			line.line = (int64_t)c.value;
		else
			line.column = (int64_t)c.value;
	}
	if (c.failed)
		return otlp_malformed(d, &c, "Line");
	PUSH(d, &d->t->lines, line, "lines");
	return ERR_OK;
}

static enum err add_usual_location(struct otlp_decoder *d, struct otlp_location l,
				   struct otlp_line line, uint32_t lines, int32_t attribute)
{
	l.lines = (struct otlp_range){(uint32_t)d->t->lines.n, lines};
	if (lines)
		PUSH(d, &d->t->lines, line, "lines");
	if (attribute >= 0) {
		l.attributes = (struct otlp_range){(uint32_t)d->t->indices.n, 1};
		TRY(vec_push(&d->t->indices, attribute));
	}
	PUSH(d, &d->t->locations, l, "location_table");
	return ERR_OK;
}

static enum err read_any_location(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_location l = {.lines.at = (uint32_t)d->t->lines.n};
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		switch (c.field) {
		case LOCATION_MAPPING:
			WANT(d, &c, PB_VARINT, "Location.mapping_index");
			l.mapping = otlp_index(c.value);
			break;
		case LOCATION_ADDRESS:
			WANT(d, &c, PB_VARINT, "Location.address");
			l.address = c.value;
			break;
		case LOCATION_LINES:
			WANT(d, &c, PB_BYTES, "Location.lines");
			TRY(read_line(d, &c));
			break;
		case LOCATION_ATTRIBUTES:
			TRY(otlp_read_indices(d, &c, &l.attributes, "Location.attribute_indices"));
			break;
		}
	}
	if (c.failed)
		return otlp_malformed(d, &c, "Location");
	l.lines.n = (uint32_t)d->t->lines.n - l.lines.at;
	PUSH(d, &d->t->locations, l, "location_table");
	return ERR_OK;
}

static enum err read_location(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_location l = {0};
	struct otlp_line line;
	uint32_t lines;
	int32_t attribute;

	if (!otlp_usual_location(d, at->bytes, &l, &line, &lines, &attribute))
		return read_any_location(d, at);
	return add_usual_location(d, l, line, lines, attribute);
}

static enum err read_function(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_function f = {0};
	struct pb c = pb_sub(at);

	if (otlp_usual_function(d, at->bytes, &f))
		c.p = c.end;
	while (pb_next(&c)) {
		if (c.field > FUNCTION_START_LINE)
			continue;
		WANT(d, &c, PB_VARINT, "a number of a Function");
		switch (c.field) {
		case FUNCTION_NAME:
			f.name = otlp_index(c.value);
			break;
		case FUNCTION_SYSTEM_NAME:
			f.system_name = otlp_index(c.value);
			break;
		case FUNCTION_FILE:
			f.file = otlp_index(c.value);
			break;
		default:
			f.start_line = (int64_t)c.value;
		}
	}
	if (c.failed)
		return otlp_malformed(d, &c, "Function");
	PUSH(d, &d->t->functions, f, "function_table");
	return ERR_OK;
}

/* An id of no bytes is how some senders write the zero entry; any other length is a mistake. */
static enum err read_id(struct otlp_decoder *d, const struct pb *c, uint8_t *id, size_t length,
			const char *what)
{
	WANT(d, c, PB_BYTES, what);
	if (c->bytes.n && c->bytes.n != length)
		return fault_set(&d->out->fault, ERR_CORRUPT,
				 "%s at byte %zu has %zu bytes, expected %zu", what, pb_offset(c),
				 c->bytes.n, length);
	if (c->bytes.n)
		memcpy(id, c->bytes.p, length);
	return ERR_OK;
}

static enum err read_link(struct otlp_decoder *d, const struct pb *at)
{
	struct link link = {0};
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field == LINK_TRACE_ID)
			TRY(read_id(d, &c, link.trace_id, sizeof(link.trace_id), "Link.trace_id"));
		else if (c.field == LINK_SPAN_ID)
			TRY(read_id(d, &c, link.span_id, sizeof(link.span_id), "Link.span_id"));
	}
	if (c.failed)
		return otlp_malformed(d, &c, "Link");
	PUSH(d, &d->t->links, link, "link_table");
	return ERR_OK;
}

static enum err read_attribute(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_attribute a = {0};
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		switch (c.field) {
		case ATTRIBUTE_KEY:
			/* Text here is KeyValue of 1.7. */
			if (c.type == PB_BYTES && c.bytes.n)
				return otlp_refuse_ancient(d);
			WANT(d, &c, PB_VARINT, "KeyValueAndUnit.key_strindex");
			a.key = otlp_index(c.value);
			break;
		case ATTRIBUTE_VALUE:
			WANT(d, &c, PB_BYTES, "KeyValueAndUnit.value");
			TRY(otlp_read_any(d, &c, 0, &a.value));
			break;
		case ATTRIBUTE_UNIT:
			WANT(d, &c, PB_VARINT, "KeyValueAndUnit.unit_strindex");
			a.unit = otlp_index(c.value);
			break;
		}
	}
	if (c.failed)
		return otlp_malformed(d, &c, "KeyValueAndUnit");
	PUSH(d, &d->t->attributes, a, "attribute_table");
	return ERR_OK;
}

/* One packed list, as for nearly every stack: keep its bytes undecoded. */
static struct str packed_list(struct str stack)
{
	const uint8_t *p = (const uint8_t *)stack.p + 1, *end = p - 1 + stack.n;
	uint64_t n;

	if (stack.n < 3 || stack.p[0] != (STACK_LOCATIONS << 3 | PB_BYTES) ||
	    !pb_varint(&p, end, &n) || n != (uint64_t)(end - p))
		return (struct str){0};
	return str_n(p, n);
}

static enum err read_stack(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_range locations = {0};
	struct str packed = packed_list(at->bytes);
	struct pb c = pb_sub(at);

	PUSH(d, &d->t->packed_stacks, packed, "stack_table");
	/* Whether a sample refers to it or not: what is cut here is cut elsewhere as well. */
	if (packed.n && !pb_run_whole(packed))
		return otlp_malformed(d, at, "Stack.location_indices");
	if (packed.n)
		return vec_push(&d->t->stacks, locations);
	while (pb_next(&c))
		if (c.field == STACK_LOCATIONS)
			TRY(otlp_read_indices(d, &c, &locations, "Stack.location_indices"));
	if (c.failed)
		return otlp_malformed(d, &c, "Stack");
	return vec_push(&d->t->stacks, locations);
}

static enum err read_string(struct otlp_decoder *d, const struct pb *c)
{
	if (c->bytes.n > d->out->limits.max_string)
		return fault_set(&d->out->fault, ERR_TOO_LARGE,
				 "string_table[%zu] at byte %zu has %zu bytes, more than %u",
				 d->t->strings.n, pb_offset(c), c->bytes.n,
				 d->out->limits.max_string);
	PUSH(d, &d->t->strings, c->bytes, "string_table");
	return ERR_OK;
}

/* Also handles directly following ones. */
static enum err read_strings(struct otlp_decoder *d, struct pb *c, size_t *count)
{
	TRY(read_string(d, c));
	for (; pb_next_alike(c); count[DICTIONARY_STRINGS]++)
		TRY(read_string(d, c));
	return ERR_OK;
}

static enum err read_entries(struct otlp_decoder *d, struct pb *c)
{
	do {
		switch (c->field) {
		case DICTIONARY_MAPPINGS:
			TRY(read_mapping(d, c));
			break;
		case DICTIONARY_LOCATIONS:
			TRY(read_location(d, c));
			break;
		case DICTIONARY_FUNCTIONS:
			TRY(read_function(d, c));
			break;
		case DICTIONARY_LINKS:
			TRY(read_link(d, c));
			break;
		case DICTIONARY_ATTRIBUTES:
			TRY(read_attribute(d, c));
			break;
		case DICTIONARY_STACKS:
			TRY(read_stack(d, c));
			break;
		}
	} while (pb_next_alike(c));
	return ERR_OK;
}

/* Room for what the first walk counted. */
static enum err reserve_tables(struct otlp_decoder *d, const size_t *count)
{
	struct otlp_tables *t = d->t;

	for (unsigned i = 0; i <= DICTIONARY_STACKS; i++)
		if (count[i] > d->out->limits.max_entries)
			return otlp_too_many(d, "a table of the dictionary",
					     d->out->limits.max_entries);
	TRY(vec_reserve(&t->mappings, count[DICTIONARY_MAPPINGS]));
	TRY(vec_reserve(&t->locations, count[DICTIONARY_LOCATIONS]));
	TRY(vec_reserve(&t->lines, count[DICTIONARY_LOCATIONS]));
	TRY(vec_reserve(&t->functions, count[DICTIONARY_FUNCTIONS]));
	TRY(vec_reserve(&t->attributes, count[DICTIONARY_ATTRIBUTES]));
	TRY(vec_reserve(&t->stacks, count[DICTIONARY_STACKS]));
	return vec_reserve(&t->packed_stacks, count[DICTIONARY_STACKS]);
}

static enum err walk_dictionary(struct otlp_decoder *d, const struct pb *at, bool strings,
				size_t *count)
{
	struct pb c = pb_sub(at);

	if (!strings)
		TRY(reserve_tables(d, count));
	while (pb_next(&c)) {
		if (c.field > DICTIONARY_STACKS)
			continue;
		count[c.field] += strings;
		WANT(d, &c, PB_BYTES, "a table of the ProfilesDictionary");
		/* Strings are read in the first walk, the rest in the second. */
		if (strings != (c.field == DICTIONARY_STRINGS))
			count[c.field] += pb_skip_alike(&c) * strings;
		else
			TRY(strings ? read_strings(d, &c, count) : read_entries(d, &c));
	}
	return c.failed ? otlp_malformed(d, &c, "ProfilesDictionary") : ERR_OK;
}

/* A message may hold its dictionary in pieces: as protobuf says, they are one. */
enum err otlp_read_dictionary(struct otlp_decoder *d)
{
	size_t count[DICTIONARY_STACKS + 1] = {0};

	for (int pass = 0; pass < 2; pass++) {
		struct pb c = otlp_walk(d);

		while (pb_next(&c)) {
			/* Tables beside the resources: 1.6. */
			if (c.field > DATA_DICTIONARY && c.field <= 8 && c.type == PB_BYTES)
				return otlp_refuse_ancient(d);
			if (c.field != DATA_DICTIONARY)
				continue;
			WANT(d, &c, PB_BYTES, "ProfilesData.dictionary");
			d->t->has_dictionary = true;
			TRY(walk_dictionary(d, &c, pass == 0, count));
		}
		if (c.failed)
			return otlp_malformed(d, &c, "ProfilesData");
	}
	return ERR_OK;
}
