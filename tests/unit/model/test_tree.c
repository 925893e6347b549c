#include <inttypes.h>

#include "profile_maker.h"

static enum err build(const struct profile *p, struct tree_options options, struct tree *ret)
{
	struct tree_column column = {p, 0};

	return tree_build(&column, 1, &options, ret);
}

/* "0 name self/total, …": one line per node. */
static void print(const struct tree *t, char *out, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < t->nodes.n && at < size; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		struct str name =
			n->frame == TREE_PRUNED ? STR("*") : frame_name(t->dict, n->frame);

		at += (size_t)snprintf(out + at, size - at, "%u %.*s %" PRId64 "/%" PRId64 "\n",
				       n->parent, (int)name.n, name.n ? name.p : "", t->self[i],
				       t->total[i]);
	}
}

TEST(tree_has_children_by_name_and_parents_first)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	char text[400];

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;b;z", 1));
	CHECK_OK(maker_row(&m.p, "main;b", 2));
	CHECK_OK(maker_row(&m.p, "main;a", 4));
	CHECK_OK(maker_row(&m.p, "init", 8));
	CHECK_OK(maker_row(&m.p, "main;b;y", 16));
	CHECK_OK(maker_row(&m.p, "main;zero", 0));
	CHECK_OK(build(&m.p, (struct tree_options){0}, &t));
	print(&t, text, sizeof(text));
	CHECK_STR(str_of(text), "0  0/31\n"
				"0 init 8/8\n0 main 0/23\n"
				"2 a 4/4\n2 b 2/19\n"
				"4 y 16/16\n4 z 1/1\n");
	CHECK_INT(t.pruned_nodes, 0);
}

TEST(inverted_tree_begins_at_the_leaf)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	char text[400];

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;a;malloc", 1));
	CHECK_OK(maker_row(&m.p, "main;b;malloc", 2));
	CHECK_OK(build(&m.p, (struct tree_options){.flags = TREE_INVERTED}, &t));
	print(&t, text, sizeof(text));
	CHECK_STR(str_of(text), "0  0/3\n0 malloc 0/3\n1 a 0/1\n1 b 0/2\n2 main 1/1\n3 main 2/2\n");
}

TEST(small_children_are_summed_into_one_node_that_says_how_many)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	char text[400];

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;big", 96));
	CHECK_OK(maker_row(&m.p, "main;s1;x", 1));
	CHECK_OK(maker_row(&m.p, "main;s2", 1));
	CHECK_OK(maker_row(&m.p, "main;s1;y", 1));
	CHECK_OK(maker_row(&m.p, "main;s3", 1));
	CHECK_OK(build(&m.p, (struct tree_options){.min_share = 0.03}, &t));
	print(&t, text, sizeof(text));
	CHECK_STR(str_of(text), "0  0/100\n0 main 0/100\n1 big 96/96\n1 * 4/4\n");
	CHECK_INT(t.pruned_nodes, 1);
	CHECK_INT(t.nodes.v[3].dropped, 3);
	CHECK(t.pruned_share > 0.0399 && t.pruned_share < 0.0401);
}

TEST(what_is_large_in_one_column_stays)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(profile_release) struct profile q;
	struct tree_column columns[2];
	struct tree_options options = {.min_share = 0.1};

	CHECK_OK(made_init(&m, 1));
	profile_init(&q, &m.dict);
	CHECK_OK(profile_add_type(&q, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(maker_row(&m.p, "main;a", 1000));
	CHECK_OK(maker_row(&m.p, "main;b", 1));
	CHECK_OK(maker_row(&q, "main;b", 5));
	CHECK_OK(maker_row(&q, "main;c", -5));
	columns[0] = (struct tree_column){&m.p, 0};
	columns[1] = (struct tree_column){&q, 0};
	CHECK_OK(tree_build(columns, 2, &options, &t));
	CHECK_INT(t.nodes.n, 5);
	CHECK_STR(frame_name(&m.dict, t.nodes.v[3].frame), "b");
	CHECK(t.self[3] == 1 && t.self[5 + 3] == 5);
	CHECK(t.total[0] == 1001 && t.total[5 + 0] == 0);
	CHECK(t.total[5 + 4] == -5);
}

TEST(ceiling_on_nodes_keeps_the_largest_and_the_total)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(tree_release) struct tree again = {0};
	uint64_t random = 3;
	struct tree_options options = {.max_nodes = 200};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_random(&m.p, &random, 3000, 20, 12, 1, 50));
	CHECK_OK(maker_row(&m.p, "hot;hotter", 10000));
	CHECK_OK(build(&m.p, options, &t));
	CHECK(t.nodes.n <= 200 && t.nodes.n > 20);
	CHECK(t.pruned_nodes > 0);
	CHECK(t.total[0] == profile_total(&m.p, 0));
	CHECK_OK(build(&m.p, options, &again));
	CHECK_INT(again.nodes.n, t.nodes.n);
	CHECK(memcmp(again.nodes.v, t.nodes.v, t.nodes.n * sizeof(*t.nodes.v)) == 0);
	CHECK(memcmp(again.self, t.self, t.nodes.n * sizeof(*t.self)) == 0);
	tree_release(&again);
	options.max_nodes = 1;
	CHECK_OK(build(&m.p, options, &again));
	CHECK_INT(again.nodes.n, 2);
}

