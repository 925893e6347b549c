/*
 * Files of strangers are read by processes that may do nothing else: without capabilities, with a
 * uid of their own, with a handful of system calls. One that a file makes crash, hang or eat memory
 * is gone with what it was asked, and the next question goes to another one.
 *
 * They are forked by zygotes (worker_zygote.h). A thread looks after those, and whoever waits for a
 * worker looks after it: what was stopped, killed or hangs is replaced within a second.
 *
 * Starting, waiting for and ending workers takes time: never in the thread that drains the rings.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "unwind/unwind_format.h"

enum worker_kind {
	WORKER_TABLES = 1, /* interrupts nobody */
	WORKER_NAMES = 2,
};

/*
 * Starts the zygotes, once for a process; later calls do nothing. Best before there are threads,
 * and before privileges are given away, for the zygotes give away more.
 */
enum err worker_host_start(void) MUST_CHECK;
/* From here on zygotes that end, or are stopped, are replaced. After privileges were given away. */
void worker_host_watch(void);
/* A new worker; its socket is the caller's. Closing it ends the worker. */
enum err worker_open(enum worker_kind kind, int *ret_socket) MUST_CHECK;
/* Its last CPU time is counted, and the socket is closed. -1 = there is none. */
void worker_close(int socket);

/* Why a worker is not waited for any more. */
enum worker_fate {
	WORKER_ANSWERS, /* there is something to receive */
	WORKER_ENDED,
	WORKER_STOPPED, /* by a signal or a debugger */
	WORKER_HUNG,	/* it neither works nor sleeps off what it has used */
	WORKER_SPENT,	/* it has used all CPU time that it was given */
	WORKER_FATES
};

struct worker_patience {
	/* Of the worker's time since the wait began; it is then given up. */
	u64 cpu_ns;
	/* Asked a few times a second: whether it is given up now, having used so much. */
	bool (*enough)(void *context, u64 cpu_ns);
	void *context;
};

/* Until it answers. One that is slowed down may take long. */
enum worker_fate worker_wait(int socket, const struct worker_patience *patience);
/* Ends a worker that does not answer, says so in the log, and closes the socket. */
void worker_replace(int socket, enum worker_fate fate);
const char *worker_fate_text(enum worker_fate fate);
/* CPU time of the worker at the other end so far. */
u64 worker_cpu_ns(int socket);

/* What zygotes and workers have cost, by the clocks that the kernel keeps of them. Any thread. */
struct worker_usage {
	u64 cpu_ns;
	u64 memory;		    /* of their own, all that run now */
	u64 lost;		    /* that ended before they had answered */
	u64 replaced[WORKER_FATES]; /* by why */
	u64 zygotes;		    /* that were replaced */
};

void worker_usage(struct worker_usage *ret);
/* Memory that only this process has; its text, and files it maps, are left out. 0 = it is gone. */
u64 process_own_bytes(pid_t pid);
/* Its proportional set size; 0 = it is gone, or a stranger's. */
u64 process_pss(pid_t pid);
/* Of the zygotes and all workers that run now. */
u64 worker_pss(void);
void worker_count_lost(void);
