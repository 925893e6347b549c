/* Internals of the process table. */
#pragma once

#include "agent/prober.h"
#include "agent/processes.h"
#include "base/clock.h"

struct processes {
	struct kernel_side *kernel;
	struct modules *modules;
	struct table_space *space;
	VEC(struct process *) list;
	VEC(u32) unused; /* free places in the list */
	struct map by_pid;
	u32 live;
	u64 serial;
	struct prober *prober; /* NULL = read /proc synchronously */
	u64 queued;	       /* reads posted since then may not have begun */
	u32 rereads;	       /* processes that are still to be read again */
	u32 cursor;	       /* where to continue looking for them */
	u64 reread_time, facts_time;
	double facts_credit;
	u64 refused;
	u32 facts_due; /* processes that wait for the facts of their parent */
	bool ahead;    /* processes_read_ahead */
};

/* How long to wait for a read of /proc, and for one that has not begun. */
#define ASKED_NS  ((u64)NS_PER_S)
#define QUEUED_NS ((u64)5 * NS_PER_S)

/* Requests what is not requested yet; false if there will be no result. */
bool process_ask(struct processes *p, struct process *process, unsigned parts,
		 enum probe_rank rank);
struct process *process_at(const struct processes *p, struct process_place at);
struct str process_program_path(const struct processes *p, const struct process *process);
/* Call before its facts are read: keeps its ancestors listed until these are known. */
void process_keep_parents(struct processes *p, struct process *process);
void process_forget_parent(struct processes *p, struct process *process);
/* Applies facts read from /proc; takes over the strings. */
void process_take_facts(struct processes *p, struct process *process, struct process_report *r);
/* Settles processes that wait for the facts of their parent. Call once per turn. */
void processes_settle_facts(struct processes *p);

void process_drop_mappings(struct processes *p, struct process *process);
/* Sets the module of its program; MODULE_NONE = none. */
void process_set_program(struct processes *p, struct process *process, u32 module);
enum err process_map_file(struct processes *p, struct process *process,
			  const struct sideband_event *e) MUST_CHECK;
/* Applies a report of /proc and takes it over. */
void process_take_report(struct processes *p, struct process *process, struct process_report *r);
/* Copies all mappings. */
enum err process_inherit(struct processes *p, struct process *child,
			 const struct process *parent) MUST_CHECK;
/* Starts the next reads of processes that must be read again. */
void processes_continue_rereads(struct processes *p);
