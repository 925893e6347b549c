#include "text_test.h"

#include "format/formats_internal.h"

static const char maps[] = "MAPPED_LIBRARIES:\n"
			   "00400000-00500000 r-xp 00000000 08:01 12 /bin/program\n"
			   "00600000-00700000 rw-p 00000000 08:01 12 /bin/program\n"
			   "7f0000000000-7f0000100000 r-xp 00001000 08:01 13 /lib/libx.so.6\n";

static const struct frame *frame_at(const struct loaded *l, size_t row, uint32_t i)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(&l->dict, l->list.v[0]->stack[row], &n);

	return i < n ? &l->dict.frames.v[frames[i]] : &l->dict.frames.v[0];
}

static struct str file_at(const struct loaded *l, size_t row, uint32_t i)
{
	return dict_str(&l->dict, l->dict.mappings.v[frame_at(l, row, i)->mapping].file);
}

static int64_t value_at(const struct loaded *l, size_t row, uint32_t type)
{
	return profile_values(l->list.v[0], row)[type];
}

#define CHECK_TYPE(l, i, type_, unit_)                                               \
	do {                                                                         \
		CHECK_STR(dict_str(&(l).dict, (l).list.v[0]->types[i].type), type_); \
		CHECK_STR(dict_str(&(l).dict, (l).list.v[0]->types[i].unit), unit_); \
	} while (0)

TEST(exact_heap_profiles_keep_their_numbers)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf text = BUF_INIT(10000);
	const struct label *bytes;

	buf_text(&text, "heap profile:  3:  300 [  5:  700] @ heapprofile\n"
			"  3:  300 [  5:  700] @ 0x400010 0x7f0000000020 0x9\n\n");
	buf_text(&text, maps);
	CHECK_OK(load(&l, legacy_read, buf_view(&text)));
	CHECK_INT(l.list.v[0]->type_count, 4);
	CHECK_TYPE(l, 0, "alloc_objects", "count");
	CHECK_TYPE(l, 3, "inuse_space", "bytes");
	CHECK_INT(value_at(&l, 0, 0), 5);
	CHECK_INT(value_at(&l, 0, 1), 700);
	CHECK_INT(value_at(&l, 0, 2), 3);
	CHECK_INT(value_at(&l, 0, 3), 300);
	CHECK_INT(frame_at(&l, 0, 0)->address, 0x40000f);
	CHECK_STR(file_at(&l, 0, 0), "/bin/program");
	CHECK_STR(file_at(&l, 0, 1), "/lib/libx.so.6");
	CHECK_STR(file_at(&l, 0, 2), "");
	bytes = label_find(&l.dict, l.list.v[0]->labels[0], STR("bytes"));
	CHECK(bytes && bytes->value == 100);
	CHECK(str_starts(dict_str(&l.dict, l.list.v[0]->drop_frames), STR("calloc|cfree")));
	CHECK(str_starts(dict_str(&l.dict, l.list.v[0]->keep_frames), STR("runtime\\.panic")));
}

TEST(sampled_heap_profiles_are_scaled_by_their_probability)
{
	CLEANUP(loaded_release) struct loaded l;

	/* 1 / (1 - exp(-1024 / 524288)) is 512.5001627… */
	CHECK_OK(load(&l, legacy_read,
		      STR("heap profile: 2: 2048 [ 2: 2048] @ heap_v2/524288\n"
			  "2: 2048 [2: 2048] @ 0x1000\n")));
	CHECK_INT(l.list.v[0]->type_count, 2);
	CHECK_TYPE(l, 1, "space", "bytes");
	CHECK_INT(value_at(&l, 0, 0), 1025);
	CHECK_INT(value_at(&l, 0, 1), 1049600);
	CHECK_INT(l.list.v[0]->period, 524288);
}

TEST(go_writes_twice_its_heap_rate)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, legacy_read,
		      STR("heap profile: 2: 2048 [ 2: 2048] @ heap/1048576\n"
			  "2: 2048 [2: 2048] @ 0x1000\n")));
	CHECK_INT(l.list.v[0]->period, 524288);
	CHECK_INT(value_at(&l, 0, 1), 1049600);
}

