#include "pprof_maker.h"
#include "recording_sink.h"

#include "pipeline/pipeline.h"

static const struct label_pair labels[] = {
	{{"service_name", 12}, {"shop", 4}},
	{{"instance", 8}, {"10.0.0.1:6060", 13}},
};

/* A target that is asked again and again. */
struct target {
	struct recorder rec;
	struct baseline before;
	enum baseline_outcome outcome;
};

static enum err target_init(struct target *t)
{
	*t = (struct target){0};
	return recorder_init(&t->rec);
}

static void target_release(struct target *t)
{
	baseline_release(&t->before);
	recorder_release(&t->rec);
}

static enum err ask(struct target *t, const char *name, struct str body, bool delta)
{
	struct scrape_request q = {.labels = labels,
				   .label_count = 2,
				   .name = str_of(name),
				   .before = delta ? &t->before : NULL,
				   .elapsed_ns = 10000000000,
				   .body = body};
	struct scraped got;

	recorder_clear(&t->rec);
	TRY(receive_scrape(&t->rec.r, &q, &got, &t->rec.fault));
	t->outcome = got.outcome;
	baseline_release(&t->before);
	t->before = got.next;
	return ERR_OK;
}

static enum err heap_init(struct maker *m)
{
	TRY(maker_init(m));
	maker_type(m, "alloc_objects count");
	maker_type(m, "alloc_space bytes");
	maker_type(m, "inuse_objects count");
	maker_type(m, "inuse_space bytes");
	maker_period(m, "space", "bytes", 524288);
	m->p->duration_ns = 0;
	return ERR_OK;
}

static struct str heap(struct maker *m, int64_t work, int64_t idle)
{
	m->p->row_count = 0;
	ROW(m, "main;work", "bytes=#64", work, work * 64, 2, 128);
	ROW(m, "main;idle", "bytes=#16", idle, idle * 16, 1, 16);
	return maker_bytes(m, 1);
}

TEST(only_what_was_added_is_kept_of_counters_and_levels_as_they_are)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(heap_init(&m));
	CHECK_OK(ask(&t, "memory", heap(&m, 100, 10), true));
	CHECK_INT(t.outcome, BASELINE_FIRST);
	CHECK_STR(buf_view(&t.rec.text),
		  "{instance=10.0.0.1:6060,service_name=shop} 1700000000000000000+0\n"
		  "  memory:inuse_objects:count:space:bytes\n"
		  "  memory:inuse_space:bytes:space:bytes\n"
		  "    main;work: 2 128\n"
		  "    main;idle: 1 16\n");
	CHECK_OK(ask(&t, "memory", heap(&m, 130, 10), true));
	CHECK_INT(t.outcome, BASELINE_DELTA);
	CHECK_STR(buf_view(&t.rec.text),
		  "{instance=10.0.0.1:6060,service_name=shop} 1699999990000000000+10000000000\n"
		  "  memory:alloc_objects:count:space:bytes\n"
		  "  memory:alloc_space:bytes:space:bytes\n"
		  "  memory:inuse_objects:count:space:bytes\n"
		  "  memory:inuse_space:bytes:space:bytes\n"
		  "    main;work: 30 1920 2 128\n"
		  "    main;idle: 0 0 1 16\n");
	/* The profile is decoded into the service's own dictionary. */
	CHECK_INT(t.rec.foreign, 0);
}

TEST(a_stack_that_is_new_counts_whole)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(heap_init(&m));
	CHECK_OK(ask(&t, "memory", heap(&m, 100, 10), true));
	heap(&m, 100, 10);
	ROW(&m, "main;late", "bytes=#8", 5, 40, 0, 0);
	CHECK_OK(ask(&t, "memory", maker_bytes(&m, 1), true));
	CHECK_INT(t.outcome, BASELINE_DELTA);
	CHECK(recorded(&t.rec, "    main;late: 5 40 0 0\n"));
}

TEST(a_program_that_was_started_again_begins_anew)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(heap_init(&m));
	CHECK_OK(ask(&t, "memory", heap(&m, 100, 10), true));
	CHECK_OK(ask(&t, "memory", heap(&m, 3, 1), true));
	CHECK_INT(t.outcome, BASELINE_RESET);
	CHECK(!strstr(t.rec.text.data, "alloc_space") && strstr(t.rec.text.data, "inuse_space"));
	CHECK_OK(ask(&t, "memory", heap(&m, 5, 1), true));
	CHECK_INT(t.outcome, BASELINE_DELTA);
	CHECK(recorded(&t.rec, "    main;work: 2 128 2 128\n"));
	/* Larger in all, but what was there is gone: another program. */
	m.p->row_count = 0;
	ROW(&m, "main;other", "bytes=#64", 1000, 64000, 2, 128);
	CHECK_OK(ask(&t, "memory", maker_bytes(&m, 1), true));
	CHECK_INT(t.outcome, BASELINE_RESET);
}

