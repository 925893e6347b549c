#include "otlp_message.h"

/* A sample in the layout of 1.10 with one value. */
static void put_sample(struct buf *b, int64_t stack, int64_t attribute, int64_t link, int64_t value)
{
	size_t s = pb_begin(b, PROFILE_SAMPLES);

	pb_put_int(b, SAMPLE_STACK, stack);
	if (attribute)
		PACKED(b, SAMPLE_ATTRIBUTES, attribute);
	if (link)
		pb_put_int(b, SAMPLE_LINK, link);
	PACKED(b, SAMPLE_VALUES, value);
	pb_end(b, s);
}

static void put_times(struct buf *b, const uint64_t *times, unsigned n)
{
	size_t mark = pb_begin(b, SAMPLE_TIMES);

	for (unsigned i = 0; i < n; i++)
		buf_append(b, &times[i], 8);
	pb_end(b, mark);
}

TEST(a_sample_with_one_value_becomes_a_row)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	const struct label *label;
	const struct profile *p;
	const uint32_t *frames;
	uint32_t n;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, A_THREAD, 1, 70);
	pb_put_fixed64(&m.b, PROFILE_TIME, 1000);
	pb_put_uint(&m.b, PROFILE_DURATION, 500);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 1);
	p = w.list.v[0];
	CHECK_STR(str_of(w.out.variant), "OTLP 1.10");
	CHECK_INT(w.out.notes.list.n, 0);
	CHECK_INT(p->row_count, 1);
	CHECK_INT(p->time_ns, 1000);
	CHECK_INT(p->duration_ns, 500);
	CHECK_INT(profile_values(p, 0)[0], 70);
	CHECK_STR(dict_str(&w.dict, p->types[0].type), "cpu");
	label = label_find(&w.dict, p->resource, STR("service.name"));
	CHECK(label);
	CHECK_STR(dict_str(&w.dict, (uint32_t)label->value), "shop");
	label = label_find(&w.dict, p->labels[0], STR("thread.name"));
	CHECK(label);
	CHECK_STR(dict_str(&w.dict, (uint32_t)label->value), "worker");
	CHECK(memcmp(w.dict.links.v[p->link[0]].span_id, "span-id!", 8) == 0);
	/* work inlined into main, called by main. */
	frames = stack_frames(&w.dict, p->stack[0], &n);
	CHECK_INT(n, 3);
	CHECK_STR(frame_name(&w.dict, frames[0]), "work");
	CHECK_INT(w.dict.frames.v[frames[0]].flags, FRAME_INLINED | FRAME_HAS_LINE);
	CHECK_STR(frame_name(&w.dict, frames[1]), "main");
	CHECK_INT(w.dict.frames.v[frames[1]].line, 12);
	CHECK_INT(w.dict.frames.v[frames[1]].address, 0x1100);
	CHECK_INT(w.dict.frames.v[frames[2]].line, 10);
	CHECK_STR(dict_str(&w.dict, w.dict.mappings.v[w.dict.frames.v[frames[0]].mapping].build_id),
		  "abcdef0123456789");
}

TEST(timestamps_alone_count_one_each_and_give_cpu_time)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	const struct profile *p;
	size_t s;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_SAMPLES, S_COUNT);
	s = pb_begin(&m.b, PROFILE_SAMPLES);
	pb_put_uint(&m.b, SAMPLE_STACK, 1);
	put_times(&m.b, (uint64_t[]){5, 7, 9}, 3);
	pb_end(&m.b, s);
	put_value_type(&m.b, PROFILE_PERIOD_TYPE, S_CPU, S_NANOSECONDS);
	pb_put_uint(&m.b, PROFILE_PERIOD, 50);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	p = w.list.v[0];
	CHECK_INT(p->row_count, 3);
	CHECK_INT(p->time[2], 9);
	CHECK_INT(p->type_count, 2);
	CHECK_INT(profile_total(p, 0), 3);
	CHECK_INT(profile_total(p, 1), 150);
	CHECK_STR(dict_str(&w.dict, p->types[profile_default_type(p)].type), "cpu");
}

TEST(values_with_timestamps_make_a_row_each)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t s;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	s = pb_begin(&m.b, PROFILE_SAMPLES);
	pb_put_uint(&m.b, SAMPLE_STACK, 1);
	PACKED(&m.b, SAMPLE_VALUES, 10, -20);
	put_times(&m.b, (uint64_t[]){5, 7}, 2);
	pb_end(&m.b, s);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.v[0]->row_count, 2);
	CHECK_INT(profile_values(w.list.v[0], 1)[0], -20);
	CHECK_INT(w.list.v[0]->time[1], 7);
}

