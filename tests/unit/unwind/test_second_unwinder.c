/*
 * An unwinder that the product does not have, plugged into its walks as an interpreter's would be:
 * one row (tests/meson.build) and one function (toy_unwinder.h).
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "bpf/records.h"
#include "second_unwinder.skel.h"
#include "test.h"
#include "unwind/arch_x86_64.h"
#include "unwind/unwind.h"
#include "unwind/unwind_frame.h"
#include "unwind/unwinders.h"

struct toy_frame {
	u64 code;
	u64 caller;
};

static struct toy_frame toy[3];

static void fill_toy(void)
{
	toy[0] = (struct toy_frame){0x111, 0};
	toy[1] = (struct toy_frame){0x222, (u64)(uintptr_t)&toy[0]};
	toy[2] = (struct toy_frame){0x333, (u64)(uintptr_t)&toy[1]};
}

#define TOY_WORD(code) ((u64)FRAME_OTHER << FRAME_KIND_SHIFT | (code))

/* ---- outside the kernel ---- */

#define LOOP 0x1000ull /* the interpreter's code */

static bool read_own(void *context, u64 address, u64 *ret)
{
	(void)context;
	*ret = *(const u64 *)(uintptr_t)address;
	return true;
}

static int rule_of(void *context, u64 address, u32 *ret)
{
	(void)context;
	*ret = address == LOOP ? UNWIND_RULE_OTHER(UNWINDER_TOY)
			       : UNWIND_RULE_OTHER(UNWINDER_FRAME_POINTERS);
	return -1;
}

/* From low to high: what the loop keeps, its frame, its caller's, and the end. */
struct made_stack {
	u64 newest, loop_bp, loop_ra, caller_bp, caller_ra;
};

static enum unwind_end walk_toy(struct made_stack *s, u64 *words, size_t max, size_t *ret)
{
	struct unwind_process p = {.read = read_own, .rule = rule_of};
	u64 registers[17] = {[ARCH_DWARF_RA] = LOOP,
			     [ARCH_DWARF_RSP] = (u64)(uintptr_t)&s->newest,
			     [ARCH_DWARF_RBP] = (u64)(uintptr_t)&s->loop_bp};

	fill_toy();
	*s = (struct made_stack){.newest = (u64)(uintptr_t)&toy[2],
				 .loop_bp = (u64)(uintptr_t)&s->caller_bp,
				 .loop_ra = 0x2000};
	return unwind_walk(&p, registers, words, max, ret);
}

TEST(its_frames_stand_between_those_of_machine_code)
{
	static const u64 truth[] = {LOOP, TOY_WORD(0x333), TOY_WORD(0x222), TOY_WORD(0x111),
				    0x2000};
	struct made_stack s;
	u64 words[8];
	size_t n;

	CHECK_INT(walk_toy(&s, words, 8, &n), UNWIND_ROOT);
	CHECK(n == 5 && !memcmp(words, truth, sizeof(truth)));
}

TEST(a_stack_that_is_full_ends_within_its_frames)
{
	struct made_stack s;
	u64 words[8];
	size_t n;

	for (size_t max = 1; max < 5; max++) {
		CHECK_INT(walk_toy(&s, words, max, &n), UNWIND_CUT);
		CHECK_INT(n, max);
	}
	CHECK_INT(walk_toy(&s, words, 5, &n), UNWIND_ROOT);
}

static int rule_in(void *context, u64 address, u32 *ret)
{
	(void)address;
	*ret = *(const u32 *)context;
	return -1;
}

TEST(a_number_that_nobody_has_ends_the_walk)
{
	for (u32 number = 0; number < UNWIND_OTHER_MAX; number++) {
		u32 rule = UNWIND_RULE_OTHER(number);
		struct unwind_process p = {.context = &rule, .read = read_own, .rule = rule_in};
		u64 registers[17] = {[ARCH_DWARF_RA] = 1}, words[4];
		size_t n;

		if (number && number < UNWINDER_COUNT)
			continue;
		CHECK_INT(unwind_walk(&p, registers, words, 4, &n), UNWIND_NO_RULE);
		CHECK_INT(n, 1);
	}
}

/* ---- in the kernel ---- */

/* push %rbp; mov %rsp,%rbp; push %rdi; jmp itself */
static const u8 loop_code[] = {0x55, 0x48, 0x89, 0xe5, 0x57, 0xeb, 0xfe};

__attribute__((noinline)) static void run_toy(void *code)
{
	void (*loop)(struct toy_frame *) = (void (*)(struct toy_frame *))(uintptr_t)code;

	fill_toy();
	loop(&toy[2]);
	__asm__ volatile("");
}

struct seen {
	u64 loop, caller; /* where the code is */
	u32 pid;
	u32 right, wrong;
	struct record_head last;
};

