#include "text_test.h"

#include "format/formats_internal.h"

#define META                                                                                     \
	"\"meta\":{\"interval\":2,\"startTime\":1700000000000.5,\"preprocessedProfileVersion\":" \
	"48,"                                                                                    \
	"\"sampleUnits\":{\"time\":\"ms\",\"threadCPUDelta\":\"ns\"}}"
#define FRAMES                                                                                     \
	"\"frameTable\":{\"length\":3,\"func\":[0,1,1],\"line\":[7,null,null],\"column\":[2,null," \
	"null],"                                                                                   \
	"\"address\":[-1,4096,4096],\"inlineDepth\":[0,0,1]}"

/* main -> work, main -> work (inlined); times 1 ms and 3 ms. */
static const char processed[] =
	"{" META ",\"libs\":[{\"name\":\"libx.so\",\"path\":\"/lib/libx.so\",\"codeId\":\"abcd\"}],"
	"\"threads\":[{\"name\":\"GeckoMain\",\"processName\":\"web\",\"pid\":\"12\",\"tid\":13,"
	"\"samples\":{\"length\":3,\"weightType\":\"samples\",\"weight\":null,\"stack\":[1,2,null],"
	"\"time\":[1,3,5],\"threadCPUDelta\":[null,1500000,10]},"
	"\"stackTable\":{\"frame\":[0,1,2],\"prefix\":[null,0,1],\"category\":[0,0,0]}," FRAMES ","
	"\"funcTable\":{\"name\":[0,1],\"fileName\":[2,null],\"resource\":[-1,0],\"isJS\":[true,"
	"false],"
	"\"lineNumber\":[5,null]},"
	"\"resourceTable\":{\"lib\":[0],\"name\":[1]},"
	"\"stringArray\":[\"main\",\"work\",\"a.js\"]}]}";

/* The same with everything shared, parents as distances and files through "sources". */
static const char shared[] =
	"{\"threads\":[{\"samples\":{\"stack\":[1,2,null],\"timeDeltas\":[1,2,2],"
	"\"threadCPUDelta\":[null,1500000,10]},\"tid\":\"13\",\"pid\":\"12\",\"processName\":"
	"\"web\","
	"\"name\":\"GeckoMain\"}],"
	"\"shared\":{\"stringArray\":[\"main\",\"work\",\"a.js\"],"
	"\"stackTable\":{\"frame\":[0,1,2],\"prefixOffset\":[0,1,1]}," FRAMES ","
	"\"funcTable\":{\"name\":[0,1],\"source\":[0,null],\"resource\":[-1,0]},"
	"\"sources\":{\"filename\":[2]},\"resourceTable\":{\"lib\":[0]}},"
	"\"libs\":[{\"path\":\"/lib/libx.so\",\"codeId\":\"abcd\"}]," META "}";

/* Gecko's own shape, with a child process. */
static const char gecko[] =
	"{\"meta\":{\"version\":30,\"interval\":1,\"startTime\":0},\"libs\":[],\"threads\":[{"
	"\"name\":\"A\",\"tid\":1,\"stringTable\":[\"(root)\",\"f (x.js:3:4)\"],"
	"\"samples\":{\"schema\":{\"stack\":0,\"time\":1},\"data\":[[1,10.5],[0,11],[1,12,7]]},"
	"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0],[0,1]]},"
	"\"frameTable\":{\"schema\":{\"location\":0,\"line\":3},\"data\":[[0],[1,true,null,9]]}}],"
	"\"processes\":[{\"meta\":{\"interval\":1},\"threads\":[{\"name\":\"B\","
	"\"stringTable\":[\"g\"],\"samples\":{\"schema\":{\"stack\":0},\"data\":[[0]]},"
	"\"stackTable\":{\"schema\":{\"frame\":1,\"prefix\":0},\"data\":[[null,0]]},"
	"\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0]]}}]}]}";

#define LOAD(l_, text_)                                 \
	CLEANUP(loaded_release) struct loaded l_ = {0}; \
	CHECK_OK(load(&l_, cpuprofile_read, STR(text_)))

#define CHECK_FOLDED(l_, type, expected)                                  \
	do {                                                              \
		CLEANUP(buf_release) struct buf out_ = BUF_INIT(1 << 20); \
		CHECK_OK(store(&l_, folded_write, 0, type, &out_));       \
		CHECK_STR(buf_view(&out_), expected);                     \
	} while (0)