TEST(values_that_do_not_match_timestamps_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t s;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, 0, 0, 1);
	s = pb_begin(&m.b, PROFILE_SAMPLES);
	pb_put_uint(&m.b, SAMPLE_STACK, 1);
	pb_put_uint(&m.b, SAMPLE_LINK, 1);
	PACKED(&m.b, SAMPLE_VALUES, 10, 20);
	pb_end(&m.b, s);
	message_end(&m, true);
	CHECK_ERR(world_read(&w, &m.b), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "2 values and 0 timestamps"));
	CHECK(strstr(w.out.fault.text, "byte "));
}

/* Where 1.8 and 1.9 have values, 1.10 has attributes: nothing may be lost in silence. */
static void old_layout(int64_t value, bool with_attribute, const char *expected)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t s;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	for (int i = 0; i < 3; i++) {
		s = pb_begin(&m.b, PROFILE_SAMPLES);
		pb_put_uint(&m.b, SAMPLE_STACK, 1);
		PACKED(&m.b, SAMPLE_1_9_VALUES, value);
		if (with_attribute)
			PACKED(&m.b, SAMPLE_1_9_ATTRIBUTES, A_THREAD);
		pb_put_uint(&m.b, SAMPLE_1_9_LINK, 1);
		pb_end(&m.b, s);
	}
	if (strcmp(expected, "OTLP 1.8") == 0)
		pb_put_bytes(&m.b, PROFILE_1_8_ID, STR("0123456789ABCDEF"));
	else
		pb_put_bytes(&m.b, PROFILE_ID, STR("0123456789ABCDEF"));
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_STR(str_of(w.out.variant), expected);
	CHECK_INT(profile_total(w.list.v[0], 0), 3 * value);
	CHECK_INT(w.list.v[0]->link[0], 1);
	CHECK((label_find(&w.dict, w.list.v[0]->labels[0], STR("thread.name")) != NULL) ==
	      with_attribute);
	CHECK(memcmp(w.list.v[0]->profile_id, "0123456789ABCDEF", 16) == 0);
}

TEST(layouts_1_8_and_1_9_are_told_by_wire_types)
{
	old_layout(7000, true, "OTLP 1.8");
	old_layout(7000, true, "OTLP 1.9");
	old_layout(2, true, "OTLP 1.9");
	old_layout(2, false, "OTLP 1.9");
}

TEST(old_samples_with_a_value_alone_keep_it)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t s;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	s = pb_begin(&m.b, PROFILE_SAMPLES);
	pb_put_uint(&m.b, SAMPLE_STACK, 1);
	PACKED(&m.b, SAMPLE_1_9_VALUES, 3);
	pb_end(&m.b, s);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_STR(str_of(w.out.variant), "OTLP 1.9");
	CHECK_INT(profile_total(w.list.v[0], 0), 3);
}

TEST(layouts_before_1_8_are_refused_by_name)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	PACKED(&m.b, PROFILE_TIME, 1, 2, 3); /* location_indices of 1.7 */
	message_end(&m, true);
	CHECK_ERR(world_read(&w, &m.b), ERR_UNSUPPORTED);
	CHECK(strstr(w.out.fault.text, "1.7 or older"));
}

TEST(unpacked_lists_are_read)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t s;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	s = pb_begin(&m.b, PROFILE_SAMPLES);
	pb_put_uint(&m.b, SAMPLE_STACK, 1);
	pb_put_uint(&m.b, SAMPLE_ATTRIBUTES, A_THREAD);
	pb_put_uint(&m.b, SAMPLE_ATTRIBUTES, A_BYTES);
	pb_put_int(&m.b, SAMPLE_VALUES, 100);
	pb_put_int(&m.b, SAMPLE_VALUES, 200);
	pb_put_fixed64(&m.b, SAMPLE_TIMES, 5);
	pb_put_fixed64(&m.b, SAMPLE_TIMES, 6);
	pb_end(&m.b, s);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(profile_total(w.list.v[0], 0), 300);
	CHECK_INT(label_find(&w.dict, w.list.v[0]->labels[1], STR("bytes"))->value, 4096);
}

