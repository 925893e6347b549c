/*
 * Data about a process from /proc, read by a thread that may block (prober.h), for the thread that
 * drains the rings. Everything is bounded: what exceeds a limit is counted and left out.
 */
#pragma once

#include "agent/process_look.h"
#include "agent/sideband.h"
#include "base/arena.h"
#include "base/vec.h"

/* Maximum number of executable mappings of a process; above half of it, adjacent ones of the same
 * kind are merged. */
#define MAPPINGS_MAX 1024u

/* The owner, if it is unknown. */
#define REPORT_NOBODY 65534u

enum report_parts {
	REPORT_MAPS = 1,  /* executable mappings */
	REPORT_FACTS = 2, /* identity */
	REPORT_TEXTS = 4, /* command line, cgroup and environment, for rules and targets */
};

struct report_mapping {
	u64 start, end, file_offset, inode;
	u32 device_major, device_minor;
	u32 name_at, name_size;
};

struct process_report {
	u32 pid;
	unsigned parts;	  /* enum report_parts */
	u32 gone, unread; /* it has ended; number of mappings left out */
	VEC(struct report_mapping) mappings;
	struct buf names;
	char comm[16];
	u32 uid;
	struct arena texts; /* of the facts */
	struct process_facts facts;
	struct process_look look;
};

/* `program`, which may be empty, is used if /proc has none. Never fails. */
struct process_report *process_report_new(u32 pid, unsigned parts, const char comm[16],
					  struct str program);
/* Fills it; may block in the kernel. */
void process_report_read(struct process_report *r);
void process_report_free(struct process_report *r);
struct str process_report_name(const struct process_report *r, const struct report_mapping *m);