static int look(void *context, void *data, size_t size)
{
	struct seen *s = context;
	const struct record_head *head = data;
	const u64 *user = (const u64 *)(head + 1) + head->kernel_frames;

	if (size < sizeof(*head) || head->pid != s->pid || head->flags || head->user_frames < 1 ||
	    user[0] < s->loop || user[0] >= s->loop + sizeof(loop_code))
		return 0;
	s->last = *head;
	/* Its first instructions are not seen as the loop: rbp is not its own yet. */
	if (user[0] - s->loop < 5)
		return 0;
	if (head->user_frames >= 5 && user[1] == TOY_WORD(0x333) && user[2] == TOY_WORD(0x222) &&
	    user[3] == TOY_WORD(0x111) && user[4] > s->caller && user[4] < s->caller + 4096)
		s->right++;
	else
		s->wrong++;
	return 0;
}

/* The numbers of /proc/self/stat that tell one program from the next: a child has the same. */
static u32 own_address_space(void)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct str rest, field;
	u64 number[29] = {0};

	if (file_read("/proc/self/stat", &text, NULL) != ERR_OK)
		return 0;
	rest = buf_view(&text);
	while (rest.n && rest.p[rest.n - 1] != ')')
		rest.n--;
	rest = str_skip(buf_view(&text), rest.n + 1);
	for (u32 i = 3; i < 29 && str_split(&rest, ' ', &field); i++)
		if (str_to_u64(field, 10, &number[i]) != ERR_OK)
			number[i] = 0;
	return address_space_of(number[26], number[28]);
}

static int open_clock(pid_t pid)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = NS_PER_MS};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Table memory is an array of maps; the kernel keeps the map as long as it is in there. */
static int put_segment(struct second_bpf *b, const void *bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "segment", sizeof(u32), UNWIND_SEGMENT_SIZE, 1,
				 &o),
	    e = -1;
	u32 zero = 0;

	if (map >= 0 && !bpf_map_update_elem(map, &zero, bytes, BPF_ANY))
		e = bpf_map__update_elem(b->maps.segments, &zero, sizeof(zero), &map, sizeof(map),
					 BPF_ANY);
	if (map >= 0)
		close(map);
	return e;
}

static bool tell_kernel(struct second_bpf *b, const struct seen *s)
{
	struct unwind_mapping *list = mem_zalloc(1, UNWIND_SEGMENT_SIZE);
	struct unwind_mapping loop = {.start = s->loop, .length = 1, .unwinder = UNWINDER_TOY};
	struct unwind_mapping rest = {
		.start = s->caller & ~0xfffull, .length = 2, .unwinder = UNWINDER_FRAME_POINTERS};
	struct process_key key = {s->pid, own_address_space()};
	struct process_entry entry = {.mappings = 1, .count = 2};
	bool first = loop.start < rest.start;
	int e = -1;

	if (list) {
		/* Unit 1: 8 bytes from the begin. */
		memcpy((char *)list + UNWIND_UNIT, first ? &loop : &rest, sizeof(loop));
		memcpy((char *)list + UNWIND_UNIT + sizeof(loop), first ? &rest : &loop,
		       sizeof(loop));
		e = put_segment(b, list);
	}
	mem_free(list);
	return !e && !bpf_map__update_elem(b->maps.processes, &key, sizeof(key), &entry,
					   sizeof(entry), 0);
}

static struct second_bpf *load(void)
{
	struct second_bpf *b = second_bpf__open();
	struct bpf_program *p;

	if (!b)
		return NULL;
	bpf_object__for_each_program(p, b->obj)
		bpf_program__set_autoload(p, p == b->progs.on_timer);
	bpf_map__set_max_entries(b->maps.ring, 1 << 20);
	if (second_bpf__load(b)) {
		second_bpf__destroy(b);
		return NULL;
	}
	return b;
}

TEST(the_kernel_calls_it_for_frames_of_its_mapping)
{
	struct second_bpf *b;
	struct seen seen = {.caller = (u64)(uintptr_t)run_toy};
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ring_buffer *ring;
	struct bpf_link *link;
	int clock;

	if (geteuid()) {
		test_skip("needs root");
		return;
	}
	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind runs the code elsewhere");
		return;
	}
	CHECK(code != MAP_FAILED);
	memcpy(code, loop_code, sizeof(loop_code));
	b = load();
	CHECK(b);
	seen.loop = (u64)(uintptr_t)code;
	seen.pid = (u32)fork();
	if (!seen.pid) {
		/* A check that fails leaves nobody to end it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_toy(code);
	}
	CHECK(tell_kernel(b, &seen));
	ring = ring_buffer__new(bpf_map__fd(b->maps.ring), look, &seen, NULL);
	clock = open_clock((pid_t)seen.pid);
	CHECK(ring && clock >= 0);
	link = bpf_program__attach_perf_event(b->progs.on_timer, clock);
	CHECK(link);
	for (u32 i = 0; i < 6000 && seen.right < 50 && !seen.wrong; i++) {
		clock_sleep_ns(10 * NS_PER_MS);
		CHECK(ring_buffer__consume(ring) >= 0);
	}
	kill((pid_t)seen.pid, SIGKILL);
	waitpid((pid_t)seen.pid, NULL, 0);
	if (seen.right < 50 || seen.wrong)
		test_fail(__FILE__, __LINE__, "%u right, %u wrong; the last has %u frames, end %u",
			  seen.right, seen.wrong, seen.last.user_frames, seen.last.end);
	bpf_link__destroy(link);
	ring_buffer__free(ring);
	second_bpf__destroy(b);
	munmap(code, 4096);
}
