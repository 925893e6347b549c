/*
 * The side band: fork, exec, mmap and exit of processes, from perf events, in two rings per CPU
 * that are read a few times per second. Every event is kept and processed in order of time, so that
 * even a process of 5 ms is known.
 *
 * Mappings have separate rings, so that a process that maps continuously cannot displace fork and
 * exit events. The cost of reading a ring is limited: one that fills up continuously is stopped for
 * a second.
 */
#pragma once

#include "base/err.h"
#include "unwind/unwind.h"

enum sideband_kind { SIDEBAND_FORK, SIDEBAND_EXEC, SIDEBAND_COMM, SIDEBAND_MAP, SIDEBAND_EXIT };

struct sideband_event {
	enum sideband_kind kind;
	u32 pid, tid;
	u32 parent; /* of a fork */
	u64 time;   /* CLOCK_MONOTONIC */
	u64 start, end, file_offset;
	u32 device_major, device_minor;
	u64 inode;
	struct str name; /* the file's path, or the thread's name; see sideband_collect */
};

struct sideband;

struct perf_event_header;

/* Without `pages` there are no rings, and events are added by sideband_add. */
enum err sideband_open(u32 ring_pages, struct sideband **ret, struct fault *fault) MUST_CHECK;
void sideband_close(struct sideband *s);
/* Adds the rings to an epoll instance: readable (EPOLLET) when one is half full. */
enum err sideband_watch(const struct sideband *s, int epoll) MUST_CHECK;
/*
 * Call a few times per second: adds rings for new CPUs to the epoll instance. Events on these since
 * the last call are missed, which counts as a loss.
 */
enum err sideband_follow(struct sideband *s, int epoll, u64 now) MUST_CHECK;
/* Reads all rings. Names stay valid until the next call that adds events after all were
 * returned. */
enum err sideband_collect(struct sideband *s) MUST_CHECK;
/* Adds a record from another source; it is returned after sideband_collect. */
enum err sideband_add(struct sideband *s, const struct perf_event_header *h) MUST_CHECK;
/* The next event in order of time, not later than `until`; NULL if there is none. */
const struct sideband_event *sideband_next(struct sideband *s, u64 until);
/* A file's path without the suffix that the kernel adds to deleted files, which can still be opened
 * through the mapping. */
struct str sideband_plain_name(struct str name);
/* Events dropped by the kernel, and those of rings that were stopped because they filled up
 * continuously. */
u64 sideband_lost(const struct sideband *s);
/* The next process whose events are being ignored (event_gate.h), each once; false if there is
 * none. */
bool sideband_offender(struct sideband *s, u32 *ret_pid);

struct sideband_stats {
	u64 lost;
	u64 shut;  /* ignored events of processes above their limit */
	u64 stops; /* of rings */
};

void sideband_stats(const struct sideband *s, struct sideband_stats *ret);