TEST(rows_of_zeros_that_go_are_no_new_beginning)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(heap_init(&m));
	heap(&m, 100, 10);
	ROW(&m, "main;fresh", "", 0, 0, 0, 0);
	CHECK_OK(ask(&t, "memory", maker_bytes(&m, 1), true));
	heap(&m, 100, 10);
	ROW(&m, "main;fresh", "bytes=#8", 1, 8, 0, 0);
	CHECK_OK(ask(&t, "memory", maker_bytes(&m, 1), true));
	CHECK_INT(t.outcome, BASELINE_DELTA);
	CHECK(recorded(&t.rec, "    main;fresh: 1 8 0 0\n"));
}

static struct str contention(struct maker *m, int64_t delay)
{
	char stack[32];

	m->p->row_count = 0;
	for (int i = 0; i < 20; i++) {
		snprintf(stack, sizeof(stack), "main;lock%d", i);
		ROW(m, stack, "", 100, i == 7 ? delay : 5000);
	}
	return maker_bytes(m, 1);
}

/* Go answers also for what is switched off. */
TEST(a_counter_that_never_counted_is_not_kept)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "contentions count");
	maker_type(&m, "delay nanoseconds");
	maker_period(&m, "contentions", "count", 1);
	CHECK_OK(ask(&t, "mutex", maker_bytes(&m, 1), true));
	CHECK_OK(ask(&t, "mutex", maker_bytes(&m, 1), true));
	CHECK_INT(t.outcome, BASELINE_DELTA);
	CHECK_INT(t.rec.r.result.profiles, 0);
}

TEST(a_little_less_is_rounding_and_counts_as_nothing)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(maker_init(&m));
	maker_type(&m, "contentions count");
	maker_type(&m, "delay nanoseconds");
	maker_period(&m, "contentions", "count", 1);
	CHECK_OK(ask(&t, "mutex", contention(&m, 5000), true));
	CHECK_INT(t.rec.r.result.profiles, 0);
	CHECK_OK(ask(&t, "mutex", contention(&m, 4990), true));
	CHECK_INT(t.outcome, BASELINE_DELTA);
	/* Nothing was added in a time that was watched. */
	CHECK_INT(t.rec.r.result.profiles, 1);
	CHECK_INT(t.rec.r.result.samples, 0);
	CHECK_OK(ask(&t, "block", contention(&m, 9990), true));
	CHECK_INT(t.outcome, BASELINE_DELTA);
	CHECK(recorded(&t.rec, "  block:contentions:count:contentions:count\n"
			       "  block:delay:nanoseconds:contentions:count\n"
			       "    main;lock7: 0 5000\n"));
}

TEST(columns_that_changed_are_a_first_look)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m, other;

	CHECK_OK(target_init(&t));
	CHECK_OK(heap_init(&m));
	CHECK_OK(maker_cpu(&other));
	CHECK_OK(ask(&t, "memory", heap(&m, 100, 10), true));
	CHECK_OK(ask(&t, "memory", maker_bytes(&other, 1), true));
	CHECK_INT(t.outcome, BASELINE_FIRST);
}

TEST(a_window_is_kept_as_it_is)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(maker_cpu(&m));
	CHECK_OK(ask(&t, "process_cpu", maker_bytes(&m, 1), false));
	CHECK(recorded(&t.rec, "1700000000000000000+15000000000\n"
			       "  process_cpu:samples:count:cpu:nanoseconds\n"
			       "  process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"
			       "    main;work: 3 30000000\n"));
	CHECK(!t.before.known);
}

TEST(what_is_no_profile_is_refused)
{
	CLEANUP(target_release) struct target t;

	CHECK_OK(target_init(&t));
	CHECK_ERR(ask(&t, "memory", STR("<html>hello</html>"), true), ERR_UNPROCESSABLE);
	CHECK_STR(str_of(t.rec.fault.text), "the answer is no pprof profile");
	CHECK_ERR(ask(&t, "memory", STR("a;b 3\n"), true), ERR_UNPROCESSABLE);
	CHECK(!t.before.known);
}

TEST(what_could_not_be_kept_is_not_forgotten)
{
	CLEANUP(target_release) struct target t;
	CLEANUP(maker_release) struct maker m;

	CHECK_OK(target_init(&t));
	CHECK_OK(heap_init(&m));
	CHECK_OK(ask(&t, "memory", heap(&m, 100, 10), true));
	t.rec.fail = ERR_NO_SPACE;
	CHECK_ERR(ask(&t, "memory", heap(&m, 130, 10), true), ERR_NO_SPACE);
	t.rec.fail = ERR_OK;
	CHECK_OK(ask(&t, "memory", heap(&m, 150, 10), true));
	CHECK(recorded(&t.rec, "    main;work: 50 3200 2 128\n"));
}

static enum err sweep(struct str first, struct str second)
{
	struct target t;
	enum err e = target_init(&t);

	if (!e)
		e = ask(&t, "memory", first, true);
	if (!e)
		e = ask(&t, "memory", second, true);
	target_release(&t);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(maker_release) struct maker m, n;
	struct str first, second;

	CHECK_OK(heap_init(&m));
	CHECK_OK(heap_init(&n));
	first = heap(&m, 100, 10);
	second = heap(&n, 130, 11);
	ALLOC_SWEEP(sweep(first, second));
}
