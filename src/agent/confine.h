/*
 * After its start the agent needs little: it gives the rest of its privileges away, for good.
 */
#pragma once

#include "base/err.h"
#include "unwind/unwind_format.h"

/* Of the queue, of debug files, of the control socket. */
#define CONFINE_FOLDERS 3

struct confine_options {
	const char *folders[CONFINE_FOLDERS]; /* the only ones it writes into; NULL = none */
};

/*
 * Root becomes a user of its own (vestal-agent, or PRIVILEGE_AGENT_UID) and gets these folders; the
 * capabilities that are used while it runs are kept, of those it has; new ones and the system
 * calls below are forbidden; of the file system only the folders are writable. For this thread and
 * those it starts later, so it is called before there are others. What cannot be given away is a
 * fault. Again (the settings were read again) it does nothing new.
 */
enum err confine_self(const struct confine_options *o, struct fault *fault) MUST_CHECK;
/* Who it was before. */
u32 confine_first_uid(void);
/*
 * For a process that reads files of strangers: no capabilities at all, and only the system calls
 * that reading takes. No descriptor but its socket leads out of it.
 */
enum err confine_reader(void) MUST_CHECK;
