/* Samples of perf events made by hand, who is followed, and what /proc says of a process. */
#include <unistd.h>

#include "agent/own_sample.h"
#include "agent/own_scan.h"
#include "agent/own_tasks.h"
#include "test.h"

static char record[4096] __attribute__((aligned(8)));

struct maker {
	size_t n;
};

static void put(struct maker *m, u64 value)
{
	memcpy(record + m->n, &value, sizeof(value));
	m->n += sizeof(value);
}

/* A sample with two kernel frames (when asked), numbered registers and 16 of 32 bytes of stack. */
static struct perf_event_header *sample(bool chain, u64 abi)
{
	struct maker m = {sizeof(struct perf_event_header)};
	struct perf_event_header *h = (void *)record;

	memset(record, 0, sizeof(record));
	put(&m, (u64)11 << 32 | 10);
	put(&m, 1234);
	put(&m, 1000000);
	if (chain) {
		put(&m, 3);
		put(&m, (u64)PERF_CONTEXT_KERNEL);
		put(&m, 0xffffffff81000010);
		put(&m, 0xffffffff81000020);
	}
	put(&m, abi);
	for (u64 i = 0; abi && i < 17; i++)
		put(&m, 100 + i);
	put(&m, abi ? 32 : 0);
	for (u64 i = 0; abi && i < 4; i++)
		put(&m, 200 + i);
	if (abi)
		put(&m, 16);
	h->type = PERF_RECORD_SAMPLE;
	h->size = (u16)m.n;
	return h;
}

TEST(a_sample_becomes_a_raw_record)
{
	struct buf to = BUF_INIT(65536);
	const struct record_head *head;
	const u64 *words;

	CHECK(own_sample_parse(sample(true, PERF_SAMPLE_REGS_ABI_64), true, &to));
	head = (const void *)to.data;
	CHECK(head->pid == 10 && head->tid == 11 && head->time == 1234 && head->value == 1000000);
	CHECK(head->kind == RECORD_CPU && head->flags == RECORD_RAW && head->syscall == -1);
	CHECK_INT(head->kernel_frames, 2);
	CHECK_INT(head->stack_size, 16);
	words = (const u64 *)(head + 1);
	CHECK(words[0] == 0xffffffff81000010 && words[1] == 0xffffffff81000020);
	words += 2;
	/* rax, then rdx, rcx, rbx; rbp, rsp; r8 to r15; rip. */
	CHECK(words[0] == 100 && words[1] == 103 && words[2] == 102 && words[3] == 101);
	CHECK(words[6] == 106 && words[7] == 107 && words[8] == 109 && words[15] == 116);
	CHECK(words[16] == 108);
	CHECK(words[17] == 200 && words[18] == 201);
	CHECK_INT(to.n, sizeof(*head) + 8 * (2 + 17) + 16);
	buf_release(&to);
}

TEST(a_sample_without_user_registers_is_one_of_the_kernel)
{
	struct buf to = BUF_INIT(65536);

	CHECK(own_sample_parse(sample(false, PERF_SAMPLE_REGS_ABI_NONE), false, &to));
	CHECK_INT(((const struct record_head *)to.data)->flags, RECORD_NO_USER);
	CHECK_INT(to.n, sizeof(struct record_head));
	buf_release(&to);
}

TEST(a_sample_that_is_cut_anywhere_or_lies_about_sizes_is_refused)
{
	struct buf to = BUF_INIT(65536);
	struct perf_event_header *h = sample(true, PERF_SAMPLE_REGS_ABI_64);
	u16 whole = h->size;
	u64 huge = UINT64_MAX;

	for (u16 size = sizeof(*h); size < whole; size++) {
		h->size = size;
		CHECK(!own_sample_parse(h, true, &to));
	}
	h->size = whole;
	h->type = PERF_RECORD_MMAP2;
	CHECK(!own_sample_parse(h, true, &to));
	h = sample(true, PERF_SAMPLE_REGS_ABI_64);
	memcpy(record + sizeof(*h) + 24, &huge, sizeof(huge)); /* frames */
	CHECK(!own_sample_parse(h, true, &to));
	h = sample(true, PERF_SAMPLE_REGS_ABI_64);
	memcpy(record + whole - 48, &huge, sizeof(huge)); /* the stack's room */
	CHECK(!own_sample_parse(h, true, &to));
	h = sample(true, PERF_SAMPLE_REGS_ABI_64);
	memcpy(record + whole - 8, &huge, sizeof(huge)); /* what is filled of it */
	CHECK(!own_sample_parse(h, true, &to));
	buf_release(&to);
}

TEST(a_root_is_given_up_when_its_last_task_has_ended)
{
	struct own_tasks t = {0};
	u32 root = 77;

	CHECK_OK(own_tasks_add(&t, &(struct own_task){.tid = 20, .pid = 20, .root = 1}));
	CHECK_OK(own_tasks_add(&t, &(struct own_task){.tid = 10, .pid = 10, .root = 0}));
	CHECK_OK(own_tasks_add(&t, &(struct own_task){.tid = 15, .pid = 10, .root = 0}));
	/* Told twice. */
	CHECK_OK(own_tasks_add(&t, &(struct own_task){.tid = 15, .pid = 10, .root = 0}));
	CHECK_INT(own_tasks_find(&t, 15)->pid, 10);
	CHECK(!own_tasks_find(&t, 16));
	CHECK(!own_tasks_remove(&t, 16, &root));
	CHECK(!own_tasks_remove(&t, 10, &root));
	CHECK(own_tasks_remove(&t, 15, &root));
	CHECK_INT(root, 0);
	CHECK(own_tasks_find(&t, 20) && !own_tasks_find(&t, 15));
	CHECK(own_tasks_remove(&t, 20, &root));
	CHECK_INT(root, 1);
	own_tasks_release(&t);
}

static enum err add_some(void)
{
	struct own_tasks t = {0};
	enum err e = ERR_OK;

	for (u32 i = 0; !e && i < 100; i++)
		e = own_tasks_add(&t, &(struct own_task){.tid = 200 - i, .pid = 1, .root = i});
	own_tasks_release(&t);
	return e;
}

TEST(tasks_survive_a_lack_of_memory)
{
	ALLOC_SWEEP(add_some());
}

TEST(a_process_whose_name_looks_like_the_line_itself_is_understood)
{
	u32 parent = 0;
	u64 start = 0;

	CHECK(stat_parse(
		STR("77 (a) R 9 (b) S 42 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 250 9 9"),
		&parent, &start));
	CHECK_INT(parent, 42);
	CHECK_INT(start, 250 * (1000000000 / sysconf(_SC_CLK_TCK)));
	CHECK(!stat_parse(STR("77 (a) S 42"), &parent, &start));
	CHECK(!stat_parse(STR(""), &parent, &start));
	CHECK(stat_read((u32)getpid(), &parent, &start));
	CHECK_INT(parent, getppid());
}

static enum err count_one(void *context, u32 number)
{
	u32 *count = context;

	*count += number > 0;
	return ERR_OK;
}

TEST(own_processes_and_threads_are_listed)
{
	u32 processes = 0, threads = 0;

	CHECK_OK(scan_processes(geteuid(), &processes, count_one));
	CHECK_OK(scan_threads((u32)getpid(), &threads, count_one));
	CHECK(processes >= 1 && threads >= 1);
	CHECK_ERR(scan_threads(INT32_MAX, &threads, count_one), ERR_NOT_FOUND);
}
