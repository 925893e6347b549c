#include "text_test.h"

#include "format/formats_internal.h"
#include "format/perf_script.h"

#define TWO_FRAMES \
	"\t            11ef leaf+0x1f (/bin/w)\n\t            10ba main+0x2a (/bin/w)\n\n"

static enum err to_folded(struct str text, size_t profile, int type, struct buf *out)
{
	CLEANUP(loaded_release) struct loaded l;

	TRY(load(&l, perf_script_read, text));
	return store(&l, folded_write, profile, type, out);
}

#define CHECK_FOLDED(text, profile, type, want)                           \
	do {                                                              \
		CLEANUP(buf_release) struct buf out_ = BUF_INIT(1 << 20); \
		CHECK_OK(to_folded(STR(text), profile, type, &out_));     \
		CHECK_STR(buf_view(&out_), want);                         \
	} while (0)

TEST(clock_samples_are_nanoseconds_by_their_period)
{
	CLEANUP(loaded_release) struct loaded l;
	struct profile *p;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 13283  1471.154747:    2004008 cpu-clock:ppp: \n" TWO_FRAMES
			  "w 13283  1471.156747:    2004008 cpu-clock:ppp: \n" TWO_FRAMES)));
	CHECK_INT(l.list.n, 1);
	p = l.list.v[0];
	CHECK_INT(p->type_count, 2);
	CHECK_STR(dict_str(&l.dict, p->types[0].type), "samples");
	CHECK_STR(dict_str(&l.dict, p->types[1].type), "cpu");
	CHECK_STR(dict_str(&l.dict, p->types[1].unit), "nanoseconds");
	CHECK_INT(profile_total(p, 0), 2);
	CHECK_INT(profile_total(p, 1), 4008016);
	CHECK_INT(p->period, 2004008);
	CHECK_INT(p->duration_ns, 2000000);
	CHECK(!p->time);
}

TEST(other_events_count_under_their_own_name)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 1 1.000000: 77 cycles:ppp: \n" TWO_FRAMES
			  "w 1 1.000000: 23 cycles:ppp: \n" TWO_FRAMES
			  "w 1 1.000000: sched:sched_switch: prev_comm=a (x) ==> b\n" TWO_FRAMES
			  "w 1 1.000000: 5 cpu/event=0x3c/u: \n" TWO_FRAMES)));
	CHECK_INT(l.list.n, 3);
	CHECK_STR(dict_str(&l.dict, l.list.v[0]->types[1].type), "cycles");
	CHECK_INT(profile_total(l.list.v[0], 1), 100);
	CHECK_INT(l.list.v[0]->period, 0);
	CHECK_INT(l.list.v[1]->type_count, 1);
	CHECK_STR(dict_str(&l.dict, l.list.v[1]->types[0].type), "sched:sched_switch");
	CHECK_STR(dict_str(&l.dict, l.list.v[2]->types[1].type), "cpu/event=0x3c/u");
}

TEST(stacks_stay_leaf_first_with_addresses_and_modules)
{
	CLEANUP(loaded_release) struct loaded l;
	const struct frame *leaf;
	const uint32_t *frames;
	uint32_t n;

	CHECK_OK(load(&l, perf_script_read, STR("w 1 1.000000: 1 cycles: \n" TWO_FRAMES)));
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 2);
	leaf = &l.dict.frames.v[frames[0]];
	CHECK_STR(frame_name(&l.dict, frames[0]), "leaf");
	CHECK_INT(leaf->address, 0x11ef);
	CHECK_INT(leaf->kind, KIND_NATIVE);
	CHECK_STR(dict_str(&l.dict, l.dict.mappings.v[leaf->mapping].file), "/bin/w");
	CHECK_INT(l.dict.mappings.v[leaf->mapping].start, 0);
}

