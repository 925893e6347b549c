/* Reads the mappings of a process from /proc. */
#pragma once

#include "agent/sideband.h"

/* Calls `each` for every executable mapping, in the form of a side-band event. */
enum err proc_maps_read(u32 pid, void *context,
			enum err (*mapping)(void *context,
					    const struct sideband_event *e)) MUST_CHECK;
/* The same from the text of /proc/PID/maps. */
enum err proc_maps_parse(struct str text, void *context,
			 enum err (*mapping)(void *context,
					     const struct sideband_event *e)) MUST_CHECK;
void proc_comm_read(u32 pid, char comm[16]);
