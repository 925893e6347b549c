/*
 * The BPF side: loads and attaches programs, shares unwind tables with them, and drains records.
 * Used by one thread.
 */
#pragma once

#include "agent/capture_types.h"
#include "bpf/records.h"

struct sideband;

#define KERNEL_SEGMENTS_MAX 64u

struct kernel_options {
	unsigned types; /* enum capture_types */
	u32 rate_hz;
	u32 table_mib;	 /* memory for unwind tables, at most KERNEL_SEGMENTS_MAX */
	u32 ring_kib;	 /* a power of two; 0 = by number of CPUs */
	u32 max_threads; /* minimum number of threads whose waits or turns are tracked */
	u32 raw_stacks;	 /* limit of raw stacks between two drains; 0 = what fits into the ring */
	u64 wait_mean_ns;
	u64 memory_mean_bytes;
	bool old_waits; /* kernel_open_waits includes waits that began before the start */
	bool own;	/* unprivileged: perf events on the user's own processes */
	bool chosen;	/* only processes passed to kernel_choose, and their children */
	bool undecided; /* with `chosen`: others, too, until kernel_refuse */
	bool meter;	/* programs measure their own cost (if not kernel_statistics) */
};

struct kernel_side;

/*
 * Whether stacks of waits can be taken when a thread returns (sched_exit_tp). If not, they are
 * taken when it leaves, and long waits of threads with usually short waits are sampled less often.
 */
bool kernel_sees_returns(void);
/*
 * Loads the programs. The fault reports what the kernel or the user lacks. Types that the kernel
 * refuses here or in kernel_attach are left out and listed by kernel_lacks; fails if no type is
 * left.
 */
enum err kernel_open(const struct kernel_options *o, struct kernel_side **ret,
		     struct fault *fault) MUST_CHECK;
void kernel_close(struct kernel_side *k);
/* The captured types, and those requested but refused. Valid as long as `k`. */
unsigned kernel_types(const struct kernel_side *k);
const struct capture_lack *kernel_lacks(const struct kernel_side *k, size_t *ret_count);
/* Attaches the programs: records are written from here on. */
enum err kernel_attach(struct kernel_side *k, struct fault *fault) MUST_CHECK;
/* Detaches; the ring buffer can still be drained. */
void kernel_detach(struct kernel_side *k);

/* The segments of table memory, contiguous, and the rules. Only the agent writes to them. */
u8 *kernel_segments(const struct kernel_side *k, u32 *ret_count);
/* Whether segments are created on demand; if not, all exist. */
bool kernel_segments_grow(const struct kernel_side *k);
enum err kernel_add_segment(struct kernel_side *k, u32 index) MUST_CHECK;
/* No program may still read the segment. */
void kernel_remove_segment(struct kernel_side *k, u32 index);
struct unwind_rule *kernel_rules(const struct kernel_side *k);

enum err kernel_set_process(struct kernel_side *k, const struct process_key *key,
			    const struct process_entry *entry) MUST_CHECK;
void kernel_forget_process(struct kernel_side *k, const struct process_key *key);
/* Publishes a file with a table: processes that map it can be unwound before anything else is
 * known. */
void kernel_set_file(struct kernel_side *k, const struct file_key *key,
		     const struct file_entry *entry);
void kernel_forget_file(struct kernel_side *k, const struct file_key *key);
enum err kernel_choose(struct kernel_side *k, u32 pid) MUST_CHECK;
/* No more records of it until its next exec. */
void kernel_refuse(struct kernel_side *k, u32 pid);
void kernel_undecide(struct kernel_side *k, u32 pid);
/* Whether it, or an ancestor, was chosen. */
bool kernel_is_chosen(const struct kernel_side *k, u32 pid);
/* Forgets all decisions; `chosen` and `undecided` as in the options. */
enum err kernel_choose_anew(struct kernel_side *k, bool chosen, bool undecided) MUST_CHECK;

