/*
 * After its start the agent needs little: it gives the rest of its rights away, for good.
 */
#pragma once

#include "base/err.h"

/*
 * Keeps the capabilities that are used while it runs, of those it has; forbids new ones; and
 * forbids the system calls below. For this thread and those it starts later, so it is called before
 * there are others. What cannot be given away is a fault.
 */
enum err confine_self(struct fault *fault) MUST_CHECK;
/*
 * For a process that reads files of strangers: no capabilities at all, and only the system calls
 * that reading takes. No descriptor but its socket leads out of it.
 */
enum err confine_reader(void) MUST_CHECK;
