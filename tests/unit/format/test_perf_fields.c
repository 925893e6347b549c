/*
 * perf script text whose fields are missing, moved or hard to tell apart.
 */
#include "text_test.h"

#include "format/formats_internal.h"
#include "format/perf_script.h"

#define FRAMES "\t            11ef leaf+0x1f (/bin/w)\n\t            10ba main+0x2a (/bin/w)\n\n"

static struct str label_text(const struct loaded *l, const struct profile *p, size_t row,
			     const char *key)
{
	const struct label *label = label_find(&l->dict, p->labels[row], str_of(key));

	return label ? dict_str(&l->dict, (uint32_t)label->value) : STR("");
}

static int64_t label_number(const struct loaded *l, const struct profile *p, size_t row,
			    const char *key)
{
	const struct label *label = label_find(&l->dict, p->labels[row], str_of(key));

	return label ? label->value : -1;
}

TEST(thread_named_like_a_comment_keeps_its_samples)
{
	static const char *const names[] = {"#x", "# y", "#", "#1 2"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(loaded_release) struct loaded l;
		CLEANUP(buf_release) struct buf text = BUF_INIT(10000);

		buf_printf(&text,
			   "# ========\n# captured on    : x\n# cmdline : a 1 1.000000: 5 x: \n"
			   "# ========\n#\n%s 13283  1471.154747:    2004008 cpu-clock: \n" FRAMES,
			   names[i]);
		CHECK_OK(load(&l, perf_script_read, buf_view(&text)));
		CHECK_INT(l.list.v[0]->row_count, 1);
		CHECK_STR(label_text(&l, l.list.v[0], 0, "thread.name"), names[i]);
		CHECK_INT(l.reading.notes.list.n, 0);
	}
}

TEST(two_clocks_are_types_of_their_own)
{
	CLEANUP(loaded_release) struct loaded l;
	struct dict *d = &l.dict;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 1 1.000000: 10 task-clock:u: \n" FRAMES
			  "w 1 1.000000: 50 cpu-clock:u: \n" FRAMES
			  "w 1 1.000000: 7 cpu-clock:k: \n" FRAMES
			  "w 1 1.000000: 3 page-faults: \n" FRAMES)));
	CHECK_INT(l.list.n, 4);
	CHECK_STR(dict_str(d, l.list.v[0]->types[0].type), "task-clock_samples");
	CHECK_STR(dict_str(d, l.list.v[0]->types[1].type), "task-clock");
	CHECK_STR(dict_str(d, l.list.v[0]->types[1].unit), "nanoseconds");
	CHECK_STR(dict_str(d, l.list.v[1]->types[0].type), "samples");
	CHECK_STR(dict_str(d, l.list.v[1]->types[1].type), "cpu");
	CHECK_INT(profile_total(l.list.v[1], 1), 50);
	CHECK_STR(dict_str(d, l.list.v[2]->types[1].type), "cpu-clock:k");
	CHECK_STR(dict_str(d, l.list.v[3]->types[1].type), "page-faults");
	CHECK_STR(dict_str(d, l.list.v[3]->types[1].unit), "count");
}

TEST(period_without_a_thread_is_no_thread)
{
	CLEANUP(loaded_release) struct loaded l;
	struct profile *p;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w  1471.154747:    2004008 cpu-clock: \n" FRAMES
			  "worker 12345  1471.154748:    2004008 cpu-clock: \n" FRAMES
			  "v  1471.154749:    2004008 cpu-clock: \n" FRAMES)));
	p = l.list.v[0];
	CHECK_INT(p->row_count, 3);
	CHECK_INT(profile_total(p, 1), 3 * 2004008);
	CHECK_STR(label_text(&l, p, 0, "thread.name"), "w");
	CHECK_STR(label_text(&l, p, 1, "thread.name"), "worker 12345");
	CHECK_INT(label_number(&l, p, 1, "thread.id"), -1);
}

TEST(period_is_told_from_a_thread_by_its_column)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, perf_script_read, STR("w    2004008 cpu-clock: \n" FRAMES)));
	CHECK_INT(profile_total(l.list.v[0], 1), 2004008);
	CHECK_INT(label_number(&l, l.list.v[0], 0, "thread.id"), -1);
}

