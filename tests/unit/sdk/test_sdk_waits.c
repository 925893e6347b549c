/* Waits for locks, sampled by their time. */
#include "test.h"

#include <math.h>

#include "sdk/lock_sampler.h"
#include "sdk/tally.h"

static u64 told_count, told_sum;

static void add_wait(void *context, const struct taken_sample *s)
{
	(void)context;
	CHECK(s->kind == SAMPLE_LOCK);
	CHECK_INT(s->object, 0x1000);
	told_count += (u64)s->count;
	told_sum += (u64)s->value;
}

TEST(waits_of_every_length_add_up)
{
	static const s64 lengths[] = {500, 20000, 100000, 5000000};
	struct alloc_caller caller = ALLOC_CALLER;

	CHECK(sample_slots_open());
	lock_start(100000, 64);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		double p = -expm1(-(double)lengths[i] / 100000), n = 100000;

		told_count = told_sum = 0;
		for (int k = 0; k < (int)n; k++) {
			lock_waited(SAMPLE_LOCK, (void *)0x1000, lengths[i], &caller);
			sample_slots_drain(false, add_wait, NULL);
			sample_slots_drain(true, add_wait, NULL);
		}
		/* Five standard errors. */
		CHECK(fabs((double)told_count - n) <= 5 * sqrt(n * (1 - p) / p) + 5);
		CHECK(fabs((double)told_sum / (double)lengths[i] - n) <=
		      5 * sqrt(n * (1 - p) / p) + 5);
	}
	lock_stop();
	lock_waited(SAMPLE_LOCK, (void *)0x1000, 1000000000, &caller);
	told_count = 0;
	sample_slots_drain(false, add_wait, NULL);
	CHECK_INT(told_count, 0);
}

/* To ask takes its time, and to try again afterwards may be luck. */
static s64 changed_by_asking(s64 length, s64 after, bool lucky)
{
	if (length < after)
		return length;
	return lucky ? after + 3000 : length + 50000;
}

TEST(waits_that_asking_changes_add_up_as_well)
{
	static const s64 lengths[] = {5000, 100000, 1000000};
	struct alloc_caller caller = ALLOC_CALLER;

	for (int i = 0; i < 6; i++) {
		double n = 50000, truth = 0;

		lock_start(100000, 64);
		told_count = told_sum = 0;
		for (int k = 0; k < (int)n; k++) {
			s64 ns = changed_by_asking(lengths[i / 2], lock_sample_after(), i % 2);

			truth += (double)ns;
			lock_waited_for((void *)0x1000, ns, &caller, 0);
			sample_slots_drain(false, add_wait, NULL);
			sample_slots_drain(true, add_wait, NULL);
		}
		/* Of a wait an interval squared at most: five standard errors. */
		CHECK(fabs((double)told_sum - truth) <= 5 * sqrt(n) * 100000);
		lock_stop();
	}
}

TEST(many_waits_make_the_interval_longer_and_few_make_it_shorter)
{
	struct alloc_caller caller = ALLOC_CALLER;

	lock_start(1000, 64);
	for (int turn = 0; turn < 40; turn++) {
		for (int k = 0; k < 2000; k++)
			lock_waited(SAMPLE_LOCK, (void *)0x1000, 1000000, &caller);
		sample_slots_drain(false, add_wait, NULL);
		sample_slots_drain(true, add_wait, NULL);
		lock_turn(100000000);
	}
	/* 2000 waits of a millisecond in a tenth of a second, 400 samples: between these. */
	CHECK(lock_interval() >= 1000000 && lock_interval() <= 16000000);
	for (int turn = 0; turn < 40; turn++)
		lock_turn(100000000);
	CHECK(lock_interval() >= 1000 && lock_interval() < 2000);
	lock_stop();
	sample_slots_reset();
}

TEST(locks_on_the_heap_do_not_crowd_out_others)
{
	struct tally t;
	struct span_context none = {0};
	u64 place = 7;
	u32 stack, context;

	tally_init(&t, 10);
	CHECK_OK(tally_stack(&t, &place, 1, &stack));
	CHECK_OK(tally_context(&t, &none, &context));
	for (u64 i = 0; i < 100; i++)
		tally_add_about(&t, SAMPLE_LOCK, stack, context, 0x10000 + i * 64, 1, 10);
	tally_add_about(&t, SAMPLE_LOCK, stack, context, 1ull << PLACE_MODULE_SHIFT | 64, 1, 10);
	CHECK_INT(t.lost, 0);
	CHECK_INT(t.rows.n, 7);
	CHECK_INT(t.rows.v[5].about, 0);
	CHECK_INT(t.rows.v[5].count, 95);
	tally_release(&t);
}
