/*
 * Runs another program to its end, without a shell: input from memory, output into memory, with a
 * ceiling and a time limit. The program sees standard input, output and error and no other open
 * file of ours. When the limit is reached it is killed together with everything it started.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct process_options {
	const char *const *argv; /* ends with NULL; argv[0] is looked for in PATH */
	/*
	 * Standard input; nothing when empty. It is a file in memory: a program that must seek can
	 * open it as /dev/stdin.
	 */
	struct str input;
	size_t max_output;  /* more is ERR_TOO_LARGE */
	int64_t timeout_ns; /* later is ERR_TIMEOUT; 0 = no limit */
};

struct process_result {
	struct buf output;
	struct buf errors; /* the first 64 KiB of standard error */
	int status;	   /* exit status; 128 + signal when a signal ended it */
};

/*
 * ERR_OK when the program ran to its end, whatever its status; ERR_NOT_FOUND when there is no such
 * program. `ret` is filled on success only.
 */
enum err process_run(const struct process_options *options, struct process_result *ret,
		     struct fault *fault) MUST_CHECK;
/* Turns a status other than 0 into an error that repeats the program's first line of complaint. */
enum err process_check(const struct process_result *r, const char *name,
		       struct fault *fault) MUST_CHECK;
void process_result_release(struct process_result *r);
