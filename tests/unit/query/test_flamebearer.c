#include "../model/profile_maker.h"

#include "query/query.h"

/* "names | level | level": every number of every box. */
static void print(const struct flamebearer *f, char *out, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < f->name_count; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%.*s", i ? "," : "",
				       (int)f->names[i].n, f->names[i].p);
	for (size_t level = 0; level < f->levels; level++) {
		at += (size_t)snprintf(out + at, size - at, " |");
		for (size_t i = f->begin[level]; i < f->begin[level + 1]; i++)
			at += (size_t)snprintf(out + at, size - at, " %d", (int)f->values[i]);
	}
}

static enum err make(struct made *m)
{
	TRY(made_init(m, 1));
	TRY(profile_add_type(&m->p, STR("cpu"), STR("nanoseconds")));
	TRY(maker_add(&m->p, "main;b;z", "", (int64_t[]){1, 0}));
	TRY(maker_add(&m->p, "main;b", "", (int64_t[]){2, 5}));
	TRY(maker_add(&m->p, "main;a", "", (int64_t[]){4, 0}));
	return maker_add(&m->p, "init", "", (int64_t[]){8, 1});
}

static enum err build_both(struct made *m, uint32_t columns, struct tree *tree,
			   struct flamebearer *ret)
{
	struct tree_column of[2] = {{&m->p, 0}, {&m->p, 1}};

	TRY(tree_build(of, columns, &(struct tree_options){0}, tree));
	return flamebearer_build(tree, ret);
}

TEST(levels_hold_boxes_from_left_to_right)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(flamebearer_release) struct flamebearer f = {0};
	char text[400];

	CHECK_OK(make(&m));
	CHECK_OK(build_both(&m, 1, &t, &f));
	print(&f, text, sizeof(text));
	CHECK_STR(str_of(text), "total,init,main,a,b,z | 0 15 0 0 | 0 8 8 1 0 7 0 2 |"
				" 8 4 4 3 0 3 2 4 | 14 1 1 5");
	CHECK_INT(f.total, 15);
	CHECK_INT(f.max_self, 8);
}

TEST(a_double_graph_has_both_sides)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(flamebearer_release) struct flamebearer f = {0};
	char text[400];

	CHECK_OK(make(&m));
	CHECK_OK(build_both(&m, 2, &t, &f));
	print(&f, text, sizeof(text));
	CHECK_STR(str_of(text),
		  "total,init,main,a,b,z | 0 15 0 0 6 0 0 | 0 8 8 0 1 1 1 0 7 0 0 5 0 2 |"
		  " 8 4 4 1 0 0 3 0 3 2 0 5 5 4 | 14 1 1 6 0 0 5");
	CHECK_INT(f.left_total, 15);
	CHECK_INT(f.right_total, 6);
}

TEST(tree_bytes_are_preorder_with_a_nameless_root)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

	CHECK_OK(make(&m));
	CHECK_OK(tree_build(&(struct tree_column){&m.p, 0}, 1, &(struct tree_options){0}, &t));
	CHECK_OK(flame_tree_bytes(&t, &out));
	CHECK(str_eq(buf_view(&out), STR("\0\0\2\4init\10\0\4main\0\2\1a\4\0\1b\2\1\1z\1\0")));
}

static enum err build_and_drop(void)
{
	MADE(m);
	CLEANUP(tree_release) struct tree t = {0};
	CLEANUP(flamebearer_release) struct flamebearer f = {0};
	CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

	TRY(make(&m));
	TRY(build_both(&m, 2, &t, &f));
	return flame_tree_bytes(&t, &out);
}

TEST(every_allocation_may_fail)
{
	ALLOC_SWEEP(build_and_drop());
}
