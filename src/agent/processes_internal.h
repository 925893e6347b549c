/* The parts of the processes: who there is, and where their code lies. */
#pragma once

#include "agent/processes.h"

struct processes {
	struct kernel_side *kernel;
	struct modules *modules;
	struct table_space *space;
	VEC(struct process *) list;
	VEC(u32) unused; /* places in the list */
	struct map by_pid;
	u32 live;
};

void process_drop_mappings(struct processes *p, struct process *process);
/* The file of its program; MODULE_NONE = none. */
void process_set_program(struct processes *p, struct process *process, u32 module);
enum err process_map_file(struct processes *p, struct process *process,
			  const struct sideband_event *e) MUST_CHECK;
/* Asks /proc. False when the process is gone: it has no maps; what the side band told stays. */
bool process_read_maps(struct processes *p, struct process *process);
