/* Turns of tenants, and the threads that run them. */
#include "test.h"

#include "base/clock.h"
#include "base/thread.h"
#include "server/descriptors.h"
#include "server/workers.h"

/* ------------------------------------------------------------------ turns */

static void queue_free(struct fair_queue **q)
{
	struct fair_job *job;

	while (*q && (job = fair_queue_take(*q, 0, true)))
		fair_queue_done(*q, job, 0);
	fair_queue_free(*q);
}

#define QUEUE(name_, ...)                                    \
	CLEANUP(queue_free) struct fair_queue *name_ = NULL; \
	CHECK_OK(fair_queue_new(&(struct fair_limits){__VA_ARGS__}, &name_))

static enum err put(struct fair_queue *q, const char *tenant, struct fair_job *job,
		    const void *kind)
{
	bool now;

	job->kind = kind;
	job->deadline_ns = INT64_MAX;
	return fair_queue_put(q, str_of(tenant), job, NS_PER_S, &now, NULL);
}

/* Takes one, and says it used so much. */
static struct fair_job *run_one(struct fair_queue *q, int64_t cpu_ns)
{
	struct fair_job *job = fair_queue_take(q, NS_PER_S, false);

	if (job)
		fair_queue_done(q, job, cpu_ns);
	return job;
}

TEST(tenants_take_turns_by_cpu_time_whatever_the_number_of_their_requests)
{
	QUEUE(q, .base = 1, .most = 1, .per_tenant = 100, .all = 1000);
	struct fair_job heavy[50], light[10];
	int64_t used[2] = {0};
	int light_done = 0;

	for (int i = 0; i < 50; i++)
		CHECK_OK(put(q, "heavy", &heavy[i], "a"));
	for (int i = 0; i < 10; i++)
		CHECK_OK(put(q, "light", &light[i], "a"));
	while (light_done < 10) {
		struct fair_job *job = fair_queue_take(q, NS_PER_S, false);
		bool is_light = job >= light && job < light + 10;

		CHECK(job);
		fair_queue_done(q, job, is_light ? NS_PER_MS : 5 * NS_PER_MS);
		used[is_light] += is_light ? NS_PER_MS : 5 * NS_PER_MS;
		light_done += is_light;
	}
	/* While both wanted it, both got as much. */
	CHECK(used[0] <= used[1] + 5 * NS_PER_MS);
	CHECK_INT(fair_queue_waiting(q), 50 - used[0] / (5 * NS_PER_MS));
}

TEST(short_work_goes_before_long_work_until_that_has_waited)
{
	QUEUE(q, .base = 1, .most = 1, .per_tenant = 100, .all = 1000);
	struct fair_job first[2], later[2];
	bool now;

	/* What they take is learnt. */
	CHECK_OK(put(q, "a", &first[0], "slow"));
	CHECK(run_one(q, 2 * NS_PER_S) == &first[0]);
	CHECK_OK(put(q, "a", &first[0], "quick"));
	CHECK(run_one(q, NS_PER_MS) == &first[0]);
	CHECK_OK(put(q, "a", &first[0], "slow"));
	CHECK_OK(put(q, "a", &first[1], "quick"));
	later[0] = (struct fair_job){.kind = "quick", .deadline_ns = INT64_MAX};
	CHECK_OK(fair_queue_put(q, STR("a"), &later[0], 4 * NS_PER_S, &now, NULL));
	later[1] = (struct fair_job){.kind = "quick", .deadline_ns = INT64_MAX};
	CHECK_OK(fair_queue_put(q, STR("a"), &later[1], 40 * NS_PER_S, &now, NULL));
	CHECK(run_one(q, NS_PER_MS) == &first[1]);
	CHECK(run_one(q, NS_PER_MS) == &later[0]);
	CHECK(run_one(q, NS_PER_MS) == &first[0]);
	CHECK(run_one(q, NS_PER_MS) == &later[1]);
}

