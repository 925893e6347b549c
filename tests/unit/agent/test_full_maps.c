/*
 * BPF maps that have no room left, with the programs in the kernel: what is lost by that is counted
 * under its cause, and nothing else is lost. Needs root: without it all is skipped.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/capture_internal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

/* No process or thread has such a number. */
#define NOBODY	   0x70000000u
#define FD_MOST	   4096
#define KEY_MOST   64
#define VALUE_MOST 512

static void close_capture(struct capture **c)
{
	capture_close(*c);
}

static struct capture *open_capture(unsigned types)
{
	struct capture_options o = capture_options_default;
	struct capture *c = NULL;

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("under valgrind threads wait for one another");
		return NULL;
	}
	o.kernel.types = types;
	o.kernel.rate_hz = 499;
	o.kernel.chosen = true;
	if (geteuid() || capture_open(&o, &c, NULL) != ERR_OK) {
		test_skip(geteuid() ? "needs root" : "this kernel does not load the programs");
		return NULL;
	}
	if (capture_choose(c, (u32)getpid()) != ERR_OK) {
		capture_close(c);
		return NULL;
	}
	return c;
}

/* The descriptor of one of this capture's maps; -1 = there is none. */
static int map_of(const char *name, struct bpf_map_info *ret)
{
	for (int fd = 3; fd < FD_MOST; fd++) {
		u32 size = sizeof(*ret);

		memset(ret, 0, sizeof(*ret));
		/* Of other descriptors it is something else that comes back. */
		if (!bpf_obj_get_info_by_fd(fd, ret, &size) && size == sizeof(*ret) &&
		    !strcmp(ret->name, name))
			return fd;
	}
	return -1;
}

/* Entries of nobody until there is no room for more; returns how many. */
static u32 fill(const char *name)
{
	struct bpf_map_info info;
	int fd = map_of(name, &info);
	u32 n = 0;

	if (fd < 0 || info.key_size > KEY_MOST || info.value_size > VALUE_MOST)
		return 0;
	for (; n <= info.max_entries; n++) {
		u32 key[KEY_MOST / 4] = {NOBODY + n};
		char value[VALUE_MOST] = {0};

		if (bpf_map_update_elem(fd, key, value, BPF_NOEXIST))
			break;
	}
	return n;
}

static bool drop_filler(const char *name, u32 from, u32 count)
{
	struct bpf_map_info info;
	int fd = map_of(name, &info);
	bool gone = fd >= 0;

	for (u32 i = from; gone && i < from + count; i++) {
		u32 key[KEY_MOST / 4] = {NOBODY + i};

		gone = !bpf_map_delete_elem(fd, key);
	}
	return gone;
}

/* Every thread's place has another one. */
static bool occupy_places(void)
{
	struct bpf_map_info info;
	int fd = map_of("wait_places", &info);
	struct wait_start nobody = {.tid = NOBODY};
	bool done = fd >= 0;

	for (u32 i = 0; done && i < info.max_entries; i++)
		done = !bpf_map_update_elem(fd, &i, &nobody, BPF_ANY);
	return done;
}

struct lost_sum {
	u32 kind, cause;
	double count, value;
	double own; /* of `count`: of this process */
};

static void sum_lost(const struct capture *c, struct lost_sum *s)
{
	struct losses *l = capture_losses((struct capture *)c);

	vec_for_each (one, &l->list) {
		if (one->key.kind != s->kind || one->key.cause != s->cause)
			continue;
		s->count += one->count;
		s->value += one->value;
		s->own += one->key.pid == (u32)getpid() ? one->count : 0;
	}
}

static double collected(struct capture *c, u32 kind)
{
	double value = 0;

	vec_for_each (one, &capture_collector(c)->list)
		if (one->sample.kind == kind)
			value += one->value;
	return value;
}

#define SLEEPS 40

static void *sleep_often(void *unused)
{
	for (int i = 0; i < SLEEPS; i++)
		clock_sleep_ns(2 * NS_PER_MS);
	return unused;
}

static bool sleep_in_a_thread(void)
{
	pthread_t thread;

	return !pthread_create(&thread, NULL, sleep_often, NULL) && !pthread_join(thread, NULL);
}

