/* A capture of this very process, with the kernel. Needs root: without it all is skipped. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/capture.h"
#include "agent/prober.h"
#include "agent/self_meter.h"
#include "agent/targets.h"
#include "base/clock.h"
#include "base/file.h"
#include "test.h"

static void close_capture(struct capture **c)
{
	capture_close(*c);
}

/* NULL if the kernel does not allow it. */
static struct capture *open_any(struct capture_options o)
{
	struct capture *c = NULL;
	struct fault fault = {0};

	if (geteuid() || capture_open(&o, &c, &fault) != ERR_OK) {
		test_skip(geteuid() ? "needs root" : "this kernel does not load the programs");
		return NULL;
	}
	return c;
}

/* A capture of this process alone. */
static struct capture *open_capture(struct capture_options o)
{
	o.kernel.chosen = true;
	return open_any(o);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static volatile unsigned sink;

static void work_ms(int64_t ms)
{
	int64_t end = clock_process_cpu_ns() + ms * NS_PER_MS;

	while (clock_process_cpu_ns() < end)
		for (int i = 0; i < 1000; i++)
			sink += (unsigned)i;
}

TEST(what_a_full_ring_could_not_take_is_counted)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	struct capture_stats stats;

	o.kernel.ring_kib = 4;
	o.kernel.rate_hz = 2000;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	work_ms(500);
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	capture_stats(c, &stats);
	/* A page holds some dozen samples; every one that was taken is there or was counted. */
	CHECK(stats.kernel.samples > 100);
	CHECK(stats.kernel.dropped > 0);
	CHECK(capture_collector(c)->samples > 0);
	CHECK_INT(capture_collector(c)->samples + stats.kernel.dropped, stats.kernel.samples);
}

