// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * System calls by number. The programs run for every system call of the machine, attached by BTF
 * and so without tracefs. They compare the number first and return for all other calls. Calls of
 * 32-bit programs have other numbers; the entry is checked only if a number matches.
 *
 * The tracepoint of a single call (syscalls:sys_exit_mmap) would not be cheaper: it is also called
 * for every system call.
 */
#pragma once

#define CALL_MMAP	  9
#define CALL_BRK	  12
#define CALL_MREMAP	  25
#define CALL_EPOLL_WAIT	  232
#define CALL_EPOLL_PWAIT  281
#define CALL_EPOLL_PWAIT2 441 /* the same in 32-bit programs */
#define CALL_FUTEX	  202

/* mmap2 alone: the mmap of before Linux 2.4 has its arguments in memory, and no libc uses it. */
#define CALL32_MMAP	   192
#define CALL32_BRK	   45
#define CALL32_MREMAP	   163
#define CALL32_EPOLL_WAIT  256
#define CALL32_EPOLL_PWAIT 319
#define CALL32_FUTEX	   240

#define TS_COMPAT 2

/* Whether the thread's current system call used the 32-bit entry. */
static __always_inline bool is_call32(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

/* For the end of a call: its number is in the saved registers. */
static __always_inline u32 ended_call(u64 *context)
{
	return ((struct pt_regs *)context[0])->orig_ax;
}

/* Arguments of the thread's current system call. */
struct call_arguments {
	u64 first, second, third;
};

static __always_inline struct call_arguments call_arguments(struct pt_regs *r, bool call32)
{
	if (call32)
		return (struct call_arguments){(u32)r->bx, (u32)r->cx, (u32)r->dx};
	return (struct call_arguments){r->di, r->si, r->dx};
}