TEST(waits_of_threads_for_which_there_is_no_room_are_counted_as_lost)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_WAITS);
	struct lost_sum lost = {.kind = RECORD_WAIT, .cause = LOSS_TABLE};

	if (!c)
		return;
	CHECK(occupy_places());
	CHECK(fill("waits") > 1000);
	CHECK_OK(capture_start(c, NULL));
	CHECK(sleep_in_a_thread());
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	sum_lost(c, &lost);
	CHECK(lost.own >= SLEEPS);
	CHECK_INT(llround(lost.value), 0);
}

/* As if each CPU were in the middle of another sample. */
static bool occupy_scratches(u32 which)
{
	struct bpf_map_info info;
	int fd = map_of("scratches", &info), cpus = libbpf_num_possible_cpus();
	size_t size;
	bool done;
	void *value;

	if (fd < 0 || cpus <= 0)
		return false;
	size = (size_t)cpus * ((info.value_size + 7u) & ~7u);
	value = mem_alloc(size);
	if (!value)
		return false;
	memset(value, 0xff, size);
	done = !bpf_map_update_elem(fd, &which, value, BPF_ANY);
	mem_free(value);
	return done;
}

TEST(losses_of_processes_for_which_there_is_no_room_are_nobodys)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_WAITS);
	struct lost_sum lost = {.kind = RECORD_WAIT, .cause = LOSS_NESTED};

	if (!c)
		return;
	CHECK(fill("losses") > 100);
	CHECK_OK(capture_start(c, NULL));
	/* Of tracepoints (enum scratch_user). */
	CHECK(occupy_scratches(1));
	CHECK(sleep_in_a_thread());
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	sum_lost(c, &lost);
	/* Nearly all of the sleeps are sampled, those of 2 ms with 86 %. */
	CHECK(lost.count >= SLEEPS / 2);
	CHECK_INT(llround(lost.own), 0);
	CHECK(lost.value >= SLEEPS / 2 * 2.0 * NS_PER_MS);
	/* They are told once. */
	lost.count = 0;
	capture_losses(c)->list.n = 0;
	sum_lost(c, &lost);
	CHECK_INT(llround(lost.count), 0);
}

TEST(turns_of_threads_for_which_there_is_no_room_are_counted_as_lost)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_LOOPS);
	struct lost_sum lost = {.kind = RECORD_LOOP, .cause = LOSS_TABLE};
	struct epoll_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (!c || epoll < 0) {
		close(epoll);
		return;
	}
	CHECK(fill("loops") > 1000);
	CHECK_OK(capture_start(c, NULL));
	for (int i = 0; i < SLEEPS; i++)
		CHECK_INT(epoll_wait(epoll, &event, 1, 1), 0);
	capture_stop(c);
	close(epoll);
	CHECK_OK(capture_finish(c, NS_PER_S));
	sum_lost(c, &lost);
	CHECK(lost.own >= SLEEPS - 1);
}

static void spin_ms(int64_t ms)
{
	int64_t end = clock_process_cpu_ns() + ms * NS_PER_MS;

	while (clock_process_cpu_ns() < end)
		;
}

/* A child that uses so much CPU time; its pid, or 0. */
static u32 run_child(int64_t ms)
{
	int status = 1;
	pid_t child = fork();

	if (!child) {
		spin_ms(ms);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status ? (u32)child : 0;
}

#define CHILD_MS 300

/* Until these processes, which have ended, have no entries. The kernel frees processes by RCU
 * callbacks, which take minutes on a machine with thousands of processes that come and go. */
static bool until_freed(const char *name, const u32 *pids, u32 n)
{
	int64_t end = clock_monotonic_ns() + 240 * NS_PER_S;
	struct bpf_map_info info;
	int fd = map_of(name, &info);
	u32 decision;

	for (u32 i = 0; i < n; i++)
		while (!bpf_map_lookup_elem(fd, &pids[i], &decision)) {
			if (clock_monotonic_ns() > end)
				return false;
			clock_sleep_ns(10 * NS_PER_MS);
		}
	return true;
}

TEST(children_of_targets_that_ended_make_room_for_others)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_CPU);
	u32 pids[4];

	if (!c)
		return;
	CHECK(fill("targets") > 1000);
	/* Room for the first ones. */
	CHECK(drop_filler("targets", 0, 4));
	CHECK_OK(capture_start(c, NULL));
	for (int i = 0; i < 4; i++) {
		pids[i] = run_child(0);
		CHECK(pids[i]);
	}
	CHECK(until_freed("targets", pids, 4));
	CHECK(run_child(CHILD_MS));
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	CHECK(collected(c, RECORD_CPU) > 0.8 * CHILD_MS * NS_PER_MS);
}

