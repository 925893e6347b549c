/* What /proc tells of a process. */
#pragma once

#include "agent/sideband.h"

/* Calls back with every executable mapping, as the side band would have told it. */
enum err proc_maps_read(u32 pid, void *context,
			enum err (*mapping)(void *context,
					    const struct sideband_event *e)) MUST_CHECK;
/* The same from the text of such a file. */
enum err proc_maps_parse(struct str text, void *context,
			 enum err (*mapping)(void *context,
					     const struct sideband_event *e)) MUST_CHECK;
void proc_comm_read(u32 pid, char comm[16]);
