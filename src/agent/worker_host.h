/*
 * Untrusted files are parsed by sandboxed processes: no capabilities, a uid of their own, a handful
 * of system calls. If a file makes a worker crash, hang or use too much memory, only that request
 * is lost, and the next goes to another worker.
 *
 * Zygotes (worker_zygote.h) fork the workers. A thread supervises the zygotes, and the caller of
 * worker_wait its worker: one that was stopped or killed, or that hangs, is replaced within a
 * second.
 *
 * Starting, waiting for and ending workers takes time: never do it on the thread that drains the
 * ring buffers.
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
 * Starts the zygotes, once per process; later calls do nothing. Call it before there are threads,
 * and before privileges are dropped, because the zygotes drop more.
 */
enum err worker_host_start(void) MUST_CHECK;
/* Starts replacing zygotes that end or are stopped. Call after privileges were dropped. */
void worker_host_watch(void);
/* Starts a worker. The caller owns the socket; closing it ends the worker. */
enum err worker_open(enum worker_kind kind, int *ret_socket) MUST_CHECK;
/* Counts its CPU time and closes the socket. -1 is allowed. */
void worker_close(int socket);

/* Result of waiting for a worker. */
enum worker_fate {
	WORKER_ANSWERS, /* an answer can be received */
	WORKER_ENDED,
	WORKER_STOPPED, /* by a signal or a debugger */
	WORKER_HUNG,	/* it neither uses CPU time nor is throttled */
	WORKER_SPENT,	/* it used up its CPU time */
	WORKER_FATES
};

struct worker_patience {
	/* CPU time of the worker since the wait began after which it is given up. */
	u64 cpu_ns;
	/* Called a few times per second with its CPU time: whether to give it up now. */
	bool (*enough)(void *context, u64 cpu_ns);
	void *context;
};

/* Waits until it answers. A throttled worker may take long. */
enum worker_fate worker_wait(int socket, const struct worker_patience *patience);
/* Kills a worker that does not answer, logs that, and closes the socket. */
void worker_replace(int socket, enum worker_fate fate);
const char *worker_fate_text(enum worker_fate fate);
/* CPU time of the worker so far. */
u64 worker_cpu_ns(int socket);

/* Cost of zygotes and workers, as measured by the kernel. Thread safe. */
struct worker_usage {
	u64 cpu_ns;
	u64 memory;		    /* private memory of all running ones */
	u64 lost;		    /* workers that ended before they answered */
	u64 replaced[WORKER_FATES]; /* by reason */
	u64 zygotes;		    /* replaced zygotes */
};

void worker_usage(struct worker_usage *ret);
/* Private memory of a process, without its text and mapped files. 0 = it has ended. */
u64 process_own_bytes(pid_t pid);
/* Its proportional set size; 0 = it has ended, or belongs to another user. */
u64 process_pss(pid_t pid);
/* Proportional set size of zygotes and running workers. */
u64 worker_pss(void);
void worker_count_lost(void);
