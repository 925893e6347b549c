// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The BPF maps; sizes given as 1 are set before loading. */
#pragma once

#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "records.h"
#include "unwind/unwind_frame.h"

#define PC_CACHE_BITS 11
#define PC_CACHE_SIZE (1u << PC_CACHE_BITS)
#define WINDOW_SIZE   1024u

/* Room for kernel frames, registers and a raw stack whose last piece may begin at its very end. */
#define SCRATCH_WORDS (RECORD_KERNEL_FRAMES_MAX + RECORD_REGISTERS + (RECORD_RAW_STACK + 4096) / 8)

/*
 * A walk in progress. One per CPU and kind of program: a timer may interrupt a tracepoint, and an
 * interrupt may wake a thread at any time.
 */
struct scratch {
	struct record_head head;
	u64 words[SCRATCH_WORDS];
	u64 registers[32]; /* user registers by DWARF number; padded to a power of two for masks */
	struct unwind_frame frame;
	struct process_entry process;
	struct unwind_mapping mapping; /* the current mapping of the walk */
	/* The process's memory areas (vmas.h): their tree, and the last one found. */
	u64 vma_root, vdso;
	struct {
		u64 start, end, flags, page, file;
	} vma;
	u64 node[32];
	u64 window_start;
	u32 window_size;
	u32 first_word; /* where user frames begin in `words` */
	u32 user_frames;
	u32 busy; /* from begin to finish */
	u8 window[WINDOW_SIZE + 8];
};

enum scratch_user {
	SCRATCH_TIMER,
	SCRATCH_TRACE,
	SCRATCH_WAKER,
	SCRATCH_CALL, /* system calls and page faults of the thread itself */
	SCRATCH_THREADS,
	SCRATCH_USERS
};

struct pc_cache {
	u64 entries[PC_CACHE_SIZE];
};

struct all_rules {
	struct unwind_rule list[UNWIND_RULES_MAX];
};

/* When a CPU's timer fired last, with which setting, and the remainder still to be counted. */
struct clock_ring {
	u64 time, drawn, rest;
};

/* The thread that returns on a CPU, from the switch until it runs itself. */
struct arrival {
	u64 start, length;
	u32 tid; /* 0 = no thread with a sampled wait */
	u8 level, thin, state, unused;
};

/* Memory of a process when it was last checked. */
struct memory_state {
	s64 pages[4]; /* by enum memory_kind */
	u64 brk;
	u64 start_stack;
};

struct segment_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, UNWIND_SEGMENT_SIZE);
};

/* The agent creates each when a table needs it; most machines need few. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct segment_map);
} segments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct all_rules);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pc_cache);
} cache SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct process_key);
	__type(value, struct process_entry);
} processes SEC(".maps");

/* Files with a table; the key of the vdso is zero. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct file_key);
	__type(value, struct file_entry);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_USERS);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kernel_counters);
} counters SEC(".maps");

/* By CPU; written by the agent (cpu_clocks.h). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock_period);
} clock_periods SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock_ring);
} clock_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct wait_start);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct wait_start);
} wait_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct arrival);
} arrivals SEC(".maps");

/* Levels of the processes that switch too often. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAIT_LEVELS);
	__type(key, u32);
	__type(value, u32);
} wait_levels SEC(".maps");

/* By process; an LRU map, so that ended processes are evicted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct memory_state);
} memory SEC(".maps");

/* By thread: start of its event-loop turn; 0 = it waits for events. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} loops SEC(".maps");

/* Decisions about processes (enum target_decision), if `settings.targets` is set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u32);
} targets SEC(".maps");

/* Changed by the agent while programs run. */
volatile struct kernel_settings settings = {.wait_mean_ns = 1000000, .raw_left = 0};

/* Start of the thread's current turn; 0 = none. */
static __always_inline u64 turn_of(u32 tid)
{
	u64 *turn = settings.loops ? bpf_map_lookup_elem(&loops, &tid) : NULL;

	return turn ? *turn : 0;
}