TEST(profiles_that_differ_only_in_type_become_columns)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	const struct profile *p;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_SAMPLES, S_COUNT);
	put_sample(&m.b, 1, A_THREAD, 0, 1);
	put_sample(&m.b, 2, 0, 0, 2);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, A_THREAD, 0, 0);
	put_sample(&m.b, 2, 0, 0, 20);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_BYTES, S_BYTES); /* another stack: stays apart */
	put_sample(&m.b, 2, A_THREAD, 0, 9);
	put_sample(&m.b, 2, 0, 0, 9);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 2);
	p = w.list.v[0];
	CHECK_INT(p->type_count, 2);
	CHECK_INT(p->row_count, 2);
	CHECK_INT(profile_values(p, 0)[0], 1);
	CHECK_INT(profile_values(p, 0)[1], 0);
	CHECK_INT(profile_values(p, 1)[1], 20);
	CHECK_INT(profile_default_type(p), 0);
	CHECK_INT(profile_total(w.list.v[1], 0), 18);
}

TEST(two_profiles_of_one_type_stay_two)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, 0, 0, 1);
	pb_end(&m.b, m.profile);
	message_profile(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, 0, 0, 2);
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 2);
}

static void expect_bad_index(int64_t stack, int64_t attribute, int64_t link, const char *expected)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, A_THREAD, 1, 1);
	put_sample(&m.b, stack, attribute, link, 1);
	message_end(&m, true);
	CHECK_ERR(world_read(&w, &m.b), ERR_BAD_INDEX);
	if (!strstr(w.out.fault.text, expected) || !strstr(w.out.fault.text, "byte "))
		test_fail(__FILE__, __LINE__, "the message is: %s", w.out.fault.text);
}

TEST(indices_outside_their_table_are_refused_with_field_index_size_and_byte)
{
	expect_bad_index(3, 0, 0, "Sample.stack_index is 3, but stack_table has 3 entries");
	expect_bad_index(-1, 0, 0, "Sample.stack_index is -1, but stack_table has 3 entries");
	expect_bad_index(INT64_C(1) << 32 | 1, 0, 0, "Sample.stack_index is 2147483647");
	expect_bad_index(1, 5, 0, "Sample.attribute_indices is 5, but attribute_table has 5");
	expect_bad_index(1, -7, 0, "Sample.attribute_indices is -7, but attribute_table has 5");
	expect_bad_index(1, 0, 2, "Sample.link_index is 2, but link_table has 2 entries");
}

/* A dictionary of one bad entry behind the good one: pieces of a message are one message. */
static void expect_bad_entry(void (*put)(struct buf *), const char *expected)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t d;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 3, 0, 0, 1);
	message_end(&m, true);
	d = pb_begin(&m.b, DATA_DICTIONARY);
	put(&m.b);
	pb_end(&m.b, d);
	CHECK_ERR(world_read(&w, &m.b), ERR_BAD_INDEX);
	if (!strstr(w.out.fault.text, expected))
		test_fail(__FILE__, __LINE__, "the message is: %s", w.out.fault.text);
}

static void put_one_stack(struct buf *b, int64_t location)
{
	size_t s = pb_begin(b, DICTIONARY_STACKS);

	PACKED(b, STACK_LOCATIONS, location);
	pb_end(b, s);
}

static void bad_location(struct buf *b)
{
	put_one_stack(b, 4);
}

static void bad_function(struct buf *b)
{
	put_location(b, 1, 0, 3, 1, 0, 0);
	put_one_stack(b, 4);
}

static void bad_mapping(struct buf *b)
{
	put_location(b, 1, 2, 1, 1, 0, 0);
	put_one_stack(b, 4);
}

static void bad_name(struct buf *b)
{
	put_function(b, 77);
	put_location(b, 1, 0, 3, 1, 0, 0);
	put_one_stack(b, 4);
}

TEST(entries_that_point_outside_are_refused_when_a_sample_uses_them)
{
	expect_bad_entry(bad_location, "Stack.location_indices is 4, but location_table has 4");
	expect_bad_entry(bad_function, "Line.function_index is 3, but function_table has 3");
	expect_bad_entry(bad_mapping, "Location.mapping_index is 2, but mapping_table has 2");
	expect_bad_entry(bad_name, "Function.name_strindex is 77, but string_table has 13");
}

