/*
 * The file's dictionary into ours. Index 0 means "not set" everywhere; where a file lacks the zero
 * entry (some senders did), an index 0 in a list, of a stack or of a function is taken for the
 * entry that stands there.
 */
#include <stdio.h>

#include "format/otlp_builder.h"

const char *otlp_place(const struct otlp_builder *b, enum otlp_kind kind, size_t at, char place[96])
{
	CLEANUP(buf_release) struct buf where = BUF_INIT(4096);

	place[0] = '\0';
	if (b->t->locate)
		b->t->locate(b->t, kind, at, &where);
	if (where.n && !where.error)
		(void)snprintf(place, 96, " (%.80s)", where.data);
	return place;
}

enum err otlp_bad_index(const struct otlp_builder *b, const char *field, int64_t index,
			const char *table, size_t size, enum otlp_kind kind, size_t at)
{
	char place[96];

	return fault_set(&b->out->fault, ERR_BAD_INDEX, "%s is %lld, but %s has %zu entries%s",
			 field, (long long)index, table, size, otlp_place(b, kind, at, place));
}

/* Not UTF-8: every byte that is not part of a character becomes U+FFFD. */
static enum err replace_invalid(struct otlp_builder *b, struct str text, uint32_t *ret)
{
	CLEANUP(buf_release)
	struct buf fixed = BUF_INIT((size_t)b->out->limits.max_string * 3 + 16);

	while (text.n) {
		size_t n = utf8_length(text);

		if (n)
			buf_append(&fixed, text.p, n);
		else
			buf_text(&fixed, "\xef\xbf\xbd");
		text = str_skip(text, n ? n : 1);
	}
	TRY(buf_error(&fixed));
	notes_add(&b->out->notes, "text that is not UTF-8: its invalid bytes were replaced");
	return dict_string(b->d, buf_view(&fixed), ret);
}

/* By references a few bytes can repeat a long string many times. */
enum err otlp_spend_text(struct otlp_builder *b, size_t n)
{
	if (n > b->text_budget)
		return fault_set(&b->out->fault, ERR_TOO_LARGE,
				 "references expand to far more text than an honest file has");
	b->text_budget -= n;
	return ERR_OK;
}

enum err otlp_text(struct otlp_builder *b, struct str text, uint32_t *ret)
{
	TRY(otlp_spend_text(b, text.n));
	if (text.n > b->out->limits.max_string)
		return fault_set(&b->out->fault, ERR_TOO_LARGE,
				 "a string has %zu bytes, more than %u", text.n,
				 b->out->limits.max_string);
	if (__builtin_expect(!utf8_valid(text), 0))
		return replace_invalid(b, text, ret);
	return dict_string(b->d, text, ret);
}

static enum err new_string(struct otlp_builder *b, size_t index, uint32_t *ret)
{
	struct str text = b->t->strings.v[index];

	/* Entries with a hash were already checked. */
	if (!b->string_hashes[index])
		return otlp_text(b, text, ret);
	TRY(otlp_spend_text(b, text.n));
	return dict_hashed_string(b->d, text, b->string_hashes[index], ret);
}

enum err otlp_string(struct otlp_builder *b, int32_t index, const char *field, enum otlp_kind kind,
		     size_t at, uint32_t *ret)
{
	if (index == 0) {
		*ret = STR_EMPTY;
		return ERR_OK;
	}
	if (index < 0 || (size_t)index >= b->t->strings.n)
		return otlp_bad_index(b, field, index, "string_table", b->t->strings.n, kind, at);
	if (b->strings[index] == NOT_YET)
		TRY(new_string(b, (size_t)index, &b->strings[index]));
	*ret = b->strings[index];
	return ERR_OK;
}

enum err otlp_function(struct otlp_builder *b, int32_t index, size_t location, uint32_t *ret)
{
	const struct otlp_function *src;
	struct function f = {0};

	if (index == 0 && !b->t->functions.n) {
		*ret = 0;
		return ERR_OK;
	}
	if (index < 0 || (size_t)index >= b->t->functions.n)
		return otlp_bad_index(b, "Line.function_index", index, "function_table",
				      b->t->functions.n, OTLP_LOCATION, location);
	if (b->functions[index] == NOT_YET) {
		size_t at = (size_t)index;

		src = &b->t->functions.v[index];
		TRY(otlp_string(b, src->name, "Function.name_strindex", OTLP_FUNCTION, at,
				&f.name));
		TRY(otlp_string(b, src->system_name, "Function.system_name_strindex", OTLP_FUNCTION,
				at, &f.system_name));
		TRY(otlp_string(b, src->file, "Function.filename_strindex", OTLP_FUNCTION, at,
				&f.file));
		f.start_line = src->start_line;
		TRY(b->function_hashes[index]
			    ? dict_hashed_function(b->d, &f, b->function_hashes[index],
						   &b->functions[index])
			    : dict_function(b->d, &f, &b->functions[index]));
	}
	*ret = b->functions[index];
	return ERR_OK;
}

