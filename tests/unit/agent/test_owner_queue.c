/* Fairness: which owner is served next, and whose events are processed. */
#include "agent/event_gate.h"
#include "agent/owner_queue.h"
#include "test.h"

TEST(jobs_of_one_owner_are_done_in_the_order_they_came)
{
	struct owner_queue q = {0};
	struct owner_job job;

	for (u64 id = 0; id < 5; id++)
		CHECK_OK(owner_queue_push(&q, 7, 0, id));
	CHECK(!owner_queue_others(&q, 7) && owner_queue_others(&q, 8));
	for (u64 id = 0; id < 5; id++) {
		CHECK(owner_queue_pop(&q, &job) && job.owner == 7 && job.id == id);
		owner_queue_charge(&q, 7, 1000);
	}
	CHECK(!owner_queue_pop(&q, &job) && !owner_queue_others(&q, 8));
	owner_queue_release(&q);
}

/* A thousand slow files of one owner delay a file of another owner by one slow file at most. */
TEST(an_owner_of_slow_files_does_not_delay_others)
{
	struct owner_queue q = {0};
	struct owner_job job;
	u64 slow = 0, quick = 0;

	for (u64 id = 0; id < 1000; id++)
		CHECK_OK(owner_queue_push(&q, 1, 0, id));
	for (u64 id = 0; id < 100; id++)
		CHECK_OK(owner_queue_push(&q, 2, 0, id));
	while (quick < 100) {
		CHECK(owner_queue_pop(&q, &job));
		owner_queue_charge(&q, job.owner, job.owner == 1 ? 100 : 1);
		slow += job.owner == 1;
		quick += job.owner == 2;
	}
	CHECK(slow <= 2);
	owner_queue_release(&q);
}

TEST(nobody_saves_up_by_waiting)
{
	struct owner_queue q = {0};
	struct owner_job job;
	u64 late = 0;

	CHECK_OK(owner_queue_push(&q, 2, 0, 0));
	CHECK(owner_queue_pop(&q, &job));
	for (u64 id = 0; id < 1000; id++)
		CHECK_OK(owner_queue_push(&q, 1, 0, id));
	for (u32 i = 0; i < 500; i++) {
		CHECK(owner_queue_pop(&q, &job));
		owner_queue_charge(&q, 1, 10);
	}
	/* The owner returns: from here on it gets half of the work, not all. */
	for (u64 id = 0; id < 500; id++)
		CHECK_OK(owner_queue_push(&q, 2, 0, id));
	for (u32 i = 0; i < 100; i++) {
		CHECK(owner_queue_pop(&q, &job));
		owner_queue_charge(&q, job.owner, 10);
		late += job.owner == 2;
	}
	CHECK(late >= 49 && late <= 52);
	owner_queue_release(&q);
}

TEST(what_is_light_comes_first)
{
	static const u64 weights[] = {30, 10, 20, 10};
	static const u64 order[] = {1, 3, 2, 0};
	struct owner_queue q = {0};
	struct owner_job job;

	for (u64 id = 0; id < 4; id++)
		CHECK_OK(owner_queue_push(&q, 7, weights[id], id));
	for (u32 i = 0; i < 4; i++)
		CHECK(owner_queue_pop(&q, &job) && job.id == order[i]);
	owner_queue_release(&q);
}

/* An owner's large file is read even if small files of the same owner keep coming. */
TEST(what_is_heavy_is_not_passed_for_ever)
{
	struct owner_queue q = {0};
	struct owner_job job;
	u64 light = 0;

	CHECK_OK(owner_queue_push(&q, 7, 1000, 0));
	do {
		CHECK_OK(owner_queue_push(&q, 7, 1, 1));
		CHECK(owner_queue_pop(&q, &job));
		light += job.id;
	} while (job.id && light < 10 * QUEUE_PASSED_MOST);
	CHECK_INT(light, QUEUE_PASSED_MOST);
	/* Light ones come first again, also before another one of that weight. */
	CHECK_OK(owner_queue_push(&q, 7, 1000, 0));
	CHECK(owner_queue_pop(&q, &job) && job.id == 1);
	CHECK(owner_queue_pop(&q, &job) && job.id == 0);
	owner_queue_release(&q);
}

TEST(what_is_much_lighter_and_of_the_same_owner_is_found)
{
	struct owner_queue q = {0};

	CHECK(!owner_queue_lighter(&q, 7, 100));
	CHECK_OK(owner_queue_push(&q, 7, 50, 1));
	CHECK(!owner_queue_lighter(&q, 7, 100) && !owner_queue_lighter(&q, 8, 1000));
	CHECK(owner_queue_lighter(&q, 7, 102));
	/* Nothing is known of their size. */
	CHECK_OK(owner_queue_push(&q, 7, 0, 2));
	CHECK(!owner_queue_lighter(&q, 7, 0));
	owner_queue_release(&q);
}

static enum err sweep(void)
{
	struct owner_queue q = {0};
	enum err e = ERR_OK;

	for (u32 i = 0; !e && i < 40; i++)
		e = owner_queue_push(&q, i % 20, 0, i);
	owner_queue_release(&q);
	return e;
}

TEST(a_queue_without_memory)
{
	ALLOC_SWEEP(sweep());
}

TEST(who_causes_too_many_events_is_shut_out_for_a_while_and_others_are_not)
{
	static struct event_gate g;
	u64 now = 1000, passed = 0;
	bool first, any = false;

	g = (struct event_gate){0};
	for (u32 i = 0; i < 3 * GATE_EVENTS_MAX; i++) {
		passed += event_gate_pass(&g, 42, now, &first);
		CHECK_INT(first, i == GATE_EVENTS_MAX);
		CHECK(event_gate_pass(&g, 1000 + i, now, &first) && !first);
	}
	CHECK(passed == GATE_EVENTS_MAX && g.offenders == 1);
	CHECK_INT(g.shut, 2 * GATE_EVENTS_MAX);
	CHECK(event_gate_shut(&g, 42, now) && !event_gate_shut(&g, 43, now));
	now += GATE_PERIOD_NS;
	CHECK(!event_gate_shut(&g, 42, now));
	any = event_gate_pass(&g, 42, now, &first);
	CHECK(any && !first);
}
