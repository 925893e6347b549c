#include "../test.h"

#include "format/format.h"
#include "jfr_build.h"

#define TYPES	   jfr_test_types
#define TYPE_COUNT (sizeof(jfr_test_types) / sizeof(jfr_test_types[0]))

/* A dictionary and what was read into it. */
struct read {
	struct dict d;
	struct profile_list list;
	struct reading r;
};

static void read_release(struct read *x)
{
	profile_list_release(&x->list);
	notes_release(&x->r.notes);
	dict_release(&x->d);
}

static enum err read_bytes(struct read *x, struct str bytes)
{
	*x = (struct read){.r.limits = LIMITS_DEFAULT};
	x->r.dict = &x->d;
	x->r.list = &x->list;
	TRY(dict_init(&x->d, 1));
	return format_read(bytes, &formats[FORMAT_JFR], &x->r, NULL);
}

static bool has_note(const struct read *x, const char *part)
{
	for (size_t i = 0; i < x->r.notes.list.n; i++)
		if (strstr(x->r.notes.list.v[i].text, part))
			return true;
	return false;
}

static struct str label_of(const struct profile *p, size_t row, const char *key)
{
	const struct label *l = label_find(p->dict, p->labels[row], str_of(key));

	return l && l->type == LABEL_STRING ? dict_str(p->dict, (uint32_t)l->value) : STR("");
}

static void put_odd_part(struct jfr_build *b)
{
	put_byte(b, 9);
	if (b->plain)
		put_be(b, 'x', 2);
	else
		put_int(b, 'x');
	put_int(b, 2);
	for (unsigned i = 0; i < 2; i++) {
		if (b->plain)
			put_be(b, 5, 2);
		else
			put_int(b, 5);
	}
	put_be(b, 0, 4);
	put_be(b, 0, 8);
	put_string(b, "odd");
}

static void put_odd(struct jfr_build *b)
{
	event_begin(b, T_ODD);
	put_long(b, 1000);
	put_int(b, 3);
	for (unsigned i = 0; i < 4; i++)
		put_odd_part(b);
	event_end(b);
}

/* Three samples of 10 ms, one wait for a lock, one event nobody knows. */
static void put_events(struct jfr_build *b)
{
	put_setting(b, T_EXECUTION, "period", "10 ms");
	put_sample(b, 1500, 5, 1);
	put_odd(b);
	put_sample(b, 2500, 6, 1);
	put_sample(b, 3000, 5, 2);
	event_begin(b, T_MONITOR);
	put_long(b, 4000);
	put_long(b, 3);
	put_long(b, 5);
	put_long(b, 1);
	put_long(b, 3);
	event_end(b);
}

static void put_chunk(struct jfr_build *b)
{
	chunk_begin(b);
	put_events(b);
	put_test_pools(b);
	put_metadata(b, TYPES, TYPE_COUNT);
	chunk_end(b);
}

static void check_chunk(const struct read *x)
{
	const struct profile *cpu = x->list.v[0], *lock = x->list.v[1];
	const uint32_t *frames;
	uint32_t n;

	CHECK_INT(x->list.n, 2);
	CHECK_INT(cpu->row_count, 3);
	CHECK_STR(dict_str(&x->d, cpu->types[1].type), "cpu");
	CHECK_INT(profile_total(cpu, 1), 30000000);
	CHECK_INT(cpu->period, 10000000);
	CHECK_INT(cpu->time[0], 1700000000000500000);
	CHECK_INT(cpu->duration_ns, 2000000000);
	CHECK_STR(label_of(cpu, 0, "thread.name"), "main");
	CHECK_STR(label_of(cpu, 1, "thread.name"), "GC Thread#0");
	CHECK_STR(label_of(cpu, 0, "thread.state"), "STATE_RUNNABLE");
	CHECK_INT(label_find(&x->d, cpu->labels[1], STR("thread.id"))->value, 78);
	frames = stack_frames(&x->d, cpu->stack[0], &n);
	CHECK_INT(n, 2);
	CHECK_STR(frame_name(&x->d, frames[0]), "a.B.one");
	CHECK_STR(frame_name(&x->d, frames[1]), "a.B.two");
	CHECK_INT(x->d.frames.v[frames[0]].line, 42);
	CHECK_INT(x->d.frames.v[frames[1]].line, 0);
	CHECK_INT(x->d.frames.v[frames[0]].kind, KIND_JVM);
	CHECK_STR(dict_str(&x->d, x->d.functions.v[x->d.frames.v[frames[0]].function].system_name),
		  "a.B.one()V");
	frames = stack_frames(&x->d, cpu->stack[2], &n);
	CHECK_STR(frame_name(&x->d, frames[0]), "java.lang.String[].three");
	CHECK(has_note(x, "1 stacks were cut at depth 1"));
	CHECK_INT(lock->row_count, 1);
	CHECK_INT(profile_total(lock, 1), 3000000);
	CHECK_STR(label_of(lock, 0, "class"), "int[][]");
}

