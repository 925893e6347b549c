/*
 * The kernel side as the agent sees it: programs loaded and attached, table memory shared with
 * them, records taken out. One thread uses it.
 */
#pragma once

#include "agent/capture_types.h"
#include "bpf/records.h"

struct sideband;

#define KERNEL_SEGMENTS_MAX 64u

struct kernel_options {
	unsigned types; /* enum capture_types */
	u32 rate_hz;
	u32 table_mib;	 /* memory for unwinding tables, KERNEL_SEGMENTS_MAX at most */
	u32 ring_kib;	 /* a power of two; 0 = as the CPUs need */
	u32 max_threads; /* whose waits or turns are followed at one time, at least */
	u32 raw_stacks;	 /* that may be sent between two drains; 0 = what the ring has room for */
	u64 wait_mean_ns;
	u64 memory_mean_bytes;
	bool old_waits; /* kernel_open_waits tells also of waits that began before the start */
	bool own;	/* by perf events on this user's own processes: needs no rights */
	bool chosen;	/* only processes given with kernel_choose, and their children */
	bool undecided; /* also others, until kernel_refuse; with `chosen` */
	bool meter;	/* the kernel does not count what programs cost (kernel_statistics) */
};

struct kernel_side;

/*
 * Whether threads are seen when they come back. If not, stacks of waits are taken when threads
 * leave, and long waits of threads that usually wait briefly are seen less often.
 */
bool kernel_sees_returns(void);
/*
 * Loads the programs. The fault says what the kernel lacks or who may. Types that the kernel
 * refuses here or in kernel_attach are left out, and kernel_lacks says which; it fails when none is
 * left.
 */
enum err kernel_open(const struct kernel_options *o, struct kernel_side **ret,
		     struct fault *fault) MUST_CHECK;
void kernel_close(struct kernel_side *k);
/* What is captured, and what was asked for besides. Valid as long as the kernel side. */
unsigned kernel_types(const struct kernel_side *k);
const struct capture_lack *kernel_lacks(const struct kernel_side *k, size_t *ret_count);
/* From here on records are written. */
enum err kernel_attach(struct kernel_side *k, struct fault *fault) MUST_CHECK;
/* Ends the sources; what is in the ring buffer stays to be drained. */
void kernel_detach(struct kernel_side *k);

/* Segments of table memory, one behind the other, and the rules. Written by the agent alone. */
u8 *kernel_segments(const struct kernel_side *k, u32 *ret_count);
/* Whether they are made as they are needed; if not they are all there. */
bool kernel_segments_grow(const struct kernel_side *k);
enum err kernel_add_segment(struct kernel_side *k, u32 index) MUST_CHECK;
/* No program reads it any more. */
void kernel_remove_segment(struct kernel_side *k, u32 index);
struct unwind_rule *kernel_rules(const struct kernel_side *k);

enum err kernel_set_process(struct kernel_side *k, const struct process_key *key,
			    const struct process_entry *entry) MUST_CHECK;
void kernel_forget_process(struct kernel_side *k, const struct process_key *key);
/* A file whose table is there: processes that map it can be walked before anything else is known.
 */
void kernel_set_file(struct kernel_side *k, const struct file_key *key,
		     const struct file_entry *entry);
void kernel_forget_file(struct kernel_side *k, const struct file_key *key);
enum err kernel_choose(struct kernel_side *k, u32 pid) MUST_CHECK;
/* Nothing more of it, until it runs another program. */
void kernel_refuse(struct kernel_side *k, u32 pid);
void kernel_undecide(struct kernel_side *k, u32 pid);
/* Whether it, or one that began it, was chosen. */
bool kernel_is_chosen(const struct kernel_side *k, u32 pid);
/* Forgets all decisions; `chosen` and `undecided` as in the options. */
enum err kernel_choose_anew(struct kernel_side *k, bool chosen, bool undecided) MUST_CHECK;

