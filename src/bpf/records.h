// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Records that the BPF programs write to the ring buffer, and the types of maps shared with the
 * agent. A record is a struct record_head, then by kind: addresses, or registers and raw stack.
 *
 * Addresses are leaf first, kernel before user. The upper byte of an address word is the kind of
 * frame, so that other unwinders can insert frames of their own.
 */
#pragma once

#include "unwind/unwind_format.h"

enum record_kind {
	RECORD_CPU = 1,	   /* a sampling timer fired */
	RECORD_WAIT = 2,   /* a thread returned to a CPU; `value` is the length of its wait in ns */
	RECORD_WAKER = 3,  /* the waker of the wait `wait_id` */
	RECORD_FAULT = 4,  /* a process's memory grew by `value` bytes */
	RECORD_LOOP = 5,   /* an event-loop turn ended; `value` is its length */
	RECORD_OPEN = 6,   /* a blocked thread; `value` is since when, 0 = unknown */
	RECORD_THREAD = 7, /* a thread in any state */
	RECORD_MAP = 8,	   /* a process requested `value` bytes of address space */
	RECORD_LEFT = 9,   /* a thread leaves its CPU: the stack of the wait `wait_id` */
};

/* Kinds of memory, as counted by the kernel. */
enum memory_kind { MEMORY_FILE, MEMORY_ANONYMOUS, MEMORY_SWAPPED, MEMORY_SHARED, MEMORY_KINDS };

enum frame_kind {
	FRAME_NATIVE = 0,
	FRAME_OTHER = 1, /* of another unwinder (unwind/unwinders.h) */
};

#define FRAME_KIND_SHIFT   56
#define FRAME_ADDRESS_MASK ((1ull << FRAME_KIND_SHIFT) - 1)

enum record_flags {
	RECORD_RAW = 1,	    /* user registers and stack follow, not addresses */
	RECORD_NO_USER = 2, /* a kernel thread, or an exiting thread: no user memory */
	RECORD_KERNEL_THREAD = 4,
	/* Of a wait: its stack was sent before, as RECORD_LEFT. `value` 0: not sampled. */
	RECORD_APART = 8,
	RECORD_KERNEL_CUT = 16, /* the kernel stack is missing, or lacks its outermost frames */
};

enum wait_state {
	WAIT_PREEMPTED, /* runnable */
	WAIT_SLEEP,
	WAIT_DISK, /* uninterruptible */
	/* Only of threads that are counted. */
	THREAD_RUNNING,
	THREAD_STOPPED,
	WAIT_STATES
};

#define RECORD_FRAMES_MAX	 1024
#define RECORD_KERNEL_FRAMES_MAX 128
#define RECORD_RAW_STACK	 16384
#define RECORD_REGISTERS	 17

#define KEEP_ONE (1u << 26)

struct record_head {
	u8 kind;       /* enum record_kind */
	u8 flags;      /* enum record_flags */
	u8 end;	       /* enum unwind_end of the user part */
	u8 wait_state; /* enum wait_state; of memory, enum memory_kind */
	u16 kernel_frames;
	u16 user_frames; /* or, raw, 0 */
	u32 pid, tid;
	u16 cpu;
	u8 thin; /* of a wait: only one in 2^thin was followed */
	u8 unused;
	u32 stack_size; /* raw: bytes of stack after the registers */
	u64 time;	/* CLOCK_MONOTONIC */
	u64 value;
	u64 wait_id;	   /* of a wait and its waker */
	u64 turn;	   /* start of the event-loop turn; 0 = none */
	u64 address_space; /* distinguishes the programs of a process (exec) */
	s32 syscall;	   /* the thread's current system call, or -1 */
	u32 keep;	   /* if sampled with probability p: -ln(1 - p) in units of 1 / KEEP_ONE */
	u64 lock;	   /* the address of the futex, if it waits for one */
	u8 trace_id[16], span_id[8];
	char comm[16];
};

/* The target filter; looked up by process first, by the rest only if there are rules. */
struct process_key {
	u32 pid;
	u32 address_space; /* folded: see address_space_of */
};

struct process_entry {
	u32 mappings; /* unit of the sorted struct unwind_mapping[] */
	u32 count;
};

/* Identifies a file and its contents: inode numbers are reused. */
struct file_key {
	u64 device; /* major << 32 | minor */
	u64 inode, size;
	s64 seconds; /* modification time */
	u64 nanoseconds;
};

#define FILE_LOADS 4u
#define FILES_MAX  2048u

/* Its unwind table, as in struct unwind_mapping, and which part of the file is mapped where. */
struct file_entry {
	u32 pages, page_count, table, unwinder;
	u32 count, unused;
	struct {
		u64 offset, size;
		u64 shift; /* offset in the file - address in the module */
	} loads[FILE_LOADS];
};

/* Start of code and stack, which differ after every exec. */
static inline u32 address_space_of(u64 start_code, u64 start_stack)
{
	u64 x = start_code * 0x9e3779b97f4a7c15ull ^ start_stack;

	return (u32)(x ^ x >> 32);
}