TEST(a_tenant_with_nothing_running_gets_a_thread_beyond_the_base)
{
	QUEUE(q, .base = 2, .most = 4, .per_tenant = 100, .all = 1000);
	struct fair_job a[4], b[2], c[2], d;

	for (int i = 0; i < 4; i++)
		CHECK_OK(put(q, "a", &a[i], "x"));
	CHECK(fair_queue_take(q, NS_PER_S, false) && fair_queue_take(q, NS_PER_S, false));
	CHECK(!fair_queue_take(q, NS_PER_S, false));
	CHECK_OK(put(q, "b", &b[0], "x"));
	CHECK_OK(put(q, "b", &b[1], "x"));
	CHECK(fair_queue_take(q, NS_PER_S, false) == &b[0]);
	CHECK(!fair_queue_take(q, NS_PER_S, false));
	CHECK_OK(put(q, "c", &c[0], "x"));
	CHECK(fair_queue_take(q, NS_PER_S, false) == &c[0]);
	CHECK_OK(put(q, "d", &d, "x"));
	CHECK(!fair_queue_take(q, NS_PER_S, false));
	fair_queue_done(q, &c[0], NS_PER_S);
	CHECK(fair_queue_take(q, NS_PER_S, false) == &d);
	for (int i = 0; i < 2; i++)
		fair_queue_done(q, &a[i], NS_PER_S);
	fair_queue_done(q, &b[0], NS_PER_S);
	fair_queue_done(q, &d, NS_PER_S);
}

TEST(a_full_queue_refuses_its_tenant_alone)
{
	QUEUE(q, .base = 1, .most = 1, .per_tenant = 3, .all = 5);
	struct fair_job a[4], b[3];
	struct fault fault = {0};
	bool now;

	for (int i = 0; i < 3; i++)
		CHECK_OK(put(q, "a", &a[i], "x"));
	a[3] = (struct fair_job){.deadline_ns = INT64_MAX};
	CHECK_ERR(fair_queue_put(q, STR("a"), &a[3], 0, &now, &fault), ERR_BUSY);
	CHECK(strstr(fault.text, "3 requests of this tenant"));
	CHECK_OK(put(q, "b", &b[0], "x"));
	CHECK_OK(put(q, "b", &b[1], "x"));
	CHECK_ERR(put(q, "b", &b[2], "x"), ERR_BUSY);
}

TEST(work_that_waits_beyond_its_deadline_is_handed_back)
{
	QUEUE(q, .base = 1, .most = 1, .per_tenant = 10, .all = 10);
	struct fair_job a = {.deadline_ns = 5}, b = {.deadline_ns = 9};
	int64_t next;
	bool now;

	CHECK_OK(fair_queue_put(q, STR("a"), &a, 0, &now, NULL));
	CHECK_OK(fair_queue_put(q, STR("b"), &b, 0, &now, NULL));
	CHECK(!fair_queue_late(q, 4, &next));
	CHECK_INT(next, 5);
	CHECK(fair_queue_late(q, 5, &next) == &a);
	CHECK(!fair_queue_late(q, 5, &next));
	CHECK_INT(next, 9);
}

TEST(a_thousand_tenants_that_left_are_forgotten)
{
	QUEUE(q, .base = 1, .most = 1, .per_tenant = 10, .all = 10);
	struct fair_job job;
	char name[16];

	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		CHECK_OK(put(q, name, &job, "x"));
		CHECK(run_one(q, 1) == &job);
	}
}

/* ------------------------------------------------------------------ threads */

struct gate {
	struct mutex lock;
	struct cond wake;
	bool open;
	atomic_int ran, stopped;
};

static void gate_release(struct gate *g)
{
	cond_release(&g->wake);
	mutex_release(&g->lock);
}

static void gate_init(struct gate *g)
{
	mutex_init(&g->lock);
	cond_init(&g->wake);
}

static void gate_open(struct gate *g)
{
	mutex_lock(&g->lock);
	g->open = true;
	cond_broadcast(&g->wake);
	mutex_unlock(&g->lock);
}

static void pass_gate(void *context, const atomic_bool *stop)
{
	struct gate *g = context;

	mutex_lock(&g->lock);
	while (!g->open)
		cond_wait(&g->wake, &g->lock);
	mutex_unlock(&g->lock);
	atomic_fetch_add(&g->stopped, atomic_load(stop));
	atomic_fetch_add(&g->ran, 1);
}

static struct job job_of(void (*run)(void *, const atomic_bool *), void *context)
{
	return (struct job){
		.fair.kind = "x", .fair.deadline_ns = INT64_MAX, .run = run, .context = context};
}

