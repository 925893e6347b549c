/*
 * Who a process is, for people: its service, its program, its container. Read once, while it
 * lives; of one that is gone already what the side band told is used, and what its parent is: it
 * had the environment and the control group from there, whatever it ran.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

struct process_facts {
	bool read;
	bool said;	       /* the environment, if only the parent's, says which service it is */
	bool gone;	       /* when it was read there was no process any more */
	struct str service;    /* never empty */
	struct str program;    /* path of the executable */
	struct str container;  /* id, or empty */
	struct str unit;       /* of systemd, or empty */
	struct str attributes; /* OTEL_RESOURCE_ATTRIBUTES, %-escapes but that of a comma undone */
	struct str labels;     /* that rules gave it, lines "key=value" */
	struct str version;    /* service.version said by the process */
};

/*
 * `comm` and `program` (may be empty) are what is known without /proc. The texts belong to the
 * arena.
 */
enum err process_facts_read(u32 pid, struct str comm, struct str program, struct arena *arena,
			    struct process_facts *ret) MUST_CHECK;
/* Facts of a process that ended before they were read: its parent's. A forked child also has its
 * parent's program. */
enum err process_facts_inherit(const struct process_facts *parent, bool copy, struct arena *arena,
			       struct process_facts *f) MUST_CHECK;
/* What the text of /proc/PID/environ says: attributes, and a service's name (empty when none). */
enum err environment_parse(struct str text, struct arena *arena, struct process_facts *ret,
			   struct str *ret_service) MUST_CHECK;
/* One value of a list like "a=b,c=d"; empty when it is not there. */
struct str attribute_find(struct str list, struct str key);
/* Undoes %-escapes in place, but for those of commas and of what is no text; the new length. */
size_t attributes_unescape(char *text, size_t n);
/* The container's id, or the unit's name, in the text of /proc/PID/cgroup. */
void cgroup_parse(struct str text, struct str *ret_container, struct str *ret_unit);