TEST(header_fields_are_found_whatever_comm_looks_like)
{
	static const struct {
		const char *line, *comm, *event;
		int64_t pid, tid;
		bool time, period;
	} cases[] = {
		{"w 13283  1471.154747:  2004008 cpu-clock:ppp: ", "w", "cpu-clock:ppp", -1, 13283,
		 true, true},
		{"java 12 thread 4 12/34 [001] 1.000000: 5 cycles: ", "java 12 thread 4", "cycles",
		 12, 34, true, true},
		{"a (b) 7 [000] 1.000000001: cycles:u: ", "a (b)", "cycles:u", -1, 7, true, false},
		{":123 123 1.000000: cycles: ", ":123", "cycles", -1, 123, true, false},
		{"   123 [000] 1.000000: cycles: ", "", "cycles", -1, 123, true, false},
		{"swapper     0 [000]  1.000000: 1 cpu-clock:  ffff pv ([k])", "swapper",
		 "cpu-clock", -1, 0, true, true},
		{"w 13287 ", "w", "", -1, 13287, false, false},
		{"w 1/2 99 cycles: ", "w", "cycles", 1, 2, false, true},
		{"cpu-clock:ppp: ", "", "cpu-clock:ppp", -1, -1, false, false},
		{"w -1/-1 [000] 1.000000: cycles: ", "w", "cycles", -1, -1, true, false},
		{"w 1 1.000000: sched:sched_switch: prev=1 2 3: x", "w", "sched:sched_switch", -1,
		 1, true, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_header h;

		CHECK(perf_header_parse(str_of(cases[i].line), NULL, &h));
		CHECK_STR(h.comm, cases[i].comm);
		CHECK_STR(h.event, cases[i].event);
		CHECK_INT(h.pid, cases[i].pid);
		CHECK_INT(h.tid, cases[i].tid);
		CHECK_INT(h.has_time, cases[i].time);
		CHECK_INT(h.has_period, cases[i].period);
	}
}

TEST(threads_become_labels)
{
	CLEANUP(loaded_release) struct loaded l;
	const struct label *label;

	CHECK_OK(load(&l, perf_script_read,
		      STR("Web Content 12/34 [000] 1.000000: 1 cycles: \n" TWO_FRAMES)));
	label = label_find(&l.dict, l.list.v[0]->labels[0], STR("thread.name"));
	CHECK(label);
	CHECK_STR(dict_str(&l.dict, (uint32_t)label->value), "Web Content");
	label = label_find(&l.dict, l.list.v[0]->labels[0], STR("process.pid"));
	CHECK(label && label->type == LABEL_INT && label->value == 12);
	label = label_find(&l.dict, l.list.v[0]->labels[0], STR("thread.id"));
	CHECK(label && label->value == 34);
}

TEST(frame_lines_are_taken_apart_from_the_end)
{
	static const struct {
		const char *line, *symbol, *dso;
		bool inlined;
	} cases[] = {
		{"\t 11ef leaf+0x1f (/bin/w)", "leaf", "/bin/w", false},
		{"\t 11ef [unknown] (/bin/w)", "", "/bin/w", false},
		{"\t 11ef [unknown] ([unknown])", "", "", false},
		{"\t 11ef inl+0x26 (inlined)", "inl", "", true},
		{"\t 11ef f(int, char (*)(int))+0x2 (/tmp/a b (deleted))", "f(int, char (*)(int))",
		 "/tmp/a b (deleted)", false},
		{"\t 11ef (anonymous namespace)::g() (/bin/w)", "(anonymous namespace)::g()",
		 "/bin/w", false},
		{"\t 11ef operator+(A, B)", "operator+(A, B)", "", false},
		{"\t 11ef main", "main", "", false},
		{"\t 11ef", "", "", false},
		{"\t 11ef Lcom/Foo;::bar+0x8 (/tmp/perf-12.map)", "Lcom/Foo;::bar",
		 "/tmp/perf-12.map", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_frame f;

		CHECK(perf_frame_parse(str_of(cases[i].line), NULL, &f));
		CHECK_INT(f.address, 0x11ef);
		CHECK_STR(f.symbol, cases[i].symbol);
		CHECK_STR(f.dso, cases[i].dso);
		CHECK_INT(f.inlined, cases[i].inlined);
	}
}

static uint32_t kind_of(struct loaded *l, const char *frame_line)
{
	struct perf_frame f;
	uint32_t id;

	if (!perf_frame_parse(str_of(frame_line), NULL, &f) ||
	    perf_frame_intern(&l->reading, &f, NULL, &id))
		return UINT32_MAX;
	return l->dict.frames.v[id].kind;
}

TEST(the_kind_of_a_frame_is_told_by_its_module)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(loaded_init(&l));
	CHECK_INT(kind_of(&l, "ffffffff82201c86 f+0x6 ([kernel.kallsyms])"), KIND_KERNEL);
	CHECK_INT(kind_of(&l, "1c86 f+0x6 ([guest.kernel.kallsyms])"), KIND_KERNEL);
	CHECK_INT(kind_of(&l, "1c86 f ([nf_conntrack])"), KIND_KERNEL);
	CHECK_INT(kind_of(&l, "1c86 f (/lib/modules/6.1/kernel/x.ko.xz)"), KIND_KERNEL);
	CHECK_INT(kind_of(&l, "ffffffff82201c86 f"), KIND_KERNEL);
	CHECK_INT(kind_of(&l, "7fff1c86 clock_gettime ([vdso])"), KIND_NATIVE);
	CHECK_INT(kind_of(&l, "7fff1c86 Lcom/Foo;::bar (/tmp/perf-1.map)"), KIND_JVM);
	CHECK_INT(kind_of(&l, "7fff1c86 JS:*f /a.js:1:2 (/tmp/perf-1.map)"), KIND_V8JS);
	CHECK_INT(kind_of(&l, "7fff1c86 py::f:/a.py (/tmp/perf-1.map)"), KIND_CPYTHON);
	CHECK_INT(kind_of(&l, "1c86 f"), 0);
}

TEST(inlined_frames_share_the_address_of_the_next)
{
	CLEANUP(loaded_release) struct loaded l;
	const uint32_t *frames;
	uint32_t n;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 1 1.000000: 1 cycles: \n"
			  "\t 11f6 inl+0x26 (inlined)\n"
			  "\t 11f6 leaf+0x26 (/bin/w)\n"
			  "\t 27304 __libc_start_main_impl+0x84 (inlined)\n"
			  "\t 1100 _start+0x20 (/bin/w)\n\n")));
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 4);
	CHECK(l.dict.frames.v[frames[0]].flags & FRAME_INLINED);
	CHECK_INT(l.dict.frames.v[frames[0]].mapping, l.dict.frames.v[frames[1]].mapping);
	CHECK(!(l.dict.frames.v[frames[2]].flags & FRAME_INLINED));
}

