/*
 * Selects the processes to be profiled. All conditions of a target must match; one matching target
 * is enough, and children of such a process are included. Without targets everything is profiled.
 * Decisions are stored in BPF maps, so that other processes cost one sample and nothing after that.
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
	struct target_label labels[TARGET_LABELS]; /* labels, all of which must match */
	u32 label_count;
};

#define TARGET_ANY  ((struct target){.uid = -1})
#define TARGETS_MAX 256

/* The strings are not owned. */
struct targets {
	VEC(struct target) list;
};

void targets_release(struct targets *t);
/* "name=nginx", "pid=1", "uid=33" or "uid=www-data", "cgroup=…", "label=key=value", as a target. */
enum err target_parse(const char *text, struct target *ret, struct fault *fault) MUST_CHECK;
enum err targets_add(struct targets *t, const struct target *one, struct fault *fault) MUST_CHECK;
bool targets_match(const struct targets *t, struct process_look *look);
/* Whether its pid and name alone select a process, so that /proc need not be read first. */
bool targets_match_name(const struct targets *t, u32 pid, struct str comm);
/* Whether it selects only pids, so that nothing has to be read from /proc. */
bool targets_only_pids(const struct targets *t);
/* A target with only a pid. */
bool target_is_pid(const struct target *t);
/* The text form that target_parse reads; conditions are joined by commas. */
void target_text(const struct target *t, struct buf *to);
/* The uid of a user given by number or name. */
enum err uid_parse(struct str text, int64_t *ret) MUST_CHECK;
