/*
 * Runs another program to its end, without a shell: input from memory, output into memory, with a
 * ceiling and a time limit. The program inherits only standard input, output and error. At the time
 * limit it is killed, with all its child processes.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct process_options {
	const char *const *argv; /* ends with NULL; argv[0] is searched in PATH */
	/*
	 * Standard input, may be empty. It is a file in memory, so a program that must seek can
	 * open /dev/stdin.
	 */
	struct str input;
	size_t max_output;  /* more is ERR_TOO_LARGE */
	int64_t timeout_ns; /* then ERR_TIMEOUT; 0 = no limit */
};

struct process_result {
	struct buf output;
	struct buf errors; /* the first 64 KiB of standard error */
	int status;	   /* exit status, or 128 + signal */
};

/*
 * ERR_OK if the program exited, with any status; ERR_NOT_FOUND if there is no such program. `ret`
 * is filled on success only.
 */
enum err process_run(const struct process_options *options, struct process_result *ret,
		     struct fault *fault) MUST_CHECK;
/* Turns a non-zero status into an error with the first line that the program wrote to stderr. */
enum err process_check(const struct process_result *r, const char *name,
		       struct fault *fault) MUST_CHECK;
void process_result_release(struct process_result *r);