TEST(children_for_which_there_is_no_room_are_counted_as_lost)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_CPU);
	struct lost_sum lost = {.kind = RECORD_CPU, .cause = LOSS_TABLE};

	if (!c)
		return;
	CHECK(fill("targets") > 1000);
	CHECK_OK(capture_start(c, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(run_child(1));
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	sum_lost(c, &lost);
	CHECK_INT(llround(lost.own), 3);
}

TEST(stacks_are_whole_when_no_process_and_no_file_has_room)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_CPU);
	struct capture_stats stats;
	u64 whole;

	if (!c)
		return;
	CHECK(fill("processes") > 1000);
	CHECK(fill("files") > 1000);
	CHECK_OK(capture_start(c, NULL));
	for (int i = 0; i < 10; i++) {
		spin_ms(50);
		CHECK_OK(capture_turn(c));
	}
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	capture_stats(c, &stats);
	whole = capture_collector(c)->ends[UNWIND_ROOT];
	CHECK(capture_collector(c)->samples > 100);
	CHECK_INT(capture_collector(c)->samples, stats.kernel.samples);
	/* They are sent raw, as many as there is room for, and walked by the agent. */
	CHECK(stats.kernel.raw > 0);
	CHECK(10 * whole > 9 * capture_collector(c)->samples);
}

TEST(threads_that_ended_during_a_pause_keep_no_room)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_WAITS | CAPTURE_LOOPS);
	struct lost_sum lost = {.kind = RECORD_WAIT, .cause = LOSS_TABLE};
	struct kernel_side *k;

	if (!c)
		return;
	k = capture_kernel(c);
	CHECK_OK(capture_start(c, NULL));
	kernel_pause(k);
	/* What threads leave behind that end now. */
	CHECK(occupy_places());
	CHECK(fill("waits") > 1000);
	CHECK(fill("loops") > 1000);
	CHECK_OK(kernel_resume(k, NULL));
	CHECK(sleep_in_a_thread());
	capture_stop(c);
	CHECK_OK(capture_finish(c, NS_PER_S));
	sum_lost(c, &lost);
	CHECK_INT(llround(lost.count), 0);
	CHECK(collected(c, RECORD_WAIT) > SLEEPS * 1.0 * NS_PER_MS);
}

/* ---- what is kept of threads that ended ---- */

/* Whether a thread has an entry. */
static bool has_entry(u32 tid)
{
	struct bpf_map_info info;
	struct wait_start w = {0};
	u32 at = tid & (WAIT_PLACES - 1);

	if (!bpf_map_lookup_elem(map_of("wait_places", &info), &at, &w) && w.tid == tid)
		return true;
	return !bpf_map_lookup_elem(map_of("waits", &info), &tid, &w);
}

static bool until_entry(u32 tid)
{
	int64_t end = clock_monotonic_ns() + 60 * NS_PER_S;

	while (!has_entry(tid)) {
		if (clock_monotonic_ns() > end)
			return false;
		clock_sleep_ns(NS_PER_MS);
	}
	return true;
}

struct meeting {
	int there[2], back[2];
	u32 tid;
};

