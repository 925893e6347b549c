#include "text_test.h"

#include "format/formats_internal.h"

/* Reads folded text and writes it again. */
static enum err round_trip(struct str text, int type, struct buf *out)
{
	CLEANUP(loaded_release) struct loaded l;

	TRY(load(&l, folded_read, text));
	return store(&l, folded_write, 0, type, out);
}

#define CHECK_ROUND_TRIP(in, type, want)                                  \
	do {                                                              \
		CLEANUP(buf_release) struct buf out_ = BUF_INIT(1 << 20); \
		CHECK_OK(round_trip(STR(in), type, &out_));               \
		CHECK_STR(buf_view(&out_), want);                         \
	} while (0)

struct seen_ticks {
	size_t count, last, of;
	bool backwards;
};

static void see_tick(void *context, size_t done, size_t of)
{
	struct seen_ticks *t = context;

	t->backwards |= done < t->last || done > of;
	t->last = done;
	t->of = of;
	t->count++;
}

TEST(who_waits_is_told_how_far_reading_is)
{
	CLEANUP(loaded_release) struct loaded l = {0};
	struct str text = STR("a;b 1\na;c 2\nd 3\n");
	struct seen_ticks seen = {0};

	CHECK_OK(loaded_init(&l));
	l.reading.ticks = (struct read_ticks){see_tick, &seen};
	CHECK_OK(folded_read(text, &l.reading));
	CHECK_INT(seen.count, 3);
	CHECK_INT(seen.of, text.n);
	CHECK_INT(seen.last, 12);
	CHECK(!seen.backwards);
}

TEST(equal_stacks_are_added_up_and_lines_sorted_from_the_root)
{
	CHECK_ROUND_TRIP("main;work;b 2\nmain;idle 1\nmain;work;b 40\nmain;work 7\n", -1,
			 "main;idle 1\nmain;work 7\nmain;work;b 42\n");
}

TEST(stacks_are_read_root_first_and_kept_leaf_first)
{
	CLEANUP(loaded_release) struct loaded l;
	const uint32_t *frames;
	uint32_t n;

	CHECK_OK(load(&l, folded_read, STR("main;work 3\n")));
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 2);
	CHECK_STR(frame_name(&l.dict, frames[0]), "work");
	CHECK_STR(frame_name(&l.dict, frames[1]), "main");
	CHECK_STR(dict_str(&l.dict, l.list.v[0]->types[0].type), "samples");
	CHECK_STR(dict_str(&l.dict, l.list.v[0]->types[0].unit), "count");
}

TEST(names_may_hold_blanks_and_numbers)
{
	CHECK_ROUND_TRIP("java thread 1;void f(int, char *) const 12\nx 4\n", -1,
			 "java thread 1;void f(int, char *) const 12\nx 4\n");
}

TEST(crlf_blank_lines_and_a_missing_last_newline_are_accepted)
{
	CHECK_ROUND_TRIP("a;b 1\r\n\r\n   \na;c 2", -1, "a;b 1\na;c 2\n");
}

TEST(a_line_without_a_count_is_one_sample)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_ROUND_TRIP("a;b\na;b\na;c\n", -1, "a;b 2\na;c 1\n");
	CHECK_OK(load(&l, folded_read, STR("a;b\na;c\n")));
	CHECK(noted(&l.reading.notes, "without a count"));
}

TEST(decimal_counts_are_rounded_and_noted)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_ROUND_TRIP("a 1.5\nb 2.4\nc 1e3\nd .6\n", -1, "a 2\nb 2\nc 1000\nd 1\n");
	CHECK_OK(load(&l, folded_read, STR("a 1.5\n")));
	CHECK(noted(&l.reading.notes, "rounded"));
}

TEST(decimals_add_up_to_their_sum)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(100000);
	CLEANUP(loaded_release) struct loaded l;

	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "a;f%d 0.4\nb 0.25\n", i);
	CHECK_OK(load(&l, folded_read, buf_view(&text)));
	CHECK_INT(profile_total(l.list.v[0], 0), 650);
}

TEST(negative_counts_are_read_and_not_written)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

	CHECK_OK(load(&l, folded_read, STR("a;b -3\na;c 1\n")));
	CHECK_INT(profile_total(l.list.v[0], 0), -2);
	CHECK_ERR(store(&l, folded_write, 0, -1, &out), ERR_UNSUPPORTED);
}

TEST(names_that_look_like_counts_or_comments_are_written_as_names)
{
	CHECK_ROUND_TRIP("x 0\nm;worker 12 3\n", -1, "m;worker_12 3\n");
	CHECK_ROUND_TRIP("x 0\nm;worker 12 3\nm;y 4\n", -1, "m;worker 12 3\nm;y 4\n");
	CHECK_ROUND_TRIP("#x;# y 3\n", -1, "_x;_ y 3\n");
}