TEST(go_names_in_comments_become_functions)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
	uint32_t n;
	const uint32_t *frames;

	CHECK_OK(load(&l, legacy_read,
		      STR("goroutine profile: total 3\n"
			  "2 @ 0x101 0x201 0x301 0x401\n"
			  "# labels: {\"worker\":\"a \\\"b\\\"\", \"job\":\"x\"}\n"
			  "#\t0x200\tmain.work+0xd\t\t/src/main.go:24\n"
			  "#\t0x300\tmain.main+0x1\t\t/src/main.go:30\n\n"
			  "1 @ 0x101 0x301 0x401\n"
			  "#\t0x300\tmain.main+0x1\t\t/src/main.go:30\n\n")));
	CHECK_TYPE(l, 0, "goroutine", "count");
	CHECK_OK(store(&l, folded_write, 0, -1, &out));
	CHECK_STR(buf_view(&out), "runtime.goexit;main.main;main.work;runtime.0x100 2\n"
				  "runtime.goexit;main.main;runtime.0x100 1\n");
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 4);
	CHECK_INT(l.dict.frames.v[frames[1]].line, 24);
	CHECK_STR(frame_file(&l.dict, frames[1]), "/src/main.go");
	CHECK_STR(dict_str(&l.dict,
			   (uint32_t)label_find(&l.dict, l.list.v[0]->labels[0], STR("worker"))
				   ->value),
		  "a \"b\"");
	CHECK(label_find(&l.dict, l.list.v[0]->labels[0], STR("job")));
}

TEST(lines_with_one_address_are_inlined_calls)
{
	CLEANUP(loaded_release) struct loaded l;
	uint32_t n;
	const uint32_t *frames;

	CHECK_OK(load(&l, legacy_read,
		      STR("goroutine profile: total 1\n1 @ 0x201 0x301\n"
			  "#\t0x200\tmain.inner+0xd\t/src/main.go:24\n"
			  "#\t0x200\tmain.outer+0xd\t/src/main.go:30\n")));
	frames = stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 3);
	CHECK_STR(frame_name(&l.dict, frames[0]), "main.inner");
	CHECK(l.dict.frames.v[frames[0]].flags & FRAME_INLINED);
	CHECK_STR(frame_name(&l.dict, frames[1]), "main.outer");
	CHECK(!(l.dict.frames.v[frames[1]].flags & FRAME_INLINED));
	CHECK_INT(l.dict.frames.v[frames[1]].address, 0x200);
}

TEST(padding_of_go_thread_stacks_is_no_frame)
{
	CLEANUP(loaded_release) struct loaded l;
	uint32_t n;

	CHECK_OK(load(&l, legacy_read,
		      STR("threadcreate profile: total 7\n6 @ 0x0 0x0 0x0\n1 @ 0x11 0x0 0x0\n")));
	(void)stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 0);
	(void)stack_frames(&l.dict, l.list.v[0]->stack[1], &n);
	CHECK_INT(n, 1);
	CHECK_INT(profile_total(l.list.v[0], 0), 7);
}

TEST(contention_is_scaled_to_nanoseconds_and_by_its_period)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, legacy_read,
		      STR("--- contentionz 1 ---\ncycles/second = 2000000000\n"
			  "sampling period = 100\nms since reset = 5\ndiscarded samples = 0\n"
			  "  1000   27 @ 0x400010 0x400020\n--- Memory map: ---\n"
			  "  source=/bin\n  00400000-00500000: $source/program\n")));
	CHECK_TYPE(l, 0, "contentions", "count");
	CHECK_TYPE(l, 1, "delay", "nanoseconds");
	CHECK_INT(value_at(&l, 0, 0), 2700);
	CHECK_INT(value_at(&l, 0, 1), 50000);
	CHECK_INT(l.list.v[0]->duration_ns, 5000000);
	CHECK_STR(file_at(&l, 0, 0), "/bin/program");
	CHECK(str_starts(dict_str(&l.dict, l.list.v[0]->drop_frames), STR("RecordLock")));
}

