// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Event loops: a turn is the time from one return of epoll_wait to the next call of it, in which
 * whoever waits for the loop has to wait. Its end is a record with the same probability as a wait
 * of that length; samples and waits inside a turn carry the time it began, so that the agent finds
 * out what a turn was spent on. (The looking up of turns is in maps.h, for the other programs.)
 */
#pragma once

/* Global functions, without arguments: verified once, not for each call they stand behind. */
__attribute__((noinline)) int turn_begins(void)
{
	u64 id = bpf_get_current_pid_tgid(), now;
	u32 tid = id;

	if (!wanted(id >> 32))
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&loops, &tid, &now, BPF_ANY);
	return 0;
}

__attribute__((noinline)) int turn_ends(void)
{
	u32 tid = bpf_get_current_pid_tgid(), keep;
	u64 *turn = bpf_map_lookup_elem(&loops, &tid), start, length, mean;
	struct task_struct *task;
	struct scratch *s;

	if (!turn || !*turn)
		return 0;
	start = *turn;
	*turn = 0;
	length = bpf_ktime_get_ns() - start;
	mean = wait_mean(settings.wait_level);
	if (length < exponential(wait_draw(tid, start), mean))
		return 0;
	keep = keep_of(length, mean);
	s = begin(SCRATCH_CALL, RECORD_LOOP);
	if (!s)
		return lose(bpf_get_current_pid_tgid() >> 32, RECORD_LOOP, LOSS_NESTED, length,
			    keep);
	task = bpf_get_current_task_btf();
	s->head.value = length;
	s->head.keep = keep;
	s->head.turn = start;
	entry_registers(s, task);
	finish(s, task);
	return 0;
}

static __always_inline bool is_loop_call(u32 number)
{
	if (number < CALL_EPOLL_WAIT || number > CALL_EPOLL_PWAIT2)
		return false;
	switch (number) {
	case CALL_EPOLL_WAIT:
	case CALL_EPOLL_PWAIT:
		return !is_call32(bpf_get_current_task_btf());
	case CALL32_EPOLL_WAIT:
	case CALL32_EPOLL_PWAIT:
		return is_call32(bpf_get_current_task_btf());
	default:
		/* The same for both. */
		return number == CALL_EPOLL_PWAIT2;
	}
}

SEC("tp_btf/sys_enter")
int on_loop_call(u64 *context)
{
	return is_loop_call(context[1]) ? turn_ends() : 0;
}

SEC("tp_btf/sys_exit")
int on_loop_call_end(u64 *context)
{
	return is_loop_call(ended_call(context)) ? turn_begins() : 0;
}
