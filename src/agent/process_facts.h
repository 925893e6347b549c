/*
 * Identity of a process: service, program, container. Read once, while it lives. If it has already
 * ended, the facts come from the side band and from its parent, from which it had environment and
 * control group.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

struct process_facts {
	bool read;
	bool said;	       /* the service comes from the environment, its own or the parent's */
	bool gone;	       /* it had ended before it was read */
	struct str service;    /* never empty */
	struct str program;    /* path of the executable */
	struct str container;  /* id, or empty */
	struct str unit;       /* of systemd, or empty */
	struct str attributes; /* OTEL_RESOURCE_ATTRIBUTES, unescaped except for commas */
	struct str labels;     /* added by rules, lines "key=value" */
	struct str version;    /* service.version from the process's environment */
};

/* Of /proc/PID, read before. */
struct process_texts {
	struct str environment, cgroup;
};

/*
 * `comm` and `program` (may be empty) are used where /proc has nothing; `texts` may be NULL. The
 * strings belong to the arena.
 */
enum err process_facts_read(u32 pid, struct str comm, struct str program,
			    const struct process_texts *texts, struct arena *arena,
			    struct process_facts *ret) MUST_CHECK;
/* Facts of a process that ended before they were read: its parent's. A forked child also has its
 * parent's program. */
enum err process_facts_inherit(const struct process_facts *parent, bool copy, struct arena *arena,
			       struct process_facts *f) MUST_CHECK;
/* Parses /proc/PID/environ: attributes, and the service's name (empty if none). */
enum err environment_parse(struct str text, struct arena *arena, struct process_facts *ret,
			   struct str *ret_service) MUST_CHECK;
/* One value of a list like "a=b,c=d"; empty if missing. */
struct str attribute_find(struct str list, struct str key);
/* Unescapes %-escapes in place, except for commas and non-text bytes; returns the new length. */
size_t attributes_unescape(char *text, size_t n);
/* The container's id, or the unit's name, in the text of /proc/PID/cgroup. */
void cgroup_parse(struct str text, struct str *ret_container, struct str *ret_unit);
