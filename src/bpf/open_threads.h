// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * A scan of all threads: at the end of a window for threads that are blocked, because a wait that
 * never ends (a deadlock) would otherwise never be reported; or to count all threads by state. Runs
 * in the agent's context and may sleep while it reads stacks, which are sent raw.
 */
#pragma once

static __always_inline u32 take_other_stack(struct scratch *s, struct task_struct *task,
					    u32 first_word)
{
	u64 address = s->registers[ARCH_DWARF_RSP], done = 0, at = first_word;

	unwind_hide(at);
	at &= 255;
	if (at > RECORD_KERNEL_FRAMES_MAX)
		return 0;
	for (int i = 0; i < RECORD_REGISTERS; i++)
		s->words[at + i] = s->registers[i];
	for (int piece = 0; piece < 5 && done < RECORD_RAW_STACK; piece++) {
		u64 size = 4096 - (address & 4095), to = done;

		unwind_hide(to);
		to &= RECORD_RAW_STACK - 1;
		if (bpf_copy_from_user_task((u8 *)&s->words[at + RECORD_REGISTERS] + to, size,
					    (const void *)address, task, 0))
			break;
		done += size;
		address += size;
	}
	return done < RECORD_RAW_STACK ? done : RECORD_RAW_STACK;
}

static __always_inline void other_kernel_stack(struct scratch *s, struct task_struct *task)
{
	long n = bpf_get_task_stack(task, s->words, 8 * RECORD_KERNEL_FRAMES_MAX, 0);

	kernel_frames_set(s, n, 0);
}

static __always_inline u8 thread_state(struct task_struct *task)
{
	u32 state = task->__state;

	if (task->on_cpu)
		return THREAD_RUNNING;
	if (!state)
		return WAIT_PREEMPTED;
	if (state & TASK_STOPPED_OR_TRACED)
		return THREAD_STOPPED;
	return state & TASK_UNINTERRUPTIBLE ? WAIT_DISK : WAIT_SLEEP;
}

/* The identity of a wait; false = it is not reported. */
static __always_inline bool open_wait(struct record_head *head, struct task_struct *task)
{
	u32 tid = task->pid;
	struct wait_start *w = wait_find(tid);

	if (!task->__state || (w ? w->time <= settings.waits_since : !settings.old_waits))
		return false;
	head->value = w ? w->time : 0;
	head->wait_id = w ? wait_draw(tid, w->time) : 0;
	head->thin = w ? w->thin : 0;
	return true;
}

SEC("iter.s/task")
int on_thread(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	u32 which = SCRATCH_THREADS, kernel;
	struct scratch *s;
	u64 size;

	if (!task || !task->mm || !wanted(task->tgid))
		return 0;
	s = bpf_map_lookup_elem(&scratches, &which);
	if (!s)
		return 0;
	__builtin_memset(&s->head, 0, sizeof(s->head));
	s->head.kind = settings.count_threads ? RECORD_THREAD : RECORD_OPEN;
	if (!settings.count_threads && !open_wait(&s->head, task))
		return 0;
	s->head.pid = task->tgid;
	s->head.tid = task->pid;
	s->head.time = bpf_ktime_get_ns();
	s->head.wait_state = thread_state(task);
	s->head.turn = turn_of(task->pid);
	s->head.syscall = -1;
	s->head.address_space = address_space_of(task->mm->start_code, task->mm->start_stack);
	bpf_probe_read_kernel(s->head.comm, sizeof(s->head.comm), task->comm);
	/* It is running on a CPU: its saved registers are outdated.
	 */
	if (s->head.wait_state == THREAD_RUNNING) {
		s->head.flags = RECORD_NO_USER;
		if (settings.count_threads)
			bpf_seq_write(context->meta->seq, s, sizeof(s->head));
		return 0;
	}
	s->head.flags = RECORD_RAW;
	other_kernel_stack(s, task);
	entry_registers(s, task);
	kernel = s->head.kernel_frames;
	if (kernel > RECORD_KERNEL_FRAMES_MAX)
		return 0;
	s->head.stack_size = take_other_stack(s, task, kernel);
	size = sizeof(s->head) + 8 * (u64)(kernel + RECORD_REGISTERS) + s->head.stack_size;
	if (size <= sizeof(s->head) + sizeof(s->words))
		bpf_seq_write(context->meta->seq, s, size);
	return 0;
}
