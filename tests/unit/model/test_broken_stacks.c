#include <math.h>

#include "profile_maker.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

TEST(a_mark_at_either_end_makes_a_stack_broken)
{
	MADE(m);
	double share = -1;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;work", 60));
	CHECK_OK(maker_row(&m.p, "[truncated];work", 10));
	CHECK_OK(maker_row(&m.p, "[unwind_failed];work", 20));
	CHECK_OK(maker_row(&m.p, "main;[unknown_Java]", 5));
	/* In the middle it is what somebody called a function. */
	CHECK_OK(maker_row(&m.p, "main;truncated;work", 5));
	CHECK_OK(profile_broken_share(&m.p, 0, &share));
	CHECK(near(share, 0.35));
}

TEST(a_frame_of_the_kind_is_a_mark_whatever_its_name)
{
	MADE(m);
	struct function function = {0};
	struct frame frame = {0};
	struct row row = {0};
	int64_t value = 1;
	double share = -1;
	uint32_t id;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(dict_text(&m.dict, "gave up", &function.name));
	CHECK_OK(dict_function(&m.dict, &function, &frame.function));
	CHECK_OK(dict_text(&m.dict, STACK_MARK_KIND, &frame.kind));
	CHECK_OK(dict_frame(&m.dict, &frame, &id));
	CHECK_OK(dict_stack(&m.dict, &id, 1, &row.stack));
	CHECK_OK(profile_add(&m.p, &row, &value));
	CHECK_OK(maker_row(&m.p, "gave up", 3));
	CHECK_OK(profile_broken_share(&m.p, 0, &share));
	CHECK(near(share, 0.25));
}

TEST(each_type_has_a_share_of_its_own)
{
	MADE(m);
	double share = -1;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(profile_add_type(&m.p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(maker_add(&m.p, "main", "", (int64_t[]){1, 10}));
	CHECK_OK(maker_add(&m.p, "[truncated];a", "", (int64_t[]){1, 30}));
	CHECK_OK(profile_broken_share(&m.p, 0, &share));
	CHECK(near(share, 0.5));
	CHECK_OK(profile_broken_share(&m.p, 1, &share));
	CHECK(near(share, 0.75));
}

TEST(without_samples_nothing_is_broken)
{
	MADE(m);
	double share = -1;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(profile_broken_share(&m.p, 0, &share));
	CHECK(near(share, 0));
	CHECK_OK(maker_row(&m.p, "[truncated]", 0));
	CHECK_OK(profile_broken_share(&m.p, 0, &share));
	CHECK(near(share, 0));
}
