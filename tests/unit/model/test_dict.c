#include "../test.h"

#include "model/model.h"

TEST(equal_stacks_get_one_id_and_ids_come_in_order)
{
	CLEANUP(dict_release) struct dict d;
	uint32_t a, b, s1, s2, s3;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_named_frame(&d, STR("main"), &a));
	CHECK_OK(dict_named_frame(&d, STR("work"), &b));
	CHECK_OK(dict_stack(&d, (uint32_t[]){b, a}, 2, &s1));
	CHECK_OK(dict_stack(&d, (uint32_t[]){a, b}, 2, &s2));
	CHECK_OK(dict_stack(&d, (uint32_t[]){b, a}, 2, &s3));
	CHECK_INT(s1, 1);
	CHECK_INT(s2, 2);
	CHECK_INT(s3, s1);
}

TEST(stack_hashes_agree_between_dictionaries)
{
	CLEANUP(dict_release) struct dict d;
	CLEANUP(dict_release) struct dict e;
	uint32_t a, b, x, s1, s2;

	CHECK_OK(dict_init(&d, 7));
	CHECK_OK(dict_init(&e, 7));
	CHECK_OK(dict_named_frame(&e, STR("other"), &x));
	CHECK_OK(dict_named_frame(&d, STR("main"), &a));
	CHECK_OK(dict_named_frame(&d, STR("work"), &b));
	CHECK_OK(dict_stack(&d, (uint32_t[]){b, a}, 2, &s1));
	CHECK_OK(dict_named_frame(&e, STR("work"), &b));
	CHECK_OK(dict_named_frame(&e, STR("main"), &a));
	CHECK_OK(dict_stack(&e, (uint32_t[]){b, a}, 2, &s2));
	CHECK(stack_hash(&d, s1) == stack_hash(&e, s2));
}

static enum err build_small(void)
{
	CLEANUP(dict_release) struct dict d = {0};
	uint32_t a, s, l;

	TRY(dict_init(&d, 1));
	TRY(dict_named_frame(&d, STR("main"), &a));
	TRY(dict_stack(&d, &a, 1, &s));
	TRY(dict_label_text(&d, STR("k"), STR("v"), &l));
	return dict_label_set(&d, &l, 1, &s);
}

TEST(dictionary_survives_any_allocation_failing)
{
	ALLOC_SWEEP(build_small());
}

TEST(a_full_table_refuses_new_entries_and_still_finds_old_ones)
{
	CLEANUP(dict_release) struct dict d;
	uint32_t first, id, stack;
	char name[16];
	enum err e = ERR_OK;

	CHECK_OK(dict_init(&d, 1));
	d.max_ids = 100;
	CHECK_OK(dict_named_frame(&d, STR("first"), &first));
	for (unsigned i = 0; i < 200 && !e; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		e = dict_named_frame(&d, str_of(name), &id);
	}
	CHECK_ERR(e, ERR_TABLE_FULL);
	CHECK(d.strings.n <= 100);
	CHECK_OK(dict_named_frame(&d, STR("first"), &id));
	CHECK_INT(id, first);
	/* The pool of a sequence table is a table too. */
	e = ERR_OK;
	for (unsigned i = 1; i < 100 && !e; i++) {
		uint32_t frames[60];

		for (unsigned k = 0; k < 60; k++)
			frames[k] = 1 + (i + k) % 60;
		e = dict_stack(&d, frames, 60, &stack);
	}
	CHECK_ERR(e, ERR_TABLE_FULL);
	CHECK_INT(d.stacks.entries.n, 2);
}