/*
 * A thread's slot is determined by its thread id. That costs a quarter of a hash map lookup, three
 * of which would be needed per switch. Threads whose slot is taken are in the map `waits`. The
 * agent maps the slots to read the switches of each thread, and writes `process_level`.
 */
#define WAIT_PLACES 16384u

struct wait_start {
	u64 time;     /* when it left its CPU; 0 = it is running, or this wait is not followed */
	u32 tid;      /* thread id; 0 = unused */
	u32 pid;      /* its process */
	u32 switches; /* number of times it left its CPU */
	u32 decided;  /* settings.targets_turn at the time `unwanted` was decided */
	/* Length of its recent waits, in units of 1,024 ns. */
	u32 usual;
	/* For stacks taken when threads leave: longer waits are sampled with the probability of
	 * this length. */
	u32 bounds;
	u8 state;	  /* enum wait_state */
	u8 level, thin;	  /* of this wait */
	u8 process_level; /* of its process, for the next waits */
	u8 taken;	  /* its stack was or will be recorded */
	u8 unwanted;
	u16 taking; /* time to record its stack when it left, in units of 64 ns */
};

/* Waits are considered short after this many short ones. */
#define WAIT_USUAL_SHORT 128u
#define WAITS_KNOWN	 64u

#define WAIT_LEVEL_MAX 8u
/* Maximum number of processes with a level of their own. */
#define WAIT_LEVELS    1024u

/* A CPU sample counts for a multiple of the period divided by this. */
#define CLOCK_PARTS 16

/* The current setting of a CPU's timer. */
struct clock_period {
	u64 length; /* in nanoseconds */
	u64 drawn;  /* when it was set; the elapsed part of the previous period had no sample */
};

/* Settings that the agent may change at any time. */
struct kernel_settings {
	/* R = wait_mean_ns << wait_level: a wait of that length is kept with probability 1 - 1/e */
	u64 wait_mean_ns;
	u64 waits_since;       /* waits that began before are not reported */
	u64 memory_mean_bytes; /* M, the same for steps of memory growth */
	s64 raw_left;	    /* number of raw stacks that may still be sent; the agent resets it */
	u64 wake_bytes;	    /* bytes in the ring above which the agent is woken */
	u64 period_ns;	    /* of the timer, currently */
	u32 targets;	    /* the map `targets` selects processes */
	u32 kernel_threads; /* include waits of kernel threads */
	u32 old_waits;	    /* include open waits that began before the capture */
	u32 loops;	    /* follow event-loop turns */
	u32 undecided;	    /* unknown processes are sampled until the agent decides */
	u32 count_threads;  /* the scan counts threads and ignores waits */
	u32 wait_level;	    /* minimum level of all processes */
	u32 storms;	    /* the map `wait_levels` is not empty */
	u32 targets_turn;   /* incremented with each decision about a process or its level */
	u32 meter; /* the programs measure their own run time, because the kernel does not */
	u32 wake_on_news; /* cleared by a program without unwind tables, which wakes the agent; set again by the agent */
};

enum target_decision {
	TARGET_CHOSEN = 1, /* including its children */
	TARGET_REFUSED = 2,
};

/* Why a record was lost (texts: agent/losses.h). */
enum loss_cause {
	LOSS_RING,   /* the ring buffer was full */
	LOSS_NESTED, /* another sample of the same CPU was in progress */
	LOSS_AGENT,  /* the agent's buffer was full */
	LOSS_TABLE,  /* a BPF map had no room for its thread or process; `value` is 0 = unknown */
	LOSS_KERNEL_SIDE_CAUSES
};

/* The weight of one record; sampled ones weigh more, in fractions of it. */
#define LOSS_SHIFT 10
#define LOSS_ONE   (1u << LOSS_SHIFT)

/* pid 0: unknown process. */
struct loss_key {
	u32 pid;
	u16 kind, cause; /* enum record_kind, enum loss_cause */
};

struct loss_count {
	u64 count; /* in 1 / LOSS_ONE */
	u64 value;
	char comm[16]; /* of processes that ended before the agent knew them */
};

/* Index of a lost record in kernel_counters.nobodys: kind * LOSS_KERNEL_SIDE_CAUSES + cause. */
#define LOSS_NOBODYS ((RECORD_MAP + 1) * LOSS_KERNEL_SIDE_CAUSES)

/* Counters of the BPF programs, one row per CPU; 64-bit sums. */
struct kernel_counters {
	u64 samples, unwound, raw, dropped; /* records dropped because the ring buffer was full */
	u64 switches, waits_kept, wakers;
	/* With settings.meter: run time spent on records, by type. */
	u64 timer_ns, wait_ns, other_ns;
	u64 ends[UNWIND_END_COUNT];
	/* Losses of processes for which the map `losses` has no room. */
	struct {
		u64 count, value; /* as in struct loss_count */
	} nobodys[LOSS_NOBODYS];
};
