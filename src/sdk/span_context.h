/*
 * The span and labels of a thread, as attached to its samples.
 */
#pragma once

#include "unwind/unwind_format.h"

#define SPAN_NAME_SIZE 48

struct span_context {
	u8 trace_id[16], span_id[8];
	u32 label_set; /* label_sets.h; 0 = none */
	u32 name_length;
	char name[SPAN_NAME_SIZE]; /* of the span, NUL-terminated */
};
