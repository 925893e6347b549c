/*
 * A capture: the kernel side, the side band, processes and modules, turned into samples. The owner
 * calls capture_turn a few times a second; samples collect in the collector until they are taken.
 */
#pragma once

#include "agent/collector.h"
#include "agent/judge.h"
#include "agent/wait_levels.h"

struct capture;

struct capture_options {
	struct kernel_options kernel;
	size_t waiting_bytes;	       /* raw stacks that wait for their tables, at most */
	u64 look_ns;		       /* between two counts of threads: the last one is told */
	const struct targets *targets; /* NULL = everything, or who is given with capture_choose */
	const struct label_rules *rules;
};

extern const struct capture_options capture_options_default;

enum err capture_open(const struct capture_options *o, struct capture **ret,
		      struct fault *fault) MUST_CHECK;
/*
 * The same; a user who may not load programs gets what is left: processor time of that user's own
 * processes (capture_is_own).
 */
enum err capture_open_allowed(const struct capture_options *o, struct capture **ret,
			      struct fault *fault) MUST_CHECK;
bool capture_is_own(const struct capture *c);
/* What that leaves out, for people. */
extern const char capture_own_note[];
/* enum capture_types that are captured. */
unsigned capture_types(const struct capture *c);
/* What was asked for besides and cannot be captured; more may come until capture_start. */
const struct capture_lack *capture_lacks(const struct capture *c, size_t *ret_count);
/* R as it was asked for: see kernel_options. */
u64 capture_wait_mean(const struct capture *c);
void capture_close(struct capture *c);
enum err capture_choose(struct capture *c, u32 pid) MUST_CHECK;
/* Other targets from now on; they must live as long as the capture. */
enum err capture_set_targets(struct capture *c, const struct targets *t) MUST_CHECK;
/* Samples come from here on. */
enum err capture_start(struct capture *c, struct fault *fault) MUST_CHECK;
void capture_stop(struct capture *c);
/* Sleeps so long, or until the kernel side has so much that the next turn should not wait. */
void capture_wait(struct capture *c, int64_t ns);
/* Takes what the kernel side has; raw stacks whose tables have come are walked. */
enum err capture_turn(struct capture *c) MUST_CHECK;
/* Adds the part of waits that have not ended; the next window begins here. Before capture_stop. */
enum err capture_open_waits(struct capture *c) MUST_CHECK;
/* Waits (up to a limit) until all files are read, then walks what waited; after capture_stop. */
enum err capture_finish(struct capture *c, u64 limit_ns) MUST_CHECK;

/* The epoll instance that ends capture_wait. */
int capture_wake(const struct capture *c);
/* The owner took what the collector had and keeps stacks since then (CLOCK_MONOTONIC); 0 = none. */
void capture_keep_since(struct capture *c, u64 time);
/*
 * Off-CPU time is to be followed less closely: 0 to WAIT_LEVEL_ALL. It holds from
 * capture_apply_levels on, which is due when capture_levels_due says so; a window should end
 * before.
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
/* What was lost since it was asked for last, with what the kernel side counted. */
struct losses *capture_losses(struct capture *c);
/* By cause, since the start; as of the last capture_losses. */
const double *capture_lost(const struct capture *c);

struct capture_stats {
	struct kernel_counters kernel;
	u64 side_band_lost, reread; /* and processes asked again because of it */
	u64 events_shut, ring_stops;
	struct processes_limits limits;
	u32 probes_hung; /* threads that wait for files or processes that do not answer */
	u64 probes_refused;
	u64 raw_walked;
	u64 raw_dropped;  /* their samples are there, without callers */
	u64 records_lost; /* the kernel's ring had room for, and the agent had not */
	u32 processes;
	struct modules_stats modules;
	u64 table_bytes;
};

void capture_stats(const struct capture *c, struct capture_stats *ret);
