/*
 * Locations as frames of ours, in two steps. First what they are: the hash of each frame by its
 * content, which is enough to look up a stack. Only when the dictionary lacks a stack are its
 * frames, with their functions and strings, stored. A server that sees the same stacks all day
 * stores next to nothing.
 */
#include "format/otlp_builder.h"

static enum err location_attribute(struct otlp_builder *b, const struct otlp_attribute *a,
				   struct str key, struct frame *f)
{
	if (a->value.type == ANY_STRING && str_eq(key, STR(ATTR_FRAME_TYPE))) {
		/* Neighbours mostly have the same. */
		if (b->kind_attribute != a)
			TRY(otlp_text(b, a->value.text, &b->kind));
		b->kind_attribute = a;
		f->kind = b->kind;
		return ERR_OK;
	}
	if (a->value.type == ANY_BOOL && str_eq(key, STR(ATTR_IS_FOLDED))) {
		f->flags |= a->value.number ? FRAME_FOLDED : 0;
		return ERR_OK;
	}
	notes_add(&b->out->notes, "attribute %.*s of a location is not kept",
		  (int)(key.n < 80 ? key.n : 80), key.p);
	return ERR_OK;
}

/* Properties shared by all frames of a location. */
static enum err location_frame(struct otlp_builder *b, size_t index, struct frame *ret)
{
	const struct otlp_location *src = &b->t->locations.v[index];

	*ret = (struct frame){.address = src->address};
	TRY(otlp_mapping(b, src->mapping, index, &ret->mapping));
	for (uint32_t i = 0; i < src->attributes.n; i++) {
		const struct otlp_attribute *a;
		struct str key;

		TRY(otlp_attribute_at(b, src->attributes, i, "Location.attribute_indices",
				      OTLP_LOCATION, index, &a, &key));
		if (a)
			TRY(location_attribute(b, a, key, ret));
	}
	return ERR_OK;
}

/* Lines are the inlined callee first, the function that is really there last. */
static struct frame line_frame(const struct otlp_line *line, struct frame frame, bool inlined)
{
	frame.flags |= FRAME_HAS_LINE | (inlined ? FRAME_INLINED : 0);
	frame.line = line->line;
	if (line->column >= 0 && line->column <= UINT32_MAX)
		frame.column = (uint32_t)line->column;
	return frame;
}

/* The hash of a string by its content. One that is not UTF-8 is stored, to know what it becomes. */
static enum err string_content(struct otlp_builder *b, int32_t index, const char *field,
			       size_t function, uint64_t *ret)
{
	struct str text;
	uint32_t id = 0;

	if (index > 0 && (size_t)index < b->t->strings.n) {
		if (b->string_hashes[index]) {
			*ret = b->string_hashes[index];
			return ERR_OK;
		}
		text = b->t->strings.v[index];
		if (text.n <= b->out->limits.max_string && utf8_valid(text)) {
			*ret = b->string_hashes[index] = content_string(b->d, text);
			map_prefetch(&b->d->strings.index, *ret);
			return ERR_OK;
		}
	}
	TRY(otlp_string(b, index, field, OTLP_FUNCTION, function, &id));
	*ret = b->d->strings.hash.v[id];
	return ERR_OK;
}

static enum err function_content(struct otlp_builder *b, int32_t index, size_t location,
				 uint64_t *ret)
{
	const struct otlp_function *f;
	uint64_t name, system_name, file;
	uint32_t none = 0;
	size_t at = (size_t)index;

	if (index < 0 || at >= b->t->functions.n) {
		TRY(otlp_function(b, index, location, &none));
		*ret = b->d->functions.hash.v[none];
		return ERR_OK;
	}
	if (!b->function_hashes[index]) {
		f = &b->t->functions.v[index];
		TRY(string_content(b, f->name, "Function.name_strindex", at, &name));
		TRY(string_content(b, f->system_name, "Function.system_name_strindex", at,
				   &system_name));
		TRY(string_content(b, f->file, "Function.filename_strindex", at, &file));
		b->function_hashes[index] =
			content_function(name, system_name, file, f->start_line);
		map_prefetch(&b->d->functions.index, b->function_hashes[index]);
	}
	*ret = b->function_hashes[index];
	return ERR_OK;
}

