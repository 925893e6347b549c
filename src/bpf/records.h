// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * What the kernel side writes into the ring buffer, and the maps both sides know. A record is a
 * struct record_head, then by kind: addresses, or registers and raw stack.
 *
 * Addresses are leaf first, kernel before user. The upper byte of an address word is the kind of
 * frame, so that other unwinders can put their own between native ones.
 */
#pragma once

#include "unwind/unwind_format.h"

enum record_kind {
	RECORD_CPU = 1,	   /* the timer fired here */
	RECORD_WAIT = 2,   /* a thread came back; `value` is how long it was away, in ns */
	RECORD_WAKER = 3,  /* who ended the wait that `wait_id` names */
	RECORD_FAULT = 4,  /* a process has more memory; `value` is how many bytes more */
	RECORD_LOOP = 5,   /* a turn of an event loop ended; `value` is its length */
	RECORD_OPEN = 6,   /* a thread that waits now; `value` is since when, 0 = not known */
	RECORD_THREAD = 7, /* a thread that is there now, whatever it does */
	RECORD_MAP = 8,	   /* address space was asked for; `value` is how many bytes */
	RECORD_LEFT = 9,   /* a thread leaves: the stack of the wait that `wait_id` names */
};

/* What memory is, as the kernel counts it. */
enum memory_kind { MEMORY_FILE, MEMORY_ANONYMOUS, MEMORY_SWAPPED, MEMORY_SHARED, MEMORY_KINDS };

enum frame_kind {
	FRAME_NATIVE = 0,
	FRAME_OTHER = 1, /* of another unwinder (unwind/unwinders.h) */
};

#define FRAME_KIND_SHIFT   56
#define FRAME_ADDRESS_MASK ((1ull << FRAME_KIND_SHIFT) - 1)

enum record_flags {
	RECORD_RAW = 1,	    /* user registers and stack follow, not addresses */
	RECORD_NO_USER = 2, /* a thread of the kernel, or one at its end: no memory of its own */
	RECORD_KERNEL_THREAD = 4,
	/* Of a wait: its stack came before, as RECORD_LEFT. A `value` of 0: it is not kept. */
	RECORD_APART = 8,
};

enum wait_state {
	WAIT_PREEMPTED, /* could have run */
	WAIT_SLEEP,
	WAIT_DISK, /* not to be interrupted */
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
	u8 thin; /* of a wait: only one of 2^thin was looked at */
	u8 unused;
	u32 stack_size; /* raw: bytes of stack behind the registers */
	u64 time;	/* CLOCK_MONOTONIC */
	u64 value;
	u64 wait_id;	   /* of a wait and its waker */
	u64 turn;	   /* of an event loop: when it began; 0 = in none */
	u64 address_space; /* tells one program of a process from the next (exec) */
	s32 syscall;	   /* the thread is in it, or -1 */
	u32 keep;	   /* of what is kept with probability p: -ln(1 - p) in 1 / KEEP_ONE */
	u64 lock;	   /* the address it waits on, when the call is futex */
	u8 trace_id[16], span_id[8];
	char comm[16];
};

/* Which processes are wanted; looked up by process first, by the rest only when there are rules. */
struct process_key {
	u32 pid;
	u32 address_space; /* folded: see address_space_of */
};

struct process_entry {
	u32 mappings; /* unit of the sorted struct unwind_mapping[] */
	u32 count;
};

/* A file as long as nobody writes to it: its number may be used again. */
struct file_key {
	u64 device; /* major << 32 | minor */
	u64 inode, size;
	s64 seconds; /* when it was changed last */
	u64 nanoseconds;
};

#define FILE_LOADS 4u
#define FILES_MAX  2048u

/* Its unwinding table, as in struct unwind_mapping, and which part of it lies where. */
struct file_entry {
	u32 pages, page_count, table, unwinder;
	u32 count, unused;
	struct {
		u64 offset, size;
		u64 shift; /* offset in the file - address in the module */
	} loads[FILE_LOADS];
};

/* Two numbers that exec draws anew: where the code and the stack begin. */
static inline u32 address_space_of(u64 start_code, u64 start_stack)
{
	u64 x = start_code * 0x9e3779b97f4a7c15ull ^ start_stack;

	return (u32)(x ^ x >> 32);
}