TEST(period_without_an_event_is_kept)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(loaded_release) struct loaded named;

	CHECK_OK(load(&l, perf_script_read, STR("w 13283  1471.154747:    2004008 \n" FRAMES)));
	CHECK_STR(dict_str(&l.dict, l.list.v[0]->types[1].type), "events");
	CHECK_INT(profile_total(l.list.v[0], 1), 2004008);
	/* Where perf describes the only event there is. */
	CHECK_OK(load(&named, perf_script_read,
		      STR("# ========\n# event : name = cpu-clock, , id = { 1 }\n# ========\n"
			  "w 13283  1471.154747:    2004008 \n" FRAMES)));
	CHECK_STR(dict_str(&named.dict, named.list.v[0]->types[1].type), "cpu");
}

TEST(fields_before_the_time_do_not_hide_the_period)
{
	static const char *const lines[] = {
		"w 13283 [001] U      1471.154747:    2004008 cpu-clock: ",
		"w 13283 2026-11-18 21:00:00.123456  1471.154747:    2004008 cpu-clock: ",
		"w 13283 disabled  1471.154747:    2004008 cpu-clock: ",
		/* clang takes two literals in a list for a missing comma. */
		("w     7/13283 KH    2026-11-18 21:00:00.123456  1471.154747:    2004008 "
		 "cpu-clock: "),
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct perf_header h;

		CHECK(perf_header_parse(str_of(lines[i]), NULL, &h));
		CHECK_STR(h.comm, "w");
		CHECK_INT(h.tid, 13283);
		CHECK_INT(h.time_ns, 1471154747000);
		CHECK_INT(h.period, 2004008);
		CHECK_STR(h.event, "cpu-clock");
	}
}

static void check_stack(struct str text, const char *const *names, uint32_t count)
{
	CLEANUP(loaded_release) struct loaded l;
	const uint32_t *frames;
	uint32_t n;

	CHECK_OK(load(&l, perf_script_read, text));
	CHECK_INT(l.list.v[0]->row_count, 1);
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, count);
	for (uint32_t i = 0; i < n; i++)
		CHECK_STR(frame_name(&l.dict, frames[i]), names[i]);
}

TEST(samples_of_guests_keep_their_fields)
{
	CLEANUP(loaded_release) struct loaded l;
	const struct profile *p;

	CHECK_OK(
		load(&l, perf_script_read,
		     STR("VM:   77 VCPU:001 w 8 1 5/12 [001] 1.000000:         10 cycles: \n" FRAMES
			 "VM:123456 w 8 1 5/12 [001] 1.000000:         20 cycles: \n" FRAMES
			 "w 8 1 5/12 [001] 1.000000:         30 cycles: \n" FRAMES)));
	CHECK_INT(l.list.n, 1);
	p = l.list.v[0];
	CHECK_INT(profile_total(p, 1), 60);
	for (size_t i = 0; i < p->row_count; i++) {
		CHECK_STR(label_text(&l, p, i, "thread.name"), "w 8 1");
		CHECK_INT(label_number(&l, p, i, "thread.id"), 12);
	}
}