TEST(two_counts_on_every_line_are_before_and_after)
{
	CHECK_ROUND_TRIP("a;b 10 12\na;c 0 3\n", 0, "a;b 10\n");
	CHECK_ROUND_TRIP("a;b 10 12\na;c 0 3\n", 1, "a;b 12\na;c 3\n");
	CHECK_ROUND_TRIP("a;b 10 12\na;c 0 3\n", -1, "a;b 12\na;c 3\n");
}

TEST(two_counts_on_some_lines_are_part_of_a_name)
{
	CHECK_ROUND_TRIP("worker 1 12\nmain 3\n", -1, "main 3\nworker 1 12\n");
}

TEST(annotations_become_the_kind_of_frame)
{
	CLEANUP(loaded_release) struct loaded l;
	const uint32_t *frames;
	uint32_t n;

	CHECK_OK(load(&l, folded_read, STR("main;jitted_[j];leaf_[i];sys_read_[k] 1\n")));
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 4);
	CHECK_STR(frame_name(&l.dict, frames[0]), "sys_read");
	CHECK_INT(l.dict.frames.v[frames[0]].kind, KIND_KERNEL);
	CHECK(l.dict.frames.v[frames[1]].flags & FRAME_INLINED);
	CHECK_STR(dict_str(&l.dict, l.dict.frames.v[frames[2]].kind), "jit");
	CHECK_ROUND_TRIP("main;jitted_[j];leaf_[i];sys_read_[k] 1\n", -1,
			 "main;jitted_[j];leaf;sys_read_[k] 1\n");
	CHECK_ROUND_TRIP("main;array_[x];_[k] 1\n", -1, "main;array_[x];_[k] 1\n");
}

TEST(comments_are_kept_and_are_no_samples)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, folded_read, STR("# made by hand\na;#private 2\n#\n")));
	CHECK_INT(l.list.v[0]->row_count, 1);
	CHECK_INT(l.list.v[0]->comments.n, 1);
	CHECK_STR(dict_str(&l.dict, l.list.v[0]->comments.v[0]), "made by hand");
}

TEST(frames_without_a_name_are_left_out_and_noted)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_ROUND_TRIP(";a;;b; 1\n", -1, "a;b 1\n");
	CHECK_OK(load(&l, folded_read, STR("a;;b 1\n")));
	CHECK(noted(&l.reading.notes, "without a name"));
	CHECK_ROUND_TRIP(" 7\n", -1, "[unknown] 7\n");
}

TEST(a_count_beyond_64_bits_is_refused_with_its_line)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_ERR(load(&l, folded_read, STR("a;b 1\na;c 99999999999999999999\n")), ERR_CORRUPT);
	CHECK_STR(str_of(l.reading.fault.text),
		  "line 2 (byte 6): the count \"99999999999999999999\" does not fit in 64 bits");
}

TEST(sums_that_overflow_are_refused)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

	CHECK_OK(load(&l, folded_read, STR("a 9223372036854775807\na 5\n")));
	CHECK_ERR(store(&l, folded_write, 0, -1, &out), ERR_UNSUPPORTED);
	CHECK_STR(buf_view(&out), "");
}

TEST(invalid_utf8_and_nul_bytes_are_replaced_and_noted)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, folded_read, STR("m\xff\xc3;a\0b;gr\xc3\xbc\xc3\x9f 1\n")));
	CHECK(noted(&l.reading.notes, "invalid UTF-8"));
	CHECK_ROUND_TRIP("m\xff\xc3;a\0b;gr\xc3\xbc 1\n", -1,
			 "m\xef\xbf\xbd\xef\xbf\xbd;a\xef\xbf\xbd"
			 "b;gr\xc3\xbc 1\n");
}

