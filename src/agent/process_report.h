/*
 * What /proc says of a process, read in a thread that may wait for it (prober.h), for the one that
 * drains the rings. All of it is bounded: what a process has more of is counted and left out.
 */
#pragma once

#include "agent/process_look.h"
#include "agent/sideband.h"
#include "base/arena.h"
#include "base/vec.h"

/* Mappings of code that a process may have; neighbours of the same kind become one above half. */
#define MAPPINGS_MAX 1024u

/* Where nobody says whose process it is. */
#define REPORT_NOBODY 65534u

enum report_parts {
	REPORT_MAPS = 1,  /* where its code lies */
	REPORT_FACTS = 2, /* who it is */
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
	u32 gone, unread; /* it has no maps any more; mappings that were left out */
	VEC(struct report_mapping) mappings;
	struct buf names;
	char comm[16];
	u32 uid;
	struct arena texts; /* of the facts */
	struct process_facts facts;
	struct process_look look;
};

/* `program` may be empty: what is known without /proc. Never fails: what is missing is missing. */
struct process_report *process_report_new(u32 pid, unsigned parts, const char comm[16],
					  struct str program);
/* Fills it: takes as long as the kernel takes. */
void process_report_read(struct process_report *r);
void process_report_free(struct process_report *r);
struct str process_report_name(const struct process_report *r, const struct report_mapping *m);
