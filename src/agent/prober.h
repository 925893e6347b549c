/*
 * Threads for operations that may hang: reading /proc/PID, which waits for locks of the process,
 * and opening its files, which may be in a hanging file system (FUSE, NFS). Callers wait for a
 * limited time only.
 *
 * A thread that hangs is abandoned and replaced, up to a few; a process can hang at most one
 * thread, and further requests for it are refused meanwhile.
 *
 * The threads throttle themselves: they sleep when they have used more CPU time than their pace
 * allows. The next probe is about a process of the user whose processes have taken least so far
 * (owner_queue.h), of those the most urgent one. So the processes that run when the agent starts are
 * read over some seconds, and a user whose processes take long to read delays those of others by
 * one probe at most.
 */
#pragma once

#include "agent/process_report.h"
#include "unwind/unwind_format.h"

struct prober;

/* Most urgent first; of equal ones the oldest. PROBE_CALLER_WAITS comes before those of all users. */
enum probe_rank { PROBE_CALLER_WAITS, PROBE_SAMPLES_WAIT, PROBE_SOON, PROBE_LATER, PROBE_RANKS };

enum probe_kind { PROBE_PROCESS, PROBE_MODULE, PROBE_PERF_MAP, PROBE_DEBUG_FILE };

struct probe {
	enum probe_kind kind;
	enum probe_rank rank;
	u32 pid;
	u64 ticket; /* the caller's */
	u32 number; /* too */
	/* PROBE_PROCESS */
	struct process_report *report;
	/* PROBE_MODULE: the mapping. PROBE_DEBUG_FILE: the path is the build id. */
	u64 start, end, inode;
	struct str path; /* the probe's own */
	/* Result; -1 = not found. */
	int fd;
	u32 owner; /* uid of the file */
	u64 size;
	s64 seconds; /* modification time */
	u64 nanoseconds;
	/* Private to the prober. */
	u32 user; /* of the process */
	int64_t posted, begun;
	bool done, abandoned;
};

struct probe *probe_new(enum probe_kind kind, u32 pid);
void probe_free(struct probe *p);
/* The uid of a process, without waiting for it; REPORT_NOBODY if it is gone. */
u32 probe_user(u32 pid);
/* Runs the probe synchronously; called by the prober's threads. */
void probe_work(struct probe *p);

enum err prober_new(struct prober **ret) MUST_CHECK;
/* Threads that hang are abandoned. */
void prober_free(struct prober *p);
/* Takes ownership of the probe, also on failure. ERR_TOO_LARGE: too many requests. ERR_UNAVAILABLE:
 * this process hangs. */
enum err prober_post(struct prober *p, struct probe *probe) MUST_CHECK;
/* A finished probe, owned by the caller; NULL if there is none. PROBE_PROCESS or PROBE_MODULE. */
struct probe *prober_take(struct prober *p, enum probe_kind kind);
/* Readable when a probe is finished. */
int prober_fd(const struct prober *p);
/* Number of probes of this kind, and of those that share its threads, that were not taken yet. */
u32 prober_pending(struct prober *p, enum probe_kind kind);
/* Call once per turn: replaces threads that hang. */
void prober_turn(struct prober *p);
/* Nanoseconds of CPU time a second; 0 = no limit, as at the start. */
void prober_set_pace(struct prober *p, u64 ns);
/* CPU time of all threads so far; a hung thread's is added when it returns. */
u64 prober_cpu_ns(struct prober *p);
/* When the oldest probe of this kind was posted that has not begun; INT64_MAX = none. */
int64_t prober_oldest(struct prober *p, enum probe_kind kind);
/* Number of threads that hang now, and of refused probes. */
void prober_counts(struct prober *p, u32 *ret_hung, u64 *ret_refused);

/* Opens the perf map of a process, or the debug file of a build id as seen by a process and the
 * host; -1 if not done by the deadline. The caller owns the descriptor. */
int prober_perf_map(struct prober *p, u32 pid, int64_t deadline);
int prober_debug_file(struct prober *p, u32 pid, const struct unwind_image *image,
		      int64_t deadline);
