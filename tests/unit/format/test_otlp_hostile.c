#include "otlp_message.h"

static enum err read_bytes(struct world *w, const void *bytes, size_t n)
{
	struct buf b = {.data = (char *)(uintptr_t)bytes, .n = n};

	return world_read(w, &b);
}

TEST(a_gigabyte_length_in_thirty_bytes_is_refused)
{
	static const char bytes[] = "\x0a\x80\x80\x80\x80\x04\x12\x00\x00\x00\x00\x00\x00\x00\x00"
				    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
	CLEANUP(world_release) struct world w;

	CHECK_OK(world_init(&w));
	CHECK_ERR(read_bytes(&w, bytes, 30), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "malformed at byte 0"));
}

TEST(wrong_wire_types_are_refused_by_field_and_byte)
{
	/* ResourceProfiles as a varint; a dictionary table as fixed64; string_table as a varint */
	static const char resource[] = "\x08\x01";
	static const char table[] = "\x12\x09\x09\x01\x02\x03\x04\x05\x06\x07\x08";
	static const char strings[] = "\x12\x02\x28\x01";
	CLEANUP(world_release) struct world w;

	CHECK_OK(world_init(&w));
	CHECK_ERR(read_bytes(&w, resource, sizeof(resource) - 1), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "ProfilesData.resource_profiles (field 1) at byte 0"));
	CHECK_ERR(read_bytes(&w, table, sizeof(table) - 1), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "at byte 2 is written as a fixed64"));
	CHECK_ERR(read_bytes(&w, strings, sizeof(strings) - 1), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "(field 5) at byte 2 is written as a varint"));
}

TEST(unknown_fields_and_groups_are_skipped)
{
	/* field 15 group with a nested one inside, field 99 bytes, then an empty dictionary */
	static const char bytes[] = "\x7b\x0b\x08\x05\x0c\x7c\x9a\x06\x01x\x12\x00";
	CLEANUP(world_release) struct world w;

	CHECK_OK(world_init(&w));
	CHECK_OK(read_bytes(&w, bytes, sizeof(bytes) - 1));
	CHECK_INT(w.list.n, 0);
}

/* A resource with one attribute whose value is `depth` arrays in each other. */
static void put_nested(struct buf *b, unsigned depth)
{
	size_t marks[1200];
	size_t resource = pb_begin(b, DATA_RESOURCE_PROFILES);
	size_t inner = pb_begin(b, RESOURCE_PROFILES_RESOURCE);
	size_t pair = pb_begin(b, RESOURCE_ATTRIBUTES), any;

	pb_put_bytes(b, PAIR_KEY, STR("deep"));
	any = pb_begin(b, PAIR_VALUE);
	for (unsigned i = 0; i < depth; i++) {
		marks[2 * i] = pb_begin(b, ANY_FIELD_ARRAY);
		marks[2 * i + 1] = pb_begin(b, VALUES_VALUES);
	}
	for (unsigned i = 2 * depth; i > 0; i--)
		pb_end(b, marks[i - 1]);
	pb_end(b, any);
	pb_end(b, pair);
	pb_end(b, inner);
	pb_end(b, resource);
	pb_put_bytes(b, DATA_DICTIONARY, STR(""));
}

TEST(values_nested_too_deeply_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(buf_release) struct buf fine = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf deep = BUF_INIT(1 << 20);

	CHECK_OK(world_init(&w));
	put_nested(&fine, 100);
	CHECK_OK(world_read(&w, &fine));
	put_nested(&deep, 500);
	CHECK_ERR(world_read(&w, &deep), ERR_TOO_DEEP);
	CHECK(strstr(w.out.fault.text, "nested deeper than 128"));
}

static void put_value(struct buf *b, int64_t stack, int64_t value)
{
	size_t s = pb_begin(b, PROFILE_SAMPLES);

	pb_put_int(b, SAMPLE_STACK, stack);
	pb_put_int(b, SAMPLE_LINK, 1);
	PACKED(b, SAMPLE_VALUES, value);
	pb_end(b, s);
}

TEST(text_that_is_not_utf8_is_replaced_and_noted)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	const uint32_t *frames;
	size_t d, s;
	uint32_t n;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_value(&m.b, 3, 1);
	message_end(&m, true);
	d = pb_begin(&m.b, DATA_DICTIONARY);
	pb_put_bytes(&m.b, DICTIONARY_STRINGS, STR("caf\xe9 ok"));
	put_function(&m.b, 13);
	put_location(&m.b, 0, 0, 3, 1, 0, 0);
	s = pb_begin(&m.b, DICTIONARY_STACKS);
	PACKED(&m.b, STACK_LOCATIONS, 4);
	pb_end(&m.b, s);
	pb_end(&m.b, d);
	CHECK_OK(world_read(&w, &m.b));
	CHECK(has_note(&w.out.notes, "not UTF-8"));
	frames = stack_frames(&w.dict, w.list.v[0]->stack[0], &n);
	CHECK_STR(frame_name(&w.dict, frames[0]), "caf\xef\xbf\xbd ok");
}

