/*
 * Finds positions in the file for messages, by counting again from the beginning, so that decoding
 * need not record them.
 */
#include "format/otlp_decode.h"

struct search {
	enum otlp_kind kind;
	size_t left;
	const uint8_t *found;
};

static bool count(struct search *s, const struct pb *c)
{
	if (s->left--)
		return false;
	s->found = c->field_start;
	return true;
}

static bool search_dictionary(struct search *s, struct pb c)
{
	static const uint32_t field_of[OTLP_KIND_COUNT_] = {
		[OTLP_MAPPING] = DICTIONARY_MAPPINGS,	[OTLP_LOCATION] = DICTIONARY_LOCATIONS,
		[OTLP_FUNCTION] = DICTIONARY_FUNCTIONS, [OTLP_ATTRIBUTE] = DICTIONARY_ATTRIBUTES,
		[OTLP_STACK] = DICTIONARY_STACKS,
	};

	while (pb_next(&c))
		if (c.field == field_of[s->kind] && count(s, &c))
			return true;
	return false;
}

static bool search_profile(struct search *s, struct pb c)
{
	while (pb_next(&c))
		if (c.field == PROFILE_SAMPLES && count(s, &c))
			return true;
	return false;
}

static bool search_scope(struct search *s, struct pb c)
{
	while (pb_next(&c)) {
		if (c.field != SCOPE_PROFILES_PROFILES)
			continue;
		if (s->kind == OTLP_PROFILE ? count(s, &c) : search_profile(s, pb_sub(&c)))
			return true;
	}
	return false;
}

static bool search_resource(struct search *s, struct pb c)
{
	while (pb_next(&c))
		if (c.field == RESOURCE_PROFILES_SCOPES && search_scope(s, pb_sub(&c)))
			return true;
	return false;
}

void otlp_locate(const struct otlp_tables *t, enum otlp_kind kind, size_t index, struct buf *out)
{
	struct pb c = *(const struct pb *)t->locate_context;
	struct search s = {.kind = kind, .left = index};
	bool tree = kind == OTLP_PROFILE || kind == OTLP_SAMPLE, found = false;

	while (!found && pb_next(&c)) {
		if (tree && c.field == DATA_RESOURCE_PROFILES)
			found = search_resource(&s, pb_sub(&c));
		else if (!tree && c.field == DATA_DICTIONARY)
			found = search_dictionary(&s, pb_sub(&c));
	}
	if (found)
		buf_printf(out, "byte %zu", (size_t)(s.found - c.start));
}
