// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Memory growth. The kernel counts the pages of a process in per-CPU counters, which it adds to the
 * total every few dozen pages (larger changes immediately). Every change of the total is a step,
 * independent of its cause: a page fault, a read into new memory, a huge page. Steps add up to the
 * growth exactly. A step of b bytes is kept with probability 1 - exp(-b/M).
 *
 * Requested address space (mmap, mremap, brk) is a separate type.
 */
#pragma once

#define PAGE_BITS 12

static __always_inline s64 pages_of(struct mm_struct *mm, u32 member)
{
	/* Constants, so that the verifier knows them. */
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
 * The last known memory of a process. A new entry starts with the current memory, which the process
 * had before or inherited from its parent; after exec with 0.
 */
static __always_inline struct memory_state *memory_of(struct mm_struct *mm, u32 tgid)
{
	struct memory_state *known = bpf_map_lookup_elem(&memory, &tgid), fresh = {0};
	u64 stack = mm->start_stack;

	/* A new value at each exec. */
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

/* Only the user stack: the kernel stack would be the same for all. */
static __always_inline void send_growth(struct task_struct *task, u32 kind, u64 bytes, u32 what)
{
	struct scratch *s;
	u32 keep;

	if (bytes < exponential(bpf_get_prandom_u32(), settings.memory_mean_bytes))
		return;
	keep = keep_of(bytes, settings.memory_mean_bytes);
	s = begin(SCRATCH_CALL, kind);
	if (!s) {
		lose(task->tgid, kind, LOSS_NESTED, bytes, keep);
		return;
	}
	s->head.value = bytes;
	s->head.keep = keep;
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
		return lose(tgid, RECORD_FAULT, LOSS_TABLE, 0, 0);
	now = pages_of(mm, member);
	member &= 3;
	before = state->pages[member];
	/* Another CPU updated it first: the next step includes this one. */
	if (now == before ||
	    __sync_val_compare_and_swap(&state->pages[member], before, now) != before)
		return 0;
	if (now > before)
		send_growth(task, RECORD_FAULT, (u64)(now - before) << PAGE_BITS, member);
	return 0;
}

static __always_inline void on_mmap(struct task_struct *task, const struct call_arguments *a)
{
	/* Memory without access (PROT_NONE) is only a reservation. */
	if (a->third)
		send_growth(task, RECORD_MAP, a->second, 0);
}

static __always_inline void on_mremap(struct task_struct *task, const struct call_arguments *a)
{
	if (a->third > a->second)
		send_growth(task, RECORD_MAP, a->third - a->second, 0);
}

static __always_inline void on_brk(struct task_struct *task, u64 now)
{
	struct memory_state *state;
	struct mm_struct *mm = task->mm;
	u64 before;

	state = mm ? memory_of(mm, task->tgid) : NULL;
	if (!state)
		return;
	/* The start of the heap, which changes while a program is loaded. */
	before = state->brk > mm->start_brk ? state->brk : mm->start_brk;
	state->brk = now;
	if (now > before)
		send_growth(task, RECORD_MAP, now - before, 0);
}

/* Errors are -4095 to -1; a 32-bit address is no negative number. */
static __always_inline bool failed(s64 result)
{
	return result < 0 && result >= -4095;
}

/* Not inlined, so that it is verified once. */
__attribute__((noinline)) int address_space_call(u32 number, u64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool call32 = is_call32(task);
	struct call_arguments a;
	struct pt_regs r = {0};

	if (failed(result) || !wanted(task->tgid))
		return 0;
	bpf_probe_read_kernel(&r, sizeof(r), (void *)bpf_task_pt_regs(task));
	a = call_arguments(&r, call32);
	if (number == (call32 ? CALL32_MMAP : CALL_MMAP))
		on_mmap(task, &a);
	else if (number == (call32 ? CALL32_MREMAP : CALL_MREMAP))
		on_mremap(task, &a);
	else if (number == (call32 ? CALL32_BRK : CALL_BRK))
		on_brk(task, result);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_address_space(u64 *context)
{
	u32 number = ended_call(context);

	switch (number) {
	case CALL_MMAP:
	case CALL_BRK:
	case CALL_MREMAP:
	case CALL32_MMAP:
	case CALL32_BRK:
	case CALL32_MREMAP:
		return address_space_call(number, context[1]);
	default:
		return 0;
	}
}
