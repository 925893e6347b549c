// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The BPF programs of the agent. `on_timer` records a stack when a CPU's timer fires; the
 * scheduler's tracepoints measure waits. A stack that cannot be unwound here (its tables are not
 * built yet, or the process is new) is sent raw and unwound by the agent.
 */
#include "unwind_user.h"
#include "lost_records.h"

#include "calls.h"

char licence[] SEC("license") = "Dual BSD/GPL";

static __always_inline bool wanted(u32 pid)
{
	u32 *decided;

	if (!settings.targets)
		return true;
	decided = bpf_map_lookup_elem(&targets, &pid);
	return decided ? *decided == TARGET_CHOSEN : settings.undecided;
}

static __always_inline void take_registers(struct scratch *s, const struct pt_regs *r)
{
	u64 *to = s->registers;

	to[0] = r->ax;
	to[1] = r->dx;
	to[2] = r->cx;
	to[3] = r->bx;
	to[4] = r->si;
	to[5] = r->di;
	to[6] = r->bp;
	to[7] = r->sp;
	to[8] = r->r8;
	to[9] = r->r9;
	to[10] = r->r10;
	to[11] = r->r11;
	to[12] = r->r12;
	to[13] = r->r13;
	to[14] = r->r14;
	to[15] = r->r15;
	to[16] = r->ip;
}

/* Registers and the stack up to its end, at most 16 KiB, after the kernel's frames. */
__attribute__((noinline)) u32 take_raw(struct scratch *s, u32 first_word)
{
	u64 address, done = 0, at = first_word, stack = RECORD_RAW_STACK;

	if (!s)
		return 0;
	address = s->registers[ARCH_DWARF_RSP];
	if (s->vma_root && find_vma(s, address))
		stack = s->vma.end - address;
	unwind_hide(at);
	at &= 255;
	if (at > RECORD_KERNEL_FRAMES_MAX)
		return 0;
	for (int i = 0; i < RECORD_REGISTERS; i++)
		s->words[at + i] = s->registers[i];
	for (int piece = 0; piece < 5 && done < RECORD_RAW_STACK && done < stack; piece++) {
		u64 size = 4096 - (address & 4095), to = done;

		unwind_hide(to);
		to &= RECORD_RAW_STACK - 1;
		if (bpf_probe_read_user((u8 *)&s->words[at + RECORD_REGISTERS] + to, size,
					(const void *)address))
			break;
		done += size;
		address += size;
	}
	return done < RECORD_RAW_STACK ? done : RECORD_RAW_STACK;
}

/* Measured from begin to end; the rest of a program is short. */
static __always_inline void meter(struct kernel_counters *c, const struct scratch *s)
{
	u64 spent;

	if (!settings.meter || !c)
		return;
	spent = bpf_ktime_get_ns() - s->head.time;
	switch (s->head.kind) {
	case RECORD_CPU:
		c->timer_ns += spent;
		break;
	case RECORD_WAIT:
	case RECORD_WAKER:
	case RECORD_LEFT:
		c->wait_ns += spent;
		break;
	default:
		c->other_ns += spent;
	}
}

/*
 * Whether to wake the agent for this record. It is woken early for the first raw stack, since raw
 * stacks are truncated to RECORD_RAW_STACK bytes until the program has unwind tables.
 */
static __always_inline bool wakes_agent(const struct scratch *s)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > settings.wake_bytes)
		return true;
	if (!(s->head.flags & RECORD_RAW) || !settings.wake_on_news)
		return false;
	settings.wake_on_news = 0;
	return true;
}

static __always_inline void send(struct scratch *s, u64 size)
{
	struct kernel_counters *c = count();
	u64 flags = BPF_RB_NO_WAKEUP;

	if (size > sizeof(s->head) + sizeof(s->words))
		return;
	/* Without a wakeup the agent polls a few times a second. */
	if (wakes_agent(s))
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&ring, s, size, flags)) {
		if (c)
			c->dropped++;
		lose(s->head.pid, s->head.kind, loss_how(LOSS_RING, s->head.thin), s->head.value,
		     s->head.keep);
	}
	meter(c, s);
}