/* Forks a hundred processes for each byte it is sent, and answers with one. */
static void storm(int fd)
{
	char byte;

	while (read(fd, &byte, 1) == 1) {
		for (int i = 0; i < 100; i++) {
			pid_t one = fork();

			if (!one)
				_exit(0);
			waitpid(one, NULL, 0);
		}
		if (write(fd, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* A lower rate would not make a storm of processes cheaper. */
TEST(what_processes_cost_is_no_cost_of_the_rate)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	struct budget_measure measure;
	struct capture_stats stats;
	struct self_meter meter;
	char byte = 0;
	int ends[2];
	pid_t child;

	o.kernel.rate_hz = 1;
	c = open_capture(o);
	if (!c)
		return;
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	/* The forks themselves are not on this process's clock. */
	child = fork();
	if (!child) {
		close(ends[0]);
		storm(ends[1]);
	}
	CHECK(child > 0);
	close(ends[1]);
	self_meter_open(&meter, c);
	do {
		CHECK(write(ends[0], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
		CHECK_OK(capture_turn(c));
		capture_stats(c, &stats);
	} while (stats.followed_ns < 20 * NS_PER_MS || !stats.kernel.samples);
	self_meter_read(&meter, &measure);
	close(ends[0]);
	waitpid(child, NULL, 0);
	CHECK(measure.rate_part < 0.5);
}

/* They come without callers, and nothing says that a sample is missing. */
TEST(stacks_that_cannot_wait_for_their_tables_are_no_lost_samples)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	struct capture_stats stats;

	o.waiting_bytes = 64;
	o.kernel.rate_hz = 1000;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	for (int i = 0; i < 20; i++) {
		work_ms(10);
		CHECK_OK(capture_turn(c));
	}
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	capture_stats(c, &stats);
	CHECK(stats.raw_dropped > 0);
	CHECK_INT(stats.kernel.dropped + stats.records_lost, 0);
	CHECK_INT(capture_collector(c)->samples, stats.kernel.samples);
}

/* Without tables only the innermost part of a deep stack arrives, so the agent must wake at
 * once. */
TEST(a_stack_without_tables_wakes_the_agent_at_once)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	CLEANUP(close_fd) int wake = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	o.kernel.rate_hz = 1000;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(kernel_watch(capture_kernel(c), wake));
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	/* A few samples: far fewer than fill the ring buffer enough to wake the agent. */
	work_ms(5);
	CHECK_INT(epoll_wait(wake, &event, 1, 20000), 1);
	capture_stop(c);
}

TEST(the_rate_may_change_where_no_clock_runs)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;

	o.kernel.types = CAPTURE_WAITS;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	CHECK_OK(capture_turn(c));
	CHECK_OK(kernel_set_period(capture_kernel(c), NS_PER_S / 48));
	CHECK_OK(capture_turn(c));
	capture_stop(c);
}

/* What no kernel counts without a right that the agent need not have. */
TEST(programs_count_their_own_cost_where_the_kernel_does_not)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	struct kernel_counters n;
	struct kernel_side *k;
	u64 timer, waits;

	o.kernel.types = CAPTURE_CPU | CAPTURE_WAITS;
	o.kernel.rate_hz = 1000;
	o.kernel.meter = true;
	c = open_capture(o);
	if (!c)
		return;
	k = capture_kernel(c);
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	for (int i = 0; i < 20; i++) {
		work_ms(10);
		clock_sleep_ns(4 * NS_PER_MS);
		CHECK_OK(capture_turn(c));
	}
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	kernel_count(k, &n);
	timer = kernel_timer_time_ns(k);
	waits = kernel_wait_time_ns(k);
	/* No stack is taken in a tenth of a microsecond, and none takes as long as the samples
	 * are apart. */
	CHECK(n.samples > 50 && timer > 100 * n.samples && timer < NS_PER_MS * n.samples);
	CHECK(n.waits_kept > 0 && waits > 100 * n.waits_kept + 20 * n.switches);
	CHECK(kernel_run_time_ns(k) >= timer + waits);
}

/* Each time that a clock is set, what had passed of its period gets no sample of its own. */
TEST(nothing_is_lost_however_often_clocks_are_set)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	double value = 0, spent;
	int64_t start;

	o.kernel.rate_hz = 500;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	start = clock_process_cpu_ns();
	for (int i = 0; i < 900; i++) {
		int64_t end = clock_process_cpu_ns() + 3 * NS_PER_MS;

		while (clock_process_cpu_ns() < end)
			sink++;
		CHECK_OK(kernel_set_period(capture_kernel(c), 2 * NS_PER_MS));
		if (i % 100 == 99)
			CHECK_OK(capture_turn(c));
	}
	spent = (double)(clock_process_cpu_ns() - start);
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	vec_for_each (one, &capture_collector(c)->list)
		value += one->value;
	/* A third of the time passes between the last sample and the next setting; setting takes
	 * some hundredths. */
	CHECK(value > 0.8 * spent && value < 1.15 * spent);
}

static void add_value(void *context, const struct loss_key *key, const struct loss_count *lost)
{
	if (key->kind == RECORD_FAULT)
		*(double *)context += (double)lost->value;
}

/* What is kept by chance counts for more, in a profile and among what was lost. */
TEST(memory_that_a_full_ring_could_not_take_counts_for_all_it_stands_for)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	size_t size = (size_t)512 << 20, page = 4096;
	double lost = 0, found = 0;
	char *memory;

	o.kernel.types = CAPTURE_FAULTS;
	o.kernel.ring_kib = 4;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED && !madvise(memory, size, MADV_NOHUGEPAGE));
	CHECK_OK(capture_start(c, NULL));
	for (size_t at = 0; at < size; at += page)
		memory[at] = 1;
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	munmap(memory, size);
	kernel_losses(capture_kernel(c), &lost, add_value);
	vec_for_each (one, &capture_collector(c)->list)
		found += one->value;
	/* Some thousand steps, of which nearly all are lost. */
	CHECK(lost > found);
	CHECK(lost + found > 0.8 * (double)size && lost + found < 1.2 * (double)size);
}

#define SLEEPERS 8
#define SLEEPS	 150

/* The sum of what this thread slept, as it measured it. */
static void *sleep_often(void *sum)
{
	for (int i = 0; i < SLEEPS; i++) {
		int64_t start = clock_monotonic_ns();

		clock_sleep_ns(4 * NS_PER_MS);
		*(int64_t *)sum += clock_monotonic_ns() - start;
	}
	return NULL;
}

