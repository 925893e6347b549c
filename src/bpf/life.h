// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Start, exec and exit of processes and threads: target decisions are inherited, entries freed. */
#pragma once

/* Frees the entries of a thread. */
static __always_inline void forget_thread(u32 tid)
{
	struct wait_start *w = wait_place(tid);

	if (w && w->tid == tid) {
		w->time = 0;
		w->usual = 0;
		w->tid = 0;
	} else {
		bpf_map_delete_elem(&waits, &tid);
	}
	if (settings.loops)
		bpf_map_delete_elem(&loops, &tid);
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *context)
{
	forget_thread(((struct task_struct *)context[0])->pid);
	return 0;
}

/* Children of selected processes are selected. */
SEC("tp_btf/sched_process_fork")
int on_fork(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	u32 pid = parent->tgid, yes = TARGET_CHOSEN, *decided;

	if (!settings.targets || child->pid != child->tgid)
		return 0;
	decided = bpf_map_lookup_elem(&targets, &pid);
	pid = child->pid;
	if (!decided || *decided != TARGET_CHOSEN)
		/* Left over from an earlier process with this pid. */
		bpf_map_delete_elem(&targets, &pid);
	else if (bpf_map_update_elem(&targets, &pid, &yes, BPF_ANY))
		/* Its child will not be sampled: at least one sample is lost. */
		lose(parent->tgid, RECORD_CPU, LOSS_TABLE, 0, 0);
	return 0;
}

/* The last event of a process: frees its entry. */
SEC("tp_btf/sched_process_free")
int on_free(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	u32 pid = task->tgid;

	if (settings.targets && task->pid == task->tgid)
		bpf_map_delete_elem(&targets, &pid);
	return 0;
}

/* Wakes the agent when an unknown program starts, so that its unwind table is ready for the first
 * sample if possible. */
static __always_inline void tell_of_program(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct file_key key = {0};
	void *nothing;

	if (!settings.wake_on_news || !mm || !file_key_of((u64)BPF_CORE_READ(mm, exe_file), &key) ||
	    bpf_map_lookup_elem(&files, &key))
		return;
	nothing = bpf_ringbuf_reserve(&ring, 8, 0);
	if (!nothing)
		return;
	settings.wake_on_news = 0;
	bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

/* Another program: what was refused is decided again. */
SEC("tp_btf/sched_process_exec")
int on_exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	u32 pid = task->tgid, before = context[1], *decided;

	/* exec in another thread than the main one: it takes over the main thread's tid. */
	if (before != (u32)task->pid)
		forget_thread(before);
	if (!settings.targets) {
		tell_of_program(task);
		return 0;
	}
	decided = bpf_map_lookup_elem(&targets, &pid);
	if (decided && *decided == TARGET_REFUSED) {
		bpf_map_delete_elem(&targets, &pid);
		__sync_fetch_and_add(&settings.targets_turn, 1);
	}
	return 0;
}