TEST(frames_are_read_however_they_are_indented)
{
	static const char *const names[] = {"leaf", "main"};
	static const char *const texts[] = {
		"w 1 1.000000: 7 cycles: \n\t            11ef leaf (/bin/w)\n"
		"\t            10ba main (/bin/w)\n\n",
		"w 1 1.000000: 7 cycles: \n                    11ef leaf (/bin/w)\n"
		"                    10ba main (/bin/w)\n\nw",
		"w 1 1.000000: 7 cycles: \n    11ef leaf (/bin/w)\n    10ba main (/bin/w)\n\nw",
		"w 1 1.000000: 7 cycles: \n\tleaf (/bin/w)\n\tmain (/bin/w)\n\n",
		"w 1 1.000000: 7 cycles: \n leaf+0x1f (/bin/w)\n main+0x2a (/bin/w)\n\nw",
		"w 1 1.000000: 7 cycles: \n        leaf\n        main\n\nw",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_stack(str_of(texts[i]), names, 2);
}

TEST(function_that_looks_like_a_number_is_a_function)
{
	static const char *const names[] = {"add", "decade", "main"};

	check_stack(STR("w 1 1.000000: 7 cycles: \n\tadd (/bin/w)\n\tdecade (/bin/w)\n"
			"\tmain (/bin/w)\n\n"),
		    names, 3);
	check_stack(STR("w 1 1.000000: 7 cycles: \n\t            11ef add (/bin/w)\n"
			"\t            10ba decade (/bin/w)\n\t            10bc main (/bin/w)\n\n"),
		    names, 3);
}

TEST(names_with_brackets_and_offsets_of_modules_are_taken_apart)
{
	static const struct {
		const char *line, *symbol, *dso;
	} cases[] = {
		{"\t 11ef f(int) (.cold)", "f(int) (.cold)", ""},
		{"\t 11ef f(int) (.cold) (/bin/w)", "f(int) (.cold)", "/bin/w"},
		{"\t 11ef f (/bin/w+0x11ef)", "f", "/bin/w"},
		{"\t 11ef <T as core::ops::FnOnce<()>>::call_once (/bin/w)",
		 "<T as core::ops::FnOnce<()>>::call_once", "/bin/w"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_frame f;

		CHECK(perf_frame_parse(str_of(cases[i].line), NULL, &f));
		CHECK_STR(f.symbol, cases[i].symbol);
		CHECK_STR(f.dso, cases[i].dso);
	}
}

TEST(samples_on_lines_are_read_with_any_fields)
{
	static const struct {
		const char *line, *comm;
		int64_t tid;
	} cases[] = {
		{"               w             11ef leaf (/bin/w)\n", "w", -1},
		{"            1234 13283             11ef leaf (/bin/w)\n", "1234", 13283},
		{"         x: 5 y: 13283             11ef leaf (/bin/w)\n", "x: 5 y:", 13283},
		{"13283             11ef leaf (/bin/w)\n", "", 13283},
		{"               w 13283 cycles:          7ffd0000 x                 11ef leaf "
		 "(/bin/w)\n",
		 "w", 13283},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(loaded_release) struct loaded l;
		struct profile *p;
		uint32_t n;

		CHECK_OK(load(&l, perf_script_read, str_of(cases[i].line)));
		p = l.list.v[0];
		CHECK_INT(p->row_count, 1);
		CHECK_STR(label_text(&l, p, 0, "thread.name"), cases[i].comm);
		CHECK_INT(label_number(&l, p, 0, "thread.id"), cases[i].tid);
		CHECK_STR(frame_name(&l.dict, stack_frames(&l.dict, p->stack[0], &n)[0]), "leaf");
	}
}

TEST(lines_below_a_stack_that_are_no_frames_are_passed_over)
{
	CLEANUP(loaded_release) struct loaded l;
	uint32_t n;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 1 1.000000: 7 cycles: \n"
			  "\t            11ef leaf (/bin/w)\n ABI:2    AX:0x1 BX:0x2 \n\n"
			  "|12       x++;\n"
			  "w 1 1.000000: 7 cycles: \n\t            11ef leaf (/bin/w)\n\n"
			  "\t00000000000011ef\tinsn: 55\n")));
	CHECK_INT(l.list.v[0]->row_count, 2);
	stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 1);
	CHECK_INT(l.reading.notes.list.n, 0);
}

TEST(lines_that_cannot_be_read_are_counted_and_placed)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 1 1.000000: 7 cycles: \n" FRAMES "what is this\n\n"
			  "w 1 1.000000: 7 cycles: \n\tno address\n" FRAMES)));
	CHECK_INT(l.reading.notes.list.n, 1);
	CHECK(noted(&l.reading.notes, "2 lines could not be read"));
	CHECK(noted(&l.reading.notes, "the first is line 5"));
}

TEST(times_that_are_differences_add_up_to_the_duration)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 1 0.000000: 7 cycles: \n" FRAMES "w 1 0.000300: 7 cycles: \n" FRAMES
			  "w 1 0.000100: 7 cycles: \n" FRAMES "w 1 0.000200: 7 cycles: \n" FRAMES
			  "w 1 0.000100: 7 cycles: \n" FRAMES)));
	CHECK_INT(l.list.v[0]->duration_ns, 700000);
}

static enum err read_all_shapes(void)
{
	CLEANUP(loaded_release) struct loaded l;

	return load(&l, perf_script_read,
		    STR("# ========\n# event : name = x, , id\n# ========\n"
			"#x 1/2 [000] U 1.000000: 1 cpu-clock: \n\tadd (/b)\n\tmain (/b)\n\n"
			"w 1.000000: 10 task-clock: \n\tadd (/b)\n ABI:2\n\nwhat\n\n"));
}

TEST(reading_all_shapes_survives_any_allocation_failing)
{
	ALLOC_SWEEP(read_all_shapes());
}