/*
 * A thread's place is where its number says: that costs a quarter of a look into a hash map, three
 * times for each switch. Those whose place another one has are in the map `waits`. The agent maps
 * the places: it reads who switches how often, and writes `process_level`.
 */
#define WAIT_PLACES 16384u

struct wait_start {
	u64 time;     /* it left its CPU; 0 = it runs, or this wait is not followed */
	u32 tid;      /* 0 = nobody's */
	u32 pid;      /* its process */
	u32 switches; /* how often it left its CPU */
	u32 judged;   /* settings.targets_turn when `unwanted` was decided */
	/* How long its waits were lately, in units of 1,024 ns. */
	u32 usual;
	/* For stacks taken when threads leave: longer waits are sampled with the probability of
	 * this length. */
	u32 bounds;
	u8 state;	  /* enum wait_state */
	u8 level, thin;	  /* of this wait */
	u8 process_level; /* of its process, for the next waits */
	u8 taken;	  /* there is a stack for it, or will be */
	u8 unwanted;
	u16 taking; /* how long its stack took when it left, in units of 64 ns */
};

/* Waits are short when the last ones were, and there were so many. */
#define WAIT_USUAL_SHORT 128u
#define WAITS_KNOWN	 64u

#define WAIT_LEVEL_MAX 8u
/* Processes that have a level of their own. */
#define WAIT_LEVELS    1024u

/* A CPU sample counts for a multiple of the period divided by this. */
#define CLOCK_PARTS 16

/* Of a processor's clock, as it was set last. */
struct clock_period {
	u64 length; /* in nanoseconds */
	u64 drawn;  /* when it was set: what had passed of the period before got no sample */
};

/* What the agent may change at any time. */
struct kernel_settings {
	/* R = wait_mean_ns << wait_level: a wait of that length is kept with probability 1 - 1/e */
	u64 wait_mean_ns;
	u64 waits_since;       /* those that began before are not told */
	u64 memory_mean_bytes; /* M, the same for steps of memory growth */
	s64 raw_left;	       /* raw stacks that may still be sent; the agent refills it */
	u64 wake_bytes;	       /* in the ring: with more the agent is woken */
	u64 period_ns;	       /* of the timer, as it is now */
	u32 targets;	       /* the map `targets` says which processes are wanted */
	u32 kernel_threads;    /* waits of the kernel's own threads too */
	u32 old_waits;	       /* open waits that began before anybody looked, too */
	u32 loops;	       /* turns of event loops are followed */
	u32 undecided;	       /* those it does not know are wanted until the agent decides */
	u32 count_threads;     /* the pass over all threads counts them: waits are not looked at */
	u32 wait_level;	       /* of all waits, at least */
	u32 storms;	       /* the map `wait_levels` has entries */
	u32 targets_turn;      /* changes with each decision about a process, or its level */
	u32 meter;	       /* the kernel does not count what programs take: they do */
	u32 wake_on_news; /* a program without unwind tables clears it and wakes the agent, which
			     sets it again */
};

enum target_decision {
	TARGET_CHOSEN = 1, /* its children too */
	TARGET_REFUSED = 2,
};

/* Why there is no record (agent/losses.h has the words). */
enum loss_cause {
	LOSS_RING,   /* the ring buffer was full */
	LOSS_NESTED, /* another sample of the same processor was under way */
	LOSS_AGENT,  /* the agent had no room for it */
	LOSS_KERNEL_SIDE_CAUSES
};

/* One record; those kept by chance count for more, in parts of it. */
#define LOSS_SHIFT 10
#define LOSS_ONE   (1u << LOSS_SHIFT)

/* pid 0: of processes there was no room for. */
struct loss_key {
	u32 pid;
	u16 kind, cause; /* enum record_kind, enum loss_cause */
};

struct loss_count {
	u64 count; /* in 1 / LOSS_ONE */
	u64 value;
	char comm[16]; /* of processes that end before anybody learns of them */
};

/* Counted by the kernel side, one row per processor. */
struct kernel_counters {
	u64 samples, unwound, raw, dropped; /* dropped: the ring buffer was full */
	u64 switches, waits_kept, wakers;
	/* With settings.meter: what records took, by what they are of. */
	u64 timer_ns, wait_ns, other_ns;
	u64 ends[UNWIND_END_COUNT];
};
