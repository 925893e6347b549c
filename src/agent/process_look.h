/*
 * More data about a process from /proc, for target filter and rules. Each part is read on first
 * use; it is empty if it cannot be read.
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
/* The command line, arguments separated by blanks. */
struct str look_command(struct process_look *l);
/* The text of /proc/PID/cgroup. */
struct str look_cgroup(struct process_look *l);
/* The value of an environment variable; false if it is not set. */
bool look_variable(struct process_look *l, struct str name, struct str *ret);
bool look_uid(const struct process_look *l, u32 *ret);
/* The value of a label from the process, the rules or its facts; empty if none. */
struct str look_label(const struct process_look *l, struct str name);
/*
 * Whether a process with this text of /proc/PID/cgroup is in a group: its path (or one below it),
 * also as it is called below /sys/fs/cgroup; a part of the path ("nginx.service"); or the beginning
 * of a container's id, 12 digits at least.
 */
bool cgroup_matches(struct str text, struct str wanted);