TEST(a_key_that_stands_twice_is_kept_twice_and_noted)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t s;
	uint32_t n;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	s = pb_begin(&m.b, PROFILE_SAMPLES);
	PACKED(&m.b, SAMPLE_ATTRIBUTES, A_THREAD, A_BYTES, A_THREAD);
	PACKED(&m.b, SAMPLE_VALUES, 1);
	pb_end(&m.b, s);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK(has_note(&w.out.notes, "two attributes with one key"));
	(void)label_set_items(&w.dict, w.list.v[0]->labels[0], &n);
	CHECK_INT(n, 3);
}

TEST(a_line_without_a_function_is_a_frame_without_a_name)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	const struct frame *frame;
	size_t d, s;
	uint32_t n;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_value(&m.b, 3, -5);
	message_end(&m, true);
	d = pb_begin(&m.b, DATA_DICTIONARY);
	s = pb_begin(&m.b, DICTIONARY_LOCATIONS);
	pb_put_bytes(&m.b, LOCATION_LINES, STR("\x10\x07"));
	pb_end(&m.b, s);
	s = pb_begin(&m.b, DICTIONARY_STACKS);
	PACKED(&m.b, STACK_LOCATIONS, 4, 0);
	pb_end(&m.b, s);
	pb_end(&m.b, d);
	CHECK_OK(world_read(&w, &m.b));
	frame = &w.dict.frames.v[stack_frames(&w.dict, w.list.v[0]->stack[0], &n)[0]];
	CHECK_INT(n, 2); /* index 0 in a list is a frame nothing is known of */
	CHECK_INT(frame->function, 0);
	CHECK_INT(frame->line, 7);
	CHECK_INT(frame->flags, FRAME_HAS_LINE);
	CHECK_INT(profile_total(w.list.v[0], 0), -5);
}

TEST(stacks_deeper_than_the_limit_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t d, s, list;

	CHECK_OK(world_init(&w));
	w.out.limits.max_depth = 100;
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_value(&m.b, 3, 1);
	message_end(&m, true);
	d = pb_begin(&m.b, DATA_DICTIONARY);
	s = pb_begin(&m.b, DICTIONARY_STACKS);
	list = pb_begin(&m.b, STACK_LOCATIONS);
	for (int i = 0; i < 51; i++)
		pb_put_varint(&m.b, 2); /* two frames each */
	pb_end(&m.b, list);
	pb_end(&m.b, s);
	pb_end(&m.b, d);
	CHECK_ERR(world_read(&w, &m.b), ERR_TOO_DEEP);
	CHECK(strstr(w.out.fault.text, "more than 100 frames"));
}

static void put_raw_stack(struct buf *b, struct str run)
{
	size_t d = pb_begin(b, DATA_DICTIONARY), s = pb_begin(b, DICTIONARY_STACKS);

	pb_put_bytes(b, STACK_LOCATIONS, run);
	pb_end(b, s);
	pb_end(b, d);
}

TEST(a_stack_cut_inside_a_number_is_refused_though_no_sample_has_it)
{
	static const struct {
		struct str run;
		enum err expected;
	} cases[] = {
		{STR("\x01\x02"), ERR_OK},
		{STR("\x01\x81\x81\x81\x01\x81\x81\x81\x01\x02"), ERR_OK},
		/* -1: whole, and outside of the table for whoever refers to it */
		{STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_OK},
		{STR("\x81"), ERR_CORRUPT},
		{STR("\x01\x02\x01\x02\x01\x02\x01\x02\x01\x80"), ERR_CORRUPT},
		{STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_CORRUPT},
		{STR("\x01\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x01\x01"),
		 ERR_CORRUPT},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(world_release) struct world w;
		CLEANUP(message_release) struct message m;

		CHECK_OK(world_init(&w));
		message_begin(&m, S_CPU, S_NANOSECONDS);
		put_value(&m.b, 1, 1);
		message_end(&m, true);
		put_raw_stack(&m.b, cases[i].run);
		CHECK_ERR(world_read(&w, &m.b), cases[i].expected);
		if (cases[i].expected)
			CHECK(strstr(w.out.fault.text, "Stack.location_indices is cut or"));
	}
}

/* A number of any length at any place of a run of any length, against the plain way. */
TEST(a_run_of_numbers_is_whole_exactly_when_each_of_them_is)
{
	char run[64];

	for (unsigned n = 1; n <= 40; n++)
		for (unsigned length = 1; length <= 12; length++)
			for (unsigned at = 0; at + length <= n; at++) {
				const uint8_t *p = (const uint8_t *)run, *end = p + n;
				bool whole = true;
				uint64_t value;

				memset(run, 1, sizeof(run));
				memset(run + at, 0x81, length);
				while (whole && p < end)
					whole = pb_varint(&p, end, &value);
				CHECK(pb_run_whole(str_n(run, n)) == whole);
			}
}

