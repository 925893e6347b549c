/*
 * OTLP messages for tests, made by hand: a dictionary with known entries and a place for samples.
 * Written from the field numbers, not with the writer under test.
 */
#pragma once

#include "../test.h"

#include "format/format.h"
#include "format/otlp_fields.h"
#include "format/protobuf.h"

/* What a test reads into. */
struct world {
	struct dict dict;
	struct profile_list list;
	struct reading out;
};

static inline enum err world_init(struct world *w)
{
	*w = (struct world){0};
	w->out = (struct reading){.dict = &w->dict, .list = &w->list, .limits = LIMITS_DEFAULT};
	return dict_init(&w->dict, 1);
}

static inline void world_release(struct world *w)
{
	notes_release(&w->out.notes);
	profile_list_release(&w->list);
	dict_release(&w->dict);
}

static inline enum err world_read(struct world *w, const struct buf *bytes)
{
	TRY(buf_error(bytes));
	return format_read(buf_view(bytes), &formats[FORMAT_OTLP], &w->out, NULL);
}

static inline bool has_note(const struct notes *n, const char *part)
{
	vec_for_each (note, &n->list)
		if (strstr(note->text, part))
			return true;
	return false;
}

static inline void put_packed(struct buf *b, uint32_t field, const int64_t *values, unsigned n)
{
	size_t mark = pb_begin(b, field);

	for (unsigned i = 0; i < n; i++)
		pb_put_varint(b, (uint64_t)values[i]);
	pb_end(b, mark);
}
#define PACKED(b, field, ...)                                \
	put_packed(b, field, (const int64_t[]){__VA_ARGS__}, \
		   sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static inline void put_text_pair(struct buf *b, uint32_t field, const char *key, const char *value)
{
	size_t pair = pb_begin(b, field), any;

	pb_put_bytes(b, PAIR_KEY, str_of(key));
	any = pb_begin(b, PAIR_VALUE);
	pb_put_bytes(b, ANY_FIELD_STRING, str_of(value));
	pb_end(b, any);
	pb_end(b, pair);
}

/* Strings by index, see put_dictionary. */
enum {
	S_EMPTY,
	S_SAMPLES,
	S_COUNT,
	S_CPU,
	S_NANOSECONDS,
	S_MAIN,
	S_WORK,
	S_FILE,
	S_THREAD,
	S_BYTES,
	S_LIB,
	S_BUILD_ID,
	S_FRAME_TYPE,
};

static const char *const test_strings[] = {
	"",
	"samples",
	"count",
	"cpu",
	"nanoseconds",
	"main",
	"work",
	"main.c",
	"thread.name",
	"bytes",
	"/lib/libx.so",
	ATTR_BUILD_ID_GNU,
	ATTR_FRAME_TYPE,
};

enum { A_NONE, A_THREAD, A_BYTES, A_BUILD_ID, A_FRAME_TYPE };

static inline void put_attribute(struct buf *b, int key, int unit, const char *text, int64_t number)
{
	size_t entry = pb_begin(b, DICTIONARY_ATTRIBUTES), any;

	pb_put_uint(b, ATTRIBUTE_KEY, (uint64_t)key);
	any = pb_begin(b, ATTRIBUTE_VALUE);
	if (text)
		pb_put_bytes(b, ANY_FIELD_STRING, str_of(text));
	else
		pb_put_int(b, ANY_FIELD_INT, number);
	pb_end(b, any);
	if (unit)
		pb_put_uint(b, ATTRIBUTE_UNIT, (uint64_t)unit);
	pb_end(b, entry);
}

static inline void put_location(struct buf *b, uint64_t address, int mapping, int function1,
				int line1, int function2, int line2)
{
	size_t location = pb_begin(b, DICTIONARY_LOCATIONS), line;

	if (mapping)
		pb_put_uint(b, LOCATION_MAPPING, (uint64_t)mapping);
	if (address)
		pb_put_uint(b, LOCATION_ADDRESS, address);
	for (int i = 0; i < 2; i++) {
		if (!(i ? function2 : function1))
			continue;
		line = pb_begin(b, LOCATION_LINES);
		pb_put_uint(b, LINE_FUNCTION, (uint64_t)(i ? function2 : function1));
		pb_put_uint(b, LINE_LINE, (uint64_t)(i ? line2 : line1));
		pb_end(b, line);
	}
	pb_end(b, location);
}

static inline void put_function(struct buf *b, int name)
{
	size_t function = pb_begin(b, DICTIONARY_FUNCTIONS);

	if (name) {
		pb_put_uint(b, FUNCTION_NAME, (uint64_t)name);
		pb_put_uint(b, FUNCTION_FILE, S_FILE);
	}
	pb_end(b, function);
}

/*
 * functions: 1 main, 2 work; mapping 1; locations: 1 main:10, 2 work:20 inlined into main:12,
 * 3 an address in the mapping; stacks: 1 = [2, 1], 2 = [3]; link 1; attributes as A_ above.
 */
static inline void put_dictionary(struct buf *b)
{
	size_t d = pb_begin(b, DATA_DICTIONARY), m;

	pb_put_bytes(b, DICTIONARY_MAPPINGS, STR(""));
	m = pb_begin(b, DICTIONARY_MAPPINGS);
	pb_put_uint(b, MAPPING_START, 0x1000);
	pb_put_uint(b, MAPPING_LIMIT, 0x9000);
	pb_put_uint(b, MAPPING_FILE, S_LIB);
	PACKED(b, MAPPING_ATTRIBUTES, A_BUILD_ID);
	pb_end(b, m);
	put_location(b, 0, 0, 0, 0, 0, 0);
	put_location(b, 0, 0, 1, 10, 0, 0);
	put_location(b, 0x1100, 1, 2, 20, 1, 12);
	put_location(b, 0x1234, 1, 0, 0, 0, 0);
	put_function(b, 0);
	put_function(b, S_MAIN);
	put_function(b, S_WORK);
	pb_put_bytes(b, DICTIONARY_LINKS, STR(""));
	m = pb_begin(b, DICTIONARY_LINKS);
	pb_put_bytes(b, LINK_TRACE_ID, STR("0123456789abcdef"));
	pb_put_bytes(b, LINK_SPAN_ID, STR("span-id!"));
	pb_end(b, m);
	for (size_t i = 0; i < sizeof(test_strings) / sizeof(test_strings[0]); i++)
		pb_put_bytes(b, DICTIONARY_STRINGS, str_of(test_strings[i]));
	pb_put_bytes(b, DICTIONARY_ATTRIBUTES, STR("\x12\x00"));
	put_attribute(b, S_THREAD, 0, "worker", 0);
	put_attribute(b, S_BYTES, S_BYTES, NULL, 4096);
	put_attribute(b, S_BUILD_ID, 0, "abcdef0123456789", 0);
	put_attribute(b, S_FRAME_TYPE, 0, "native", 0);
	pb_put_bytes(b, DICTIONARY_STACKS, STR(""));
	m = pb_begin(b, DICTIONARY_STACKS);
	PACKED(b, STACK_LOCATIONS, 2, 1);
	pb_end(b, m);
	m = pb_begin(b, DICTIONARY_STACKS);
	PACKED(b, STACK_LOCATIONS, 3);
	pb_end(b, m);
	pb_end(b, d);
}

/* ResourceProfiles, ScopeProfiles and Profile, open; message_end closes them. */
struct message {
	struct buf b;
	size_t resource, scope, profile;
};

static inline void put_value_type(struct buf *b, uint32_t field, int type, int unit)
{
	size_t m = pb_begin(b, field);

	pb_put_uint(b, VALUE_TYPE_TYPE, (uint64_t)type);
	pb_put_uint(b, VALUE_TYPE_UNIT, (uint64_t)unit);
	pb_end(b, m);
}

static inline void message_profile(struct message *m, int type, int unit)
{
	m->profile = pb_begin(&m->b, SCOPE_PROFILES_PROFILES);
	put_value_type(&m->b, PROFILE_SAMPLE_TYPE, type, unit);
}

static inline void message_begin(struct message *m, int type, int unit)
{
	size_t resource;

	*m = (struct message){.b = BUF_INIT(1 << 24)};
	m->resource = pb_begin(&m->b, DATA_RESOURCE_PROFILES);
	resource = pb_begin(&m->b, RESOURCE_PROFILES_RESOURCE);
	put_text_pair(&m->b, RESOURCE_ATTRIBUTES, "service.name", "shop");
	pb_end(&m->b, resource);
	m->scope = pb_begin(&m->b, RESOURCE_PROFILES_SCOPES);
	message_profile(m, type, unit);
}

static inline void message_end(struct message *m, bool dictionary)
{
	pb_end(&m->b, m->profile);
	pb_end(&m->b, m->scope);
	pb_end(&m->b, m->resource);
	if (dictionary)
		put_dictionary(&m->b);
}

static inline void message_release(struct message *m)
{
	buf_release(&m->b);
}