#define SYSCALL_EXECVE	 59
#define SYSCALL_EXECVEAT 322

static __always_inline bool is_exec(s32 syscall)
{
	return syscall == SYSCALL_EXECVE || syscall == SYSCALL_EXECVEAT;
}

/*
 * The user part of a record whose head, kernel frames and registers are there already: walked if
 * the process is known, raw if not. Returns the size of the whole record.
 */
__attribute__((noinline)) u32 add_user_part(struct scratch *s, u32 address_space)
{
	struct process_entry *process;
	struct kernel_counters *c = count();
	struct process_key key;
	u32 kernel, end = UNWIND_UNMAPPED;

	if (!s)
		return 0;
	kernel = s->head.kernel_frames;
	if (kernel > RECORD_KERNEL_FRAMES_MAX)
		kernel = RECORD_KERNEL_FRAMES_MAX;
	key.pid = s->head.pid;
	key.address_space = address_space;
	process = bpf_map_lookup_elem(&processes, &key);
	s->process.count = 0;
	if (process)
		s->process = *process;
	if (process || s->vma_root)
		end = walk_user(s, kernel);
	/* The old program is unmapped, the new one has not started: the registers are those of the
	 * old one. */
	if (end == UNWIND_UNMAPPED && s->vma_root && is_exec(s->head.syscall)) {
		s->user_frames = 0;
		end = UNWIND_ROOT;
	}
	if (c && end < UNWIND_END_COUNT)
		c->ends[end]++;
	s->head.end = end;
	/* Raw stacks are large: keep half of the ring for other records. */
	if ((end == UNWIND_UNMAPPED || end == UNWIND_NO_TABLE) && settings.raw_left > 0 &&
	    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < 2 * settings.wake_bytes) {
		__sync_fetch_and_add(&settings.raw_left, -1);
		s->head.flags |= RECORD_RAW;
		s->head.stack_size = take_raw(s, kernel);
		if (c)
			c->raw++;
		return sizeof(s->head) + 8 * (kernel + RECORD_REGISTERS) + s->head.stack_size;
	}
	if (!process && !s->vma_root) {
		s->words[kernel] = s->registers[ARCH_DWARF_RA];
		s->user_frames = 1;
	}
	s->head.user_frames = s->user_frames;
	return sizeof(s->head) + 8 * (kernel + s->user_frames);
}

static __always_inline void finish(struct scratch *s, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	if (mm) {
		s->head.address_space = address_space_of(mm->start_code, mm->start_stack);
		vmas_begin(s, mm);
		send(s, add_user_part(s, s->head.address_space));
	} else {
		s->head.flags |= RECORD_NO_USER;
		if (task->flags & PF_KTHREAD)
			s->head.flags |= RECORD_KERNEL_THREAD;
		send(s, sizeof(s->head) + 8 * s->head.kernel_frames);
	}
	s->busy = 0;
}

/* Must be followed by finish. NULL: with kernel preemption, another thread is using it. */
static __always_inline struct scratch *begin(u32 user, u32 kind)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &user);
	u64 id = bpf_get_current_pid_tgid();

	if (!s || s->busy)
		return NULL;
	s->busy = 1;
	__builtin_memset(&s->head, 0, sizeof(s->head));
	s->head.kind = kind;
	s->head.pid = id >> 32;
	s->head.tid = id;
	s->head.cpu = bpf_get_smp_processor_id();
	s->head.time = bpf_ktime_get_ns();
	s->head.syscall = -1;
	bpf_get_current_comm(s->head.comm, sizeof(s->head.comm));
	return s;
}

/* The kernel's default limit of a stack (kernel.perf_event_max_stack), skipped frames included. */
#define KERNEL_STACK_MOST 127