TEST(separators_in_names_are_replaced_on_writing)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
	struct profile *p;
	struct row row = {0};
	uint32_t frame;

	CHECK_OK(loaded_init(&l));
	CHECK_OK(profile_list_add(&l.list, &l.dict, &p));
	CHECK_OK(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(dict_named_frame(&l.dict, STR("Lcom/Foo;.bar\n"), &frame));
	CHECK_OK(dict_stack(&l.dict, &frame, 1, &row.stack));
	CHECK_OK(profile_add(p, &row, (int64_t[]){5}));
	CHECK_OK(store(&l, folded_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "Lcom/Foo:.bar  5\n");
}

TEST(frames_without_a_function_are_written_as_module_and_offset)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
	struct mapping m = {.start = 0x1000, .limit = 0x9000, .offset = 0x200};
	struct frame f = {.address = 0x1234};
	struct profile *p;
	struct row row = {0};
	uint32_t frame;

	CHECK_OK(loaded_init(&l));
	CHECK_OK(profile_list_add(&l.list, &l.dict, &p));
	CHECK_OK(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(dict_text(&l.dict, "/usr/lib/libx.so", &m.file));
	CHECK_OK(dict_mapping(&l.dict, &m, &f.mapping));
	CHECK_OK(dict_frame(&l.dict, &f, &frame));
	CHECK_OK(dict_stack(&l.dict, &frame, 1, &row.stack));
	CHECK_OK(profile_add(p, &row, (int64_t[]){5}));
	CHECK_OK(store(&l, folded_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "libx.so+0x434 5\n");
}

TEST(a_stack_too_deep_keeps_its_leaf_and_is_noted)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

	CHECK_OK(loaded_init(&l));
	l.reading.limits.max_depth = 2;
	CHECK_OK(folded_read(STR("a;b;c;d 1\n"), &l.reading));
	CHECK(noted(&l.reading.notes, "cut at its root"));
	CHECK_OK(store(&l, folded_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "c;d 1\n");
}

TEST(a_line_of_a_megabyte_is_read_or_refused)
{
	size_t n = 2 << 20;
	char *text = mem_alloc(n);

	CHECK(text);
	memset(text, 'x', n);
	CHECK_ERR(read_copy(folded_read, text, n), ERR_TOO_LARGE);
	memset(text, ';', n);
	CHECK_OK(read_copy(folded_read, text, n));
	for (size_t i = 0; i < n; i += 2)
		text[i] = 'f';
	CHECK_OK(read_copy(folded_read, text, n));
	mem_free(text);
}

TEST(too_many_samples_are_refused)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(loaded_init(&l));
	l.reading.limits.max_samples = 2;
	CHECK_ERR(folded_read(STR("a 1\nb 1\nc 1\n"), &l.reading), ERR_TOO_LARGE);
}

TEST(truncated_and_damaged_text_is_read_or_refused)
{
	struct str s = STR("# c\nmain;work_[k] 3\nmain;b\xc3\xbc 1.5\r\nx 1 2\n");

	read_prefixes(folded_read, s);
	read_mutations(folded_read, s);
}

TEST(other_text_is_not_taken_for_folded_stacks)
{
	CHECK(folded_sniff(STR("main;work 3\nmain;x y 4\n")) > 0);
	CHECK(folded_sniff(STR("main;work\nmain\n")) == 0);
	CHECK(folded_sniff(STR("{\"nodes\": [\n 1\n")) == 0);
	CHECK(folded_sniff(STR("main  123 45.6:  1 cycles:\n\tffff main (/a)\n")) == 0);
	CHECK(folded_sniff(STR("<!DOCTYPE html>\n<p>a;b 1\n")) == 0);
	CHECK(folded_sniff(STR("{ \"a\": 1\n")) == 0);
	CHECK(folded_sniff(STR("some text\nmore text\n")) == 0);
	CHECK(folded_sniff(STR("")) == 0);
	CHECK(folded_sniff(STR("\n\n")) == 0);
	CHECK(folded_sniff(STR("a;b 1\n\0\0\0\0")) == 0);
}

static enum err read_and_write(void)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

	return round_trip(STR("# c\nmain;w\xff_[j] 3\nmain;x 4\nmain 1.5\n"), -1, &out);
}

TEST(reading_and_writing_survive_any_allocation_failing)
{
	ALLOC_SWEEP(read_and_write());
}

TEST(text_formats_are_told_apart_by_their_content)
{
	static const struct {
		const char *text, *format;
	} cases[] = {
		{"main;work 3\nmain;idle 4\n", "folded"},
		{"main;work\nmain;idle\n", "folded"},
		{"main 12\nidle 4\n", "folded"},
		{"<module> (a.py:5);f (a.py:3) 2\n<module> (a.py:6) 1\n", "folded"}, /* py-spy */
		{"{main};{closure} 2\n", "folded"},
		{"w 1 1.000000: 1 cycles: \n\t 11ef leaf+0x1f (/bin/w)\n\n", "perf-script"},
		{"w 1 1.000000: 1 cycles:  11ef leaf+0x1f (/bin/w)\n", "perf-script"},
		{"\n\t 11ef leaf\n\t 10ba main\n\n", "perf-script"},
		{"heap profile: 1: 1 [1: 1] @ heap/512\n1: 1 [1: 1] @ 0x1\n", "legacy-pprof"},
		{"goroutine profile: total 7\n7 @ 0x1 0x2\n", "legacy-pprof"},
		{"--- mutex:\ncycles/second=1\n1 2 @ 0x1\n", "legacy-pprof"},
		{"--- threadz 1 ---\n\n--- Thread 1 (name: a/1) stack: ---\n", "legacy-pprof"},
		{"PERFILE2hhhh", "perf-data"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct format *f = format_sniff(str_of(cases[i].text));

		CHECK(f);
		CHECK_STR(str_of(f->name), cases[i].format);
	}
	CHECK(!format_sniff(STR("Dear reader,\nthis is a letter.\n")));
}