TEST(recording_of_compressed_integers_is_read_by_its_metadata)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	check_chunk(&x);
}

TEST(recording_of_plain_integers_is_read_the_same)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {.plain = true};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	check_chunk(&x);
}

TEST(settings_of_the_jdk_are_not_taken_for_those_of_async_profiler)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	put_setting(&b, T_RECORDING, "enabled", "true");
	put_events(&b);
	put_test_pools(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	check_chunk(&x);
	CHECK(strcmp(x.r.variant, "JDK") == 0);
}

TEST(jfr_is_recognised_by_its_magic)
{
	CHECK(format_sniff(str_n("FLR\0\0\2\0\1", 8)) == &formats[FORMAT_JFR]);
	CHECK(format_sniff(str_n("FLR ", 4)) != &formats[FORMAT_JFR]);
}

TEST(chunks_follow_each_other_and_their_rows_add_up)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	b.plain = true;
	put_chunk(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.n, 2);
	CHECK_INT(x.list.v[0]->row_count, 6);
	CHECK_INT(x.list.v[0]->stack[0], x.list.v[0]->stack[3]);
}

TEST(checkpoints_are_followed_backwards)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;
	size_t first;

	chunk_begin(&b);
	put_test_pools(&b);
	first = b.pool_at;
	put_events(&b);
	checkpoint_begin(&b, (int64_t)first - (int64_t)(b.out.n - b.chunk), 1);
	pool_begin(&b, T_STATE, 1);
	put_long(&b, 2);
	put_string(&b, "STATE_SLEEPING");
	event_end(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	check_chunk(&x);
}

TEST(chunk_without_sizes_is_read_as_far_as_it_goes)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	memset(b.out.data + 8, 0, 24); /* size, pool and metadata offsets: still being written */
	put_byte(&b, 90);	       /* the beginning of an event of 90 bytes */
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	check_chunk(&x);
	CHECK(has_note(&x, "still being written"));
}

TEST(chunk_cut_before_its_metadata_says_so)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	CHECK_ERR(read_bytes(&x, str_n(b.out.data, 200)), ERR_TRUNCATED);
	CHECK(strstr(x.r.fault.text, "before its metadata"));
}

TEST(unfinished_chunk_before_another_does_not_hide_it)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	b.out.data[67] = 1; /* compressed integers: all that its header says yet */
	put_events(&b);
	put_chunk(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.v[0]->row_count, 3);
	CHECK(has_note(&x, "still being written"));
}

TEST(bytes_behind_the_last_chunk_are_noted)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	put_chunk(&b);
	put_be(&b, 0, 8);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK(has_note(&x, "8 bytes behind the last"));
}

