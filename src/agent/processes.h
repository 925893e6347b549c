/*
 * Processes and their executable mappings. A process that calls exec becomes a new entry; the old
 * one stays until its last reference is dropped. Fed by the side band, and by /proc for processes
 * older than the agent.
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
	u32 module;  /* MODULE_NONE = JIT-compiled code */
	bool placed; /* `bias` is known */
};

/* A weak reference to a process: its index, valid if the serial matches. */
struct process_place {
	u32 number;
	u64 serial;
};

struct process {
	u32 pid, parent;
	struct process_place parent_at; /* at the time of the fork */
	u64 serial;			/* never used twice */
	u32 number;			/* its index in the list */
	u32 uid;
	char comm[16];
	u32 program;			      /* module of its program; MODULE_NONE = unknown */
	VEC(struct process_mapping) mappings; /* sorted by start */
	u64 ended;	  /* time of its exit, or of the exec that replaced it; 0 = alive */
	bool maps_read;	  /* mappings are complete: from /proc, or from the side band since exec */
	u64 reread_after; /* earliest time of the next read of /proc */
	u64 reread_pause;
	u64 mended_at; /* when it was read again because of lost events */
	/* The parts being read from /proc now (enum report_parts) and since when; nothing waits for
	 * them longer than ASKED_NS. */
	unsigned asked;
	u64 asked_at;
	bool ends_if_gone; /* end the entry if /proc has no such process: no exit event will come */
	bool changed_since; /* mappings changed since that read began */
	bool reread_due;    /* must be read again because of lost events */
	bool heir;	    /* will copy the mappings of its parent, which are being read */
	struct process_report *report; /* strings for the target filter */
	/* Mappings merged with others; mappings left out; times its events exceeded the limit. */
	u32 joined, left_out, shut_out;
	/* State in the BPF maps. */
	bool wanted;		      /* it was sampled: publish its mappings */
	bool fresh;		      /* exec was recent: small files are read ahead */
	bool changed;		      /* since it was published */
	u64 told_turn, told_at;	      /* modules_turn and time when it was published */
	struct process_key key, told; /* current key; published key, while `range` is not empty */
	struct space_range range;
	bool leader_gone; /* the main thread exited, others run */
	bool kernel;	  /* a kernel thread */
	bool copied;	  /* forked, and still runs its parent's program */
	bool keeps;	  /* keeps its parent referenced, whose facts may be needed */
	bool facts_due;	  /* /proc had no facts: waits to inherit those of its parent */
	u64 facts_due_at;
	u32 references;	      /* from samples, and from children that keep it */
	size_t waiting_bytes; /* bytes of its records in struct waiting_stacks */
	u32 decided; /* target filter generation (target_filter.h) that decided on it; 0 = none yet */
	u32 deciding; /* generation for which /proc is being read */
	bool unwanted;
	bool blind;   /* decided before /proc answered */
	bool dropped; /* by a filter rule */
	struct watched watched;
	struct process_facts facts;
	struct arena texts; /* strings of `facts` */
};

struct processes;
struct prober;

/* The caller keeps ownership of `prober`, which reads /proc. If it is NULL, /proc is read
 * synchronously, which may block for long. */
enum err processes_new(struct kernel_side *k, struct modules *m, struct table_space *space,
		       struct prober *prober, struct processes **ret) MUST_CHECK;
void processes_free(struct processes *p);
/* From now on, reads small files of new programs before these are sampled. */
void processes_read_ahead(struct processes *p);
enum err processes_event(struct processes *p, const struct sideband_event *e) MUST_CHECK;
/* The current process with this pid. An unknown one is added and read from /proc. */
enum err processes_get(struct processes *p, u32 pid, struct process **ret) MUST_CHECK;
/* Processes finished reads of /proc; true if there were any. Call once per turn. */
bool processes_take(struct processes *p);
/* Whether these parts (enum report_parts) are being read and worth waiting for. */
bool processes_pending(const struct processes *p, const struct process *process, unsigned parts);
/* Starts reading the parts that are neither known nor being read; false if no result will come. */
bool processes_ask(struct processes *p, struct process *process, unsigned parts);
/* Call for an address outside of all mappings: reads /proc again, rate limited. */
void processes_reread(struct processes *p, struct process *process, u64 now);
/*
 * Call when events were lost: the mappings of every process will be read again, and whether it
 * still exists; a few per turn, sampled processes first. Returns how many.
 */
u32 processes_reread_all(struct processes *p, u64 now);
/* Fills the facts of a process. The first call starts reading them, so call early; until they are
 * there, sets what is known without them. */
enum err processes_facts(struct processes *p, struct process *process) MUST_CHECK;
/* The BPF program requested this process, for the program with this address space. */
void processes_want(struct processes *p, struct process *process, u32 address_space);
struct process_mapping *process_find(struct process *process, u64 address);
/* The mapping's bias, once its module is ready. */
bool processes_place(struct processes *p, struct process_mapping *m);
/* Publishes changes to the BPF maps; drops processes that ended. Call once per turn. */
enum err processes_settle(struct processes *p, bool modules_changed) MUST_CHECK;
u32 processes_count(const struct processes *p);
/* Records that this process exceeded its event limit, and events were skipped. */
void processes_limit(struct processes *p, u32 pid);

#define LIMITED_NAMED 8u

/* Processes that exceed a limit; only their own unwinding and symbolization suffers. */
struct processes_limits {
	u32 limited; /* now */
	u64 refused; /* processes refused because there were too many, since the start */
	struct limited_process {
		u32 pid;
		char comm[16];
		u32 joined, left_out, shut_out;
	} named[LIMITED_NAMED]; /* some of the live ones */
	u32 named_count;
};

void processes_limits(const struct processes *p, struct processes_limits *ret);
/* The last process with this pid if it is still listed, else NULL. */
struct process *processes_last(const struct processes *p, u32 pid);
enum err processes_each(const struct processes *p, void *context,
			enum err (*each)(void *context, struct process *process)) MUST_CHECK;