/* Blocks until it is told to go on, as another program. */
static void *exec_later(void *context)
{
	const struct meeting *m = context;
	u32 tid = (u32)syscall(SYS_gettid);
	char byte;

	if (write(m->there[1], &tid, sizeof(tid)) != sizeof(tid) || read(m->back[0], &byte, 1) != 1)
		_exit(1);
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

TEST(a_thread_that_runs_another_program_leaves_no_entry_behind)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_WAITS);
	struct meeting m;
	int status = 1;
	pthread_t thread;
	pid_t child;
	u32 tid = 0;

	if (!c)
		return;
	CHECK(!pipe(m.there) && !pipe(m.back));
	CHECK_OK(capture_start(c, NULL));
	child = fork();
	if (!child) {
		if (pthread_create(&thread, NULL, exec_later, &m))
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(read(m.there[0], &tid, sizeof(tid)) == sizeof(tid));
	CHECK((pid_t)tid != child);
	CHECK(until_entry(tid));
	CHECK(write(m.back[1], "x", 1) == 1);
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK(!has_entry(tid));
	capture_stop(c);
	for (int i = 0; i < 2; i++) {
		close(m.there[i]);
		close(m.back[i]);
	}
}

/* Whether a thread of this process has not ended yet. */
static bool is_there(u32 tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
	return !access(path, F_OK);
}

#define ENDINGS	    20
#define PAGE_STRIDE ((size_t)1 << 20)

/* A private mapping of a file that has to be read from the disk; NULL = not to be had. */
static char *map_from_disk(void)
{
	char path[] = "/var/tmp/vestal-full-maps-XXXXXX";
	int fd = mkstemp(path);
	char page[4096] = {1}, *memory;

	if (fd < 0)
		return NULL;
	unlink(path);
	for (int i = 0; i < ENDINGS; i++)
		if (pwrite(fd, page, sizeof(page), (off_t)(i * PAGE_STRIDE)) != sizeof(page))
			return NULL;
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return NULL;
	memory = mmap(NULL, ENDINGS * PAGE_STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	return memory == MAP_FAILED || madvise(memory, ENDINGS * PAGE_STRIDE, MADV_RANDOM) ? NULL
											   : memory;
}

struct ending {
	atomic_uint tid;
	char *page;
};

/* At its end the kernel clears the word that it names, and waits for the disk to do so. */
static void *end_late(void *context)
{
	struct ending *e = context;

	atomic_store(&e->tid, (unsigned)syscall(SYS_set_tid_address, e->page));
	syscall(SYS_exit, 0);
	return NULL;
}

/* In a child, whose threads need not end well. Returns how many left an entry behind; above 100 it
 * went wrong. */
static int end_threads(void)
{
	char *memory = map_from_disk();
	int left = 0;

	if (!memory)
		return 101;
	for (int i = 0; i < ENDINGS; i++) {
		struct ending e = {.page = memory + i * PAGE_STRIDE};
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_late, &e))
			return 102;
		while (!atomic_load(&e.tid) || is_there(atomic_load(&e.tid)))
			clock_sleep_ns(NS_PER_MS);
		left += has_entry(atomic_load(&e.tid));
	}
	return left;
}

TEST(a_thread_that_waits_while_it_ends_leaves_no_entry_behind)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_WAITS);
	int status = 0;
	pid_t child;

	if (!c)
		return;
	CHECK_OK(capture_start(c, NULL));
	child = fork();
	if (!child)
		_exit(end_threads());
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	capture_stop(c);
	CHECK_INT(WEXITSTATUS(status), 0);
}

/* As the programs send it when bpf_get_stack fails. */
TEST(a_stack_that_lacks_its_kernel_part_is_truncated)
{
	CLEANUP(close_capture) struct capture *c = open_capture(CAPTURE_CPU);
	struct record_head head = {.kind = RECORD_CPU,
				   .flags = RECORD_NO_USER,
				   .pid = (u32)getpid(),
				   .tid = (u32)getpid(),
				   .syscall = -1,
				   .value = NS_PER_MS};

	if (!c)
		return;
	CHECK_OK(capture_handle(c, &head, sizeof(head)));
	CHECK_INT(capture_collector(c)->ends[UNWIND_ROOT], 1);
	head.flags |= RECORD_KERNEL_CUT;
	CHECK_OK(capture_handle(c, &head, sizeof(head)));
	CHECK_INT(capture_collector(c)->ends[UNWIND_ROOT], 1);
	CHECK_INT(capture_collector(c)->ends[UNWIND_CUT], 1);
}