static int64_t sleep_in_threads(void)
{
	pthread_t threads[SLEEPERS];
	int64_t sums[SLEEPERS] = {0}, sum = 0;

	for (int i = 0; i < SLEEPERS; i++)
		if (pthread_create(&threads[i], NULL, sleep_often, &sums[i]))
			return 0;
	for (int i = 0; i < SLEEPERS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	return sum;
}

/* Of the threads that sleep, not of this one, which waits for them, nor of the agent's own, which
 * sleeps between two looks at its workers. */
static void sum_sleeps(const struct collector *c, double *ret_value, double *ret_count)
{
	*ret_value = *ret_count = 0;
	vec_for_each (one, &c->list)
		if (one->sample.kind == RECORD_WAIT && one->sample.wait_state == WAIT_SLEEP &&
		    one->sample.syscall == SYS_clock_nanosleep &&
		    strcmp(one->sample.thread, "vestal-watch") != 0) {
			*ret_value += one->value;
			*ret_count += one->count;
		}
}

TEST(waits_that_are_kept_less_often_count_for_more)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	double value, count, slept;
	struct capture_stats stats;

	o.kernel.types = CAPTURE_WAITS;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	/* R is 32 ms: one sleep of 4 ms in eight or nine is kept. */
	kernel_set_wait_level(capture_kernel(c), 5);
	CHECK_OK(capture_start(c, NULL));
	slept = (double)sleep_in_threads();
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	capture_stats(c, &stats);
	CHECK(stats.kernel.switches >= SLEEPERS * SLEEPS);
	CHECK(stats.kernel.waits_kept > 0 && stats.kernel.waits_kept < stats.kernel.switches / 3);
	sum_sleeps(capture_collector(c), &value, &count);
	/* Some 140 are kept: four standard errors are a third. */
	CHECK(value > 0.66 * slept && value < 1.34 * slept);
	CHECK(count > 0.66 * SLEEPERS * SLEEPS && count < 1.34 * SLEEPERS * SLEEPS);
}

TEST(a_pause_takes_no_waits_and_those_after_it_count_in_full)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	double value, count, slept;
	struct capture_stats before, after;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("under valgrind threads wait for one another");
		return;
	}
	o.kernel.types = CAPTURE_WAITS;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	kernel_pause(capture_kernel(c));
	capture_stats(c, &before);
	sleep_in_threads();
	capture_stats(c, &after);
	CHECK_INT(after.kernel.switches, before.kernel.switches);
	CHECK_OK(kernel_resume(capture_kernel(c), NULL));
	slept = (double)sleep_in_threads();
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	sum_sleeps(capture_collector(c), &value, &count);
	CHECK(value > 0.95 * slept && value < 1.05 * slept);
}

TEST(samples_count_for_the_time_that_was_used)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	double value = 0, spent, room;
	int64_t start;

	o.kernel.rate_hz = 499;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	start = clock_process_cpu_ns();
	/* Clocks are set anew meanwhile: nothing may get lost by that. */
	for (int i = 0; i < 30; i++) {
		work_ms(100);
		CHECK_OK(capture_turn(c));
	}
	spent = (double)(clock_process_cpu_ns() - start);
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	vec_for_each (one, &capture_collector(c)->list) {
		CHECK_INT((u64)one->value % (NS_PER_S / o.kernel.rate_hz / CLOCK_PARTS), 0);
		value += one->value;
	}
	room = 0.03 * spent;
	CHECK(value > spent - room && value < spent + room);
}