static bool same_tree(const struct tree *a, const struct tree *b)
{
	return a->nodes.n == b->nodes.n && a->pruned_share == b->pruned_share &&
	       memcmp(a->nodes.v, b->nodes.v, a->nodes.n * sizeof(*a->nodes.v)) == 0 &&
	       memcmp(a->self, b->self, a->nodes.n * sizeof(*a->self)) == 0 &&
	       memcmp(a->total, b->total, a->nodes.n * sizeof(*a->total)) == 0;
}

/* The smallest value of a node of the tree; then the largest below it in the whole tree. */
static void find_border(const struct tree *t, const struct tree *whole, int64_t *ret_kept,
			int64_t *ret_next)
{
	*ret_kept = whole->total[0];
	*ret_next = 0;
	for (size_t i = 1; i < t->nodes.n; i++)
		if (t->nodes.v[i].frame != TREE_PRUNED && t->total[i] < *ret_kept)
			*ret_kept = t->total[i];
	for (size_t i = 1; i < whole->nodes.n; i++)
		if (whole->total[i] < *ret_kept && whole->total[i] > *ret_next)
			*ret_next = whole->total[i];
}

/* A ceiling is the lowest threshold that keeps to it: with the next lower one there are more. */
TEST(ceiling_on_nodes_is_a_threshold_and_the_lowest_one)
{
	for (uint32_t round = 0; round < 40; round++) {
		MADE(m);
		CLEANUP(tree_release) struct tree whole = {0};
		CLEANUP(tree_release) struct tree t = {0};
		CLEANUP(tree_release) struct tree equal = {0};
		CLEANUP(tree_release) struct tree more = {0};
		uint64_t random = round + 1;
		struct tree_options options = {.max_nodes = 5 + round * round / 2};
		int64_t kept, next;

		CHECK_OK(made_init(&m, 1));
		CHECK_OK(maker_random(&m.p, &random, 900, 9, 14, 1, round % 2 ? 5 : 5000));
		CHECK_OK(build(&m.p, (struct tree_options){0}, &whole));
		CHECK_OK(build(&m.p, options, &t));
		CHECK(t.nodes.n <= options.max_nodes);
		find_border(&t, &whole, &kept, &next);
		options = (struct tree_options){.min_share = (double)kept / (double)whole.total[0]};
		CHECK_OK(build(&m.p, options, &equal));
		CHECK(same_tree(&t, &equal));
		options.min_share = (double)next / (double)whole.total[0];
		CHECK_OK(build(&m.p, options, &more));
		CHECK(more.nodes.n > 5 + round * round / 2);
	}
}

TEST(stacks_of_sixteen_thousand_frames_need_no_c_stack)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(tree_release) struct tree inverted = {0};
	CLEANUP(mem_free_ptr) uint32_t *frames = mem_alloc(16384 * sizeof(*frames));
	int64_t one = 1;

	CHECK_OK(made_init(&m, 1));
	for (uint32_t i = 0; i < 16384; i++)
		CHECK_OK(dict_named_frame(&m.dict, i % 2 ? STR("odd") : STR("even"), &frames[i]));
	for (uint32_t n = 16382; n <= 16384; n++) {
		struct row row = {0};

		CHECK_OK(dict_stack(&m.dict, frames, n, &row.stack));
		CHECK_OK(profile_add(&m.p, &row, &one));
	}
	CHECK_OK(build(&m.p, (struct tree_options){0}, &t));
	CHECK(t.nodes.v[t.nodes.n - 1].depth >= 16382);
	CHECK(t.total[0] == 3);
	CHECK_OK(build(&m.p, (struct tree_options){.flags = TREE_INVERTED}, &inverted));
	CHECK_INT(inverted.nodes.n, 16385);
}

TEST(empty_profile_is_a_root)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(tree_release) struct tree u = {0};
	int64_t nine = 9;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(build(&m.p, (struct tree_options){.min_share = 0.5}, &t));
	CHECK_INT(t.nodes.n, 1);
	CHECK(t.total[0] == 0);
	CHECK_OK(profile_add(&m.p, &(struct row){0}, &nine));
	CHECK_OK(build(&m.p, (struct tree_options){.min_share = 0.5}, &u));
	CHECK_INT(u.nodes.n, 1);
	CHECK(u.self[0] == 9);
}

TEST(lines_make_boxes_of_their_own_when_asked)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(tree_release) struct tree lines = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;f@a.c:1", 1));
	CHECK_OK(maker_row(&m.p, "main;f@a.c:2", 2));
	CHECK_OK(build(&m.p, (struct tree_options){0}, &t));
	CHECK_INT(t.nodes.n, 3);
	CHECK_OK(build(&m.p, (struct tree_options){.flags = TREE_LINES}, &lines));
	CHECK_INT(lines.nodes.n, 4);
}

static enum err small_tree(struct profile *p)
{
	CLEANUP(tree_release) struct tree t = {0};

	return build(p, (struct tree_options){.min_share = 0.2, .max_nodes = 6}, &t);
}

TEST(tree_survives_any_allocation_failing)
{
	MADE(m);
	uint64_t random = 1;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_random(&m.p, &random, 20, 3, 4, 1, 9));
	ALLOC_SWEEP(small_tree(&m.p));
}
