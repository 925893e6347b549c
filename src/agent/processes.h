/*
 * Processes and where their code lies. A process that runs another program (exec) becomes a new
 * entry; the old one stays until nobody refers to it. Fed by the side band, and from /proc for
 * what began before the agent.
 */
#pragma once

#include "agent/kernel_side.h"
#include "agent/modules.h"
#include "agent/process_report.h"
#include "agent/sideband.h"
#include "agent/watched.h"

struct process_mapping {
	u64 start, end, file_offset;
	u64 bias;    /* process address - module address, when the module is ready */
	u32 module;  /* MODULE_NONE: code made at run time */
	bool placed; /* `bias` is known */
};

/* Where a process is listed, for as long as it is. */
struct process_place {
	u32 number;
	u64 serial;
};

struct process {
	u32 pid, parent;
	struct process_place parent_at; /* as it was when it began this one */
	u64 serial;			/* never used twice */
	u32 number;			/* its place among the processes */
	u32 uid;
	char comm[16];
	u32 program;			      /* module; MODULE_NONE = not known */
	VEC(struct process_mapping) mappings; /* sorted by start */
	u64 ended;	  /* time of its exit, or of the exec that replaced it */
	bool maps_read;	  /* /proc was asked, or all came by the side band since exec */
	u64 reread_after; /* not before this time again */
	u64 reread_pause;
	u64 mended_at; /* asked because events were lost */
	/* What /proc is asked for now (enum report_parts), since when; it is not waited for long.
	 */
	unsigned asked;
	u64 asked_at;
	bool ends_if_gone;	       /* with the answer: nobody else will say so */
	bool changed_since;	       /* it was asked */
	bool reread_due;	       /* events were lost */
	bool heir;		       /* its mappings are those of its parent, which is asked */
	struct process_report *report; /* texts for whoever judges it */
	/* Mappings that became one with others; that are not known; times that its events were too
	 * many. */
	u32 joined, left_out, shut_out;
	/* What the kernel side knows of it. */
	bool wanted;		      /* it was sampled: worth knowing there */
	bool fresh;		      /* its program began lately: small files are read ahead */
	bool changed;		      /* since it was told */
	u64 told_turn, told_at;	      /* modules_turn when it was told; and when that was */
	struct process_key key, told; /* wanted; and known there, while `range` is not empty */
	struct space_range range;
	bool leader_gone; /* the first thread ended, others run */
	bool kernel;	  /* a thread of the kernel */
	bool copied;	  /* of its parent (fork), and runs the same program still */
	bool keeps;	  /* the parent is not forgotten: it may have to be asked */
	bool facts_due;	  /* nobody could be asked who it is: waits for what its parent is */
	u64 facts_due_at;
	u32 references;	      /* of samples, and of children that keep it */
	size_t waiting_bytes; /* of its records in struct waiting_stacks, all of them */
	u32 judged;	      /* number of the judgement (judge.h); 0 = none yet */
	u32 judging;	      /* of the one that /proc was asked for */
	bool unwanted;
	bool dropped; /* by a rule */
	struct watched watched;
	struct process_facts facts;
	struct arena texts; /* of the facts */
};

struct processes;
struct prober;

/* `prober` stays the caller's: reads /proc. Without one it is read at once, which may take long. */
enum err processes_new(struct kernel_side *k, struct modules *m, struct table_space *space,
		       struct prober *prober, struct processes **ret) MUST_CHECK;
void processes_free(struct processes *p);
/* From now on small files of programs that begin are read before these are sampled. */
void processes_read_ahead(struct processes *p);
enum err processes_event(struct processes *p, const struct sideband_event *e) MUST_CHECK;
/* The process as it is now. One that is not known is asked for. */
enum err processes_get(struct processes *p, u32 pid, struct process **ret) MUST_CHECK;
/* Takes what /proc said meanwhile; true when that was anything. Once a turn. */
bool processes_take(struct processes *p);
/* Whether this is being asked for (enum report_parts) and worth waiting for. */
bool processes_pending(const struct processes *p, const struct process *process, unsigned parts);
/* Asks for what is not known and not being asked for; false when there will be no answer. */
bool processes_ask(struct processes *p, struct process *process, unsigned parts);
/* An address nobody knows was seen in it: asks /proc again, but not too often. */
void processes_reread(struct processes *p, struct process *process, u64 now);
/*
 * Events were lost: of every process /proc will be asked where its code lies, and whether it is
 * still there; a few in each turn, those that were sampled first. Returns how many.
 */
u32 processes_reread_all(struct processes *p, u64 now);
/* Who it is: asked for at the first call, so the sooner the better; until the answer has come, what
 * can be said without it. */
enum err processes_facts(struct processes *p, struct process *process) MUST_CHECK;
/* The kernel side asked for it, for the program with this address space. */
void processes_want(struct processes *p, struct process *process, u32 address_space);
struct process_mapping *process_find(struct process *process, u64 address);
/* The mapping's bias, once its module is ready. */
bool processes_place(struct processes *p, struct process_mapping *m);
/* Tells the kernel side what changed; drops processes that ended. Once a turn. */
enum err processes_settle(struct processes *p, bool modules_changed) MUST_CHECK;
u32 processes_count(const struct processes *p);
/* This process causes too many events: not all of them were looked at. */
void processes_limit(struct processes *p, u32 pid);

#define LIMITED_NAMED 8u

/* Processes that do more than is followed, and that alone are unwound and named less well for it.
 */
struct processes_limits {
	u32 limited; /* now */
	u64 refused; /* that began while there were too many, since the start */
	struct limited_process {
		u32 pid;
		char comm[16];
		u32 joined, left_out, shut_out;
	} named[LIMITED_NAMED]; /* some of those that live */
	u32 named_count;
};

void processes_limits(const struct processes *p, struct processes_limits *ret);
/* The last one to have this number, if it is still known; NULL. */
struct process *processes_last(const struct processes *p, u32 pid);
enum err processes_each(const struct processes *p, void *context,
			enum err (*each)(void *context, struct process *process)) MUST_CHECK;
