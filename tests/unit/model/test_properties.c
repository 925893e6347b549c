/*
 * Laws that hold for any profile, tried on random ones from fixed seeds.
 */
#include "profile_maker.h"

#define ROUNDS 60

static enum err random_profile(struct made *m, uint64_t round, bool negative)
{
	uint64_t random = round * 7919 + 1;

	TRY(made_init(m, round));
	TRY(profile_add_type(&m->p, STR("cpu"), STR("nanoseconds")));
	return maker_random(&m->p, &random, 5 + (uint32_t)round * 7, 2 + round % 17, round % 9,
			    negative ? -20 : 0, 1000000);
}

static enum err table_of(const struct profile *p, uint32_t type, struct top *ret)
{
	struct tree_column column = {p, type};

	return top_build(&column, 1, 0, ret);
}

/* The slow and obvious way: every row, every frame, a set per row. */
static void naive(const struct profile *p, uint32_t type, uint32_t frame, int64_t *flat,
		  int64_t *cum)
{
	*flat = *cum = 0;
	for (size_t i = 0; i < p->row_count; i++) {
		int64_t value = profile_values(p, i)[type];
		struct str name = frame_name(p->dict, frame);
		uint32_t n;
		const uint32_t *frames = stack_frames(p->dict, p->stack[i], &n);

		if (n && str_eq(frame_name(p->dict, frames[0]), name))
			*flat += value;
		for (uint32_t j = 0; j < n; j++) {
			if (str_eq(frame_name(p->dict, frames[j]), name)) {
				*cum += value;
				break;
			}
		}
	}
}

TEST(table_equals_the_obvious_way_to_compute_it)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		MADE(m);
		CLEANUP(top_release) struct top t = {0};

		CHECK_OK(random_profile(&m, round, round % 2));
		CHECK_OK(table_of(&m.p, 1, &t));
		for (size_t i = 0; i < t.n; i++) {
			int64_t flat, cum;

			naive(&m.p, 1, t.rows[i].frame, &flat, &cum);
			CHECK_INT(t.rows[i].flat[0], flat);
			CHECK_INT(t.rows[i].cum[0], cum);
		}
	}
}

TEST(flats_sum_to_the_total_and_cum_is_never_less_than_flat)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		MADE(m);
		CLEANUP(top_release) struct top t = {0};
		int64_t sum = 0, without_stack = 0;

		CHECK_OK(random_profile(&m, round, false));
		CHECK_OK(table_of(&m.p, 0, &t));
		for (size_t i = 0; i < t.n; i++) {
			sum += t.rows[i].flat[0];
			CHECK(t.rows[i].cum[0] >= t.rows[i].flat[0]);
			CHECK(t.rows[i].cum[0] <= t.totals[0]);
		}
		for (size_t i = 0; i < m.p.row_count; i++)
			without_stack += m.p.stack[i] ? 0 : profile_values(&m.p, i)[0];
		CHECK_INT(sum + without_stack, t.totals[0]);
		CHECK_INT(t.totals[0], profile_total(&m.p, 0));
	}
}

/* A frame counts where no ancestor has its name: then the tree says what the table says. */
static int64_t tree_cum(const struct tree *t, const struct dict *d, uint32_t frame, bool own)
{
	struct str name = frame_name(d, frame);
	int64_t sum = 0;

	for (size_t i = 1; i < t->nodes.n; i++) {
		uint32_t parent = t->nodes.v[i].parent;

		if (!str_eq(frame_name(d, t->nodes.v[i].frame), name))
			continue;
		if (own) {
			sum += t->self[i];
			continue;
		}
		while (parent && !str_eq(frame_name(d, t->nodes.v[parent].frame), name))
			parent = t->nodes.v[parent].parent;
		if (!parent)
			sum += t->total[i];
	}
	return sum;
}

TEST(tree_and_table_agree)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		MADE(m);
		CLEANUP(top_release) struct top t = {0};
		CLEANUP(tree_release) struct tree tree = {0};
		struct tree_column column = {&m.p, 0};
		struct tree_options options = {0};

		CHECK_OK(random_profile(&m, round, round % 2));
		CHECK_OK(table_of(&m.p, 0, &t));
		CHECK_OK(tree_build(&column, 1, &options, &tree));
		CHECK(tree.total[0] == t.totals[0]);
		for (size_t i = 0; i < t.n; i++) {
			uint32_t frame = t.rows[i].frame;

			CHECK(tree_cum(&tree, &m.dict, frame, false) == t.rows[i].cum[0]);
			CHECK(tree_cum(&tree, &m.dict, frame, true) == t.rows[i].flat[0]);
		}
		for (size_t i = 1; i < tree.nodes.n; i++)
			CHECK(tree.nodes.v[i].parent < i);
	}
}

