// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * System calls by number. The programs run with every system call of the machine, through BTF and
 * so without tracefs: they compare the number first, and all other calls end there. A call of a
 * 32-bit program has another number; which of the two it is, is looked at when one fits.
 *
 * The tracepoint of a single call (syscalls:sys_exit_mmap) would spare nothing: the kernel has it
 * look at every call too.
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

/* Whether the call that a thread is in came by the 32-bit entry. */
static __always_inline bool is_call32(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

/* At the end of a call: its number is among the registers it was made with. */
static __always_inline u32 ended_call(u64 *context)
{
	return ((struct pt_regs *)context[0])->orig_ax;
}

/* Arguments of the call that a thread is in. */
struct call_arguments {
	u64 first, second, third;
};

static __always_inline struct call_arguments call_arguments(struct pt_regs *r, bool call32)
{
	if (call32)
		return (struct call_arguments){(u32)r->bx, (u32)r->cx, (u32)r->dx};
	return (struct call_arguments){r->di, r->si, r->dx};
}
