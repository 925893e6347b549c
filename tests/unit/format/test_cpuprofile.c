#include "text_test.h"

#include "format/formats_internal.h"
#include "format/json_kind.h"

#define FRAME(name, line)                                 \
	"\"callFrame\":{\"functionName\":\"" name         \
	"\",\"scriptId\":\"1\",\"url\":\"file:///a.js\"," \
	"\"lineNumber\":" #line ",\"columnNumber\":4}"

/* (root) -> main -> hot, idle. Samples: hot, hot, main, idle at 100, 300, 350, 1000; ends 1500. */
static const char chrome[] = "{\"nodes\":[{\"id\":1," FRAME(
	"(root)",
	-1) ",\"hitCount\":0,\"children\":[2,4]},"
	    "{\"id\":2," FRAME(
		    "main",
		    0) ",\"hitCount\":1,\"children\":[3]},"
		       "{\"id\":3," FRAME(
			       "hot",
			       9) ",\"hitCount\":2,\"positionTicks\":[{\"line\":11,\"ticks\":2}]},"
				  "{\"id\":4," FRAME("(idle)",
						     -1) ",\"hitCount\":1}],"
							 "\"startTime\":5000,\"endTime\":6500,"
							 "\"samples\":[3,3,2,4],\"timeDeltas\":["
							 "100,200,50,650]}";

/* The same with parents instead of children, samples first, and a BOM. */
static const char by_parent[] =
	"\xef\xbb\xbf \n{\"timeDeltas\":[100,200,50,650],\"samples\":[3,3,2,4],\"endTime\":6500,"
	"\"nodes\":[{\"parent\":2,\"id\":3," FRAME("hot", 9) "},{\"id\":1," FRAME(
		"(root)",
		-1) "},"
		    "{\"id\":2,\"parent\":1," FRAME("main", 0) "},{\"id\":4,\"parent\":1," FRAME(
			    "(idle)", -1) "}],"
					  "\"startTime\":5000}";

/* The same as older V8 nested it: lines from 1, seconds, absolute times. */
static const char nested[] =
	"{\"head\":{\"functionName\":\"(root)\",\"url\":\"\",\"lineNumber\":0,\"id\":1,"
	"\"children\":["
	"{\"functionName\":\"main\",\"url\":\"file:///"
	"a.js\",\"lineNumber\":1,\"columnNumber\":5,\"children\":["
	"{\"functionName\":\"hot\",\"url\":\"file:///"
	"a.js\",\"lineNumber\":10,\"columnNumber\":5,\"id\":3,"
	"\"children\":[]}],\"id\":2},"
	"{\"functionName\":\"(idle)\",\"url\":\"\",\"lineNumber\":0,\"id\":4,\"children\":[]}]},"
	"\"startTime\":5,\"endTime\":5.0015,\"samples\":[3,3,2,4],"
	"\"timestamps\":[900100,900300,900350,901000]}";

#define LOAD(l_, text_)                                 \
	CLEANUP(loaded_release) struct loaded l_ = {0}; \
	CHECK_OK(load(&l_, cpuprofile_read, str_of(text_)))

static void check_folded(struct loaded *l, int type, const char *expected)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

	CHECK_OK(store(l, folded_write, 0, type, &out));
	CHECK_STR(buf_view(&out), expected);
}

TEST(samples_last_until_the_next_one_and_the_last_until_the_end)
{
	LOAD(l, chrome);
	CHECK_INT(l.list.n, 1);
	CHECK_INT(l.list.v[0]->duration_ns, 1500000);
	CHECK_INT(l.list.v[0]->row_count, 3);
	check_folded(&l, 0, "(idle) 1\nmain 1\nmain;hot 2\n");
	check_folded(&l, 1, "(idle) 500000\nmain 650000\nmain;hot 250000\n");
}

TEST(parents_instead_of_children_and_any_order_of_keys_mean_the_same)
{
	LOAD(l, by_parent);
	CHECK_INT(profile_total(l.list.v[0], 0), 4);
	check_folded(&l, 1, "(idle) 500000\nmain 650000\nmain;hot 250000\n");
}

TEST(the_nested_format_of_older_v8_means_the_same)
{
	LOAD(l, nested);
	CHECK_INT(l.list.v[0]->duration_ns, 1500000);
	check_folded(&l, 0, "(idle) 1\nmain 1\nmain;hot 2\n");
	check_folded(&l, 1, "(idle) 600000\nmain 650000\nmain;hot 250000\n");
}

TEST(lines_and_columns_count_from_one_and_frames_are_javascript)
{
	LOAD(l, chrome);
	for (size_t i = 0; i < l.list.v[0]->row_count; i++) {
		uint32_t n, f = stack_frames(&l.dict, l.list.v[0]->stack[i], &n)[0];
		const struct frame *frame = &l.dict.frames.v[f];

		CHECK_INT(frame->kind, KIND_V8JS);
		CHECK_STR(frame_file(&l.dict, f), "file:///a.js");
		CHECK_INT(frame->column, 5);
		if (str_eq(frame_name(&l.dict, f), STR("hot")))
			CHECK_INT(frame->line, 10);
		if (str_eq(frame_name(&l.dict, f), STR("(idle)")))
			CHECK_INT(frame->line, 0);
	}
}

