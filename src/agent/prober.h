/*
 * Threads that touch what belongs to others and may not answer: files below /proc/PID, which wait
 * for locks of the process, and its files, which may lie in a file system that somebody else runs
 * (FUSE, NFS). Nobody waits for them but for a time that is given.
 *
 * A thread that hangs is left alone and another one takes its place, up to a few; one process hangs
 * one thread at most, and what is wanted of it meanwhile is refused.
 */
#pragma once

#include "agent/process_report.h"
#include "unwind/unwind_format.h"

struct prober;

enum probe_kind { PROBE_PROCESS, PROBE_MODULE, PROBE_PERF_MAP, PROBE_DEBUG_FILE };

struct probe {
	enum probe_kind kind;
	u32 pid;
	u64 ticket; /* the caller's */
	u32 number; /* too */
	/* PROBE_PROCESS */
	struct process_report *report;
	/* PROBE_MODULE: what is mapped there. PROBE_DEBUG_FILE: the path is the build id. */
	u64 start, end, inode;
	struct str path; /* the probe's own */
	/* What was found: -1 = nothing. */
	int fd;
	u32 owner; /* uid of the file */
	u64 size;
	s64 seconds; /* when it was changed last */
	u64 nanoseconds;
	/* Of the prober. */
	int64_t begun;
	bool waited, done, abandoned;
};

struct probe *probe_new(enum probe_kind kind, u32 pid);
void probe_free(struct probe *p);
/* Does it at once, for as long as it takes: what a prober's threads do. */
void probe_work(struct probe *p);

enum err prober_new(struct prober **ret) MUST_CHECK;
/* Threads that hang are left behind. */
void prober_free(struct prober *p);
/* Takes the probe, also on failure. ERR_TOO_LARGE: too much is wanted already. ERR_UNAVAILABLE:
 * this process does not answer. */
enum err prober_post(struct prober *p, struct probe *probe) MUST_CHECK;
/* One that is done, which becomes the caller's; NULL when there is none. PROBE_PROCESS or
 * PROBE_MODULE. */
struct probe *prober_take(struct prober *p, enum probe_kind kind);
/* Readable when there is something to take. */
int prober_fd(const struct prober *p);
/* Probes of this kind, and what shares its threads, that were not taken. */
u32 prober_pending(struct prober *p, enum probe_kind kind);
/* Once a turn: starts threads in place of those that hang. */
void prober_turn(struct prober *p);
/* Threads that hang now, and probes that were refused. */
void prober_counts(struct prober *p, u32 *ret_hung, u64 *ret_refused);

/* The perf map of a process, and the debug file of a build id as a process and the host see it: by
 * the deadline, else -1. The descriptor is the caller's. */
int prober_perf_map(struct prober *p, u32 pid, int64_t deadline);
int prober_debug_file(struct prober *p, u32 pid, const struct unwind_image *image,
		      int64_t deadline);
