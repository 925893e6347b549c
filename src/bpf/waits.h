// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Off-CPU time. The time is recorded when a thread leaves its CPU. When it returns, the length d of
 * the wait is known, and the wait is sampled with probability 1 - exp(-d/R): a threshold is drawn
 * from the exponential distribution of mean R, and d must reach it. The draw depends only on the
 * thread and the time it left, so that on_waking and on_switch decide alike without shared state.
 * Most thresholds are ruled out by a multiplication (draw_rules_out), without a logarithm.
 *
 * A level L, of a process that switches too often (wait_levels) or of all, reduces the cost.
 * Threads whose recent waits were short are followed in one of 2^L waits, drawn when they leave;
 * for the other waits not even the clock is read. For all other threads R is 2^L times as long.
 * Each record carries both.
 *
 * The stack is taken in the thread that returned (sched_exit_tp), where its memory can be read.
 * Kernels without that tracepoint use on_switch_alone, below.
 */
#pragma once

/* Kernel frames to skip: the BPF program and two of the tracepoint. */
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
	u32 u = draw | 1, bits = 31, log2, i, part, rest = ~draw;

	/* Close to 1 the table is too coarse for short waits: -ln(1 - e) = e + e * e / 2 + ... */
	if (rest < 1u << 26) {
		u64 first = (u64)rest * (mean >> 8) >> 24;

		return first + (first * rest >> 33);
	}
	/* Position of the highest bit, without a loop for the verifier to unroll. */
	bits = u >> 16 ? 16 : 0;
	bits += u >> (bits + 8) ? 8 : 0;
	bits += u >> (bits + 4) ? 4 : 0;
	bits += u >> (bits + 2) ? 2 : 0;
	bits += u >> (bits + 1) ? 1 : 0;
	/* Of the 31 bits after the highest one, six select the table row and 16 interpolate. */
	u = (u << (31 - bits)) & 0x7fffffffu;
	i = u >> 25;
	part = u >> 9 & 0xffff;
	i &= 63;
	log2 = log2_table[i] + (((log2_table[i + 1] - log2_table[i]) * part) >> 16);
	log2 += bits << 16;
	/* (32 - log2) ln 2, times the mean. */
	return (((32ull << 16) - log2) * LN2_16 >> 16) * (mean >> 4) >> 12;
}

/* Whether the threshold is above this length for certain: -ln(u) >= 1 - u. */
static __always_inline bool draw_rules_out(u32 draw, u64 mean, u64 length)
{
	return ((u64)(~draw) * (mean >> 8) >> 24) > length;
}

static __always_inline u64 wait_mean(u32 level)
{
	return settings.wait_mean_ns << (level & 15);
}

