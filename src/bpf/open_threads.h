// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Threads that wait at this moment, asked for when a window ends: a wait that never ends (a
 * deadlock) would otherwise never be seen. Runs in the agent's own context, over all threads, and
 * may sleep while it reads their stacks; they are sent raw.
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

	s->head.kernel_frames = n > 0 ? (u64)n >> 3 : 0;
}

SEC("iter.s/task")
int on_thread(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	u32 which = SCRATCH_THREADS, tid, kernel;
	struct wait_start *w;
	struct scratch *s;
	u64 size;

	if (!task || !task->mm || !task->__state || !wanted(task->tgid))
		return 0;
	tid = task->pid;
	w = bpf_map_lookup_elem(&waits, &tid);
	if (w ? !w->time : !settings.old_waits)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &which);
	if (!s)
		return 0;
	__builtin_memset(&s->head, 0, sizeof(s->head));
	s->head.kind = RECORD_OPEN;
	s->head.flags = RECORD_RAW;
	s->head.pid = task->tgid;
	s->head.tid = tid;
	s->head.time = bpf_ktime_get_ns();
	s->head.value = w ? w->time : 0;
	s->head.wait_id = w ? wait_draw(tid, w->time) : 0;
	s->head.wait_state = task->__state & 2 ? WAIT_DISK : WAIT_SLEEP;
	s->head.address_space = address_space_of(task->mm->start_code, task->mm->start_stack);
	bpf_probe_read_kernel(s->head.comm, sizeof(s->head.comm), task->comm);
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