static enum err mapping_attribute(struct otlp_builder *b, const struct otlp_attribute *a,
				  struct str key, struct mapping *m)
{
	static const struct {
		const char *key;
		uint32_t flag;
	} flags[] = {
		{ATTR_HAS_FUNCTIONS, MAPPING_HAS_FUNCTIONS},
		{ATTR_HAS_FILENAMES, MAPPING_HAS_FILENAMES},
		{ATTR_HAS_LINES, MAPPING_HAS_LINES},
		{ATTR_HAS_INLINES, MAPPING_HAS_INLINES},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (a->value.type != ANY_BOOL || !str_eq(key, str_of(flags[i].key)))
			continue;
		if (a->value.number)
			m->flags |= flags[i].flag;
		return ERR_OK;
	}
	if (a->value.type == ANY_STRING) {
		if (str_eq(key, STR(ATTR_BUILD_ID_GNU)))
			return otlp_text(b, a->value.text, &m->build_id);
		if (str_eq(key, STR(ATTR_BUILD_ID_GO)))
			return otlp_text(b, a->value.text, &m->go_build_id);
		if (str_eq(key, STR(ATTR_BUILD_ID_HTL)) || str_eq(key, STR(ATTR_BUILD_ID_OLD)))
			return otlp_text(b, a->value.text, &m->htl_hash);
	}
	notes_add(&b->out->notes, "attribute %.*s of a mapping is not kept",
		  (int)(key.n < 80 ? key.n : 80), key.p);
	return ERR_OK;
}

static enum err build_mapping(struct otlp_builder *b, size_t index)
{
	const struct otlp_mapping *src = &b->t->mappings.v[index];
	struct mapping m = {.start = src->start, .limit = src->limit, .offset = src->offset};

	TRY(otlp_string(b, src->file, "Mapping.filename_strindex", OTLP_MAPPING, index, &m.file));
	for (uint32_t i = 0; i < src->attributes.n; i++) {
		const struct otlp_attribute *a;
		struct str key;

		TRY(otlp_attribute_at(b, src->attributes, i, "Mapping.attribute_indices",
				      OTLP_MAPPING, index, &a, &key));
		if (a)
			TRY(mapping_attribute(b, a, key, &m));
	}
	return dict_mapping(b->d, &m, &b->mappings[index]);
}

enum err otlp_mapping(struct otlp_builder *b, int32_t index, size_t location, uint32_t *ret)
{
	if (index == 0) {
		*ret = 0;
		return ERR_OK;
	}
	if (index < 0 || (size_t)index >= b->t->mappings.n)
		return otlp_bad_index(b, "Location.mapping_index", index, "mapping_table",
				      b->t->mappings.n, OTLP_LOCATION, location);
	if (b->mappings[index] == NOT_YET)
		TRY(build_mapping(b, (size_t)index));
	*ret = b->mappings[index];
	return ERR_OK;
}

enum err otlp_link(struct otlp_builder *b, int32_t index, size_t sample, uint32_t *ret)
{
	if (index == 0) {
		*ret = 0;
		return ERR_OK;
	}
	if (index < 0 || (size_t)index >= b->t->links.n)
		return otlp_bad_index(b, "Sample.link_index", index, "link_table", b->t->links.n,
				      OTLP_SAMPLE, sample);
	if (b->links[index] == NOT_YET)
		TRY(dict_link(b->d, &b->t->links.v[index], &b->links[index]));
	*ret = b->links[index];
	return ERR_OK;
}

void otlp_note_zero_entries(struct otlp_builder *b)
{
	static const struct otlp_mapping no_mapping;
	static const struct otlp_location no_location;
	static const struct otlp_function no_function;
	static const struct link no_link;
	const struct otlp_tables *t = b->t;
	const struct otlp_mapping *m = t->mappings.n ? t->mappings.v : &no_mapping;
	const struct otlp_location *l = t->locations.n ? t->locations.v : &no_location;
	const struct otlp_function *f = t->functions.n ? t->functions.v : &no_function;
	const struct link *k = t->links.n ? t->links.v : &no_link;
	const struct {
		const char *table;
		bool missing;
	} tables[] = {
		{"string_table", !t->strings.n || t->strings.v[0].n},
		{"mapping_table",
		 !t->mappings.n || m->start || m->limit || m->offset || m->file || m->attributes.n},
		{"location_table", !t->locations.n || l->address || l->mapping || l->lines.n},
		{"function_table",
		 !t->functions.n || f->name || f->system_name || f->file || f->start_line},
		{"link_table", !t->links.n || memcmp(k, &no_link, sizeof(no_link)) != 0},
		{"attribute_table", !t->attributes.n || t->attributes.v[0].key},
		{"stack_table", !t->stacks.n || t->stacks.v[0].n ||
					(t->packed_stacks.n && t->packed_stacks.v[0].n)},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (tables[i].missing)
			notes_add(&b->out->notes, "%s lacks its zero entry", tables[i].table);
}
