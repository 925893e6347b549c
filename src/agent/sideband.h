/*
 * What processes do that changes where their code lies: begin, run another program, map a file,
 * end. Read from the kernel's own stream of such events, two rings per processor, a few times a
 * second: every event is kept until it is read, in the order of time, so a process that lived 5 ms
 * is as well known as any other.
 *
 * Mappings have rings of their own: who maps without end pushes out no begin and no end of a
 * process. What reading a ring may cost is limited: one that fills up without end is stopped for a
 * second.
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

/* Without pages there are no rings: what happens is told with sideband_add. */
enum err sideband_open(u32 ring_pages, struct sideband **ret, struct fault *fault) MUST_CHECK;
void sideband_close(struct sideband *s);
/* Adds the rings to an epoll instance: readable (EPOLLET) when one is half full. */
enum err sideband_watch(const struct sideband *s, int epoll) MUST_CHECK;
/*
 * A few times a second: rings for processors that came, added to the epoll instance. Between two
 * looks things happen on them unseen: that counts as a loss.
 */
enum err sideband_follow(struct sideband *s, int epoll, u64 now) MUST_CHECK;
/* Takes what there is. Names stay valid until the next call that adds something after all was
 * handed out. */
enum err sideband_collect(struct sideband *s) MUST_CHECK;
/* A record of the kernel that came another way; it is handed out after sideband_collect. */
enum err sideband_add(struct sideband *s, const struct perf_event_header *h) MUST_CHECK;
/* The next one in the order of time that is not later than `until`; NULL when there is none. */
const struct sideband_event *sideband_next(struct sideband *s, u64 until);
/* A file's path without what the kernel adds when the file is gone; a mapping can still open it. */
struct str sideband_plain_name(struct str name);
/* Events that the kernel had to drop, and those of rings that were stopped for a while because they
 * filled up without end. */
u64 sideband_lost(const struct sideband *s);
/* The next process whose events are not looked at for some time (event_gate.h); false when there is
 * none more. Each once. */
bool sideband_offender(struct sideband *s, u32 *ret_pid);

struct sideband_stats {
	u64 lost;
	u64 shut;  /* events of processes that caused too many */
	u64 stops; /* of rings */
};

void sideband_stats(const struct sideband *s, struct sideband_stats *ret);
