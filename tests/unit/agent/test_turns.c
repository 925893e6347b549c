#include "agent/turns.h"

#include "test.h"

static struct process process;
static const struct sample_frame frames[] = {{0x100, 3, 0}, {0x200, 3, 0}, {0x300, 4, 0}};

static struct sample at(u32 first)
{
	return (struct sample){
		.process = &process, .thread = "loop", .frames = frames + first, .frame_count = 2};
}

static double value_of(const struct collector *c, u64 leaf)
{
	double sum = 0;

	vec_for_each (one, &c->list)
		if (collected_frames(c, one)->address == leaf)
			sum += one->value;
	return sum;
}

TEST(a_turn_is_divided_among_what_was_seen_in_it)
{
	struct collector c = {0};
	struct turns t = {0};
	struct sample a = at(0), b = at(1);
	bool seen = false;

	process.references = 0;
	CHECK_OK(turns_add(&t, 7, 1000, 1100, &a, 10));
	CHECK_OK(turns_add(&t, 7, 1000, 1200, &b, 30));
	/* Another thread, and another turn of this one. */
	CHECK_OK(turns_add(&t, 8, 1000, 1250, &b, 99));
	CHECK_OK(turns_add(&t, 7, 1300, 1350, &b, 99));
	CHECK_INT(process.references, 4);
	CHECK_OK(turns_share(&t, &c, 7, 1000, 80, 3, &seen));
	CHECK(seen && c.list.n == 2);
	CHECK(value_of(&c, 0x100) == 20 && value_of(&c, 0x200) == 60);
	CHECK(c.list.v[0].count == 0 && c.list.v[0].sample.wait_state == 3);
	/* Once. */
	CHECK_OK(turns_share(&t, &c, 7, 1000, 80, 3, &seen));
	CHECK(!seen && value_of(&c, 0x100) == 20);
	turns_release(&t);
	collector_release(&c);
	CHECK_INT(process.references, 0);
}

static u64 in_turn_1000(void *context, u32 tid)
{
	(void)context;
	return tid == 7 ? 1000 : 0;
}

TEST(what_is_old_goes_unless_its_turn_is_still_under_way)
{
	struct turns t = {0};
	struct collector c = {0};
	struct sample a = at(0);
	bool seen;

	process.references = 0;
	CHECK_OK(turns_add(&t, 7, 1000, 1100, &a, 10));
	CHECK_OK(turns_add(&t, 8, 1000, 1200, &a, 10));
	CHECK_OK(turns_add(&t, 9, 2000, 2100, &a, 10));
	CHECK_OK(turns_tell(&t, 7, 1000, 50));
	CHECK_OK(turns_settle(&t, 1000, NULL, in_turn_1000));
	CHECK_INT(t.list.n, 3);
	CHECK_OK(turns_settle(&t, 2000, NULL, in_turn_1000));
	CHECK_INT(t.list.n, 2);
	CHECK_INT(process.references, 2);
	CHECK_INT(turns_told(&t, 7, 1000), 50);
	CHECK_OK(turns_share(&t, &c, 7, 1000, 5, 0, &seen));
	CHECK(seen && value_of(&c, 0x100) == 5);
	CHECK_OK(turns_settle(&t, 2000, NULL, in_turn_1000));
	CHECK_INT(t.list.n, 1);
	turns_release(&t);
	collector_release(&c);
	CHECK_INT(process.references, 0);
}

TEST(what_was_told_belongs_to_one_turn)
{
	struct turns t = {0};

	CHECK_OK(turns_tell(&t, 7, 1000, 50));
	CHECK_OK(turns_tell(&t, 7, 1000, 80));
	CHECK_INT(turns_told(&t, 7, 1000), 80);
	CHECK_INT(turns_told(&t, 8, 1000), 0);
	CHECK_OK(turns_tell(&t, 7, 2000, 10));
	CHECK_INT(turns_told(&t, 7, 1000), 0);
	for (u32 i = 0; i < 10000; i++)
		CHECK_OK(turns_tell(&t, i, 3000, i));
	CHECK_INT(turns_told(&t, 9999, 3000), 9999);
	CHECK(t.told.n <= 4096);
	turns_release(&t);
}

TEST(lengths_have_names)
{
	char text[24];

	CHECK_INT(turn_bucket(999999), 0);
	CHECK_INT(turn_bucket(1000000), 1);
	CHECK_INT(turn_bucket(80000000), 7);
	CHECK_INT(turn_bucket(UINT64_MAX), TURN_BUCKETS - 1);
	turn_bucket_text(0, text);
	CHECK_STR(str_of(text), "below 1 ms");
	turn_bucket_text(7, text);
	CHECK_STR(str_of(text), "64-128 ms");
	turn_bucket_text(TURN_BUCKETS - 1, text);
	CHECK_STR(str_of(text), "16384 ms and more");
}

static enum err sweep(void)
{
	struct turns t = {0};
	struct collector c = {0};
	struct sample a = at(0);
	enum err e = ERR_OK;
	bool seen;

	for (u64 i = 0; i < 40 && !e; i++)
		e = turns_add(&t, 7, 1000, 1000 + i, &a, 1);
	if (!e)
		e = turns_tell(&t, 7, 1000, 1);
	if (!e)
		e = turns_settle(&t, 1010, NULL, in_turn_1000);
	if (!e)
		e = turns_share(&t, &c, 7, 1000, 10, 0, &seen);
	turns_release(&t);
	collector_release(&c);
	return e;
}

TEST(no_memory_is_said_and_leaves_no_reference)
{
	process.references = 0;
	ALLOC_SWEEP(sweep());
	CHECK_INT(process.references, 0);
}