TEST(hit_counts_serve_when_there_are_no_samples)
{
	LOAD(l, "{\"nodes\":[{\"id\":1," FRAME(
			"a", 0) ",\"hitCount\":1,\"children\":[2]},"
				"{\"id\":2," FRAME(
					"b", 0) ",\"hitCount\":3}],\"startTime\":0,\"endTime\":8}");
	check_folded(&l, 0, "a 1\na;b 3\n");
	check_folded(&l, 1, "a 2000\na;b 6000\n");
}

TEST(ids_may_be_any_whole_numbers)
{
	LOAD(l, "{\"nodes\":[{\"id\":-5," FRAME(
			"a", 0) ",\"children\":[9223372036854775807]},"
				"{\"id\":9223372036854775807," FRAME(
					"b", 0) "}],\"samples\":[-5,"
						"9223372036854775807],\"timeDeltas\":[1,1],"
						"\"startTime\":0,\"endTime\":4}");
	check_folded(&l, 0, "a 1\na;b 1\n");
}

TEST(negative_deltas_are_noted_and_no_time_is_counted_twice)
{
	LOAD(l, "{\"nodes\":[{\"id\":1," FRAME("a", 0) "},{\"id\":2," FRAME(
			"b", 0) "}],"
				"\"samples\":[1,2,1,2],\"timeDeltas\":[0,100,-50,100],"
				"\"startTime\":0,\"endTime\":200}");
	CHECK(noted(&l.reading.notes, "steps back 1 times"));
	CHECK_INT(profile_total(l.list.v[0], 1), 200000);
	check_folded(&l, 1, "a 150000\nb 50000\n");
}

TEST(functions_without_a_name_are_called_anonymous)
{
	LOAD(l, "{\"nodes\":[{\"id\":1," FRAME("", 3) "}],\"samples\":[1],\"timeDeltas\":[5]}");
	check_folded(&l, 0, "(anonymous) 1\n");
}

#define CHECK_REFUSED(input, code_, message)                                 \
	do {                                                                 \
		CLEANUP(loaded_release) struct loaded l_ = {0};              \
		CHECK_ERR(load(&l_, cpuprofile_read, STR(input)), code_);    \
		if (!strstr(l_.reading.fault.text, message))                 \
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", \
				  l_.reading.fault.text, message);           \
	} while (0)

TEST(reader_refuses_cycles_doubled_and_missing_ids)
{
	CHECK_REFUSED("{\"nodes\":[{\"id\":1,\"children\":[2]},{\"id\":2,\"children\":[1]}]}",
		      ERR_CORRUPT, "its own ancestor");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1,\"children\":[1]}]}", ERR_CORRUPT,
		      "at byte 10: node 1 is its own ancestor");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1,\"parent\":2},{\"id\":2,\"parent\":1}]}", ERR_CORRUPT,
		      "its own ancestor");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1},{\"id\":1}]}", ERR_CORRUPT,
		      "at byte 19: two nodes have the id 1, the other is at byte 10");
	CHECK_REFUSED("{\"nodes\":[{\"id\":-1},{\"id\":-1}]}", ERR_CORRUPT,
		      "two nodes have the id -1");
	CHECK_REFUSED("{\"nodes\":[{\"id\":-1,\"parent\":8}]}", ERR_BAD_INDEX,
		      "the parent 8 of a node");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1,\"parent\":-8}]}", ERR_BAD_INDEX, "the parent -8 of");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1,\"children\":[7]}]}", ERR_BAD_INDEX,
		      "the child 7 of a node is not in the file");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1,\"parent\":7}]}", ERR_BAD_INDEX,
		      "the parent 7 of a node is not in the file");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1,\"children\":[3]},{\"id\":2,\"children\":[3]},"
		      "{\"id\":3}]}",
		      ERR_CORRUPT, "node 3 is the child of two nodes");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1}],\"samples\":[1,9],\"timeDeltas\":[1,1]}",
		      ERR_BAD_INDEX,
		      "samples[1] at byte 33: the sample's node 9 is not in the file");
}

TEST(reader_refuses_times_that_do_not_match_and_values_that_are_no_numbers)
{
	CHECK_REFUSED("{\"nodes\":[{\"id\":1}],\"samples\":[1,1],\"timeDeltas\":[1]}", ERR_CORRUPT,
		      "fewer times than samples");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1}],\"samples\":[1],\"timeDeltas\":[1,2]}", ERR_CORRUPT,
		      "more times than samples");
	CHECK_REFUSED("{\"nodes\":[{\"id\":1}],\"samples\":[1],\"timeDeltas\":[NaN]}", ERR_CORRUPT,
		      "timeDeltas[0] at byte 48: NaN is not JSON");
	CHECK_REFUSED("{\"nodes\":[{\"id\":\"1\"}]}", ERR_CORRUPT, "nodes[0].id at byte 16");
	CHECK_REFUSED("{\"nodes\":[null]}", ERR_CORRUPT, "expected a node");
	CHECK_REFUSED("{\"nodes\":{}}", ERR_CORRUPT, "expected an array, found an object");
	CHECK_REFUSED("{\"samples\":[]}", ERR_CORRUPT, "neither \"nodes\" nor \"head\"");
	CHECK_REFUSED("{\"head\":{\"children\":[null]}}", ERR_CORRUPT, "expected a node");
}

