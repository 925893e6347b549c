#include "text_test.h"

#include "format/formats_internal.h"

/* What was read, as folded text. */
static bool reads(text_reader *read, struct str bytes, const char *expected)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

	if (load(&l, read, bytes) || store(&l, folded_write, 0, 0, &out))
		return false;
	if (str_eq(buf_view(&out), str_of(expected)))
		return true;
	printf("# %.*s\n", (int)out.n, out.data);
	return false;
}

static enum err fails(text_reader *read, struct str bytes, char text[400])
{
	CLEANUP(loaded_release) struct loaded l;
	enum err e = load(&l, read, bytes);

	memcpy(text, l.reading.fault.text, 400);
	return e;
}

TEST(groups_are_stacks_with_a_count_behind_the_last_blank)
{
	CHECK(reads(pyroscope_groups_read, STR("a;b c 3\na;b c 4\nno-count\n\na 1\nz 0\n"),
		    "a 1\na;b c 7\n"));
	CHECK(reads(pyroscope_groups_read, STR(";;a;;b; 2\r\n"), "a;b 2\n"));
	CHECK(reads(pyroscope_groups_read, STR(""), ""));
}

TEST(groups_with_a_count_that_is_none_are_refused)
{
	char text[400];

	CHECK_ERR(fails(pyroscope_groups_read, STR("a 1\na b\n"), text), ERR_CORRUPT);
	CHECK(strstr(text, "line 2"));
	CHECK_ERR(fails(pyroscope_groups_read, STR("a 1\nb -2\n"), text), ERR_CORRUPT);
	CHECK(strstr(text, "line 2") && strstr(text, "negative"));
}

TEST(counts_that_add_up_to_more_than_63_bits_are_refused)
{
	char text[400];

	CHECK_ERR(fails(pyroscope_groups_read,
			STR("a 9223372036854775807\nb 1\na 9223372036854775807\n"), text),
		  ERR_CORRUPT);
	CHECK(strstr(text, "63 bits"));
}

TEST(lines_are_one_sample_each)
{
	CHECK(reads(pyroscope_lines_read, STR("a;b\na;b\n\na 5\na;b"), "a;b 3\na 5 1\n"));
}

TEST(trees_are_nodes_in_preorder)
{
	/* root(a:2(b:3), c:1) */
	static const char tree[] = "\x00\x00\x02"
				   "\x01"
				   "a\x02\x01"
				   "\x01"
				   "b\x03\x00"
				   "\x01"
				   "c\x01\x00";

	CHECK(reads(pyroscope_tree_read, str_n(tree, sizeof(tree) - 1), "a 2\na;b 3\nc 1\n"));
	CHECK(reads(pyroscope_tree_read, STR("\x00\x00\x00"), ""));
	CHECK(reads(pyroscope_tree_read, STR(""), ""));
}

TEST(tries_are_pieces_of_text)
{
	/* ""("a;" ("b":1, "bc;d":2), "x":3) */
	static const char trie[] = "\x00\x00\x02"
				   "\x02"
				   "a;\x00\x02"
				   "\x01"
				   "b\x01\x00"
				   "\x04"
				   "bc;d\x02\x00"
				   "\x01"
				   "x\x03\x00";

	CHECK(reads(pyroscope_trie_read, str_n(trie, sizeof(trie) - 1), "a;b 1\na;bc;d 2\nx 3\n"));
	CHECK(reads(pyroscope_trie_read, STR(""), ""));
}

TEST(trees_that_are_cut_or_lie_are_refused)
{
	static const char tree[] = "\x00\x00\x02"
				   "\x01"
				   "a\x02\x01"
				   "\x01"
				   "b\x03\x00"
				   "\x01"
				   "c\x01\x00";
	char text[400];

	for (size_t n = 1; n < sizeof(tree) - 1; n++) {
		CHECK(fails(pyroscope_tree_read, str_n(tree, n), text) != ERR_OK);
		CHECK(fails(pyroscope_trie_read, str_n(tree, n), text) != ERR_OK);
		CHECK(text[0]);
	}
	CHECK_ERR(fails(pyroscope_tree_read, STR("\x00\x00\xff\xff\x7f"), text), ERR_CORRUPT);
	CHECK(strstr(text, "children"));
	CHECK_ERR(fails(pyroscope_tree_read, STR("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), text),
		  ERR_TRUNCATED);
}

TEST(nodes_deeper_than_the_limit_are_refused)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

	buf_append(&b, "\x00\x00\x01", 3);
	for (int i = 0; i < 100; i++)
		buf_append(&b, "\x01g\x00\x01", 4);
	buf_append(&b, "\x01g\x01\x00", 4);
	CHECK_OK(loaded_init(&l));
	l.reading.limits.max_depth = 64;
	CHECK_ERR(pyroscope_tree_read(buf_view(&b), &l.reading), ERR_TOO_DEEP);
}

/* Long keys with a value at every letter: the sum of their lengths is quadratic. */
TEST(tries_that_would_explode_are_refused)
{
	CLEANUP(loaded_release) struct loaded l;
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 22);

	for (int i = 0; i < 200000; i++)
		buf_append(&b, "\x02g;\x01\x01", 5);
	buf_append(&b, "\x02g;\x01\x00", 5);
	CHECK_OK(loaded_init(&l));
	l.reading.limits.max_depth = 1 << 20;
	CHECK_ERR(pyroscope_trie_read(buf_view(&b), &l.reading), ERR_TOO_LARGE);
	CHECK(strstr(l.reading.fault.text, "honest"));
}
