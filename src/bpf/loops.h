// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Event loops: an iteration (turn) lasts from one return of epoll_wait to the next call of it;
 * other events of the loop wait that long. Its end is recorded with the same probability as a wait
 * of that length. Samples and waits inside a turn have its start time, so that the agent can
 * attribute its length. (Other programs look up turns with the functions in maps.h.)
 */
#pragma once

/* Global functions without arguments, so that each is verified once and not for every caller. */
__attribute__((noinline)) int turn_begins(void)
{
	u64 id = bpf_get_current_pid_tgid(), now;
	u32 tid = id;

	if (!wanted(id >> 32))
		return 0;
	now = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&loops, &tid, &now, BPF_ANY))
		lose(id >> 32, RECORD_LOOP, LOSS_TABLE, 0, 0);
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