TEST(source_lines_below_frames_are_read)
{
	CLEANUP(loaded_release) struct loaded l;
	const uint32_t *frames;
	uint32_t n;

	CHECK_OK(load(&l, perf_script_read,
		      STR("w 1 1.000000: 1 cycles: \n"
			  "\t 11f6 inl+0x26\n  w.c:6 (inlined)\n"
			  "\t 11f6 leaf+0x26 (/bin/w)\n  w.c:7 (discriminator 3)\n"
			  "\t 1100 _start+0x20 (/bin/w)\n  ??:0\n"
			  "\t 1200 x (/bin/w)\n  w[1200]\n\n")));
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 4);
	CHECK_INT(l.dict.frames.v[frames[0]].line, 6);
	CHECK(l.dict.frames.v[frames[0]].flags & FRAME_INLINED);
	CHECK_STR(frame_file(&l.dict, frames[0]), "w.c");
	CHECK_INT(l.dict.frames.v[frames[1]].line, 7);
	CHECK_INT(l.dict.frames.v[frames[2]].line, 0);
	CHECK_INT(l.dict.frames.v[frames[3]].line, 0);
}

TEST(samples_on_one_line_and_without_headers_are_read)
{
	CHECK_FOLDED("  w 1 [000] 1.000000: 7 cycles:  11ef leaf+0x1f (/bin/w)\n"
		     "  w 1 [000] 1.000000: 7 cycles:  11ef leaf+0x1f (/bin/w)\n",
		     0, -1, "leaf 14\n");
	CHECK_FOLDED("\n\t 11f6 inl (inlined)\n\t 11f6 leaf\n\t 10b9 main\n\n\n\t 10b9 main\n", 0,
		     -1, "main 1\nmain;leaf;inl 1\n");
	CHECK_FOLDED("w \n\t 11f6 leaf\n\n", 0, -1, "leaf 1\n");
	CHECK_FOLDED("cycles: \n\t 11f6 leaf\n\n", 0, -1, "leaf 1\n");
}

TEST(samples_without_a_stack_keep_their_value)
{
	CHECK_FOLDED("w 1 1.000000: 7 cycles: \n\nw 1 1.000000: 3 cycles: \n" TWO_FRAMES, 0, 1,
		     "[unknown] 7\nmain;leaf 3\n");
}

