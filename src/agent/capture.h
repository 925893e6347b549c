/*
 * A capture combines BPF programs, side band, processes and modules, and turns records into
 * samples. The owner calls capture_turn a few times per second; samples accumulate in the collector
 * until the owner takes them.
 */
#pragma once

#include "agent/collector.h"
#include "agent/target_filter.h"
#include "agent/wait_levels.h"

struct capture;

struct capture_options {
	struct kernel_options kernel;
	size_t waiting_bytes; /* limit for raw stacks that wait for unwind tables */
	u64 look_ns;	      /* interval of thread scans, of which the last one is reported */
	const struct targets *targets; /* NULL = all processes, or those given to capture_choose */
	const struct label_rules *rules;
};

extern const struct capture_options capture_options_default;

enum err capture_open(const struct capture_options *o, struct capture **ret,
		      struct fault *fault) MUST_CHECK;
/*
 * The same; for a user who may not load BPF programs it falls back to CPU time of the user's own
 * processes (capture_is_own).
 */
enum err capture_open_allowed(const struct capture_options *o, struct capture **ret,
			      struct fault *fault) MUST_CHECK;
bool capture_is_own(const struct capture *c);
/* A message about the limits of that mode. */
extern const char capture_own_note[];
/* The captured types (enum capture_types). */
unsigned capture_types(const struct capture *c);
/* The requested types that cannot be captured; more may be added until capture_start. */
const struct capture_lack *capture_lacks(const struct capture *c, size_t *ret_count);
/* kernel_options.wait_mean_ns. */
u64 capture_wait_mean(const struct capture *c);
void capture_close(struct capture *c);
enum err capture_choose(struct capture *c, u32 pid) MUST_CHECK;
/* Replaces the targets, which must live as long as the capture. */
enum err capture_set_targets(struct capture *c, const struct targets *t) MUST_CHECK;
/* Starts sampling. */
enum err capture_start(struct capture *c, struct fault *fault) MUST_CHECK;
void capture_stop(struct capture *c);
/* Sleeps for `ns`, or until a ring buffer fills up. */
void capture_wait(struct capture *c, int64_t ns);
/* Drains the ring buffers, and unwinds raw stacks whose tables are ready. */
enum err capture_turn(struct capture *c) MUST_CHECK;
/* Adds the current part of unfinished waits, at the end of a window. Call before capture_stop. */
enum err capture_open_waits(struct capture *c) MUST_CHECK;
/* Waits (up to a limit) until all files are read, then unwinds the waiting stacks. Call after
 * capture_stop. */
enum err capture_finish(struct capture *c, u64 limit_ns) MUST_CHECK;

/* The epoll instance that wakes capture_wait. */
int capture_wake(const struct capture *c);
/* The owner still holds stacks collected since this time (CLOCK_MONOTONIC); 0 = none. */
void capture_keep_since(struct capture *c, u64 time);
/*
 * Requests a level of off-CPU sampling, 0 (all) to WAIT_LEVEL_ALL. It takes effect with
 * capture_apply_levels, to be called when capture_levels_due returns true, after ending the window.
 */
void capture_want_wait_level(struct capture *c, unsigned level);
bool capture_levels_due(struct capture *c);
enum err capture_apply_levels(struct capture *c) MUST_CHECK;
/* Valid until levels were applied twice. */
const struct wait_level_set *capture_wait_levels(const struct capture *c);

struct collector *capture_collector(struct capture *c);
struct prober;
struct prober *capture_prober(struct capture *c);
struct modules *capture_modules(struct capture *c);
struct kernel_side *capture_kernel(struct capture *c);
struct processes *capture_processes(struct capture *c);
struct losses;
/* Losses since the last call, including those counted by the BPF programs. */
struct losses *capture_losses(struct capture *c);
/* By cause, since the start; as of the last capture_losses. */
const double *capture_lost(const struct capture *c);

struct capture_stats {
	struct kernel_counters kernel;
	u64 side_band_lost, reread; /* and processes read again because of it */
	u64 followed_ns; /* CPU time spent on following processes, with threads that read /proc */
	u64 events_shut, ring_stops;
	struct processes_limits limits;
	u32 probes_hung; /* threads that hang on a file or process */
	u64 probes_refused;
	u64 raw_walked;
	u64 raw_dropped;  /* kept without callers */
	u64 records_lost; /* lost for lack of memory in the agent */
	u32 processes;
	struct modules_stats modules;
	u64 table_bytes;
};

void capture_stats(const struct capture *c, struct capture_stats *ret);