TEST(go_mutex_profiles_are_contention)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, legacy_read,
		      STR("--- mutex:\ncycles/second=1000000000\nsampling period=1\n"
			  "4936 3 @ 0x11 0x21\n#\t0x10\tmain.f+0x1\t/a.go:1\n")));
	CHECK_INT(value_at(&l, 0, 0), 3);
	CHECK_INT(value_at(&l, 0, 1), 4936);
}

TEST(threads_with_equal_stacks_are_counted_together)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, legacy_read,
		      STR("--- threadz 1 ---\n\n"
			  "--- Thread 7f1 (name: main/14748) stack: ---\n"
			  "  PC:  0x00400010: helper(arg *)\n  0x00400031: main\n"
			  "--- Thread 7f2 (name: other/1) stack: ---\n"
			  "    [same as previous thread]\n"
			  "--- Thread 7f3 (name: third/2) stack: ---\n"
			  "  PC: 0x400020 0x400020 0x400041\n"
			  "--- Memory map: ---\n  00400000-00500000: /bin/program\n")));
	CHECK_TYPE(l, 0, "thread", "count");
	CHECK_INT(l.list.v[0]->row_count, 2);
	CHECK_INT(value_at(&l, 0, 0), 2);
	CHECK_INT(frame_at(&l, 0, 0)->address, 0x400010);
	CHECK_INT(frame_at(&l, 0, 1)->address, 0x400030);
	/* The doubled leaf of the third thread is there once. */
	CHECK_INT(frame_at(&l, 1, 0)->address, 0x400020);
	CHECK_INT(frame_at(&l, 1, 1)->address, 0x400040);
	CHECK_STR(file_at(&l, 0, 0), "/bin/program");
}

static void put_word(struct buf *b, uint64_t word, int size, bool big)
{
	for (int i = 0; i < size; i++)
		buf_byte(b, (unsigned char)(word >> 8 * (big ? size - 1 - i : i)));
}

/* A CPU profile of two stacks. */
static void put_cpu_profile(struct buf *b, int size, bool big, bool java)
{
	const uint64_t words[] = {0, 3, java,	  10000,    0,	      /* header */
				  5, 3, 0x400010, 0x400021, 0x400031, /* sample */
				  2, 2, 0x400041, 0x400051,	      /* sample */
				  0, 1, 0};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_word(b, words[i], size, big);
}

TEST(binary_cpu_profiles_are_read_in_both_sizes_and_byte_orders)
{
	for (int i = 0; i < 4; i++) {
		CLEANUP(loaded_release) struct loaded l = {0};
		CLEANUP(buf_release) struct buf b = BUF_INIT(10000);

		put_cpu_profile(&b, i & 1 ? 8 : 4, i & 2, false);
		buf_text(&b, maps + 18);
		CHECK(legacy_sniff(buf_view(&b)) > 90);
		CHECK_OK(load(&l, legacy_read, buf_view(&b)));
		CHECK_TYPE(l, 1, "cpu", "nanoseconds");
		CHECK_INT(l.list.v[0]->period, 10000000);
		CHECK_INT(value_at(&l, 0, 0), 5);
		CHECK_INT(value_at(&l, 0, 1), 50000000);
		CHECK_INT(frame_at(&l, 0, 0)->address, 0x400010);
		CHECK_INT(frame_at(&l, 0, 1)->address, 0x400020);
		CHECK_STR(file_at(&l, 0, 0), "/bin/program");
		CHECK(str_starts(dict_str(&l.dict, l.list.v[0]->drop_frames), STR("ProfileData")));
	}
}

