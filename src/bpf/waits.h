// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Waits. A thread that leaves its processor is noted with the time; when it comes back the length
 * d of its absence is known, and it is kept with probability 1 - exp(-d/R): a threshold is drawn
 * from the exponential distribution of mean R and d must reach it. The draw depends only on the
 * thread and the time it left, so that whoever wakes it comes to the same decision.
 *
 * Only what is kept is unwound; everything else costs two looks into a table.
 *
 * That needs a place that runs in the thread that came back (sched_exit_tp). Kernels without it
 * have on_switch_alone: see there.
 */
#pragma once

/* The program itself and the tracepoint's own two. */
#define TRACE_SKIP 3

#define LN2_16 45426u /* ln 2 in 1/65536 */

/* log2(1 + i/64) in 1/65536, for a draw of 32 bits. */
static const u32 log2_table[65] = {
	0,     1466,  2909,  4331,  5732,  7112,  8473,	 9814,	11136, 12440, 13727, 14996, 16248,
	17484, 18704, 19909, 21098, 22272, 23433, 24579, 25711, 26830, 27936, 29029, 30109, 31178,
	32234, 33279, 34312, 35334, 36346, 37346, 38336, 39316, 40286, 41246, 42196, 43137, 44068,
	44990, 45904, 46809, 47705, 48593, 49472, 50344, 51207, 52063, 52911, 53751, 54584, 55410,
	56229, 57040, 57845, 58643, 59434, 60219, 60997, 61769, 62534, 63294, 64047, 64794, 65536};

static __always_inline u64 wait_draw(u32 tid, u64 time)
{
	u64 x = time * 0x9e3779b97f4a7c15ull ^ (u64)tid * 0xd1342543de82ef95ull;

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* -mean ln(u), u uniform in (0, 1]. */
static __always_inline u64 exponential(u32 draw, u64 mean)
{
	u32 u = draw | 1, bits = 31, log2, i, part;

	/* Position of the highest bit, without a loop for the verifier to unroll. */
	bits = u >> 16 ? 16 : 0;
	bits += u >> (bits + 8) ? 8 : 0;
	bits += u >> (bits + 4) ? 4 : 0;
	bits += u >> (bits + 2) ? 2 : 0;
	bits += u >> (bits + 1) ? 1 : 0;
	/* The 31 bits behind the highest one: six choose the row, the next 16 go between two. */
	u = (u << (31 - bits)) & 0x7fffffffu;
	i = u >> 25;
	part = u >> 9 & 0xffff;
	i &= 63;
	log2 = log2_table[i] + (((log2_table[i + 1] - log2_table[i]) * part) >> 16);
	log2 += bits << 16;
	/* (32 - log2) ln 2, times the mean. */
	return (((32ull << 16) - log2) * LN2_16 >> 16) * (mean >> 4) >> 12;
}

static __always_inline u64 wait_mean(u32 level)
{
	return settings.wait_mean_ns << (level & 15);
}

/* What a record says of how likely it was: of a wait as long as this. */
static __always_inline u32 keep_of(u64 length, u64 mean)
{
	u64 keep;

	/* As good as certain; also, it must not overflow. */
	if (length >> 11 >= mean)
		return ~0u;
	keep = length * KEEP_ONE / mean;
	return keep ? keep : 1;
}

static __always_inline struct wait_start *wait_place(u32 tid)
{
	u32 at = tid & (WAIT_PLACES - 1);

	return bpf_map_lookup_elem(&wait_places, &at);
}

static __always_inline struct wait_start *wait_find(u32 tid)
{
	struct wait_start *w = wait_place(tid);

	return w && w->tid == tid ? w : bpf_map_lookup_elem(&waits, &tid);
}

/* The place of a thread that has none yet; NULL when there is no room. */
static __always_inline struct wait_start *wait_settle(u32 tid)
{
	struct wait_start *w = wait_place(tid), fresh = {.tid = tid};

	if (w && !w->tid && !__sync_val_compare_and_swap(&w->tid, 0, tid))
		return w;
	bpf_map_update_elem(&waits, &tid, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&waits, &tid);
}

static __always_inline struct wait_start *place_of_leaver(struct task_struct *task)
{
	u32 tid = task->pid;
	struct wait_start *w;

	if (!tid || (!task->mm && !settings.kernel_threads) || !wanted(task->tgid))
		return NULL;
	w = wait_find(tid);
	return w ? w : wait_settle(tid);
}

/* Returns the length from which on this wait is kept. */
static __always_inline u64 note_leave(struct wait_start *w, u32 tid, bool preempted, u32 state)
{
	u64 now = bpf_ktime_get_ns(), threshold;
	u32 level = settings.wait_level;

	threshold = exponential(wait_draw(tid, now), wait_mean(level));
	w->state = preempted || !state		  ? WAIT_PREEMPTED
		   : state & TASK_UNINTERRUPTIBLE ? WAIT_DISK
						  : WAIT_SLEEP;
	w->level = level;
	w->taken = 1;
	w->kept_until = now + threshold;
	w->time = now;
	return threshold;
}

SEC("tp_btf/sched_switch")
int on_switch(u64 *context)
{
	struct task_struct *task = (void *)context[1];
	struct wait_start *w = place_of_leaver(task);

	if (w)
		note_leave(w, task->pid, context[0], context[3]);
	return 0;
}

/* When the wait of a thread that comes back began, which is then forgotten; 0 = nobody saw. */
static __always_inline u64 wait_began(struct wait_start *w)
{
	u64 start = w->time;

	w->time = 0;
	/* It began before a pause: nobody saw what was between. */
	return start < settings.waits_since ? 0 : start;
}

/* In the thread that came back: its memory can be read, which at the switch it could not. */
SEC("tp_btf/sched_exit_tp")
int on_return(u64 *context)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct kernel_counters *c;
	struct task_struct *task;
	struct wait_start *w;
	struct scratch *s;
	u64 start, now;

	if (!tid)
		return 0;
	w = wait_find(tid);
	if (!w || !w->time)
		return 0;
	start = wait_began(w);
	if (!start)
		return 0;
	now = bpf_ktime_get_ns();
	c = count();
	if (c)
		c->waits++;
	if (now < w->kept_until)
		return 0;
	if (c)
		c->waits_kept++;
	s = begin(SCRATCH_TRACE, RECORD_WAIT);
	if (!s)
		return 0;
	task = bpf_get_current_task_btf();
	s->head.value = now - start;
	s->head.keep = keep_of(now - start, wait_mean(w->level));
	s->head.wait_id = wait_draw(tid, start);
	s->head.wait_state = w->state;
	s->head.turn = turn_of(tid);
	kernel_stack(s, context, TRACE_SKIP);
	entry_registers(s, task);
	finish(s, task);
	return 0;
}

