/*
 * Recordings that are wrong, cut or made to hurt.
 */
#include "jfr_fixture.h"

static enum err read_with_types(struct read *x, const struct t_class *types, size_t n)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};

	chunk_begin(&b);
	put_events(&b);
	put_test_pools(&b);
	put_metadata(&b, types, n);
	chunk_end(&b);
	return read_bytes(x, buf_view(&b.out));
}

TEST(type_that_contains_itself_is_never_entered)
{
	CLEANUP(read_release) struct read x;
	struct t_class types[TYPE_COUNT];

	memcpy(types, TYPES, sizeof(types));
	types[T_ODD_PART - T_BOOLEAN].fields[0].type = T_ODD;
	CHECK_OK(read_with_types(&x, types, TYPE_COUNT));
	check_chunk(&x);
}

TEST(pool_of_a_type_that_contains_itself_is_refused)
{
	CLEANUP(read_release) struct read x;
	struct t_class types[TYPE_COUNT];

	memcpy(types, TYPES, sizeof(types));
	types[T_SYMBOL - T_BOOLEAN].fields[0].type = T_SYMBOL;
	CHECK_ERR(read_with_types(&x, types, TYPE_COUNT), ERR_CORRUPT);
	CHECK(strstr(x.r.fault.text, "checkpoint at byte"));
}

TEST(types_that_double_at_each_level_are_refused)
{
	CLEANUP(read_release) struct read x;
	struct t_class types[TYPE_COUNT + 26];
	size_t n = TYPE_COUNT;

	memcpy(types, TYPES, sizeof(TYPES));
	for (int level = 0; level < 26; level++, n++) {
		int part = level ? 60 + level - 1 : T_INT;

		types[n] = (struct t_class){.id = 60 + level, .name = "test.Level"};
		types[n].fields[0] = (struct t_field){"a", part, false, false, NULL};
		types[n].fields[1] = (struct t_field){"b", part, false, false, NULL};
	}
	CHECK_ERR(read_with_types(&x, types, n), ERR_TOO_LARGE);
	CHECK(strstr(x.r.fault.text, "test.Level"));
}

TEST(field_of_a_type_that_is_not_described_is_survived)
{
	CLEANUP(read_release) struct read x;
	struct t_class types[TYPE_COUNT];

	memcpy(types, TYPES, sizeof(types));
	types[T_EXECUTION - T_BOOLEAN].fields[3].type = 99;
	CHECK_OK(read_with_types(&x, types, TYPE_COUNT));
	CHECK_INT(x.list.n, 1); /* the samples cannot be read, the lock can */
	CHECK_STR(dict_str(&x.d, x.list.v[0]->types[1].type), "delay");
}

TEST(fields_of_unexpected_kinds_are_left_out)
{
	CLEANUP(read_release) struct read x;
	struct t_class types[TYPE_COUNT];

	memcpy(types, TYPES, sizeof(types));
	/* A thread that is a number, a stack that is a state, a state that is a stack. */
	types[T_EXECUTION - T_BOOLEAN].fields[1].type = T_LONG;
	types[T_EXECUTION - T_BOOLEAN].fields[1].pooled = false;
	types[T_EXECUTION - T_BOOLEAN].fields[2].type = T_STATE;
	types[T_EXECUTION - T_BOOLEAN].fields[3].type = T_STACK;
	CHECK_OK(read_with_types(&x, types, TYPE_COUNT));
	CHECK_INT(x.list.v[0]->row_count, 3);
	CHECK_INT(x.list.v[0]->stack[0], 0);
	CHECK_INT(x.list.v[0]->labels[0], 0);
}

/* A chunk whose only checkpoint has this delta. */
static enum err read_with_delta(struct read *x, int64_t delta)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};

	chunk_begin(&b);
	checkpoint_begin(&b, delta, 0);
	event_end(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	return read_bytes(x, buf_view(&b.out));
}

TEST(checkpoints_in_a_circle_or_outside_are_refused)
{
	static const int64_t deltas[] = {1, -1, -68, -69, -1000, INT64_MIN, INT64_MAX};

	for (size_t i = 0; i < sizeof(deltas) / sizeof(deltas[0]); i++) {
		CLEANUP(read_release) struct read x;

		CHECK_ERR(read_with_delta(&x, deltas[i]), ERR_CORRUPT);
		CHECK(strstr(x.r.fault.text, "checkpoint at byte"));
	}
}

TEST(event_of_size_zero_is_refused_with_its_place)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	put_test_pools(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	put_be(&b, 0, 8);
	chunk_end(&b);
	CHECK_ERR(read_bytes(&x, buf_view(&b.out)), ERR_CORRUPT);
	CHECK(strstr(x.r.fault.text, "has a size that is 0"));
}

TEST(event_shorter_than_its_fields_is_refused)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	event_begin(&b, T_EXECUTION);
	put_long(&b, 5);
	event_end(&b);
	put_test_pools(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_ERR(read_bytes(&x, buf_view(&b.out)), ERR_CORRUPT);
	CHECK(strstr(x.r.fault.text, "jdk.ExecutionSample at byte 68"));
}