TEST(a_second_frame_all_cpu_samples_share_is_the_handler)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf b = BUF_INIT(10000);
	const uint64_t words[] = {0,	3, 0, 1,    0,	   1,	 3, 0x10, 0x101,
				  0x20, 1, 3, 0x30, 0x101, 0x40, 0, 1,	  0};
	uint32_t n;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_word(&b, words[i], 8, false);
	CHECK_OK(load(&l, legacy_read, buf_view(&b)));
	(void)stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 2);
	CHECK_INT(frame_at(&l, 0, 1)->address, 0x1f);
}

TEST(java_cpu_profiles_name_their_locations)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf b = BUF_INIT(10000), out = BUF_INIT(1000);

	put_cpu_profile(&b, 4, false, true);
	buf_text(&b, " 0x400010 com.example.f (Source.java:12)\n"
		     " 0x400021 native (/usr/lib/libjvm.so)\n 0x400031 GC\n"
		     " 0x400041 generated stub/JIT\n");
	CHECK_OK(load(&l, legacy_read, buf_view(&b)));
	CHECK_OK(store(&l, folded_write, 0, 0, &out));
	CHECK_STR(buf_view(&out), "0x400051;STUB 2\nGC;native;com.example.f 5\n");
	CHECK_INT(frame_at(&l, 0, 0)->line, 12);
	CHECK_INT(frame_at(&l, 0, 0)->kind, KIND_JVM);
	CHECK_INT(frame_at(&l, 0, 0)->address, 0);
}

TEST(java_heap_and_contention_are_read)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(loaded_release) struct loaded m;

	CHECK_OK(load(&l, legacy_read,
		      STR("--- heapz 1 ---\nformat = java\nresolution = bytes\n"
			  "  2048 2 @ 0x03 0x04\n\n 0x03 a.b (C.java:7)\n 0x04 c.d (E.java:8)\n")));
	CHECK_TYPE(l, 0, "inuse_objects", "count");
	CHECK_INT(value_at(&l, 0, 1), 1049600);
	CHECK_OK(load(&m, legacy_read,
		      STR("--- contentionz 1 ---\nformat = java\nresolution = microseconds\n"
			  "sampling period = 100\nms since reset = 6\n 14  1 @ 0x03\n"
			  " 0x03 a.b (C.java:7)\n")));
	CHECK_TYPE(m, 1, "delay", "microseconds");
	CHECK_INT(value_at(&m, 0, 0), 100);
	CHECK_INT(value_at(&m, 0, 1), 1400);
}

TEST(memory_maps_are_read_in_every_form)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, legacy_read,
		      STR("heap profile: 1: 1 [1: 1] @ growthz\n"
			  "1: 1 [1: 1] @ 0x1001 0x2001 0x3001 0x400011 0x6001\n"
			  "MAPPED_LIBRARIES:\n"
			  "I0101 10:00:00 file.cc:12] 0x1000-0x1800: /a (@10) abc123\n"
			  "00002000-00002800 r-xp 00000000 08:01 12 /b c.so\n"
			  "3000 3800 r-xp /d\n"
			  "00410000-00420000 r-xp 00010000 08:01 12 /main\n"
			  "7000-7800 rw-p 00000000 00:00 0\n")));
	CHECK_STR(file_at(&l, 0, 0), "/a");
	CHECK_STR(dict_str(&l.dict, l.dict.mappings.v[frame_at(&l, 0, 0)->mapping].build_id),
		  "abc123");
	CHECK_INT(l.dict.mappings.v[frame_at(&l, 0, 0)->mapping].offset, 0x10);
	CHECK_STR(file_at(&l, 0, 1), "/b c.so");
	CHECK_STR(file_at(&l, 0, 2), "/d");
	/* The part of the mapping before its first line belongs to it. */
	CHECK_STR(file_at(&l, 0, 3), "/main");
	CHECK_INT(l.dict.mappings.v[frame_at(&l, 0, 3)->mapping].start, 0x400000);
	CHECK_STR(file_at(&l, 0, 4), "");
	CHECK_INT(l.dict.mappings.v[frame_at(&l, 0, 4)->mapping].limit, UINT64_MAX);
}

