/*
 * Processes and where their code lies. A process that runs another program (exec) becomes a new
 * entry; the old one stays until nobody refers to it. Fed by the side band, and from /proc for
 * what began before the agent.
 */
#pragma once

#include "agent/kernel_side.h"
#include "agent/modules.h"
#include "agent/process_facts.h"
#include "agent/sideband.h"
#include "agent/watched.h"

struct process_mapping {
	u64 start, end, file_offset;
	u64 bias;    /* process address - module address, when the module is ready */
	u32 module;  /* MODULE_NONE: code made at run time */
	bool placed; /* `bias` is known */
};

struct process {
	u32 pid, parent;
	char comm[16];
	u32 program;			      /* module; MODULE_NONE = not known */
	VEC(struct process_mapping) mappings; /* sorted by start */
	u64 ended;	  /* time of its exit, or of the exec that replaced it */
	bool maps_read;	  /* /proc was asked, or all came by the side band since exec */
	u64 reread_after; /* not before this time again */
	u64 reread_pause;
	/* What the kernel side knows of it. */
	bool wanted;		      /* it was sampled: worth knowing there */
	bool changed;		      /* since it was told */
	u64 told_turn;		      /* modules_turn when it was told */
	struct process_key key, told; /* wanted; and known there, while `range` is not empty */
	struct space_range range;
	bool leader_gone; /* the first thread ended, others run */
	bool kernel;	  /* a thread of the kernel */
	bool copied;	  /* of its parent (fork), and runs the same program still */
	u32 references;	  /* of samples */
	u32 judged;	  /* number of the judgement (judge.h); 0 = none yet */
	bool unwanted;
	bool dropped; /* by a rule */
	struct watched watched;
	struct process_facts facts;
	struct arena texts; /* of the facts */
};

struct processes;

enum err processes_new(struct kernel_side *k, struct modules *m, struct table_space *space,
		       struct processes **ret) MUST_CHECK;
void processes_free(struct processes *p);
enum err processes_event(struct processes *p, const struct sideband_event *e) MUST_CHECK;
/* The process as it is now, read from /proc if it is not known. */
enum err processes_get(struct processes *p, u32 pid, struct process **ret) MUST_CHECK;
/* An address nobody knows was seen in it: asks /proc again, but not too often. */
void processes_reread(struct processes *p, struct process *process, u64 now);
/*
 * Events were lost: of every process /proc is asked where its code lies, and whether it is still
 * there. Returns how many were asked.
 */
u32 processes_reread_all(struct processes *p, u64 now);
/* Who it is; read at the first call, so the sooner the better. */
enum err processes_facts(struct processes *p, struct process *process) MUST_CHECK;
/* The kernel side asked for it, for the program with this address space. */
void processes_want(struct processes *p, struct process *process, u32 address_space);
struct process_mapping *process_find(struct process *process, u64 address);
/* The mapping's bias, once its module is ready. */
bool processes_place(struct processes *p, struct process_mapping *m);
/* Tells the kernel side what changed; drops processes that ended. Once a turn. */
enum err processes_settle(struct processes *p, bool modules_changed) MUST_CHECK;
u32 processes_count(const struct processes *p);
/* The last one to have this number, if it is still known; NULL. */
struct process *processes_last(const struct processes *p, u32 pid);
enum err processes_each(const struct processes *p, void *context,
			enum err (*each)(void *context, struct process *process)) MUST_CHECK;