TEST(comments_records_and_crlf_are_passed_over)
{
	CHECK_FOLDED("# ========\n# captured on    : x\n#\r\n"
		     "swapper 0 [000] 0.000000: PERF_RECORD_MMAP -1/0: [0xff(0x1) @ 0]: x y\n"
		     "w 1 1.000000: 7 cycles: \r\n\t 11ef leaf+0x1f (/bin/w)\r\n\r\n",
		     0, 1, "leaf 7\n");
}

TEST(text_without_samples_is_refused)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_ERR(load(&l, perf_script_read, STR("some text\nmore\n")), ERR_CORRUPT);
	CHECK(strstr(l.reading.fault.text, "no sample found"));
}

TEST(a_period_beyond_63_bits_is_refused)
{
	CHECK_ERR(read_copy(perf_script_read, "w 1 1.000000: 18446744073709551615 cycles: \n", 45),
		  ERR_CORRUPT);
}

TEST(deep_stacks_keep_their_leaf)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

	CHECK_OK(loaded_init(&l));
	l.reading.limits.max_depth = 1;
	CHECK_OK(perf_script_read(STR("w 1 1.000000: 1 cycles: \n" TWO_FRAMES), &l.reading));
	CHECK(noted(&l.reading.notes, "cut at its root"));
	CHECK_OK(store(&l, folded_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "leaf 1\n");
}

TEST(too_many_events_are_refused)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

	for (int i = 0; i < 300; i++)
		buf_printf(&text, "w 1 1.000000: 1 event%d: \n\n", i);
	CHECK_ERR(read_copy(perf_script_read, text.data, text.n), ERR_TOO_LARGE);
}

TEST(lines_of_a_megabyte_are_read_or_refused)
{
	size_t n = 2 << 20;
	char *text = mem_alloc(n);

	CHECK(text);
	for (const char *c = "x(\t "; *c; c++) {
		memset(text, *c, n);
		(void)!read_copy(perf_script_read, text, n);
		memcpy(text, "w 1 1.000000: 1 cycles:\n\t 11ef ", 31);
		(void)!read_copy(perf_script_read, text, n);
	}
	mem_free(text);
}

TEST(truncated_and_damaged_perf_text_is_read_or_refused)
{
	struct str s = STR("w 13/83 [000] 1471.154747:    2004008 cpu-clock:ppp: \n" TWO_FRAMES
			   "x 1 1.000000: a:b: c\n\t 11f6 inl\n  w.c:6 (inlined)\n\n");

	read_prefixes(perf_script_read, s);
	read_mutations(perf_script_read, s);
}

TEST(perf_text_is_told_from_other_text)
{
	CHECK(perf_script_sniff(STR("w 1 1.000000: 1 cycles: \n" TWO_FRAMES)) >= 80);
	CHECK(perf_script_sniff(STR("w 1 [000] 1.000000: 1 cycles:  11ef f (/x)\n")) >= 80);
	CHECK(perf_script_sniff(STR("# ========\n# captured on    : x\n")) >= 80);
	CHECK(perf_script_sniff(STR("\n\t 11f6 leaf\n\t 10b9 main\n\n")) > 0);
	CHECK(perf_script_sniff(STR("w 13 \n\t 11f6 leaf\n")) > 0);
	CHECK(perf_script_sniff(STR("main;work 3\nmain;x y 4\n")) == 0);
	CHECK(perf_script_sniff(STR("goroutine profile: total 7\n1 @ 0x1 0x2\n")) == 0);
	CHECK(perf_script_sniff(STR("{\"a\": 1}")) == 0);
	CHECK(perf_script_sniff(STR("")) == 0);
}

TEST(perf_data_is_known_by_its_magic)
{
	CHECK_INT(perf_data_sniff(STR("PERFILE2\x10\0\0\0\0\0\0\0")), 100);
	CHECK_INT(perf_data_sniff(STR("PERF")), 0);
}

static enum err read_small(void)
{
	CLEANUP(loaded_release) struct loaded l;

	return load(&l, perf_script_read,
		    STR("w 1/2 1.000000: 1 cpu-clock: \n" TWO_FRAMES
			"w 1 1.000000: a:b: c\n\t 11f6 inl\n  w.c:6 (inlined)\n\t 11f6 g (/b)\n"));
}

TEST(reading_perf_text_survives_any_allocation_failing)
{
	ALLOC_SWEEP(read_small());
}