/* depth nested nodes, each with `inside` beside its children */
static void nested_head(struct buf *b, unsigned depth)
{
	buf_text(b, "{\"startTime\":0,\"endTime\":1,\"head\":");
	for (unsigned i = 0; i < depth; i++)
		buf_text(b, "{\"functionName\":\"f\",\"hitCount\":1,\"children\":[");
	for (unsigned i = 0; i < depth; i++)
		buf_text(b, "]}");
	buf_text(b, "}");
}

TEST(nested_nodes_are_bounded_by_the_stack_depth_and_the_frames_in_all)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 26);
	CLEANUP(loaded_release) struct loaded deep = {0};
	CLEANUP(loaded_release) struct loaded fits = {0};
	CLEANUP(loaded_release) struct loaded many = {0};

	nested_head(&b, 20000);
	CHECK_ERR(load(&deep, cpuprofile_read, buf_view(&b)), ERR_TOO_DEEP);
	buf_clear(&b);
	nested_head(&b, 2000);
	CHECK_OK(load(&fits, cpuprofile_read, buf_view(&b)));
	CHECK_INT(fits.list.v[0]->row_count, 2000);
	CHECK_OK(loaded_init(&many));
	many.reading.limits.max_entries = 100000;
	CHECK_ERR(cpuprofile_read(buf_view(&b), &many.reading), ERR_TOO_LARGE);
	CHECK(strstr(many.reading.fault.text, "more than 100000 frames in all"));
}

TEST(kinds_of_json_are_told_apart_whatever_comes_first)
{
	CHECK_INT(json_kind(STR(chrome)), JSON_KIND_CPUPROFILE);
	CHECK_INT(json_kind(STR(by_parent)), JSON_KIND_CPUPROFILE);
	CHECK_INT(json_kind(STR(nested)), JSON_KIND_CPUPROFILE);
	CHECK_INT(json_kind(STR("{\"head\":{\"selfSize\":0,\"children\":[]}}")),
		  JSON_KIND_HEAPPROFILE);
	CHECK_INT(json_kind(STR(
			  "{\"samples\":[{\"size\":1,\"nodeId\":1}],\"head\":{\"selfSize\":0}}")),
		  JSON_KIND_HEAPPROFILE);
	CHECK_INT(json_kind(STR("{\"profiles\":[],\"shared\":{\"frames\":[]}}")),
		  JSON_KIND_SPEEDSCOPE);
	CHECK_INT(json_kind(STR("{\"meta\":{},\"libs\":[],\"threads\":[]}")), JSON_KIND_FIREFOX);
	CHECK_INT(json_kind(STR(" {\"dictionary\":{},\"resourceProfiles\":[]}")), JSON_KIND_OTLP);
	CHECK_INT(json_kind(STR("{\"resource_profiles\":[]}\n{}")), JSON_KIND_OTLP);
	CHECK_INT(json_kind(STR("{}")), JSON_KIND_NONE);
	CHECK_INT(json_kind(STR("[1,2]")), JSON_KIND_NONE);
	CHECK_INT(json_kind(STR("")), JSON_KIND_NONE);
	CHECK_INT(json_kind(STR("main;a 1\n")), JSON_KIND_NONE);
}

TEST(a_large_first_value_does_not_hide_the_kind)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 22);

	buf_text(&b, "{\"samples\":[1");
	for (int i = 0; i < 200000; i++)
		buf_text(&b, ",1");
	buf_text(&b, "],\"timeDeltas\":[1],\"nodes\":[]}");
	CHECK_INT(json_kind(buf_view(&b)), JSON_KIND_CPUPROFILE);
	buf_clear(&b);
	buf_text(&b, "{\"profiles\":[{\"type\":\"sampled\",\"weights\":[1");
	for (int i = 0; i < 200000; i++)
		buf_text(&b, ",1");
	buf_text(&b, "]}],\"shared\":{\"frames\":[]}}");
	CHECK_INT(json_kind(buf_view(&b)), JSON_KIND_SPEEDSCOPE);
}

TEST(every_cut_and_many_changes_of_a_file_are_read_or_refused)
{
	read_prefixes(cpuprofile_read, STR(chrome));
	read_prefixes(cpuprofile_read, STR(nested));
	read_mutations(cpuprofile_read, STR(chrome));
	read_mutations(cpuprofile_read, STR(nested));
}

TEST(reader_survives_any_allocation_failing)
{
	ALLOC_SWEEP(read_copy(cpuprofile_read, chrome, sizeof(chrome) - 1));
	ALLOC_SWEEP(read_copy(cpuprofile_read, nested, sizeof(nested) - 1));
}