/* Hands out all records that are there. */
enum err kernel_drain(struct kernel_side *k, void *context,
		      enum err (*record)(void *context, const struct record_head *head,
					 size_t size)) MUST_CHECK;
/* Adds to an epoll instance what becomes readable (EPOLLET) when a ring fills up. */
enum err kernel_watch(const struct kernel_side *k, int epoll) MUST_CHECK;
/* Without rights (`own`) what processes do comes together with the records, and goes there. */
void kernel_tell(struct kernel_side *k, struct sideband *s);
/* Hands out threads that wait now (RECORD_OPEN), each a raw stack. Nothing without waits. */
enum err kernel_open_waits(struct kernel_side *k, void *context,
			   enum err (*record)(void *context, const struct record_head *head,
					      size_t size)) MUST_CHECK;
/* Hands out all threads (RECORD_THREAD); those on a processor at this moment without a stack. */
enum err kernel_count_threads(struct kernel_side *k, void *context,
			      enum err (*record)(void *context, const struct record_head *head,
						 size_t size)) MUST_CHECK;
/* When the turn began that a thread is in at this moment; 0 = in none. */
u64 kernel_turn(const struct kernel_side *k, u32 tid);
void kernel_count(const struct kernel_side *k, struct kernel_counters *ret);
/* Hands out what the kernel side had no room for since the last call, by process. */
void kernel_losses(const struct kernel_side *k, void *context,
		   void (*take)(void *context, const struct loss_key *key,
				const struct loss_count *lost));
/* The part of the CPUs that have no clock because the kernel refused it. */
double kernel_clockless(const struct kernel_side *k);
/* Nanoseconds between samples of one processor, on average (cpu_clocks.h). */
enum err kernel_set_period(struct kernel_side *k, u64 period_ns) MUST_CHECK;
/*
 * Off-CPU time is followed less closely, by a factor of two for each level (WAIT_LEVEL_MAX at
 * most): fewer of the short waits of busy threads are followed, and R is doubled for the others.
 * Each record says how likely it was. Of all processes at least; and of some.
 */
void kernel_set_wait_level(struct kernel_side *k, u32 level);
enum err kernel_set_process_levels(struct kernel_side *k, const u32 *pids, size_t n,
				   u32 level) MUST_CHECK;
/* WAIT_PLACES of them, which change all the time; NULL without off-CPU time. */
const struct wait_start *kernel_wait_places(struct kernel_side *k);
void kernel_drop_wait_places(struct kernel_side *k);
/* A few times a second: clocks get other periods, processors that came get clocks. */
enum err kernel_turn_clocks(struct kernel_side *k, u64 now) MUST_CHECK;
/*
 * No records until kernel_resume. Waits that were under way are forgotten: nobody saw how they
 * ended.
 */
void kernel_pause(struct kernel_side *k);
enum err kernel_resume(struct kernel_side *k, struct fault *fault) MUST_CHECK;
/* Memory of all maps, as the kernel counts it. */
u64 kernel_map_bytes(struct kernel_side *k);
/* The part of it that is mapped into this process. */
u64 kernel_mapped_bytes(const struct kernel_side *k);
/*
 * Makes the kernel count the time of programs, until this process ends: it needs more rights than
 * all the rest (CAP_SYS_ADMIN), which the agent has only at its start, if at all. False: it does
 * not count, and programs have to (kernel_options.meter).
 */
bool kernel_statistics(void);
/*
 * Time spent in the programs since they were loaded. What programs count themselves is what records
 * take, and an estimate for each switch; calls that `faults` and `loop` look at in vain are not in
 * it.
 */
u64 kernel_run_time_ns(const struct kernel_side *k);
/* The part of those that follow waits. */
u64 kernel_wait_time_ns(const struct kernel_side *k);
/* The part of the one that takes samples. */
u64 kernel_timer_time_ns(const struct kernel_side *k);
