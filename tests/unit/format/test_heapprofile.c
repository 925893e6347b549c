#include "text_test.h"

#include "format/formats_internal.h"

#define FRAME(name) \
	"\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"a.js\",\"lineNumber\":2}"

static const char small[] = "{\"head\":{" FRAME(
	"(root)") ",\"selfSize\":0,\"id\":1,\"children\":["
		  "{" FRAME("main") ",\"selfSize\":100,\"id\":2,\"children\":["
				    "{\"children\":[],\"id\":3,\"selfSize\":4096," FRAME(
					    "keep") "}]},"
						    "{" FRAME(
							    "gone") ",\"selfSize\":0,\"id\":4,"
								    "\"children\":[]}]},"
								    "\"samples\":[{\"size\":2048,"
								    "\"nodeId\":3,\"ordinal\":1},{"
								    "\"size\":2048,\"nodeId\":3},"
								    "{\"nodeId\":2,\"size\":100}]}";

static void check_folded(struct loaded *l, int type, const char *expected)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

	CHECK_OK(store(l, folded_write, 0, type, &out));
	CHECK_STR(buf_view(&out), expected);
}

TEST(bytes_are_self_sizes_and_objects_are_samples)
{
	CLEANUP(loaded_release) struct loaded l = {0};

	CHECK_OK(load(&l, heapprofile_read, STR(small)));
	CHECK_INT(l.list.v[0]->type_count, 2);
	check_folded(&l, 0, "main 1\nmain;keep 2\n");
	check_folded(&l, 1, "main 100\nmain;keep 4096\n");
}

TEST(files_without_samples_have_bytes_only)
{
	CLEANUP(loaded_release) struct loaded l = {0};

	CHECK_OK(load(&l, heapprofile_read, STR("{\"head\":{" FRAME("f") ",\"selfSize\":7}}")));
	CHECK_INT(l.list.v[0]->type_count, 1);
	check_folded(&l, 0, "f 7\n");
}

TEST(negative_sizes_are_kept_and_noted)
{
	CLEANUP(loaded_release) struct loaded l = {0};

	CHECK_OK(load(&l, heapprofile_read, STR("{\"head\":{" FRAME("f") ",\"selfSize\":-7}}")));
	CHECK(noted(&l.reading.notes, "negative"));
	CHECK_INT(profile_total(l.list.v[0], 0), -7);
}

TEST(samples_of_nodes_that_were_left_out_are_counted)
{
	CLEANUP(loaded_release) struct loaded l = {0};

	CHECK_OK(
		load(&l, heapprofile_read,
		     STR("{\"head\":{" FRAME("f") ",\"id\":1,\"selfSize\":7},"
						  "\"samples\":[{\"nodeId\":5},{\"nodeId\":1}]}")));
	CHECK(noted(&l.reading.notes, "not in the file: 1"));
	CHECK_INT(profile_total(l.list.v[0], 0), 1);
	CHECK_INT(profile_total(l.list.v[0], 1), 7);
}

TEST(reader_refuses_missing_heads_and_doubled_ids)
{
	CLEANUP(loaded_release) struct loaded b = {0};
	CLEANUP(loaded_release) struct loaded c = {0};

	CHECK_ERR(load(&b, heapprofile_read,
		       STR("{\"head\":{\"id\":1,\"children\":[{\"id\":1,\"selfSize\":1}]}}")),
		  ERR_CORRUPT);
	CHECK(strstr(b.reading.fault.text, "two nodes have the id 1"));
	CHECK_ERR(load(&c, heapprofile_read, STR("{\"samples\":[]}")), ERR_CORRUPT);
}

TEST(deep_trees_are_read_to_the_limit_without_recursion)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 26);

	for (unsigned depth = 10000; depth <= 1000000; depth *= 100) {
		CLEANUP(loaded_release) struct loaded l = {0};

		buf_clear(&b);
		buf_text(&b, "{\"head\":");
		for (unsigned i = 0; i < depth; i++)
			buf_text(&b, "{\"children\":[");
		buf_text(&b, "{\"selfSize\":5}");
		for (unsigned i = 0; i < depth; i++)
			buf_text(&b, "]}");
		buf_text(&b, "}");
		CHECK_OK(buf_error(&b));
		CHECK_ERR(load(&l, heapprofile_read, buf_view(&b)),
			  depth == 10000 ? ERR_OK : ERR_TOO_DEEP);
	}
}

TEST(every_cut_and_many_changes_of_a_file_are_read_or_refused)
{
	read_prefixes(heapprofile_read, STR(small));
	read_mutations(heapprofile_read, STR(small));
}

TEST(reader_survives_any_allocation_failing)
{
	ALLOC_SWEEP(read_copy(heapprofile_read, small, sizeof(small) - 1));
}