/* The sampling probability of a wait of this length, as stored in its record. */
static __always_inline u32 keep_of(u64 length, u64 mean)
{
	u64 keep;

	/* Practically certain; the multiplication below must not overflow. */
	if (length >> 5 >= mean)
		return ~0u;
	if (mean >> 30) {
		length >>= 10;
		mean >>= 10;
	}
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

/* The level of a process as the agent set it. */
static __always_inline u32 process_level(u32 pid)
{
	u32 *level = settings.storms ? bpf_map_lookup_elem(&wait_levels, &pid) : NULL;

	return level ? *level : 0;
}

/*
 * Assigns a slot to a thread that has none. Not inlined, because it runs once per thread.
 */
__attribute__((noinline)) int wait_settle(u32 tid, u32 pid)
{
	struct wait_start *w = wait_place(tid);
	struct wait_start fresh = {.tid = tid,
				   .pid = pid,
				   .decided = settings.targets_turn,
				   .unwanted = !wanted(pid),
				   .process_level = process_level(pid)};

	if (w && !w->tid && !__sync_val_compare_and_swap(&w->tid, 0, tid)) {
		w->time = 0;
		w->pid = pid;
		w->decided = fresh.decided;
		w->unwanted = fresh.unwanted;
		w->process_level = fresh.process_level;
		w->usual = 0;
		w->switches = 0;
		return 0;
	}
	return bpf_map_update_elem(&waits, &tid, &fresh, BPF_ANY);
}

/* Reloads target filter decision and level after these changed. */
__attribute__((noinline)) int wait_decide_again(struct wait_start *w)
{
	if (!w)
		return 0;
	w->decided = settings.targets_turn;
	w->unwanted = !wanted(w->pid);
	w->process_level = process_level(w->pid);
	return 0;
}

static __always_inline struct wait_start *place_of_leaver(struct task_struct *task)
{
	u32 tid = task->pid;
	struct wait_start *w;

	if (!tid || (!task->mm && !settings.kernel_threads))
		return NULL;
	w = wait_find(tid);
	if (!w) {
		/* on_exit has freed its entry; nothing would free another one. */
		if (task->flags & PF_EXITING)
			return NULL;
		wait_settle(tid, task->tgid);
		w = wait_find(tid);
		if (!w) {
			if (wanted(task->tgid))
				lose(task->tgid, RECORD_WAIT, LOSS_TABLE, 0, 0);
			return NULL;
		}
	}
	if (w->decided != settings.targets_turn)
		wait_decide_again(w);
	return w->unwanted ? NULL : w;
}

/* Whether this wait is followed, and at what level. The draw is independent of the thread's
 * behaviour. */
static __always_inline bool wait_is_followed(struct wait_start *w, u32 tid)
{
	u32 level = settings.wait_level, turn = ++w->switches;

	if (level < w->process_level)
		level = w->process_level;
	w->level = level;
	w->thin = 0;
	if (!level || w->usual > WAIT_USUAL_SHORT || turn < WAITS_KNOWN)
		return true;
	w->level = 0;
	w->thin = level & 15;
	return !(wait_draw(tid, turn) & ((1u << w->thin) - 1));
}

static __always_inline u8 wait_state_of(bool preempted, u32 state)
{
	return preempted || !state	      ? WAIT_PREEMPTED
	       : state & TASK_UNINTERRUPTIBLE ? WAIT_DISK
					      : WAIT_SLEEP;
}

/* In µs. A long wait raises the value immediately; it decays over about twenty waits. */
static __always_inline u32 usual_after(u32 usual, u64 length_ns)
{
	u64 length = length_ns >> 10;

	if (length > ~0u)
		length = ~0u;
	return length > usual ? length : usual - (usual - length) / 16;
}

/* Whether a wait of this length is sampled. */
static __always_inline bool wait_is_kept(const struct wait_start *w, u64 start, u64 length)
{
	u64 mean = wait_mean(w->level);
	u32 draw = wait_draw(w->tid, start);

	return !draw_rules_out(draw, mean, length) && length >= exponential(draw, mean);
}

/* When the wait of a returning thread began, which is then cleared; 0 = not recorded. */
static __always_inline u64 wait_began(struct wait_start *w)
{
	u64 start = w->time;

	w->time = 0;
	/* It began before a pause, during which nothing was recorded. */
	return start < settings.waits_since ? 0 : start;
}

/* A thread returns; its record is created when it runs. */
static __always_inline void note_return(struct wait_start *w, u32 tid, u64 now)
{
	u64 start = wait_began(w), length;
	struct arrival *a;
	u32 zero = 0;

	if (!start)
		return;
	/* Clocks of two CPUs may differ slightly. */
	length = now > start ? now - start : 0;
	w->usual = usual_after(w->usual, length);
	if (!wait_is_kept(w, start, length))
		return;
	a = bpf_map_lookup_elem(&arrivals, &zero);
	if (!a)
		return;
	a->start = start;
	a->length = length;
	a->level = w->level;
	a->thin = w->thin;
	a->state = w->state;
	a->tid = tid;
}

SEC("tp_btf/sched_switch")
int on_switch(u64 *context)
{
	struct task_struct *leaver = (void *)context[1], *comer = (void *)context[2];
	u32 tid = comer->pid;
	struct wait_start *w = tid ? wait_find(tid) : NULL;
	struct kernel_counters *c = count();
	u64 now = 0;

	if (c)
		c->switches++;
	if (w && w->time) {
		now = bpf_ktime_get_ns();
		note_return(w, tid, now);
	}
	w = place_of_leaver(leaver);
	if (!w || !wait_is_followed(w, leaver->pid))
		return 0;
	w->state = wait_state_of(context[0], context[3]);
	w->taken = 1;
	w->time = now ? now : bpf_ktime_get_ns();
	return 0;
}

/* Runs in the thread that returned, whose memory cannot be read at the switch. */
SEC("tp_btf/sched_exit_tp")
int on_return(u64 *context)
{
	u32 tid, zero = 0;
	struct arrival *a = bpf_map_lookup_elem(&arrivals, &zero);
	struct kernel_counters *c;
	struct task_struct *task;
	struct scratch *s;

	if (!a || !a->tid)
		return 0;
	tid = a->tid;
	a->tid = 0;
	if (tid != (u32)bpf_get_current_pid_tgid())
		return 0;
	c = count();
	if (c)
		c->waits_kept++;
	s = begin(SCRATCH_TRACE, RECORD_WAIT);
	if (!s)
		return lose(bpf_get_current_pid_tgid() >> 32, RECORD_WAIT,
			    loss_how(LOSS_NESTED, a->thin), a->length,
			    keep_of(a->length, wait_mean(a->level)));
	task = bpf_get_current_task_btf();
	s->head.value = a->length;
	s->head.keep = keep_of(a->length, wait_mean(a->level));
	s->head.thin = a->thin;
	s->head.wait_id = wait_draw(tid, a->start);
	s->head.wait_state = a->state;
	s->head.turn = turn_of(tid);
	kernel_stack(s, context, TRACE_SKIP);
	entry_registers(s, task);
	finish(s, task);
	return 0;
}

/* ---- kernels without sched_exit_tp ---- */

/* Lower bound of the expected wait, as a fraction of R. */
#define LEAST_PART 32
/* A wait is expected to be at most this many times as long as recent ones. */
#define FORESIGHT  2

/*
 * The stack is taken when the thread leaves, before the length of the wait is known. It is taken
 * only if the threshold is below the expected length (bounds), so that a thread with a hundred
 * thousand short waits per second costs no more than its samples. A longer wait than expected is
 * sampled with the probability of the expected length: rarely, with a higher weight.
 */
static __always_inline void take_leaver(struct wait_start *w, u64 *context,
					struct task_struct *task)
{
	u64 mean = wait_mean(w->level), least = mean / LEAST_PART >> 10;
	u64 bounds = (u64)w->usual * FORESIGHT;
	u32 draw = wait_draw(task->pid, w->time);
	struct scratch *s;

	if (bounds < least)
		bounds = least;
	w->bounds = bounds < ~0u ? bounds : ~0u;
	w->taken = 0;
	bounds = (u64)w->bounds << 10;
	if (draw_rules_out(draw, mean, bounds) || exponential(draw, mean) >= bounds)
		return;
	w->taken = 1;
	s = begin(SCRATCH_TRACE, RECORD_LEFT);
	/* Reported without a stack, as if the ring buffer had been full. */
	if (!s)
		return;
	s->head.wait_id = wait_draw(task->pid, w->time);
	s->head.wait_state = w->state;
	kernel_stack(s, context, TRACE_SKIP);
	entry_registers(s, task);
	finish(s, task);
}

static __always_inline void tell_return(struct wait_start *w, struct task_struct *task, u64 start,
					u64 now)
{
	/* Exclude the time to take the stack, which only some waits have. */
	u64 left = start + ((u64)w->taking << 6), length = now > left ? now - left : 0;
	u64 bounds = (u64)w->bounds << 10;
	struct kernel_counters *c = count();
	struct scratch *s;
	bool kept;
	u32 keep;

	w->usual = usual_after(w->usual, length);
	if (!w->taken)
		return;
	kept = wait_is_kept(w, start, length);
	if (c && kept)
		c->waits_kept++;
	keep = keep_of(length < bounds ? length : bounds, wait_mean(w->level));
	s = begin(SCRATCH_TRACE, RECORD_WAIT);
	if (!s) {
		lose(task->tgid, RECORD_WAIT, loss_how(LOSS_NESTED, w->thin), kept ? length : 0,
		     keep);
		return;
	}
	s->head.flags = RECORD_APART;
	s->head.pid = task->tgid;
	s->head.tid = task->pid;
	bpf_probe_read_kernel(s->head.comm, sizeof(s->head.comm), task->comm);
	s->head.value = kept ? length : 0;
	s->head.keep = keep;
	s->head.thin = w->thin;
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
	struct kernel_counters *c = count();
	u64 start, now = 0;

	if (c)
		c->switches++;
	if (w && w->time) {
		now = bpf_ktime_get_ns();
		start = wait_began(w);
		if (start)
			tell_return(w, comer, start, now);
	}
	w = place_of_leaver(leaver);
	if (!w || !wait_is_followed(w, leaver->pid))
		return 0;
	/* Kernels before 5.18 do not pass the previous state. */
	w->state = wait_state_of(context[0], leaver->__state);
	w->time = now ? now : bpf_ktime_get_ns();
	w->taking = 0;
	take_leaver(w, context, leaver);
	if (w->taken)
		w->taking = (bpf_ktime_get_ns() - w->time) >> 6;
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
	u64 start, now;

	if (!w)
		return 0;
	start = w->time;
	if (!start || !w->taken || start < settings.waits_since)
		return 0;
	now = bpf_ktime_get_ns();
	if (now < start || !wait_is_kept(w, start, now - start))
		return 0;
	s = begin(SCRATCH_WAKER, RECORD_WAKER);
	if (!s)
		return 0;
	c = count();
	if (c)
		c->wakers++;
	task = bpf_get_current_task_btf();
	s->head.wait_id = wait_draw(tid, start);
	kernel_stack(s, context, TRACE_SKIP);
	entry_registers(s, task);
	finish(s, task);
	return 0;
}
