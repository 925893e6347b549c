#include "text_test.h"

#include "format/formats_internal.h"

#define SHARED                                                                            \
	"\"shared\":{\"frames\":[{\"name\":\"a\",\"file\":\"a.c\",\"line\":3,\"col\":2}," \
	"{\"name\":\"b\"},{\"name\":\"c\\u00e9\"}]}"
#define SAMPLED(unit, samples, weights)                         \
	"{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"" unit \
	"\",\"startValue\":0,\"endValue\":9,"                   \
	"\"samples\":" samples ",\"weights\":" weights "}"
#define EVENTED(events)                                                                    \
	"{\"type\":\"evented\",\"name\":\"e\",\"unit\":\"microseconds\",\"startValue\":0," \
	"\"endValue\":10,\"events\":" events "}"
#define O(frame, at)	  "{\"type\":\"O\",\"frame\":" #frame ",\"at\":" #at "}"
#define C(frame, at)	  "{\"at\":" #at ",\"frame\":" #frame ",\"type\":\"C\"}"
#define FILE_OF(profiles) "{\"$schema\":\"x\",\"profiles\":[" profiles "]," SHARED "}"

static const char sampled[] =
	FILE_OF(SAMPLED("seconds", "[[0,1],[0],[0,1],[]]", "[1,0.25,0.5,2e-9]"));
static const char evented[] = FILE_OF(
	EVENTED("[" O(0, 1) "," O(1, 2.5) "," C(1, 4) "," O(2, 4) "," C(2, 5) "," C(0, 7) "]"));

#define CHECK_FOLDED(l_, profile, expected)                               \
	do {                                                              \
		CLEANUP(buf_release) struct buf out_ = BUF_INIT(1 << 20); \
		CHECK_OK(store(&l_, folded_write, profile, 0, &out_));    \
		CHECK_STR(buf_view(&out_), expected);                     \
	} while (0)

#define LOAD(l_, text_)                                 \
	CLEANUP(loaded_release) struct loaded l_ = {0}; \
	CHECK_OK(load(&l_, speedscope_read, STR(text_)))

TEST(sampled_weights_of_equal_stacks_add_up_in_nanoseconds)
{
	LOAD(l, sampled);
	CHECK_INT(l.list.n, 1);
	CHECK_STR(dict_str(&l.dict, l.list.v[0]->types[0].unit), "nanoseconds");
	CHECK_INT(l.list.v[0]->row_count, 3);
	CHECK_INT(l.list.v[0]->duration_ns, 9000000000);
	CHECK_INT(profile_total(l.list.v[0], 0), 1750000002);
	CHECK_INT(l.list.v[0]->values[0], 1500000000);
}

TEST(frames_keep_file_line_and_column)
{
	LOAD(l, sampled);
	uint32_t n, f = stack_frames(&l.dict, l.list.v[0]->stack[1], &n)[0];

	CHECK_INT(n, 1);
	CHECK_STR(frame_name(&l.dict, f), "a");
	CHECK_STR(frame_file(&l.dict, f), "a.c");
	CHECK_INT(l.dict.frames.v[f].line, 3);
	CHECK_INT(l.dict.frames.v[f].column, 2);
}

TEST(every_unit_becomes_counts_nanoseconds_or_bytes)
{
	LOAD(l, FILE_OF(SAMPLED("none", "[[1]]", "[3]") "," SAMPLED(
			"bytes", "[[1]]",
			"[4]") "," SAMPLED("nanoseconds", "[[1]]",
					   "[5]") "," SAMPLED("microseconds", "[[1]]",
							      "[6]") "," SAMPLED("milliseconds",
										 "[[1]]",
										 "[0.000007]")));
	CHECK_INT(l.list.n, 3);
	CHECK_STR(dict_str(&l.dict, l.list.v[0]->types[0].type), "samples");
	CHECK_INT(profile_total(l.list.v[0], 0), 3);
	CHECK_STR(dict_str(&l.dict, l.list.v[1]->types[0].unit), "bytes");
	CHECK_INT(profile_total(l.list.v[1], 0), 4);
	CHECK_INT(profile_total(l.list.v[2], 0), 5 + 6000 + 7);
}

TEST(evented_time_goes_to_the_innermost_open_frame)
{
	LOAD(l, evented);
	CHECK_FOLDED(l, 0, "a 3500\na;b 1500\na;c\xc3\xa9 1000\n");
}

TEST(frames_still_open_at_the_end_are_closed_at_the_end_value)
{
	LOAD(l, FILE_OF(EVENTED("[" O(0, 1) "," O(1, 4) "]")));
	CHECK(noted(&l.reading.notes, "2 frames were still open"));
	CHECK_FOLDED(l, 0, "a 3000\na;b 6000\n");
}