TEST(samples_without_a_dictionary_are_refused)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, 0, 0);
	put_sample(&m.b, 1, 0, 0, 1);
	message_end(&m, false);
	CHECK_ERR(world_read(&w, &m.b), ERR_CORRUPT);
	CHECK(strstr(w.out.fault.text, "no dictionary"));
}

TEST(missing_zero_entries_are_accepted_and_noted)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	size_t d, s;
	uint32_t n;

	CHECK_OK(world_init(&w));
	message_begin(&m, 0, 0);
	s = pb_begin(&m.b, PROFILE_SAMPLES); /* stack_index 0, the only stack */
	PACKED(&m.b, SAMPLE_VALUES, 5);
	pb_end(&m.b, s);
	message_end(&m, false);
	d = pb_begin(&m.b, DATA_DICTIONARY);
	put_function(&m.b, 1);
	put_location(&m.b, 0x10, 0, 0, 0, 0, 0);
	pb_put_bytes(&m.b, DICTIONARY_STRINGS, STR("not empty"));
	pb_put_bytes(&m.b, DICTIONARY_STRINGS, STR("f"));
	put_one_stack(&m.b, 0);
	pb_end(&m.b, d);
	CHECK_OK(world_read(&w, &m.b));
	CHECK(has_note(&w.out.notes, "string_table lacks its zero entry"));
	CHECK(has_note(&w.out.notes, "stack_table lacks its zero entry"));
	CHECK(has_note(&w.out.notes, "link_table lacks its zero entry"));
	(void)stack_frames(&w.dict, w.list.v[0]->stack[0], &n);
	CHECK_INT(n, 1);
}

TEST(references_into_the_string_table_are_resolved_in_resources)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	size_t resource, attributes, pair, any, list, inner, scope;
	const struct label *label;

	CHECK_OK(world_init(&w));
	resource = pb_begin(&b, DATA_RESOURCE_PROFILES);
	attributes = pb_begin(&b, RESOURCE_PROFILES_RESOURCE);
	pair = pb_begin(&b, RESOURCE_ATTRIBUTES);
	pb_put_uint(&b, PAIR_KEY_STRINDEX, S_THREAD);
	any = pb_begin(&b, PAIR_VALUE);
	pb_put_uint(&b, ANY_FIELD_STRINDEX, S_MAIN);
	pb_end(&b, any);
	pb_end(&b, pair);
	pair = pb_begin(&b, RESOURCE_ATTRIBUTES);
	pb_put_bytes(&b, PAIR_KEY, STR("args"));
	any = pb_begin(&b, PAIR_VALUE);
	list = pb_begin(&b, ANY_FIELD_ARRAY);
	inner = pb_begin(&b, VALUES_VALUES);
	pb_put_uint(&b, ANY_FIELD_STRINDEX, S_WORK);
	pb_end(&b, inner);
	inner = pb_begin(&b, VALUES_VALUES);
	pb_put_fixed64(&b, ANY_FIELD_DOUBLE, 0x4000000000000000);
	pb_end(&b, inner);
	pb_end(&b, list);
	pb_end(&b, any);
	pb_end(&b, pair);
	pb_end(&b, attributes);
	scope = pb_begin(&b, RESOURCE_PROFILES_SCOPES);
	pair = pb_begin(&b, SCOPE_PROFILES_PROFILES);
	put_value_type(&b, PROFILE_SAMPLE_TYPE, S_CPU, S_NANOSECONDS);
	pb_end(&b, pair);
	pb_end(&b, scope);
	pb_end(&b, resource);
	put_dictionary(&b);
	CHECK_OK(world_read(&w, &b));
	label = label_find(&w.dict, w.list.v[0]->resource, STR("thread.name"));
	CHECK(label);
	CHECK_STR(dict_str(&w.dict, (uint32_t)label->value), "main");
	label = label_find(&w.dict, w.list.v[0]->resource, STR("args"));
	CHECK_INT(label->type, LABEL_JSON);
	CHECK_STR(dict_str(&w.dict, (uint32_t)label->value), "[\"work\",2.0]");
}