static enum err line_content(struct otlp_builder *b, size_t location, const struct otlp_line *line,
			     const struct frame *shared, bool inlined, uint64_t *ret)
{
	struct frame frame = line_frame(line, *shared, inlined);
	uint64_t function;

	if (line->column < 0 || line->column > UINT32_MAX)
		notes_add(&b->out->notes, "a column outside 0 … 4294967295 was dropped");
	TRY(function_content(b, line->function, location, &function));
	*ret = content_frame(&frame, function, b->d->mappings.hash.v[frame.mapping],
			     b->d->strings.hash.v[frame.kind]);
	return ERR_OK;
}

static enum err too_many_lines(const struct otlp_builder *b, size_t index, uint32_t n)
{
	char where[96];

	return fault_set(&b->out->fault, ERR_TOO_DEEP, "a location has %u lines, more than %u%s", n,
			 b->out->limits.max_depth, otlp_place(b, OTLP_LOCATION, index, where));
}

enum err otlp_location(struct otlp_builder *b, size_t index)
{
	const struct otlp_location *src = &b->t->locations.v[index];
	const struct otlp_line *lines = src->lines.n ? b->t->lines.v + src->lines.at : NULL;
	struct otlp_place place = {.n = src->lines.n ? src->lines.n : 1};
	uint64_t hash = 0;
	struct frame shared;

	if (src->lines.n > b->out->limits.max_depth)
		return too_many_lines(b, index, src->lines.n);
	TRY(location_frame(b, index, &shared));
	if (!src->lines.n) {
		hash = content_frame(&shared, b->d->functions.hash.v[0],
				     b->d->mappings.hash.v[shared.mapping],
				     b->d->strings.hash.v[shared.kind]);
	} else if (src->lines.n == 1) {
		TRY(line_content(b, index, lines, &shared, false, &hash));
	} else {
		place.at = (uint32_t)b->frames.n;
		for (uint32_t i = 0; i < src->lines.n; i++) {
			TRY(line_content(b, index, &lines[i], &shared, i + 1 < src->lines.n,
					 &hash));
			TRY(vec_push(&b->frame_hashes, hash));
			TRY(vec_push(&b->frames, NOT_YET));
		}
	}
	/* Soon it may be stored. */
	map_prefetch(&b->d->frames.index, hash);
	b->location_hashes[index] = place.n == 1 ? hash : 0;
	b->locations[index] = place;
	return ERR_OK;
}

static enum err store_line(struct otlp_builder *b, size_t location, const struct otlp_line *line,
			   const struct frame *shared, bool inlined, struct frame *ret)
{
	*ret = line_frame(line, *shared, inlined);
	return otlp_function(b, line->function, location, &ret->function);
}

/* A frame whose hash is known already. */
static enum err store_frame(struct otlp_builder *b, const struct frame *frame, uint64_t hash,
			    uint32_t *ret)
{
	*ret = dict_find_frame(b->d, hash);
	return *ret != MAP_NONE ? ERR_OK : dict_add_frame(b->d, hash, frame, ret);
}

enum err otlp_store_location(struct otlp_builder *b, size_t index)
{
	const struct otlp_location *src = &b->t->locations.v[index];
	const struct otlp_line *lines = src->lines.n ? b->t->lines.v + src->lines.at : NULL;
	struct otlp_place place = b->locations[index];
	struct frame shared, frame;

	TRY(location_frame(b, index, &shared));
	if (place.n == 1) {
		frame = shared;
		if (lines)
			TRY(store_line(b, index, lines, &shared, false, &frame));
		return store_frame(b, &frame, b->location_hashes[index],
				   &b->location_frames[index]);
	}
	for (uint32_t i = 0; i < place.n; i++) {
		TRY(store_line(b, index, &lines[i], &shared, i + 1 < place.n, &frame));
		TRY(store_frame(b, &frame, b->frame_hashes.v[place.at + i],
				&b->frames.v[place.at + i]));
	}
	return ERR_OK;
}
