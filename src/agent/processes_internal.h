/* The parts of the processes: who there is, and where their code lies. */
#pragma once

#include "agent/processes.h"
#include "base/clock.h"

struct processes {
	struct kernel_side *kernel;
	struct modules *modules;
	struct table_space *space;
	VEC(struct process *) list;
	VEC(u32) unused; /* places in the list */
	struct map by_pid;
	u32 live;
	u64 serial;
	struct prober *prober; /* NULL = /proc is read at once */
	u32 rereads;	       /* processes whose turn to be asked again comes */
	u32 cursor;	       /* where to look for them */
	u64 reread_time, facts_time;
	double facts_credit;
	u64 refused;
	u32 facts_due; /* processes that wait for what their parent is */
	bool ahead;    /* processes_read_ahead */
};

/* An answer of /proc is waited for so long. */
#define ASKED_NS ((u64)NS_PER_S)

struct process *process_at(const struct processes *p, struct process_place at);
struct str process_program_path(const struct processes *p, const struct process *process);
/* Before it is asked who it is: those that began it stay known until that is clear. */
void process_keep_parents(struct processes *p, struct process *process);
void process_forget_parent(struct processes *p, struct process *process);
/* What /proc said of it; takes the texts. */
void process_take_facts(struct processes *p, struct process *process, struct process_report *r);
/* Those that wait for what their parent is. Once a turn. */
void processes_settle_facts(struct processes *p);

void process_drop_mappings(struct processes *p, struct process *process);
/* The file of its program; MODULE_NONE = none. */
void process_set_program(struct processes *p, struct process *process, u32 module);
enum err process_map_file(struct processes *p, struct process *process,
			  const struct sideband_event *e) MUST_CHECK;
/* What /proc said; takes the report. */
void process_take_report(struct processes *p, struct process *process, struct process_report *r);
/* Copies all mappings. */
enum err process_inherit(struct processes *p, struct process *child,
			 const struct process *parent) MUST_CHECK;
/* The next of those that have to be asked again. */
void processes_continue_rereads(struct processes *p);
