#include "jfr_fixture.h"

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
	CHECK(has_note(&x, "8 bytes after the last"));
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