TEST(a_profile_that_carries_pprof_is_read_from_it)
{
	/* sample_type {cpu ns}, a sample of one value without a stack, strings */
	static const char pprof[] = "\x0a\x04\x08\x01\x10\x02\x12\x02\x10\x07\x32\x00\x32\x03"
				    "cpu\x32\x02ns";
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, 0, 0);
	pb_put_bytes(&m.b, PROFILE_PAYLOAD_FORMAT, STR("pprof"));
	pb_put_bytes(&m.b, PROFILE_PAYLOAD, str_n(pprof, sizeof(pprof) - 1));
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK_INT(w.list.n, 1);
	CHECK_INT(profile_total(w.list.v[0], 0), 7);
	CHECK(label_find(&w.dict, w.list.v[0]->resource, STR("service.name")));
	CHECK_STR(str_of(w.out.variant), "OTLP 1.10");
}

TEST(a_payload_beside_samples_is_dropped_with_a_note)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, 0, 0, 1);
	pb_put_bytes(&m.b, PROFILE_PAYLOAD_FORMAT, STR("linux_perf"));
	pb_put_bytes(&m.b, PROFILE_PAYLOAD, STR("PERFILE2"));
	message_end(&m, true);
	CHECK_OK(world_read(&w, &m.b));
	CHECK(has_note(&w.out.notes, "original_payload (linux_perf)"));
	CHECK_INT(profile_total(w.list.v[0], 0), 1);
}

static void put_length(struct buf *b, size_t n)
{
	buf_byte(b, (unsigned char)(n >> 24));
	buf_byte(b, (unsigned char)(n >> 16));
	buf_byte(b, (unsigned char)(n >> 8));
	buf_byte(b, (unsigned char)n);
}

TEST(a_sequence_of_messages_with_lengths_is_one_file)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(message_release) struct message m;
	CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf zstd = BUF_INIT(1 << 20);
	const struct format *found = NULL;

	CHECK_OK(world_init(&w));
	message_begin(&m, S_CPU, S_NANOSECONDS);
	put_sample(&m.b, 1, 0, 0, 4);
	message_end(&m, true);
	CHECK_OK(compress_zstd(buf_view(&m.b), 3, &zstd));
	put_length(&file, m.b.n);
	buf_str(&file, buf_view(&m.b));
	put_length(&file, zstd.n); /* the exporter packs messages one by one */
	buf_str(&file, buf_view(&zstd));
	CHECK_OK(format_read(buf_view(&file), NULL, &w.out, &found));
	CHECK(found == &formats[FORMAT_OTLP]);
	CHECK_INT(w.list.n, 2);
	CHECK_INT(profile_total(w.list.v[1], 0), 4);
	CHECK_INT(w.list.v[0]->stack[0], w.list.v[1]->stack[0]);
}

static enum err read_small(const struct buf *bytes)
{
	CLEANUP(world_release) struct world w = {0};

	TRY(world_init(&w));
	return world_read(&w, bytes);
}

static void small_message(struct message *m)
{
	message_begin(m, S_SAMPLES, S_COUNT);
	put_sample(&m->b, 1, A_THREAD, 1, 1);
	put_sample(&m->b, 2, A_BYTES, 0, 2);
	pb_end(&m->b, m->profile);
	message_profile(m, S_CPU, S_NANOSECONDS);
	put_sample(&m->b, 1, A_THREAD, 1, 10);
	put_sample(&m->b, 2, A_BYTES, 0, 20);
	message_end(m, true);
}

TEST(reader_survives_any_allocation_failing)
{
	CLEANUP(message_release) struct message m;

	small_message(&m);
	ALLOC_SWEEP(read_small(&m.b));
}

TEST(a_file_cut_at_any_byte_is_refused_or_read_in_part_and_never_crashes)
{
	CLEANUP(message_release) struct message m;
	unsigned accepted = 0;

	small_message(&m);
	for (size_t n = 0; n < m.b.n; n++) {
		/* A copy of that size, so that the address checker sees one byte too far. */
		CLEANUP(buf_release) struct buf cut = BUF_INIT(1 << 20);

		buf_append(&cut, m.b.data, n);
		accepted += read_small(&cut) == ERR_OK;
	}
	/* Only "nothing" and "all resources, no dictionary, no samples" could be whole messages. */
	CHECK(accepted <= 1);
}

TEST(every_byte_changed_is_refused_or_read_and_never_crashes)
{
	CLEANUP(message_release) struct message m;

	small_message(&m);
	for (size_t i = 0; i < m.b.n; i++) {
		char kept = m.b.data[i];

		for (unsigned bit = 0; bit < 8; bit++) {
			m.b.data[i] = (char)(kept ^ (1 << bit));
			(void)!read_small(&m.b);
		}
		m.b.data[i] = kept;
	}
}