TEST(strings_of_every_encoding_become_utf8)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;
	static const uint16_t chars[] = {'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xd800};

	chunk_begin(&b);
	for (unsigned i = 1; i <= 4; i++)
		put_sample(&b, 2000, i, 0);
	checkpoint_begin(&b, 0, 2);
	pool_begin(&b, T_STRING, 1);
	put_long(&b, 300);
	put_string(&b, "pooled");
	pool_begin(&b, T_THREAD, 4);
	for (unsigned i = 1; i <= 4; i++) {
		put_long(&b, i);
		put_string(&b, "os name");
		put_long(&b, 0);
		if (i == 1) {
			put_byte(&b, 4);
			put_int(&b, 6);
			for (unsigned j = 0; j < 6; j++)
				put_int(&b, chars[j]);
		} else if (i == 2) {
			put_byte(&b, 5);
			put_int(&b, 2);
			put_byte(&b, 0xfc);
			put_byte(&b, 'x');
		} else if (i == 3) {
			put_byte(&b, 2);
			put_long(&b, 300);
		} else {
			put_byte(&b, 1);
		}
		put_long(&b, 0);
	}
	event_end(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_STR(label_of(x.list.v[0], 0, "thread.name"), "aé€😀\xef\xbf\xbd");
	CHECK_STR(label_of(x.list.v[0], 1, "thread.name"), "üx");
	CHECK_STR(label_of(x.list.v[0], 2, "thread.name"), "pooled");
	CHECK_STR(label_of(x.list.v[0], 3, "thread.name"), "os name");
}

/* A chunk with one sample and these settings. */
static enum err read_with_settings(struct read *x, const char *const (*settings)[2], unsigned n)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};

	chunk_begin(&b);
	for (unsigned i = 0; i < n; i++)
		put_setting(&b, strcmp(settings[i][0], "event") ? T_EXECUTION : T_RECORDING,
			    settings[i][0], settings[i][1]);
	put_sample(&b, 2000, 5, 1);
	put_test_pools(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	return read_bytes(x, buf_view(&b.out));
}

TEST(interval_of_async_profiler_is_in_nanoseconds)
{
	CLEANUP(read_release) struct read x;

	CHECK_OK(read_with_settings(
		&x, (const char *const[][2]){{"event", "cpu"}, {"interval", "5000000"}}, 2));
	CHECK_INT(profile_total(x.list.v[0], 1), 5000000);
	CHECK(strcmp(x.r.variant, "async-profiler") == 0);
}

TEST(samples_of_old_async_profiler_in_wall_mode_are_wall_time)
{
	CLEANUP(read_release) struct read x;

	CHECK_OK(read_with_settings(
		&x, (const char *const[][2]){{"event", "wall"}, {"interval", "0"}}, 2));
	CHECK_STR(dict_str(&x.d, x.list.v[0]->types[1].type), "wall");
	CHECK_INT(profile_total(x.list.v[0], 1), 50000000);
}

TEST(samples_of_a_hardware_counter_are_not_time)
{
	CLEANUP(read_release) struct read x;

	CHECK_OK(read_with_settings(
		&x, (const char *const[][2]){{"event", "cache-misses"}, {"interval", "1000"}}, 2));
	CHECK_STR(dict_str(&x.d, x.list.v[0]->types[1].type), "cache-misses");
	CHECK_STR(dict_str(&x.d, x.list.v[0]->types[1].unit), "count");
	CHECK_INT(profile_total(x.list.v[0], 1), 1000);
}

TEST(missing_interval_is_assumed_and_said)
{
	CLEANUP(read_release) struct read x;

	CHECK_OK(read_with_settings(&x, (const char *const[][2]){{"period", "everyChunk"}}, 1));
	CHECK_INT(profile_total(x.list.v[0], 1), 20000000);
	CHECK(has_note(&x, "20 ms assumed"));
}

TEST(missing_stack_is_noted_and_its_sample_kept)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	put_sample(&b, 2000, 5, 999);
	put_sample(&b, 2000, 999, 0);
	put_test_pools(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.v[0]->row_count, 2);
	CHECK_INT(x.list.v[0]->stack[0], 0);
	CHECK(has_note(&x, "1 events refer to a stack"));
}

TEST(recording_without_samples_is_an_empty_profile)
{
	CLEANUP(jfr_build_release) struct jfr_build b = {0};
	CLEANUP(read_release) struct read x;

	chunk_begin(&b);
	put_test_pools(&b);
	put_metadata(&b, TYPES, TYPE_COUNT);
	chunk_end(&b);
	CHECK_OK(read_bytes(&x, buf_view(&b.out)));
	CHECK_INT(x.list.n, 1);
	CHECK_INT(x.list.v[0]->row_count, 0);
	CHECK(has_note(&x, "none of the events"));
}

/* Hostile ones. */

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