static void check_content(struct loaded *l)
{
	const struct profile *p = l->list.v[0];
	const struct label *label;
	uint32_t n;
	const uint32_t *frames;

	CHECK_INT(l->list.n, 1);
	CHECK_INT(p->type_count, 3);
	CHECK_INT(p->row_count, 2);
	CHECK_FOLDED(*l, 0, "main;work 1\nmain;work;work 1\n");
	CHECK_FOLDED(*l, 1, "main;work 2000000\nmain;work;work 2000000\n");
	CHECK_INT(profile_total(p, 2), 1500000);
	CHECK_INT(p->period, 2000000);
	CHECK(p->time[0] == 1700000000001500000 && p->time[1] == 1700000000003500000);
	label = label_find(&l->dict, p->labels[0], STR("thread.name"));
	CHECK(label);
	CHECK_STR(dict_str(&l->dict, (uint32_t)label->value), "GeckoMain");
	label = label_find(&l->dict, p->labels[0], STR("thread.id"));
	CHECK(label && label->type == LABEL_INT && label->value == 13);
	frames = stack_frames(&l->dict, p->stack[1], &n);
	CHECK_INT(n, 3);
	CHECK_INT(l->dict.frames.v[frames[0]].flags & FRAME_INLINED, FRAME_INLINED);
	CHECK_INT(l->dict.frames.v[frames[1]].flags & FRAME_INLINED, 0);
	CHECK_INT(l->dict.frames.v[frames[1]].address, 4096);
	CHECK_INT(l->dict.frames.v[frames[1]].kind, KIND_NATIVE);
	CHECK_STR(dict_str(&l->dict,
			   l->dict.mappings.v[l->dict.frames.v[frames[1]].mapping].build_id),
		  "abcd");
	CHECK_INT(l->dict.frames.v[frames[2]].line, 7);
	CHECK_STR(frame_file(&l->dict, frames[2]), "a.js");
}

TEST(tables_of_a_thread_lead_from_stacks_to_names_files_and_libraries)
{
	LOAD(l, processed);
	check_content(&l);
}

TEST(shared_tables_with_distances_and_sources_mean_the_same)
{
	LOAD(l, shared);
	check_content(&l);
}

TEST(geckos_own_rows_are_read_with_child_processes)
{
	LOAD(l, gecko);
	CHECK_FOLDED(l, 0, "(root) 1\n(root);f (x.js:3:4) 2\ng 1\n");
	CHECK(l.list.v[0]->time == NULL || l.list.v[0]->time[0] == 0);
}

#define CHECK_REFUSED(input, code_, message)                                 \
	do {                                                                 \
		CLEANUP(loaded_release) struct loaded l_ = {0};              \
		CHECK_ERR(load(&l_, cpuprofile_read, STR(input)), code_);    \
		if (!strstr(l_.reading.fault.text, message))                 \
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", \
				  l_.reading.fault.text, message);           \
	} while (0)
#define THREAD(samples, stacks, frames, funcs, strings)                             \
	"{\"meta\":{},\"threads\":[{\"samples\":" samples ",\"stackTable\":" stacks \
	",\"frameTable\":" frames ",\"funcTable\":" funcs ",\"stringArray\":" strings "}]}"

TEST(reader_refuses_indices_outside_their_tables)
{
	CHECK_REFUSED(THREAD("{\"stack\":[1]}", "{\"frame\":[0],\"prefix\":[null]}",
			     "{\"func\":[0]}", "{\"name\":[0]}", "[\"f\"]"),
		      ERR_BAD_INDEX, "stack of row 0 is 1, but there are 1 stacks");
	CHECK_REFUSED(THREAD("{}", "{\"frame\":[3],\"prefix\":[null]}", "{\"func\":[0]}",
			     "{\"name\":[0]}", "[\"f\"]"),
		      ERR_BAD_INDEX, "frame of row 0 is 3");
	CHECK_REFUSED(THREAD("{}", "{\"frame\":[0],\"prefix\":[0]}", "{\"func\":[0]}",
			     "{\"name\":[0]}", "[\"f\"]"),
		      ERR_BAD_INDEX, "prefix of row 0 is 0, but there are 0 stacks before it");
	CHECK_REFUSED(THREAD("{}", "{\"frame\":[0],\"prefixOffset\":[1]}", "{\"func\":[0]}",
			     "{\"name\":[0]}", "[\"f\"]"),
		      ERR_BAD_INDEX, "prefixOffset of row 0");
	CHECK_REFUSED(THREAD("{}", "{}", "{\"func\":[-5]}", "{\"name\":[0]}", "[\"f\"]"),
		      ERR_BAD_INDEX, "func of row 0 is -5");
	CHECK_REFUSED(THREAD("{}", "{}", "{\"func\":[0]}", "{\"name\":[0.5]}", "[\"f\"]"),
		      ERR_BAD_INDEX, "name of row 0 is 0.5");
	CHECK_REFUSED(THREAD("{}", "{}", "{\"func\":[1e300]}", "{\"name\":[0]}", "[\"f\"]"),
		      ERR_BAD_INDEX, "func of row 0 is 1e+300");
	CHECK_REFUSED("{\"meta\":{},\"threads\":[{\"samples\":{\"stack\":[0]}}]}", ERR_CORRUPT,
		      "no \"stackTable\"");
}

TEST(every_cut_and_many_changes_of_a_file_are_read_or_refused)
{
	read_prefixes(cpuprofile_read, STR(processed));
	read_mutations(cpuprofile_read, STR(processed));
	read_mutations(cpuprofile_read, STR(shared));
	read_mutations(cpuprofile_read, STR(gecko));
}

TEST(reader_survives_any_allocation_failing)
{
	ALLOC_SWEEP(read_copy(cpuprofile_read, processed, sizeof(processed) - 1));
	ALLOC_SWEEP(read_copy(cpuprofile_read, shared, sizeof(shared) - 1));
	ALLOC_SWEEP(read_copy(cpuprofile_read, gecko, sizeof(gecko) - 1));
}