/* A pool of one stack that claims so many frames. */
static enum err read_frames_of_types(struct read *x, int64_t frames, const struct t_class *types)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};

	chunk_begin(&b);
	put_sample(&b, 2000, 1, 1);
	checkpoint_begin(&b, 0, 1);
	pool_begin(&b, T_STACK, 1);
	put_long(&b, 1);
	put_byte(&b, 0);
	put_int(&b, frames);
	for (int i = 0; i < 60000; i++)
		put_byte(&b, 0);
	event_end(&b);
	put_metadata(&b, types, TYPE_COUNT);
	chunk_end(&b);
	return read_bytes(x, buf_view(&b.out));
}

static enum err read_with_frames(struct read *x, int64_t frames)
{
	return read_frames_of_types(x, frames, TYPES);
}

TEST(frames_that_take_no_bytes_are_refused)
{
	CLEANUP(read_release) struct read x;
	struct t_class types[TYPE_COUNT];

	memcpy(types, TYPES, sizeof(types));
	memset(types[T_ODD_PART - T_BOOLEAN].fields, 0, sizeof(types[0].fields));
	memset(types[T_FRAME - T_BOOLEAN].fields, 0, sizeof(types[0].fields));
	types[T_FRAME - T_BOOLEAN].fields[0] =
		(struct t_field){"method", T_ODD_PART, false, false, NULL};
	CHECK_ERR(read_frames_of_types(&x, 16000, types), ERR_CORRUPT);
	CHECK(strstr(x.r.fault.text, "frames without content"));
}

TEST(arrays_longer_than_their_bytes_are_refused)
{
	CLEANUP(read_release) struct read x;
	CLEANUP(read_release) struct read y;

	CHECK_ERR(read_with_frames(&x, 0x7fffffff), ERR_CORRUPT);
	CHECK_ERR(read_with_frames(&y, -1), ERR_CORRUPT);
}

TEST(stack_deeper_than_the_limit_is_refused)
{
	CLEANUP(read_release) struct read x;

	CHECK_ERR(read_with_frames(&x, 20000), ERR_TOO_DEEP);
	CHECK(strstr(x.r.fault.text, "20000 frames"));
}

TEST(clock_of_zero_ticks_a_second_is_survived)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	memset(b.out.data + 56, 0, 8);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.v[0]->row_count, 3);
}

TEST(times_that_overflow_are_clamped)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	put_sample(&b, UINT64_MAX, 5, 1);
	put_sample(&b, INT64_MAX, 5, 1);
	put_test_pools(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	memset(b.out.data + 32, 0xff, 24); /* start and duration */
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.v[0]->row_count, 2);
}

TEST(version_one_is_refused_with_its_name)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	b.out.data[5] = 1;
	CHECK_ERR(read_bytes(&x, buf_view(&b.out)), ERR_UNSUPPORTED);
	CHECK(strstr(x.r.fault.text, "version 1.1"));
}

/* Many methods of one class with a long name: names may not multiply without end. */
TEST(names_that_would_explode_are_refused)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;
	static char name[200001];
	const int methods = 2000;

	memset(name, 'n', sizeof(name) - 1);
	chunk_begin(&b);
	put_sample(&b, 2000, 1, 1);
	checkpoint_begin(&b, 0, 4);
	pool_begin(&b, T_SYMBOL, 1);
	put_long(&b, 1);
	put_string(&b, name);
	pool_begin(&b, T_CLASS, 1);
	put_long(&b, 1);
	put_long(&b, 1);
	pool_begin(&b, T_METHOD, methods);
	for (int i = 0; i < methods; i++) {
		put_long(&b, (uint64_t)i);
		put_long(&b, 1);
		put_long(&b, 1);
		put_long(&b, 1);
		put_byte(&b, 0);
	}
	pool_begin(&b, T_STACK, 1);
	put_long(&b, 1);
	put_byte(&b, 0);
	put_int(&b, methods);
	for (int i = 0; i < methods; i++) {
		put_long(&b, (uint64_t)i);
		put_int(&b, 1);
		put_long(&b, 1);
	}
	event_end(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_ERR(read_bytes(&x, buf_view(&b.out)), ERR_TOO_LARGE);
	CHECK(strstr(x.r.fault.text, "names"));
}

TEST(recording_cut_anywhere_is_refused_or_read_in_part)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};

	put_chunk(&b);
	for (size_t n = 0; n < b.out.n; n++) {
		CLEANUP(read_release) struct read x;
		/* A copy of its own, so that the checker sees a read behind the end. */
		char *copy = mem_alloc(n ? n : 1);

		memcpy(copy, b.out.data, n);
		CHECK(read_bytes(&x, str_n(copy, n)) != ERR_OK);
		CHECK(x.r.fault.text[0]);
		mem_free(copy);
	}
}

TEST(any_byte_may_be_wrong_without_a_crash)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};

	put_chunk(&b);
	for (size_t i = 0; i < b.out.n; i++) {
		char was = b.out.data[i];

		for (size_t v = 0; v < sizeof(values); v++) {
			CLEANUP(read_release) struct read x;

			b.out.data[i] = (char)values[v];
			(void)!read_bytes(&x, buf_view(&b.out));
		}
		b.out.data[i] = was;
	}
}

static enum err read_and_forget(struct str bytes)
{
	struct read x;
	enum err e = read_bytes(&x, bytes);

	read_release(&x);
	return e;
}

TEST(reader_survives_any_allocation_failing)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};

	put_chunk(&b);
	ALLOC_SWEEP(read_and_forget(buf_view(&b.out)));
}