TEST(several_profiles_are_told_apart_by_thread_name)
{
	LOAD(l, FILE_OF(EVENTED("[]") "," SAMPLED("seconds", "[[0]]",
						  "[1]") "," EVENTED("[" O(0, 0) "," C(0, 2) "]")));
	const struct label *label;

	CHECK_INT(l.list.n, 1);
	CHECK_INT(l.list.v[0]->row_count, 2);
	label = label_find(&l.dict, l.list.v[0]->labels[0], STR("thread.name"));
	CHECK(label);
	CHECK_STR(dict_str(&l.dict, (uint32_t)label->value), "t");
	label = label_find(&l.dict, l.list.v[0]->labels[1], STR("thread.name"));
	CHECK(label);
	CHECK_STR(dict_str(&l.dict, (uint32_t)label->value), "e");
}

TEST(negative_weights_are_kept_and_noted)
{
	LOAD(l, FILE_OF(SAMPLED("none", "[[0],[1]]", "[-3,5]")));
	CHECK_INT(profile_total(l.list.v[0], 0), 2);
	CHECK(noted(&l.reading.notes, "1 weights are negative"));
}

TEST(invalid_unicode_in_names_is_replaced_and_noted)
{
	LOAD(l, "{\"shared\":{\"frames\":[{\"name\":\"\\ud800\"}]},\"profiles\":[" SAMPLED(
			"none", "[[0]]", "[1]") "]}");
	CHECK(noted(&l.reading.notes, "became U+FFFD"));
	CHECK_FOLDED(l, 0, "\xef\xbf\xbd 1\n");
}

TEST(the_last_of_repeated_keys_wins)
{
	LOAD(l, "{\"profiles\":[],\"profiles\":[" SAMPLED(
			"none", "[[0]]", "[1]") "],"
						"\"shared\":{\"frames\":[{\"name\":\"x\"}],"
						"\"frames\":[{\"name\":\"y\"}]}}");
	CHECK_FOLDED(l, 0, "y 1\n");
}

#define CHECK_REFUSED(input, code_, message)                                 \
	do {                                                                 \
		CLEANUP(loaded_release) struct loaded l_ = {0};              \
		CHECK_ERR(load(&l_, speedscope_read, STR(input)), code_);    \
		if (!strstr(l_.reading.fault.text, message))                 \
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", \
				  l_.reading.fault.text, message);           \
	} while (0)

TEST(reader_refuses_indices_outside_the_frames)
{
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[0,3]]", "[1]")), ERR_BAD_INDEX,
		      "profiles[0].samples[0][1] at byte 112: frame 3 of 3 frames does not exist");
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[-1]]", "[1]")), ERR_CORRUPT, "whole number");
	CHECK_REFUSED(FILE_OF(EVENTED("[" O(7, 0) "]")), ERR_BAD_INDEX, "frame 7 of 3");
}

TEST(reader_refuses_events_that_do_not_nest)
{
	CHECK_REFUSED(FILE_OF(EVENTED("[" C(0, 1) "]")), ERR_CORRUPT, "none is open");
	CHECK_REFUSED(FILE_OF(EVENTED("[" O(0, 1) "," O(1, 2) "," C(0, 3) "]")), ERR_CORRUPT,
		      "not the innermost open one");
	CHECK_REFUSED(FILE_OF(EVENTED("[" O(0, 5) "," C(0, 4) "]")), ERR_CORRUPT,
		      "earlier than the one before");
	CHECK_REFUSED(FILE_OF(EVENTED("[{\"type\":\"X\",\"frame\":0,\"at\":1}]")), ERR_CORRUPT,
		      "an event needs");
	CHECK_REFUSED(FILE_OF(EVENTED("[{\"type\":\"O\",\"at\":1}]")), ERR_CORRUPT,
		      "an event needs");
}

TEST(reader_refuses_what_does_not_fit_together)
{
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[0],[1]]", "[1]")), ERR_CORRUPT, "fewer weights");
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[0]]", "[1,2]")), ERR_CORRUPT, "more weights");
	CHECK_REFUSED(FILE_OF(SAMPLED("parsecs", "[[0]]", "[1]")), ERR_CORRUPT,
		      "the unit is not one");
	CHECK_REFUSED(FILE_OF("{\"type\":\"odd\"}"), ERR_CORRUPT, "neither \"sampled\" nor");
	CHECK_REFUSED(FILE_OF("{}"), ERR_CORRUPT, "no \"type\"");
	CHECK_REFUSED(FILE_OF("null"), ERR_CORRUPT, "expected a profile");
	CHECK_REFUSED(FILE_OF("{\"type\":\"sampled\"}"), ERR_CORRUPT, "no \"samples\"");
	CHECK_REFUSED("{\"profiles\":[]}", ERR_CORRUPT, "no \"shared\"");
	CHECK_REFUSED("{\"shared\":{}}", ERR_CORRUPT, "no \"profiles\"");
}

