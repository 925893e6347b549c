#include "profile_maker.h"

TEST(columns_few_files_use_are_made_when_a_row_needs_them)
{
	MADE(m);
	int64_t one = 1;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(profile_add(&m.p, &(struct row){0}, &one));
	CHECK(m.p.link == NULL && m.p.time == NULL);
	CHECK_OK(profile_add(&m.p, &(struct row){.link = 3}, &one));
	CHECK_OK(profile_add(&m.p, &(struct row){.time = 7}, &one));
	for (int i = 0; i < 500; i++)
		CHECK_OK(profile_add(&m.p, &(struct row){.stack = 0}, &one));
	CHECK_INT(profile_row(&m.p, 0).link, 0);
	CHECK_INT(profile_row(&m.p, 1).link, 3);
	CHECK_INT(profile_row(&m.p, 1).time, 0);
	CHECK_INT(profile_row(&m.p, 2).time, 7);
	CHECK_INT(profile_row(&m.p, 400).link, 0);
	CHECK_INT(profile_total(&m.p, 0), 503);
}

TEST(types_are_found_by_their_own_and_by_short_names)
{
	MADE(m);

	CHECK_OK(dict_init(&m.dict, 1));
	profile_init(&m.p, &m.dict);
	CHECK_INT(profile_default_type(&m.p), -1);
	CHECK_INT(profile_find_type(&m.p, STR("")), -1);
	CHECK_OK(profile_add_type(&m.p, STR("alloc_space"), STR("bytes")));
	CHECK_OK(profile_add_type(&m.p, STR("inuse_space"), STR("bytes")));
	CHECK_INT(profile_find_type(&m.p, STR("")), 1);
	CHECK_INT(profile_find_type(&m.p, STR("alloc_space")), 0);
	CHECK_INT(profile_find_type(&m.p, STR("heap")), 1);
	CHECK_INT(profile_find_type(&m.p, STR("memory:alloc_space:bytes:space:bytes")), 0);
	CHECK_INT(profile_find_type(&m.p, STR("cpu")), -1);
	m.p.default_type = 0;
	CHECK_INT(profile_find_type(&m.p, (struct str){0}), 0);
	m.p.default_type = 7;
	CHECK_INT(profile_default_type(&m.p), 1);
}

TEST(more_types_than_a_profile_holds_are_refused)
{
	MADE(m);

	CHECK_OK(dict_init(&m.dict, 1));
	profile_init(&m.p, &m.dict);
	for (int i = 0; i < PROFILE_MAX_TYPES; i++)
		CHECK_OK(profile_add_type(&m.p, STR("t"), STR("count")));
	CHECK_ERR(profile_add_type(&m.p, STR("t"), STR("count")), ERR_TOO_LARGE);
	CHECK_INT(m.p.type_count, PROFILE_MAX_TYPES);
}

TEST(total_stays_at_the_ends_of_int64)
{
	MADE(m);

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "a", INT64_MAX));
	CHECK_OK(maker_row(&m.p, "a", 1));
	CHECK(profile_total(&m.p, 0) == INT64_MAX);
	m.p.values[0] = INT64_MIN;
	m.p.values[1] = -1;
	CHECK(profile_total(&m.p, 0) == INT64_MIN);
}

TEST(room_for_more_rows_than_ids_is_refused)
{
	MADE(m);

	CHECK_OK(made_init(&m, 1));
	CHECK_ERR(profile_reserve(&m.p, (size_t)UINT32_MAX + 1), ERR_TABLE_FULL);
	CHECK_ERR(profile_reserve(&m.p, SIZE_MAX), ERR_TABLE_FULL);
}

TEST(a_released_profile_can_be_used_again)
{
	MADE(m);

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "a", 1));
	profile_release(&m.p);
	CHECK_INT(m.p.row_count, 0);
	CHECK_INT(m.p.type_count, 0);
	CHECK_OK(profile_add_type(&m.p, STR("cpu"), STR("ns")));
	CHECK_OK(maker_row(&m.p, "a", 2));
	CHECK_INT(profile_total(&m.p, 0), 2);
}

TEST(a_list_owns_its_profiles)
{
	CLEANUP(dict_release) struct dict d;
	CLEANUP(profile_list_release) struct profile_list list = {0};
	struct profile *first, *p;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(profile_list_add(&list, &d, &first));
	for (int i = 0; i < 20; i++) {
		CHECK_OK(profile_list_add(&list, &d, &p));
		CHECK_OK(profile_add_type(p, STR("samples"), STR("count")));
		CHECK_OK(maker_row(p, "a", i));
	}
	CHECK(list.v[0] == first);
	CHECK_INT(list.n, 21);
	CHECK_INT(profile_total(list.v[20], 0), 19);
}

static enum err fill_list(void)
{
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_list_release) struct profile_list list = {0};
	struct profile *p;
	struct row row = {.time = 1, .link = 1};
	int64_t one = 1;

	TRY(dict_init(&d, 1));
	TRY(profile_list_add(&list, &d, &p));
	TRY(profile_add_type(p, STR("samples"), STR("count")));
	for (int i = 0; i < 200; i++)
		TRY(profile_add(p, &row, &one));
	return profile_reserve(p, 1000);
}

TEST(profiles_survive_any_allocation_failing)
{
	ALLOC_SWEEP(fill_list());
}

static enum err add_after_failure(bool *ret_whole)
{
	MADE(m);
	int64_t values[1] = {1};
	struct row row = {0};

	*ret_whole = true;
	TRY(made_init(&m, 1));
	for (int i = 0; i < 65; i++) {
		size_t before = m.p.row_count;
		enum err e = profile_add(&m.p, &row, values);

		*ret_whole = *ret_whole && m.p.row_count == before + (e == ERR_OK);
		row.time = row.link = (uint32_t)i;
	}
	*ret_whole = *ret_whole && profile_total(&m.p, 0) == (int64_t)m.p.row_count;
	return ERR_OK;
}

TEST(a_row_that_failed_leaves_the_others_whole)
{
	for (long n = 0; n < 60; n++) {
		bool whole;
		enum err e;

		alloc_fail_at(n, false);
		e = add_after_failure(&whole);
		alloc_fail_off();
		CHECK(e == ERR_OK || e == ERR_NO_MEMORY);
		CHECK(whole);
	}
}