TEST(workers_refuse_more_than_a_tenants_queue_and_run_all_they_took)
{
	CLEANUP(gate_release) struct gate g = {0};
	struct workers_options o = {.threads = {2, 2, 2}, .queries_per_tenant = 4};
	struct job jobs[100], other;
	struct workers *w;
	int taken = 0;

	gate_init(&g);
	CHECK_OK(workers_new(&o, &w));
	for (; taken < 100; taken++) {
		jobs[taken] = job_of(pass_gate, &g);
		if (workers_give(w, LANE_QUERIES, STR("a"), &jobs[taken], NULL) != ERR_OK)
			break;
	}
	/* Those that wait, and at most one in each thread. */
	CHECK(taken >= 4 && taken <= 6);
	CHECK(workers_waiting(w, LANE_QUERIES) <= 4);
	other = job_of(pass_gate, &g);
	CHECK_OK(workers_give(w, LANE_QUERIES, STR("b"), &other, NULL));
	gate_open(&g);
	workers_free(w);
	CHECK_INT(g.ran, taken + 1);
	CHECK_INT(g.stopped, 0);
}

TEST(what_one_tenant_holds_up_does_not_keep_others_or_the_reserve_waiting)
{
	CLEANUP(gate_release) struct gate shut = {0};
	CLEANUP(gate_release) struct gate open = {0};
	struct workers_options o = {.threads = {2, 2, 2}};
	struct job heavy[10], others[LANES_];
	struct workers *w;

	gate_init(&shut);
	gate_init(&open);
	gate_open(&open);
	CHECK_OK(workers_new(&o, &w));
	for (int i = 0; i < 10; i++) {
		heavy[i] = job_of(pass_gate, &shut);
		CHECK_OK(workers_give(w, i % 2 ? LANE_QUERIES : LANE_UPLOADS, STR("a"), &heavy[i],
				      NULL));
	}
	for (int i = 0; i < LANES_; i++) {
		others[i] = job_of(pass_gate, &open);
		CHECK_OK(workers_give(w, (enum lane)i, STR("b"), &others[i], NULL));
	}
	while (atomic_load(&open.ran) < LANES_)
		clock_sleep_ns(NS_PER_MS);
	CHECK_INT(shut.ran, 0);
	gate_open(&shut);
	workers_free(w);
	CHECK_INT(shut.ran, 10);
}

static void until_stopped(void *context, const atomic_bool *stop)
{
	struct gate *g = context;

	while (!atomic_load(stop))
		clock_sleep_ns(NS_PER_MS);
	atomic_fetch_add(&g->stopped, 1);
}

TEST(a_deadline_stops_what_runs_and_ends_what_waits)
{
	CLEANUP(gate_release) struct gate g = {0};
	struct workers_options o = {.threads = {1, 1, 1}};
	struct job jobs[3];
	struct workers *w;

	gate_init(&g);
	CHECK_OK(workers_new(&o, &w));
	for (int i = 0; i < 3; i++) {
		jobs[i] = job_of(until_stopped, &g);
		jobs[i].fair.deadline_ns = clock_monotonic_ns() + 20 * NS_PER_MS;
		CHECK_OK(workers_give(w, LANE_QUERIES, STR("a"), &jobs[i], NULL));
	}
	while (atomic_load(&g.stopped) < 3)
		clock_sleep_ns(NS_PER_MS);
	workers_free(w);
}

static enum err make_workers(void)
{
	struct workers *w;

	TRY(workers_new(&(struct workers_options){.threads = {1, 1, 1}}, &w));
	workers_free(w);
	return ERR_OK;
}

TEST(workers_survive_a_lack_of_memory)
{
	workers_free(NULL);
	ALLOC_SWEEP(make_workers());
}

TEST(connections_leave_descriptors_for_files)
{
	CHECK_INT(descriptors_for_connections(1024, 20000), 1024 - 256 - 48);
	CHECK_INT(descriptors_for_connections(1048576, 20000), 20000);
	CHECK_INT(descriptors_for_connections(256, 20000), 256 - 128 - 48);
	CHECK_INT(descriptors_for_connections(64, 20000), 16);
	CHECK(descriptors_raise() >= 64);
}