/* Some milliseconds of a program, by its own clock. */
static void run_briefly(int times)
{
	static const char work[] = "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); done";

	for (int i = 0; i < times; i++) {
		pid_t child = fork();
		int status = 1;

		if (!child) {
			execl("/bin/sh", "sh", "-c", work, (char *)NULL);
			_exit(127);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
	}
}

TEST(new_processes_of_known_files_are_walked_before_anybody_looks_at_them)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	struct capture_stats before, after;
	double samples, whole;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("under valgrind programs are started by valgrind");
		return;
	}
	o.kernel.rate_hz = 1000;
	c = open_capture(o);
	if (!c)
		return;
	CHECK_OK(capture_choose(c, (u32)getpid()));
	CHECK_OK(capture_start(c, NULL));
	/* Until the files are read. */
	for (int i = 0; i < 100 && (i < 10 || modules_pending(capture_modules(c))); i++) {
		run_briefly(5);
		CHECK_OK(capture_turn(c));
	}
	capture_stats(c, &before);
	run_briefly(100);
	capture_stats(c, &after);
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	samples = (double)(after.kernel.samples - before.kernel.samples);
	whole = (double)(after.kernel.ends[UNWIND_ROOT] - before.kernel.ends[UNWIND_ROOT]);
	CHECK(samples > 200);
	CHECK(whole >= 0.95 * samples);
	CHECK((double)(after.kernel.raw - before.kernel.raw) <= 0.01 * samples);
}

/* Starts a copy of sleep, a file that is unknown to the agent. */
static pid_t start_fresh(const char *path)
{
	CLEANUP(buf_release) struct buf program = BUF_INIT(1 << 22);
	pid_t child;

	if (file_read("/bin/sleep", &program, NULL) != ERR_OK ||
	    file_write(path, buf_view(&program), OUTPUT_NO_SYNC, NULL) != ERR_OK ||
	    chmod(path, 0755))
		return -1;
	child = fork();
	if (!child) {
		execl(path, "sleep", "600", (char *)NULL);
		_exit(127);
	}
	return child;
}

static const struct module *module_at(struct modules *m, const char *path)
{
	const struct module *module;

	for (u32 i = 0; (module = modules_get(m, i)) || i < 4096; i++)
		if (module && str_eq(module->path, str_of(path)))
			return module;
	return NULL;
}

TEST(a_program_that_begins_has_tables_before_its_first_sample)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	char folder[] = "/tmp/vestal-capture-XXXXXX", path[64];
	const struct module *module = NULL;
	int64_t end;
	pid_t child;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("under valgrind programs are started by valgrind");
		return;
	}
	/* No targets. */
	o.kernel.rate_hz = 1;
	c = open_any(o);
	if (!c)
		return;
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/fresh", folder);
	CHECK_OK(capture_start(c, NULL));
	child = start_fresh(path);
	CHECK(child > 0);
	end = clock_monotonic_ns() + 60 * NS_PER_S;
	while (clock_monotonic_ns() < end && (!module || module->state != MODULE_READY)) {
		capture_wait(c, NS_PER_S);
		CHECK_OK(capture_turn(c));
		module = module_at(capture_modules(c), path);
	}
	CHECK(module && module->state == MODULE_READY);
	CHECK(!processes_last(capture_processes(c), (u32)child)->wanted);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(path);
	rmdir(folder);
	capture_stop(c);
}

/* How many processes of this name have a row. */
static size_t processes_called(struct capture *c, const char *name)
{
	u32 seen[16];
	size_t n = 0;

	vec_for_each (one, &capture_collector(c)->list) {
		const struct process *process = one->sample.process;
		size_t at = 0;

		while (at < n && seen[at] != process->pid)
			at++;
		if (at == n && n < 16 && !strncmp(process->comm, name, sizeof(process->comm)))
			seen[n++] = process->pid;
	}
	return n;
}

TEST(what_is_selected_by_its_name_waits_for_nothing_that_proc_says)
{
	struct capture_options o = capture_options_default;
	CLEANUP(close_capture) struct capture *c = NULL;
	struct target sh = TARGET_ANY;
	CLEANUP(targets_release) struct targets targets = {0};

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("under valgrind programs are started by valgrind");
		return;
	}
	sh.name = "sh";
	CHECK_OK(targets_add(&targets, &sh, NULL));
	o.targets = &targets;
	o.kernel.rate_hz = 1000;
	c = open_any(o);
	if (!c)
		return;
	/* One question, and no more in this life. */
	prober_set_pace(capture_prober(c), 1);
	CHECK_OK(capture_start(c, NULL));
	run_briefly(10);
	CHECK_OK(capture_turn(c));
	CHECK(processes_called(c, "sh") >= 8);
	capture_stop(c);
}
