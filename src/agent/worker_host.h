/*
 * Files of strangers are read by processes that may do nothing else: without capabilities, as
 * nobody, with a handful of system calls. One that a file makes crash, hang or eat memory is gone
 * with what it was asked, and the next question goes to another one.
 *
 * They are forked by a host, a small process that was forked itself before the agent had anything
 * worth taking: docs/decisions/0011.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "unwind/unwind_format.h"

enum worker_kind {
	WORKER_TABLES = 1, /* interrupts nobody */
	WORKER_NAMES = 2,
	WORKER_VARIABLES = 3, /* somebody waits for it */
};

/*
 * Starts the host, once for a process; later calls do nothing. Best before there are threads, and
 * before rights are given away, for the host gives away more.
 */
enum err worker_host_start(void) MUST_CHECK;
/* A new worker; its socket is the caller's. Closing it ends the worker. */
enum err worker_open(enum worker_kind kind, int *ret_socket) MUST_CHECK;
/* Its last CPU time is counted, and the socket is closed. -1 = there is none. */
void worker_close(int socket);
/* CPU time of the worker at the other end so far. */
u64 worker_cpu_ns(int socket);
/*
 * Until it answers. A worker that is slowed down may take long: ERR_TIMEOUT when it used no CPU
 * time for `patience_ns`, or a minute of it since the question.
 */
enum err worker_wait(int socket, int64_t patience_ns) MUST_CHECK;

/* What the host and all its workers have cost, by the clocks that the kernel keeps of them. Any
 * thread. */
struct worker_usage {
	u64 cpu_ns;
	u64 memory; /* of their own, all that run now */
	u64 lost;   /* that ended before they had answered */
};

void worker_usage(struct worker_usage *ret);
/* Memory that only this process has; its text, and files it maps, are left out. 0 = it is gone. */
u64 process_own_bytes(pid_t pid);
/* Its proportional set size; 0 = it is gone, or a stranger's. */
u64 process_pss(pid_t pid);
/* Of the host and all workers that run now. */
u64 worker_pss(void);
void worker_count_lost(void);
