/*
 * A closer look at a process, for those who choose or label it: what /proc says beyond its facts,
 * each part read when it is first asked for. What cannot be read is empty.
 */
#pragma once

#include "agent/process_facts.h"
#include "base/buf.h"

struct process_look {
	u32 pid;
	struct str comm;
	const struct process_facts *facts;
	bool have_command, have_cgroup, have_environment;
	struct buf command, cgroup, environment;
};

struct process_look process_look_at(u32 pid, struct str comm, const struct process_facts *facts);
void process_look_release(struct process_look *l);
/* The command line, a blank between the words. */
struct str look_command(struct process_look *l);
/* The text of /proc/PID/cgroup. */
struct str look_cgroup(struct process_look *l);
/* The value of a variable; false when there is none. */
bool look_variable(struct process_look *l, struct str name, struct str *ret);
bool look_uid(const struct process_look *l, u32 *ret);
/* What the process, its rules or its facts say under a label's name; empty when nothing. */
struct str look_label(const struct process_look *l, struct str name);
/*
 * Whether a process with this text of /proc/PID/cgroup is in a group: its path (or one below it),
 * also as it is called below /sys/fs/cgroup; a part of the path ("nginx.service"); or the beginning
 * of a container's id, 12 digits at least.
 */
bool cgroup_matches(struct str text, struct str wanted);
