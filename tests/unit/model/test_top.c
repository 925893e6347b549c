#include "profile_maker.h"

#include "base/hash.h"

static enum err build(const struct profile *p, unsigned flags, struct top *ret)
{
	struct tree_column column = {p, 0};

	return top_build(&column, 1, flags, ret);
}

static const struct top_row *find(const struct top *t, const struct dict *d, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (str_eq(frame_name(d, t->rows[i].frame), str_of(name)))
			return &t->rows[i];
	return NULL;
}

TEST(recursion_counts_once_in_cum)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;fib;fib;fib", 5));
	CHECK_OK(maker_row(&m.p, "main;fib;other;fib", 2));
	CHECK_OK(build(&m.p, 0, &t));
	CHECK_INT(t.n, 3);
	CHECK_INT(t.totals[0], 7);
	CHECK_INT(find(&t, &m.dict, "fib")->flat[0], 7);
	CHECK_INT(find(&t, &m.dict, "fib")->cum[0], 7);
	CHECK_INT(find(&t, &m.dict, "other")->cum[0], 2);
	CHECK_INT(find(&t, &m.dict, "main")->flat[0], 0);
}

TEST(functions_of_one_name_are_one_row_and_lines_are_told_apart)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};
	CLEANUP(top_release) struct top lines = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;f@a.c:1", 1));
	CHECK_OK(maker_row(&m.p, "main;f@a.c:2", 2));
	CHECK_OK(maker_row(&m.p, "main;f@b.c:2", 4));
	CHECK_OK(maker_row(&m.p, "main;f@a.c:2;f@a.c:1", 8));
	CHECK_OK(build(&m.p, 0, &t));
	CHECK_INT(t.n, 2);
	CHECK_INT(find(&t, &m.dict, "f")->cum[0], 15);
	CHECK_OK(build(&m.p, TOP_LINES, &lines));
	top_sort(&lines, &m.dict, 0, TOP_BY_FLAT);
	CHECK_INT(lines.n, 4);
	CHECK_INT(lines.rows[0].flat[0], 9);
	CHECK_INT(m.dict.frames.v[lines.rows[0].frame].line, 1);
	CHECK_INT(lines.rows[1].flat[0], 4);
	CHECK_STR(frame_file(&m.dict, lines.rows[1].frame), "b.c");
	CHECK_INT(lines.rows[2].cum[0], 10);
}

TEST(a_row_stands_for_a_frame_that_has_a_value)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;f@unused.c:1", 0));
	CHECK_OK(maker_row(&m.p, "main;f@used.c:2", 4));
	CHECK_OK(build(&m.p, 0, &t));
	CHECK_STR(frame_file(&m.dict, find(&t, &m.dict, "f")->frame), "used.c");
}

TEST(unsymbolised_frames_are_rows_of_module_and_offset)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};
	struct mapping here = {.start = 0x1000, .limit = 0x2000}, there = {.start = 0x9000};
	struct frame f = {.address = 0x1010};
	uint32_t frames[3], stack;
	int64_t one = 1;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(dict_text(&m.dict, "/lib/x.so", &here.file));
	there.file = here.file;
	CHECK_OK(dict_mapping(&m.dict, &here, &f.mapping));
	CHECK_OK(dict_frame(&m.dict, &f, &frames[0]));
	f.address = 0x1020;
	CHECK_OK(dict_frame(&m.dict, &f, &frames[1]));
	CHECK_OK(dict_mapping(&m.dict, &there, &f.mapping));
	f.address = 0x9010;
	CHECK_OK(dict_frame(&m.dict, &f, &frames[2]));
	CHECK_OK(dict_stack(&m.dict, frames, 3, &stack));
	CHECK_OK(profile_add(&m.p, &(struct row){.stack = stack}, &one));
	CHECK_OK(build(&m.p, 0, &t));
	CHECK_INT(t.n, 2);
}

TEST(rows_are_ordered_as_pprof_orders_them)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};
	static const char *const flat_order[] = {"d", "a", "c", "b", "main"};
	static const char *const cum_order[] = {"a", "d", "c", "b", "main"};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "a;c", 3));
	CHECK_OK(maker_row(&m.p, "main;a", 3));
	CHECK_OK(maker_row(&m.p, "main;d", -5));
	CHECK_OK(maker_row(&m.p, "a;b", 2));
	CHECK_OK(maker_row(&m.p, "main;a;nothing", 0));
	CHECK_OK(maker_row(&m.p, "main;a", -8));
	CHECK_OK(maker_row(&m.p, "main;a", 8));
	CHECK_OK(build(&m.p, 0, &t));
	CHECK_INT(t.n, 5);
	top_sort(&t, &m.dict, 0, TOP_BY_FLAT);
	for (size_t i = 0; i < t.n; i++)
		CHECK_STR(frame_name(&m.dict, t.rows[i].frame), flat_order[i]);
	top_sort(&t, &m.dict, 0, TOP_BY_CUM);
	CHECK_INT(find(&t, &m.dict, "main")->cum[0], -2);
	for (size_t i = 0; i < t.n; i++)
		CHECK_STR(frame_name(&m.dict, t.rows[i].frame), cum_order[i]);
}

