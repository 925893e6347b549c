// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The kernel types that are used, with only the fields that are needed. Their offsets are those of
 * the running kernel (CO-RE); they need not match any particular version.
 */
#pragma once

#define __VESTAL_BPF__ 1

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL	       ((void *)0)
#define __maybe_unused __attribute__((unused))

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_RDONLY_PROG = 128, BPF_F_MMAPABLE = 1024 };
enum { BPF_F_USER_STACK = 256 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct percpu_counter {
	s64 count;
};

struct maple_tree {
	void *ma_root;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	s64 i_size, i_mtime_sec;
	u32 i_mtime_nsec;
};

/* Before 6.11 and before 6.7. */
struct inode___before_6_11 {
	struct timespec64 __i_mtime;
};

struct inode___before_6_7 {
	struct timespec64 i_mtime;
};

struct file {
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
};

struct mm_struct {
	struct maple_tree mm_mt;
	struct file *exe_file;
	mm_context_t context;
	unsigned long start_code, start_stack, start_brk, brk;
	struct percpu_counter rss_stat[4];
};

struct kuid {
	u32 val;
};

struct cred {
	struct kuid uid;
};

struct thread_info {
	u32 status;
};

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	unsigned int flags, __state;
	int on_cpu;
	struct mm_struct *mm;
	char comm[16];
	struct task_struct *group_leader;
};

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id, seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

struct seq_file;

/* Part of the kernel's ABI on x86-64: never changes. */
struct pt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};

struct bpf_perf_event_data {
	struct pt_regs regs;
	u64 sample_period, addr;
};

#define PF_EXITING	       0x00000004
#define PF_KTHREAD	       0x00200000
#define TASK_UNINTERRUPTIBLE   0x2
#define TASK_STOPPED_OR_TRACED 0xc