TEST(adjacent_ranges_of_one_file_are_one_mapping)
{
	CLEANUP(loaded_release) struct loaded l;

	CHECK_OK(load(&l, legacy_read,
		      STR("heap profile: 1: 1 [1: 1] @ growth\n1: 1 [1: 1] @ 0x1001 0x2001\n"
			  "MAPPED_LIBRARIES:\n1000-2000: /a\n2000-3000: /a\n")));
	CHECK_INT(frame_at(&l, 0, 0)->mapping, frame_at(&l, 0, 1)->mapping);
	CHECK_INT(l.dict.mappings.v[frame_at(&l, 0, 0)->mapping].limit, 0x3000);
}

TEST(variables_in_maps_cannot_grow_without_end)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);

	buf_text(&b, "heap profile: 1: 1 [1: 1] @ growth\n1: 1 [1: 1] @ 0x1001\n"
		     "MAPPED_LIBRARIES:\na=0123456789\n");
	for (int i = 0; i < 60; i++)
		buf_printf(&b, "%c%d=$%c%d$%c%d$a\n", 'b' + i % 2, i, 'b' + !(i % 2), i - 1,
			   'b' + !(i % 2), i - 1);
	buf_text(&b, "1000-2000: $b58\n");
	CHECK_OK(read_copy(legacy_read, b.data, b.n));
}

#define CHECK_REFUSED(input, part)                                                               \
	do {                                                                                     \
		CLEANUP(loaded_release) struct loaded l_ = {0};                                  \
		CHECK_ERR(load(&l_, legacy_read, STR(input)), ERR_CORRUPT);                      \
		if (!strstr(l_.reading.fault.text, part))                                        \
			test_fail(__FILE__, __LINE__, "fault is \"%s\"", l_.reading.fault.text); \
	} while (0)

TEST(bad_lines_are_refused_with_their_place)
{
	CHECK_REFUSED("heap profile: 1: 1 [1: 1] @ other\n", "line 1 (byte 0): expected");
	CHECK_REFUSED("heap profile: 1: 1 [1: 1] @ growth\n1: 2 @ 0x1\n", "line 2 (byte 35)");
	CHECK_REFUSED("heap profile: 1: 1 [1: 1] @ growth\n0: 5 [0: 0] @ 0x1\n", "5 bytes in 0");
	CHECK_REFUSED("heap profile: 1: 1 [1: 1] @ growth\n1: 5 [1: 5] @ 0x11111111111111111\n",
		      "does not fit in 64 bits");
	CHECK_REFUSED("goroutine profile: total 1\nx @ 0x1\n", "expected \"count @");
	CHECK_REFUSED("--- mutex:\nx=y\n", "not a number");
	CHECK_REFUSED("--- mutex:\nfoo=1\n", "unknown attribute");
	CHECK_REFUSED("--- mutex:\nsampling period=9223372036854775807\n1 2 @ 0x1\n", "64 bits");
	CHECK_REFUSED("--- threadz 1 ---\n--- Something ---\n", "--- Thread");
	CHECK_REFUSED("--- heapz 1 ---\nformat = c\n", "format = java");
	CHECK_REFUSED("--- heapz 1 ---\n 1 1 @ 0x1\n", "resolution");
	CHECK_REFUSED("--- heapz 1 ---\nresolution = bytes\n 1 0 @ 0x1\n", "at least one");
}

TEST(a_cpu_sample_beyond_the_end_is_refused)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf b = BUF_INIT(10000);
	const uint64_t words[] = {0, 3, 0, 1, 0, 1, UINT64_MAX / 8, 5};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_word(&b, words[i], 8, false);
	CHECK_ERR(load(&l, legacy_read, buf_view(&b)), ERR_TRUNCATED);
	CHECK(strstr(l.reading.fault.text, "sample at byte 40"));
}