TEST(the_largest_rows_of_one_of_some_columns_are_kept)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "a", 5));
	CHECK_OK(maker_row(&m.p, "b", 1));
	CHECK_OK(maker_row(&m.p, "c", 9));
	CHECK_OK(maker_row(&m.p, "d", 1));
	struct tree_column columns[] = {{&m.p, 0}, {&m.p, 0}};

	CHECK_OK(top_build(columns, 2, 0, &t));
	/* What is gone is as large as what came. */
	find(&t, &m.dict, "b")->cum[0] = 7;
	top_keep(&t, 0, 2, 9);
	CHECK_INT(t.n, 4);
	top_keep(&t, 0, 2, 3);
	CHECK_INT(t.n, 3);
	CHECK(find(&t, &m.dict, "a") && find(&t, &m.dict, "b") && find(&t, &m.dict, "c"));
	top_keep(&t, 1, 1, 1);
	CHECK_INT(t.n, 1);
	CHECK_INT(t.rows[0].cum[1], 9);
}

TEST(rows_without_value_are_no_rows)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;x", 0));
	CHECK_OK(build(&m.p, 0, &t));
	CHECK_INT(t.n, 0);
	top_sort(&t, &m.dict, 0, TOP_BY_FLAT);
}

TEST(empty_profile_and_empty_stack_are_fine)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};
	CLEANUP(top_release) struct top u = {0};
	int64_t nine = 9;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(build(&m.p, 0, &t));
	CHECK_INT(t.n, 0);
	CHECK_INT(t.totals[0], 0);
	CHECK_OK(profile_add(&m.p, &(struct row){0}, &nine));
	CHECK_OK(build(&m.p, 0, &u));
	CHECK_INT(u.n, 0);
	CHECK_INT(u.totals[0], 9);
}

TEST(sums_stay_at_the_ends_of_int64)
{
	MADE(m);
	CLEANUP(top_release) struct top t = {0};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;a", INT64_MAX));
	CHECK_OK(maker_row(&m.p, "main;a", INT64_MAX));
	CHECK_OK(maker_row(&m.p, "main;b", INT64_MIN));
	CHECK_OK(maker_row(&m.p, "other;b", INT64_MIN));
	CHECK_OK(build(&m.p, 0, &t));
	top_sort(&t, &m.dict, 0, TOP_BY_CUM);
	CHECK(find(&t, &m.dict, "a")->cum[0] == INT64_MAX);
	CHECK(find(&t, &m.dict, "b")->flat[0] == INT64_MIN);
	CHECK_STR(frame_name(&m.dict, t.rows[0].frame), "b");
}

TEST(columns_of_two_profiles_stand_in_one_table)
{
	MADE(m);
	CLEANUP(profile_release) struct profile q;
	CLEANUP(top_release) struct top t = {0};
	struct tree_column columns[3];

	CHECK_OK(made_init(&m, 1));
	profile_init(&q, &m.dict);
	CHECK_OK(profile_add_type(&q, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(profile_add_type(&q, STR("wall"), STR("nanoseconds")));
	CHECK_OK(maker_row(&m.p, "main;a;a", 1));
	CHECK_OK(maker_add(&q, "main;b", "", (int64_t[]){10, 20}));
	columns[0] = (struct tree_column){&m.p, 0};
	columns[1] = (struct tree_column){&q, 0};
	columns[2] = (struct tree_column){&q, 1};
	CHECK_OK(top_build(columns, 3, 0, &t));
	CHECK_INT(t.n, 3);
	CHECK_INT(find(&t, &m.dict, "main")->cum[0], 1);
	CHECK_INT(find(&t, &m.dict, "main")->cum[1], 10);
	CHECK_INT(find(&t, &m.dict, "main")->cum[2], 20);
	CHECK_INT(find(&t, &m.dict, "b")->flat[2], 20);
	CHECK_INT(find(&t, &m.dict, "b")->flat[0], 0);
	columns[2].type = 2;
	CHECK_ERR(top_build(columns, 3, 0, &t), ERR_BAD_ARGUMENT);
	CHECK_ERR(top_build(columns, 0, 0, &t), ERR_BAD_ARGUMENT);
}

TEST(lines_with_a_constant_of_the_hash_do_not_collide)
{
	MADE(m);
	CLEANUP(frame_keys_release) struct frame_keys keys = {0};

	CHECK_OK(made_init(&m, 12345));
	for (uint32_t i = 0; i < 100000; i++) {
		struct function f = {0};
		struct frame frame = {.line = (int64_t)HASH_K2};
		char name[24];
		uint32_t id;

		snprintf(name, sizeof(name), "f%u", i);
		CHECK_OK(dict_text(&m.dict, name, &f.name));
		CHECK_OK(dict_function(&m.dict, &f, &frame.function));
		CHECK_OK(dict_frame(&m.dict, &frame, &id));
	}
	CHECK_OK(frame_keys_build(&m.dict, true, &keys));
	CHECK_INT(keys.representative.n, 100001);
}

TEST(columns_of_two_dictionaries_are_refused)
{
	MADE(m);
	MADE(n);
	struct top t;
	struct tree_column columns[2] = {{&m.p, 0}, {&n.p, 0}};

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(made_init(&n, 1));
	CHECK_ERR(top_build(columns, 2, 0, &t), ERR_BAD_ARGUMENT);
}

static enum err small_table(struct profile *p, unsigned flags)
{
	CLEANUP(top_release) struct top t = {0};

	TRY(build(p, flags, &t));
	top_sort(&t, p->dict, 0, TOP_BY_FLAT);
	return ERR_OK;
}

TEST(table_survives_any_allocation_failing)
{
	MADE(m);

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;a@x.c:3;b", 1));
	CHECK_OK(maker_row(&m.p, "main;c;0x10", 1));
	ALLOC_SWEEP(small_table(&m.p, 0));
	ALLOC_SWEEP(small_table(&m.p, TOP_LINES));
}
