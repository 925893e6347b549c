// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Memory growth. The kernel counts the pages of a process in parts of its own, one per processor,
 * which it adds to the sum every few dozen pages (at once for more): every change of that sum is a
 * step of growth, whatever brought it: a fault, a read into fresh memory, a huge page. Steps add
 * up to the growth exactly. A step of b bytes is kept with probability 1 - exp(-b/M).
 *
 * Address space that was only asked for (mmap, mremap, brk) is another measure.
 */
#pragma once

#define PAGE_BITS 12

static __always_inline s64 pages_of(struct mm_struct *mm, u32 member)
{
	/* Numbers that the verifier can see. */
	switch (member) {
	case MEMORY_FILE:
		return mm->rss_stat[MEMORY_FILE].count;
	case MEMORY_ANONYMOUS:
		return mm->rss_stat[MEMORY_ANONYMOUS].count;
	case MEMORY_SHARED:
		return mm->rss_stat[MEMORY_SHARED].count;
	default:
		return 0;
	}
}

/*
 * What is known of a process. One that is seen for the first time has grown before, or has its
 * parent's pages: it begins with what it has. After exec it began with nothing.
 */
static __always_inline struct memory_state *memory_of(struct mm_struct *mm, u32 tgid)
{
	struct memory_state *known = bpf_map_lookup_elem(&memory, &tgid), fresh = {0};
	u64 stack = mm->start_stack;

	/* Drawn anew by exec. */
	if (known && known->start_stack == stack)
		return known;
	fresh.start_stack = stack;
	fresh.brk = mm->brk;
	if (!known) {
		fresh.pages[MEMORY_FILE] = pages_of(mm, MEMORY_FILE);
		fresh.pages[MEMORY_ANONYMOUS] = pages_of(mm, MEMORY_ANONYMOUS);
		fresh.pages[MEMORY_SHARED] = pages_of(mm, MEMORY_SHARED);
	}
	bpf_map_update_elem(&memory, &tgid, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&memory, &tgid);
}

/* The user's stack alone: the kernel's would be the same for all. */
static __always_inline void send_growth(struct task_struct *task, u32 kind, u64 bytes, u32 what)
{
	struct scratch *s;

	if (bytes < exponential(bpf_get_prandom_u32(), settings.memory_mean_bytes))
		return;
	s = begin(SCRATCH_CALL, kind);
	if (!s)
		return;
	s->head.value = bytes;
	s->head.wait_state = what;
	entry_registers(s, task);
	finish(s, task);
}

SEC("tp_btf/rss_stat")
int on_pages(u64 *context)
{
	struct mm_struct *mm = (void *)context[0];
	struct task_struct *task = bpf_get_current_task_btf();
	u32 member = context[1], tgid = task->tgid;
	struct memory_state *state;
	s64 now, before;

	if (task->mm != mm || !wanted(tgid) || member == MEMORY_SWAPPED)
		return 0;
	state = memory_of(mm, tgid);
	if (!state)
		return 0;
	now = pages_of(mm, member);
	member &= 3;
	before = state->pages[member];
	/* Somebody else was faster: the next step has this one in it. */
	if (now == before ||
	    __sync_val_compare_and_swap(&state->pages[member], before, now) != before)
		return 0;
	if (now > before)
		send_growth(task, RECORD_FAULT, (u64)(now - before) << PAGE_BITS, member);
	return 0;
}

struct syscall_exit {
	u64 common;
	s64 number, result;
};

SEC("tp/syscalls/sys_exit_mmap")
int on_mmap(struct syscall_exit *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs r = {0};

	if (context->result < 0 || !wanted(task->tgid))
		return 0;
	bpf_probe_read_kernel(&r, sizeof(r), (void *)bpf_task_pt_regs(task));
	/* Without any right it is a reservation. */
	if (r.dx)
		send_growth(task, RECORD_MAP, r.si, 0);
	return 0;
}

SEC("tp/syscalls/sys_exit_mremap")
int on_mremap(struct syscall_exit *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs r = {0};

	if (context->result < 0 || !wanted(task->tgid))
		return 0;
	bpf_probe_read_kernel(&r, sizeof(r), (void *)bpf_task_pt_regs(task));
	if (r.dx > r.si)
		send_growth(task, RECORD_MAP, r.dx - r.si, 0);
	return 0;
}

SEC("tp/syscalls/sys_exit_brk")
int on_brk(struct syscall_exit *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct memory_state *state;
	struct mm_struct *mm = task->mm;
	u64 before, now;

	if (!mm || !wanted(task->tgid))
		return 0;
	state = memory_of(mm, task->tgid);
	if (!state)
		return 0;
	/* It is moved while a program is loaded. */
	before = state->brk > mm->start_brk ? state->brk : mm->start_brk;
	now = state->brk = context->result;
	if (now > before)
		send_growth(task, RECORD_MAP, now - before, 0);
	return 0;
}