TEST(pruning_moves_values_but_loses_none)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		MADE(m);
		CLEANUP(tree_release) struct tree tree = {0};
		struct tree_column column = {&m.p, 0};
		struct tree_options options = {.min_share = (double)(round % 10) / 50,
					       .max_nodes = (uint32_t)(round % 7) * 10,
					       .flags = round % 2 ? TREE_INVERTED : 0};
		int64_t kept = 0, pruned = 0;

		CHECK_OK(random_profile(&m, round, false));
		CHECK_OK(tree_build(&column, 1, &options, &tree));
		CHECK(tree.total[0] == profile_total(&m.p, 0));
		for (size_t i = 0; i < tree.nodes.n; i++) {
			bool is_pruned = i && tree.nodes.v[i].frame == TREE_PRUNED;

			kept += tree.self[i];
			pruned += is_pruned ? tree.total[i] : 0;
			CHECK(!is_pruned || tree.nodes.v[i].dropped > 0);
		}
		CHECK(kept == tree.total[0]);
		CHECK(tree.total[0] == 0 ||
		      (double)pruned / (double)tree.total[0] - tree.pruned_share < 1e-9);
		CHECK(!options.max_nodes || tree.nodes.n <= options.max_nodes);
	}
}

static enum err focus_sum(const struct profile *p, const struct pattern *pattern, bool ignore,
			  int64_t *ret)
{
	CLEANUP(profile_release) struct profile out = {0};
	struct filter f = {0};

	if (ignore)
		f.ignore = pattern;
	else
		f.focus = pattern;
	TRY(profile_filter(p, &f, &out, NULL, NULL));
	*ret = profile_total(&out, 0);
	return ERR_OK;
}

TEST(focus_and_ignore_of_one_pattern_share_the_total)
{
	struct pattern *pattern = NULL;

	CHECK_OK(pattern_new(STR("f[13]"), 0, &pattern, NULL));
	for (uint64_t round = 0; round < ROUNDS; round++) {
		MADE(m);
		int64_t with = 0, without = 0, bare = 0;

		CHECK_OK(random_profile(&m, round, true));
		CHECK_OK(focus_sum(&m.p, pattern, false, &with));
		CHECK_OK(focus_sum(&m.p, pattern, true, &without));
		for (size_t i = 0; i < m.p.row_count; i++)
			bare += m.p.stack[i] ? 0 : profile_values(&m.p, i)[0];
		CHECK_INT(with + without + bare, profile_total(&m.p, 0));
	}
	pattern_free(pattern);
}

TEST(aggregating_and_merging_change_no_table)
{
	for (uint64_t round = 1; round < ROUNDS; round++) {
		MADE(m);
		MADE(n);
		CLEANUP(profile_release) struct profile joined = {0};
		CLEANUP(top_release) struct top t = {0}, u = {0}, v = {0};
		struct merge merge;

		CHECK_OK(random_profile(&m, round, true));
		CHECK_OK(profile_aggregate(&m.p, AGGREGATE_IGNORE_LABELS, &joined));
		CHECK_OK(dict_init(&n.dict, round % 2 ? round : 1000));
		profile_init(&n.p, &n.dict);
		merge_begin(&merge, &n.p);
		CHECK_OK(merge_add(&merge, &m.p));
		CHECK_OK(merge_finish(&merge));
		CHECK_OK(table_of(&m.p, 0, &t));
		CHECK_OK(table_of(&joined, 0, &u));
		CHECK_OK(table_of(&n.p, 0, &v));
		top_sort(&t, &m.dict, 0, TOP_BY_CUM);
		top_sort(&u, &m.dict, 0, TOP_BY_CUM);
		top_sort(&v, &n.dict, 0, TOP_BY_CUM);
		CHECK_INT(u.n, t.n);
		CHECK_INT(v.n, t.n);
		for (size_t i = 0; i < t.n; i++) {
			CHECK_INT(u.rows[i].cum[0], t.rows[i].cum[0]);
			CHECK_INT(v.rows[i].cum[0], t.rows[i].cum[0]);
			CHECK_INT(v.rows[i].flat[0], t.rows[i].flat[0]);
		}
	}
}

TEST(a_profile_less_itself_is_empty)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		MADE(m);
		CLEANUP(profile_release) struct profile same = {0};

		CHECK_OK(random_profile(&m, round, true));
		CHECK_OK(profile_aggregate(&m.p, 0, &same));
		CHECK_OK(profile_subtract(&same, &m.p));
		CHECK_INT(same.row_count, 0);
	}
}