/* ---- where nothing runs in the thread that came back ---- */

/* Of R: a wait of a thread that never waited long is kept as if it were at least so long. */
#define LEAST_PART 32
/* A wait may be so many times longer than the last ones and be kept as if that was foreseen. */
#define FORESIGHT  2

/*
 * A stack is taken when its thread leaves, before anybody knows for how long. Only one whose
 * threshold is below what may be expected (bounds) is: a thread that waits a hundred thousand
 * times a second for some microseconds is looked at as seldom as it would be kept. A wait that is
 * longer than expected is kept as if it had lasted that long: seldom, and counting for more.
 */
static __always_inline void take_leaver(struct wait_start *w, u64 *context,
					struct task_struct *task, u64 threshold)
{
	u64 least = wait_mean(w->level) / LEAST_PART / 1000, bounds = (u64)w->usual * FORESIGHT;
	struct scratch *s;

	if (bounds < least)
		bounds = least;
	w->bounds = bounds < ~0u ? bounds : ~0u;
	w->taken = 0;
	if (threshold >= w->bounds * 1000ull)
		return;
	s = begin(SCRATCH_TRACE, RECORD_LEFT);
	if (!s)
		return;
	w->taken = 1;
	s->head.wait_id = wait_draw(task->pid, w->time);
	s->head.wait_state = w->state;
	kernel_stack(s, context, TRACE_SKIP);
	entry_registers(s, task);
	finish(s, task);
}

/* Long ones are remembered at once, and for some twenty waits. */
static __always_inline u32 usual_after(u32 usual, u64 length_ns)
{
	u64 length = length_ns / 1000;

	if (length > ~0u)
		length = ~0u;
	return length > usual ? length : usual - (usual - length) / 16;
}

static __always_inline void tell_return(struct wait_start *w, struct task_struct *task, u64 start)
{
	u64 now = bpf_ktime_get_ns(), length = now - start, bounds = w->bounds * 1000ull;
	struct kernel_counters *c = count();
	bool kept = now >= w->kept_until;
	struct scratch *s;

	w->usual = usual_after(w->usual, length);
	if (c)
		c->waits++;
	if (!w->taken)
		return;
	if (c && kept)
		c->waits_kept++;
	s = begin(SCRATCH_TRACE, RECORD_WAIT);
	if (!s)
		return;
	s->head.flags = RECORD_APART;
	s->head.pid = task->tgid;
	s->head.tid = task->pid;
	bpf_probe_read_kernel(s->head.comm, sizeof(s->head.comm), task->comm);
	s->head.value = kept ? length : 0;
	s->head.keep = keep_of(length < bounds ? length : bounds, wait_mean(w->level));
	s->head.wait_id = wait_draw(task->pid, start);
	s->head.wait_state = w->state;
	s->head.turn = turn_of(task->pid);
	send(s, sizeof(s->head));
	s->busy = 0;
}

SEC("tp_btf/sched_switch")
int on_switch_alone(u64 *context)
{
	struct task_struct *leaver = (void *)context[1], *comer = (void *)context[2];
	u32 tid = comer->pid;
	struct wait_start *w = tid ? wait_find(tid) : NULL;
	u64 threshold, start;

	if (w && w->time) {
		start = wait_began(w);
		if (start)
			tell_return(w, comer, start);
	}
	w = place_of_leaver(leaver);
	if (!w)
		return 0;
	/* Kernels before 5.18 do not hand out its state. */
	threshold = note_leave(w, leaver->pid, context[0], leaver->__state);
	take_leaver(w, context, leaver, threshold);
	return 0;
}

SEC("tp_btf/sched_waking")
int on_waking(u64 *context)
{
	struct task_struct *sleeper = (void *)context[0];
	u32 tid = sleeper->pid;
	struct wait_start *w = wait_find(tid);
	struct kernel_counters *c;
	struct task_struct *task;
	struct scratch *s;

	if (!w || !w->time || !w->taken || w->time < settings.waits_since ||
	    bpf_ktime_get_ns() < w->kept_until)
		return 0;
	s = begin(SCRATCH_WAKER, RECORD_WAKER);
	if (!s)
		return 0;
	c = count();
	if (c)
		c->wakers++;
	task = bpf_get_current_task_btf();
	s->head.wait_id = wait_draw(tid, w->time);
	kernel_stack(s, context, TRACE_SKIP);
	entry_registers(s, task);
	finish(s, task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *context)
{
	u32 tid = ((struct task_struct *)context[0])->pid;

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
	return 0;
}