/* Of a stack with so many bytes; an error is negative. */
static __always_inline void kernel_frames_set(struct scratch *s, long bytes, u64 skip)
{
	s->head.kernel_frames = bytes > 0 ? (u64)bytes >> 3 : 0;
	if (!s->head.kernel_frames || s->head.kernel_frames + skip >= KERNEL_STACK_MOST)
		s->head.flags |= RECORD_KERNEL_CUT;
}

/* `skip` frames are our own: the program and what called it. */
static __always_inline void kernel_stack(struct scratch *s, void *context, u64 skip)
{
	kernel_frames_set(s, bpf_get_stack(context, s->words, 8 * RECORD_KERNEL_FRAMES_MAX, skip),
			  skip);
}

/* WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2, whatever the flags. */
static __always_inline bool futex_waits(u64 operation)
{
	operation &= 0x7f;
	return operation == 0 || operation == 6 || operation == 9 || operation == 11 ||
	       operation == 13;
}

/* User registers of a thread that is inside the kernel, and the call it is in. */
static __always_inline void entry_registers(struct scratch *s, struct task_struct *task)
{
	bool call32 = is_call32(task);
	struct call_arguments a;
	struct pt_regs r = {0};

	bpf_probe_read_kernel(&r, sizeof(r), (void *)bpf_task_pt_regs(task));
	take_registers(s, &r);
	a = call_arguments(&r, call32);
	s->head.syscall = (s64)r.orig_ax < 0 ? -1 : (s32)r.orig_ax;
	if (s->head.syscall == (call32 ? CALL32_FUTEX : CALL_FUTEX) && futex_waits(a.second))
		s->head.lock = a.first;
}

/*
 * Samples count for whole sixteenths of the period, and what is left counts with the next one of
 * the CPU: sums stay exact, and the store needs a byte for a value and not four.
 */
static __always_inline u64 whole_parts(struct clock_ring *ring, u64 length)
{
	u64 part = settings.period_ns / CLOCK_PARTS, rest;

	if (!part)
		return length;
	length += ring->rest;
	rest = length % part;
	ring->rest = rest;
	return length - rest;
}

/*
 * The weight of a sample: the period of its timer; for the first one after a change also the
 * elapsed part of the previous period. Not the time since it last fired, because on some machines
 * the timer of an idle CPU does not fire, and the first sample would then count for the idle time,
 * too. Call once per firing of the timer.
 */
static __always_inline u64 sample_length(void)
{
	u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct clock_period *period = bpf_map_lookup_elem(&clock_periods, &cpu);
	struct clock_ring *ring = bpf_map_lookup_elem(&clock_rings, &zero);
	u64 length, drawn, lost = 0;

	if (!period || !period->length || !ring)
		return settings.period_ns;
	length = period->length;
	drawn = period->drawn;
	if (ring->drawn != drawn && drawn > ring->time)
		lost = drawn - ring->time;
	ring->drawn = drawn;
	ring->time = bpf_ktime_get_ns();
	/* Periods differ by less than half: a longer time was no period. */
	return whole_parts(ring, lost < 2 * length ? length + lost : length);
}

SEC("perf_event")
int on_timer(struct bpf_perf_event_data *context)
{
	u64 id = bpf_get_current_pid_tgid(), length = sample_length();
	struct kernel_counters *c;
	struct task_struct *task;
	struct scratch *s;

	if (!(u32)id || !wanted(id >> 32))
		return 0;
	s = begin(SCRATCH_TIMER, RECORD_CPU);
	if (!s)
		return lose(id >> 32, RECORD_CPU, LOSS_NESTED, length, 0);
	c = count();
	if (c)
		c->samples++;
	s->head.value = length;
	s->head.turn = turn_of(id);
	task = bpf_get_current_task_btf();
	if ((context->regs.cs & 3) == 3) {
		take_registers(s, &context->regs);
	} else {
		kernel_stack(s, context, 0);
		entry_registers(s, task);
	}
	finish(s, task);
	return 0;
}

#include "waits.h"
#include "life.h"
#include "memory.h"
#include "loops.h"
#include "open_threads.h"