/* Passes all records in the ring buffers to `record`. */
enum err kernel_drain(struct kernel_side *k, void *context,
		      enum err (*record)(void *context, const struct record_head *head,
					 size_t size)) MUST_CHECK;
/* Adds descriptors to an epoll instance that become readable (EPOLLET) when a ring fills up. */
enum err kernel_watch(const struct kernel_side *k, int epoll) MUST_CHECK;
/* In unprivileged mode (`own`) process events arrive with the records, and are passed to this side
 * band. */
void kernel_tell(struct kernel_side *k, struct sideband *s);
/* Passes a raw stack of every blocked thread (RECORD_OPEN). Does nothing without off-CPU profiling.
 */
enum err kernel_open_waits(struct kernel_side *k, void *context,
			   enum err (*record)(void *context, const struct record_head *head,
					      size_t size)) MUST_CHECK;
/* Passes all threads (RECORD_THREAD); those running on a CPU without a stack. */
enum err kernel_count_threads(struct kernel_side *k, void *context,
			      enum err (*record)(void *context, const struct record_head *head,
						 size_t size)) MUST_CHECK;
/* When the current turn of a thread began; 0 = none. */
u64 kernel_turn(const struct kernel_side *k, u32 tid);
void kernel_count(const struct kernel_side *k, struct kernel_counters *ret);
/* Passes the records lost since the last call, by process; pid 0 where there was no room for it. */
void kernel_losses(struct kernel_side *k, void *context,
		   void (*take)(void *context, const struct loss_key *key,
				const struct loss_count *lost));
/* The share of the CPUs for which the kernel refused a sampling timer. */
double kernel_clockless(const struct kernel_side *k);
/* Sets the mean sampling period of a CPU (cpu_clocks.h). */
enum err kernel_set_period(struct kernel_side *k, u64 period_ns) MUST_CHECK;
/*
 * Sets the level of off-CPU sampling, a factor of two per level (at most WAIT_LEVEL_MAX): fewer
 * short waits of busy threads are followed, and R is doubled for the others. Each record contains
 * its probability. The first sets the minimum of all processes, the second the level of some.
 */
void kernel_set_wait_level(struct kernel_side *k, u32 level);
enum err kernel_set_process_levels(struct kernel_side *k, const u32 *pids, size_t n,
				   u32 level) MUST_CHECK;
/* WAIT_PLACES entries, changed concurrently by the BPF programs; NULL without off-CPU profiling. */
const struct wait_start *kernel_wait_places(struct kernel_side *k);
void kernel_drop_wait_places(struct kernel_side *k);
/* Call a few times per second: varies the periods of timers, and adds timers for new CPUs. */
enum err kernel_turn_clocks(struct kernel_side *k, u64 now) MUST_CHECK;
/*
 * Pauses all records until kernel_resume. Unfinished waits are dropped, because their end is not
 * seen.
 */
void kernel_pause(struct kernel_side *k);
enum err kernel_resume(struct kernel_side *k, struct fault *fault) MUST_CHECK;
/* Memory of all BPF maps, as counted by the kernel. */
u64 kernel_map_bytes(struct kernel_side *k);
/* The part of it that is mapped into this process. */
u64 kernel_mapped_bytes(const struct kernel_side *k);
/*
 * Makes the kernel measure the run time of BPF programs until this process ends. Needs
 * CAP_SYS_ADMIN, which the agent has only at startup, if at all. False: not measured; set
 * kernel_options.meter.
 */
bool kernel_statistics(void);
/*
 * Run time of the programs since they were loaded. If they measure themselves, it is the time of
 * records plus an estimate per context switch, without system calls that `faults` and `loop`
 * inspect without a result.
 */
u64 kernel_run_time_ns(const struct kernel_side *k);
/* The part of off-CPU programs. */
u64 kernel_wait_time_ns(const struct kernel_side *k);
/* The part of the CPU sampling program. */
u64 kernel_timer_time_ns(const struct kernel_side *k);