/* One location of many lines, many stacks that name it: a megabyte that wants to be gigabytes. */
TEST(stacks_that_multiply_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t d, s;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	for (int i = 0; i < 2000; i++)
		put_value(&m.b, 3 + i, 1);
	message_end(&m, true);
	d = pb_begin(&m.b, DATA_DICTIONARY);
	s = pb_begin(&m.b, DICTIONARY_LOCATIONS);
	for (int i = 0; i < 10000; i++)
		pb_put_bytes(&m.b, LOCATION_LINES, STR("\x10\x07"));
	pb_end(&m.b, s);
	for (int i = 0; i < 2000; i++) {
		s = pb_begin(&m.b, DICTIONARY_STACKS);
		PACKED(&m.b, STACK_LOCATIONS, 4);
		pb_end(&m.b, s);
	}
	pb_end(&m.b, d);
	CHECK_ERR(world_read(&w, &m.b), ERR_TOO_LARGE);
	CHECK(strstr(w.out.fault.text, "far more frames"));
}

TEST(strings_over_the_limit_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	w.out.limits.max_string = 16;
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_value(&m.b, 1, 1);
	message_end(&m, true);
	CHECK_ERR(world_read(&w, &m.b), ERR_TOO_LARGE);
	CHECK(strstr(w.out.fault.text, "string_table[11]"));
}

TEST(tables_and_samples_over_the_limits_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_value(&m.b, 1, 1);
	put_value(&m.b, 1, 1);
	message_end(&m, true);
	w.out.limits.max_entries = 12;
	CHECK_ERR(world_read(&w, &m.b), ERR_TOO_LARGE);
	w.out.limits.max_entries = 13;
	w.out.limits.max_samples = 1;
	CHECK_ERR(world_read(&w, &m.b), ERR_TOO_LARGE);
	w.out.limits.max_samples = 2;
	CHECK_OK(world_read(&w, &m.b));
}

TEST(lists_of_a_profile_torn_apart_by_each_other_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	pb_put_bytes(&m.b, PROFILE_1_8_ID, STR("0123456789ABCDEF"));
	pb_put_uint(&m.b, PROFILE_1_8_ATTRIBUTES, A_THREAD);
	pb_put_uint(&m.b, PROFILE_1_8_COMMENTS, S_MAIN);
	pb_put_uint(&m.b, PROFILE_1_8_ATTRIBUTES, A_BYTES);
	message_end(&m, true);
	CHECK_ERR(world_read(&w, &m.b), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "comes in pieces"));
}

TEST(empty_profiles_by_the_million_cost_nothing)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 24);
	size_t resource, scope;

	CHECK_OK(world_init(&w));
	resource = pb_begin(&b, DATA_RESOURCE_PROFILES);
	scope = pb_begin(&b, RESOURCE_PROFILES_SCOPES);
	for (int i = 0; i < 300000; i++)
		pb_put_bytes(&b, SCOPE_PROFILES_PROFILES, STR(""));
	pb_end(&b, scope);
	pb_end(&b, resource);
	put_dictionary(&b);
	CHECK_OK(world_read(&w, &b));
	CHECK_INT(w.list.n, 0);
}

TEST(a_broken_message_of_a_sequence_is_named)
{
	static const char bytes[] = "\x00\x00\x00\x02\x12\x00\x00\x00\x00\x02\x12\x05";
	CLEANUP(world_release) struct world w;

	CHECK_OK(world_init(&w));
	CHECK_ERR(read_bytes(&w, bytes, sizeof(bytes) - 1), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "message at byte 10"));
}

/* One profile with a stack that does not exist between two good ones. */
TEST(a_broken_profile_is_left_out_when_the_caller_counts_rejects)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	struct rejects rejects = {0};
	static const int stacks[] = {1, 99, 2};

	message_begin(&m, S_SAMPLES, S_COUNT);
	for (unsigned i = 0; i < 3; i++) {
		size_t sample;

		if (i) {
			pb_end(&m.b, m.profile);
			message_profile(&m, S_SAMPLES, S_COUNT);
		}
		pb_put_fixed64(&m.b, PROFILE_TIME, i + 1);
		sample = pb_begin(&m.b, PROFILE_SAMPLES);
		pb_put_uint(&m.b, SAMPLE_STACK, (uint64_t)stacks[i]);
		PACKED(&m.b, SAMPLE_VALUES, 7);
		pb_end(&m.b, sample);
	}
	message_end(&m, true);
	CHECK_OK(world_init(&w));
	CHECK_ERR(world_read(&w, &m.b), ERR_BAD_INDEX);
	profile_list_release(&w.list);
	w.out.rejects = &rejects;
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 2);
	CHECK_INT(w.list.v[0]->row_count + w.list.v[1]->row_count, 2);
	CHECK_INT(rejects.n, 1);
	CHECK_INT(rejects.reason.code, ERR_BAD_INDEX);
	CHECK(strstr(rejects.reason.text, "Sample.stack_index"));
}