TEST(reader_refuses_numbers_json_does_not_have_or_64_bits_do_not_hold)
{
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[0]]", "[NaN]")), ERR_CORRUPT,
		      "profiles[0].weights[0] at byte 125: NaN is not JSON");
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[0]]", "[1e999]")), ERR_CORRUPT, "too large");
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[0]]", "[99999999999999999999]")), ERR_CORRUPT,
		      "does not fit 64 bits");
	CHECK_REFUSED(FILE_OF(SAMPLED("seconds", "[[0]]", "[9223372036854775807]")), ERR_CORRUPT,
		      "does not fit 64 bits");
}

TEST(sums_that_overflow_are_refused)
{
	CHECK_REFUSED(FILE_OF(SAMPLED("none", "[[0],[0]]", "[9223372036854775807,9]")), ERR_CORRUPT,
		      "the sum of a stack does not fit in 64 bits");
}

TEST(weights_with_decimals_add_up_to_their_sum)
{
	LOAD(l, FILE_OF(SAMPLED("none", "[[0],[1],[0],[2],[1]]", "[0.4,0.4,0.4,0.4,0.4]")));
	CHECK(profile_total(l.list.v[0], 0) == 2);
}

TEST(negative_weights_are_not_written)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(10000);

	LOAD(l, FILE_OF(SAMPLED("none", "[[0],[1]]", "[5,-9]")));
	CHECK_ERR(store(&l, speedscope_write, 0, -1, &out), ERR_UNSUPPORTED);
}

TEST(stacks_deeper_than_the_limit_are_refused)
{
	CLEANUP(loaded_release) struct loaded l = {0};

	CHECK_OK(loaded_init(&l));
	l.reading.limits.max_depth = 1;
	CHECK_ERR(speedscope_read(STR(sampled), &l.reading), ERR_TOO_DEEP);
	CHECK_ERR(speedscope_read(STR(evented), &l.reading), ERR_TOO_DEEP);
}

/* Writes what was read and reads it again. */
static enum err round_trip(struct loaded *first, struct loaded *second, struct buf *out)
{
	struct writing w = {.list = &first->list, .type = -1};

	TRY(speedscope_write(&w, out));
	notes_release(&w.notes);
	return load(second, speedscope_read, buf_view(out));
}

TEST(written_files_read_back_with_their_sample_types)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(loaded_release) struct loaded again = {0};
	struct profile *p;
	struct row row = {0};
	uint32_t frames[2];

	CHECK_OK(loaded_init(&l));
	CHECK_OK(profile_list_add(&l.list, &l.dict, &p));
	CHECK_OK(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(profile_add_type(p, STR("alloc_space"), STR("bytes")));
	CHECK_OK(dict_named_frame(&l.dict, STR("leaf \"x\""), &frames[0]));
	CHECK_OK(dict_named_frame(&l.dict, STR("root"), &frames[1]));
	CHECK_OK(dict_stack(&l.dict, frames, 2, &row.stack));
	CHECK_OK(profile_add(p, &row, (int64_t[]){5, 0}));
	CHECK_OK(profile_add(p, &row, (int64_t[]){2, 0}));
	CHECK_OK(dict_stack(&l.dict, frames + 1, 1, &row.stack));
	CHECK_OK(profile_add(p, &row, (int64_t[]){0, INT64_MAX}));
	CHECK_OK(round_trip(&l, &again, &out));
	CHECK_INT(again.list.n, 2);
	CHECK_STR(dict_str(&again.dict, again.list.v[0]->types[0].type), "cpu");
	CHECK_STR(dict_str(&again.dict, again.list.v[1]->types[0].type), "alloc_space");
	CHECK_FOLDED(again, 0, "root;leaf \"x\" 7\n");
	CHECK_FOLDED(again, 1, "root 9223372036854775807\n");
	CHECK(str_search(buf_view(&out),
			 STR("https://www.speedscope.app/file-format-schema.json")) < out.n);
}

static enum err read_and_write(void)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(loaded_release) struct loaded l = {0};
	CLEANUP(loaded_release) struct loaded again = {0};

	TRY(load(&l, speedscope_read, STR(evented)));
	return round_trip(&l, &again, &out);
}

TEST(reader_and_writer_survive_any_allocation_failing)
{
	ALLOC_SWEEP(read_and_write());
	ALLOC_SWEEP(read_copy(speedscope_read, sampled, sizeof(sampled) - 1));
}

TEST(every_cut_and_many_changes_of_a_file_are_read_or_refused)
{
	read_prefixes(speedscope_read, STR(sampled));
	read_prefixes(speedscope_read, STR(evented));
	read_mutations(speedscope_read, STR(sampled));
	read_mutations(speedscope_read, STR(evented));
}
