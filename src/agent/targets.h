/*
 * Which processes are profiled. A target names what a process must be, all of it; one target that
 * fits is enough, and what such a process begins is followed too. Without targets everything is
 * profiled. The kernel side keeps what was decided about each process: one that is not wanted costs
 * one sample and from then on nothing.
 */
#pragma once

#include "agent/process_look.h"
#include "base/vec.h"

#define TARGET_LABELS 4

struct target_label {
	const char *name, *value;
};

struct target {
	u32 pid;	    /* 0 = any */
	int64_t uid;	    /* -1 = any */
	const char *name;   /* of the process or its executable file; NULL = any */
	const char *cgroup; /* see cgroup_matches */
	struct target_label labels[TARGET_LABELS]; /* all of which it must carry */
	u32 label_count;
};

#define TARGET_ANY  ((struct target){.uid = -1})
#define TARGETS_MAX 256

/* The texts belong to somebody else. */
struct targets {
	VEC(struct target) list;
};

void targets_release(struct targets *t);
/* "name=nginx", "pid=1", "uid=33" or "uid=www-data", "cgroup=…", "label=key=value", as a target. */
enum err target_parse(const char *text, struct target *ret, struct fault *fault) MUST_CHECK;
enum err targets_add(struct targets *t, const struct target *one, struct fault *fault) MUST_CHECK;
bool targets_match(const struct targets *t, struct process_look *look);
/* Only processes by number: nothing has to be looked at. */
bool targets_only_pids(const struct targets *t);
/* Only a process by its number. */
bool target_is_pid(const struct target *t);
/* As target_parse reads it; parts of one are joined by a comma. */
void target_text(const struct target *t, struct buf *to);
/* The number of a user by number or name. */
enum err uid_parse(struct str text, int64_t *ret) MUST_CHECK;