TEST(a_cpu_count_too_large_for_its_period_is_refused)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(10000);
	const uint64_t words[] = {0, 3, 0, 1000, 0, INT64_MAX, 1, 5};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_word(&b, words[i], 8, false);
	CHECK_ERR(read_copy(legacy_read, b.data, b.n), ERR_CORRUPT);
}

TEST(gigantic_heap_numbers_stay_in_range)
{
	CHECK_OK(read_copy(legacy_read,
			   "heap profile: 1: 1 [1: 1] @ heap_v2/9223372036854775807\n"
			   "9223372036854775807: 9223372036854775807 [1: 1] @ 0x1\n"
			   "-1: -9223372036854775808 [1: 1] @ 0x1\n",
			   148));
}

TEST(damaged_legacy_profiles_are_read_or_refused)
{
	static const char *const texts[] = {
		"heap profile: 1: 1 [2: 2] @ heap/512\n1: 1 [2: 2] @ 0x1 0x2\n#\t0x1\ta+0x1\tb:1\n"
		"MAPPED_LIBRARIES:\ns=/x\n0-2 r-xp 0 08:01 1 $s\n",
		"goroutine profile: total 1\n1 @ 0x1 0x2\n# labels: "
		"{\"a\":\"b\"}\n#\t0x1\tm.f+0x1\tx:3\n",
		"--- contention:\ncycles/second=7\nsampling period=2\n1 2 @ 0x1\n--- Memory map: "
		"---\n",
		"--- threadz 1 ---\n--- Thread 1 (name: a/1) stack: ---\n PC: 0x1 0x2\n",
		"--- heapz 1 ---\nformat = java\nresolution = b\n 7 1 @ 0x3\n 0x3 a (b:1)\n",
	};
	CLEANUP(buf_release) struct buf b = BUF_INIT(10000);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		read_prefixes(legacy_read, str_of(texts[i]));
		read_mutations(legacy_read, str_of(texts[i]));
	}
	put_cpu_profile(&b, 4, true, false);
	buf_text(&b, maps);
	read_prefixes(legacy_read, buf_view(&b));
	read_mutations(legacy_read, buf_view(&b));
}

TEST(deep_legacy_stacks_keep_their_leaf)
{
	CLEANUP(loaded_release) struct loaded l;
	uint32_t n;

	CHECK_OK(loaded_init(&l));
	l.reading.limits.max_depth = 2;
	CHECK_OK(legacy_read(STR("goroutine profile: total 1\n1 @ 0x11 0x21 0x31\n"), &l.reading));
	CHECK(noted(&l.reading.notes, "cut at its root"));
	(void)stack_frames(&l.dict, l.list.v[0]->stack[0], &n);
	CHECK_INT(n, 2);
	CHECK_INT(frame_at(&l, 0, 0)->address, 0x10);
}

TEST(other_files_are_not_taken_for_legacy_profiles)
{
	CHECK_INT(legacy_sniff(STR("main;work 3\n")), 0);
	CHECK_INT(legacy_sniff(STR("")), 0);
	CHECK_INT(legacy_sniff(STR("some profile: total x\n")), 0);
	CHECK_INT(legacy_sniff(STR("a b profile: total 3\n")), 0);
	CHECK_INT(legacy_sniff(STR("\0\0\0\0\3\0\0\0")), 0);
	CHECK(legacy_sniff(STR("heap profile: ")) > 0);
	CHECK_ERR(read_copy(legacy_read, "abc", 3), ERR_UNKNOWN_FORMAT);
}

static enum err read_text(void)
{
	CLEANUP(loaded_release) struct loaded l;

	return load(&l, legacy_read,
		    STR("heap profile: 1: 1 [2: 2] @ heap/512\n1: 1 [2: 2] @ 0x1 0x2 0x3\n"
			"# labels: {\"a\":\"b\"}\n#\t0x1\ta+0x1\tb:1\n"
			"MAPPED_LIBRARIES:\ns=/x\n0-2 r-xp 0 08:01 1 $s\n"));
}

TEST(reading_legacy_text_survives_any_allocation_failing)
{
	ALLOC_SWEEP(read_text());
}
