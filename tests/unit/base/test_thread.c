#include "test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"

#include <sched.h>

static void copy_name(void *name)
{
	pthread_getname_np(pthread_self(), name, 16);
}

TEST(a_thread_carries_its_name)
{
	struct thread t;
	char name[16] = "";

	CHECK_OK(thread_start(&t, "a-name-longer-than-the-kernel-keeps", copy_name, name));
	thread_join(&t);
	CHECK(!strcmp(name, "a-name-longer-t"));
	thread_join(&t);
}

static void copy_mask(void *mask)
{
	pthread_sigmask(SIG_BLOCK, NULL, mask);
}

TEST(a_thread_leaves_signals_of_the_process_to_the_main_thread)
{
	struct thread t;
	sigset_t inside, outside;

	CHECK_OK(thread_start(&t, "mask", copy_mask, &inside));
	thread_join(&t);
	CHECK(sigismember(&inside, SIGINT) && sigismember(&inside, SIGTERM));
	CHECK(!sigismember(&inside, SIGSEGV) && !sigismember(&inside, SIGPROF));
	pthread_sigmask(SIG_BLOCK, NULL, &outside);
	CHECK(!sigismember(&outside, SIGINT));
}

static enum err start_one(void)
{
	char name[16];
	struct thread t = {0};

	TRY(thread_start(&t, "x", copy_name, name));
	thread_join(&t);
	return ERR_OK;
}

TEST(a_start_without_memory_fails_cleanly)
{
	ALLOC_SWEEP(start_one());
}

/* A number passed to and fro between two threads. */
struct table_tennis {
	struct mutex lock;
	struct cond changed;
	int ball, rounds;
};

static void play_odd(void *context)
{
	struct table_tennis *t = context;

	mutex_lock(&t->lock);
	while (t->ball < t->rounds) {
		while (t->ball % 2 == 0 && t->ball < t->rounds)
			cond_wait(&t->changed, &t->lock);
		t->ball++;
		cond_signal(&t->changed);
	}
	mutex_unlock(&t->lock);
}

TEST(conditions_wake_the_other_thread)
{
	struct table_tennis t = {.rounds = 1000};
	struct thread other;

	mutex_init(&t.lock);
	cond_init(&t.changed);
	CHECK_OK(thread_start(&other, "odd", play_odd, &t));
	mutex_lock(&t.lock);
	while (t.ball < t.rounds) {
		while (t.ball % 2 == 1)
			cond_wait(&t.changed, &t.lock);
		t.ball++;
		cond_broadcast(&t.changed);
	}
	mutex_unlock(&t.lock);
	thread_join(&other);
	CHECK(t.ball >= t.rounds);
	cond_release(&t.changed);
	mutex_release(&t.lock);
}

TEST(a_wait_with_a_deadline_ends_without_a_signal)
{
	struct mutex lock = MUTEX_INIT;
	struct cond never;
	int64_t deadline = clock_monotonic_ns() + 3 * NS_PER_MS;

	cond_init(&never);
	mutex_lock(&lock);
	while (cond_wait_until(&never, &lock, deadline))
		;
	mutex_unlock(&lock);
	CHECK(clock_monotonic_ns() >= deadline);
	cond_release(&never);
	mutex_release(&lock);
}

struct tally {
	atomic_uint per_job[1000];
	size_t fail_at;
	atomic_size_t ran;
};

static enum err count_job(void *context, size_t index)
{
	struct tally *t = context;

	atomic_fetch_add(&t->per_job[index], 1);
	atomic_fetch_add(&t->ran, 1);
	return index == t->fail_at ? ERR_CORRUPT : ERR_OK;
}

TEST(every_job_runs_exactly_once_on_any_number_of_threads)
{
	static const unsigned threads[] = {0, 1, 2, 7, 100000};

	for (size_t i = 0; i < 5; i++) {
		static struct tally t;

		t = (struct tally){.fail_at = SIZE_MAX};
		CHECK_OK(work_run("count", 1000, threads[i], count_job, &t));
		for (size_t j = 0; j < 1000; j++)
			CHECK_INT(t.per_job[j], 1);
	}
	CHECK_OK(work_run("none", 0, 4, count_job, NULL));
}

TEST(the_first_failure_stops_the_rest_and_is_returned)
{
	static struct tally t = {.fail_at = 10};

	CHECK_ERR(work_run("fail", 1000, 1, count_job, &t), ERR_CORRUPT);
	CHECK_INT(t.ran, 11);
	t = (struct tally){.fail_at = 10};
	CHECK_ERR(work_run("fail", 1000, 4, count_job, &t), ERR_CORRUPT);
	CHECK(t.ran >= 1 && t.per_job[10] == 1);
}

TEST(work_is_done_by_the_caller_when_no_thread_can_start)
{
	static struct tally t = {.fail_at = SIZE_MAX};

	alloc_fail_at(0, true);
	CHECK_OK(work_run("alone", 100, 8, count_job, &t));
	alloc_fail_off();
	CHECK_INT(t.ran, 100);
}

static enum err log_job(void *context, size_t index)
{
	(void)context;
	log_info("line", log_u64("index", index), log_text("pad", "0123456789012345678901234567"));
	return ERR_OK;
}

TEST(log_lines_of_several_threads_do_not_mix)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	struct str rest, line;
	int ends[2], lines = 0;

	CHECK(pipe(ends) == 0);
	log_setup(ends[1], LEVEL_INFO, LOG_LOGFMT);
	CHECK_OK(work_run("log", 300, 4, log_job, NULL));
	log_setup(2, LEVEL_OFF, LOG_LOGFMT);
	close(ends[1]);
	CHECK_OK(file_read_fd(ends[0], "log", &b, NULL));
	close(ends[0]);
	for (rest = buf_view(&b); str_split(&rest, '\n', &line); lines++)
		CHECK(str_starts(line, STR("time=")) &&
		      str_ends(line, STR("=0123456789012345678901234567")));
	CHECK_INT(lines, 300);
}

static enum err write_job(void *context, size_t index)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%zu", (const char *)context, index);
	TRY(file_write(path, STR("x"), OUTPUT_NO_SYNC, NULL));
	return unlink(path) == 0 ? ERR_OK : ERR_IO;
}

TEST(outputs_of_several_threads_share_their_table)
{
	char folder[] = "/tmp/vestal-thread-XXXXXX";
	enum err e;

	CHECK(mkdtemp(folder));
	e = work_run("write", 200, 4, write_job, folder);
	CHECK(rmdir(folder) == 0);
	CHECK_OK(e);
}

TEST(there_is_at_least_one_processor)
{
	CHECK(thread_cpus() >= 1);
}

static void leave_and_look(void *context)
{
	cpu_set_t before, after;

	CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
	thread_leave_cpu(thread_cpu());
	CHECK(sched_getaffinity(0, sizeof(after), &after) == 0);
	*(bool *)context = CPU_EQUAL(&before, &after);
}

TEST(a_thread_that_left_a_processor_may_still_run_on_all)
{
	struct thread t;
	bool same = false;

	CHECK_OK(thread_start(&t, "mover", leave_and_look, &same));
	thread_join(&t);
	CHECK(same);
	thread_leave_cpu(-1);
	thread_leave_cpu(1 << 20);
}
